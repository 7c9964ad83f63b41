//! What is run, what answers it, and what comes of it.

use crate::process::{Errno, Process};
use crate::tree::Files;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// The most CPU time between two calls, in units of 10 ms. Time that it waits does not count.
pub(crate) const CPU_UNITS: u64 = 6_000;

/// A program to be run.
#[derive(Clone, Debug)]
pub struct Command {
    /// The program, by its whole path, and its arguments.
    pub words: Vec<OsString>,
    /// Where it believes that it is.
    pub folder: PathBuf,
    /// Real files that it may read next to its own: its libraries, what its arguments name.
    pub reads: Vec<PathBuf>,
    /// What its machine has.
    pub files: Files,
    /// CPUs of its machine.
    pub cpus: u32,
    /// The release of its kernel.
    pub release: String,
    /// Seed of its random numbers.
    pub seed: u64,
    /// The most calls that it may make without getting to where it is to be: one that goes round for ever is ended.
    pub most_calls: u64,
}

/// The thread that made the call.
#[derive(Debug)]
pub struct Caller<'a> {
    /// The process.
    pub process: &'a Process,
    /// The CPU on which the thread runs: the first that it may.
    pub cpu: u32,
    /// Time since the machine started.
    pub now_ns: u64,
}

/// What a machine answers.
#[derive(Debug)]
pub enum Reply {
    /// A result.
    Value(i64),
    /// An error.
    Error(Errno),
    /// A descriptor of an object of this number, which is this file; an empty one where there is none.
    Object(u32, Option<OwnedFd>),
    /// Nothing yet: the program is where it was to be.
    Stop,
}

/// The machine behind a program.
pub trait System {
    /// Answers bpf(2): the command, and where its attributes are and how many bytes.
    fn bpf(&mut self, caller: &Caller<'_>, command: u32, attributes: u64, size: u32) -> Reply;

    /// Whether everything is to stop.
    fn is_to_stop(&mut self) -> bool {
        false
    }
}

/// Where a program is when nothing of it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stand {
    /// The machine has not answered.
    Stopped,
    /// All threads wait, until then or for good.
    Waits(Option<u64>),
    /// It has ended: how.
    Ended(String),
}

/// Why a program cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum LoaderError {
    /// The host refuses.
    #[error(
        "cannot supervise a program here: {0}; it takes Linux 5.14 with seccomp user notifications, and the right to read \
         and write the memory of one's own children (kernel.yama.ptrace_scope below 2, proc_mem.force_override not never)"
    )]
    Host(io::Error),
    /// It makes calls without end.
    #[error("it made {0} system calls and was not ready{1}")]
    Endless(u64, String),
    /// It has used its time up.
    #[error("it computed for {} s of CPU time without a system call{tail}", CPU_UNITS / 100, tail = .0)]
    Computes(String),
    /// All its threads wait for what never comes.
    #[error("all its threads wait for something that never comes{0}")]
    Stuck(String),
    /// It ended.
    #[error("it ended with {0} and was not ready{1}")]
    Ended(String, String),
    /// A stop was requested.
    #[error("stopped")]
    Stopped,
}

impl From<io::Error> for LoaderError {
    fn from(error: io::Error) -> LoaderError {
        LoaderError::Host(error)
    }
}
