//! What the sched_ext core knows of a task in addition to what a policy sees of it.

use super::cpu::NONE;
use super::layout::GuestTask;
use schedlab_model::{
    ids::{ControlGroupId, TaskId},
    workload::Class,
};

/// Where a task is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Waits for something, or has not begun.
    Sleeping,
    /// Wants a CPU.
    Runnable,
    /// Has one.
    Running,
}

/// The holder of a runnable task: the kernel's `ops_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Custody {
    /// The kernel: the task runs or is in a dispatch queue.
    Kernel,
    /// `ops.enqueue` is at work.
    Queueing,
    /// The policy: it has taken the task without putting it anywhere.
    Policy,
}

/// A direct dispatch that `ops.select_cpu` or `ops.enqueue` asked for and that is not carried out yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Direct {
    /// The queue's identity.
    pub queue: u64,
    /// `SCX_ENQ_*`.
    pub flags: u64,
}

/// Where a task lies in guest memory, as the host reaches it.
pub struct GuestPlace(*mut GuestTask);

impl GuestPlace {
    /// That place.
    ///
    /// # Safety
    /// It is a task in guest memory, which lives longer than this, and no other references to it are made meanwhile.
    pub unsafe fn new(place: *mut GuestTask) -> GuestPlace {
        GuestPlace(place)
    }
}

/// One task as the core sees it.
pub struct Entity {
    /// Its number in the trace.
    pub id: TaskId,
    /// Its `task_struct`, as the host reaches it.
    pub guest: GuestPlace,
    /// Its `task_struct`, as policies point to it.
    pub address: u64,
    /// The CPU whose run queue it belongs to, or ran last.
    pub cpu: u32,
    /// Sleeping, runnable or running.
    pub state: State,
    /// Its holder while it is runnable.
    pub custody: Custody,
    /// Whether it is in a local queue to run at once or go back to the policy (`SCX_TASK_IMMED`).
    pub is_immediate: bool,
    /// Whether the policy has heard that it has the task, and not yet that it has it no longer (`SCX_TASK_IN_CUSTODY`). Kept
    /// for policies with `ops.dequeue`.
    pub in_custody: bool,
    /// Counts enqueues, so that a dispatch that comes too late is recognised.
    pub enqueues: u64,
    /// A direct dispatch to be carried out.
    pub direct: Option<Direct>,
    /// Index of its CPU mask.
    pub allowed: u32,
    /// CPUs in the mask.
    pub allowed_count: u32,
    /// Its control group.
    pub control_group: ControlGroupId,
    /// Scheduling class for now; real-time tasks do not meet the policy.
    pub class: Class,
    /// Whether the policy has heard of it.
    pub is_shown: bool,
    /// Whether it came to its CPU since it ran last, and so finds a cold cache.
    pub moved: bool,
    /// Whether it ran before.
    pub has_run: bool,
    /// The status word that was last recorded.
    pub status: u64,
    /// Whether the policy holds it back for a limit.
    pub held: bool,
    /// Since when it has waited for a CPU; neighbours in the list of waiting tasks, oldest first.
    pub waiting_since_ns: u64,
    /// The task that has waited next longer.
    pub older: u32,
    /// The task that has waited next shorter.
    pub younger: u32,
    /// Rest of a real-time round-robin slice.
    pub realtime_slice_ns: u64,
    /// When it began to wait, as a real-time task: how many did so before it.
    pub queued: u64,
    /// How many of its children are alive.
    pub children: u32,
}

impl Entity {
    /// A task that sleeps, without a number, a CPU or a class of its own.
    pub fn new(guest: GuestPlace, address: u64) -> Entity {
        Entity {
            id: TaskId(0),
            guest,
            address,
            cpu: 0,
            state: State::Sleeping,
            custody: Custody::Kernel,
            is_immediate: false,
            in_custody: false,
            enqueues: 0,
            direct: None,
            allowed: 0,
            control_group: ControlGroupId::ROOT,
            held: false,
            allowed_count: 0,
            class: Class::Other,
            is_shown: false,
            moved: false,
            has_run: false,
            status: 0,
            waiting_since_ns: u64::MAX,
            older: NONE,
            younger: NONE,
            realtime_slice_ns: 0,
            queued: 0,
            children: 0,
        }
    }

    /// Whether the kernel's real-time class schedules it.
    #[inline]
    pub fn is_realtime(&self) -> bool {
        self.class.is_realtime()
    }

    /// What policies see of the task.
    #[inline]
    pub fn task(&self) -> &GuestTask {
        // SAFETY: the promise of `GuestPlace::new`; every content of the memory is a task, as all its fields are plain numbers;
        // programs and host code take turns, and no reference is kept over a call into a program.
        unsafe { &*self.guest.0 }
    }

    /// The same, to change it.
    #[inline]
    pub fn task_mut(&mut self) -> &mut GuestTask {
        // SAFETY: as in `task`.
        unsafe { &mut *self.guest.0 }
    }
}
