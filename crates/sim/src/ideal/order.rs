//! In which order tasks are served by a discipline that gives whole CPUs.

use schedlab_model::workload::{Class, Role};

/// What the order goes by; the lesser is served first, equal ones in order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Nothing but the order of arrival.
    Arrival,
    /// The work that the current `compute` asked for.
    Size,
    /// The work that is left of it.
    Remaining,
    /// The nice value.
    Priority,
}

/// An order, and whether it is kept at all times or only when a CPU becomes free.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    /// What it goes by.
    pub key: Key,
    /// Whether a better task takes the CPU from a worse one.
    pub preemptive: bool,
}

impl Order {
    /// Whether it has to know how much work a task will do.
    pub fn foresees(self) -> bool {
        matches!(self.key, Key::Size | Key::Remaining)
    }

    /// The rank of a task that waits.
    pub fn rank(self, role: &Role, size_ns: u64, remaining_ns: u64) -> u64 {
        match self.key {
            Key::Arrival => 0,
            Key::Size => size_ns,
            Key::Remaining => remaining_ns,
            Key::Priority => priority(role),
        }
    }

    /// The rank of a waiting task as if it began to run now. Of running tasks all that remains shrinks alike, so they
    /// are distinguished by the instant at which they would be done.
    pub fn running_rank(self, rank: u64, now_ns: u64) -> u64 {
        if self.key == Key::Remaining { rank.saturating_add(now_ns) } else { rank }
    }
}

/// The kernel's order: nice -20 to 19, then `SCHED_IDLE`.
fn priority(role: &Role) -> u64 {
    match role.class {
        Class::Idle => 40,
        _ => (i64::from(role.nice) + 20) as u64,
    }
}
