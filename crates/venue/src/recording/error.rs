//! What can go wrong with a recording.

use crate::ErrorClass;
use schedlab_import::Place;
use schedlab_kernel::Lack;
use std::io;
use std::path::PathBuf;

/// Why there is no recording, in one line.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// This process may not record, or the kernel cannot.
    #[error(transparent)]
    Lack(Lack),
    /// The command is no program.
    #[error("cannot run `{command}`: {error}; nothing was recorded")]
    Command {
        /// The command as it was given.
        command: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// There is no process for the command.
    #[error("cannot start a process for the command: {0}")]
    Guard(io::Error),
    /// The records found no place.
    #[error("{}: cannot keep the records here until they become a trace: {error}", folder.display())]
    Spool {
        /// The folder of the trace.
        folder: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The recording of another tool.
    #[error(transparent)]
    Import(#[from] schedlab_import::Error),
    /// What the recording says cannot have been.
    #[error("{place}: this cannot have happened: {violation}; events are missing or changed in it, record it again")]
    Impossible {
        /// The recording.
        place: Place,
        /// The first law that is broken.
        violation: String,
    },
    /// The recording and the trace are one file.
    #[error("{}: the trace would replace the recording that it is made of; name another file with -o", .0.display())]
    SameFile(PathBuf),
}

impl RecordError {
    /// Whose fault it is.
    pub fn class(&self) -> ErrorClass {
        match self {
            RecordError::Import(error) if !error.is_of_input() => ErrorClass::Failed,
            RecordError::Lack(_)
            | RecordError::Command { .. }
            | RecordError::Import(_)
            | RecordError::Impossible { .. }
            | RecordError::SameFile(_) => ErrorClass::WrongInput,
            RecordError::Guard(_) | RecordError::Spool { .. } => ErrorClass::Failed,
        }
    }
}
