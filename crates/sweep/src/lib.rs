//! Sweeps: one scenario over many values, policies and seeds, thousands of runs that become one table.
//!
//! A [`Sweep`] is what a file or a dictionary says. A [`Plan`] is the list of its runs, in an order that depends on nothing
//! else; each [`Run`] has a name made of all that goes into it. [`carry_out`] makes those that a [`Dataset`] does not hold
//! yet and adds their rows to it, part by part, so that a sweep that was stopped continues where it was.

mod axis;
mod dataset;
mod language;
mod measured;
mod plan;
mod rows;
mod runner;
mod tally;

pub use axis::{Axis, as_word};
pub use dataset::{Dataset, DatasetError, encoded};
pub use language::{Sweep, schema};
pub use measured::{AxisView, Measured, Place, Point};
pub use plan::{Plan, Run};
pub use rows::Row;
pub use runner::{Summary, carry_out, make};
pub use tally::{Answer, Reason, Tally};
