//! Runs a scenario under a policy and says what is wrong.

use crate::finding::{Finding, Kind};
use crate::overload::is_overloaded;
use schedlab_boundary::library::guarded;
use schedlab_campaign::{Case, Keeps, Place, Runner};
use schedlab_model::metric::{self, Part};
use schedlab_model::result::RunResult;
use schedlab_model::scenario::Scenario;
use schedlab_model::time::Time;
use schedlab_sim::RunError;
use schedlab_venue::{Executor, Policy, RunFailure, VenueError, VenueName};
use std::cell::Cell;
use std::sync::Arc;

/// Of how many seeds one is run by both executors.
const BOTH_EXECUTORS: u64 = 8;

/// What a policy must not do, apart from failing. A limit that is absent is not checked.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    /// The longest that a task may wait for a CPU.
    pub longest_wait: Option<Time>,
    /// The greatest part of its time that a CPU may idle while a task waits that may run there.
    pub idle: Option<f64>,
    /// The least Jain index of tasks of one role that only compute.
    pub jain: Option<f64>,
    /// Names of findings that are known and not looked for.
    pub ignored: Vec<String>,
    /// A policy that is right: what it does, too, is no finding, and bounds are widened to what it reaches.
    pub reference: Option<Policy>,
}

/// How often a run is asked whether to go on before it is given up: after 16384 turns of the simulator each time, so
/// that where it stops depends on nothing but the run.
pub(crate) const LOOKS: u64 = 1_000;

/// Judges a policy.
pub struct Judge<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// What it must not do.
    pub bounds: &'a Bounds,
    /// Makes the runs.
    pub runner: &'a Runner<'a>,
}

/// What came of a run.
enum Seen {
    Result(Box<RunResult>),
    Wrong(Finding),
    /// It says nothing about the policy: a scenario that cannot go on, a run that was stopped or takes too long.
    Nothing,
}

impl Judge<'_> {
    /// What is wrong in a scenario, if anything is.
    ///
    /// # Errors
    ///
    /// The policy cannot be run at all.
    pub fn finding(&self, scenario: &Scenario) -> Result<Option<Finding>, VenueError> {
        let found = self.any(scenario)?;
        Ok(found.filter(|finding| !self.bounds.ignored.contains(&finding.kind.name())))
    }

    fn any(&self, scenario: &Scenario) -> Result<Option<Finding>, VenueError> {
        // What was made smaller may be no scenario any more.
        if scenario.compile().is_err() {
            return Ok(None);
        }
        let result = match self.run(scenario, self.policy, None)? {
            Seen::Nothing => return Ok(None),
            Seen::Wrong(finding) if finding.kind == Kind::Stall && is_overloaded(scenario) => return Ok(None),
            Seen::Wrong(finding) => return Ok(Some(finding).filter(|_| !self.reference_fails(scenario))),
            Seen::Result(result) => result,
        };
        if let Some(finding) = self.beyond(scenario, &result)? {
            return Ok(Some(finding));
        }
        self.executors_differ(scenario, &result)
    }

    /// Whether the reference fails, too: then the scenario asks for what cannot be.
    fn reference_fails(&self, scenario: &Scenario) -> bool {
        let Some(reference) = &self.bounds.reference else { return false };
        matches!(self.run(scenario, reference, None), Ok(Seen::Wrong(_)))
    }

    /// What is beyond a bound.
    fn beyond(&self, scenario: &Scenario, result: &RunResult) -> Result<Option<Finding>, VenueError> {
        let own = Measured::of(scenario, result);
        let Bounds { longest_wait, idle, jain, reference, .. } = self.bounds;
        let waits = longest_wait.filter(|most| own.longest_wait.0 > most.ns() && !is_overloaded(scenario));
        let idles = idle.filter(|most| own.idle > *most);
        let shares = jain.filter(|least| own.jain.as_ref().is_some_and(|(jain, _)| jain < least));
        if waits.is_none() && idles.is_none() && shares.is_none() {
            return Ok(None);
        }
        let theirs = match reference {
            None => Measured::nothing(),
            Some(reference) => match self.run(scenario, reference, None)? {
                Seen::Result(result) => Measured::of(scenario, &result),
                _ => return Ok(None),
            },
        };
        // A reference that is nearly as bad says that the scenario asks for it.
        if let Some(most) = waits.filter(|_| own.longest_wait.0 > 2 * theirs.longest_wait.0) {
            return Ok(Some(Finding::new(Kind::LongWait, own.waits(most))));
        }
        if let Some(most) = idles.filter(|_| own.idle > 2.0 * theirs.idle) {
            return Ok(Some(Finding::new(Kind::IdleBesideWork, own.idles(most))));
        }
        let fairer = |jain: f64| theirs.jain.as_ref().is_none_or(|(theirs, _)| 1.0 - jain > 2.0 * (1.0 - theirs));
        match (shares, own.jain) {
            (Some(least), Some((jain, role))) if fairer(jain) => {
                Ok(Some(Finding::new(Kind::Unfair, unequal(jain, &role, least))))
            }
            _ => Ok(None),
        }
    }

    /// Whether the other executor gives another result, for some seeds.
    fn executors_differ(&self, scenario: &Scenario, result: &RunResult) -> Result<Option<Finding>, VenueError> {
        if !scenario.run.seed.is_none_or(|seed| seed.is_multiple_of(BOTH_EXECUTORS)) {
            return Ok(None);
        }
        let other = if self.policy.shipped { Executor::Interpreter } else { Executor::Machine };
        match self.run(scenario, self.policy, Some(other))? {
            Seen::Result(theirs) if *theirs == *result => Ok(None),
            Seen::Nothing => Ok(None),
            Seen::Result(_) => {
                let what = "the interpreter and machine code give different results".to_string();
                Ok(Some(Finding::new(Kind::ExecutorsDiffer, what)))
            }
            Seen::Wrong(finding) => {
                let what = format!("one executor ends well, the other with: {}", finding.what);
                Ok(Some(Finding::new(Kind::ExecutorsDiffer, what)))
            }
        }
    }

    fn run(&self, scenario: &Scenario, policy: &Policy, executor: Option<Executor>) -> Result<Seen, VenueError> {
        let workload = Arc::new(scenario.compile()?);
        let seed = workload.run.seed;
        let case = Case {
            workload,
            scenario_hash: String::new(),
            policy: policy.clone(),
            place: Place::new(VenueName::Sim, None, None),
            seeds: vec![seed],
            executor,
            check: true,
            costs: false,
            ears: Vec::new(),
            traces: Vec::new(),
            keeps: Keeps::Nothing,
        };
        let looks = Cell::new(0);
        let is_wanted = || looks.replace(looks.get() + 1) < LOOKS;
        let Ok(seen) = guarded(|| self.runner.seen(&case, 0, &is_wanted)) else {
            let what = "the simulator panics; `schedlab run` with this scenario and policy shows where".to_string();
            return Ok(Seen::Wrong(Finding::new(Kind::Panic, what)));
        };
        match seen {
            Ok(seen) if seen.run.result.partial => Ok(Seen::Nothing),
            Ok(seen) => Ok(Seen::Result(Box::new(seen.run.result))),
            Err(error) => judged(error),
        }
    }
}

/// What an error says about a policy.
fn judged(error: VenueError) -> Result<Seen, VenueError> {
    let told = error.to_string();
    match &error {
        VenueError::Failed(RunFailure::Unlawful { .. } | RunFailure::NotConserved { .. }) => {
            Ok(Seen::Wrong(Finding::new(Kind::Unlawful, told)))
        }
        VenueError::Failed(RunFailure::OnlyWarmup { .. }) => Ok(Seen::Nothing),
        VenueError::Failed(RunFailure::Run { error: run, .. }) => match &**run {
            RunError::Policy(failure) => {
                let kind = match failure.is_stall {
                    true => Kind::Stall,
                    false => Kind::of_fault(failure.operation, &failure.message),
                };
                Ok(Seen::Wrong(Finding::new(kind, failure.to_string())))
            }
            RunError::Stuck { .. }
            | RunError::Refused { .. }
            | RunError::TooManyTasks { .. }
            | RunError::Full { .. }
            | RunError::Standstill(_) => Ok(Seen::Nothing),
            _ => Err(error),
        },
        _ => Err(error),
    }
}

/// What bounds are about.
pub(crate) struct Measured {
    /// The longest wait, and its role.
    longest_wait: (u64, String),
    idle: f64,
    /// The least Jain index of equal tasks that only compute, and their role.
    jain: Option<(f64, String)>,
}

impl Measured {
    fn nothing() -> Measured {
        Measured { longest_wait: (0, String::new()), idle: 0.0, jain: None }
    }

    /// What is beyond the bound that a kind of finding is about, if it is.
    pub(crate) fn beyond(&self, kind: &Kind, bounds: &Bounds) -> Option<String> {
        match kind {
            Kind::LongWait => {
                bounds.longest_wait.filter(|most| self.longest_wait.0 > most.ns()).map(|most| self.waits(most))
            }
            Kind::IdleBesideWork => bounds.idle.filter(|most| self.idle > *most).map(|most| self.idles(most)),
            Kind::Unfair => {
                let (least, (jain, role)) = (bounds.jain?, self.jain.as_ref()?);
                (*jain < least).then(|| unequal(*jain, role, least))
            }
            _ => None,
        }
    }

    fn waits(&self, most: Time) -> String {
        let (waited, role) = (Time(self.longest_wait.0), &self.longest_wait.1);
        format!("a task of {role} waited {waited} for a CPU, more than {most}")
    }

    fn idles(&self, most: f64) -> String {
        let (idle, most) = (100.0 * self.idle, 100.0 * most);
        format!("CPUs idled {idle:.1} % of their time while tasks waited that could run there, more than {most:.1} %")
    }

    pub(crate) fn of(scenario: &Scenario, result: &RunResult) -> Measured {
        let waits = result.roles.iter().map(|role| (role.measures.longest_wait_ns.unwrap_or(0), role.name.clone()));
        let jain = |role: &schedlab_model::result::RoleResult| Some((role.jain_of_tasks?, role.name.clone()));
        let equal = result.roles.iter().filter(|role| is_of_equals(scenario, &role.name));
        Measured {
            longest_wait: waits.max().unwrap_or_default(),
            idle: metric::known("work_conservation_violation.frac").of(Part::Run(result)).unwrap_or(0.0),
            jain: equal.filter_map(jain).min_by(|a, b| a.0.total_cmp(&b.0)),
        }
    }
}

fn unequal(jain: f64, role: &str, least: f64) -> String {
    format!("equal tasks of {role} got unequal parts: Jain index {jain:.4}, less than {least:.4}")
}

/// Whether the tasks of a role are equal, and always want a CPU: only then theirs have to be equal parts.
fn is_of_equals(scenario: &Scenario, role: &str) -> bool {
    use schedlab_model::scenario::Step;
    let Some(task) = scenario.tasks.iter().find(|task| task.name == role) else { return false };
    let computes = |step: &Step| matches!(step, Step::Compute { .. });
    task.repeated.as_ref().is_some_and(|steps| steps.iter().all(computes)) && task.cpus.is_none()
}
