//! The behaviour of `windows`, compared with vectors worked out by hand, in exact time.
//!
//! Each test runs one scenario of `vectors/`; what has to happen is in the scenario, too. A quantum is 12 ticks, and
//! the first ones begin at a tick or within the first one after the start, so they end at multiples of 187.5 ms.

use super::observe::{TICK, load, placed, priorities, request_times, run, run_shared, turns};

const QUANTUM: u64 = 12 * TICK;

/// `from` down to `to`, one level at the end of each quantum, after a boost at 10 ms.
fn falls(base: u64, from: u64, to: u64) -> Vec<(u64, u64)> {
    let down = (to..from).rev().zip(1..).map(|(priority, n)| (priority, n * QUANTUM));
    [(base, 0), (from, 10_000)].into_iter().chain(down).collect()
}

#[test]
fn v01_a_semaphore_gives_one_level_for_one_quantum() {
    assert_eq!(priorities(&run("01-semaphore", &[]), 0), falls(8, 9, 8));
}

#[test]
fn v02_the_network_gives_two_levels_which_go_one_by_one() {
    assert_eq!(priorities(&run("02-network", &[]), 0), falls(8, 10, 8));
}

#[test]
fn v03_a_keyboard_gives_six_levels() {
    assert_eq!(priorities(&run("02-network", &[("boost_network", 6)]), 0), falls(8, 14, 8));
}

#[test]
fn v04_sound_gives_eight_levels_but_not_more_than_15() {
    assert_eq!(priorities(&run("02-network", &[("boost_network", 8)]), 0), falls(8, 15, 8));
}

#[test]
fn v05_boosts_end_at_15() {
    assert_eq!(priorities(&run("05a-disk-13", &[]), 0), falls(13, 14, 13));
    assert_eq!(priorities(&run("05b-disk-14", &[]), 0), falls(14, 15, 14));
}

#[test]
fn v06_a_real_time_thread_gets_no_boost_but_a_new_quantum() {
    let events = run("06-realtime", &[("boost_network", 8)]);
    assert_eq!(priorities(&events, 0), [(24, 0)]);
    // The other thread came at 100 ms, in the seventh tick, and leaves at the eighteenth.
    assert_eq!(turns(&events, 0)[..2], [(0, 100_000), (18 * TICK, 30 * TICK)]);
}

#[test]
fn v07_boosts_do_not_add_up() {
    let events = run("07-boosted-twice", &[]);
    // Ready again at 160 ms, in the eleventh tick, with a new quantum.
    assert_eq!(priorities(&events, 0), [(8, 0), (10, 10_000), (9, 22 * TICK), (8, 34 * TICK)]);
}

#[test]
fn v08_the_boost_of_the_foreground_goes_at_once() {
    assert_eq!(priorities(&run("08-foreground", &[("foreground", 2)]), 0), [(8, 0), (11, 10_000), (8, QUANTUM)]);
}

#[test]
fn v09_a_starving_thread_comes_to_15_for_two_ticks() {
    let events = run("09-starving-4", &[]);
    assert_eq!(priorities(&events, 1), [(4, 0), (15, 5_000_000), (4, 5_000_000 + 2 * TICK)]);
    assert_eq!(turns(&events, 1), [(5_000_000, 5_000_000 + 2 * TICK)]);
}

/// The turns of the thread that starves: each so long, the first at an instant, one each period, for 30 s.
fn relief(first: u64, period: u64, length: u64) -> Vec<(u64, u64)> {
    (0..).map(|n| first + n * period).take_while(|from| *from < 30_000_000).map(|from| (from, from + length)).collect()
}

#[test]
fn v10_with_ticks_of_10_ms_a_starving_thread_has_20_ms_in_4_s() {
    assert_eq!(turns(&run("10-starving-10ms", &[("tick", 10_000_000)]), 1), relief(3_000_000, 4_000_000, 20_000));
}

#[test]
fn v11_with_ticks_of_15_625_ms_it_has_31_25_ms_in_5_s() {
    assert_eq!(turns(&run("11-starving-15ms", &[]), 1), relief(5_000_000, 5_000_000, 31_250));
}

#[test]
fn v12_the_scan_looks_at_one_cpu_after_the_other() {
    assert_eq!(turns(&run("12-starving-2-cpus", &[("tick", 10_000_000)]), 2), relief(3_000_000, 4_000_000, 20_000));
}

#[test]
fn v13_two_hogs_take_turns_of_two_ticks() {
    let events = run("13-client-quantum", &[("quantum", 1)]);
    for hog in 0..2 {
        let turns = turns(&events, hog);
        assert!(turns.len() > 30);
        assert!(turns.iter().zip(0..).all(|(turn, n)| turn.0 == (2 * n + u64::from(hog)) * 31_250));
    }
}

#[test]
fn v14_a_preempted_thread_keeps_its_place_and_its_quantum() {
    let events = run("14-preempted", &[]);
    assert_eq!(turns(&events, 2), [(67_500, 72_500)]);
    assert_eq!(turns(&events, 0)[..2], [(0, 67_500), (72_500, QUANTUM)]);
    assert_eq!(turns(&events, 1)[0], (QUANTUM, 2 * QUANTUM));
}

#[test]
fn v15_ideal_cpus_are_dealt_out_in_turn() {
    let events = run("15-ideal", &[]);
    let cpus: Vec<u32> = (4..10).map(|task| placed(&events, task)[0].1).collect();
    assert_eq!(cpus, [1, 2, 3, 0, 1, 2]);
}

#[test]
fn v16_among_idle_cpus_the_last_one_comes_before_the_one_that_wakes() {
    let events = run("16-idle-choice", &[("timers", 1), ("clock_cpu", 3)]);
    assert_eq!(placed(&events, 3)[..4], [(1_000, 2), (102_000, 2), (203_000, 3), (304_000, 1)]);
}

#[test]
fn v17_without_an_idle_cpu_only_the_ideal_one_counts() {
    let events = run("17-busy-ideal", &[]);
    assert_eq!((placed(&events, 2), turns(&events, 2)), (vec![(10_000, 1)], vec![]));
}

#[test]
fn v18_seven_hogs_on_two_cpus_stay_six_and_one() {
    for version in [0, 1] {
        let events = run_shared("heavy-load", 2, 60, &[("version", version)]);
        for at in (0..60_000_000).step_by(1_000_000) {
            assert_eq!(load(&events, 2, at), [6, 1]);
        }
    }
    let times = request_times(&run_shared("heavy-load", 2, 60, &[("version", 1)]));
    assert_eq!(times.into_keys().collect::<Vec<_>>(), [250_000, 1_500_000]);
}

#[test]
fn v19_on_four_cpus_they_are_four_and_one_on_each_other() {
    let events = run_shared("heavy-load", 4, 60, &[("version", 1)]);
    assert_eq!(load(&events, 4, 59_000_000), [4, 1, 1, 1]);
    assert_eq!(request_times(&events).into_keys().collect::<Vec<_>>(), [250_000, 1_000_000]);
}

#[test]
fn v20_a_cpu_pulls_when_it_runs_dry() {
    let events = run("20-leaving", &[]);
    let at = |seconds: u64| load(&events, 2, seconds * 1_000_000);
    assert_eq!([at(1), at(9), at(10), at(19)], [[6, 1], [5, 1], [4, 1], [4, 1]]);
}
