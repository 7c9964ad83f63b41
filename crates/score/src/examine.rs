//! Runs policies in the scenarios of a set.

use crate::ScoreError;
use crate::language::ScoreSet;
use crate::score::{FORM, Failure, Measured, Score, Set};
use schedlab_campaign::{Case, Errors, Keeps, Made, Place, RunSet, Runner, seeds};
use schedlab_catalogue::load_beside;
use schedlab_model::costs::Costs;
use schedlab_model::hash::sha256;
use schedlab_model::outcome::Outcome;
use schedlab_model::scenario::{Text, did_you_mean};
use schedlab_model::selector::Selector;
use schedlab_model::workload::Workload;
use schedlab_policy::{CompileError, FindError};
use schedlab_sim::RunError;
use schedlab_venue::{Policy, RunFailure, VenueError, VenueName};
use std::path::Path;
use std::sync::Arc;

/// A set whose scenarios and reference were found and run.
pub struct Examiner {
    /// What is asked.
    pub set: ScoreSet,
    found: Vec<Found>,
    /// What the reference came to, for each scenario.
    reference: Vec<Outcome>,
}

/// A scenario.
struct Found {
    name: String,
    workload: Arc<Workload>,
    hash: String,
    roles: Vec<String>,
    is_held_out: bool,
}

/// Which scenarios a policy is run in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// Those that make the score.
    Scored,
    /// Those that only check.
    HeldOut,
}

impl Examiner {
    /// Finds what a set names, from the folder of its file, and runs the reference. `held_out`: whether the scenarios that
    /// only check are wanted.
    ///
    /// # Errors
    ///
    /// Something is not there or does not fit, or the reference fails.
    pub fn new(set: ScoreSet, folder: &Path, held_out: bool, runner: &Runner) -> Result<Examiner, ScoreError> {
        let mut found = Vec::new();
        for (name, key, is_held_out) in names(&set, held_out) {
            found.push(Found::new(&set, folder, name, &key, is_held_out)?);
        }
        check_roles(&set, &found)?;
        let reference = Policy::find(&set.reference.beside(folder))?;
        let mut examiner = Examiner { set, found, reference: Vec::new() };
        let all: Vec<usize> = (0..examiner.found.len()).collect();
        for (index, made) in all.iter().zip(examiner.run(&reference, &all, Keeps::ForEver, runner)?) {
            let name = &examiner.found[*index].name;
            let failed = |why| {
                ScoreError::Input(format!("the reference {} fails in {name}: {why}: choose another", reference.label))
            };
            examiner.reference.push(made.map_err(|error| failed(error.to_string()))?);
        }
        Ok(examiner)
    }

    /// How long the runs of a policy are together, in nanoseconds of their own time; unknown where one has no end.
    pub fn duration_ns(&self) -> Option<u64> {
        let runs = u64::from(self.set.runs);
        self.found.iter().map(|found| Some(found.workload.run.end()?.ns().saturating_mul(runs))).sum()
    }

    /// The scenarios in which switches and all else cost nothing: short slices are free there, and scores prefer them.
    pub fn without_costs(&self) -> Vec<&str> {
        let free = self.found.iter().filter(|found| found.workload.machine.costs == Costs::default());
        free.filter(|found| !found.is_held_out).map(|found| found.name.as_str()).collect()
    }

    /// A hash of all that decides a score but the policy.
    pub(crate) fn identity(&self) -> String {
        let scenarios: Vec<&str> = self.found.iter().map(|found| found.hash.as_str()).collect();
        let version = env!("CARGO_PKG_VERSION");
        sha256([version, &self.set.origin.text, &scenarios.join("\n")].join("\n").as_bytes())
    }

    /// The score of a policy.
    ///
    /// # Errors
    ///
    /// What says nothing about the policy.
    pub fn score(&self, policy: &Policy, runner: &Runner) -> Result<Score, ScoreError> {
        let scored = self.set_of(policy, Which::Scored, runner)?;
        let has_held_out = self.found.iter().any(|found| found.is_held_out);
        let held_out = has_held_out.then(|| self.set_of(policy, Which::HeldOut, runner)).transpose()?;
        Ok(self.set.report(&policy.label, scored, held_out))
    }

    /// What some of the scenarios give.
    pub(crate) fn set_of(&self, policy: &Policy, which: Which, runner: &Runner) -> Result<Set, ScoreError> {
        let is_wanted = |index: &usize| self.found[*index].is_held_out == (which == Which::HeldOut);
        let wanted: Vec<usize> = (0..self.found.len()).filter(is_wanted).collect();
        let (mut measured, mut failures) = (Vec::new(), Vec::new());
        for (index, made) in wanted.iter().zip(self.run(policy, &wanted, Keeps::Nothing, runner)?) {
            let found = &self.found[*index];
            match made {
                Ok(outcome) => measured.extend(self.measured(found, &outcome, &self.reference[*index])),
                Err(error) => {
                    failures.push(Failure { scenario: Some(found.name.clone()), why: error.to_string() });
                }
            }
        }
        Ok(Set::of(&self.set.parts, &measured, failures))
    }

    /// Runs a policy in some scenarios: for each what came of it, or how the policy failed.
    fn run(
        &self,
        policy: &Policy,
        wanted: &[usize],
        keeps: Keeps,
        runner: &Runner,
    ) -> Result<Vec<Result<Outcome, VenueError>>, ScoreError> {
        let cases: Vec<Case> = wanted.iter().map(|index| self.case(&self.found[*index], policy, keeps)).collect();
        let made = runner.carry_out(&cases, Errors::EndCases)?;
        let outcome = |(case, made): (&Case, Made)| match made {
            Made::Ran(seen) => {
                let outcome = RunSet::of(seen, case.seeds.len()).result;
                if outcome.is_partial() { Err(ScoreError::Stopped) } else { Ok(Ok(outcome)) }
            }
            Made::Failed(error) if is_fault_of_policy(&error) => Ok(Err(error)),
            Made::Failed(error) => Err(error.into()),
            Made::NotBegun => Err(ScoreError::Stopped),
        };
        cases.iter().zip(made).map(outcome).collect()
    }

    fn case(&self, found: &Found, policy: &Policy, keeps: Keeps) -> Case {
        Case {
            workload: found.workload.clone(),
            scenario_hash: found.hash.clone(),
            policy: policy.clone(),
            place: Place::new(VenueName::Sim, None, None),
            seeds: seeds(self.set.seed.unwrap_or(found.workload.run.seed), self.set.runs),
            executor: None,
            check: false,
            costs: false,
            ears: Vec::new(),
            traces: Vec::new(),
            keeps,
        }
    }

    /// All that counts in a scenario.
    fn measured(&self, found: &Found, outcome: &Outcome, reference: &Outcome) -> Vec<Measured> {
        let mut all = Vec::new();
        for (part, weighed) in self.set.parts.iter().enumerate().filter(|(_, part)| part.is_in(&found.name)) {
            for path in weighed.subject.paths(&found.roles) {
                let selector = Selector::parse(&path).expect("it was checked");
                let each = |outcome: &Outcome| selector.each(outcome);
                let (values, theirs) = (each(outcome), each(reference));
                // A role of which neither knows it has no such metric.
                if values.iter().chain(&theirs).all(Option::is_none) {
                    continue;
                }
                all.push(Measured {
                    part,
                    scenario: found.name.clone(),
                    starves: starving(outcome, &path, values.len()),
                    reference_starves: starving(reference, &path, theirs.len()),
                    path,
                    values,
                    reference: theirs,
                });
            }
        }
        all
    }
}

/// Whether an error is the policy's own doing: it cannot be compiled or loaded, or fails in a run.
pub fn is_fault_of_policy(error: &VenueError) -> bool {
    match error {
        VenueError::Find(FindError::Compile(CompileError::Refused { .. })) | VenueError::Object { .. } => true,
        VenueError::Failed(RunFailure::Run { error, .. }) if error.is_lack_of_machine() => false,
        VenueError::Failed(RunFailure::Run { error, .. }) => !matches!(
            **error,
            RunError::Stuck { .. }
                | RunError::Refused { .. }
                | RunError::TooManyTasks { .. }
                | RunError::Full { .. }
                | RunError::Standstill(_)
        ),
        other => other.is_failure_of_policy(),
    }
}

/// For each run whether response times at a path hide requests that never end.
fn starving(outcome: &Outcome, path: &str, runs: usize) -> Vec<bool> {
    let mut starving = vec![false; runs];
    for role in outcome.roles() {
        let own = path.strip_prefix("roles.").and_then(|rest| {
            rest.strip_prefix("*.").or_else(|| rest.strip_prefix(role.name).and_then(|rest| rest.strip_prefix('.')))
        });
        if own.is_some_and(|metric| metric.starts_with("response_ns")) {
            role.starvation().iter().zip(&mut starving).for_each(|(wait, starves)| *starves |= wait.is_some());
        }
    }
    starving
}

/// The scenarios of a set, with their place in the file and whether they only check.
fn names(set: &ScoreSet, held_out: bool) -> Vec<(&String, String, bool)> {
    let of = |names: &'_ [String], key: &str, index: usize| match names.len() {
        1 => key.to_string(),
        _ => format!("{key}[{index}]"),
    };
    let scored = set.scenarios.iter().enumerate().map(|(at, name)| (name, of(&set.scenarios, "scenario", at), false));
    let checks = set.held_out.iter().enumerate().map(|(at, name)| (name, of(&set.held_out, "held_out", at), true));
    scored.chain(checks.filter(|_| held_out)).collect()
}

/// Whether each role that a part names is in the scenarios where it counts.
fn check_roles(set: &ScoreSet, found: &[Found]) -> Result<(), ScoreError> {
    for (number, part) in set.parts.iter().enumerate() {
        for scenario in found.iter().filter(|scenario| part.is_in(&scenario.name)) {
            let Some(unknown) = part.subject.unknown_role(&scenario.roles) else { continue };
            let hint = match did_you_mean(&unknown, scenario.roles.iter().map(String::as_str)) {
                hint if hint.is_empty() => format!(": it has {}", scenario.roles.join(", ")),
                hint => hint,
            };
            let why = format!("{} has no role `{unknown}`{hint}", scenario.name);
            return Err(set.origin.wrong(&format!("part[{number}].metric"), why).into());
        }
    }
    Ok(())
}

impl Found {
    fn new(set: &ScoreSet, folder: &Path, name: &str, key: &str, is_held_out: bool) -> Result<Found, ScoreError> {
        let loaded = load_beside(folder, name);
        let mut scenario = loaded.map_err(|error| set.origin.wrong(key, error.to_string()))?;
        if let Some(duration) = set.duration {
            scenario.run.duration = Some(Text(duration));
        }
        let workload = Arc::new(scenario.compile()?);
        let roles = workload.roles.iter().map(|role| role.name.clone()).collect();
        Ok(Found { name: name.into(), workload, hash: scenario.hash(), roles, is_held_out })
    }
}

impl ScoreSet {
    /// What is said of a policy.
    pub fn report(&self, policy: &str, scored: Set, held_out: Option<Set>) -> Score {
        Score {
            schema: FORM.into(),
            schedlab: env!("CARGO_PKG_VERSION").into(),
            set: self.name.clone(),
            policy: policy.into(),
            reference: self.reference.to_string(),
            runs: self.runs,
            scored,
            held_out,
        }
    }
}
