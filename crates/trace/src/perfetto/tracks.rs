//! The tracks of a trace: their numbers and descriptors.

use super::messages::{CounterDescriptor, ORDER_EXPLICIT, ProcessDescriptor, ThreadDescriptor, TrackDescriptor};
use schedlab_model::ids::{CpuId, RoleId, TaskId};

/// The thread number of task 0. Roles are processes with numbers below: Perfetto takes a thread whose number is that
/// of a process for the process's first thread.
const FIRST_TID: u32 = 1_000_000;

/// The process of tasks whose role is not known.
const UNKNOWN_PID: i32 = FIRST_TID as i32 - 1;

/// A track of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Track {
    /// The parent of all CPUs.
    Cpus,
    /// Ticks and overhead of a CPU.
    Cpu(CpuId),
    /// A role; none for tasks whose role is not known.
    Role(Option<RoleId>),
    /// What a task does.
    Task(TaskId),
    /// The requests that a task serves.
    Requests(TaskId),
    /// What the policy says about a task.
    Status(TaskId),
}

impl Track {
    /// The number of the track in the file.
    pub(crate) fn uuid(self) -> u64 {
        let (kind, number) = match self {
            Track::Cpus => (1, 0),
            Track::Cpu(cpu) => (2, cpu.0.into()),
            Track::Role(None) => (3, 0),
            Track::Role(Some(role)) => (3, u64::from(role.0) + 1),
            Track::Task(task) => (4, task.0.into()),
            Track::Requests(task) => (5, task.0.into()),
            Track::Status(task) => (6, task.0.into()),
        };
        (kind << 40) | number
    }

    fn below(self, parent: Track, name: &str) -> TrackDescriptor {
        let parent_uuid = Some(parent.uuid());
        TrackDescriptor { uuid: Some(self.uuid()), parent_uuid, name: Some(name.into()), ..Default::default() }
    }
}

/// The parent of the CPUs' tracks.
pub(crate) fn cpus() -> TrackDescriptor {
    let child_ordering = Some(ORDER_EXPLICIT);
    TrackDescriptor { uuid: Some(Track::Cpus.uuid()), name: Some("CPUs".into()), child_ordering, ..Default::default() }
}

/// The track of a CPU.
pub(crate) fn cpu(cpu: CpuId) -> TrackDescriptor {
    let below = Track::Cpu(cpu).below(Track::Cpus, &format!("cpu {cpu}"));
    TrackDescriptor { sibling_order_rank: i32::try_from(cpu.0).ok(), ..below }
}

/// A role as a process.
pub(crate) fn role(role: Option<RoleId>, name: String) -> TrackDescriptor {
    TrackDescriptor {
        uuid: Some(Track::Role(role).uuid()),
        process: Some(ProcessDescriptor { pid: Some(pid(role)), process_name: Some(name) }),
        ..Default::default()
    }
}

/// A task as a thread of its role.
pub(crate) fn task(task: TaskId, role: Option<RoleId>, name: String) -> TrackDescriptor {
    let tid = Some(tid(Some(task)).into());
    TrackDescriptor {
        uuid: Some(Track::Task(task).uuid()),
        parent_uuid: Some(Track::Role(role).uuid()),
        thread: Some(ThreadDescriptor { pid: Some(pid(role)), tid, thread_name: Some(name) }),
        ..Default::default()
    }
}

/// The requests of a task.
pub(crate) fn requests(task: TaskId) -> TrackDescriptor {
    Track::Requests(task).below(Track::Task(task), "requests")
}

/// The status of a task.
pub(crate) fn status(task: TaskId) -> TrackDescriptor {
    let below = Track::Status(task).below(Track::Task(task), "status");
    TrackDescriptor { counter: Some(CounterDescriptor {}), ..below }
}

/// The process number of a role. Perfetto keeps 0 for the idle task.
fn pid(role: Option<RoleId>) -> i32 {
    role.map_or(UNKNOWN_PID, |role| i32::try_from(role.0).map_or(UNKNOWN_PID, |n| n.saturating_add(1).min(UNKNOWN_PID)))
}

/// The thread number of a task; 0 is the idle task. Numbers are positive, so that with more than two thousand million
/// tasks two of them would share one.
pub(crate) fn tid(task: Option<TaskId>) -> i32 {
    task.map_or(0, |task| (task.0.wrapping_add(FIRST_TID) & 0x7fff_ffff) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_and_threads_share_no_number() {
        let pids = [Some(RoleId(0)), Some(RoleId(41)), Some(RoleId(u32::MAX)), None].map(pid);
        assert_eq!(pids, [1, 42, 999_999, 999_999]);
        assert_eq!([None, Some(TaskId(0)), Some(TaskId(5))].map(tid), [0, 1_000_000, 1_000_005]);
        assert!(tid(Some(TaskId(u32::MAX))) >= 0);
    }
}
