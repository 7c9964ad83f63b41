//! What became of the runs of each policy.

use crate::dataset::{Dataset, DatasetError};
use crate::plan::Plan;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The runs of a policy that are in the table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tally {
    /// The policy, as the sweep writes it.
    pub policy: String,
    /// How many there are.
    pub runs: usize,
    /// How many of them failed.
    pub failed: usize,
    /// Why, each reason once; the most frequent first.
    pub failures: Vec<Reason>,
}

/// Why runs failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// In the words of `schedlab run`.
    pub why: String,
    /// How many runs.
    pub runs: usize,
}

impl Tally {
    /// Whether none of its runs gave numbers.
    pub fn is_lost(&self) -> bool {
        self.runs > 0 && self.failed == self.runs
    }

    fn add(&mut self, error: Option<&str>) {
        self.runs += 1;
        let Some(why) = error else { return };
        self.failed += 1;
        match self.failures.iter_mut().find(|reason| reason.why == why) {
            Some(reason) => reason.runs += 1,
            None => self.failures.push(Reason { why: why.into(), runs: 1 }),
        }
    }
}

impl Dataset {
    /// How many runs of each policy there are and failed, in the order of the plan.
    ///
    /// # Errors
    ///
    /// A part cannot be read.
    pub fn tallies(&self, plan: &Plan) -> Result<Vec<Tally>, DatasetError> {
        let mut rows = self.rows(plan)?;
        rows.sort_by_key(|row| row.run);
        let (mut tallies, mut seen): (Vec<Tally>, BTreeSet<usize>) = Default::default();
        for row in rows.iter().filter(|row| seen.insert(row.run)) {
            let policy = plan.policy_name(&plan.runs[row.run]);
            let place = tallies.iter().position(|tally| tally.policy == policy).unwrap_or_else(|| {
                tallies.push(Tally { policy: policy.into(), ..Tally::default() });
                tallies.len() - 1
            });
            tallies[place].add(row.error.as_deref());
        }
        tallies.iter_mut().for_each(|tally| tally.failures.sort_by_key(|failure| std::cmp::Reverse(failure.runs)));
        Ok(tallies)
    }
}

/// The name and version of the form of an [`Answer`].
const ANSWER: &str = "schedlab.sweep/1";

/// What `schedlab sweep --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Always `schedlab.sweep/1`.
    pub schema: String,
    /// What the sweep is called and about.
    pub title: String,
    /// How many runs are missing in the table.
    pub missing: usize,
    /// The runs of each policy that are in the table.
    pub policies: Vec<Tally>,
}

impl Answer {
    /// Of a sweep.
    pub fn of(title: &str, missing: usize, tallies: &[Tally]) -> Answer {
        Answer { schema: ANSWER.into(), title: title.into(), missing, policies: tallies.to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_lost_when_all_of_its_runs_failed() {
        let mut tally = Tally::default();
        assert!(!tally.is_lost(), "it has no run");
        ["stall", "stall", "oom"].into_iter().for_each(|why| tally.add(Some(why)));
        assert_eq!(tally.failures, [("stall", 2), ("oom", 1)].map(|(why, runs)| Reason { why: why.into(), runs }));
        assert!(tally.is_lost());
        tally.add(None);
        assert_eq!((tally.runs, tally.failed, tally.is_lost()), (4, 3, false));
    }
}
