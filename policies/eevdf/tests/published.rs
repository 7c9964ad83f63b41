//! What has been published about EEVDF.

use super::observe::{V6_12, V7_1, VERSIONS, cpu_time, run_tasks, wakeup_waits};
use schedlab_model::ids::TaskId;
use schedlab_model::trace::{Event, EventKind};

/// By how much each of three tasks of nice 0 is ever behind and ahead of a third of the CPU time, in microseconds.
fn lags(events: &[Event]) -> (f64, f64) {
    let (mut got, mut running, mut since) = ([0.0; 3], None, 0);
    let (mut behind, mut ahead) = (0.0_f64, 0.0_f64);
    for event in events {
        let EventKind::Switch { next, .. } = event.kind else { continue };
        let now = event.time.ns();
        if let Some(TaskId(task)) = running {
            got[task as usize] += (now - since) as f64;
        }
        (running, since) = (next, now);
        let fair = got.iter().sum::<f64>() / 3.0;
        for time in got {
            behind = behind.max((fair - time) / 1000.0);
            ahead = ahead.max((time - fair) / 1000.0);
        }
    }
    (behind, ahead)
}

/// I. Stoica, H. Abdel-Wahab, 1995, theorem: no task is ever behind its fair share by more than the longest request or
/// quantum, nor ahead of it by more than its own request. Here requests last until a tick.
#[test]
fn lag_is_bounded_by_a_request() {
    let tasks = "[[task]]\nname = \"hog\"\ncount = 3\nloop = [{ compute = \"100s\" }]\n";
    for version in VERSIONS {
        for (hz, request) in [(250, 4_000.0), (1000, 3_000.0)] {
            let settings = [("version", version), ("hz", hz), ("base_slice", 2_800_000)];
            let (behind, ahead) = lags(&run_tasks("cpus = 1", "5s", tasks, &settings));
            assert!(behind <= request && ahead <= request, "{version} {hz}: {behind} {ahead}");
            // The bound is not far from what happens.
            assert!(behind > request / 2.0, "{version} {hz}: {behind}");
        }
    }
}

/// A shorter slice buys latency and no share: P. Zijlstra's reason for EEVDF in Linux.
#[test]
fn short_slices_are_served_sooner_and_get_no_more() {
    let run = |slice: &str, version| {
        let tasks = format!(
            "[[task]]\nname = \"wakes\"\n{slice}loop = [{{ sleep = \"exp(10ms)\" }}, {{ compute = \"300us\" }}]\n\
             [[task]]\nname = \"hog\"\ncount = 4\nloop = [{{ compute = \"100s\" }}]\n"
        );
        let settings = [("version", version), ("base_slice", 2_800_000), ("hz", 1000), ("lazy_preemption", 1)];
        let events = run_tasks("cpus = 1", "20s", &tasks, &settings);
        let waits = wakeup_waits(&events, 0);
        (waits.iter().sum::<u64>() as f64 / waits.len() as f64, cpu_time(&events, 5))
    };
    for version in VERSIONS {
        let ((usual, _), (short, times)) = (run("", version), run("slice = \"300us\"\n", version));
        assert!(2.0 * short < usual, "{version}: mean waits of {short} and {usual} us");
        let most = times[1..].iter().max().unwrap() - times[1..].iter().min().unwrap();
        assert!(most < 10_000, "{version}: {times:?}");
    }
    let hogs = |slice: &str| {
        let tasks = format!(
            "[[task]]\nname = \"one\"\n{slice}loop = [{{ compute = \"100s\" }}]\n\
             [[task]]\nname = \"two\"\nloop = [{{ compute = \"100s\" }}]\n"
        );
        cpu_time(&run_tasks("cpus = 1", "20s", &tasks, &[("hz", 1000)]), 2)
    };
    let (long, short) = (hogs("slice = \"20ms\"\n"), hogs("slice = \"1ms\"\n"));
    assert!(long[0].abs_diff(long[1]) < 25_000, "{long:?}");
    assert!(short[0].abs_diff(short[1]) < 25_000, "{short:?}");
}

/// Delayed dequeue: a task that sleeps for a moment to lose a debt does not gain by it.
#[test]
fn short_sleeps_do_not_escape_a_debt() {
    let tasks = "[[task]]\nname = \"naps\"\nloop = [{ compute = \"3.9ms\" }, { sleep = \"50us\" }]\n\
                 [[task]]\nname = \"hog\"\ncount = 3\nloop = [{ compute = \"100s\" }]\n";
    for version in [V6_12, V7_1] {
        let share = |settings: &[(&str, u64)]| {
            let settings = [&[("version", version)], settings].concat();
            let times = cpu_time(&run_tasks("cpus = 1", "20s", tasks, &settings), 4);
            times[0] as f64 / times.iter().sum::<u64>() as f64
        };
        let with = share(&[]);
        assert!((with - 0.25).abs() < 0.01, "{version}: {with}");
    }
}
