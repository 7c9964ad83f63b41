//! What each parameter of `cfs` changes.

use super::observe::{V4_9, run_tasks, spread, turns, wakeup_waits};
use schedlab_model::time::Time;

const HOGS: &str = "[[task]]\nname = \"hog\"\ncount = 2\nloop = [{ compute = \"100s\" }]\n";
const SLEEPER: &str = "[[task]]\nname = \"sleeper\"\nloop = [{ sleep = \"17ms\" }, { compute = \"1ms\" }]\n";

/// The lengths of most turns of the first hog, in microseconds.
fn turn(settings: &[(&str, u64)], cpus: u32) -> u64 {
    let machine = format!("cpus = {cpus}");
    let tasks = HOGS.replace("loop", "cpus = [0]\nloop");
    let turns = turns(&run_tasks(&machine, "2s", &tasks, settings), 0);
    let mut lengths: Vec<u64> = turns.iter().map(|turn| turn.1 - turn.0).collect();
    lengths.sort();
    lengths[lengths.len() / 2]
}

#[test]
fn slices_follow_latency_granularity_scaling_and_hz() {
    assert_eq!(turn(&[("hz", 1000)], 1), 3_000);
    assert_eq!(turn(&[("hz", 1000), ("latency", 20_000_000)], 1), 10_000);
    // Two granularities for two tasks; a slice is no shorter than one since 4.9, and a tick at 5 ms finds it just used.
    let granularity = [("hz", 1000), ("nr_latency", 1), ("min_granularity", 5_000_000)];
    assert_eq!(turn(&granularity, 1), 6_000);
    assert_eq!(turn(&[&granularity[..], &[("version", V4_9)]].concat(), 1), 5_000);
    assert_eq!(turn(&[("hz", 1000)], 2), 6_000);
    assert_eq!(turn(&[("hz", 1000), ("scaling", 1)], 2), 3_000);
    assert_eq!(turn(&[("hz", 1000), ("scaling", 2)], 4), 12_000);
}

/// The waits of a sleeper next to two hogs, together, in microseconds, except for the one of the start.
fn waits(nice: i32, settings: &[(&str, u64)]) -> u64 {
    let sleeper = SLEEPER.replace("loop", &format!("nice = {nice}\nloop"));
    let events = run_tasks("cpus = 1", "4s", &format!("{HOGS}{sleeper}"), settings);
    wakeup_waits(&events, 2).into_iter().skip(1).sum()
}

#[test]
fn wakeups_preempt_by_their_parameters() {
    assert_eq!(waits(0, &[]), 0);
    assert!(waits(0, &[("wakeup_preemption", 0)]) > 0);
    assert!(waits(0, &[("wakeup_granularity", 100_000_000)]) > 0);
    // Nice 5 needs a lead of 3.06 ms and has 3 ms, or 6 ms.
    assert!(waits(5, &[]) > 0);
    assert!(waits(5, &[("gentle_sleepers", 0)]) < waits(5, &[]));
}

#[test]
fn a_child_may_run_first_and_may_begin_without_a_debit() {
    let tasks = "[[task]]\nname = \"parent\"\nonce = [{ compute = \"5ms\" }, { spawn = \"child\" }, { compute = \"50ms\" }]\n\
                 [[task]]\nname = \"child\"\nspawned = true\nonce = [{ compute = \"1ms\" }]\n";
    let start = |settings: &[(&str, u64)]| turns(&run_tasks("cpus = 1", "1s", tasks, settings), 1)[0].0;
    let usual = start(&[]);
    assert!(usual > 5_000);
    assert_eq!(start(&[("child_runs_first", 1)]), 5_000);
    assert!(start(&[("start_debit", 0), ("hz", 1000)]) < start(&[("hz", 1000)]));
}

/// A wakee that preempts and sleeps again: the preempted one continues although others are as far behind.
#[test]
fn the_preempted_task_is_preferred_as_the_last_buddy() {
    let tasks = "[[task]]\nname = \"hog\"\ncount = 9\nloop = [{ compute = \"100s\" }]\n\
                 [[task]]\nname = \"short\"\nloop = [{ sleep = \"11ms\" }, { compute = \"100us\" }]\n";
    let returns = |buddy| {
        let events = run_tasks("cpus = 1", "4s", tasks, &[("last_buddy", buddy)]);
        // Turns of a hog that follow each other with only the short task between them.
        (0..9).map(|hog| turns(&events, hog).windows(2).filter(|t| t[1].0 - t[0].1 == 100).count()).sum::<usize>()
    };
    assert!(returns(1) > returns(0), "{} {}", returns(1), returns(0));
}

#[test]
fn the_balancers_parameters_change_where_tasks_are() {
    let tasks = "[[task]]\nname = \"spin\"\ncount = 64\nstart_on = 0\nloop = [{ compute = \"100s\" }]\n";
    let left = |ms, settings: &[(&str, u64)]| {
        let settings = [&[("version", V4_9)], settings].concat();
        spread(&run_tasks("topology = \"2n1l2c1t\"", "2s", tasks, &settings), 4, Time::from_ms(ms))
    };
    let usual = left(300, &[]);
    assert_ne!(left(300, &[("nr_migrate", 1)]), usual);
    assert_eq!(left(1900, &[("imbalance", 101)]), [16; 4]);
    assert_ne!(left(1900, &[]), [16; 4]);
    assert_ne!(left(300, &[("busy_factor", 1)]), usual);
    assert_ne!(left(300, &[("migration_cost", 1_000_000_000)]), usual);
}
