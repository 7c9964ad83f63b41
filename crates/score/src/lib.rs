//! One number for a policy on a set of scenarios, and the search for the parameters that raise it.
//!
//! A [`ScoreSet`] is a file of scenarios, metrics, weights and a reference policy. [`Examiner`] runs policies in them and gives
//! each a [`Score`]: 1 is as good as the reference, 2 twice as good. [`tune`] looks for better parameters and judges what it
//! finds by scenarios that it did not look at.

mod examine;
mod language;
mod score;
mod show;
mod space;
mod tune;

pub use examine::{Examiner, is_fault_of_policy};
pub use language::ScoreSet;
pub use score::{Failure, Item, Part, Score, Set};
pub use space::{Parameter, Space};
pub use tune::{Answer, Back, Options, Trial, Tuned, Verdict, tune};

use schedlab_model::scenario::ScenarioError;
use schedlab_venue::VenueError;

/// Why there is no score.
#[derive(Debug, thiserror::Error)]
pub enum ScoreError {
    /// Something that a library reports.
    #[error(transparent)]
    Venue(#[from] VenueError),
    /// Something that the user can put right.
    #[error("{0}")]
    Input(String),
    /// The input was good, and yet it did not work.
    #[error("{0}")]
    Failed(String),
    /// It was stopped.
    #[error("stopped")]
    Stopped,
}

impl From<ScenarioError> for ScoreError {
    fn from(error: ScenarioError) -> ScoreError {
        ScoreError::Venue(error.into())
    }
}
