//! Trace files: what happened in a run, kept for later and for other programs.
//!
//! [`Writer`] takes the events of a run as a [`schedlab_model::trace::Sink`] and writes them while they stream by.
//! The extension of the file's name decides its form:
//!
//! | extension | form | for |
//! |---|---|---|
//! | `.parquet` | one row an event, one column a field (names carry the units) | data frames, SQL |
//! | `.pftrace`, `.perfetto-trace` | Perfetto's protobuf | a timeline in the Perfetto UI |
//! | `.txt` | one line an event, aligned | people, golden traces |
//!
//! [`Reader`] gives the events of a Parquet or Perfetto file back, exactly as they were written, and [`check`] replays
//! them through a validator. A file carries a [`Header`]: what ran, where, on which machine.
//!
//! A run that is written twice gives the same bytes twice.

mod check;
mod error;
mod fields;
mod format;
mod header;
mod parquet;
mod perfetto;
mod reader;
mod steps;
#[cfg(test)]
mod test_helpers;
pub mod text;
mod words;
mod writer;

pub use check::{Report, check};
pub use error::{Error, of_other_tools};
pub use format::Format;
pub use header::{Header, Role, SCHEMA, Scheduling, Setting};
pub use reader::Reader;
pub use schedlab_boundary::own::Partial;
pub use steps::{Place, StepWriter, read_steps};
pub use writer::Writer;
