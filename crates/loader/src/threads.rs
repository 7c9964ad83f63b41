//! The threads of a supervised program. At most one of them runs; the others have asked for something.

use crate::sys::Notification;
use libc::pid_t;
use std::os::fd::OwnedFd;

/// A thread.
pub struct Thread {
    /// The host's number.
    pub tid: pid_t,
    /// The number by which it knows itself, less that of the process.
    pub number: u32,
    /// The word that the kernel clears when it ends, and whose waiters it wakes.
    pub clears: u64,
    /// The CPUs on which it may run, as words of bits; none: all.
    pub cpus: Option<Vec<u8>>,
    pub state: State,
}

/// What a thread does.
pub enum State {
    /// It computes.
    Running,
    /// It asks for something.
    Asks(Notification),
    /// It waits for an answer.
    Waits(u64, Wait),
    /// It has an answer that it was not given yet.
    Answered(u64, Answer),
}

/// An answer to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A result.
    Value(i64),
    /// An error number.
    Error(i32),
    /// The host's kernel is to do it.
    GoOn,
}

/// What a thread waits for.
pub struct Wait {
    /// In which order threads began to wait.
    pub turn: u64,
    /// When it has waited enough, and what it is answered then.
    pub until: Option<(u64, Answer)>,
    pub on: On,
}

/// What ends a wait before its time.
pub enum On {
    Nothing,
    /// A wake-up of a word in memory, by one of these bits.
    Word {
        address: u64,
        bits: u32,
    },
    /// One of these files being ready.
    Files(Vec<Polled>),
}

/// A file that a call waits for.
pub struct Polled {
    pub file: OwnedFd,
    /// For what, as poll(2) says it.
    pub events: i16,
    /// Where the program wants to read what is ready; none where the kernel does the rest of the call.
    pub answer_at: Option<u64>,
}
