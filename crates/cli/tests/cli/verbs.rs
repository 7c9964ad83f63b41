//! What each verb prints when all is well.

use crate::lab::Lab;
use serde_json::Value;
use std::time::{Duration, Instant};

#[test]
fn run_prints_tables_of_eighty_columns_without_colours() {
    let lab = Lab::with_small();
    let output = lab.run(&["run", "small.toml", "--policy", "rr:quantum=5ms", "--tasks", "--runs", "2"]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let page = &output.out;
    assert!(
        page.starts_with("small under rr:quantum=5ms: 2s on 1 CPU in sim, means of 2 runs from seed 1\n"),
        "{page}"
    );
    assert!(page.contains("Two tasks take turns.") && page.contains("95 % interval"), "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 80) && !page.contains('\x1b'), "{page}");
    assert!(output.err.contains("2 runs in ") && output.err.contains("wall time"), "{}", output.err);
    assert_eq!(lab.run(&["run", "small.toml", "--policy", "rr", "--quiet"]).err, "");
}

#[test]
fn json_is_as_the_schemas_say() {
    let lab = Lab::with_small();
    let cases: [(&str, &[&str]); 5] = [
        ("result", &["run", "small.toml", "--policy", "mlfq", "--json"]),
        ("runs", &["run", "small.toml", "--policy", "mlfq", "--json", "--runs", "2"]),
        ("comparison", &["compare", "small.toml", "--policy", "fcfs,rr", "--json", "--runs", "2"]),
        ("comparison", &["compare", "small.toml", "--policy", "fcfs,rr", "--json"]),
        ("comparison", &["compare", "rr-vs-ps", "--policy", "fcfs,ps", "--json", "--duration", "300s"]),
    ];
    for (name, args) in cases {
        let schema = lab.json(&["schema", name]);
        // Only of single runs among several it may be said that one does not know a metric.
        let nulls = schema.to_string().matches("\"null\"").count();
        assert_eq!(nulls, if name == "result" { 0 } else { 2 }, "{name}: what cannot be known is absent");
        let value = lab.json(args);
        let validator = jsonschema::validator_for(&schema).unwrap();
        validator.validate(&value).unwrap_or_else(|error| panic!("{args:?}: {}: {error}", error.instance_path()));
    }
    assert_eq!(lab.json(&["schema", "scenario"])["type"], "object");
}

#[test]
fn flags_change_the_machine_and_the_length() {
    let lab = Lab::with_small();
    let args = ["run", "small.toml", "--policy", "rr", "--json", "--duration", "1s", "--tick", "10ms"];
    let result = lab.json(&[&args[..], &["--topology", "2n1l2c1t"]].concat());
    let scenario = &result["scenario"];
    assert_eq!((&scenario["cpus"], &scenario["topology"]), (&4.into(), &"2n1l2c1t".into()));
    assert_eq!((&scenario["tick_ns"], &result["duration_ns"]), (&10_000_000.into(), &1_000_000_000.into()));
    assert_eq!(lab.json(&[&args[..], &["--cpus", "3"]].concat())["cpus"].as_array().unwrap().len(), 3);
}

#[test]
fn compare_says_how_much_and_how_sure() {
    let lab = Lab::with_small();
    let page = lab.out(&["compare", "small.toml", "--policy", "fcfs,mlfq:levels=4,step=5ms", "--runs", "10"]);
    assert!(page.contains("\nfcfs ") && page.contains("\nmlfq:levels=4,step=5ms"), "{page}");
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Largest differences first, each relative to the best: - worker, "), "{page}");
    assert!(words.contains("No clear best: worker, mean response (within "), "{page}");
    assert!(!page.contains("Nothing here is random"), "{page}");
    let queue = ["compare", "rr-vs-ps", "--policy", "fcfs,ps", "--runs", "10", "--duration", "300s"];
    let words = lab.out(&queue).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("- job, mean response: best fcfs ") && words.contains(" 95 % interval "), "{words}");
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    let exact = lab.out(&["compare", "heavy-load", "--policy", "rr", "--policy", "fcfs"]);
    assert!(exact.contains("Nothing here is random"), "{exact}");
    let words = exact.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("Under fcfs 5 of 7 tasks of worker never got a CPU, and the longest wait was 60s"),
        "{exact}"
    );
    assert!(words.contains("percentiles of waits leave out waits that did not end."), "{exact}");
    assert!(
        words.contains("rr is best or tied for best in every question, with the shortest worst-case wait"),
        "{exact}"
    );
    assert!(words.contains("fcfs starves tasks of worker, so its response times are not ranked."), "{exact}");
}

#[test]
fn compare_shows_theory_and_published_values() {
    let lab = Lab::new();
    let args = ["compare", "rr-vs-ps", "--policy", "fcfs,rr,ps", "--duration", "2000s", "--json"];
    let comparison = lab.json(&args);
    let expected: Vec<_> = comparison["theory"].as_array().unwrap().iter().collect();
    assert_eq!(expected.len(), 3);
    for (row, (model, ms)) in expected.iter().zip([("M/D/1 FCFS", 220.0), ("M/D/1 FCFS", 220.0), ("M/D/1 PS", 420.0)]) {
        assert_eq!(row["model"], model);
        assert!((row["expected_ns"].as_f64().unwrap() / 1e6 - ms).abs() < 1e-6, "{row}");
        assert!(row["published_ns"].is_u64() && row["measured_ns"].is_f64(), "{row}");
    }
    let page = lab.out(&args[..args.len() - 1]);
    assert!(page.contains("published: Happe et al.") && page.contains("M/D/1 PS"), "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
}

#[test]
fn policies_are_listed_and_looked_into() {
    let lab = Lab::new();
    let list = lab.out(&["policies"]);
    for name in ["  fcfs ", "  rr ", "  mlfq ", "  ps ", "  srpt ", "  ideal-fcfs "] {
        assert!(list.contains(name), "{list}");
    }
    let rr = lab.out(&["policies", "rr"]);
    assert!(rr.starts_with("rr: round robin") && rr.contains("quantum = 100ms  (1us to 1000s)"), "{rr}");
    assert!(lab.out(&["policies", "ps"]).contains("no parameters"));
    lab.write("mine.bpf.c", lab.out(&["policies", "rr", "--source"]));
    let mine = lab.out(&["policies", "./mine.bpf.c"]);
    assert!(mine.starts_with("./mine.bpf.c: can be simulated"), "{mine}");
    for part in ["operations", "enqueue", "kernel functions", "scx_bpf_dsq_move_to_local", "licence", "quantum"] {
        assert!(mine.contains(part), "{part} is missing:\n{mine}");
    }
}

#[test]
fn a_foreign_policy_gets_what_its_loader_would_fill_in() {
    let lab = Lab::with_small();
    lab.policy("loaded.bpf.c");
    let said = lab.out(&["policies", "./loaded.bpf.c"]);
    assert!(said.contains("can be simulated") && said.contains("the number of CPUs of the machine"), "{said}");
    let run = ["run", "small.toml", "--cpus", "3", "--json", "--policy"];
    let result = lab.json(&[&run[..], &["./loaded.bpf.c"]].concat());
    assert_eq!(result["policy"]["parameters"]["nr_cpu_ids"], 3, "{}", result["policy"]);
    let set = lab.run(&[&run[..], &["./loaded.bpf.c:nr_cpu_ids=2"]].concat());
    assert_eq!(set.code, Some(1), "what the user sets stays");
    assert!(set.err.contains("ops.init() failed (-22)"), "{}", set.err);
}

#[test]
fn a_task_that_loses_its_cpu_is_still_running() {
    let lab = Lab::with_small();
    lab.policy("central.bpf.c");
    let result = lab.json(&["run", "small.toml", "--policy", "./central.bpf.c", "--check", "--json"]);
    // Two tasks of 30 ms and a sleep on one CPU: one of them always wants it except for the first sleeps.
    let requests = result["roles"][0]["requests"].as_u64().unwrap_or_default();
    assert!((60..=66).contains(&requests), "{}", result["roles"][0]);
}

#[test]
fn headers_beside_a_policy_come_before_ours() {
    let lab = Lab::with_small();
    lab.write("include/scx/common.bpf.h", "#error \"their own\"\n");
    lab.write("src/bpf/main.bpf.c", "#include <scx/common.bpf.h>\n");
    let output = lab.run(&["policies", "./src/bpf/main.bpf.c"]);
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("include/scx/common.bpf.h:1:2: error: \"their own\""), "{}", output.err);
}

#[test]
fn a_new_policy_runs_at_once() {
    let lab = Lab::with_small();
    assert!(lab.out(&["policies", "new", "mine"]).contains("./mine.bpf.c is written"));
    assert!(lab.out(&["run", "small.toml", "--policy", "./mine.bpf.c:slice=5ms"]).contains("./mine.bpf.c:slice=5ms"));
    let again = lab.run(&["policies", "new", "mine"]);
    assert_eq!(again.code, Some(2));
    assert!(again.err.contains("exists"), "{}", again.err);
}

/// A copy of a shipped policy does what that does until one of its headers is changed.
#[test]
fn a_copy_of_a_shipped_policy_has_its_own_headers() {
    let lab = Lab::with_small();
    let first = lab.out(&["policies", "new", "mine", "--from", "ule"]);
    assert!(first.contains("./mine/mine.bpf.c is written, a copy of ule"), "{first}");
    let switches = |policy: &str| {
        lab.json(&["run", "small.toml", "--policy", policy, "--json", "--quiet"])["events"]["switches"].clone()
    };
    assert_eq!(switches("./mine/mine.bpf.c"), switches("ule"));
    let header = lab.path("mine/include/ule/parameters.bpf.h");
    let text = std::fs::read_to_string(&header).unwrap();
    let changed = text.replace("PARAMETER(u32, slice, 0,", "PARAMETER(u32, slice, 1,");
    assert_ne!(text, changed);
    std::fs::write(&header, changed).unwrap();
    assert_ne!(switches("./mine/mine.bpf.c"), switches("ule"));
    for (name, of, part) in
        [("mine", "ule", "./mine exists"), ("other", "uel", "there is no policy `uel`; did you mean `ule`")]
    {
        let output = lab.run(&["policies", "new", name, "--from", of]);
        assert!(output.code == Some(2) && output.err.contains(part), "{}", output.err);
    }
}

/// What `policies new` suggests, and its test: no CPU idles while a task waits that may run there.
#[test]
fn a_new_policy_passes_the_commands_that_come_with_it() {
    let lab = Lab::new();
    lab.out(&["policies", "new", "mine"]);
    for scenario in ["heavy-load", "mine.toml"] {
        let args = ["run", scenario, "--policy", "./mine.bpf.c", "--check", "--quiet", "--json"];
        let result = lab.json(&args);
        assert_eq!(result["work_conservation_violation"]["frac"], 0.0, "{scenario}");
        let starved = result["roles"].as_array().unwrap().iter().map(|role| role["starved"].as_u64());
        assert!(starved.eq(result["roles"].as_array().unwrap().iter().map(|_| Some(0))), "{scenario}: {result}");
    }
    lab.out(&["gate", "./mine.gate.toml", "--update", "--quiet"]);
    let passed = lab.out(&["gate", "./mine.gate.toml", "--quiet"]);
    assert!(passed.starts_with("mine passed: ") && passed.contains("nothing changed"), "{passed}");
}

#[test]
fn scenarios_are_listed_printed_and_translated() {
    let lab = Lab::new();
    assert!(lab.out(&["scenarios"]).contains("heavy-load"));
    // rt-app has no word for where a task starts.
    lab.write("copy.toml", lab.out(&["scenarios", "moderate-load"]).replace("start_on = 0\n", ""));
    lab.write("load.json", lab.out(&["scenarios", "export", "copy.toml"]));
    lab.write("back.toml", lab.out(&["scenarios", "import", "load.json"]));
    let result = lab.json(&["run", "back.toml", "--policy", "rr", "--duration", "2s", "--json"]);
    assert_eq!(result["tasks"].as_array().map(Vec::len), Some(7));
}

#[test]
fn files_of_rt_app_are_scenarios() {
    let lab = Lab::new();
    let text = r#"/* two */ { "tasks": { "t": { "instance": 2, "loop": 5, "run": 1000, "sleep": 2000, } }, "global": { "frag": 1, "x": 2 } }"#;
    lab.write("app.json", text);
    lab.write("app", text);
    let output = lab.run(&["run", "app.json", "--policy", "rr", "--json"]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(output.err.contains("assuming 1 CPU") && output.err.contains("the key \"x\""), "{}", output.err);
    let result: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(result["roles"][0]["requests"], 10, "each loop of each thread");
    assert_eq!(lab.json(&["run", "app", "--policy", "rr", "--json", "--quiet"])["roles"], result["roles"]);
    let imported = lab.run(&["scenarios", "import", "app.json"]);
    assert!(
        imported.err.contains("the key \"x\"") && imported.out.contains("repeat = 5, request = true"),
        "{imported:?}"
    );
    assert!(lab.out(&["compare", "app.json", "--policy", "rr,fcfs", "--cpus", "2"]).contains("fcfs"));
}

#[test]
fn scenarios_of_families_are_drawn_and_run() {
    let lab = Lab::new();
    assert!(lab.out(&["scenarios"]).contains("fork-storms"));
    let drawn = lab.out(&["scenarios", "--family", "locks", "--seed", "7", "--cpus", "2"]);
    assert!(drawn.contains("name = \"locks-7-2cpus\"") && drawn.contains("cpus = 2"), "{drawn}");
    assert_eq!(lab.out(&["scenarios", "family:locks:7:2"]), drawn);
    lab.out(&["scenarios", "--family", "all", "--seed", "1..2", "--cpus", "2", "--write", "drawn"]);
    lab.out(&["scenarios", "--family", "locks", "--seed", "7", "--cpus", "2", "--write", "drawn"]);
    let file = std::fs::read_to_string(lab.path("drawn").join("locks-7-2cpus.toml")).unwrap();
    assert_eq!(file, drawn);
    assert_eq!(std::fs::read_dir(lab.path("drawn")).unwrap().count(), 2 * 20 + 1);
    let run = |scenario: &str| lab.json(&["run", scenario, "--policy", "rr", "--cpus", "2", "--json"]);
    assert_eq!(run("family:locks:7"), run("drawn/locks-7-2cpus.toml"));
}

#[test]
fn what_families_cannot_draw_is_refused() {
    let lab = Lab::new();
    for (args, part) in [
        (&["scenarios", "--family", "lokcs"][..], "did you mean `locks`?"),
        (&["scenarios", "--family", "all"], "add --write FOLDER"),
        (&["scenarios", "--family", "locks", "--seed", "3..1"], "the first and the last"),
        (&["scenarios", "--family", "locks", "--cpus", "65"], "65"),
        (&["run", "family:locks", "--policy", "rr"], "family:locks:SEED"),
        (&["run", "family:locks:1", "--policy", "rr", "--cpus", "65"], "from 1 to 64"),
    ] {
        let output = lab.run(args);
        assert_eq!(output.code, Some(2), "{args:?}: {}", output.err);
        assert!(output.err.contains(part), "{args:?}: {}", output.err);
    }
}

#[test]
fn ctrl_c_prints_what_there_is_and_says_so() {
    let lab = Lab::with_small();
    for (args, tell) in [(&["--json"][..], "\"partial\": true"), (&[], "PARTIAL: stopped before the end")] {
        let run = ["run", "small.toml", "--policy", "rr", "--duration", "100000000s", "--trace", "t.parquet"];
        let mut command = lab.command(&[&run[..], args].concat());
        let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
        let begin = Instant::now();
        while !lab.is_tracing(child.id()) {
            assert!(begin.elapsed() < Duration::from_secs(60), "the run does not begin");
            std::thread::sleep(Duration::from_millis(10));
        }
        let id = child.id().to_string();
        assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(130), "{out}");
        assert!(out.contains(tell), "{out}");
        assert_eq!(lab.files(), ["small.toml", "t.parquet"]);
        if tell.starts_with('"') {
            let result: Value = serde_json::from_str(&out).unwrap();
            assert!(result["duration_ns"].as_u64().unwrap() < 100_000_000_000_000_000);
        }
        std::fs::remove_file(lab.path("t.parquet")).unwrap();
    }
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let lab = Lab::with_small();
    let mut command = lab.command(&["schema", "result"]);
    let mut child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
}
