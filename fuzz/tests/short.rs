//! A short pass with a fixed seed: each target takes its seeds, what was once found, and some hundred changes of them.

use schedlab_fuzz::drive::Session;
use schedlab_fuzz::{Answer, all, drive};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

/// Changed inputs for each target. Those that run something take more time for each.
fn inputs(name: &str) -> u64 {
    match name {
        "run" | "script" => 60,
        "parquet" | "perfetto" | "trace-events" => 200,
        name if name.starts_with("import") => 200,
        _ => 600,
    }
}

#[test]
fn every_target_takes_changed_seeds() {
    drive::limit_memory();
    for target in all() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
        let mut session = Session::new(target, 1, Some(&corpus));
        let mut last = Vec::new();
        for _ in 0..inputs(target.name) {
            let step = std::panic::AssertUnwindSafe(|| session.step(&mut |input| last = input.to_vec()));
            assert!(std::panic::catch_unwind(step).is_ok(), "{}: {:?}", target.name, String::from_utf8_lossy(&last));
        }
        assert!(session.answers() > 1, "{}: all inputs gave one answer, so nothing was tried", target.name);
    }
}

#[test]
fn a_target_that_breaks_its_promise_is_found() {
    let mut canary = all()[0];
    canary.seeds = || vec![b"name".to_vec()];
    canary.run = |bytes| {
        assert!(!bytes.starts_with(b"name\xff") && bytes.len() < 40, "the canary");
        Answer(bytes.len() as u64)
    };
    let mut session = Session::new(canary, 1, None);
    let all_well = (0..10_000)
        .all(|_| std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| session.step(&mut |_| {}))).is_ok());
    assert!(!all_well, "an input that breaks the promise is not made");
}

#[test]
fn who_is_asked_to_end_says_what_was_tried() {
    for signal in ["TERM", "INT", "HUP"] {
        let mut attack = Command::new(env!("CARGO_BIN_EXE_schedlab-fuzz"));
        let mut attack =
            attack.args(["--seconds", "1000", all()[0].name]).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut out = BufReader::new(attack.stdout.take().expect("it is piped"));
        let mut said = String::new();
        out.read_line(&mut said).expect("it says what it begins with");
        let told = Command::new("kill").args([format!("-{signal}"), attack.id().to_string()]).status();
        assert!(told.is_ok_and(|status| status.success()));
        out.read_to_string(&mut said).expect("it says what came of it");
        let ended = format!(" inputs, 0 findings\nended by SIG{signal} before its time\n");
        assert!(said.ends_with(&ended), "{said}");
        assert!(!attack.wait().expect("it ends").success());
    }
}
