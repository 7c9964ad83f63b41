//! What the kernel's scheduler did, as it told it.

use schedlab_boundary::Shown;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One thing that the scheduler did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// When, in nanoseconds of `CLOCK_MONOTONIC`.
    pub time_ns: u64,
    /// On which CPU; for a wakeup the waker's, which the target need not be.
    pub cpu: u32,
    /// What.
    pub kind: RecordKind,
}

/// A thread at the time of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Its number; 0 is the idle task of every CPU.
    pub tid: i32,
    /// Its process.
    pub tgid: i32,
    /// The kernel's priority: 0 to 99 are real-time, lower is better; 120 is nice 0.
    pub priority: i16,
    /// Whether it is of interest to the recorder's filter. The idle task never is.
    pub followed: bool,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RecordKind {
    /// A CPU went from one thread to another. At least one is of interest, unless the recorder was also asked for the turns
    /// of others.
    Switch {
        /// The thread that left.
        previous: Thread,
        /// How.
        how: Departure,
        /// The thread that came.
        next: Thread,
    },
    /// A thread was put on a run queue. The kernel also says so of a thread that is on one or runs, when it is woken
    /// before it has gone to sleep.
    Wakeup {
        /// The thread.
        thread: Thread,
        /// The CPU of the run queue.
        target: u32,
        /// What woke it.
        waker: Waker,
        /// Whether it is for the first time.
        new: bool,
    },
    /// A thread that does not run was moved to another CPU.
    Migrate {
        /// The thread.
        thread: Thread,
        /// From this CPU.
        from: u32,
        /// To this.
        to: u32,
    },
    /// A thread came to be.
    Fork {
        /// The thread that made it.
        parent: i32,
        /// The new one; a thread of the same process or the first of another.
        child: Thread,
        /// Its name.
        comm: Comm,
    },
    /// A process runs another program.
    Exec {
        /// The thread that called for it, now the only one.
        thread: Thread,
        /// Its number before: the process's number is its number now.
        former: i32,
        /// Its name.
        comm: Comm,
    },
    /// A thread began to end. It runs on until the switch that ends it.
    Exit {
        /// The thread.
        thread: Thread,
    },
    /// A thread got another name.
    Rename {
        /// The thread.
        thread: Thread,
        /// The name.
        comm: Comm,
    },
    /// From now on this thread had this CPU, for so long at least, as the kernel's own account says.
    Ran {
        /// The thread.
        thread: Thread,
        /// How long.
        runtime_ns: u64,
    },
    /// The thread on the CPU, asked when the recorder begins to follow.
    Running {
        /// The thread, of interest or not.
        thread: Thread,
        /// Whether the answer came from an interrupt on top of the thread, as it does from another CPU.
        in_interrupt: bool,
    },
    /// A thread was there when the recorder began to follow it.
    Present {
        /// The thread.
        thread: Thread,
        /// Its name.
        comm: Comm,
        /// Whether it ran or waited for a CPU.
        runnable: bool,
        /// The CPU where it ran last.
        cpu: u32,
    },
    /// A policy is in charge that publishes words about its tasks; told before anything else.
    Publishing,
    /// What it published about a thread is this from now on, or already was for a while.
    Status {
        /// The thread.
        thread: Thread,
        /// The word.
        word: u64,
    },
    /// Records of this CPU are missing before this one.
    Lost,
    /// The scheduler's soft interrupt, which balances load, begins.
    SoftirqEntry,
    /// It ends.
    SoftirqExit,
    /// The timer's tick.
    Tick,
}

/// How a thread left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Departure {
    /// Runnable: another was preferred, or its slice was over; the kernel does not tell which.
    Preempted,
    /// Runnable, inside of `sched_yield`.
    Yielded,
    /// It sleeps or waits.
    Blocked,
    /// For good.
    Exited,
}

/// What woke a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Waker {
    /// The thread with this number.
    Task(i32),
    /// An interrupt.
    Interrupt,
    /// Not known: the kernel does not let it be seen, or two wakeups met (see `waking` in crates/kernel/bpf/recorder.bpf.c).
    Unknown,
}

/// A thread's name: at most 15 bytes, ended by zero.
#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comm(pub [u8; 16]);

impl Comm {
    /// Of a text, cut to what the kernel keeps.
    pub fn new(text: &[u8]) -> Comm {
        let mut comm = [0; 16];
        let length = text.len().min(15);
        comm[..length].copy_from_slice(&text[..length]);
        Comm(comm)
    }
}

impl fmt::Display for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = self.0.iter().position(|&byte| byte == 0).unwrap_or(self.0.len());
        Shown::name(&String::from_utf8_lossy(&self.0[..length])).fmt(f)
    }
}

impl fmt::Debug for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cut_as_the_kernel_does() {
        assert_eq!(Comm::new(b"sixteen-letters-and-more").to_string(), "sixteen-letters");
        assert_eq!(Comm::new(b"cat").to_string(), "cat");
        assert_eq!(Comm([b'x'; 16]).to_string(), "x".repeat(16));
    }
}
