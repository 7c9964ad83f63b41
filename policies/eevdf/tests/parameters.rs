//! What each parameter of `eevdf` changes.

use super::observe::{V6_12, V6_18, cpu_time, run_tasks, turns, wakeup_waits};

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

/// The waits of a sleeper beside two hogs, together, in microseconds.
fn waits(slice: &str, settings: &[(&str, u64)]) -> u64 {
    let sleeper = format!("[[task]]\nname = \"s\"\n{slice}loop = [{{ sleep = \"17ms\" }}, {{ compute = \"1ms\" }}]\n");
    let settings = [settings, &[("base_slice", 2_800_000), ("hz", 1000)]].concat();
    wakeup_waits(&run_tasks("cpus = 1", "4s", &format!("{HOGS}{sleeper}"), &settings), 2).into_iter().sum()
}

#[test]
fn lag_that_is_kept_and_short_slices_make_waits_shorter() {
    let short = "slice = \"500us\"\n";
    for version in [V6_12, V6_18] {
        let with = |slice, name| waits(slice, &[("version", version), (name, 0)]);
        let (usual, fast) = (waits("", &[("version", version)]), waits(short, &[("version", version)]));
        assert!(usual < with("", "place_lag"), "{version}");
        assert!(fast < usual, "{version}");
        assert!(fast < with(short, "preempt_short"), "{version}");
    }
}

/// Without parity a task that comes with an earlier deadline preempts at once; in 6.18 after the slice of one CPU.
#[test]
fn parity_protects_who_was_picked() {
    for version in [V6_12, V6_18] {
        let switches = |parity| {
            let sleepers = "[[task]]\nname = \"s\"\ncount = 3\nloop = [{ sleep = \"exp(9ms)\" }, { compute = \"1ms\" }]\n";
            let settings = [("version", version), ("run_to_parity", parity), ("base_slice", 2_800_000), ("hz", 1000)];
            let events = run_tasks("cpus = 1", "4s", &format!("{HOGS}{sleepers}"), &settings);
            (0..2).map(|hog| turns(&events, hog).len()).sum::<usize>()
        };
        assert!(switches(0) > switches(1), "{version}: {} {}", switches(0), switches(1));
    }
}

/// Who runs 3 ms at a time and naps would lose its debt each time.
#[test]
fn without_delayed_dequeue_a_debt_is_lost_to_others() {
    let tasks = "[[task]]\nname = \"naps\"\nloop = [{ compute = \"9ms\" }, { sleep = \"20ms\" }]\n\
                 [[task]]\nname = \"hog\"\ncount = 3\nloop = [{ compute = \"100s\" }]\n";
    let got = |delay| cpu_time(&run_tasks("cpus = 1", "10s", tasks, &[("delay_dequeue", delay)]), 1)[0];
    // A debt that is kept over the sleep is heavier than one that is paid meanwhile.
    assert!(got(0) < got(1), "{} {}", got(0), got(1));
}
