//! Makes the runs of a plan and judges them.

use crate::GateError;
use crate::baseline::{Baseline, Known};
use crate::judge::{Judgement, judge};
use crate::plan::{Item, Plan, Reference, Slot};
use crate::report::{BASELINE, Report, Row, Value, Verdict};
use schedlab_campaign::{Errors, Made, RunSet, Runner};
use schedlab_model::outcome::{Outcome, RoleView};
use schedlab_model::selector::Selector;
use schedlab_venue::VenueError;
use std::collections::BTreeMap;

/// All intervals of a report together hold with this probability.
const LEVEL: f64 = 0.95;

/// What came of the runs of a plan.
pub struct Outcomes {
    made: Vec<Slotted>,
    /// Whether they were stopped.
    pub stopped: bool,
}

enum Slotted {
    Ran(Box<Outcome>),
    Failed(VenueError),
    NotBegun,
}

impl Outcomes {
    /// What a case came to; none where it failed or was stopped.
    pub(crate) fn of(&self, slot: usize) -> Option<&Outcome> {
        match &self.made[slot] {
            Slotted::Ran(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// Why a policy could not be loaded, if one could not.
    pub(crate) fn not_loaded(&self) -> Option<String> {
        self.made.iter().find_map(|made| match made {
            Slotted::Failed(error) if error.is_failure_to_load() => Some(error.to_string()),
            _ => None,
        })
    }

    /// Why a case has no outcome, if so.
    fn why_not(&self, slot: usize) -> Option<String> {
        match &self.made[slot] {
            Slotted::Ran(_) => None,
            Slotted::Failed(error) => Some(error.to_string()),
            Slotted::NotBegun => Some("it was not run".into()),
        }
    }
}

impl Plan {
    /// Makes the runs.
    ///
    /// # Errors
    ///
    /// What concerns all of them. A policy that fails is a finding.
    pub fn run(&self, runner: &Runner) -> Result<Outcomes, GateError> {
        let cases: Vec<_> = self.slots.iter().map(|slot| slot.case.clone()).collect();
        let mut made = Vec::new();
        for (case, outcome) in cases.iter().zip(runner.carry_out(&cases, Errors::EndCases)?) {
            made.push(match outcome {
                Made::Ran(seen) => {
                    let result = RunSet::of(seen, case.seeds.len()).result;
                    if result.is_partial() { Slotted::NotBegun } else { Slotted::Ran(Box::new(result)) }
                }
                // A machine that lacks something says nothing about a policy.
                Made::Failed(error) if !error.is_failure_of_policy() => return Err(error.into()),
                Made::Failed(error) => Slotted::Failed(error),
                Made::NotBegun => Slotted::NotBegun,
            });
        }
        Ok(Outcomes { made, stopped: runner.monitor.is_stopped() })
    }

    /// Judges all that was measured.
    pub fn judge(&self, outcomes: &Outcomes) -> Report {
        let by_chance = self.items.iter().filter(|item| !self.slots[item.slot].case.repeats()).count();
        // Of many intervals some would leave the truth out by chance.
        let level = 1.0 - (1.0 - LEVEL) / by_chance.max(1) as f64;
        let mut rows = Vec::new();
        let mut groups: BTreeMap<usize, bool> = BTreeMap::new();
        for item in &self.items {
            let row = self.row(item, outcomes, level);
            if let Some(group) = item.group {
                *groups.entry(group).or_default() |= row.is_some();
            }
            rows.extend(row);
        }
        for item in &self.items {
            // The first of several roles of which none has it.
            if item.group.is_some_and(|group| groups.insert(group, true) == Some(false)) {
                let why = vec!["no role has it there".to_string()];
                rows.push(Row { metric: item.metric.path.clone(), why, ..self.bare(item) });
            }
        }
        let mut report = Report::new(&self.gate.name, rows);
        report.partial = outcomes.stopped;
        report.cautions = self.cautions(outcomes, &report);
        report
    }

    /// What is said of a value; none where it is that of a role which has none, and never had.
    fn row(&self, item: &Item, outcomes: &Outcomes, level: f64) -> Option<Row> {
        let bare = self.bare(item);
        let absent = |why: String| Row { verdict: Verdict::Absent, why: vec![why], ..bare.clone() };
        if let Some(why) = outcomes.why_not(item.slot) {
            let verdict = if outcomes.stopped { Verdict::Absent } else { Verdict::Failed };
            return Some(Row { verdict, why: vec![why], ..bare });
        }
        let to = self.value(item.slot, &item.path, outcomes);
        let from = match item.reference {
            None => Ok(None),
            Some(Reference::Baseline) => {
                Ok(self.known(item.slot).and_then(|known| known.values.get(&item.path).cloned()))
            }
            Some(Reference::Slot(other)) => match outcomes.why_not(other) {
                Some(why) => Err(format!("nothing to hold it against: {why}")),
                None => Ok(self.value(other, &item.path, outcomes).ok()),
            },
        };
        let from = match from {
            Ok(from) => from,
            Err(why) => return Some(absent(why)),
        };
        match (from, to) {
            (None, Err(_)) if item.group.is_some() => None,
            (from, Err(why)) => Some(Row { from, ..absent(why) }),
            (None, Ok(to)) if item.reference.is_some() => Some(Row {
                to: Some(to),
                ..absent("there is nothing to hold it against: --update adds it to the baseline".into())
            }),
            (from, Ok(to)) => {
                let judged = judge(item.metric, &item.bounds, from.as_ref(), &to, level);
                let Judgement { mut verdict, mut why, change, allowed, mut is_out_of_bounds } = judged;
                let starving = outcomes.of(item.slot).and_then(|outcome| starving(outcome, &item.path));
                if let Some(role) = starving.filter(|_| item.bounds.max.is_some()) {
                    (verdict, is_out_of_bounds) = (Verdict::Failed, true);
                    why.push(format!("{UNKNOWN}: tasks of {role} starve"));
                }
                Some(Row { from, to: Some(to), change, allowed, is_out_of_bounds, verdict, why, ..bare })
            }
        }
    }

    /// A row about which nothing is known yet.
    fn bare(&self, item: &Item) -> Row {
        let key = self.slots[item.slot].key.clone();
        let against = item.reference.map(|reference| self.reference_words(reference));
        Row {
            scenario: key.scenario,
            policy: key.policy,
            venue: key.venue,
            metric: item.path.clone(),
            unit: item.metric.unit,
            against,
            from: None,
            to: None,
            change: None,
            allowed: None,
            is_out_of_bounds: false,
            verdict: Verdict::Absent,
            why: Vec::new(),
        }
    }

    /// What a reference is called.
    pub(crate) fn reference_words(&self, reference: Reference) -> String {
        match reference {
            Reference::Baseline => BASELINE.into(),
            Reference::Slot(slot) => match &self.slots[slot] {
                Slot { revision: Some(revision), .. } => format!("git:{revision}"),
                Slot { key, .. } => format!("policy:{}", key.policy),
            },
        }
    }

    /// A value of a case that ran.
    pub(crate) fn value(&self, slot: usize, path: &str, outcomes: &Outcomes) -> Result<Value, String> {
        let outcome = outcomes.of(slot).ok_or("it was not run")?;
        let selector = Selector::parse(path).map_err(|unknown| unknown.to_string())?;
        let number = selector.of(outcome)?.number;
        if self.slots[slot].case.repeats() {
            return Ok(Value::exact(number));
        }
        Ok(Value::of_runs(selector.each(outcome).into_iter().flatten().collect()))
    }

    /// What was measured, as a baseline.
    ///
    /// # Errors
    ///
    /// A case failed, or was stopped: a baseline is whole or not written.
    pub fn measured(&self, outcomes: &Outcomes) -> Result<Baseline, GateError> {
        let mut baseline = Baseline { version: env!("CARGO_PKG_VERSION").into(), cases: BTreeMap::new() };
        for item in self.items.iter().filter(|item| item.reference == Some(Reference::Baseline)) {
            let Slot { key, setup, .. } = &self.slots[item.slot];
            if let Some(why) = outcomes.why_not(item.slot) {
                return Err(GateError::Failed(format!("the baseline stays as it is: {why}")));
            }
            let kernel = if key.venue == "sim" { None } else { self.kernel(item.slot, outcomes) };
            let known = baseline.cases.entry(key.clone()).or_insert_with(|| Known {
                setup: setup.clone(),
                kernel,
                values: BTreeMap::new(),
            });
            match self.value(item.slot, &item.path, outcomes) {
                Ok(value) => _ = known.values.insert(item.path.clone(), value),
                Err(_) if item.group.is_some() => {}
                Err(why) => {
                    let Row { scenario, policy, venue, .. } = self.bare(item);
                    let case = format!("{scenario} under {policy} in {venue}");
                    return Err(GateError::Failed(format!("the baseline stays as it is: {case}: {why}")));
                }
            }
        }
        Ok(baseline)
    }

    fn kernel(&self, slot: usize, outcomes: &Outcomes) -> Option<String> {
        outcomes.of(slot)?.provenance().kernel.clone()
    }

    /// Where tasks starve whose response times are checked.
    fn starvation(&self, outcomes: &Outcomes, report: &Report) -> Vec<String> {
        let mut told = Vec::new();
        for (index, Slot { key, .. }) in self.slots.iter().enumerate() {
            let Some(outcome) = outcomes.of(index) else { continue };
            let case = [key.scenario.as_str(), key.policy.as_str(), key.venue.as_str()];
            let checks = report.checks.iter().filter(|row| row.case() == case);
            let mut roles: Vec<&str> = checks.filter_map(|row| starving(outcome, &row.metric)).collect();
            roles.sort_unstable();
            roles.dedup();
            if !roles.is_empty() {
                let [scenario, policy, _] = case;
                told.push(format!("Under {policy} tasks of {} starve in {scenario}: {UNKNOWN}.", roles.join(", ")));
            }
        }
        told
    }

    /// What a reader has to know before believing the verdicts.
    fn cautions(&self, outcomes: &Outcomes, report: &Report) -> Vec<String> {
        let mut cautions = self.starvation(outcomes, report);
        let moved = report.checks.iter().any(|row| row.is_held() && row.is_changed());
        if let Some(baseline) = self.baseline.as_ref().filter(|baseline| baseline.version != report.schedlab && moved) {
            cautions.push(format!(
                "The baseline was written by schedlab {}, this is {}: a change may be schedlab's.",
                baseline.version, report.schedlab
            ));
        }
        for (index, Slot { key, .. }) in self.slots.iter().enumerate() {
            let (then, now) = (self.known(index).and_then(|known| known.kernel.clone()), self.kernel(index, outcomes));
            if let (Some(then), Some(now)) = (then, now)
                && then != now
            {
                let told =
                    format!("In {} the kernel was {then} when the baseline was written, and is {now}.", key.venue);
                if !cautions.contains(&told) {
                    cautions.push(told);
                }
            }
        }
        cautions
    }
}

/// Why a value is not below its bound for sure.
const UNKNOWN: &str = "response times leave out requests that never finished";

/// The role of a response time whose tasks starve in some run: some of its requests are in no response time.
fn starving<'o>(outcome: &'o Outcome, path: &str) -> Option<&'o str> {
    let rest = path.strip_prefix("roles.")?;
    let is_own = |name: &str| {
        let metric = rest.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'));
        metric.is_some_and(|metric| metric.starts_with("response_ns"))
    };
    let starves = |role: &RoleView| role.starvation().iter().any(Option::is_some);
    outcome.roles().into_iter().filter(|role| is_own(role.name)).find(starves).map(|role| role.name)
}

impl Row {
    /// Whether it has a value other than the one that it is held against.
    pub fn is_changed(&self) -> bool {
        match (&self.from, &self.to) {
            (Some(from), Some(to)) => self.verdict != Verdict::Same && from.number != to.number,
            _ => false,
        }
    }
}
