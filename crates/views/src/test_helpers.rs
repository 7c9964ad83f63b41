//! Events for the tests. Times in ns.

use schedlab_model::{
    ids::{CpuId, RoleId, TaskId},
    time::Time,
    trace::{Event, EventKind, Overhead, Reason, WakeSource},
};

/// The roles of the tests' traces.
pub fn roles() -> [String; 2] {
    ["worker".into(), "timer".into()]
}

fn event(time: u64, cpu: u32, kind: EventKind) -> Event {
    Event { time: Time(time), cpu: CpuId(cpu), kind }
}

pub fn fork(time: u64, task: u32, role: u32) -> Event {
    event(time, 0, EventKind::Fork { task: TaskId(task), role: RoleId(role), parent: None })
}

pub fn exit(time: u64, cpu: u32, task: u32) -> Event {
    event(time, cpu, EventKind::Exit { task: TaskId(task) })
}

pub fn wakeup(time: u64, task: u32, target: u32) -> Event {
    let (task, target) = (TaskId(task), CpuId(target));
    event(time, target.0, EventKind::Wakeup { task, target, waker: None, source: WakeSource::Timer })
}

pub fn switch(time: u64, cpu: u32, previous: Option<u32>, reason: Reason, next: Option<u32>) -> Event {
    let (previous, next) = (previous.map(TaskId), next.map(TaskId));
    event(time, cpu, EventKind::Switch { previous, reason, next })
}

pub fn says(time: u64, task: u32, word: u64) -> Event {
    event(time, 0, EventKind::Status { task: TaskId(task), word })
}

pub fn migrate(time: u64, task: u32, from: u32, to: u32) -> Event {
    event(time, to, EventKind::Migrate { task: TaskId(task), from: CpuId(from), to: CpuId(to) })
}

pub fn overhead(time: u64, cpu: u32, length: u64) -> Event {
    event(time, cpu, EventKind::Overhead { what: Overhead::Switch, length: Time(length) })
}
