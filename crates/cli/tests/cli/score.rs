//! Scores, the process that they are made in, and tuning.

use crate::lab::Lab;
use std::fs;

/// One CPU, tasks that compute, and one that wants the CPU now and then: it waits for whole slices of the others.
const DESK: &str = r#"
name = "desk"

[machine]
cpus = 1

[[task]]
name = "hog"
count = 3
loop = [{ compute = "7ms" }]

[[task]]
name = "click"
loop = [{ compute = "100us" }, { sleep = "uniform(10ms, 50ms)" }]

[run]
duration = "2s"
"#;

const SCORE: &str = r#"
scenario = "desk.toml"
held_out = ["two.toml", "three.toml", "four.toml"]
reference = "rr:quantum=10ms"
runs = 2

[[part]]
metric = "roles.click.response_ns.mean"
floor = "1us"
"#;

fn lab() -> Lab {
    let lab = Lab::new();
    lab.write("desk.toml", DESK);
    for (name, count) in [("two", 2), ("three", 4), ("four", 5)] {
        lab.write(&format!("{name}.toml"), DESK.replace("count = 3", &format!("count = {count}")));
    }
    lab.write("desk.score.toml", SCORE);
    lab
}

#[test]
fn the_reference_scores_one_and_a_shorter_slice_more() {
    let lab = lab();
    let score = |policy: &str| lab.json(&["score", "desk.score.toml", "--policy", policy, "--json"]);
    let same = score("rr:quantum=10ms");
    assert_eq!((same["schema"].as_str(), same["score"].as_f64()), (Some("schedlab.score/1"), Some(1.0)));
    let short = score("rr:quantum=1ms");
    let item = &short["parts"][0]["items"][0];
    let [value, reference, ratio] = ["value", "reference", "ratio"].map(|key| item[key].as_f64().unwrap());
    assert!(value < reference && ratio > 2.0, "{item}");
    assert_eq!(item["unit"], "ns");
    let [low, high] = [0, 1].map(|end| short["interval"][end].as_f64().unwrap());
    assert!(low <= short["score"].as_f64().unwrap() && short["score"].as_f64().unwrap() <= high);
    // The same bytes, whatever ran at once.
    lab.assert_described("score", &score("rr:quantum=1ms"));
    let args = |threads| ["score", "desk.score.toml", "--policy", "mlfq", "--json", "--held-out", "--threads", threads];
    assert_eq!(lab.out(&args("1")), lab.out(&args("2")));
    let page = lab.out(&["score", "desk.score.toml", "--policy", "rr:quantum=1ms", "--export", "score.csv"]);
    let line = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(line.starts_with("rr:quantum=1ms scores ") && line.contains("where rr:quantum=10ms scores 1"), "{page}");
    let rows = fs::read_to_string(lab.path("score.csv")).unwrap();
    assert!(rows.starts_with("table,part,scenario,metric,weight,score,value,reference,times better,note\n"), "{rows}");
    assert!(rows.contains("\nScore,roles.click.response_ns.mean,,,"), "{rows}");
    assert!(rows.contains("\nanswer,") && rows.contains("rr:quantum=1ms scores "), "{rows}");
}

#[test]
fn what_cannot_run_scores_nothing_and_says_why() {
    let lab = lab();
    let failure = |args: &[&str]| {
        let score = lab.json(&[&["score", "desk.score.toml", "--json"], args].concat());
        assert_eq!(score["score"], 0.0, "{score}");
        score["failures"][0]["why"].as_str().unwrap().to_string()
    };
    lab.write("bad.bpf.c", "#include <schedlab/common.bpf.h>\nint x = nothing;\n");
    assert!(failure(&["--policy", "./bad.bpf.c"]).contains("does not compile"));
    // The first limit that there is.
    let slow = lab.path("slow.toml");
    fs::write(&slow, DESK.replace("duration = \"2s\"", "duration = \"1000000s\"")).unwrap();
    lab.write("slow.score.toml", SCORE.replace("desk.toml", "slow.toml").replace("runs = 2", "runs = 1"));
    let why = lab.json(&["score", "slow.score.toml", "--policy", "rr", "--json", "--time-limit", "2s"]);
    assert_eq!(why["failures"][0]["why"], "it takes more than 2s of CPU time");
    lab.write("slow.toml", DESK.replace("count = 3", "count = 200000"));
    let much = lab.json(&["score", "slow.score.toml", "--policy", "rr", "--json", "--memory-limit", "128"]);
    assert_eq!(much["failures"][0]["why"], "it uses more than 128 MiB of memory");
    for (args, told) in [
        (&["score", "no.score.toml", "--policy", "rr"][..], "no.score.toml: the file cannot be read"),
        (
            &["score", "desk.score.toml", "--policy", "rr", "--time-limit", "1ms"],
            "'--time-limit <TIME>': a kernel limits CPU time in whole seconds: write 1s or more",
        ),
        (&["score", "desk.score.toml", "--policy", "rrr"], "there is no policy `rrr`"),
        (&["score", "desk.score.toml", "--policy", "./no.bpf.c"], "cannot read ./no.bpf.c"),
    ] {
        let output = lab.run(args);
        assert_eq!(output.code, Some(2), "{args:?}: {}", output.err);
        assert!(output.err.contains(told), "{args:?}: {}", output.err);
    }
}

/// A policy's source can name any file, but its compiler reads only what it was given.
#[test]
fn a_policy_does_not_read_the_users_files() {
    let (lab, other) = (lab(), Lab::new());
    other.write("secret.h", "int secret = 5;\n");
    let secret = other.path("secret.h");
    let source = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../policies/fcfs/fcfs.bpf.c")).unwrap();
    lab.write("mine.bpf.c", format!("#include \"{}\"\n{source}", secret.display()));
    let score = lab.json(&["score", "desk.score.toml", "--policy", "./mine.bpf.c", "--json"]);
    let why = score["failures"][0]["why"].as_str().unwrap_or_default();
    let has_landlock = !lab.run(&["score", "desk.score.toml", "--policy", "rr"]).err.contains("no Landlock");
    match has_landlock {
        true => assert!(why.contains("does not compile") && why.contains("secret.h"), "{score}"),
        false => assert!(score["score"].as_f64().unwrap() > 0.0, "{score}"),
    }
    // Without that line it is a policy.
    lab.write("mine.bpf.c", source);
    let score = lab.json(&["score", "desk.score.toml", "--policy", "./mine.bpf.c", "--json"]);
    assert!(score["score"].as_f64().unwrap() > 0.0, "{score}");
}

#[test]
fn tuning_finds_the_short_slice_and_checks_it_elsewhere() {
    let lab = lab();
    let tune = |more: &[&str]| {
        let args = ["tune", "desk.score.toml", "--policy", "rr", "--trials", "24", "--quiet", "--json"];
        lab.json(&[&args, more].concat())
    };
    lab.write(
        "desk.score.toml",
        format!("{SCORE}\n[tune]\nquantum = {{ from = \"200us\", to = \"1s\", scale = \"log\" }}\n"),
    );
    let tuned = tune(&["--threads", "1", "-o", "rr.json"]);
    lab.assert_described("tune", &tuned);
    let answer = &tuned["answer"];
    assert_eq!((tuned["trials"].as_array().unwrap().len(), answer["verdict"].as_str()), (24, Some("better")));
    let policy = answer["policy"].as_str().unwrap();
    let quantum = policy.strip_prefix("rr:quantum=").unwrap();
    assert!(quantum.ends_with("us") || quantum.starts_with('1') && quantum.ends_with("ms"), "{policy}");
    assert!(answer["score"].as_f64().unwrap() > 2.0 * answer["score_before"].as_f64().unwrap(), "{answer}");
    assert_eq!(answer["gains"].as_array().unwrap().len(), 3);
    assert_eq!(answer["back"][0]["default"], "100ms");
    assert_eq!(answer["back"][0]["score"], answer["score_before"]);
    // The same trials on two threads, and where some are known.
    assert_eq!(tune(&["--threads", "2"]), tuned);
    let kept: serde_json::Value = serde_json::from_slice(&fs::read(lab.path("rr.json")).unwrap()).unwrap();
    assert_eq!(kept, tuned);
    let mut half = kept;
    half["trials"].as_array_mut().unwrap().truncate(10);
    half.as_object_mut().unwrap().remove("answer");
    lab.write("rr.json", half.to_string());
    assert_eq!(tune(&["-o", "rr.json"]), tuned);
    // Another search does not take its place.
    let before = fs::read(lab.path("rr.json")).unwrap();
    let more = |more: &[&str]| {
        let args = ["tune", "desk.score.toml", "--policy", "rr", "--quiet", "-o", "rr.json"];
        lab.run(&[&args[..], more].concat())
    };
    let other = more(&["--trials", "24", "--seed", "2"]);
    assert_eq!((other.code, other.out.as_str()), (Some(2), ""), "{}", other.err);
    assert!(other.err.contains("rr.json holds another search (seed 1); name another file"), "{}", other.err);
    assert!(fs::read(lab.path("rr.json")).unwrap() == before);
    // With fewer trials all that are known stay.
    assert_eq!(more(&["--trials", "5"]).code, Some(0));
    let fewer: serde_json::Value = serde_json::from_slice(&fs::read(lab.path("rr.json")).unwrap()).unwrap();
    let fewer = fewer["trials"].as_array().unwrap();
    assert!(tuned["trials"].as_array().unwrap().iter().all(|trial| fewer.contains(trial)), "{fewer:?}");
}

#[test]
fn what_cannot_be_tuned_is_told_before_anything_runs() {
    let lab = lab();
    lab.write("alone.score.toml", SCORE.replace("held_out = [\"two.toml\", \"three.toml\", \"four.toml\"]\n", ""));
    lab.write("other.score.toml", format!("{SCORE}\n[tune]\nquantm = [\"1ms\"]\n"));
    lab.write("wrong.score.toml", format!("{SCORE}\n[tune]\nquantum = [\"1ms\", \"5\"]\n"));
    for (file, policy, told) in [
        ("alone.score.toml", "rr", "alone.score.toml: add `held_out`"),
        ("desk.score.toml", "fcfs", "fcfs has no parameter with a range or a list of words"),
        ("other.score.toml", "rr", "rr has no parameter `quantm`: did you mean `quantum`?"),
        ("wrong.score.toml", "rr", "parameter `quantum`"),
    ] {
        let output = lab.run(&["tune", file, "--policy", policy]);
        assert_eq!(output.code, Some(2), "{file}: {}", output.err);
        assert!(output.err.contains(told), "{file}: {}", output.err);
    }
}
