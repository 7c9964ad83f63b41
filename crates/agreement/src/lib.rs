//! How far the simulator is from a kernel, with a method that distinguishes noise from bias.
//!
//! A [`Cell`] is a scenario under a [`Pair`] in a place: a policy in the simulator and what it is compared with. [`carry_out`]
//! runs each cell for real and as copies of the simulation in which only chance differs; [`figure`] compares the two by
//! [`schedlab_metrics::statistics::equivalence`]; [`Agreement`] is what is shown and printed.

mod cell;
mod experiment;
pub mod figure;
mod lists;
pub mod machine;
mod markdown;
mod measured;
mod observed;
mod pair;
mod report;
mod table;

pub use cell::{Cell, Options, PlanError, Subject, plan};
pub use experiment::carry_out;
pub use lists::List;
pub use markdown::{SectionError, Target};
pub use pair::{Against, Pair, PairError};
pub use report::{Agreement, CellReport, CellVerdict, Counts, FigureReport, SCHEMA, Verdict, schema};
