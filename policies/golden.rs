//! Golden traces: `policies/NAME/golden/*.toml` are scenarios small enough to follow by hand, and next to each stands
//! what happens in it. `UPDATE_GOLDEN=1 make test` writes them again; read the difference before you keep it.

use crate::lab;
use schedlab_bpf::Executor;
use schedlab_model::scenario::Scenario;
use schedlab_trace::{Header, text};
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn golden_traces() {
    let mut count = 0;
    for policy in schedlab_policy::catalog() {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../policies").join(policy.name).join("golden");
        let mut files: Vec<PathBuf> = fs::read_dir(&folder)
            .expect("every policy has a golden trace")
            .map(|entry| entry.unwrap().path())
            .collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
        files.sort();
        assert!(!files.is_empty(), "{} has no golden trace", policy.name);
        for scenario in files {
            check(policy.name, &scenario);
            count += 1;
        }
    }
    assert!(count >= 3);
}

fn check(policy: &str, path: &Path) {
    let scenario = Scenario::from_file(path).unwrap_or_else(|error| panic!("{error}"));
    let workload = scenario.compile().unwrap_or_else(|error| panic!("{error}"));
    let [one, two] = [Executor::Interpreter, Executor::Machine].map(|executor| {
        let run = lab::run_with(&workload, policy, executor, &[]).unwrap_or_else(|error| panic!("{error}"));
        let header = Header { end: run.outcome.end, ..Header::of(&workload, policy, "sim") };
        text::render(&header, &run.events)
    });
    assert_eq!(one, two, "the executors differ");
    let golden = path.with_extension("txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&golden, &one).expect("the folder is writable");
    }
    let expected = fs::read_to_string(&golden).unwrap_or_default();
    assert_eq!(one, expected, "{} differs from what happened", golden.display());
}
