//! What each parameter of `eevdf` changes.

use super::observe::{V6_12, V6_18, V7_1, V7_3, cpu_time, run_tasks, turns, wakeup_waits};
use schedlab_model::trace::Event;

const HOGS: &str = "[[task]]\nname = \"hog\"\ncount = 2\nloop = [{ compute = \"100s\" }]\n";

/// The lengths of most turns of the first hog, in microseconds.
fn turn(settings: &[(&str, u64)], cpus: u32) -> u64 {
    let tasks = HOGS.replace("loop", "cpus = [0]\nloop");
    let turns = turns(&run_tasks(&format!("cpus = {cpus}"), "2s", &tasks, settings), 0);
    let mut lengths: Vec<u64> = turns.iter().map(|turn| turn.1 - turn.0).collect();
    lengths.sort();
    lengths[lengths.len() / 2]
}

#[test]
fn slices_follow_base_slice_scaling_and_hz() {
    assert_eq!(turn(&[], 1), 4_000);
    assert_eq!(turn(&[("hz", 1000)], 1), 1_000);
    assert_eq!(turn(&[("hz", 10_000)], 1), 700);
    assert_eq!(turn(&[("hz", 10_000), ("base_slice", 750_000)], 1), 800);
    assert_eq!(turn(&[("hz", 10_000)], 4), 2_100);
    assert_eq!(turn(&[("hz", 10_000), ("scaling", 1)], 4), 700);
    assert_eq!(turn(&[("hz", 10_000), ("scaling", 2)], 4), 2_800);
}

#[test]
fn a_new_task_asks_for_half_a_slice_or_a_whole_one() {
    let first = |settings: &[(&str, u64)]| turns(&run_tasks("cpus = 1", "1s", HOGS, settings), 0)[0].1;
    assert_eq!(first(&[("hz", 10_000), ("base_slice", 2_800_000)]), 1_400);
    assert_eq!(first(&[("hz", 10_000), ("base_slice", 2_800_000), ("place_deadline_initial", 0)]), 2_800);
}

/// A sleeper next to two hogs on the first of eight CPUs, where slices are 2.8 ms.
fn beside_hogs(slice: &str, settings: &[(&str, u64)]) -> Vec<Event> {
    let sleeper =
        format!("[[task]]\nname = \"s\"\n{slice}loop = [{{ sleep = \"exp(9ms)\" }}, {{ compute = \"500us\" }}]\n");
    let tasks = format!("{HOGS}{sleeper}").replace("loop", "cpus = [0]\nloop");
    run_tasks("cpus = 8", "4s", &tasks, &[settings, &[("hz", 1000)]].concat())
}

/// Two hogs, of which each loses its CPU when its slice of 0.7 ms is over, and not at the tick after that; alone nothing ends.
#[test]
fn a_timer_ends_requests_between_ticks() {
    let hogs = "[[task]]\nname = \"hog\"\ncount = 2\nonce = [{ compute = \"50ms\" }]\n";
    let run = |tasks: &str| run_tasks("cpus = 1", "1s", tasks, &[("version", V7_1), ("hrtick", 1)]);
    let events = run(hogs);
    let lengths: Vec<u64> = turns(&events, 0).iter().map(|turn| turn.1 - turn.0).collect();
    assert!(lengths.len() > 60, "{lengths:?}");
    // The first request of a new task is half as long.
    assert!(lengths[1..60].iter().all(|length| *length == 700), "{lengths:?}");
    // Of different weights each gets its share, in turns of the same length.
    let unequal = "[[task]]\nname = \"hog\"\nonce = [{ compute = \"1s\" }]\n\
         [[task]]\nname = \"nice\"\nnice = 5\nonce = [{ compute = \"1s\" }]\n";
    let times = cpu_time(&run(unequal), 2);
    let share = times[0] as f64 / (times[0] + times[1]) as f64;
    assert!((share - 1024.0 / 1359.0).abs() < 0.002, "{share}");
}

/// The hog is chosen again many times before the nice task is due, and only its first request after that task has a timer.
#[test]
fn a_task_that_is_chosen_again_is_looked_at_by_ticks() {
    let tasks = "[[task]]\nname = \"hog\"\nloop = [{ compute = \"1s\" }]\n\
         [[task]]\nname = \"nice\"\nnice = 19\nloop = [{ compute = \"1s\" }]\n";
    let turns = turns(&run_tasks("cpus = 1", "2s", tasks, &[("version", V7_3)]), 1);
    assert!(turns.len() > 30, "{turns:?}");
    for (begin, end) in &turns[1..] {
        assert_eq!((begin % 4000, end - begin), (0, 700), "{turns:?}");
    }
}

/// Unless something else is chosen, 7.3 has the timer and earlier releases do not.
#[test]
fn requests_end_by_a_timer_from_7_3_on() {
    let hogs = "[[task]]\nname = \"hog\"\ncount = 2\nonce = [{ compute = \"50ms\" }]\n";
    let second_turn = |settings: &[(&str, u64)]| {
        let (begin, end) = turns(&run_tasks("cpus = 1", "1s", hogs, settings), 0)[1];
        end - begin
    };
    for (version, length) in [(V6_12, 4000), (V6_18, 4000), (V7_1, 4000), (V7_3, 700)] {
        assert_eq!(second_turn(&[("version", version)]), length, "version {version}");
    }
    assert_eq!(second_turn(&[("version", V7_3), ("hrtick", 0)]), 4000);
}

#[test]
fn lag_that_is_kept_and_short_slices_make_waits_shorter() {
    let short = "slice = \"300us\"\n";
    for version in [V6_12, V6_18] {
        let mean = |slice, more: &[(&str, u64)]| {
            let waits = wakeup_waits(&beside_hogs(slice, &[&[("version", version)], more].concat()), 2);
            waits.iter().sum::<u64>() / waits.len() as u64
        };
        let (usual, fast) = (mean("", &[]), mean(short, &[]));
        assert!(2 * usual < mean("", &[("place_lag", 0)]), "{version}: {usual}");
        assert!(2 * fast < usual, "{version}: {fast} {usual}");
        assert!(fast < mean(short, &[("preempt_short", 0)]), "{version}: {fast}");
    }
}

/// Without parity a task that comes with an earlier deadline preempts at once; in 6.18 after the slice of one CPU.
#[test]
fn parity_protects_who_was_picked() {
    for version in [V6_12, V6_18] {
        let turns_of_hogs = |parity| {
            let events = beside_hogs("", &[("version", version), ("run_to_parity", parity)]);
            (0..2).map(|hog| turns(&events, hog).len()).sum::<usize>()
        };
        assert!(turns_of_hogs(0) > turns_of_hogs(1), "{version}: {} {}", turns_of_hogs(0), turns_of_hogs(1));
    }
}

/// A task that runs 3 ms at a time and naps would lose its debt each time.
#[test]
fn without_delayed_dequeue_a_debt_is_lost_to_others() {
    let tasks = "[[task]]\nname = \"naps\"\nloop = [{ compute = \"9ms\" }, { sleep = \"20ms\" }]\n\
                 [[task]]\nname = \"hog\"\ncount = 3\nloop = [{ compute = \"100s\" }]\n";
    let got = |delay| cpu_time(&run_tasks("cpus = 1", "10s", tasks, &[("delay_dequeue", delay)]), 1)[0];
    // A debt that is kept over the sleep is heavier than one that is paid meanwhile.
    assert!(got(0) < got(1), "{} {}", got(0), got(1));
}
