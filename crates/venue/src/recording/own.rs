//! A trace of schedlab's own, as a recording: what is in it is known better than what another tool would read of it.

use super::{RecordError, Recording, RoleBy, Wholeness, tape};
use crate::{VenueError, remeasure};
use schedlab_import::{Place, Source};
use schedlab_model::trace::{Event, Sink};
use schedlab_trace::{Error, Reader, Writer};
use std::path::Path;

/// Makes a trace of a source that [`Source::is_own`]; nothing if it is another's after all.
pub fn import(source: &Source, place: &Place, trace: &Path, role_by: RoleBy) -> Result<Option<Recording>, VenueError> {
    let folder = tape::folder_of(trace);
    let unkept = |error| RecordError::Spool { folder: folder.to_owned(), error };
    // It may be compressed, or come through a pipe.
    let mut plain = tempfile::NamedTempFile::new_in(folder).map_err(unkept)?;
    source.copy(&mut plain).map_err(unkept)?;
    let header = match Reader::open(plain.path()) {
        Ok(reader) => reader.header().clone(),
        Err(Error::Foreign { .. }) => return Ok(None),
        Err(error) => return Err(of_place(&error, plain.path(), place).into()),
    };
    let sink = (Writer::create(trace, &header)?, Count(0));
    let measured = remeasure(plain.path(), |_| sink);
    let (measured, (writer, count)) = measured.map_err(|error| of_place(&error, plain.path(), place))?;
    let unwritten = writer.close().err().map(VenueError::from);
    let mut result = measured.result;
    // Programs that were gone when a recording began have no task in it.
    result.roles.retain(|role| role.count > 0);
    if role_by == RoleBy::Thread {
        result.missing.push("threads by their names, which a trace of schedlab does not hold".into());
    }
    let lost = if header.lost > 0 { vec![("events".to_string(), header.lost)] } else { Vec::new() };
    let wholeness = Wholeness { records: count.0, lost, ..Wholeness::default() };
    Ok(Some(Recording { result, wholeness, ended: None, unwritten }))
}

/// How many events there were.
struct Count(u64);

impl Sink for Count {
    fn event(&mut self, _: &Event) {
        self.0 += 1;
    }
}

/// The error, with the name of the recording and not of its copy.
fn of_place(error: &Error, copy: &Path, place: &Place) -> RecordError {
    let text = error.to_string();
    let what = text.strip_prefix(&format!("{}: ", copy.display())).unwrap_or(&text).to_owned();
    schedlab_import::Error::Foreign { place: place.clone(), what }.into()
}
