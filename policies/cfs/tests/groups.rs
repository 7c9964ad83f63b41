//! Task groups: what `groups=process` makes of processes.

use super::observe::{V4_9, V6_1, V6_5, cpu_time, run_tasks, turns, wakeup_waits};
use schedlab_model::trace::EventKind;

const NONE: u64 = 2;
const PROCESS: u64 = 1;

/// Tasks of one process that compute.
fn process(name: &str, count: u32) -> String {
    format!("[[task]]\nname = \"{name}\"\ncount = {count}\nloop = [{{ compute = \"1000s\" }}]\n")
}

/// The part of the CPU time that the first tasks of a scenario of that many tasks have had.
fn share(machine: &str, tasks: &str, first: u32, all: u32, settings: &[(&str, u64)]) -> f64 {
    let times = cpu_time(&run_tasks(machine, "10s", tasks, settings), all);
    times[..first as usize].iter().sum::<u64>() as f64 / times.iter().sum::<u64>() as f64
}

#[test]
fn processes_share_a_cpu_by_halves_whatever_their_number_of_threads() {
    for version in [V6_1, V4_9, V6_5] {
        for threads in [8, 80] {
            let tasks = process("fibo", 1) + &process("database", threads);
            let fibo = |groups| share("cpus = 1", &tasks, 1, 1 + threads, &[("version", version), ("groups", groups)]);
            assert!((fibo(PROCESS) - 0.5).abs() < 0.02, "{version} {threads}: {}", fibo(PROCESS));
            let one_of_all = 1.0 / f64::from(1 + threads);
            assert!((fibo(NONE) - one_of_all).abs() < 0.02, "{version} {threads}: {}", fibo(NONE));
        }
    }
}

/// Three processes have a third each, and the threads of one share its third by their weights.
#[test]
fn threads_share_within_their_process_by_weight() {
    let nice = |nice| format!("nice = {nice}\nloop");
    let tasks = process("one", 1)
        + &process("two", 2)
        + &process("other", 1).replace("loop", &format!("kind = \"process\"\n{}", nice(5)));
    let times = cpu_time(&run_tasks("cpus = 1", "20s", &tasks, &[("groups", PROCESS)]), 4);
    let parts: Vec<f64> = times.iter().map(|time| *time as f64 / 20e6).collect();
    for (part, expected) in parts.iter().zip([1.0 / 3.0, 1.0 / 6.0, 1.0 / 6.0, 1.0 / 3.0]) {
        assert!((part - expected).abs() < 0.01, "{parts:?}");
    }
}

/// At 1000 Hz: 3 ms for a task alone in its group. Of another group's 3 ms two tasks have 1.5 ms each, which end at
/// ticks: one runs for 2 ms and the other for 1 ms, next time perhaps the other way round, by their virtual times.
#[test]
fn a_slice_is_a_part_of_the_groups_slice() {
    let tasks = process("alone", 1) + &process("pair", 2);
    let events = run_tasks("cpus = 1", "2s", &tasks, &[("groups", PROCESS), ("hz", 1000), ("version", V4_9)]);
    let lengths = |task| turns(&events, task).iter().skip(2).map(|turn| turn.1 - turn.0).collect::<Vec<u64>>();
    assert!(lengths(0).len() > 300 && lengths(0).iter().all(|length| *length == 3_000), "{:?}", lengths(0));
    let pair = [lengths(1), lengths(2)].concat();
    assert!(pair.len() > 600 && pair.iter().all(|length| [1_000, 2_000].contains(length)), "{pair:?}");
}

/// A compute task next to a database of 80 threads, transactions of which go one at a time, that always wants to run.
#[test]
fn a_compute_task_has_half_of_the_cpu_beside_a_database() {
    let tasks = "[[task]]\nname = \"fibo\"\nloop = [{ compute = \"100ms\" }]\n\
                 [[task]]\nname = \"database\"\ncount = 80\n\
                 loop = [{ lock = \"log\" }, { compute = \"1880us\" }, { unlock = \"log\" }, { sleep = \"exp(100ms)\" }]\n";
    for version in [V4_9, V6_1] {
        let settings = [("version", version), ("hz", 1000), ("groups", PROCESS)];
        let fibo = share("cpus = 1\nhz = 1000", tasks, 1, 81, &settings);
        assert!((fibo - 0.5).abs() < 0.02, "{version}: {fibo}");
    }
}

/// A task of a group that is behind preempts one of a group that is ahead, whatever these two tasks have had.
#[test]
fn a_task_that_wakes_preempts_by_what_its_group_leads() {
    let sleeper = "[[task]]\nname = \"sleeper\"\nloop = [{ sleep = \"17ms\" }, { compute = \"1ms\" }]\n";
    for version in [V6_1, V4_9] {
        let settings = [("version", version), ("groups", PROCESS)];
        let events = run_tasks("cpus = 1", "2s", &(process("hog", 20) + sleeper), &settings);
        let waits = wakeup_waits(&events, 20);
        assert!(waits.len() > 100 && waits[1..].iter().all(|wait| *wait == 0), "{waits:?}");
    }
}

#[test]
fn processes_of_several_cpus_share_all_of_them() {
    for version in [V6_1, V4_9] {
        for (few, many) in [(4, 12), (4, 40), (8, 9)] {
            let tasks = process("few", few) + &process("many", many);
            let all = few + many;
            let part = |groups| share("cpus = 4", &tasks, few, all, &[("version", version), ("groups", groups)]);
            assert!((part(PROCESS) - 0.5).abs() < 0.05, "{version} {few} {many}: {}", part(PROCESS));
        }
    }
}

/// Tasks come and go, may run on one CPU only, have other weights, and are in more processes than there are groups.
#[test]
fn tasks_are_born_and_end_in_groups() {
    let tasks = "[[task]]\nname = \"parent\"\nonce = [{ repeat = 300, steps = [{ compute = \"2ms\" }, { spawn = \"child\" }, \
                 { sleep = \"exp(3ms)\" }] }]\n\
                 [[task]]\nname = \"child\"\nspawned = true\nkind = \"process\"\n\
                 once = [{ compute = \"exp(4ms)\" }, { sleep = \"1ms\" }, { compute = \"1ms\" }]\n\
                 [[task]]\nname = \"worker\"\nkind = \"process\"\ncount = 70\nnice = 3\n\
                 once = [{ repeat = 20, steps = [{ compute = \"exp(1ms)\" }, { sleep = \"exp(60ms)\" }] }]\n\
                 [[task]]\nname = \"bound\"\ncpus = [1]\ncount = 2\nonce = [{ repeat = 100, steps = [{ compute = \"5ms\" }, \
                 { yield = true }] }]\n\
                 [[task]]\nname = \"idle\"\nclass = \"idle\"\nonce = [{ compute = \"300ms\" }]\n";
    for version in [V6_1, V4_9, V6_5] {
        let settings = [("version", version), ("groups", PROCESS)];
        let events = run_tasks("cpus = 4", "6s", tasks, &settings);
        let exits = events.iter().filter(|event| matches!(event.kind, EventKind::Exit { .. })).count();
        assert_eq!(exits, 1 + 300 + 70 + 2 + 1, "{version}");
    }
}
