//! What each parameter of `mlfq` changes.

use super::observe::{bursts, moves, run, run_tasks, starts, turns};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind};

const HOG: &str = "[[task]]\nname = \"hog\"\nloop = [{ compute = \"1s\" }]";

/// When a lone hog comes into each queue, in microseconds.
fn sinks(settings: &[(&str, u64)]) -> Vec<(u64, u64)> {
    moves(&run("08-sink", settings), 0).into_iter().map(|(queue, time)| (queue, time.ns() / 1000)).collect()
}

#[test]
fn levels_and_step_shape_the_queues() {
    assert_eq!(sinks(&[("levels", 3)]), [(1, 0), (2, 10_000), (3, 30_000)]);
    assert_eq!(sinks(&[("levels", 3), ("step", 1_000_000)]), [(1, 0), (2, 1_000), (3, 3_000)]);
}

#[test]
fn slices_may_double() {
    let expected = [(1, 0), (2, 10_000), (3, 30_000), (4, 70_000), (5, 150_000), (6, 310_000)];
    assert_eq!(sinks(&[("slices", 1)]), expected);
}

#[test]
fn slices_may_grow_twentyfold_over_twenty_queues() {
    let entered = sinks(&[("slices", 2)]);
    let slices: Vec<u64> = entered.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
    for (slice, expected) in slices.iter().zip([10_000, 11_708, 13_707, 16_048, 18_789, 21_998]) {
        assert!(slice.abs_diff(expected) <= 1, "{slices:?}");
    }
    assert_eq!((entered.len(), slices[18].abs_diff(170_826) <= 1), (20, true));
}

#[test]
fn steps_may_be_greater_than_one() {
    let queues: Vec<u64> = sinks(&[("step_down", 5)]).iter().map(|entry| entry.0).collect();
    assert_eq!(queues, [1, 6, 11, 16, 20]);
    let starts = starts(&bursts(&run("02-rise", &[("step_up", 6)]), 0));
    assert_eq!(starts[1..7], [20, 14, 8, 2, 1, 1]);
}

#[test]
fn a_yield_counts_as_a_used_slice_or_as_a_block() {
    // It sinks to queue 4 and yields there four times.
    let task = "[[task]]\nname = \"polite\"\nonce = [{ compute = \"61ms\" }, \
                { repeat = 4, steps = [{ yield = true }, { compute = \"1ms\" }] }]";
    let queues = |settings| moves(&run_tasks(1, 1, task, settings), 0).into_iter().map(|m| m.0).collect::<Vec<_>>();
    assert_eq!(queues(&[]), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(queues(&[("yield", 1)]), [1, 2, 3, 4, 3, 2, 1]);
}

#[test]
fn a_preempted_task_may_lose_its_place() {
    // Two hogs in queue 20; a short task preempts the one that runs.
    let tasks = "[[task]]\nname = \"hog\"\ncount = 2\nloop = [{ compute = \"1s\" }]\n\
                 [[task]]\nname = \"short\"\nstart = \"4.05s\"\nonce = [{ compute = \"1ms\" }]";
    let runner = |events: &[Event], at: Time| {
        (0..2).find(|&hog| turns(events, hog).iter().any(|turn| turn.0 <= at && at < turn.1)).expect("one runs")
    };
    for (place, same) in [(0, true), (1, false)] {
        let events = run_tasks(1, 5, tasks, &[("preempt_place", place)]);
        let (before, after) = (Time::from_ms(4_049), Time::from_ms(4_052));
        assert_eq!(runner(&events, before) == runner(&events, after), same);
    }
}

#[test]
fn nice_values_limit_the_queues() {
    let queues = |nice: i32, settings: &[(&str, u64)]| {
        let task = format!("{HOG}\nnice = {nice}");
        let queues: Vec<u64> = moves(&run_tasks(1, 3, &task, settings), 0).into_iter().map(|m| m.0).collect();
        (queues[0], queues[queues.len() - 1])
    };
    assert_eq!(queues(10, &[]), (1, 20));
    for (nice, expected) in [(0, (1, 20)), (10, (11, 20)), (19, (20, 20)), (-10, (1, 10)), (-20, (1, 1))] {
        assert_eq!(queues(nice, &[("nice", 1)]), expected, "nice {nice}");
    }
}

#[test]
fn waiting_for_a_disk_may_lead_up_to_a_queue_only() {
    let reader = |wait: &str| {
        format!(
            "[[task]]\nname = \"reader\"\nonce = [{{ compute = \"100ms\" }}, \
             {{ repeat = 8, steps = [{wait}, {{ compute = \"1ms\" }}] }}]"
        )
    };
    let disk = "{ io = { device = \"disk\", service = \"5ms\" } }";
    let queues = |wait: &str, settings| starts(&bursts(&run_tasks(1, 1, &reader(wait), settings), 0));
    // 100 ms use up queues 1 to 4.
    assert_eq!(queues(disk, &[]), [1, 5, 4, 3, 2, 1, 1, 1, 1]);
    assert_eq!(queues(disk, &[("io_cap", 3)]), [1, 5, 4, 3, 3, 3, 3, 3, 3]);
    assert_eq!(queues("{ sleep = \"5ms\" }", &[("io_cap", 3)]), [1, 5, 4, 3, 2, 1, 1, 1, 1]);
}

#[test]
fn relief_comes_as_often_as_its_parameters_say() {
    let raised = |settings: &[(&str, u64)], until_ms: u64| {
        let events = run("16a-starvation", settings);
        let raised = moves(&events, 0).into_iter().filter(|m| m.1 > Time::from_s(2) && m.1 < Time::from_ms(until_ms));
        raised.map(|(queue, _)| queue).collect::<Vec<_>>()
    };
    // The row of queue 20 leads to queue 4, the row of queue 4 to queue 1.
    assert_eq!(raised(&[("starve", 1)], 4_100)[0], 1);
    assert!(raised(&[("starve", 1), ("period", 250_000_000)], 2_700).contains(&1));
    assert!(raised(&[("starve", 2), ("age_after", 10_000_000)], 2_400).contains(&1));
}

/// The longest time in which a CPU had nothing to do while a task waited.
fn longest_waste(events: &[Event], cpus: usize) -> Time {
    let (mut busy, mut runnable, mut since, mut longest) = (vec![false; cpus], 0_usize, None::<Time>, Time::ZERO);
    for event in events {
        if let Some(since) = since {
            longest = longest.max(event.time.since(since));
        }
        match event.kind {
            EventKind::Wakeup { .. } => runnable += 1,
            EventKind::Switch { reason, next, .. } => {
                use schedlab_model::trace::Reason::{Blocked, Exited};
                runnable -= usize::from(matches!(reason, Blocked | Exited));
                busy[event.cpu.0 as usize] = next.is_some();
            }
            _ => {}
        }
        let running = busy.iter().filter(|busy| **busy).count();
        since = (running < cpus && runnable > running).then(|| since.unwrap_or(event.time));
    }
    longest
}

#[test]
fn a_waste_is_seen() {
    use schedlab_model::{ids::CpuId, ids::TaskId, trace::Reason, trace::WakeSource};
    let (cpu, task) = (CpuId(0), TaskId(0));
    let wakeup = EventKind::Wakeup { task, target: cpu, waker: None, source: WakeSource::Timer };
    let switch = |next| EventKind::Switch { previous: None, reason: Reason::Idle, next };
    let events = [(0, switch(None)), (2, wakeup), (5, switch(Some(task)))];
    let events = events.map(|(ms, kind)| Event { time: Time::from_ms(ms), cpu, kind });
    assert_eq!(longest_waste(&events, 1), Time::from_ms(3));
}

#[test]
fn no_cpu_is_idle_beside_a_waiting_task() {
    let tasks = "[[task]]\nname = \"hog\"\ncount = 5\nloop = [{ compute = \"70ms\" }, { sleep = \"3ms\" }]\n\
                 [[task]]\nname = \"short\"\ncount = 5\nloop = [{ compute = \"exp(5ms)\" }, { sleep = \"exp(20ms)\" }]";
    for settings in [&[("queues", 0), ("balance", 0)], &[("queues", 1), ("balance", 1)]] {
        let events = run_tasks(4, 20, tasks, settings);
        assert_eq!(longest_waste(&events, 4), Time::ZERO, "{settings:?}");
    }
    // In Linux a task wakes where it was, and an idle CPU looks for it at its next tick.
    let waste = longest_waste(&run_tasks(4, 20, tasks, &[("queues", 1)]), 4);
    assert!(Time::ZERO < waste && waste <= Time::from_ms(1), "{waste}");
}

#[test]
fn with_one_set_of_queues_the_highest_tasks_run() {
    // Two hogs on two CPUs; two short tasks that wake at one instant take both.
    let tasks = "[[task]]\nname = \"hog\"\ncount = 2\nloop = [{ compute = \"1s\" }]\n\
                 [[task]]\nname = \"short\"\ncount = 2\nstart = \"5s\"\nloop = [{ compute = \"5ms\" }, { sleep = \"5ms\" }]";
    let events = run_tasks(2, 6, tasks, &[]);
    let waits = [2, 3].map(|task| turns(&events, task).len());
    assert_eq!(waits, [100, 100]);
    for event in &events {
        if let EventKind::Wakeup { task, .. } = event.kind {
            let starts = turns(&events, task.0).iter().any(|turn| turn.0 == event.time);
            assert!(starts || task.0 < 2, "{task} waits at {}", event.time);
        }
    }
}

/// When tasks changed their CPU.
fn migrations(cpus: u32, tasks: &str, settings: &[(&str, u64)]) -> Vec<Time> {
    let events = run_tasks(cpus, 10, tasks, settings);
    let migrations = events.iter().filter(|event| matches!(event.kind, EventKind::Migrate { .. }));
    migrations.map(|event| event.time).collect()
}

#[test]
fn with_queues_for_each_cpu_a_hog_stays_where_it_is() {
    let tasks = "[[task]]\nname = \"hog\"\ncount = 4\nloop = [{ compute = \"1s\" }]";
    assert_eq!(migrations(2, tasks, &[("queues", 1), ("balance", 1)]), []);
    // All begin on one CPU: the idle one takes a task at its first tick, and another one at its first look while it is busy.
    let moved = migrations(2, tasks, &[("queues", 1)]);
    assert_eq!(moved, [Time::from_ms(1), Time::from_ms(200)]);
}

/// Eight hogs on one CPU, and one that stays on the other. At 200 ms that CPU has not seen them before; at 400 ms it takes
/// half of the difference of seven. Four and five are no difference to it.
#[test]
fn a_busy_cpu_takes_half_of_a_difference_that_lasts() {
    let tasks = "[[task]]\nname = \"pinned\"\ncpus = [1]\nloop = [{ compute = \"1s\" }]\n\
                 [[task]]\nname = \"hog\"\ncount = 8\nstart_on = 0\nloop = [{ compute = \"1s\" }]";
    let moved = migrations(2, tasks, &[("queues", 1)]);
    assert_eq!(moved.len(), 3, "{moved:?}");
    assert!(moved.iter().all(|time| (Time::from_ms(400)..Time::from_s(2)).contains(time)), "{moved:?}");
    assert_eq!(migrations(2, tasks, &[("queues", 1), ("balance", 1)]), []);
}
