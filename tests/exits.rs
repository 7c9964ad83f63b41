//! What the end of a task does to the others, where it takes time.

use crate::lab::lawful;
use schedlab_model::scenario::Scenario;
use schedlab_model::trace::{Event, EventKind, Reason};
use schedlab_model::workload::Workload;

/// A short task and a long one on one CPU; the end of a task takes 400 us.
const SHORT_AND_LONG: &str = "name = \"t\"
[machine]
cpus = 1
costs = { exit = \"400us\" }
[run]
duration = \"50ms\"
[[task]]
name = \"short\"
once = [{ compute = \"1200us\" }]
[[task]]
name = \"long\"
once = [{ compute = \"20ms\" }]
";

fn workload(moves: bool) -> Workload {
    let mut workload = Scenario::parse(SHORT_AND_LONG, "t").unwrap().compile().unwrap();
    workload.machine.mechanisms.move_at_exit = moves;
    workload
}

/// When the short task has ended, and when it last lost its CPU before, in microseconds.
fn end_and_last_switch_us(policy: &str, moves: bool) -> (u64, u64) {
    let (events, _) = lawful(&workload(moves), policy);
    let us = |event: &Event| event.time.ns() / 1000;
    let is_end = |event: &&Event| matches!(event.kind, EventKind::Exit { task } if task.0 == 0);
    let lost = |event: &&Event| {
        matches!(event.kind, EventKind::Switch { previous: Some(task), reason, .. }
            if task.0 == 0 && reason != Reason::Exited)
    };
    let end = events.iter().find(is_end).map(us).expect("it ends");
    (end, events.iter().filter(lost).map(us).next_back().unwrap_or_default())
}

/// A slice that is not over keeps the CPU: the policy is not asked.
#[test]
fn a_task_with_a_slice_left_ends_where_it_is() {
    for policy in ["fcfs", "rr"] {
        assert_eq!(end_and_last_switch_us(policy, true), end_and_last_switch_us(policy, false), "{policy}");
    }
}

/// A fair scheduler gives the CPU to a task that is behind, for its slice, and the one that ends comes back only to be gone.
#[test]
fn a_task_that_is_ahead_gives_way_before_it_is_gone() {
    let (end, lost) = end_and_last_switch_us("eevdf", true);
    let (alone, before) = end_and_last_switch_us("eevdf", false);
    assert!(before < alone - 1, "it keeps its CPU to the end: {before}, {alone}");
    assert!(lost >= alone - 1 && end > alone + 100, "it loses its CPU when it is done: {lost}, {end}, {alone}");
}
