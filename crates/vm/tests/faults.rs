//! Guests that do something wrong: each is an error of its own, soon, and the emulator is gone.

#[path = "../../../tests/skip.rs"]
mod skip;

use schedlab_guest::frame::FrameError;
use schedlab_guest::{Job, Setup, Work};
use schedlab_model::scenario::Scenario;
use schedlab_vm::engine::EngineSpec;
use schedlab_vm::image::Image;
use schedlab_vm::{Limit, Settings, VmError, kernels};
use std::path::PathBuf;
use std::time::Duration;

/// Example programs lie next to the folder of the tests.
fn faulty() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().unwrap().with_file_name("examples").join("faulty");
    assert!(program.exists(), "cargo test --examples builds {}", program.display());
    program
}

/// What comes of a guest that does `fault`.
fn run(fault: &str, engine: &str, limit: Duration) -> VmError {
    let text = format!(
        "name = \"{fault}\"\nabout = \"x\"\n[machine]\ncpus = 1\n[[task]]\nname = \"t\"\nloop = [{{ compute = \"1ms\" }}]\n\
         [run]\nduration = \"1s\"\n"
    );
    let workload = Scenario::parse(&text, "faulty.toml").unwrap().compile().unwrap();
    let setup = Setup { algorithm: "spin".into(), policy: None };
    let job = Job { setup, work: Work { workload, seed: 1, costs: false } };
    let (engine, kernel) = (engine.parse::<EngineSpec>().unwrap(), kernels::find("debian:12").unwrap());
    let kernel = Image::read(&kernel).unwrap();
    let settings = Settings {
        engine: engine.engine(),
        kernel: &kernel,
        program: &faulty(),
        configuration: None,
        limit: Limit::Whole(limit),
        kept: None,
    };
    let error = schedlab_vm::run(&job, &settings, &mut |_| true).unwrap_err();
    assert_eq!(emulators(), 0, "{error}");
    error
}

/// Emulators that descend from this process.
fn emulators() -> usize {
    let parent = |pid: &str| -> Option<String> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some(stat.rsplit(')').next()?.split_whitespace().nth(1)?.to_string())
    };
    let me = std::process::id().to_string();
    let is_ours = |pid: &String| {
        let mut above = parent(pid);
        while let Some(pid) = above.filter(|pid| pid != "0") {
            if pid == me {
                return true;
            }
            above = parent(&pid);
        }
        false
    };
    let all = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    all.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).filter(is_ours).count()
}

const LONG: Duration = Duration::from_secs(300);

/// One test, one guest after the other: a test that looks for emulators sees those of other tests too.
#[test]
fn each_fault_of_a_guest_is_told_apart() {
    let [qemu, bochs, _] = EngineSpec::all();
    if let Some(lack) = schedlab_vm::lack(&[qemu.engine(), bochs.engine()], &["debian:12"]) {
        return skip::skip(&lack);
    }
    match run("panics", "qemu", LONG) {
        VmError::Panicked { reason, console } => {
            assert!(reason.contains("Attempted to kill init"), "{reason}");
            assert!(console.contains("\n  console: "), "{console}");
        }
        other => panic!("{other}"),
    }
    match run("panics", "bochs", LONG) {
        VmError::Panicked { .. } => {}
        other => panic!("{other}"),
    }
    match run("hangs", "qemu", Duration::from_secs(30)) {
        VmError::TooLong { stage, .. } => assert_eq!(stage, "preparing the run"),
        other => panic!("{other}"),
    }
    match run("floods", "qemu", LONG) {
        VmError::Frame { error: FrameError::NoFrame { .. }, .. } => {}
        other => panic!("{other}"),
    }
    match run("floods", "bochs", LONG) {
        VmError::Frame { error: FrameError::Flood { bytes }, .. } => assert!(bytes > 1 << 20),
        other => panic!("{other}"),
    }
    match run("switches-off", "qemu", LONG) {
        VmError::EndedEarly { stage, .. } => assert_eq!(stage, "preparing the run"),
        other => panic!("{other}"),
    }
    match run("breaks-off", "qemu", LONG) {
        VmError::EndedEarly { stage, .. } => assert_eq!(stage, "running"),
        other => panic!("{other}"),
    }
}
