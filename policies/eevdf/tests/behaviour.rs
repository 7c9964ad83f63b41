//! What `eevdf` does on a machine, as its rules say.

use super::observe::{
    THREE_CHILDREN, THREE_SLEEPERS, TWO_END_EARLY, V6_12, V6_18, V7_1, VERSIONS, cpu_time, run_tasks, spread, turns,
    wakeup_waits,
};
use schedlab_model::time::Time;

const ONE_CPU: &str = "cpus = 1";

fn hogs(count: u32) -> String {
    format!("[[task]]\nname = \"hog\"\ncount = {count}\nloop = [{{ compute = \"100s\" }}]\n")
}

#[test]
fn hogs_of_equal_weight_differ_by_a_slice_and_a_tick_at_most() {
    for version in VERSIONS {
        let times = cpu_time(&run_tasks(ONE_CPU, "10s", &hogs(3), &[("version", version)]), 3);
        assert!(times.iter().max().unwrap() - times.iter().min().unwrap() <= 700 + 4_000, "{version}: {times:?}");
    }
}

#[test]
fn a_task_of_the_idle_class_is_preempted_and_never_preempts() {
    let tasks = "[[task]]\nname = \"idle\"\nclass = \"idle\"\nloop = [{ compute = \"100s\" }]\n\
                 [[task]]\nname = \"batch\"\nclass = \"batch\"\nloop = [{ sleep = \"50ms\" }, { compute = \"1ms\" }]\n";
    let idle = "[[task]]\nname = \"idle\"\nclass = \"idle\"\nloop = [{ sleep = \"50ms\" }, { compute = \"10us\" }]\n";
    for version in VERSIONS {
        let waits = wakeup_waits(&run_tasks(ONE_CPU, "2s", tasks, &[("version", version)]), 1);
        assert!(waits.len() > 30 && waits[1..].iter().all(|wait| *wait == 0), "{version}: {waits:?}");
        let waits = wakeup_waits(&run_tasks(ONE_CPU, "5s", &(hogs(1) + idle), &[("version", version)]), 1);
        assert!(!waits.is_empty() && waits.iter().all(|wait| *wait > 0), "{version}: {waits:?}");
    }
}

/// A sleeper that takes less than its share has lag when it wakes, and runs at once; one whose work is longer than that
/// comes back with a debt, and waits.
#[test]
fn sleepers_with_lag_run_at_once() {
    let short = "[[task]]\nname = \"short\"\nloop = [{ sleep = \"17ms\" }, { compute = \"1ms\" }]\n";
    for version in VERSIONS {
        let waits = wakeup_waits(&run_tasks(ONE_CPU, "2s", &(hogs(1) + short), &[("version", version)]), 1);
        let at_once = waits.iter().filter(|wait| **wait == 0).count();
        assert!(waits.len() > 100 && 2 * at_once > waits.len(), "{version}: {at_once} of {}", waits.len());
    }
}

#[test]
fn a_waking_task_takes_an_idle_cpu_that_shares_the_cache() {
    for version in VERSIONS {
        let events = run_tasks("cpus = 4", "2s", THREE_SLEEPERS, &[("version", version)]);
        for task in 0..3 {
            let waits = wakeup_waits(&events, task);
            assert!(waits.len() > 150 && waits.iter().all(|wait| *wait == 0), "{version} {task}: {waits:?}");
        }
    }
}

#[test]
fn new_tasks_spread_over_idle_cpus() {
    let events = run_tasks("cpus = 4", "1s", THREE_CHILDREN, &[]);
    assert_eq!(spread(&events, 4, Time::from_ms(50)), [1; 4]);
}

#[test]
fn a_cpu_that_runs_out_of_tasks_takes_one_from_another() {
    for version in VERSIONS {
        let events = run_tasks("cpus = 2", "2s", TWO_END_EARLY, &[("version", version)]);
        assert_eq!(spread(&events, 2, Time::from_ms(100)), [2, 2], "{version}");
    }
}

/// Weight is what the balancer moves: it pulls until the loads meet, whatever the tasks' places in their queues were.
#[test]
fn tasks_released_on_one_cpu_spread_and_keep_their_shares() {
    let tasks = "[[task]]\nname = \"hog\"\ncount = 8\nstart_on = 0\nloop = [{ compute = \"100s\" }]\n";
    for version in VERSIONS {
        let events = run_tasks("cpus = 4", "10s", tasks, &[("version", version)]);
        assert_eq!(spread(&events, 4, Time::from_ms(9_000)), [2; 4], "{version}");
        let times = cpu_time(&events, 8);
        assert!(times.iter().all(|time| time.abs_diff(5_000_000) < 100_000), "{version}: {times:?}");
    }
}

#[test]
fn who_yields_lets_the_other_one_run() {
    let tasks =
        "[[task]]\nname = \"yielder\"\nloop = [{ compute = \"100us\" }, { yield = true }]\n".to_string() + &hogs(1);
    for version in VERSIONS {
        let times = cpu_time(&run_tasks(ONE_CPU, "2s", &tasks, &[("version", version)]), 2);
        // It gives up most of each request, and is charged for all of it.
        assert!(4 * times[0] < times[1] && times[0] > 0, "{version}: {times:?}");
    }
}

/// A task on another CPU wakes one here whose turn it is: a kernel with lazy preemption switches at the next tick.
#[test]
fn since_7_1_a_cpu_that_computes_is_told_at_its_tick() {
    let tasks = "[[task]]\nname = \"waker\"\ncpus = [0]\nloop = [{ compute = \"13.3ms\" }, { post = \"s\" }]\n\
                 [[task]]\nname = \"wakee\"\ncpus = [1, 2]\nslice = \"100us\"\nloop = [{ wait = \"s\" }, { compute = \"50us\" }]\n\
                 [[task]]\nname = \"one\"\ncpus = [1]\nloop = [{ compute = \"100s\" }]\n\
                 [[task]]\nname = \"two\"\ncpus = [2]\nloop = [{ compute = \"100s\" }]\n[semaphore.s]\ninitial = 0\n";
    let waits = |settings: &[(&str, u64)]| wakeup_waits(&run_tasks("cpus = 3", "1s", tasks, settings), 1);
    for settings in [&[("version", V6_12)][..], &[("version", V6_18)], &[("version", V7_1), ("lazy_preemption", 1)]] {
        let waits = waits(settings);
        assert!(waits.len() > 50 && waits[1..].iter().all(|wait| *wait == 0), "{settings:?}: {waits:?}");
    }
    for settings in [&[("version", V7_1)][..], &[("version", V6_18), ("lazy_preemption", 2)]] {
        let waits = waits(settings);
        let late = waits.iter().filter(|wait| **wait > 0).count();
        assert!(10 * late > 8 * waits.len() && waits.iter().all(|wait| *wait <= 4_000), "{settings:?}: {waits:?}");
    }
}

/// Fifty tasks that sleep at once with debts, and more: nothing is lost, and the CPU is never idle despite work.
#[test]
fn many_debtors_come_and_go() {
    let tasks =
        "[[task]]\nname = \"many\"\ncount = 120\nloop = [{ compute = \"exp(3ms)\" }, { sleep = \"exp(200ms)\" }]\n";
    for version in VERSIONS {
        let events = run_tasks(ONE_CPU, "10s", tasks, &[("version", version)]);
        let times = cpu_time(&events, 120);
        assert!(times.iter().sum::<u64>() > 9_500_000, "{version}: {times:?}");
        assert!(times.iter().all(|time| *time > 10_000), "{version}: {times:?}");
        assert!((0..120).all(|task| turns(&events, task).len() > 5), "{version}");
    }
}
