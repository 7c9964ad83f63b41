//! Policies that a real kernel does not take, or throws out.

use crate::lab::{Lab, may_virtualize};
use crate::vm::{NEW, ONE};
use std::time::{Duration, Instant};

/// What the test program says when a guest's kernel ends a policy. It must end soon, leave no emulator and no file.
fn ended(policy: &str, flags: &[&str]) -> String {
    let lab = Lab::new();
    lab.write("one.toml", ONE);
    lab.policy(policy);
    let (file, begun) = (format!("./{policy}"), Instant::now());
    let args = [&["run", "one.toml", "--venue", "vm", "--quiet", "--policy", &file, "--kernel", NEW], flags].concat();
    let mut command = lab.command(&args);
    let output = command.env_remove("XDG_CACHE_HOME").env("TMPDIR", lab.path("")).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{policy}: {error}");
    assert!(begun.elapsed() < Duration::from_secs(120), "{policy}: {:?}", begun.elapsed());
    assert!(error.starts_with(&format!("schedlab: policy {file}: ")), "{error}");
    assert_eq!(lab.files().len(), 2, "{:?}", lab.files());
    assert_eq!(processes_of(&lab), 0, "{policy}");
    error
}

/// Processes with the lab's folder in their command line.
fn processes_of(lab: &Lab) -> usize {
    let folder = lab.path("").to_string_lossy().into_owned();
    let lines =
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| std::fs::read(entry.ok()?.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(&folder)).count()
}

#[test]
fn a_policy_that_forgets_its_tasks_meets_the_watchdog() {
    if !may_virtualize(&[NEW]) {
        return;
    }
    let error = ended("stall.bpf.c", &[]);
    assert!(
        error
            .contains("the kernel ejected the policy: BPF scheduler \"stall\" disabled (runnable task stall); stall: ")
    );
    assert!(error.contains("\n  kernel: "), "{error}");
}

/// The run would last ten minutes.
#[test]
fn a_run_ends_with_its_policy() {
    if !may_virtualize(&[NEW]) {
        return;
    }
    let error = ended("tires.bpf.c", &["--duration", "600s"]);
    assert!(
        error.contains("\"tires\" disabled (scx_bpf_error); tires: tires.bpf.c:13: tired after a second"),
        "{error}"
    );
}

#[test]
fn a_policy_that_takes_no_task_never_begins() {
    if !may_virtualize(&[NEW]) {
        return;
    }
    let error = ended("unwilling.bpf.c", &[]);
    assert!(
        error.contains("\"unwilling\" disabled (runtime error); unwilling: ops.init_task() failed (-22)"),
        "{error}"
    );
}

#[test]
fn a_policy_that_uses_a_queue_that_is_none_is_thrown_out() {
    if !may_virtualize(&[NEW]) {
        return;
    }
    let error = ended("astray.bpf.c", &[]);
    assert!(error.contains("\"astray\" disabled (runtime error); astray: non-existent DSQ 0x63"), "{error}");
}

#[test]
fn a_policy_that_may_never_return_is_refused_by_the_verifier() {
    if !may_virtualize(&[NEW]) {
        return;
    }
    let error = ended("endless.bpf.c", &[]);
    assert!(error.contains("the kernel does not take the policy: "), "{error}");
    assert!(error.contains("\n  verifier: infinite loop detected at insn "), "{error}");
}

/// The verifier's log names the lines of the source.
#[test]
fn a_kernel_is_asked_about_a_policy() {
    if !may_virtualize(&[NEW]) {
        return;
    }
    let lab = Lab::new();
    lab.policy("endless.bpf.c");
    let refused = lab.run(&["policies", "./endless.bpf.c", "--verify"]);
    assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""), "{}", refused.err);
    assert!(refused.err.contains("\n  verifier: endless.bpf.c:12: turns++;"), "{}", refused.err);
    assert!(refused.err.contains("\n  verifier: infinite loop detected at insn "), "{}", refused.err);
    assert!(!refused.err.contains("R1="), "{}", refused.err);
    let taken = lab.out(&["policies", "rr", "--verify"]);
    assert!(taken.starts_with("rr: Linux ") && taken.ends_with("takes it, and it schedules\n"), "{taken}");
}
