//! What a kernel's scheduler did, as reported: [`Record`]s from any source.
//!
//! They come from the recorder of `schedlab_kernel` or from what other tools recorded (`schedlab_import`). A [`Spool`] keeps them
//! on disk, and a [`Converter`] makes the events of [`schedlab_model::trace`] of them. Nothing here asks a kernel.

mod convert;
mod gaps;
mod record;
mod spool;

pub use convert::{Converter, Known, Summary};
pub use gaps::Gaps;
pub use record::{Comm, Departure, Record, RecordKind, Thread, Waker};
pub use spool::{Spool, Spooled};
