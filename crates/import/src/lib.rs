//! What other tools recorded: `perf.data`, `trace.dat`, Perfetto, and the texts that perf, ftrace and trace-cmd print.
//!
//! ```text
//! file, standard input ──▶ unpacked ──▶ kind ──▶ reader of that kind ──▶ events ──▶ order of time ──▶ story ──▶ records
//! ```
//!
//! A reader knows one format and nothing of schedulers; it hands [`told::Event`]s to a [`gather::Gather`], which counts what
//! it does not need, checks what it does, and puts the events into the order of time on disk. From there a
//! [`story::Story`] makes [`Record`](schedlab_record::Record)s, which go the same way as what was recorded here. Nothing in
//! a file is believed: what a size says is looked at before memory is taken for it.

mod bytes;
mod error;
mod gather;
mod input;
mod kind;
mod passed;
mod perf_data;
mod perfetto;
mod read;
mod repeats;
mod story;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod text;
mod told;
mod trace_dat;
mod tracepoint;

pub use error::Error;
pub use input::Place;
pub use passed::{PassedOver, Passing};
pub use read::{Source, Told, read};
