//! A small trace for the tests of the pages.

use schedlab_model::ids::{CpuId, RoleId, TaskId};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Reason, WakeSource};
use schedlab_views::{Roster, Selection};

/// The tasks in it.
pub fn roster(selection: Selection) -> Roster {
    Roster::new(["worker".into(), "timer".into()], selection)
}

/// Two workers and a timer on one of two CPUs; 100 ms.
pub fn story() -> Vec<Event> {
    let (worker, timer) = (RoleId(0), RoleId(1));
    let fork = |task, role| EventKind::Fork { task: TaskId(task), role, parent: None };
    let wakeup = |task, waker: Option<u32>, source| EventKind::Wakeup {
        task: TaskId(task),
        target: CpuId(0),
        waker: waker.map(TaskId),
        source,
    };
    let switch = |previous: Option<u32>, reason, next: Option<u32>| EventKind::Switch {
        previous: previous.map(TaskId),
        reason,
        next: next.map(TaskId),
    };
    let status = |task, word| EventKind::Status { task: TaskId(task), word };
    let lines = [
        (0, fork(0, worker)),
        (0, status(0, 1)),
        (0, wakeup(0, None, WakeSource::Fork)),
        (0, switch(None, Reason::Idle, Some(0))),
        (0, fork(1, worker)),
        (0, wakeup(1, Some(0), WakeSource::Fork)),
        (10_000, fork(2, timer)),
        (10_000, wakeup(2, None, WakeSource::Timer)),
        (20_000, status(0, 2)),
        (20_000, switch(Some(0), Reason::SliceEnd, Some(1))),
        (40_000, switch(Some(1), Reason::SliceEnd, Some(2))),
        (45_000, switch(Some(2), Reason::Blocked, Some(0))),
        (60_000, wakeup(2, None, WakeSource::Timer)),
        (60_250, switch(Some(0), Reason::Preempted, Some(2))),
        (62_000, EventKind::Exit { task: TaskId(2) }),
        (62_000, switch(Some(2), Reason::Exited, Some(1))),
        (80_000, switch(Some(1), Reason::Blocked, None)),
        (90_000, wakeup(1, None, WakeSource::Semaphore)),
    ];
    lines.map(|(us, kind)| Event { time: Time::from_us(us), cpu: CpuId(0), kind }).into()
}
