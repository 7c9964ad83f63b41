//! What each system call is answered.

mod files;
mod identity;
mod memory;
mod sockets;
mod time;
mod waits;

pub use waits::answer_of;

use crate::process::Errno;
use crate::supervisor::Supervisor;
use crate::sys::Notification;
use crate::threads::{Answer, On};
use std::os::fd::OwnedFd;

/// What comes of a call.
pub enum Outcome {
    /// It has an answer.
    Answer(Answer),
    /// The program gets a file; whether it is closed when it becomes another program.
    File(OwnedFd, bool),
    /// The thread waits.
    Wait { until: Option<(u64, Answer)>, on: On },
    /// The thread lets others go first.
    Yield,
    /// A thread is made, which clears a word at its end.
    Thread { clears: u64 },
    /// The thread ends.
    EndThread,
    /// No answer: everything stops here.
    Stop,
}

/// A result, or the number of an error.
pub type Result = std::result::Result<Outcome, Errno>;

fn value(value: impl Into<i64>) -> Result {
    Ok(Outcome::Answer(Answer::Value(value.into())))
}

fn go_on() -> Result {
    Ok(Outcome::Answer(Answer::GoOn))
}

fn error<T>(number: i32) -> std::result::Result<T, Errno> {
    Err(Errno(number))
}

/// The outcome of a call of a thread.
pub fn outcome(with: &mut Supervisor, thread: usize, call: &Notification) -> Outcome {
    let args = call.data.args;
    let number = libc::c_long::from(call.data.nr);
    let found = files::answer(with, number, args)
        .or_else(|| waits::answer(with, number, args))
        .or_else(|| time::answer(with, number, args))
        .or_else(|| sockets::answer(with, number, args))
        .or_else(|| memory::answer(with, number, args))
        .or_else(|| identity::answer(with, thread, number, args));
    let result = found.unwrap_or_else(|| {
        with.refuse(format!("system call {number}"));
        error(libc::ENOSYS)
    });
    result.unwrap_or_else(|Errno(number)| Outcome::Answer(Answer::Error(number)))
}
