//! Traces of a few events.

use crate::raw::{Raw, Slept};
use crate::spool::Spool;
use crate::tracker::Tracker;
use crate::work::Price;
use schedlab_model::ids::{CpuId, RoleId, TaskId};
use schedlab_model::recorded::{Act, Op};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Reason, WakeSource};

const A: TaskId = TaskId(0);
const B: TaskId = TaskId(1);
const C: TaskId = TaskId(2);

/// A runs on CPU 0 and wakes B, is preempted by C, which sleeps, and sleeps itself; B runs on CPU 1. In µs.
fn story() -> Vec<Event> {
    let switch = |previous, reason, next| EventKind::Switch { previous, reason, next };
    let wakeup = |task, waker, source| EventKind::Wakeup { task, target: CpuId(0), waker, source };
    let asleep = |task| [(0, 0, wakeup(task, None, WakeSource::Fork)), (0, 0, switch(None, Reason::Idle, Some(task)))];
    let fork = |task: TaskId| (0, 0, EventKind::Fork { task, role: RoleId(task.0), parent: None });
    let mut all = vec![fork(A), fork(B), fork(C)];
    // B and C have slept from the beginning.
    for task in [B, C] {
        all.extend(asleep(task));
        all.push((0, 0, switch(Some(task), Reason::Blocked, None)));
    }
    all.extend(asleep(A));
    all.extend([
        (100, 0, wakeup(B, Some(A), WakeSource::Semaphore)),
        (103, 1, switch(None, Reason::Idle, Some(B))),
        (150, 1, switch(Some(B), Reason::Blocked, None)),
        (190, 0, wakeup(C, None, WakeSource::Timer)),
        (200, 0, switch(Some(A), Reason::Preempted, Some(C))),
        (260, 0, switch(Some(C), Reason::Blocked, Some(A))),
        (300, 0, switch(Some(A), Reason::Blocked, None)),
        (460, 0, wakeup(C, None, WakeSource::Timer)),
        (460, 0, switch(None, Reason::Idle, Some(C))),
        (460, 0, switch(Some(C), Reason::Blocked, None)),
        (470, 0, wakeup(A, Some(B), WakeSource::Semaphore)),
        (470, 0, switch(None, Reason::Idle, Some(A))),
        (470, 0, switch(Some(A), Reason::Blocked, None)),
    ]);
    let event = |(us, cpu, kind)| Event { time: Time::from_us(us), cpu: CpuId(cpu), kind };
    all.into_iter().map(event).collect()
}

fn tracked(price: Price) -> Tracker {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::create_in(folder.path()).unwrap();
    let names = ["a", "b", "c"].map(String::from).into();
    let mut tracker = Tracker::new(names, 2, false, price, spool);
    story().iter().for_each(|event| tracker.event(event));
    tracker.finish(500_000).unwrap()
}

fn did(tracker: &Tracker, task: TaskId) -> Vec<Raw> {
    let mut all = Vec::new();
    tracker.spool.each(task.0 as usize, |raw| all.push(raw)).unwrap();
    all
}

fn run(us: u64) -> Raw {
    Raw::Act(Act::new(Op::Compute, us * 1000))
}

fn slept(from: u64, to: u64, waker: Option<TaskId>, source: WakeSource) -> Raw {
    Raw::Slept(Slept { from_ns: from * 1000, to_ns: to * 1000, waker, source })
}

#[test]
fn steps_are_work_without_preemption_wakes_at_their_offset_and_sleeps() {
    let tracker = tracked(Price::default());
    let by_task = slept(300, 470, Some(B), WakeSource::Semaphore);
    assert_eq!(did(&tracker, A), [run(100), Raw::Woke(B), run(140), by_task]);
    assert_eq!(did(&tracker, B)[..2], [slept(0, 100, Some(A), WakeSource::Semaphore), run(47)]);
    let timers = [slept(0, 190, None, WakeSource::Timer), run(60), slept(260, 460, None, WakeSource::Timer)];
    assert_eq!(did(&tracker, C), timers);
}

#[test]
fn what_the_machine_takes_is_no_work() {
    let tracker = tracked(Price { switch_ns: 1000, wakeup_ns: 2000, ..Price::default() });
    let work = |task: TaskId| tracker.tasks[&task].work_ns;
    // A had the CPU twice for work, and woke one task; its last time and C's had no work to pay from.
    assert_eq!(work(A), 236_000);
    assert_eq!(work(C), 59_000);
}
