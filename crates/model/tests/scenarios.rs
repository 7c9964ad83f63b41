//! The scenarios that come with the project: right, described, and as the published schema says.

use schedlab_model::{
    scenario::{Scenario, Step},
    schema,
    workload::Workload,
};
use std::{collections::BTreeSet, fs, path::PathBuf};

fn files() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "toml"));
    files.sort();
    assert!(files.len() >= 12, "{files:?}");
    files
}

fn scenarios() -> Vec<(PathBuf, Scenario, Workload)> {
    let read = |path: PathBuf| {
        let scenario = Scenario::from_file(&path).unwrap_or_else(|e| panic!("{e}"));
        let workload = scenario.compile().unwrap_or_else(|e| panic!("{e}"));
        (path, scenario, workload)
    };
    files().into_iter().map(read).collect()
}

#[test]
fn all_compile_and_say_what_they_show() {
    for (path, scenario, workload) in scenarios() {
        assert_eq!(
            path.file_stem().unwrap().to_str(),
            Some(scenario.name.as_str()),
            "the file is named as the scenario"
        );
        assert!(scenario.about.ends_with('.'), "{}", scenario.name);
        assert_eq!(workload.roles.len(), scenario.tasks.len());
    }
}

#[test]
fn all_read_back_from_what_is_written() {
    for (_, scenario, _) in scenarios() {
        let back = Scenario::parse(&scenario.to_toml(), "written").unwrap();
        assert_eq!(back, scenario);
        assert_eq!(back.hash(), scenario.hash());
    }
}

#[test]
fn all_are_as_the_schema_says() {
    let validator = jsonschema::validator_for(&schema::scenario()).unwrap();
    for path in files() {
        let value: serde_json::Value = toml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        if let Err(e) = validator.validate(&value) {
            panic!("{}: {}: {e}", path.display(), e.instance_path());
        }
    }
}

/// What the reader refuses by its form, the schema refuses too.
#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    let validator = jsonschema::validator_for(&schema::scenario()).unwrap();
    let text = |program: &str| {
        format!(
            "name = \"t\"\nmachine = {{ cpus = 1 }}\nrun = {{ duration = \"1s\" }}\n[[task]]\nname = \"a\"\n{program}"
        )
    };
    let valid = |text: &str| validator.is_valid(&toml::from_str::<serde_json::Value>(text).unwrap());
    for program in ["loop = [{ compute = \"1.5 ms\" }]", "once = [{ post = \"s\", times = 2 }, { exit = true }]"] {
        assert!(valid(&text(program)), "{program}");
    }
    for program in [
        "loop = [{ compute = 5 }]",
        "loop = [{ compute = \"5\" }]",
        "loop = [{ compute = \"-5ms\" }]",
        "loop = [{ compte = \"5ms\" }]",
        "loop = [{ compute = \"5ms\", sleep = \"5ms\" }]",
        "loop = [{ wait = \"s\", times = 2 }]",
        "loop = [{ yield = false }]",
        "loop = [{}]",
        "nice = 20\nloop = [{ compute = \"5ms\" }]",
        "class = \"fifo:0\"\nloop = [{ compute = \"5ms\" }]",
        "cpus = []\nloop = [{ compute = \"5ms\" }]",
        "prio = 1\nloop = [{ compute = \"5ms\" }]",
    ] {
        let refused = Scenario::parse(&text(program), "f").and_then(|s| s.compile()).is_err();
        assert!(refused && !valid(&text(program)), "{program}");
    }
}

#[test]
fn together_they_show_every_step() {
    fn names<'s>(steps: impl Iterator<Item = &'s Step>, into: &mut BTreeSet<&'static str>) {
        for step in steps {
            into.insert(step.name());
            if let Step::Repeat { steps, .. } = step {
                names(steps.iter(), into);
            }
        }
    }
    let mut shown = BTreeSet::new();
    for (_, scenario, _) in &scenarios() {
        names(scenario.tasks.iter().flat_map(|t| t.repeated.iter().chain(&t.once).flatten()), &mut shown);
    }
    let all = [
        "barrier",
        "broadcast",
        "compute",
        "cond_wait",
        "exit",
        "io",
        "lock",
        "period",
        "post",
        "recv",
        "repeat",
        "send",
        "signal",
        "sleep",
        "spawn",
        "unlock",
        "wait",
        "yield",
    ];
    assert_eq!(shown.into_iter().collect::<Vec<_>>(), all);
}

#[test]
fn the_result_schema_describes_a_result() {
    let schema = schema::result();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut result = serde_json::json!({
        "schema": "schedlab.result/2",
        "scenario": { "name": "s", "cpus": 1, "topology": "1n1l1c1t", "tick_ns": 0 },
        "policy": { "name": "rr", "parameters": { "quantum": 5, "boost": true, "label": "x", "shift": -1 } },
        "venue": "sim", "seed": 1, "duration_ns": 10, "warmup_ns": 0,
        "provenance": { "version": "0.1.0", "scenario_hash": "00" },
        "roles": [], "tasks": [],
        "cpus": [{ "id": 0, "busy_frac": 1.0, "idle_frac": 0.0, "overhead_frac": 0.0, "runnable": { "3": 1.0 } }],
        "events": { "switches": 0, "wakeups": 0, "migrations": 0, "ticks": 0, "forks": 0, "exits": 0 },
        "lost": 0, "partial": false,
    });
    assert!(validator.validate(&result).is_ok(), "{:?}", validator.validate(&result));
    serde_json::from_value::<schedlab_model::result::RunResult>(result.clone()).unwrap();
    result["cpus"][0]["runnable"] = serde_json::json!({ "many": 1.0 });
    assert!(!validator.is_valid(&result));
}
