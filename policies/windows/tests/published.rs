//! What has been published about the dispatcher, or follows from its rules in a few lines.

use super::observe::{load, request_times, requests, responses, run, run_shared, run_tasks, turns};
use schedlab_metrics::statistics::{mean, sample_cv};
use schedlab_model::trace::Event;
use std::collections::{BTreeMap, BTreeSet};

/// The mean over requests, in milliseconds.
fn mean_ms(times: &BTreeMap<u64, u32>) -> f64 {
    let sum: u64 = times.iter().map(|(time, count)| time * u64::from(*count)).sum();
    sum as f64 / 1000.0 / times.values().sum::<u32>() as f64
}

/// The study names two peaks, 250 and 1500 ms. With the client quantum six tasks share a CPU in rounds of 12 ticks, and
/// 250 ms are 8 whole turns: each request of theirs takes 8 rounds.
#[test]
fn heavy_load_has_the_two_peaks_of_the_study_with_the_client_quantum() {
    for settings in [&[("version", 1)][..], &[("quantum", 1)]] {
        let times = request_times(&run_shared("heavy-load", 2, 60, settings));
        assert_eq!(times.keys().copied().collect::<Vec<_>>(), [250_000, 1_500_000]);
    }
}

/// With the server quantum 250 ms are 1 1/3 turns: two requests of three end in the second turn, and every third one
/// needs a third. Their mean is the study's, their peaks are not.
#[test]
fn heavy_load_has_three_peaks_with_the_server_quantum() {
    let times = request_times(&run_shared("heavy-load", 2, 600, &[]));
    let shared: BTreeMap<_, _> = times.into_iter().filter(|(time, _)| *time > 250_000).collect();
    let counted: u32 = shared.values().sum();
    let share = |time: u64| f64::from(shared[&time]) / f64::from(counted);
    assert!((share(1_187_500) - 2.0 / 3.0).abs() < 0.01 && (share(2_125_000) - 1.0 / 3.0).abs() < 0.01, "{shared:?}");
    assert!((mean_ms(&shared) - 1500.0).abs() < 5.0, "{}", mean_ms(&shared));
}

/// Load(CPU1) = n - m + 1 and one task on each other CPU; a request takes as many times its 250 ms as tasks are there.
#[test]
fn the_closed_form_holds_for_any_number_of_cpus() {
    for cpus in 1..=7_u32 {
        let events = run_shared("heavy-load", cpus, 30, &[("version", 1)]);
        let mut loads = vec![1; cpus as usize];
        loads[0] = 7 - cpus as usize + 1;
        assert_eq!(load(&events, cpus as usize, 29_000_000), loads);
        let expected: BTreeSet<u64> = loads.iter().map(|load| *load as u64 * 250_000).collect();
        assert_eq!(request_times(&events).into_keys().collect::<BTreeSet<_>>(), expected);
    }
}

/// Requests by how many times their 250 ms they took, to the nearest: what the study calls the load that they met.
fn loads_met(events: &[Event]) -> [u32; 8] {
    let mut loads = [0; 8];
    for (time, count) in request_times(events) {
        loads[((time + 125_000) / 250_000).min(7) as usize] += count;
    }
    loads
}

/// In the study two and five are the loads that requests met most often, and in the long run all tasks got the same: the
/// coefficient of variation of their means is 3.7 %.
#[test]
fn moderate_load_alternates_between_two_and_five_and_is_fair_in_the_long_run() {
    let events = run_shared("moderate-load", 2, 600, &[("version", 1)]);
    let loads = loads_met(&events);
    let mut order: Vec<usize> = (0..8).collect();
    order.sort_by_key(|load| std::cmp::Reverse(loads[*load]));
    assert_eq!(order[..2], [5, 2], "{loads:?}");
    let requests = requests(&events);
    let times = |task: u32| -> Vec<f64> {
        requests.iter().filter(|request| request.0 == task).map(|request| request.1 as f64).collect()
    };
    let means: Vec<f64> = (0..7).filter_map(|task| mean(&times(task))).collect();
    assert_eq!(means.len(), 7);
    assert!(sample_cv(&means).expect("seven tasks") < 0.05, "{means:?}");
}

/// What a thread waits for, how that is given, and the object.
type Wait = (&'static str, &'static str, &'static str);

const PLAIN: Wait = ("{ recv = \"go\" }", "{ send = \"go\" }", "[channel.go]");
const SEMAPHORE: Wait = ("{ wait = \"go\" }", "{ post = \"go\" }", "[semaphore.go]");
const NETWORK: Wait = ("{ recv = \"go\" }", "{ send = \"go\" }", "[channel.go]\nkind = \"socket\"");

/// The response times of 20 ms of work with base 8. Next to it 500 ms with base 9 become ready, at the same instant and
/// before or after it. A real-time thread gives the sign each second and does not take any time.
fn interactive((wait, give, object): Wait, is_first: bool) -> Vec<u64> {
    let start = "{ send = \"start\" }";
    let (one, two) = if is_first { (give, start) } else { (start, give) };
    let tasks = format!(
        "[[task]]\nname = \"interactive\"\nloop = [{wait}, {{ compute = \"20ms\" }}]\n\
         [[task]]\nname = \"busy\"\nnice = -1\nloop = [{{ recv = \"start\" }}, {{ compute = \"500ms\" }}]\n\
         [[task]]\nname = \"conductor\"\nnice = -16\nloop = [{{ sleep = \"1s\" }}, {one}, {two}]\n{object}\n"
    );
    let mut responses = responses(&run_tasks(1, 30, &tasks, &[("boost_pipe", 0)]), 0);
    assert_eq!((responses.len(), responses.remove(0)), (30, 0), "the first one is the way to the first wait");
    responses
}

#[test]
fn without_a_boost_a_request_waits_for_the_whole_of_a_higher_one() {
    for is_first in [true, false] {
        assert_eq!(interactive(PLAIN, is_first), [520_000; 29]);
    }
}

/// With one level more it is next to the other: before it, or behind its quantum.
#[test]
fn a_semaphore_brings_a_request_level_with_a_higher_one() {
    assert_eq!(interactive(SEMAPHORE, true), [20_000; 29]);
    let behind = interactive(SEMAPHORE, false);
    assert_eq!(behind[0], 207_500);
    assert!(behind.iter().all(|time| (20_000..=207_500).contains(time)), "{behind:?}");
}

#[test]
fn the_network_brings_a_request_above_a_higher_one() {
    for is_first in [true, false] {
        assert_eq!(interactive(NETWORK, is_first), [20_000; 29]);
    }
}

/// How much lower a thread is makes no difference.
#[test]
fn a_lower_priority_starves_but_for_the_scan() {
    for nice in [0, 3, 7] {
        let tasks = format!(
            "[[task]]\nname = \"high\"\nnice = -1\nloop = [{{ compute = \"500ms\" }}]\n\
             [[task]]\nname = \"low\"\nnice = {nice}\nloop = [{{ compute = \"500ms\" }}]"
        );
        let ran =
            |settings| turns(&run_tasks(1, 60, &tasks, settings), 1).iter().map(|turn| turn.1 - turn.0).sum::<u64>();
        assert_eq!(ran(&[("scan", 0)]), 0);
        // Two ticks at 5, 10, ... 55 s.
        assert_eq!(ran(&[]), 11 * 31_250);
    }
}

/// The lengths and the periods of relief for each length of the boost and of the clock tick, and the study's own.
#[test]
fn the_studys_60_ms_every_4_s_is_none_of_the_combinations() {
    const UNITS: (&str, u64) = ("scan_boost", 1);
    const FACTOR: (&str, u64) = ("scan_boost", 2);
    const PAPER: (&str, u64) = ("scan_boost", 3);
    const CLIENT: (&str, u64) = ("quantum", 1);
    const SERVER: (&str, u64) = ("quantum", 4);
    for (tick, settings, length, period) in [
        (10_000_000, &[UNITS][..], 20_000, 4),
        (10_000_000, &[FACTOR, CLIENT], 40_000, 4),
        (10_000_000, &[FACTOR, SERVER], 240_000, 4),
        (15_625_000, &[UNITS], 31_250, 5),
        (15_625_000, &[FACTOR, CLIENT], 62_500, 5),
        (15_625_000, &[FACTOR, SERVER], 375_000, 6),
        // What the study's numbers take: 18 units of the fast clock; of the slow one, a shorter wait.
        (10_000_000, &[UNITS, ("boost_units", 18)], 60_000, 4),
        (10_000_000, &[PAPER], 60_000, 4),
        (15_625_000, &[PAPER], 62_500, 4),
    ] {
        let settings: Vec<_> = settings.iter().copied().chain([("tick", tick)]).collect();
        let turns = turns(&run("11-starving-15ms", &settings), 1);
        assert!(turns.len() >= 4, "{turns:?}");
        assert!(turns.iter().all(|turn| turn.1 - turn.0 == length), "{settings:?}: {turns:?}");
        assert!(turns.windows(2).all(|pair| pair[1].0 - pair[0].0 == period * 1_000_000), "{settings:?}: {turns:?}");
    }
}
