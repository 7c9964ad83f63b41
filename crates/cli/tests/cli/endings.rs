//! Runs without a `duration`: they end with their last task, and all rates are over that time.

use crate::lab::{Lab, may_virtualize};
use serde_json::Value;

/// Two tasks of 30 ms on one CPU: 60 ms in all.
const ONCE: &str = r#"
name = "once"
about = "Two tasks end."

[machine]
cpus = 1

[[task]]
name = "worker"
count = 2
once = [{ compute = "30ms" }]
"#;

/// Three that arrive 20 ms apart and compute 10 ms, the last of which has a child that computes 5 ms.
const COMERS: &str = r#"
name = "comers"
about = "Tasks that come later."

[machine]
cpus = 2

[[task]]
name = "guest"
arrivals = "20ms"
limit = 3
once = [{ compute = "10ms" }, { spawn = "child" }]

[[task]]
name = "child"
spawned = true
once = [{ compute = "5ms" }]
"#;

/// One of two waiters gets what both wait for; another holds a lock at which it never arrives.
const STUCK: &str = r#"
name = "stuck"
about = "Tasks that wait for ever."

[machine]
cpus = 1

[[task]]
name = "waiter"
count = 2
once = [{ wait = "token" }, { compute = "1ms" }]

[[task]]
name = "giver"
once = [{ compute = "1ms" }, { post = "token" }]

[[task]]
name = "holder"
once = [{ lock = "door" }, { compute = "1ms" }, { recv = "news" }, { unlock = "door" }]

[[task]]
name = "teller"
once = [{ compute = "5ms" }, { lock = "door" }, { send = "news" }, { unlock = "door" }]
"#;

fn lab() -> Lab {
    let lab = Lab::new();
    for (name, text) in [("once.toml", ONCE), ("comers.toml", COMERS), ("stuck.toml", STUCK)] {
        lab.write(name, text);
    }
    lab.write("warm.toml", format!("{ONCE}\n[run]\nwarmup = \"10ms\"\n"));
    lab
}

fn number(result: &Value, path: &str) -> f64 {
    result.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}: {result:#}"))
}

#[test]
fn a_run_ends_with_its_last_task_and_rates_are_over_that_time() {
    let lab = lab();
    for policy in ["fcfs", "rr", "rr:quantum=5ms", "mlfq", "cfs", "eevdf", "linux-o1", "ps", "ideal-fcfs", "srpt"] {
        let result = |file| lab.json(&["run", file, "--policy", policy, "--json", "--check", "--quiet"]);
        let once = result("once.toml");
        assert_eq!(once["duration_ns"], 60_000_000, "{policy}");
        assert_eq!(number(&once, "/roles/0/throughput_per_s"), 2.0 / 0.06, "{policy}");
        assert_eq!(number(&once, "/roles/0/cpu_share"), 1.0, "{policy}");
        let warm = result("warm.toml");
        assert_eq!((&warm["duration_ns"], &warm["warmup_ns"]), (&60_000_000.into(), &10_000_000.into()), "{policy}");
        assert_eq!(number(&warm, "/roles/0/cpu_ns"), 50e6, "{policy}");
        assert_eq!(number(&warm, "/roles/0/throughput_per_s"), 2.0 / 0.05, "{policy}");
        // Arrivals at 20, 40 and 60 ms; 45 ms of work, and the last child ends at 75 ms.
        let comers = result("comers.toml");
        assert_eq!((&comers["duration_ns"], &comers["roles"][1]["count"]), (&75_000_000.into(), &3.into()), "{policy}");
        assert_eq!(number(&comers, "/roles/0/throughput_per_s"), 3.0 / 0.075, "{policy}");
        if policy != "ps" {
            let busy = number(&comers, "/cpus/0/busy_frac") + number(&comers, "/cpus/1/busy_frac");
            assert!((busy - 45.0 / 75.0).abs() < 1e-9, "{policy}: {busy}");
        }
    }
}

#[test]
fn costs_of_the_machine_belong_to_the_run() {
    let lab = lab();
    lab.write("costs.toml", ONCE.replace("cpus = 1", "cpus = 1\ncosts = { switch = \"1ms\", exit = \"2ms\" }"));
    let result = lab.json(&["run", "costs.toml", "--policy", "fcfs", "--json", "--check", "--quiet"]);
    let spent = number(&result, "/roles/0/cpu_ns") + number(&result, "/overhead_ns/switch");
    assert_eq!((spent, number(&result, "/duration_ns")), (66e6, 66e6));
}

/// A study of two tasks that end, whose only answer holds.
pub const STUDY: &str = r#"
name = "s"
title = "T"
goal = "G."
[scenario.once]
machine = { cpus = 1 }
[[scenario.once.task]]
name = "worker"
count = 2
once = [{ compute = "30ms" }]
[[question]]
id = "q"
asks = "How many?"
answer = "Two in 60 ms."
[[question.run]]
name = "r"
scenario = "once"
policy = ["rr", "fcfs"]
[[question.value]]
what = "throughput"
run = "r"
policy = "rr"
metric = "roles.worker.throughput_per_s"
published = 33.333
within = 0.001
"#;

#[test]
fn all_commands_know_such_runs() {
    let lab = lab();
    let comparison = lab.json(&["compare", "once.toml", "--policy", "fcfs,rr", "--json", "--report", "page.html"]);
    for result in comparison["results"].as_array().unwrap() {
        assert_eq!(result["duration_ns"], 60_000_000);
    }
    let page = std::fs::read_to_string(lab.path("page.html")).unwrap();
    assert!(!page.contains("18446744073709551615"));
    let run =
        lab.out(&["run", "once.toml", "--policy", "rr", "--trace", "t.parquet", "--trace", "t.pftrace", "--quiet"]);
    assert!(run.starts_with("once under rr: 60ms on 1 CPU in sim"), "{run}");
    for trace in ["t.parquet", "t.pftrace"] {
        assert!(lab.out(&["check", trace]).contains(", 60ms on 1 CPU"), "{trace}");
    }
    lab.write(
        "sweep.toml",
        "name = \"s\"\nabout = \"CPUs.\"\npolicy = \"rr\"\nscenario = \"once.toml\"\nmeasures = [\"throughput_per_s\"]\n\
         [axis]\n\"machine.cpus\" = [1, 2]\n",
    );
    assert_eq!(lab.run(&["sweep", "sweep.toml", "-o", "table", "--quiet"]).code, Some(0));
    lab.write("study.toml", STUDY);
    let study = lab.run(&["study", "study.toml", "--quiet", "-o", "out"]);
    assert_eq!(study.code, Some(0), "{}{}", study.out, study.err);
    let page = std::fs::read_to_string(lab.path("out/s.md")).unwrap();
    assert!(page.contains(", 0.06 s, seed"), "{page}");
}

#[test]
fn a_run_without_an_end_is_refused_before_anything_runs() {
    let lab = lab();
    lab.write("loop.toml", ONCE.replace("once =", "loop ="));
    lab.write("open.toml", COMERS.replace("limit = 3\n", ""));
    for (file, who) in [("loop.toml", "worker"), ("open.toml", "guest")] {
        for args in [
            &["run", file, "--policy", "rr"][..],
            &["compare", file, "--policy", "rr,fcfs", "--report", "page.html"],
            &["run", file, "--policy", "kernel", "--venue", "host"],
            &["run", file, "--policy", "kernel", "--venue", "vm"],
        ] {
            let output = lab.run(args);
            assert_eq!((output.code, output.out.as_str(), output.err.lines().count()), (Some(2), "", 1), "{args:?}");
            let told = format!("`{who}` never ends: say how long the run is, as duration = \"60s\"");
            assert!(output.err.contains(&told), "{args:?}: {}", output.err);
            assert_eq!(output.err.contains("limit = 100"), who == "guest", "{}", output.err);
        }
        assert_eq!(lab.run(&["run", file, "--policy", "rr", "--duration", "1s"]).code, Some(0));
    }
}

/// The tasks that wait for ever, and for what.
fn names_who_waits(error: &str) {
    for part in [
        "the run stands still before its end: ",
        "a task of `waiter` waits for the semaphore `token`",
        "a task of `holder` waits for a message in the channel `news`",
        "a task of `teller` waits for the lock `door`",
        "duration = \"60s\"",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(!error.contains("giver"), "{error}");
}

#[test]
fn tasks_that_wait_for_ever_are_named() {
    let lab = lab();
    for policy in ["fcfs", "mlfq", "cfs", "ideal-fcfs", "ps"] {
        let output = lab.run(&["run", "stuck.toml", "--policy", policy, "--quiet"]);
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{policy}: {}", output.err);
        names_who_waits(&output.err);
    }
    // With an end there is a result.
    assert_eq!(lab.run(&["run", "stuck.toml", "--policy", "fcfs", "--duration", "1s"]).code, Some(0));
}

#[test]
fn a_run_that_is_over_before_its_warmup_has_no_result() {
    let lab = lab();
    lab.write("long.toml", format!("{ONCE}\n[run]\nwarmup = \"70ms\"\n"));
    let output = lab.run(&["run", "long.toml", "--policy", "rr", "--quiet"]);
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{}", output.err);
    assert!(output.err.contains("the last task ended at 60ms, before the warm-up of 70ms"), "{}", output.err);
}

#[test]
fn the_same_in_a_virtual_machine() {
    if !may_virtualize(&["debian:12"]) {
        return;
    }
    let lab = lab();
    let flags = ["--venue", "vm", "--no-costs", "--kernel", "debian:12", "--policy", "kernel", "--quiet"];
    let with = |file, more: &[&'static str]| lab.run(&[&["run", file], &flags[..], more].concat());
    let once = with("once.toml", &["--json", "--check"]);
    assert_eq!(once.code, Some(0), "{}", once.err);
    let once: Value = serde_json::from_str(&once.out).unwrap();
    let duration = number(&once, "/duration_ns");
    assert!((60e6..70e6).contains(&duration), "{duration}");
    let throughput = number(&once, "/roles/0/throughput_per_s");
    assert!((throughput * duration / 2e9 - 1.0).abs() < 1e-12, "{throughput} in {duration}");
    let stuck = with("stuck.toml", &[]);
    assert_eq!((stuck.code, stuck.out.as_str()), (Some(2), ""), "{}", stuck.err);
    names_who_waits(&stuck.err);
}
