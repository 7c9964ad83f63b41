//! Work, not time: what the machine takes for itself is no part of what a task asks for.

/// What the machine takes of a task's time where no event tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Price {
    /// A switch, half of it before the task runs and half of it after.
    pub switch_ns: u64,
    /// Waking a task, paid by the task that wakes.
    pub wakeup_ns: u64,
    /// The way into a sleep, or to a message from outside.
    pub sleep_ns: u64,
    /// The way into a request to a device.
    pub io_ns: u64,
}
