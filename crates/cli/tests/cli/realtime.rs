//! Real-time tasks that never sleep: a run ends at its time, and others get what a kernel leaves to them, in a kernel as in
//! the simulator.

use crate::lab::{Lab, may_virtualize};
use crate::vm::NEW;

/// That many tasks of a class that never sleep, and two others.
fn endless(class: &str, cpus: u32, count: u32) -> String {
    format!(
        "name = \"endless\"\n[machine]\ncpus = {cpus}\ntick = \"4ms\"\n\
         [[task]]\nname = \"hog\"\nclass = \"{class}\"\ncount = {count}\nloop = [{{ compute = \"10ms\" }}]\n\
         [[task]]\nname = \"other\"\ncount = 2\nloop = [{{ compute = \"10ms\" }}]\n[run]\nduration = \"1500ms\"\n"
    )
}

/// The part of the machine that each role had.
fn shares(scenario: &str, flags: &[&str]) -> [f64; 2] {
    let lab = Lab::new();
    lab.write("endless.toml", scenario);
    let in_guest: &[&str] = if flags.contains(&"vm") { &["--no-costs"] } else { &[] };
    let mut command = lab.command(&[&["run", "endless.toml", "--quiet", "--json"], in_guest, flags].concat());
    let output = command.env_remove("XDG_CACHE_HOME").output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{flags:?}: {error}");
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["duration_ns"], 1_500_000_000_u64, "{flags:?}");
    [0, 1].map(|role| result["roles"][role]["cpu_share"].as_f64().unwrap_or_else(|| panic!("{result}")))
}

/// The highest class there is, on every CPU, in kernels that throttle and in those with servers, under the kernel's
/// scheduler and under a policy, one that starves others included. Periods, of throttling and of servers, begin before the
/// run, so that others have one turn of 50 ms and up to a tick in its 1.5 s, or two.
#[test]
fn a_real_time_task_does_not_keep_a_guest_from_ending() {
    if !may_virtualize(&["debian:12", "debian:13", NEW]) {
        return;
    }
    let cases: &[(&str, u32, u32, &[&str])] = &[
        ("rr:99", 2, 3, &["--policy", "kernel", "--kernel", "debian:12"]),
        ("fifo:99", 1, 2, &["--policy", "kernel", "--kernel", "debian:13"]),
        ("fifo:1", 1, 1, &["--policy", "fcfs", "--kernel", NEW]),
        ("rr:50", 1, 1, &["--policy", "eevdf", "--kernel", NEW]),
    ];
    for (class, cpus, count, flags) in cases {
        let [hogs, others] = shares(&endless(class, *cpus, *count), &[&["--venue", "vm"], *flags].concat());
        // A turn that began before the run, or ends after it, counts in part; and the first is as much shorter as the period
        // is old when the run begins, which is up to 35 ms: the seed draws up to 20 of them.
        assert!((0.01..0.073).contains(&others) && hogs + others > 0.97, "{class} {flags:?}: {hogs} {others}");
    }
}

/// As the test above says about kernels.
#[test]
fn others_get_as_much_in_the_simulator() {
    for policy in
        ["cfs", "cfs:version=6.5", "alb", "eevdf", "eevdf:version=7.1", "fcfs", "rr", "mlfq", "windows", "ule"]
    {
        let [hogs, others] = shares(&endless("fifo:99", 1, 2), &["--policy", policy]);
        assert!((0.03..0.038).contains(&others) && hogs + others > 0.9999, "{policy}: {hogs} {others}");
    }
}

/// What holds every CPU is named, and not the policy.
#[test]
fn who_starves_by_real_time_tasks_does_not_starve_by_the_policy() {
    let lab = Lab::new();
    lab.write("endless.toml", endless("fifo:99", 1, 1).replace("tick =", "watchdog = \"500ms\"\ntick ="));
    let output = lab.run(&["run", "endless.toml", "--policy", "rr"]);
    assert_eq!(output.code, Some(1), "{}", output.err);
    assert!(output.err.contains("real-time tasks of the scenario hold every CPU"), "{}", output.err);
}

/// A scenario that leaves no priority to what ends it is refused before it starts, where it is run for real.
#[test]
fn one_priority_is_left_for_what_ends_a_run() {
    let lab = Lab::new();
    let task = |priority| {
        format!("[[task]]\nname = \"t{priority}\"\nclass = \"fifo:{priority}\"\nonce = [{{ compute = \"1ms\" }}]\n")
    };
    let tasks: String = (1..=99).map(task).collect();
    lab.write("all.toml", format!("name = \"all\"\n[machine]\ncpus = 1\n{tasks}[run]\nduration = \"1s\"\n"));
    let output = lab.run(&["run", "all.toml", "--venue", "host", "--policy", "kernel"]);
    assert_eq!(output.code, Some(2), "{}", output.err);
    assert!(output.err.contains("priorit") || output.err.contains("root"), "{}", output.err);
    lab.json(&["run", "all.toml", "--policy", "rr", "--json"]);
}
