//! What studies saw of these schedulers.

use super::observe::{MS, V3, V22, alone, responses_us, run, run_tasks, statuses, tasks_on};

/// Happe et al. (2009), 2.6.22: seven tasks with requests of 250 ms, started on one of two CPUs, end up as four and three,
/// and their response times have peaks at 650, 850 and 1150 ms.
#[test]
fn heavy_load_ends_four_to_three_with_the_published_peaks() {
    let events = run("heavy-load", V22, &[]);
    // For the last 50 seconds, of which each task needs a turn within 300 ms.
    let ends = (10..59).all(|second| {
        let on = [0, 1].map(|cpu| tasks_on(&events, cpu, second * 1000, second * 1000 + 1000));
        on == [4, 3]
    });
    assert!(ends);
    let responses: Vec<u64> = (0..7).flat_map(|task| responses_us(&events, task)).map(|us| us / 1000).collect();
    let share = |ms| responses.iter().filter(|&&response| response == ms).count() as f64 / responses.len() as f64;
    let shares = [650, 850, 1150].map(share);
    assert!(shares.iter().sum::<f64>() > 0.97, "{shares:?}");
    // Three tasks alternate between 650 and 850, four between 850 and 1150 ms.
    assert!(
        shares.iter().zip([2.0 / 7.0, 3.5 / 7.0, 1.5 / 7.0]).all(|(share, about)| (share - about).abs() < 0.06),
        "{shares:?}"
    );
}

/// Torrey, Coleman and Miller (2007), 2.6.3: a task tends to be labelled interactive if its sleep is at least a quarter of
/// its work, however long both are.
#[test]
fn the_label_of_2_6_3_flips_where_sleep_is_a_quarter_of_work() {
    for work_ms in [5, 10, 20, 40, 50] {
        let interactive = |sleep_us: u64| {
            let task = format!("loop = [{{ compute = \"{work_ms}ms\" }}, {{ sleep = \"{sleep_us}us\" }}]");
            let all = alone(V3, 0, &task, 60_000);
            // Judged at wake-ups.
            let woken: Vec<bool> = all.iter().filter(|s| s.class != 0).map(|s| s.interactive).collect();
            woken[woken.len() * 3 / 4..].iter().filter(|&&label| label).count() as f64 / (woken.len() / 4) as f64
        };
        let quarter = work_ms * 250;
        assert!(interactive(quarter * 9 / 10) < 0.01, "{work_ms} ms of work");
        assert!(interactive(quarter * 11 / 10) > 0.99, "{work_ms} ms of work");
    }
}

/// The same is not true of 2.6.22: there it is history that decides.
#[test]
fn the_label_of_2_6_22_depends_on_the_beginning() {
    let task = "loop = [{ compute = \"10ms\" }, { sleep = \"3ms\" }]";
    let last = |from| *alone(V22, from, task, 20_000).last().expect("a status");
    assert_eq!([0, 799].map(|from| last(from).interactive), [false, true]);
}

/// The sleep average of a task that computes, after each of its slices, in nanoseconds. With 8 CPUs slices are not parted.
fn averages_of_a_hog(version: u64, sleep_avg_ms: u64) -> Vec<u64> {
    let task = "[[task]]\nname = \"hog\"\ncpus = [0]\nloop = [{ compute = \"9s\" }]";
    let events = run_tasks("cpus = 8", 9_000, task, version, &[("sleep_avg", sleep_avg_ms * MS)]);
    statuses(&events, 0).iter().map(|status| status.1.sleep_avg_ns).collect()
}

/// Torrey et al., figure 2: a task that slept for seconds and then computes stays interactive for some slices, and moves
/// across the levels below. With the rules of 2.6.3 each slice of 102 ms costs one level, and three lead below the seventh; in
/// 2.6.22 a slice costs a part of a level, and it takes seven, or 25 from the top.
#[test]
fn v25_a_task_that_begins_to_compute_keeps_its_bonus_for_some_slices() {
    let slices = |version, from, level_ms: u64| {
        averages_of_a_hog(version, from).iter().position(|&average| average < 7 * level_ms * MS)
    };
    assert_eq!(slices(V3, 918, 102), Some(3));
    assert_eq!([799, 1000].map(|from| slices(V22, from, 100)), [Some(7), Some(25)]);
    let averages: Vec<u64> = averages_of_a_hog(V22, 799).iter().map(|average| average / 10_000).collect();
    assert_eq!((averages[1], averages[2], averages[7]), (78_471, 77_042, 69_900));
}

/// Figure 2 again, as it shows priorities: one level for each slice, from 116 to 125, after a sleep of some seconds.
#[test]
fn a_sleeper_that_begins_to_compute_loses_one_level_with_each_slice() {
    let task = "once = [{ sleep = \"4s\" }, { compute = \"2s\" }]";
    let mut levels: Vec<u64> = alone(V3, 0, task, 7_000).iter().skip(1).map(|status| status.prio).collect();
    levels.dedup();
    assert_eq!(levels, (116..=125).collect::<Vec<u64>>());
}

/// Figure 4: a task that computed and then sleeps for 10 ms at a time rises to the top at once: 10 ms count as up to 100.
#[test]
fn a_hog_that_begins_to_sleep_rises_with_each_sleep() {
    let sleeps = "{ repeat = 40, steps = [{ sleep = \"10ms\" }, { compute = \"1ms\" }] }";
    let all = alone(V3, 0, &format!("once = [{{ compute = \"3s\" }}, {sleeps}]"), 5_000);
    let mut levels: Vec<u64> = all.iter().filter(|status| status.class != 0).map(|status| status.prio).collect();
    assert_eq!((levels[0], levels[1]), (125, 124));
    levels.dedup();
    assert!(levels.is_sorted_by(|a, b| a > b) && *levels.last().expect("a level") == 115, "{levels:?}");
}
