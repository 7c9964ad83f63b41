//! What is printed as JSON is what `schedlab schema` describes. Other tests hold what takes long against it.

use crate::lab::Lab;
use serde_json::Value;

/// What a command prints; some end with a code that says what was found.
fn printed(lab: &Lab, args: &[&str]) -> Value {
    let output = lab.run(args);
    serde_json::from_str(&output.out).unwrap_or_else(|error| panic!("{args:?}: {error}: {}{}", output.out, output.err))
}

#[test]
fn lists_are_described() {
    let lab = Lab::with_small();
    let cases: [(&str, &[&str]); 11] = [
        ("venues", &["venues", "--json"]),
        ("policies", &["policies", "--json"]),
        ("policy", &["policies", "mlfq", "--json"]),
        ("policy", &["policies", "eevdf", "--json"]),
        ("policy", &["policies", "sjf", "--json"]),
        ("scenarios", &["scenarios", "--json"]),
        ("studies", &["study", "list", "--json"]),
        ("studies", &["study", "--json"]),
        ("questions", &["study", "gpos", "--questions", "--json"]),
        ("kernels", &["vm", "kernels", "--json"]),
        ("sweep-result", &["sweep", "sweep.toml", "--plan", "--json"]),
    ];
    lab.write("sweep.toml", "scenario = \"small.toml\"\npolicy = \"rr\"\n[axis]\n\"task.worker.count\" = [1, 2]\n");
    for (name, args) in cases {
        lab.assert_described(name, &printed(&lab, args));
    }
    let output = lab.run(&["vm", "kernels", "--fetch", "debian:12", "--json"]);
    assert_eq!(output.code, Some(2), "{}", output.err);
}

#[test]
fn views_of_a_trace_are_described() {
    let lab = Lab::with_small();
    lab.out(&["run", "small.toml", "--policy", "mlfq", "--quiet", "--trace", "t.parquet"]);
    lab.assert_described("check", &printed(&lab, &["check", "t.parquet", "--json"]));
    let views: [&[&str]; 7] = [
        &[],
        &["latency"],
        &["latency", "--list"],
        &["latency", "--tasks"],
        &["queue"],
        &["status", "--tasks"],
        &["timeline"],
    ];
    for view in views {
        let args = [&["trace", "t.parquet"][..], view, &["--json"]].concat();
        lab.assert_described("trace", &printed(&lab, &args));
    }
    let both = lab.run(&["trace", "t.parquet", "timeline", "--output", "t.txt", "--json"]);
    assert_eq!((both.code, both.out.as_str()), (Some(2), ""), "{}", both.err);
    assert!(both.err.contains("--output writes the trace") && !lab.path("t.txt").exists(), "{}", both.err);
}

#[test]
fn models_and_imports_are_described() {
    let lab = Lab::with_small();
    let trace = ["--duration", "20s", "--quiet", "--trace", "t.parquet", "--trace", "t.pftrace", "--for-model"];
    lab.out(&[&["run", "small.toml", "--policy", "rr"][..], &trace].concat());
    lab.assert_described("model", &printed(&lab, &["model", "t.parquet", "-o", "m.toml", "--json"]));
    let predict = ["predict", "t.parquet", "--policy", "fcfs", "--resamples", "5", "--quiet", "--json"];
    lab.assert_described("predict", &printed(&lab, &predict));
    lab.assert_described("result", &printed(&lab, &["import", "t.pftrace", "-o", "i.parquet", "--json"]));
    assert!(lab.path("i.parquet").exists());
}

#[test]
fn a_search_is_described() {
    let lab = Lab::new();
    lab.policy("gives_up.bpf.c");
    let args = ["search", "--policy", "./gives_up.bpf.c", "--scenarios", "4", "--coverage", "--quiet", "--json"];
    let found = printed(&lab, &args);
    assert!(!found["found"].as_array().unwrap().is_empty(), "{found}");
    lab.assert_described("search", &found);
}
