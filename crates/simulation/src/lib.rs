//! One run in the simulated machine, from an object with its parameters to a result.
//!
//! It needs no files, no processes and no operating system, so that the command line and a page in a browser give the same
//! bytes. Other schedulers than objects are given as a function: [`measure`] makes a result of whatever it simulates.

mod discipline;
mod failure;
mod machine;
mod object;
mod run;

pub use discipline::{discipline, ideal_name};
pub use failure::RunFailure;
pub use machine::MachineParameters;
pub use object::{ObjectPolicy, parameters_of};
pub use run::{Measured, Subject, check_warmup, is_lawful, measure, scenario_info};
pub use schedlab_sim::ideal::Discipline;
