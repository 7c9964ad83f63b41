//! What can be wrong with a recording.

use crate::input::Place;
use std::io;
use std::path::PathBuf;

/// Why a recording is of no use, in one line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be opened or read.
    #[error("{place}: the file cannot be read: {source}")]
    Read {
        /// The file.
        place: Place,
        /// What the system says.
        source: io::Error,
    },
    /// The file is something else.
    #[error("{place}: {what}")]
    Foreign {
        /// The file.
        place: Place,
        /// What it is, and what to do.
        what: String,
    },
    /// A line of a text is wrong.
    #[error("{place}:{number}: {what}")]
    Line {
        /// The file.
        place: Place,
        /// The line's number, from 1.
        number: u64,
        /// What is wrong.
        what: String,
    },
    /// A binary file does not hold together.
    #[error("{place}: the recording is damaged: {what}")]
    Damaged {
        /// The file.
        place: Place,
        /// What is wrong, and where.
        what: String,
    },
    /// Nothing of the scheduler is in it.
    #[error("{place}: no scheduler event is in it; record sched:sched_switch and sched:sched_wakeup at least")]
    NoEvents {
        /// The file.
        place: Place,
    },
    /// What was read finds no place.
    #[error("{}: cannot keep the events here until they are in order: {source}", folder.display())]
    Scratch {
        /// The folder of the trace.
        folder: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl Error {
    /// Whether the input is at fault, and not this machine.
    pub fn is_of_input(&self) -> bool {
        !matches!(self, Error::Scratch { .. })
    }
}

/// Why a reader gave up, before it is known of which file.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The file cannot be read.
    Read(io::Error),
    /// It is damaged, or lacks something.
    Damaged(String),
    /// It is well, and of no use.
    Foreign(String),
    /// The disk for the events is full.
    Scratch(io::Error),
    /// A line is wrong.
    Line(u64, String),
}

impl Trouble {
    pub(crate) fn damaged(what: impl Into<String>) -> Trouble {
        Trouble::Damaged(what.into())
    }
}
