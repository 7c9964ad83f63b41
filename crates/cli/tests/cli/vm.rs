//! Kernels in virtual machines. What these tests need, `make setup` installs; kernels are fetched when they are missing.

use crate::lab::Lab;

/// One CPU, three tasks, half a second.
pub const ONE: &str = r#"
name = "one"
about = "Three tasks on one CPU."

[machine]
cpus = 1

[[task]]
name = "worker"
count = 2
loop = [{ compute = "30ms" }, { sleep = "exp(5ms)" }]

[[task]]
name = "hog"
loop = [{ compute = "100ms" }]

[run]
duration = "500ms"
"#;

/// One CPU, two tasks that never sleep, one that computes for moments.
const SLICES: &str = r#"
name = "slices"
about = "A task that computes for moments waits for the slices of two that always compute."

[machine]
cpus = 1

[[task]]
name = "moment"
loop = [{ compute = "2ms" }, { sleep = "exp(10ms)" }]

[[task]]
name = "hog"
count = 2
loop = [{ compute = "1s" }]

[run]
duration = "1s"
"#;

/// A kernel with sched_ext.
pub const NEW: &str = "debian:13-backports";

/// A folder with the scenario. Kernels are kept where users keep them, so that they are fetched once.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.write("one.toml", ONE);
    lab
}

/// Runs the scenario and gives what was printed, and the trace.
fn run(lab: &Lab, flags: &[&str]) -> (String, Vec<u8>) {
    let args = [&["run", "one.toml", "--venue", "vm", "--quiet", "--json", "--check", "--trace", "t.parquet"], flags];
    let mut command = lab.command(&args.concat());
    command.env_remove("XDG_CACHE_HOME");
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{flags:?}: {error}");
    (String::from_utf8(output.stdout).unwrap(), std::fs::read(lab.path("t.parquet")).unwrap())
}

fn mean_response_ms(result: &str, group: usize) -> f64 {
    let result: serde_json::Value = serde_json::from_str(result).unwrap();
    result["groups"][group]["response_ns"]["mean"].as_f64().unwrap_or_else(|| panic!("{result}")) / 1e6
}

#[test]
fn a_kernel_on_one_cpu_repeats_bit_for_bit() {
    let lab = lab();
    let flags = ["--policy", "kernel", "--kernel", "debian:12"];
    let first = run(&lab, &flags);
    // Another folder and another environment.
    assert_eq!(first, run(&self::lab(), &flags));
    assert!(first.0.contains("Linux 6.1.") && first.0.contains("in qemu, 8 ns for each instruction"), "{}", first.0);
}

#[test]
fn every_shipped_policy_is_taken_by_a_real_kernel_and_decides() {
    let lab = lab();
    lab.write("one.toml", SLICES);
    let mean = |policy: &str| mean_response_ms(&run(&lab, &["--policy", policy, "--kernel", NEW]).0, 0);
    let (short, long) = (mean("rr:quantum=1ms"), mean("rr:quantum=20ms"));
    // It waits for what is left of one slice, for the other's, and again before each millisecond after the first; or once
    // for slices of 20 ms.
    assert!((4.0..8.0).contains(&short) && (20.0..45.0).contains(&long), "{short} {long}");
    for policy in ["fcfs", "mlfq"] {
        run(&lab, &["--policy", policy, "--kernel", NEW]);
    }
}

#[test]
fn several_cpus_run_side_by_side_in_bochs() {
    let lab = lab();
    let flags = ["--policy", "kernel", "--kernel", "debian:12", "--cpus", "2", "--duration", "300ms"];
    let (result, _) = run(&lab, &flags);
    assert!(result.contains("in bochs, 50000000 instructions of each CPU a second"), "{result}");
    // Three tasks on two CPUs: a worker shares at most with one other most of the time.
    assert!(mean_response_ms(&result, 0) < 70.0, "{result}");
}

#[test]
fn what_a_guest_cannot_do_is_one_line() {
    let lab = lab();
    let cases: &[(&[&str], i32, &str)] = &[
        (&["--policy", "kernel", "--kernel", "debian:99"], 2, "there is no kernel `debian:99`; take debian:11"),
        (&["--policy", "kernel", "--kernel", "./one.toml"], 2, "./one.toml: this is no kernel image"),
        (&["--policy", "ps"], 2, "policy ps cannot be run in the venue `vm`"),
        (&["--policy", "kernel", "--engine", "qemu", "--cpus", "2"], 2, "the time of qemu is true for at most 1 CPUs"),
        (&["--policy", "rr", "--kernel", "debian:12"], 1, "policy rr: this kernel has no sched_ext"),
    ];
    for (flags, code, part) in cases {
        let mut command = lab.command(&[&["run", "one.toml", "--venue", "vm", "--quiet"], *flags].concat());
        let output = command.env_remove("XDG_CACHE_HOME").output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), error.lines().count()), (Some(*code), 1), "{flags:?}: {error}");
        assert!(error.contains(part), "{flags:?}: {error}");
    }
}
