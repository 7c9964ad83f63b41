//! `schedlab report` and `--report`.

use crate::lab::Lab;
use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::{CpuId, RoleId, TaskId};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Sink, WakeSource};
use schedlab_trace::{Header, Role, Writer};
use std::fs;
use std::path::Path;

/// A lab with a trace and results of two runs.
fn lab() -> Lab {
    let lab = Lab::with_small();
    lab.out(&["run", "small.toml", "--policy", "rr", "--trace", "rr.parquet", "--quiet"]);
    let result = lab.out(&["run", "small.toml", "--policy", "mlfq", "--json", "--quiet"]);
    lab.write("mlfq.json", result);
    lab
}

#[test]
fn a_comparison_and_a_study_write_pages_that_are_whole() {
    let lab = Lab::with_small();
    lab.out(&["compare", "small.toml", "--policy", "rr,mlfq", "--report", "both.html", "--quiet"]);
    lab.out(&["run", "small.toml", "--policy", "rr", "--report", "one.html", "--quiet"]);
    for (name, parts) in
        [("both.html", ["--policy rr,mlfq --report", "mlfq.bpf.c"]), ("one.html", ["Under rr", "rr.bpf.c"])]
    {
        let page = fs::read_to_string(lab.path(name)).unwrap();
        assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
        for part in parts.into_iter().chain(["small.toml", "timeline-bytes-1"]) {
            assert!(page.contains(part), "{name}: no {part}");
        }
        // Addresses are in comments of the runtime and in names of schemas; nothing is fetched from any.
        assert!(!page.contains("src=\"http") && !page.contains("<link") && !page.contains("@import"), "{name}");
        assert!(page.len() < 3 << 20, "{name}: {} bytes", page.len());
    }
    assert_eq!(lab.files(), ["both.html", "one.html", "small.toml"]);
}

#[test]
fn traces_and_results_become_pages_and_pictures() {
    let lab = lab();
    let said = lab.out(&["report", "rr.parquet", "mlfq.json", "-o", "both.html"]);
    assert_eq!(said, "both.html is written\n");
    let page = fs::read_to_string(lab.path("both.html")).unwrap();
    assert!(page.contains("Differences from rr") && page.contains("a trace does not hold"), "{}", page.len());
    let drawn = lab.out(&["report", "rr.parquet", "mlfq.json", "--format", "svg", "-o", "drawn"]);
    assert!(drawn.contains("response.svg is written"), "{drawn}");
    let svg = fs::read_to_string(lab.path("drawn/response.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("mark-symbol"), "{svg}");
    lab.out(&["report", "rr.parquet", "--format", "png", "--chart", "load", "-o", "pictures"]);
    assert!(fs::read(lab.path("pictures/load.png")).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn the_numbers_of_a_trace_are_those_of_its_run() {
    let lab = Lab::with_small();
    let run = lab.out(&["run", "small.toml", "--policy", "rr", "--trace", "rr.parquet", "--json", "--quiet"]);
    let run: serde_json::Value = serde_json::from_str(&run).unwrap();
    lab.out(&["report", "rr.parquet", "-o", "page.html"]);
    let page = fs::read_to_string(lab.path("page.html")).unwrap();
    let mean = run["roles"][0]["response_ns"]["p99"].as_u64().unwrap() as f64 / 1e6;
    assert!(page.contains(&format!("{mean:.1}")) || page.contains(&format!("{mean:.0}")), "{mean} is not on the page");
}

/// A trace whole and readable of what cannot have been: on two CPUs a task is woken on another one.
fn write_lawless(path: &Path) {
    let header = Header {
        scenario: "small".into(),
        policy: "rr".into(),
        venue: "sim".into(),
        seed: 1,
        cpus: 2,
        roles: vec![Role { name: "task".into(), cpus: CpuSet::first(2) }],
        control_groups: Vec::new(),
        end: Time::from_ms(1),
        lost: 0,
        setting: None,
    };
    let mut writer = Writer::create(path, &header).unwrap();
    let (task, source) = (TaskId(0), WakeSource::Fork);
    for kind in [
        EventKind::Fork { task, role: RoleId(0), parent: None },
        EventKind::Wakeup { task, target: CpuId(77), waker: None, source },
    ] {
        writer.event(&Event { time: Time::ZERO, cpu: CpuId(0), kind });
    }
    writer.finish(header.end);
    writer.close().unwrap();
}

#[test]
fn what_cannot_be_shown_is_told_in_a_line_and_nothing_is_written() {
    let lab = lab();
    lab.write("empty.json", "");
    write_lawless(&lab.path("lawless.parquet"));
    lab.write("text.json", "{ \"schema\": 3 }");
    lab.write("cut.parquet", &fs::read(lab.path("rr.parquet")).unwrap()[..300]);
    let other = "name = \"o\"\n[machine]\ncpus = 1\n[[task]]\nname = \"other\"\nloop = [{ compute = \"1ms\" }]\n\
                 [run]\nduration = \"20ms\"\n";
    lab.write("other.toml", other);
    let result = lab.out(&["run", "other.toml", "--policy", "rr", "--json", "--quiet"]);
    lab.write("other.json", result);
    let before = lab.files();
    let cases: &[(&[&str], &str)] = &[
        (&["nothing.json"], "nothing.json: the file cannot be read"),
        (&["empty.json"], "the file is empty"),
        (&["text.json"], "it is not a result"),
        (&["cut.parquet"], "cut.parquet"),
        (&["lawless.parquet"], "it violates an invariant: 0s cpu 0 event 2: CPU 77 does not exist, the machine has 2"),
        (&["mlfq.json", "other.json"], "are runs of different scenarios"),
        (&["mlfq.json", "--format", "svg", "--chart", "nonsense"], "there is no chart `nonsense`; there are "),
    ];
    for (args, told) in cases {
        let output = lab.run(&[&["report"], *args].concat());
        assert!(matches!(output.code, Some(1 | 2)), "{args:?}: {output:?}");
        assert!(output.err.contains(told) && output.err.lines().count() == 1, "{args:?}: {}", output.err);
    }
    assert_eq!(lab.files(), before);
}

/// A page as text, with what is in it as data.
fn page_of(lab: &Lab, runs: &[&str]) -> String {
    lab.out(&[&["report"], runs, &["-o", "page.html"]].concat());
    fs::read_to_string(lab.path("page.html")).unwrap()
}

#[test]
fn a_page_of_several_runs_shows_the_intervals_that_the_files_hold() {
    let lab = Lab::with_small();
    for policy in ["rr", "mlfq"] {
        let result = lab.out(&["run", "small.toml", "--policy", policy, "--runs", "12", "--json", "--quiet"]);
        lab.write(&format!("{policy}.json"), result);
    }
    let page = page_of(&lab, &["rr.json", "mlfq.json"]);
    assert!(
        page.contains("12 runs each") && page.contains("runs, in pairs") && page.contains("low_ms"),
        "no intervals"
    );
    assert!(!page.contains("of one run") && !page.contains("there is no interval"), "it says that there are none");
    // What it comes to is what a comparison of the same runs comes to.
    let compared = lab.json(&["compare", "small.toml", "--policy", "rr,mlfq", "--runs", "12", "--json", "--quiet"]);
    let headline = compared["conclusion"]["headline"].as_str().unwrap();
    assert!(page.contains(headline) && page.contains("Which scheduler is best at what"), "{headline}");
}

#[test]
fn a_page_of_a_comparison_says_what_the_comparison_said() {
    let lab = Lab::with_small();
    let compared = lab.out(&["compare", "small.toml", "--policy", "rr,mlfq", "--json", "--quiet", "--duration", "5s"]);
    lab.write("both.json", &compared);
    let compared: serde_json::Value = serde_json::from_str(&compared).unwrap();
    assert_eq!(compared["differences"][0]["evidence"], "batches");
    let (page, headline) = (page_of(&lab, &["both.json"]), compared["conclusion"]["headline"].as_str().unwrap());
    assert!(page.contains(headline) && page.contains("batches of one run"), "{headline}");
    // Next to another file what was known stays known.
    let other = lab.out(&["run", "small.toml", "--policy", "fcfs", "--json", "--quiet", "--duration", "5s"]);
    lab.write("fcfs.json", other);
    let page = page_of(&lab, &["both.json", "fcfs.json"]);
    assert!(page.contains("<td>batches of one run</td>") && page.contains("fcfs"));
}

#[test]
fn runs_of_other_scenarios_are_not_put_together() {
    let lab = Lab::with_small();
    for (name, duration) in [("short", "1s"), ("long", "2s")] {
        let result = lab.out(&["run", "small.toml", "--policy", "rr", "--duration", duration, "--json", "--quiet"]);
        lab.write(&format!("{name}.json"), result);
    }
    let output = lab.run(&["report", "short.json", "long.json"]);
    assert_eq!(output.code, Some(2), "{}", output.err);
    assert!(
        output.err.contains("are runs of different scenarios") && output.err.contains("(scenario "),
        "{}",
        output.err
    );
    assert_eq!(lab.files(), ["long.json", "short.json", "small.toml"]);
}

#[test]
fn settings_of_one_policy_have_labels_that_differ_everywhere() {
    let lab = Lab::with_small();
    let compared = lab.json(&["compare", "small.toml", "--policy", "rr:quantum=5ms,rr:quantum=10ms,rr,rr", "--json"]);
    assert_eq!(compared["policies"], serde_json::json!(["rr:quantum=5ms", "rr:quantum=10ms", "rr", "rr (2)"]));
    for quantum in ["5ms", "10ms"] {
        let result = lab.out(&["run", "small.toml", "--policy", &format!("rr:quantum={quantum}"), "--json", "--quiet"]);
        lab.write(&format!("{quantum}.json"), result);
    }
    let page = page_of(&lab, &["5ms.json", "10ms.json"]);
    assert!(page.contains("Differences from rr:quantum=5ms") && page.contains("rr:quantum=10ms"));
    // Long settings that begin alike are distinguished in a table of eighty columns.
    let long = "mlfq:levels=4,step=5ms";
    let text =
        lab.out(&["compare", "small.toml", "--quiet", "--policy", &format!("{long},period=1s,{long},period=2s")]);
    assert!(text.contains("mlfq:period=1s") && text.contains("mlfq:period=2s"), "{text}");
}

/// Two programs on a CPU; the second waits as long as the first one runs.
fn recording(runs_us: u32) -> String {
    let switch = |at: u32, from: (&str, u32, char), to: (&str, u32)| {
        format!(
            "  {} {} [000] 5.{at:06}: sched:sched_switch: prev_comm={} prev_pid={} prev_prio=120 prev_state={} ==> \
             next_comm={} next_pid={} next_prio=120\n",
            from.0, from.1, from.0, from.1, from.2, to.0, to.1
        )
    };
    let mut text = String::new();
    for turn in 0..20 {
        let at = 1 + turn * 2 * runs_us;
        text += &switch(at, ("b", 13, 'R'), ("a", 12));
        text += &switch(at + runs_us, ("a", 12, 'R'), ("b", 13));
    }
    text
}

#[test]
fn a_page_of_recordings_leads_with_waits() {
    let lab = Lab::new();
    for (name, runs_us) in [("before", 1_000), ("after", 3_000)] {
        lab.write(&format!("{name}.txt"), recording(runs_us));
        lab.out(&["import", &format!("{name}.txt")]);
    }
    let page = page_of(&lab, &["before.parquet", "after.parquet"]);
    assert!(page.contains("How long tasks wait") && !page.contains("How fast"), "no waits");
    assert!(
        page.contains("In one recording each, ")
            && page.contains("from one recording, so the differences are not shown"),
        "of one each"
    );
    assert!(page.contains(" wait for a CPU of ") && !page.contains("CPU share of "), "the answer is not about waits");
    let place = |text: &str| page.find(text).unwrap_or(usize::MAX);
    assert!(place("<td>mean wait for a CPU</td>") < place("<td>CPU share</td>"), "the ranking is not about waits");
    assert!(page.contains("run_delay_ns.p99") && page.contains("Waits for a CPU"));
    // Both are of one kernel: the files are what differs.
    assert!(page.contains("(before)") && page.contains("(after)"));
    let alone = page_of(&lab, &["before.parquet"]);
    assert!(alone.contains("for a CPU on average"), "no answer about waits");
    let drawn = lab.out(&["report", "before.parquet", "--format", "svg", "-o", "drawn"]);
    assert!(drawn.contains("run-delay.svg is written: Waits for a CPU"), "{drawn}");
}
