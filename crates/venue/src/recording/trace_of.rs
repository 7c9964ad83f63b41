//! The trace of a recording, of whatever tool.

use super::{RecordError, RoleBy};
use crate::VenueError;
use schedlab_boundary::own::Folder;
use schedlab_import::Place;
use schedlab_trace::{Error, Reader};
use std::path::{Path, PathBuf};

/// A trace, which may have to be made first of what another tool recorded.
#[derive(Debug)]
pub enum TraceOf {
    /// One of ours.
    Own(PathBuf),
    /// One that was made, and goes with this.
    Made(tempfile::NamedTempFile),
}

impl TraceOf {
    /// The trace of a recording.
    ///
    /// # Errors
    ///
    /// It is none that can be read.
    pub fn recording(recording: &Path) -> Result<TraceOf, VenueError> {
        match Reader::open(recording) {
            Ok(_) => return Ok(TraceOf::Own(recording.into())),
            Err(Error::Foreign { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let folder = folder_for(recording);
        let made = tempfile::Builder::new().suffix(".parquet").tempfile_in(&folder);
        let made = made.map_err(|error| RecordError::Spool { folder, error })?;
        let recorded = super::import(&Place::of(recording), made.path(), RoleBy::Program)?;
        match recorded.unwritten {
            Some(error) => Err(error),
            None => Ok(TraceOf::Made(made)),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        match self {
            TraceOf::Own(path) => path,
            TraceOf::Made(file) => file.path(),
        }
    }
}

/// Where a trace is made: next to the recording, unless that is a copy of standard input, which has no folder.
fn folder_for(recording: &Path) -> PathBuf {
    match recording.parent() {
        Some(folder) if folder.starts_with("/proc") => Folder::place(),
        Some(folder) if !folder.as_os_str().is_empty() => folder.into(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_of_standard_input_is_made_among_temporary_files() {
        let folder = |recording: &str| folder_for(Path::new(recording));
        assert_eq!(folder("/proc/self/fd/3"), Folder::place());
        assert_eq!([folder("a/b.txt"), folder("b.txt")], [PathBuf::from("a"), PathBuf::from(".")]);
    }
}
