//! What came of the cases.

use crate::blocks::Blocks;
use crate::case::{Case, Experiment};
use crate::course;
use crate::measure::{self, Responses};
use crate::section;
use crate::statuses::{self, Statuses};
use schedlab_campaign::{Errors, Made, RunSet, Runner, Seen};
use schedlab_metrics::curve::Curve;
use schedlab_model::outcome::Outcome;
use schedlab_views::course::Course;
use serde::de::DeserializeOwned;

/// Why nothing can be estimated of a run that is too short.
pub const TOO_SHORT: &str = "a task did not end a single computation";

/// What was seen of a case.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The result.
    pub result: Outcome,
    /// All response times of each run.
    pub responses: Vec<Responses>,
    /// What the policy said in each run.
    pub statuses: Vec<Statuses>,
    /// How each run went over time.
    pub courses: Vec<Course>,
    /// How the response times of each role are distributed, in the order of the result's roles.
    pub curves: Vec<Curve>,
    /// Computations per second of each run, where overhead is estimated.
    pub rates: Vec<f64>,
    /// How long a piece of work took in each run, in nanoseconds, where work is calibrated: a computation is that much longer
    /// or shorter there.
    pub pieces: Vec<Option<f64>>,
    /// The part of the CPU time that other programs took in each run, as far as that is known.
    pub taken: Vec<f64>,
    /// The same under other seeds, or with small changes.
    pub further: Vec<Observed>,
}

impl Observed {
    /// How the response times of a role are distributed; of the first role that has some, where none is named.
    pub fn responses_of(&self, role: Option<&str>) -> Option<&Curve> {
        let roles = self.result.roles();
        let roles = roles.iter().zip(&self.curves).filter(|(_, curve)| !curve.points().is_empty());
        roles
            .into_iter()
            .find(|(own, _)| role.is_none_or(|name| name == "*" || own.name == name))
            .map(|(_, curve)| curve)
    }

    /// What was seen itself (0), or in one of the further runs.
    pub fn under(&self, further: usize) -> Option<&Observed> {
        further.checked_sub(1).map_or(Some(self), |index| self.further.get(index))
    }
}

/// What came of a case.
pub enum CaseOutcome {
    /// Its runs put together.
    Ran(Box<Observed>),
    /// It could not be run here, or failed: why.
    NotRun(String),
}

impl CaseOutcome {
    /// Why it was not run, if so.
    pub fn why_not(&self) -> Option<&str> {
        match self {
            CaseOutcome::Ran(_) => None,
            CaseOutcome::NotRun(why) => Some(why),
        }
    }
}

/// Has the cases run, those from before too, and puts together what was seen of each. Where an estimate of overhead lacks
/// blocks, more are made.
pub fn carry_out(experiment: &Experiment, runner: &Runner) -> Vec<CaseOutcome> {
    let of_case = |case: &Case| std::iter::once(case.runs.clone()).chain(case.further.clone()).collect::<Vec<_>>();
    let cases: Vec<_> = experiment.cases.iter().flat_map(of_case).collect();
    let mut made = runner.carry_out(&cases, Errors::EndCases).expect("an error ends its own case only").into_iter();
    let mut blocks = Blocks::default();
    let outcome = |(index, case): (usize, &Case)| {
        let own = made.next().map_or(Err("it was not planned".into()), |made| whole(case.runs.seeds.len(), made));
        let further = case.further.iter().zip(made.by_ref()).map(|(runs, made)| whole(runs.seeds.len(), made));
        // Of those that failed nothing is said: their opponents in the comparison do.
        let further: Vec<Vec<Seen>> = further.filter_map(Result::ok).collect();
        let further: Vec<Observed> = further.into_iter().filter_map(|seen| together(case, seen).ok()).collect();
        let own = own.and_then(|seen| {
            blocks.note(index, case, &seen);
            together(case, seen)
        });
        match own {
            Ok(own) => CaseOutcome::Ran(Box::new(Observed { further, ..own })),
            Err(why) => CaseOutcome::NotRun(why),
        }
    };
    let mut outcomes: Vec<CaseOutcome> = experiment.cases.iter().enumerate().map(outcome).collect();
    while blocks.add(experiment, runner, &mut outcomes) {}
    outcomes
}

/// The runs of a case, of which `wanted` were asked for; the reason where there is nothing.
pub(crate) fn whole(wanted: usize, made: Made) -> Result<Vec<Seen>, String> {
    match made {
        Made::Failed(error) => Err(error.to_string()),
        Made::Ran(seen) if seen.iter().any(|seen| seen.run.result.partial) => Err("stopped before its end".into()),
        Made::Ran(seen) if seen.len() == wanted => Ok(seen),
        Made::Ran(_) | Made::NotBegun => Err("stopped before it was run".into()),
    }
}

/// The runs of a case as one.
pub(crate) fn together(case: &Case, seen: Vec<Seen>) -> Result<Observed, String> {
    let rates = match &case.asked.overhead {
        Some(overhead) => rates(&seen, &section::name(&overhead.role))?,
        None => Vec::new(),
    };
    let piece = |seen: &Seen| seen.run.result.calibration.as_ref().map(|calibration| calibration.ns_per_piece);
    let pieces = seen.iter().map(piece).collect();
    let taken = |seen: &Seen| seen.run.result.others.as_ref().and_then(|others| others.part_taken).unwrap_or(0.0);
    let taken = seen.iter().map(taken).collect();
    let responses = seen.iter().filter_map(|seen| heard(seen, measure::NAME)).collect();
    let statuses = seen.iter().filter_map(|seen| heard(seen, statuses::NAME)).collect();
    let courses = seen.iter().filter_map(|seen| heard(seen, course::NAME)).collect();
    let wanted = seen.len();
    let set = RunSet::of(seen, wanted);
    let curves = set.curves.into_iter().map(|curves| curves.response).collect();
    Ok(Observed { result: set.result, responses, statuses, courses, curves, rates, pieces, taken, further: Vec::new() })
}

/// What an ear heard of a run.
fn heard<T: DeserializeOwned>(seen: &Seen, name: &str) -> Option<T> {
    // Whatever was kept was heard by the same program.
    seen.heard.get(name).and_then(|heard| serde_json::from_value(heard.clone()).ok())
}

/// Computations per second of each run.
fn rates(seen: &[Seen], name: &str) -> Result<Vec<f64>, String> {
    let rate = |seen| heard::<Option<f64>>(seen, name).flatten();
    let rates: Option<Vec<f64>> = seen.iter().map(rate).collect();
    rates.ok_or_else(|| TOO_SHORT.into())
}
