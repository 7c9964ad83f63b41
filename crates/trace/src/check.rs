//! Replays a trace file.

use crate::{Error, Format, Header, Reader};
use schedlab_model::trace::Sink;
use std::path::Path;

/// What a trace file was found to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The form of the file.
    pub format: Format,
    /// What it says about its run.
    pub header: Header,
    /// How many events it has.
    pub events: u64,
}

/// Replays the trace file `path` through the validator that `validator` makes from the header, and gives the
/// validator back, after its [`Sink::finish`], for what it found.
pub fn check<S: Sink>(path: impl AsRef<Path>, validator: impl FnOnce(&Header) -> S) -> Result<(Report, S), Error> {
    let mut reader = Reader::open(path)?;
    let mut validator = validator(reader.header());
    let mut events = 0;
    for event in reader.by_ref() {
        validator.event(&event?);
        events += 1;
    }
    validator.finish(reader.header().end);
    Ok((Report { format: reader.format(), header: reader.header().clone(), events }, validator))
}
