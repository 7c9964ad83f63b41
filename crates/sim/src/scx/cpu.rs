//! A CPU: the task that runs there, and where its time went.

use super::realtime::{Limit, Rules};

/// No task.
pub const NONE: u32 = u32::MAX;

/// A CPU and its run queue.
pub struct Cpu {
    /// The slot of the task that runs, [`NONE`] when idle.
    pub current: u32,
    /// Where policies see that task, 0 when idle.
    pub current_address: u64,
    /// Up to this instant the CPU's time is accounted for. It lies in the future while the CPU pays for a switch, a
    /// wake-up or the policy's instructions.
    pub accounted_ns: u64,
    /// Time given to tasks.
    pub task_ns: u64,
    /// Time with nothing to run.
    pub idle_ns: u64,
    /// Since when it has nothing to run, if it has not.
    pub idle_since_ns: u64,
    /// Time paid for the system.
    pub overhead_ns: u64,
    /// Whether the scheduler must choose again.
    pub need_resched: bool,
    /// It does not before this instant: a CPU that asked for it does so at the end of its call.
    pub told_ns: u64,
    /// Whether the current task's work or slice may have changed since the CPU's timer was set.
    pub stale_timer: bool,
    /// Whether the current task lost its slice before it was over.
    pub preempted: bool,
    /// Instructions of the policy not yet paid for, in picoseconds.
    pub unpaid_ps: u64,
    /// Timer ticks seen by tasks here.
    pub ticks: u64,
    /// The last CPU that it chose for a task that had to leave it (`distribute_cpu_mask_prev`).
    pub distributed: u32,
    /// Real-time tasks that wait here, best first.
    pub realtime: Vec<u32>,
    /// Whether a real-time task has taken the CPU, idle or not.
    pub taken_by_realtime: bool,
    /// Since when.
    pub taken_since_ns: u64,
    /// Whether the policy has been told that a higher class took the CPU from it (`rq->scx.cpu_released`).
    pub is_released: bool,
    /// Whether the running real-time task goes behind the first waiting one, which has its priority.
    pub makes_room: bool,
    /// What the real-time class may have.
    pub limit: Limit,
    /// Tasks of the policy that run or wait here. Counted where there are real-time tasks.
    pub policy_tasks: u32,
}

impl Cpu {
    /// An idle CPU at time zero.
    pub fn new(rules: Rules) -> Cpu {
        Cpu {
            current: NONE,
            current_address: 0,
            accounted_ns: 0,
            task_ns: 0,
            idle_ns: 0,
            idle_since_ns: 0,
            overhead_ns: 0,
            need_resched: false,
            told_ns: 0,
            distributed: 0,
            stale_timer: false,
            preempted: false,
            unpaid_ps: 0,
            ticks: 0,
            realtime: Vec::new(),
            taken_by_realtime: false,
            taken_since_ns: 0,
            is_released: false,
            makes_room: false,
            limit: Limit::new(rules),
            policy_tasks: 0,
        }
    }

    /// When it can choose if it has to: one that is in the kernel, for a switch or in an interrupt, does it on its way out.
    #[inline]
    pub fn chooses_at_ns(&self) -> u64 {
        self.accounted_ns.max(self.told_ns)
    }
}
