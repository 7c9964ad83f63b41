//! From a recording to a model: a trace in, an ordinary scenario out, with the recorded steps in a file next to it.
//!
//! | level | what is kept | what is free |
//! |---|---|---|
//! | [`Level::Tasks`] | each task's steps; each wake-up by the task that gave it | when and where tasks run |
//! | [`Level::Items`] | items in their order, with all their work; objects with their meaning | also which worker of a pool takes an item, and how often a reader wakes |
//!
//! One pass over the events writes down what each task did ([`tracker`]), on disk and task by task. All else looks at that:
//! causes of sleeps ([`cause`]), roles ([`groups`]), items ([`cut`], [`program`]). The same recording gives the same bytes.

mod cause;
mod cut;
mod doubts;
mod groups;
mod model;
mod objects;
mod program;
mod raw;
mod report;
mod show;
mod spool;
mod steps;
mod tracker;
mod work;

pub use cause::{Cause, Shape, shape};
pub use model::Model;
pub use report::{Doubt, Edge, Level, Report, RoleReport, Weight};
pub use work::Price;

use schedlab_trace::Reader;
use std::io;
use std::path::{Path, PathBuf};

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
pub enum InferError {
    /// The trace or the file of steps.
    #[error(transparent)]
    Trace(#[from] schedlab_trace::Error),
    /// The disk on which what tasks did is kept meanwhile.
    #[error("the disk of the model cannot be used: {0}")]
    Disk(#[from] io::Error),
    /// Nothing happened.
    #[error("there is no task in the trace: nothing can be modelled")]
    Empty,
    /// The trace is of a fluid discipline: no task ran on a CPU.
    #[error(
        "the trace is of a discipline that divides CPUs among tasks, so no task ran anywhere: run it under a policy"
    )]
    Fluid,
    /// What is modelled task by task has to be kept whole.
    #[error("tasks that cannot be cut into items did {steps} steps, and a model has {most}: record for a shorter time")]
    TooLong {
        /// How many.
        steps: u64,
        /// The most.
        most: u64,
    },
}

/// The file of steps that goes with a scenario's file.
pub fn steps_file(scenario: &Path) -> PathBuf {
    scenario.with_extension("steps.parquet")
}

/// Models a trace. `steps` is the file of steps, which is written if a role needs it; `price` is what the machine
/// took of tasks' time that no event tells.
///
/// # Errors
///
/// The trace cannot be read or modelled, or the disk is full.
pub fn model(trace: &Path, steps: &Path, price: Price) -> Result<Model, InferError> {
    let mut reader = Reader::open(trace)?;
    let header = reader.header().clone();
    let folder = steps.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names = header.roles.iter().map(|role| role.name.clone()).collect();
    let spool = spool::Spool::create_in(folder)?;
    let costs = header.setting.as_ref().filter(|setting| setting.calls).map(|setting| setting.machine.costs);
    let price = costs.map_or(price, |costs| Price { sleep_ns: costs.sleep.ns(), io_ns: costs.io.ns(), ..price });
    let mut tracker = tracker::Tracker::new(names, header.cpus, has_calls(&header), price, spool);
    reader.try_for_each(|event| event.map(|event| tracker.event(&event)))?;
    model::model(tracker.finish(header.end.ns())?, &header, steps)
}

/// Whether a trace tells the calls of tasks.
fn has_calls(header: &schedlab_trace::Header) -> bool {
    header.setting.as_ref().is_some_and(|setting| setting.calls)
}

#[cfg(test)]
mod tests;
