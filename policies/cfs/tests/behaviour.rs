//! What `cfs` does on a machine, as its rules say.

use super::observe::{
    THREE_CHILDREN, THREE_SLEEPERS, TWO_END_EARLY, V4_9, V6_1, V6_5, cpu_time, run_tasks, spread, turns, wakeup_waits,
};
use schedlab_model::ids::{CpuId, TaskId};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind};

const ONE_CPU: &str = "cpus = 1";

fn hogs(count: u32, nice: i32) -> String {
    format!("[[task]]\nname = \"hog{nice}\"\ncount = {count}\nnice = {nice}\nloop = [{{ compute = \"100s\" }}]\n")
}

#[test]
fn hogs_of_equal_weight_differ_by_a_slice_and_a_tick_at_most() {
    for version in [V6_1, V4_9, V6_5] {
        let events = run_tasks(ONE_CPU, "10s", &hogs(3, 0), &[("version", version)]);
        let times = cpu_time(&events, 3);
        // Slices of 2 ms, ticks of 4 ms, and the order of the start.
        assert!(times.iter().max().unwrap() - times.iter().min().unwrap() <= 2_000 + 2 * 4_000, "{times:?}");
    }
}

#[test]
fn a_slice_ends_at_the_first_tick_after_it() {
    // Slices are 2.999998 ms: at 1000 Hz the tick at 3 ms is the first after that.
    for (hz, expected) in [(250, 4_000), (1000, 3_000), (100, 10_000)] {
        let events = run_tasks(ONE_CPU, "1s", &hogs(2, 0), &[("hz", hz)]);
        let turns = turns(&events, 0);
        let lengths: Vec<u64> = turns[2..].iter().map(|turn| turn.1 - turn.0).collect();
        assert!(lengths.len() > 40 && lengths.iter().all(|length| *length == expected), "{hz}: {lengths:?}");
    }
}

/// Slices are 2.999998 ms. Whenever the machine ticks, the tick after that ends them, and not the one after the policy's own.
#[test]
fn ticks_are_those_of_the_machine() {
    for offset in 0..16 {
        let machine = format!("{ONE_CPU}\ntick = \"4ms\"\ntick_offset = \"{}us\"", 250 * offset);
        let events = run_tasks(&machine, "1s", &hogs(2, 0), &[]);
        let turns = turns(&events, 0);
        let lengths: Vec<u64> = turns[2..].iter().map(|turn| turn.1 - turn.0).collect();
        assert!(lengths.len() > 100 && lengths.iter().all(|length| *length == 4_000), "{offset}: {lengths:?}");
    }
}

#[test]
fn a_sleeper_that_leads_preempts_at_once() {
    let sleeper = "[[task]]\nname = \"sleeper\"\nloop = [{ sleep = \"17ms\" }, { compute = \"1ms\" }]\n";
    let events = run_tasks(ONE_CPU, "2s", &(hogs(1, 0) + sleeper), &[]);
    // The first is a new task's, which begins a slice behind.
    let waits = wakeup_waits(&events, 1);
    assert!(waits.len() > 100 && waits[1..].iter().all(|wait| *wait == 0), "{waits:?}");
}

#[test]
fn a_sleeper_of_little_weight_needs_more_lead() {
    // Nice 5 needs 3.06 ms and is given 3 at most: it waits for the end of a slice.
    let sleeper = "[[task]]\nname = \"sleeper\"\nnice = 5\nloop = [{ sleep = \"17ms\" }, { compute = \"1ms\" }]\n";
    let events = run_tasks(ONE_CPU, "2s", &(hogs(1, 0) + sleeper), &[]);
    let waits = wakeup_waits(&events, 1);
    assert!(waits.len() > 80 && waits.iter().filter(|wait| **wait > 0).count() > waits.len() / 2, "{waits:?}");
}

#[test]
fn a_task_of_the_idle_class_is_preempted_and_never_preempts() {
    let tasks = "[[task]]\nname = \"idle\"\nclass = \"idle\"\nloop = [{ compute = \"100s\" }]\n\
                 [[task]]\nname = \"batch\"\nclass = \"batch\"\nloop = [{ sleep = \"50ms\" }, { compute = \"1ms\" }]\n";
    let waits = wakeup_waits(&run_tasks(ONE_CPU, "2s", tasks, &[]), 1);
    assert!(waits.len() > 30 && waits[1..].iter().all(|wait| *wait == 0), "{waits:?}");
    let tasks = "[[task]]\nname = \"idle\"\nclass = \"idle\"\nloop = [{ sleep = \"50ms\" }, { compute = \"10us\" }]\n";
    let waits = wakeup_waits(&run_tasks(ONE_CPU, "5s", &(hogs(1, 0) + tasks), &[]), 1);
    assert!(!waits.is_empty() && waits.iter().all(|wait| *wait > 0), "{waits:?}");
}

#[test]
fn a_waking_task_takes_an_idle_cpu_that_shares_the_cache() {
    for version in [V6_1, V4_9] {
        let events = run_tasks("cpus = 4", "2s", THREE_SLEEPERS, &[("version", version)]);
        for task in 0..3 {
            let waits = wakeup_waits(&events, task);
            assert!(waits.len() > 150 && waits.iter().all(|wait| *wait == 0), "{version} {task}: {waits:?}");
        }
    }
}

#[test]
fn new_tasks_spread_over_idle_cpus() {
    for version in [V6_1, V4_9] {
        let events = run_tasks("cpus = 4", "1s", THREE_CHILDREN, &[("version", version)]);
        assert_eq!(spread(&events, 4, Time::from_ms(50)), [1; 4], "{version}");
    }
}

#[test]
fn a_cpu_that_runs_out_of_tasks_takes_one_from_another() {
    for version in [V6_1, V4_9] {
        let events = run_tasks("cpus = 2", "2s", TWO_END_EARLY, &[("version", version)]);
        let spread = spread(&events, 2, Time::from_ms(100));
        assert_eq!(spread, [2, 2], "{version}");
    }
}

#[test]
fn tasks_spread_over_cores_before_they_share_one() {
    // Two cores of two threads. Two hogs that begin on the threads of one core end on both cores.
    let tasks = "[[task]]\nname = \"one\"\nstart_on = 0\nloop = [{ compute = \"10s\" }]\n\
                 [[task]]\nname = \"two\"\nstart_on = 1\nloop = [{ compute = \"10s\" }]\n";
    let events = run_tasks("topology = \"1n1l2c2t\"", "2s", tasks, &[]);
    let spread = spread(&events, 4, Time::from_ms(1900));
    assert_eq!([spread[0] + spread[1], spread[2] + spread[3]], [1, 1], "{spread:?}");
}

/// A task that is pinned while it runs stays and continues, however often other CPUs would like to have it.
#[test]
fn a_running_task_that_is_pinned_is_not_pushed_away() {
    let tasks = "[[task]]\nname = \"program\"\nonce = [{ compute = \"1s\" }, { set = { cpus = \"0\" } }, { compute = \"30s\" }]\n\
                 [[task]]\nname = \"other\"\nloop = [{ compute = \"2ms\" }, { sleep = \"98ms\" }]\n";
    for version in [V4_9, V6_1] {
        let events = run_tasks("cpus = 4\nhz = 250", "10s", tasks, &[("version", version)]);
        let of_it = |event: &&Event| match event.kind {
            EventKind::Switch { previous, next, .. } => [previous, next].contains(&Some(TaskId(0))),
            _ => false,
        };
        let last = events.iter().rfind(of_it).expect("it ran");
        let EventKind::Switch { next, .. } = last.kind else { unreachable!() };
        assert_eq!((last.cpu, next), (CpuId(0), Some(TaskId(0))), "version {version}: {last:?}");
    }
}

/// A call wakes two tasks. The first, which needs much, goes to the CPU that idles, where the second one was. By 4.9 its load is
/// there at once, and the second task comes to its waker. Since 5.8 the CPU takes it in later, and the second task follows it.
#[test]
fn a_cpu_that_is_about_to_get_a_task_has_not_got_its_load() {
    let stays_on =
        |cpu| format!("{{ set = {{ cpus = \"{cpu}\" }} }}, {{ compute = \"10us\" }}, {{ set = {{ cpus = \"0-1\" }} }}");
    let tasks = format!(
        "[semaphore.s]\n\
         [[task]]\nname = \"waker\"\ncpus = \"0\"\nloop = [{{ compute = \"1ms\" }}, {{ post = \"s\", times = 2 }}, {{ sleep = \"12ms\" }}]\n\
         [[task]]\nname = \"heavy\"\nloop = [{{ wait = \"s\" }}, {{ compute = \"8ms\" }}, {}]\n\
         [[task]]\nname = \"light\"\nloop = [{{ wait = \"s\" }}, {{ compute = \"200us\" }}, {}, {{ sleep = \"10ms\" }}]\n",
        stays_on(0),
        stays_on(1)
    );
    let machine = "cpus = 2\ncosts = { wakeup = \"2us\" }";
    let targets = |version| {
        let events = run_tasks(machine, "1s", &tasks, &[("version", version)]);
        let by_waker = |event: &Event| match event.kind {
            EventKind::Wakeup { task, target, waker: Some(TaskId(0)), .. } => Some((task.0, target.0)),
            _ => None,
        };
        // Without the first ones, before there are loads.
        events.iter().filter(|event| event.time > Time::from_ms(500)).filter_map(by_waker).collect::<Vec<_>>()
    };
    let (before, since) = (targets(V4_9), targets(V6_1));
    assert!(since.len() > 60 && before.len() > 60, "{} {}", since.len(), before.len());
    assert!(since.iter().all(|&wakeup| wakeup == (1, 1) || wakeup == (2, 1)), "{since:?}");
    assert!(before.contains(&(1, 1)) && before.contains(&(2, 0)), "{before:?}");
}
