//! Vectors of how tasks share a CPU: forks and exits, starvation, preemption, response times.

use super::observe::{MS, V3, V22, responses_us, run, run_tasks, status_at, statuses, turns, turns_of};
use schedlab_model::time::Time;

/// A parent computes, forks and continues: the first status of the child, and the parent's when it has lost the CPU.
fn fork(version: u64, before_ms: u64, sleep_avg_ms: u64) -> [super::observe::Status; 2] {
    let tasks = format!(
        "[[task]]\nname = \"parent\"\nonce = [{{ compute = \"{before_ms}ms\" }}, {{ spawn = \"child\" }}, {{ compute = \"9ms\" }}]\n\
         [[task]]\nname = \"child\"\nkind = \"process\"\nspawned = true\nonce = [{{ compute = \"1ms\" }}]"
    );
    let events = run_tasks("cpus = 1", 500, &tasks, version, &[("sleep_avg", sleep_avg_ms * MS)]);
    let child = statuses(&events, 1)[0];
    assert_eq!(turns_of(&events, 1)[0].from, child.0, "the child runs first");
    [child.1, status_at(&events, 0, child.0)]
}

#[test]
fn v21_a_fork_divides_the_slice() {
    for (version, slice) in [(V3, 102), (V22, 100)] {
        assert_eq!(fork(version, slice - 57, 0).map(|status| status.slice), [29, 28]);
        // The parent has nothing left: it gets a new slice and is expired.
        assert_eq!(fork(version, slice - 1, 0).map(|status| status.slice), [1, slice]);
    }
}

/// Six forks leave the parent one jiffy, which ends in the midst of the machine's tick. The seventh fork sees that.
#[test]
fn a_parent_whose_slice_is_over_leaves_at_its_next_fork() {
    let tasks = "[[task]]\nname = \"parent\"\nonce = [{ compute = \"1ms\" }, { spawn = \"child\", count = 6 }, { compute = \"1500us\" },\n\
                 { spawn = \"child\" }, { compute = \"9ms\" }]\n\
                 [[task]]\nname = \"child\"\nspawned = true\nonce = [{ compute = \"1ms\" }]";
    let events = run_tasks("cpus = 1\ntick = \"4ms\"", 500, tasks, V22, &[]);
    assert_eq!(turns_of(&events, 1)[0].from.ns(), 2_500_000);
}

/// A child that shares its parent's memory could do nothing before it that the parent would copy: it waits for its turn.
#[test]
fn a_thread_runs_after_its_parent() {
    let tasks = "[[task]]\nname = \"parent\"\nonce = [{ compute = \"9ms\" }, { spawn = \"child\" }, { compute = \"9ms\" }]\n\
                 [[task]]\nname = \"child\"\nspawned = true\nonce = [{ compute = \"1ms\" }]";
    for (version, first_ms) in [(V3, 9), (V22, 18)] {
        let events = run_tasks("cpus = 1", 500, tasks, version, &[]);
        assert_eq!(turns_of(&events, 1)[0].from.ns() / MS, first_ms);
    }
}

#[test]
fn v22_a_fork_leaves_whole_levels_of_the_sleep_average() {
    assert_eq!(fork(V3, 0, 850).map(|status| status.sleep_avg_us()), [714_000, 816_000]);
    assert_eq!(fork(V22, 0, 850).map(|status| status.sleep_avg_us()), [700_000, 800_000]);
}

#[test]
fn v23_the_end_of_a_child_lowers_the_parents_average() {
    // The child has used its average up and earns 100 ms at the end, by ten times 10 or by once 100; the parent sleeps.
    for (version, work, sleep) in [(V3, "18ms", "10ms"), (V22, "0ms", "100ms")] {
        let tasks = format!(
            "[[task]]\nname = \"parent\"\nonce = [{{ spawn = \"child\" }}, {{ compute = \"{work}\" }}, {{ sleep = \"9s\" }}]\n\
             [[task]]\nname = \"child\"\nspawned = true\nonce = [{{ compute = \"5s\" }}, {{ sleep = \"{sleep}\" }}]"
        );
        let settings = [("sleep_avg", if version == V3 { 918 * MS } else { 900 * MS })];
        let events = run_tasks("cpus = 1", 15_000, &tasks, version, &settings);
        let averages: Vec<u64> = statuses(&events, 0).iter().map(|status| status.1.sleep_avg_us()).collect();
        let at = averages.iter().position(|&average| average == 700_000).expect("the child ends");
        assert_eq!(averages[at - 1], 900_000, "{averages:?}");
    }
}

/// Three tasks, one of which is interactive and keeps the CPU: when another one gets it. `late` takes one tick away
/// from it, so that its slices end one tick later.
fn starved_until_ms(version: u64, late: bool) -> u64 {
    let (nice, before) = match version {
        // In 2.6.3 only a task known to be interactive, by 110 sleeps, keeps its average for so long.
        V3 => (-14, "{ repeat = 110, steps = [{ compute = \"1ms\" }, { sleep = \"5ms\" }] }, { sleep = \"40ms\" },"),
        _ => (-10, ""),
    };
    let start = if version == V3 { 700 } else { 0 };
    let mut tasks = format!(
        "[[task]]\nname = \"interactive\"\nnice = {nice}\nonce = [{before} {{ compute = \"9s\" }}]\n\
         [[task]]\nname = \"hog\"\ncount = 2\nstart = \"{start}ms\"\nloop = [{{ compute = \"9s\" }}]\n"
    );
    if late {
        tasks += "[[task]]\nname = \"short\"\nnice = -20\nstart = \"2s\"\nonce = [{ compute = \"1ms\" }]\n";
    }
    let settings = [("sleep_avg", if version == V3 { 1020 * MS } else { 1000 * MS })];
    let events = run_tasks("cpus = 1", 8_000, &tasks, version, &settings);
    let first = turns(&events).into_iter().find(|turn| (1..3).contains(&turn.task)).expect("it is their turn");
    first.from.ns() / MS
}

#[test]
fn v24_who_waits_for_too_long_gets_a_turn() {
    // Slices of 600 ms: the first ends at 600. 3000 ticks later is not too long, 3001 are.
    assert_eq!([false, true].map(|late| starved_until_ms(V22, late)), [4_200, 3_601]);
    // Slices of 170 ms: the first ends at 760. 3060 ticks later is not too long, 3061 are.
    assert_eq!([false, true].map(|late| starved_until_ms(V3, late)), [3_990, 3_821]);
}

/// Whether a task with nice value -7 that wakes takes the CPU from another one. Both have no bonus: priority 118.
fn preempts(version: u64, other_nice: i32) -> bool {
    let tasks = format!(
        "[[task]]\nname = \"woken\"\nnice = -7\nonce = [{{ sleep = \"1ms\" }}, {{ compute = \"1ms\" }}]\n\
         [[task]]\nname = \"other\"\nnice = {other_nice}\nonce = [{{ compute = \"50ms\" }}]"
    );
    let events = run_tasks("cpus = 1", 100, &tasks, version, &[]);
    assert_eq!(status_at(&events, 0, Time::from_ms(1)).prio, 118);
    turns_of(&events, 0)[0].from == Time::from_ms(1)
}

#[test]
fn v30_only_a_better_priority_preempts() {
    for version in [V3, V22] {
        assert_eq!([-7, -6].map(|nice| preempts(version, nice)), [false, true]);
    }
}

#[test]
fn v34_requests_of_250_ms_beside_other_hogs() {
    let responses = |vector: &str, version| {
        let events = run(vector, version, &[]);
        let mut all = (0..3).map(|task| responses_us(&events, task)).collect::<Vec<_>>();
        // The first request of a task also waits for those that started before it.
        all.iter_mut().for_each(|of| _ = of.remove(0));
        all.iter_mut().for_each(|of| of.iter_mut().for_each(|us| *us /= 1000));
        all
    };
    for task in responses("34-three-hogs", V22) {
        assert!(task.len() > 60 && task.iter().all(|response| [650, 850].contains(response)), "{task:?}");
        assert!(task.windows(2).all(|pair| pair[0] != pair[1]), "{task:?}");
    }
    for task in responses("34-four-hogs", V22) {
        assert!(task.len() > 50 && task.iter().all(|response| [850, 1150].contains(response)), "{task:?}");
        assert!(task.windows(2).all(|pair| pair[0] != pair[1]), "{task:?}");
    }
    let old: Vec<u64> = responses("34-three-hogs", V3).concat();
    assert!(old.iter().all(|response| [658, 862].contains(response)), "{old:?}");
    let short = old.iter().filter(|&&response| response == 658).count() as f64 / old.len() as f64;
    assert!((0.53..0.57).contains(&short), "{short}");
}
