//! `schedlab report` and `--report`.

use crate::lab::Lab;
use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::{CpuId, GroupId, TaskId};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Sink, WakeSource};
use schedlab_trace::{Group, Header, Writer};
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
        // Addresses stand in comments of the runtime and in names of schemas; nothing is fetched from any.
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
    let mean = run["groups"][0]["response_ns"]["p99"].as_u64().unwrap() as f64 / 1e6;
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
        groups: vec![Group { name: "task".into(), cpus: CpuSet::first(2) }],
        end: Time::from_ms(1),
        lost: 0,
    };
    let mut writer = Writer::create(path, &header).unwrap();
    let (task, source) = (TaskId(0), WakeSource::Fork);
    for kind in [
        EventKind::Fork { task, group: GroupId(0), parent: None },
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
        (&["text.json"], "it is no result"),
        (&["cut.parquet"], "cut.parquet"),
        (&["lawless.parquet"], "it breaks a law: 0s cpu 0 event 2: CPU 77 does not exist, the machine has 2"),
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
