//! `schedlab model` and `schedlab predict`.

use crate::lab::Lab;
use serde_json::Value;

/// A recording of the small scenario for a model; `length` is its duration.
fn recorded(lab: &Lab, length: &str) {
    let trace = ["--duration", length, "--quiet", "--trace", "t.parquet", "--for-model"];
    lab.out(&[&["run", "small.toml", "--policy", "rr"][..], &trace].concat());
}

fn json(lab: &Lab, arguments: &[&str]) -> Value {
    serde_json::from_str(&lab.out(&[arguments, &["--json", "--quiet"]].concat())).unwrap()
}

#[test]
fn a_recording_becomes_a_scenario_that_runs_as_the_recorded_one_did() {
    let lab = Lab::with_small();
    recorded(&lab, "20s");
    let said = lab.out(&["model", "t.parquet", "-o", "m.toml"]);
    assert!(said.contains("small: 20s recorded on 1 CPU under rr"), "{said}");
    assert!(said.contains("unexplained 0.0 %"), "{said}");
    assert!(said.ends_with("\nThe scenario is in m.toml and m.steps.parquet.\n"), "{said}");
    assert!(
        std::fs::read_to_string(lab.path("m.toml")).unwrap().contains("file = \"m.steps.parquet\""),
        "sleeps differ, so they are in the file"
    );
    let of = |scenario: &str| json(&lab, &["run", scenario, "--policy", "rr", "--duration", "19s"])["roles"][0].clone();
    let (truth, model) = (of("small.toml"), of("m.toml"));
    for figure in ["requests", "cpu_ns", "response_ns"] {
        assert_eq!(model[figure], truth[figure], "{figure}");
    }
    let piped = lab.shell("schedlab model - -o piped.toml <t.parquet");
    assert!(piped.ends_with("\nThe scenario is in piped.toml and piped.steps.parquet.\n"), "{piped}");
    let again = lab.out(&["model", "t.parquet", "-o", "m.toml", "--json"]);
    let again: Value = serde_json::from_str(&again).unwrap();
    assert_eq!(again["schema"], "schedlab.model/1");
    assert_eq!(again["roles"][0]["tasks"], 2);
}

#[test]
fn a_prediction_has_its_self_check_and_intervals() {
    let lab = Lab::with_small();
    recorded(&lab, "60s");
    let all = json(&lab, &["predict", "t.parquet", "--policy", "fcfs", "--cpus", "1,2", "--resamples", "10"]);
    assert_eq!(all["refused"], false, "{all:#}");
    for checked in all["self_check"].as_array().unwrap() {
        assert!(checked["error"].as_f64().unwrap().abs() < 0.01, "{checked}");
    }
    let cells = all["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2);
    for cell in cells {
        let cpus = cell["cpus"].to_string();
        let truth = json(&lab, &["run", "small.toml", "--policy", "fcfs", "--cpus", &cpus, "--duration", "60s"]);
        let truth = truth["roles"][0]["response_ns"]["mean"].as_f64().unwrap();
        let mean = cell["figures"].as_array().unwrap().iter().find(|f| f["figure"] == "response_mean_ns").unwrap();
        let [value, low, high] = ["value", "low", "high"].map(|key| mean[key].as_f64().unwrap());
        assert!((value / truth - 1.0).abs() < 0.01, "{cpus} CPUs: {value} for {truth}");
        assert!(low <= truth * 1.001 && truth <= high * 1.001, "{cpus} CPUs: {truth} is not from {low} to {high}");
    }
}

#[test]
fn the_tables_of_a_prediction_are_files_too() {
    let lab = Lab::with_small();
    recorded(&lab, "20s");
    lab.out(&["predict", "t.parquet", "--policy", "fcfs", "--resamples", "5", "--quiet", "--export", "t.csv"]);
    let table = std::fs::read_to_string(lab.path("t.csv")).unwrap();
    assert!(table.contains("\nSelf-check,") && table.contains("\nPrediction,"), "{table}");
    assert!(
        table.starts_with("table,role,figure,policy,recorded,modelled,error,CPUs,value,low,high,note\n"),
        "{table}"
    );
    assert!(table.contains(",worker,response_mean_ns,fcfs,") && table.contains("\nanswer,"), "{table}");
}

/// Before the recording is read: rows of the table would have the same name, or the simulator lacks the policy.
#[test]
fn what_cannot_be_predicted_is_refused_at_the_start() {
    let lab = Lab::with_small();
    recorded(&lab, "2s");
    let cases: [(&[&str], &str); 3] = [
        (&["--policy", "kernel"], "policy kernel cannot be run in the venue `sim`"),
        (&["--policy", "rr,rr"], "`rr` is there twice: name it once"),
        (&["--policy", "rr", "--cpus", "2,1,2"], "`2` is there twice: name it once"),
    ];
    for (args, part) in cases {
        let output = lab.run(&[&["predict", "t.parquet", "--quiet"], args].concat());
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{args:?}: {}", output.err);
        assert!(output.err.contains(part), "{args:?}: {}", output.err);
    }
}

#[test]
fn a_policy_that_fails_has_a_row_in_the_prediction() {
    let lab = Lab::with_small();
    recorded(&lab, "20s");
    lab.policy("gives_up.bpf.c");
    let policies = "fcfs,./gives_up.bpf.c";
    let output = lab.run(&["predict", "t.parquet", "--policy", policies, "--resamples", "5", "--quiet"]);
    assert_eq!(output.code, Some(1), "{}", output.err);
    let row = output.out.lines().find(|line| line.starts_with("./gives_up.b"));
    assert!(row.is_some_and(|row| row.contains(" failed ")), "{}", output.out);
    assert!(output.out.contains("\nOn 1 CPU: policy ./gives_up.bpf.c: "), "{}", output.out);
}

#[test]
fn a_prediction_has_a_page() {
    let lab = Lab::with_small();
    recorded(&lab, "20s");
    lab.out(&["predict", "t.parquet", "--policy", "fcfs", "--resamples", "5", "--quiet", "--report", "p.html"]);
    let page = std::fs::read_to_string(lab.path("p.html")).unwrap();
    for part in ["the best mean response is that under fcfs on 1 CPU", "schedlab model t.parquet -o model.toml"] {
        assert!(page.contains(part), "{part}");
    }
    let other = lab.run(&["predict", "t.parquet", "--policy", "fcfs", "--report", "p.pdf"]);
    assert_eq!((other.code, lab.path("p.pdf").exists()), (Some(2), false), "{}", other.err);
}

#[test]
fn what_a_recording_does_not_bear_is_refused_with_its_reason() {
    let lab = Lab::with_small();
    recorded(&lab, "1s");
    let output = lab.run(&["predict", "t.parquet", "--policy", "fcfs", "--quiet"]);
    assert_eq!(output.code, Some(3));
    assert!(output.out.contains("Refused, FEW: 32 items, and at least"), "{}", output.out);
    assert!(output.err.starts_with("schedlab: inconclusive: nothing is predicted; FEW: "), "{}", output.err);
    let model = lab.out(&["model", "t.parquet"]);
    assert!(model.contains("\ncaution     `predict` would refuse this. FEW: "), "{model}");
    assert!(model.contains("\nThe scenario is in model.toml"), "{model}");
    lab.write("no.parquet", "neither a trace nor a recording");
    assert_eq!(lab.run(&["model", "no.parquet"]).code, Some(2));
}
