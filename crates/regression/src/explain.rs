//! Since when what changed is different: the first switch of a run that is another.

use crate::plan::{Plan, Reference, Slot};
use crate::report::{FirstDifference, Report, Row, Verdict};
use crate::run::Outcomes;
use crate::sources::Sources;
use crate::switches::{Parting, parting};
use schedlab_campaign::{Case, Runner};
use std::collections::BTreeSet;

/// Of how many cases the first difference is looked for.
const CASES: usize = 8;

impl Plan {
    /// Adds to a report since which switch its changes are there, worst first.
    pub fn explain(&self, report: &mut Report, outcomes: &Outcomes, sources: &mut Sources, runner: &Runner) {
        let mut known = BTreeSet::new();
        let mut unknown = BTreeSet::new();
        let changed: Vec<Row> = report.checks.iter().filter(|row| row.is_changed()).cloned().collect();
        for row in changed {
            let Some((slot, reference)) = self.case_of(&row) else { continue };
            // Two policies differ from the start, so there is no first difference to find.
            if matches!(reference, Reference::Slot(other) if self.slots[other].revision.is_none()) {
                continue;
            }
            if known.len() >= CASES || !known.insert((slot, reference)) {
                continue;
            }
            match self.first_difference(&row, slot, reference, outcomes, sources, runner) {
                Ok(difference) => report.first_differences.extend(difference),
                // A pass is not in need of an explanation.
                Err(why) if row.verdict == Verdict::Failed => _ = unknown.insert(why),
                Err(_) => {}
            }
        }
        report.cautions.extend(unknown);
    }

    /// The same where all that is held against the baseline is held against another plan, of the same gate.
    pub(crate) fn explain_against(&self, report: &mut Report, before: &Plan, runner: &Runner) {
        let mut known = BTreeSet::new();
        for row in report.checks.clone().iter().filter(|row| row.is_changed()) {
            let Some((slot, Reference::Baseline)) = self.case_of(row) else { continue };
            if known.len() >= CASES || !known.insert(slot) {
                continue;
            }
            let cases = [&before.slots[slot].case, &self.slots[slot].case];
            if let Ok(Some(parting)) = parting(cases, runner) {
                report.first_differences.push(told(row, "its parent".into(), parting));
            }
        }
    }

    /// The case of a check, to be run again; none where runs differ by chance.
    pub fn case(&self, row: &Row) -> Option<Case> {
        Some(self.slots[self.case_of(row)?.0].case.clone())
    }

    /// The case of a row, and what it is held against; none where runs differ by chance.
    fn case_of(&self, row: &Row) -> Option<(usize, Reference)> {
        let is_of = |slot: &Slot| [&slot.key.scenario, &slot.key.policy, &slot.key.venue] == row.case();
        let item = self.items.iter().find(|item| {
            let against = item.reference.map(|reference| self.reference_words(reference));
            is_of(&self.slots[item.slot]) && item.path == row.metric && against == row.against
        })?;
        self.slots[item.slot].case.repeats().then_some((item.slot, item.reference?))
    }

    fn first_difference(
        &self,
        row: &Row,
        slot: usize,
        reference: Reference,
        outcomes: &Outcomes,
        sources: &mut Sources,
        runner: &Runner,
    ) -> Result<Option<FirstDifference>, String> {
        let now = &self.slots[slot];
        let (before, against) = match reference {
            Reference::Slot(other) => (self.slots[other].case.clone(), self.reference_words(reference)),
            Reference::Baseline => {
                let (case, revision) = self.as_of_baseline(now, sources)?;
                (case, format!("the policy at {revision}, when the baseline was written"))
            }
        };
        debug_assert!(outcomes.of(slot).is_some());
        let parting = parting([&before, &now.case], runner)
            .map_err(|error| format!("The first switch is not known: {error}."))?;
        Ok(parting.map(|parting| told(row, against, parting)))
    }

    /// A case as it was when the baseline was committed, and at which revision.
    fn as_of_baseline(&self, now: &Slot, sources: &mut Sources) -> Result<(Case, String), String> {
        let untold = |why: &str| format!("The first switch that differs is unknown: {why}.");
        let Some(repository) = sources.repository.clone() else {
            return Err(untold("the gate is in no git repository"));
        };
        let file = self.baseline_file.canonicalize().map_err(|error| untold(&error.to_string()))?;
        let is_committed = repository.is_committed(&file).map_err(|error| untold(&error.to_string()))?;
        let last = repository.last_change(&file).map_err(|error| untold(&error.to_string()))?;
        let Some(revision) = last.filter(|_| is_committed) else {
            return Err(untold("the baseline is not committed, so the policy of that time is not known"));
        };
        let policy = sources.at(&now.key.policy, &revision).map_err(|error| untold(&error.to_string()))?;
        let short = revision[..revision.len().min(12)].to_string();
        if policy.identity() == now.case.policy.identity() {
            return Err(untold(&format!(
                "the policy is what it was at {short}, when the baseline was committed; schedlab, or the baseline itself, is another"
            )));
        }
        Ok((Case { policy, ..now.case.clone() }, short))
    }
}

fn told(row: &Row, against: String, parting: Parting) -> FirstDifference {
    let [before, after] = parting.next;
    FirstDifference {
        scenario: row.scenario.clone(),
        policy: row.policy.clone(),
        venue: row.venue.clone(),
        against,
        same_switches: parting.same,
        before,
        after,
    }
}
