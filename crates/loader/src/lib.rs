//! Runs an unmodified program on a machine that is not there: every system call that could see time, the machine or a
//! kernel's BPF is answered here, and the program's threads take turns in an order that is always the same.
//!
//! The means are seccomp's user notifications, which need no rights and Linux 5.14. The crate knows processes and files;
//! what [`System`] answers, bpf(2) above all, and what the files say is its caller's.

mod allowance;
mod calls;
mod child;
mod clock;
mod filter;
mod interface;
mod machine;
mod process;
mod supervisor;
mod sys;
mod threads;
mod tree;
mod vdso;

pub use interface::{Caller, Command, LoaderError, Reply, Stand, System};
pub use machine::add_machine;
pub use process::{Errno, Process, object_file};
pub use supervisor::Supervisor;
pub use tree::Files;
