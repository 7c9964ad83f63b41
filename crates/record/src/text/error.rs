//! What can be wrong with a text.

use std::io;
use std::path::PathBuf;

/// Why a text is of no use, in one line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened or read.
    #[error("{}: the file cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file is no text.
    #[error("{}: {what}", path.display())]
    NoText {
        /// The file.
        path: PathBuf,
        /// What it is, and what to do.
        what: &'static str,
    },
    /// A line is wrong.
    #[error("{}:{number}: {what}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        number: u64,
        /// What is wrong.
        what: String,
    },
    /// Nothing of the scheduler is in it.
    #[error("{}: no scheduler event is in it; record sched:sched_switch and sched:sched_wakeup at least", path.display())]
    NoEvents {
        /// The file.
        path: PathBuf,
    },
}
