//! Gates: whether a change of a policy made anything worse that was written down.
//!
//! A [`Gate`] is a file of scenarios, policies, venues and bounds. A [`Plan`] is what there is to run for it, with everything
//! found and checked before anything runs. [`Plan::judge`] makes a [`Report`] of what came of it: exact numbers are compared
//! exactly, others by intervals. A [`Baseline`] is what was measured once, as a file next to the gate. [`git`] gives policies
//! as they were, and [`history`] keeps what gates measured at each revision.

mod baseline;
pub mod bisect;
mod bound;
mod explain;
mod export;
pub mod git;
pub mod history;
mod judge;
mod language;
mod plan;
mod report;
mod run;
mod show;
mod sources;
mod switches;

pub use baseline::Baseline;
pub use language::Gate;
pub use plan::Plan;
pub use report::{Allowed, Counts, FirstDifference, Report, Row, Switch, Value, Verdict};
pub use run::Outcomes;
pub use show::{cases, table};
pub use sources::Sources;

use git::GitError;
use schedlab_venue::VenueError;

/// Why a gate says nothing.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// Something that a library says.
    #[error(transparent)]
    Venue(#[from] VenueError),
    /// Something that git says.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Something that the user can put right.
    #[error("{0}")]
    Input(String),
    /// There is nothing to hold values against.
    #[error("{0}")]
    NoBaseline(String),
    /// The input was good, and yet it did not work.
    #[error("{0}")]
    Failed(String),
}
