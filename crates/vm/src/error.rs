//! Why a guest gave no result.

use schedlab_guest::frame::FrameError;
use std::time::Duration;

/// That many lines of a guest's console are shown.
pub const CONSOLE_LINES: usize = 8;

/// Why a guest gave no result.
#[derive(Debug, thiserror::Error)]
pub enum VmError {
    /// The machine lacks something that can be installed or given.
    #[error("{0}")]
    Lack(String),
    /// This machine's system refused something.
    #[error("cannot {what}: {error}")]
    System {
        /// What was tried.
        what: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// The guest says that the run could not happen.
    #[error("in the guest: {0}")]
    Refused(String),
    /// The guest's kernel did not take the policy, or threw it out.
    #[error("{why}")]
    Policy {
        /// What the kernel said.
        why: String,
        /// Whether it was in charge before that.
        was_in_charge: bool,
    },
    /// The guest's kernel gave up.
    #[error("the guest's kernel panicked: {reason}{console}")]
    Panicked {
        /// What it said.
        reason: String,
        /// The last lines of its console.
        console: String,
    },
    /// The guest switched itself off, or the emulator ended, before the result was whole.
    #[error("the guest ended {stage}, before its result was whole{console}")]
    EndedEarly {
        /// How far it was.
        stage: &'static str,
        /// The last lines of its console.
        console: String,
    },
    /// It took too long.
    #[error("the guest was {stage} when its {limit:?} of wall time were over, and was stopped{console}")]
    TooLong {
        /// How far it was.
        stage: &'static str,
        /// The limit.
        limit: Duration,
        /// The last lines of its console.
        console: String,
    },
    /// Nothing was heard of it.
    #[error("the guest was {stage} and said nothing for {limit:?} of wall time, and was stopped{console}")]
    Silent {
        /// How far it was.
        stage: &'static str,
        /// How long.
        limit: Duration,
        /// The last lines of its console.
        console: String,
    },
    /// Something was written without an end.
    #[error("{what} went on beyond {most_mib} MiB, and the guest was stopped{console}")]
    TooMuch {
        /// What was written.
        what: &'static str,
        /// The limit in MiB.
        most_mib: u64,
        /// The last lines of its console.
        console: String,
    },
    /// What came from the port cannot be trusted.
    #[error("{error}; the run cannot be trusted{console}")]
    Frame {
        /// What is wrong.
        error: FrameError,
        /// The last lines of its console.
        console: String,
    },
    /// The emulator failed.
    #[error("{engine} ended with {status}: {message}")]
    Engine {
        /// Which.
        engine: &'static str,
        /// How it ended.
        status: String,
        /// What it said.
        message: String,
    },
    /// The caller did not want it to continue.
    #[error("stopped")]
    Stopped,
}

/// The longest part of a console's line that is shown, in characters.
const LINE_MAX: usize = 200;

/// The last lines of a console, each behind a mark, on lines of their own; after a fault of the kernel those from where it
/// says the cause on.
pub fn tail(console: &[u8]) -> String {
    let text = String::from_utf8_lossy(console);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let is_cause = |line: &&str| ["] Oops:", "] BUG:", "] kernel BUG at"].iter().any(|mark| line.contains(mark));
    let last = lines.len().saturating_sub(CONSOLE_LINES);
    let first = lines.iter().position(is_cause).unwrap_or(last).min(last);
    let shown = |line: &&str| format!("\n  console: {}", line.chars().take(LINE_MAX).collect::<String>());
    lines[first..].iter().take(CONSOLE_LINES).map(shown).collect()
}

/// An error of the system's, with what was tried.
pub(crate) fn system<'a>(what: &'a str) -> impl Fn(std::io::Error) -> VmError + 'a {
    move |error| VmError::System { what: what.into(), error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_of_a_fault_is_shown_and_else_the_end() {
        let quiet: String = (0..20).map(|number| format!("[ 1.0] line {number}\n")).collect();
        assert!(tail(quiet.as_bytes()).starts_with("\n  console: [ 1.0] line 12\n"));
        let fault = format!("[ 0.9] before\n[ 1.0] Oops: double fault: 0000\n[ 1.0] RIP: 0010:allocate\n{quiet}");
        let shown = tail(fault.as_bytes());
        assert!(
            shown.starts_with("\n  console: [ 1.0] Oops: double fault: 0000\n") && shown.contains("RIP"),
            "{shown}"
        );
        assert_eq!(shown.lines().count(), 1 + CONSOLE_LINES);
    }
}
