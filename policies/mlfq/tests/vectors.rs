//! The behaviour of `mlfq`, compared with vectors worked out by hand: how long a task is in which queue, in exact time.
//!
//! Each test runs one scenario of `vectors/`; what has to happen is in the scenario, too.

use super::observe::{Piece, after, bursts, longest_gap, moves, run, starts, turns};
use schedlab_model::ids::TaskId;
use schedlab_model::time::Time;
use schedlab_model::trace::EventKind;

#[test]
fn v01_short_bursts_stay_at_the_top() {
    assert_eq!(bursts(&run("01-short-bursts", &[]), 0), vec![vec![(1, 5_000)]; 10]);
}

#[test]
fn v02_short_bursts_rise_one_queue_at_a_time() {
    let bursts = bursts(&run("02-rise", &[]), 0);
    assert_eq!(starts(&bursts[1..]), (1..=20).rev().chain([1; 5]).collect::<Vec<u64>>());
    assert!(bursts[1..].iter().all(|burst| burst.len() == 1 && burst[0].1 == 9_900));
}

#[test]
fn v03_bursts_of_25_ms_fall_to_queue_2() {
    let bursts = bursts(&run("03-fall-to-two", &[]), 0);
    assert_eq!(starts(&bursts[1..]), (2..=20).rev().chain([2; 6]).collect::<Vec<u64>>());
    assert!(bursts[19..].iter().all(|burst| *burst == [(2, 20_000), (3, 5_000)]));
}

#[test]
fn v04_a_fresh_task_with_25_ms_alternates_between_1_and_2() {
    assert_eq!(bursts(&run("04-fresh-25ms", &[]), 0), vec![vec![(1, 10_000), (2, 15_000)]; 8]);
}

#[test]
fn v05_a_slice_that_is_used_exactly_is_used() {
    let bursts = bursts(&run("05-sixty", &[]), 0);
    assert_eq!(bursts[0], [(1, 10_000), (2, 20_000), (3, 30_000)]);
    assert_eq!(bursts[1..], vec![vec![(4, 40_000), (5, 20_000)]; 7]);
}

#[test]
fn v05_unless_the_parameter_says_otherwise() {
    let bursts = bursts(&run("05-sixty", &[("exact_is_used", 0)]), 0);
    assert_eq!(starts(&bursts)[..3], [1, 2, 3]);
}

#[test]
fn v06_bursts_of_100_ms_alternate_between_10_and_11() {
    let bursts = bursts(&run("06-hundred", &[]), 0);
    let expected: Vec<u64> = (10..=20).rev().chain([11, 10, 11, 10, 11]).collect();
    assert_eq!(starts(&bursts[1..]), expected);
}

#[test]
fn v07_bursts_of_195_ms_stay_in_19() {
    let bursts = bursts(&run("07-oneninetyfive", &[]), 0);
    assert_eq!(bursts[1], [(20, 195_000)]);
    assert_eq!(bursts[2..], vec![vec![(19, 190_000), (20, 5_000)]; 5]);
}

#[test]
fn v08_a_hog_sinks() {
    let expected = (1..=20).map(|queue| (queue, Time::from_ms(5 * queue * (queue - 1))));
    assert_eq!(moves(&run("08-sink", &[]), 0), expected.collect::<Vec<_>>());
}

#[test]
fn v09_bursts_of_exactly_10_ms_alternate_between_1_and_2() {
    let bursts = bursts(&run("09-exactly-ten", &[]), 0);
    assert_eq!(bursts, (0..10).map(|n| vec![(1 + n % 2, 10_000)]).collect::<Vec<_>>());
}

#[test]
fn v10_to_12_a_fork_divides_the_slice() {
    // The child's turn, and what the parent still runs in the queue of the fork.
    for (vector, settings, queue, child, rest) in [
        ("10-fork-low", &[][..], 10, (470_000, 5_000), 70_000),
        ("11a-fork-middle", &[], 3, (31_000, 5_000), 19_000),
        // One queue more, so that it shows when the parent's slice is over.
        ("11c-fork-bottom", &[("levels", 21)], 20, (1_901_000, 5_000), 189_000),
        ("12-fork-one-tick", &[("tick", 1_000_000)], 2, (29_000, 1_000), 1_000),
    ] {
        let events = run(vector, settings);
        let (from, until) = turns(&events, 1)[0];
        // In queue 1; in the last case the child gets one tick there.
        let first = bursts(&events, 1)[0][0];
        assert_eq!((from.ns() / 1000, first), (child.0, (1, child.1)), "{vector}");
        let after: Vec<Piece> = bursts(&after(&events, until, queue), 0).remove(0);
        assert_eq!(after[0], (queue, rest), "{vector}");
    }
}

#[test]
fn v11_a_fork_at_the_top_leaves_the_parent_running() {
    let events = run("11b-fork-top", &[]);
    assert_eq!(bursts(&events, 0)[0][0], (1, 5_000));
    assert_eq!(bursts(&events, 1)[0][0], (1, 5_000));
    let times = |task: u32| turns(&events, task)[0].0.ns() / 1000;
    assert_eq!((times(0), times(1)), (0, 5_000));
}

#[test]
fn v13_a_task_at_the_top_does_not_wait_for_hogs() {
    let events = run("13-hogs", &[]);
    let shell = TaskId(128);
    let ready: Vec<Time> = events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Wakeup { task, .. } if task == shell))
        .map(|event| event.time)
        .collect();
    let starts: Vec<Time> = turns(&events, 128).iter().map(|turn| turn.0).collect();
    assert_eq!(ready, starts);
    assert_eq!(ready.len(), 200);
}

#[test]
fn v14_a_task_at_the_top_waits_for_one_slice_of_its_competitor() {
    let events = run("14-two-at-the-top", &[]);
    assert_eq!(turns(&events, 1)[0].0, Time::from_ms(10));
}

#[test]
fn v15_a_preempted_hog_goes_on_with_the_rest_of_its_slice() {
    let events = run("15-resume-at-head", &[]);
    let worker = bursts(&events, 2);
    assert_eq!(worker[1], [(7, 30_000)]);
    assert_eq!(turns(&events, 2).len(), 2);
    // The turns of both hogs in order; turns of one hog that follow each other are one slice.
    let mut turns: Vec<(Time, u32, u64)> = Vec::new();
    for hog in 0..2 {
        turns
            .extend(self::turns(&events, hog).iter().map(|(from, until)| (*from, hog, until.since(*from).ns() / 1000)));
    }
    turns.sort();
    let mut slices: Vec<(u32, u64)> = Vec::new();
    for (from, hog, ran) in turns {
        match slices.last_mut() {
            _ if from < Time::from_ms(4_000) => {}
            Some((last, sum)) if *last == hog => *sum += ran,
            _ => slices.push((hog, ran)),
        }
    }
    let whole = &slices[1..slices.len() - 1];
    assert!(whole.len() > 20 && whole.iter().all(|slice| slice.1 == 200_000), "{whole:?}");
}

#[test]
fn v16_a_busy_top_starves_the_bottom_without_relief() {
    let (end, hog) = (Time::from_s(20), 0);
    let gap = |vector: &str, settings: &[(&str, u64)], from| longest_gap(&run(vector, settings), hog, from, end);
    let start = Time::from_s(2);
    assert_eq!(gap("16a-starvation", &[], start), end.since(start));
    // Two passes lift it from 20 to 1; from then on it sinks to 2 and every pass lifts it again.
    let solaris = gap("16b-starvation-ts1s", &[("starve", 1)], Time::from_s(5));
    assert!(solaris <= Time::from_ms(1_030), "{solaris}");
    // Nineteen times 100 ms lift it from 20 to 1; from then on once.
    let aged = gap("16c-starvation-age", &[("starve", 2), ("age_after", 100_000_000)], Time::from_s(5));
    assert!(aged <= Time::from_ms(130), "{aged}");
}
