//! The trace of a recording, of whatever tool.

use super::{RecordError, RoleBy};
use crate::VenueError;
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
        let folder = recording.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let made = tempfile::Builder::new().suffix(".parquet").tempfile_in(folder);
        let made = made.map_err(|error| RecordError::Spool { folder: folder.into(), error })?;
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
