use super::*;
use crate::{
    Selection, Who,
    test_helpers::{fork, migrate, overhead, roles, says, switch, wakeup},
};
use Reason::*;

/// Task 3 wakes up at 30 while 0 runs and 1 waits; 2 comes and overtakes it; 1 is moved away.
fn events() -> Vec<Event> {
    vec![
        fork(0, 0, 0),
        fork(0, 1, 0),
        fork(0, 2, 0),
        fork(0, 3, 1),
        wakeup(0, 0, 0),
        says(0, 0, 5),
        switch(0, 0, None, Idle, Some(0)),
        wakeup(10, 1, 0),
        wakeup(30, 3, 0),
        wakeup(40, 2, 0),
        overhead(50, 0, 1),
        switch(50, 0, Some(0), SliceEnd, Some(2)),
        migrate(55, 1, 0, 1),
        switch(55, 1, None, Idle, Some(1)),
        switch(60, 0, Some(2), Blocked, Some(0)),
        switch(75, 0, Some(0), Blocked, None),
        switch(78, 0, None, Idle, Some(3)),
        switch(80, 0, Some(3), Blocked, None),
        wakeup(90, 3, 0),
    ]
}

fn chosen(selection: Selection, at: Option<u64>) -> Option<Wait> {
    let mut choice = Choice::new(Roster::new(roles(), selection), at.map(Time));
    choice.events(&events());
    choice.finish(Time(100));
    choice.chosen().copied()
}

fn queue(limit: usize) -> Queue {
    let wait = chosen(Selection::ALL, None).unwrap();
    let mut queue = Queue::new(Roster::new(roles(), Selection::ALL), wait, 2, limit);
    queue.events(&events());
    queue.finish(Time(100));
    queue
}

#[test]
fn the_longest_wait_is_chosen_or_the_first_from_an_instant_on() {
    let told = |wait: Option<Wait>| wait.map(|wait| (wait.number, wait.task.task.0, wait.length().ns()));
    assert_eq!(told(chosen(Selection::ALL, None)), Some((8, 3, 48)));
    assert_eq!(told(chosen(Selection::ALL, Some(10))), Some((7, 1, 45)));
    assert_eq!(told(chosen(Selection::ALL, Some(81))), Some((18, 3, 10)));
    assert_eq!(told(chosen(Selection::ALL, Some(91))), None);
    let first = Selection { who: Who::Task("worker/0".parse().unwrap()), ..Selection::ALL };
    assert_eq!(told(chosen(first, None)), Some((4, 0, 0)));
}

#[test]
fn the_others_are_told_with_what_they_ran() {
    let queue = queue(10);
    let rivals: Vec<_> =
        queue.rivals().iter().map(|r| (r.task.task.0, r.came, r.since.ns(), r.status, r.runs, r.ran.ns())).collect();
    let expected =
        [(0, Came::Running, 0, Some(5), 2, 35), (1, Came::Waiting, 10, None, 0, 0), (2, Came::Later, 40, None, 1, 10)];
    assert_eq!(rivals, expected);
    assert_eq!(queue.elsewhere(), Elsewhere { running: 0, waiting: 0, idle: 1, untraced: 0 });
    assert_eq!((queue.without_task(Untraced::Idle).ns(), queue.overhead().ns(), queue.ran_more().ns()), (3, 1, 0));
}

#[test]
fn steps_lead_to_the_run() {
    let queue = queue(10);
    let who = |label: &Label| label.task.0;
    let steps: Vec<_> = queue
        .steps()
        .iter()
        .map(|step| match &step.what {
            What::Ran { task, length, reason } => {
                format!("{} {} ran {} {reason:?}", step.time.ns(), who(task), length.ns())
            }
            What::Untraced { what, length } => format!("{} {what:?} for {}", step.time.ns(), length.ns()),
            What::Woke { task } => format!("{} {} woke", step.time.ns(), who(task)),
            What::Left { task, to } => format!("{} {} left to {to}", step.time.ns(), who(task)),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [
        "30 0 ran 20 Some(SliceEnd)",
        "40 2 woke",
        "50 2 ran 10 Some(Blocked)",
        "55 1 left to 1",
        "60 0 ran 15 Some(Blocked)",
        "75 Idle for 3",
    ];
    assert_eq!(steps, expected);
}

#[test]
fn a_limit_keeps_the_sums() {
    let queue = queue(2);
    assert_eq!((queue.rivals().len(), queue.steps().len(), queue.more_steps()), (2, 2, 4));
    assert_eq!((queue.more_rivals(), self::queue(1).more_rivals()), (0, 1));
    let ran: u64 = queue.rivals().iter().map(|rival| rival.ran.ns()).sum();
    assert_eq!(ran + queue.ran_more().ns() + queue.without_task(Untraced::Idle).ns(), queue.wait().length().ns());
}

#[test]
fn the_run_queue_follows_the_task_when_it_is_moved() {
    let mut events = events();
    events.splice(14.., [migrate(58, 3, 0, 1), switch(70, 1, Some(1), SliceEnd, Some(3))]);
    let wait = Wait { end: WaitEnd::Ran { at: Time(70), cpu: CpuId(1) }, ..chosen(Selection::ALL, None).unwrap() };
    let mut queue = Queue::new(Roster::new(roles(), Selection::ALL), wait, 2, 10);
    queue.events(&events);
    queue.finish(Time(100));
    let last: Vec<_> = queue.steps().iter().skip(2).map(|s| (s.time.ns(), s.cpu.0, s.what)).collect();
    let ran = |task: u32, length, reason| What::Ran { task: queue.label_of(TaskId(task)), length, reason };
    let expected = [
        (50, 0, ran(2, Time(8), None)),
        (55, 0, What::Left { task: queue.label_of(TaskId(1)), to: CpuId(1) }),
        (58, 0, What::Moved { to: CpuId(1) }),
        (58, 1, ran(1, Time(12), Some(SliceEnd))),
    ];
    assert_eq!(last, expected);
}

#[test]
fn a_cpu_without_a_task_of_the_trace_is_not_always_idle() {
    let turns_to = |at: u64, what| Event { time: Time(at), cpu: CpuId(0), kind: EventKind::Untraced { what } };
    let mut events = events();
    let free = events.iter().position(|event| event.time == Time(75)).unwrap() + 1;
    events.splice(free..free, [turns_to(75, Untraced::Others), turns_to(77, Untraced::Unknown)]);
    let mut queue = Queue::new(Roster::new(roles(), Selection::ALL), chosen(Selection::ALL, None).unwrap(), 2, 10);
    queue.events(&events);
    queue.finish(Time(100));
    let time = [Untraced::Idle, Untraced::Others, Untraced::Unknown].map(|what| queue.without_task(what).ns());
    assert_eq!(time, [0, 2, 1]);
}
