//! The vectors of the order of tasks: slices of 2.8 ms, which end at ticks.

use super::observe::{Settings, V7_1, VERSIONS, cpu_time, run_one, turns};

fn hog(name: &str, nice: i32) -> String {
    format!("[[task]]\nname = \"{name}\"\nnice = {nice}\nloop = [{{ compute = \"1000s\" }}]\n")
}

/// The first turns of two tasks: the task, from when to when, in milliseconds.
fn first_turns(hz: u64, version: u64, settings: Settings, tasks: &str, count: usize) -> Vec<(char, u64, u64)> {
    let events = run_one(hz, version, settings, "100ms", tasks);
    let mut all: Vec<(char, u64, u64)> = [('A', 0), ('B', 1)]
        .iter()
        .flat_map(|(name, task)| turns(&events, *task).into_iter().map(|turn| (*name, turn.0 / 1000, turn.1 / 1000)))
        .collect();
    all.sort_by_key(|turn| turn.1);
    all.truncate(count);
    all
}

/// What the first of two tasks gets of ten seconds.
fn share(hz: u64, version: u64, settings: Settings, tasks: &str) -> f64 {
    let times = cpu_time(&run_one(hz, version, settings, "10s", tasks), 2);
    times[0] as f64 / (times[0] + times[1]) as f64
}

#[test]
fn v12_the_other_one_is_picked_at_the_end_of_a_slice() {
    for version in VERSIONS {
        assert_eq!(first_turns(1000, version, &[], &(hog("a", 0) + &hog("b", 0)), 2), [('A', 0, 3), ('B', 3, 6)]);
    }
}

/// B runs 1 ms and is away while A continues from 3 to 8 in virtual time, so it comes back with a lag of 1 ms.
#[test]
fn v14_who_comes_back_with_lag_preempts_at_once() {
    let sleeper = "[[task]]\nname = \"b\"\nloop = [{ compute = \"1ms\" }, { sleep = \"5ms\" }]\n";
    for version in VERSIONS {
        let turns = first_turns(1000, version, &[], &(hog("a", 0) + sleeper), 4);
        assert_eq!(turns, [('A', 0, 3), ('B', 3, 4), ('A', 4, 9), ('B', 9, 10)], "{version}");
    }
}

/// A runs 3 ms and sleeps with a debt. It wakes at 6 ms, when B has run too: A, at 3 of an average of 2, is not eligible,
/// and C runs first. Without the debt it would have come back at the average.
#[test]
fn v17_a_debt_is_still_there_after_a_short_sleep() {
    let tasks = "[[task]]\nname = \"a\"\nloop = [{ compute = \"3ms\" }, { sleep = \"3ms\" }]\n".to_string();
    let tasks = tasks + &hog("b", 0) + &hog("c", 0);
    for version in VERSIONS {
        let events = run_one(1000, version, &[], "20ms", &tasks);
        let starts = [0, 1, 2].map(|task| turns(&events, task).iter().map(|turn| turn.0 / 1000).collect::<Vec<_>>());
        assert_eq!((starts[0][0], starts[1][0], starts[2][0]), (0, 3, 6), "{version}");
        assert!(starts[0][1] >= 9, "{version}: {starts:?}");
    }
}

#[test]
fn v20_a_waking_task_of_short_slices_preempts() {
    for (slice, waits) in [("slice = \"100us\"\n", false), ("", true)] {
        let tasks = hog("a", 0)
            + &format!("[[task]]\nname = \"b\"\nstart = \"1ms\"\n{slice}once = [{{ compute = \"50us\" }}]\n");
        for version in VERSIONS {
            let start = turns(&run_one(1000, version, &[], "20ms", &tasks), 1)[0].0;
            // A new task of 7.1 never preempts unless it asks for short slices, which this one does.
            assert_eq!(start, if waits { 3_000 } else { 1_000 }, "{version} {slice}");
        }
    }
}

#[test]
fn v26_two_hogs_alternate_at_the_tick_after_a_slice() {
    for version in VERSIONS {
        let two = hog("a", 0) + &hog("b", 0);
        let every = |ms| [('A', 0, ms), ('B', ms, 2 * ms), ('A', 2 * ms, 3 * ms), ('B', 3 * ms, 4 * ms)];
        assert_eq!(first_turns(1000, version, &[], &two, 4), every(3));
        assert_eq!(first_turns(250, version, &[], &two, 4), every(4));
    }
}

/// The vectors come from a model that protects the picked task, also one that ran before; kernels do so at a switch only.
const PROTECT_AGAIN: (&str, u64) = ("protect_again", 1);

#[test]
fn v27_nice_0_beside_nice_5() {
    let expected = [('A', 0, 3), ('B', 3, 6), ('A', 6, 15), ('B', 15, 18), ('A', 18, 27), ('B', 27, 30)];
    // A is at 6 when its second turn's request ends, and B at 9.17: A continues to the first tick after that.
    let at_switches = [('A', 0, 3), ('B', 3, 6), ('A', 6, 13), ('B', 13, 16), ('A', 16, 25), ('B', 25, 28)];
    let two = hog("a", 0) + &hog("b", 5);
    for version in VERSIONS {
        assert_eq!(first_turns(1000, version, &[PROTECT_AGAIN], &two, 6), expected, "{version}");
        assert_eq!(first_turns(1000, version, &[], &two, 6), at_switches, "{version}");
        for settings in [&[][..], &[PROTECT_AGAIN]] {
            let share = share(1000, version, settings, &two);
            assert!((share - 0.7534).abs() < 0.0003, "{version}: {share}");
        }
    }
}

/// Here a tick of Y is less than what X is ahead: both rules give the same. Y is first, by its deadline.
#[test]
fn v28_nice_minus_5_beside_nice_0() {
    let two = hog("y", -5) + &hog("x", 0);
    let expected = [('A', 0, 4), ('B', 4, 8), ('A', 8, 20), ('B', 20, 24), ('A', 24, 36)];
    for version in VERSIONS {
        for settings in [&[][..], &[PROTECT_AGAIN]] {
            assert_eq!(first_turns(250, version, settings, &two, 5), expected, "{version}");
            let share = share(250, version, settings, &two);
            assert!((share - 0.7528).abs() < 0.0003, "{version}: {share}");
        }
    }
}

/// A runs for 205 us, wakes B at 200, and sleeps with a debt. B is at 200 then, and at 300 when it wakes C: V is (205 + 300) / 2,
/// A is eligible, and its deadline is the first. So C does not preempt B; or A leaves, V is that of B and C, and C does.
#[test]
fn since_7_1_a_debtor_leaves_when_a_task_comes() {
    let task = |name: &str, steps: &str| format!("[[task]]\nname = \"{name}\"\nonce = [{steps}]\n");
    let tasks = task(
        "a",
        "{ sleep = \"1ms\" }, { compute = \"200us\" }, { post = \"b\" }, { compute = \"5us\" }, { sleep = \"1s\" }",
    ) + &task("b", "{ wait = \"b\" }, { compute = \"100us\" }, { post = \"c\" }, { compute = \"400us\" }")
        + &task("c", "{ wait = \"c\" }, { compute = \"100us\" }");
    for version in VERSIONS {
        let events = run_one(1000, version, &[], "20ms", &tasks);
        let [b, c] = [1, 2].map(|task| turns(&events, task).into_iter().filter(|turn| turn.0 > 0).collect::<Vec<_>>());
        match version {
            V7_1 => assert_eq!((b, c), (vec![(1205, 1305), (1405, 1805)], vec![(1305, 1405)]), "{version}"),
            _ => assert_eq!((b, c), (vec![(1205, 1705)], vec![(1705, 1805)]), "{version}"),
        }
    }
}
