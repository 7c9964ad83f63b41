use super::*;
use crate::test_helpers::{exit, fork, plain, role, switch, wakeup, workload};

fn turn(time: u64, cpu: u32, is_others: bool) -> Event {
    let what = if is_others { Untraced::Others } else { Untraced::Idle };
    Event { time: Time(time), cpu: CpuId(cpu), kind: EventKind::Untraced { what } }
}

/// With the turns after the events of their instants.
fn wanted(workload: &Workload, events: &[Event], turns: &[Event], end: u64) -> u64 {
    let mut all = [events, turns].concat();
    all.sort_by_key(|event| event.time);
    let mut watch = OthersWatch::new(workload);
    watch.events(&all);
    watch.finish(Time(end));
    watch.wanted_ns()
}

fn closed(got_ns: u64, wanted_ns: u64, stolen_ns: u64) -> Option<f64> {
    Shares { got_ns, held_ns: wanted_ns, wanted_ns, stolen_ns, open_ns: None }.part_taken()
}

/// Task 0 runs up to 10 and from 40 on, others in between.
fn preempted() -> (Vec<Event>, Vec<Event>) {
    let events = vec![
        fork(0, 0),
        wakeup(0, 0, 0),
        switch(0, 0, None, Reason::Idle, Some(0)),
        switch(10, 0, Some(0), Reason::Preempted, None),
        switch(40, 0, None, Reason::Idle, Some(0)),
        switch(60, 0, Some(0), Reason::Blocked, None),
    ];
    (events, vec![turn(10, 0, true), turn(60, 0, true), turn(90, 0, false)])
}

#[test]
fn what_others_hold_is_wanted_while_a_task_waits() {
    let (events, turns) = preempted();
    let wanted_ns = wanted(&plain(1), &events, &turns, 100);
    // From 60 on the task sleeps.
    assert_eq!(wanted_ns, 30);
    // It would have had 60 in 60, and had 30: times are twice as long.
    let part = closed(30, wanted_ns, 0).unwrap();
    assert_eq!((part, bound(part)), (0.5, 2.0));
}

#[test]
fn only_what_is_measured_counts_and_what_lasts_beyond_the_end_is_cut() {
    let (events, turns) = preempted();
    let warm = workload(1, vec![role("worker", CpuSet::first(1))], 30);
    assert_eq!(wanted(&warm, &events, &turns, 100), 10);
    assert_eq!(wanted(&warm, &events, &turns[..2], 70), 10);
    assert_eq!(wanted(&warm, &events[..4], &[turn(0, 0, true)], 20), 0);
}

/// Others hold CPU 1 the whole time, and the two tasks share CPU 0: half of what they could have had, until one has ended.
#[test]
fn a_task_that_waits_elsewhere_wants_a_held_cpu_too() {
    let events = [
        fork(0, 0),
        fork(0, 1),
        wakeup(0, 0, 0),
        wakeup(0, 1, 0),
        switch(0, 0, None, Reason::Idle, Some(0)),
        switch(50, 0, Some(0), Reason::SliceEnd, Some(1)),
        switch(90, 0, Some(1), Reason::Preempted, Some(0)),
        exit(95, 0, 1),
    ];
    let wanted_ns = wanted(&plain(2), &events, &[turn(0, 1, true)], 100);
    assert_eq!(wanted_ns, 95);
    assert_eq!(closed(100, wanted_ns, 0), Some(95.0 / 195.0));
}

#[test]
fn one_waiting_task_wants_one_cpu_and_only_where_it_is_allowed() {
    let cpu = |cpu| [CpuId(cpu)].into_iter().collect::<CpuSet>();
    let both = [turn(0, 0, true), turn(0, 1, true)];
    let one = [fork(0, 0), wakeup(0, 0, 0)];
    assert_eq!(wanted(&plain(2), &one, &both, 10), 10);
    let bound = workload(2, vec![role("bound", cpu(0))], 0);
    assert_eq!(wanted(&bound, &one, &both[1..], 10), 0);
    assert_eq!(wanted(&bound, &one, &both[..1], 10), 10);
    // Two roles in sets that overlap want no more than is held.
    let two = workload(2, vec![role("bound", cpu(0)), role("free", CpuSet::first(2))], 0);
    let kind = EventKind::Fork { task: TaskId(1), role: RoleId(1), parent: None };
    let second = Event { time: Time(0), cpu: CpuId(0), kind };
    let events = [fork(0, 0), second, wakeup(0, 0, 0), wakeup(0, 1, 0)];
    assert_eq!(wanted(&two, &events, &both[..1], 10), 10);
    assert_eq!(wanted(&two, &events, &both, 10), 20);
}

#[test]
fn what_a_hypervisor_takes_hits_all_who_run_alike() {
    assert_eq!([closed(80, 20, 10), closed(80, 0, 10)], [Some(0.28), Some(0.125)]);
    assert_eq!(closed(80, 0, 200), Some(1.0));
    assert_eq!((closed(0, 0, 10), bound(1.0), bound(0.0)), (None, f64::INFINITY, 1.0));
}

/// A server that is busy for 80 of 100 answers in 1 / 20 of a time unit; with 10 less, in 1 / 10.
#[test]
fn in_an_open_system_what_others_take_leaves_a_queue_behind() {
    let open = |got_ns, wanted_ns, all| {
        Shares { got_ns, held_ns: wanted_ns, wanted_ns, stolen_ns: 0, open_ns: Some(all) }.part_taken()
    };
    assert_eq!((open(80, 10, 100), bound(0.5)), (Some(0.5), 2.0));
    // Nothing is left, or nothing was taken.
    assert_eq!([open(80, 20, 100), open(100, 0, 100)], [Some(1.0), Some(0.0)]);
    // With much to spare a request is delayed by what was taken from it alone.
    assert_eq!(open(10, 10, 1000), Some(0.5));
}
