//! Runs the cases: those in simulated time side by side, the others one after the other, and each run only once for ever.

use crate::cache::Cache;
use crate::case::{Case, Experiment};
use crate::measure::{Listener, Responses};
use crate::section::Section;
use crate::statuses::{Hearer, Statuses};
use schedlab_metrics::combine::combine;
use schedlab_metrics::curve::Curve;
use schedlab_model::outcome::Outcome;
use schedlab_model::rng::Rng;
use schedlab_model::trace::Sink;
use schedlab_venue::{Monitor, Request, Watch, spread};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was seen in a run, or in several.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Observed {
    /// The result.
    pub result: Outcome,
    /// All response times of each run.
    pub responses: Vec<Responses>,
    /// What the policy said in each run.
    #[serde(default)]
    pub statuses: Vec<Statuses>,
    /// How the response times of each group are distributed, in the order of the result's groups.
    #[serde(default)]
    pub curves: Vec<Curve>,
    /// Computations per second of each run, where overhead is estimated.
    #[serde(default)]
    pub rates: Vec<f64>,
}

impl Observed {
    /// How the response times of a group are distributed; of the first group that has some, where none is named.
    pub fn responses_of(&self, group: Option<&str>) -> Option<&Curve> {
        let groups = self.result.groups();
        let groups = groups.iter().zip(&self.curves).filter(|(_, curve)| !curve.points().is_empty());
        groups
            .into_iter()
            .find(|(own, _)| group.is_none_or(|name| name == "*" || own.name == name))
            .map(|(_, curve)| curve)
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

/// Runs what is not known yet. What is known comes from the cache; what is new goes there.
pub fn carry_out(
    experiment: &Experiment,
    cache: Option<&Cache>,
    threads: usize,
    monitor: &Monitor,
) -> Vec<CaseOutcome> {
    let jobs: Vec<Job> =
        experiment.cases.iter().flat_map(|case| case.seeds.iter().map(|&seed| Job { case, seed })).collect();
    let (simulated, real): (Vec<usize>, Vec<usize>) =
        (0..jobs.len()).partition(|&index| jobs[index].case.place.venue().is_shareable());
    let real = interleaved(real, &jobs);
    let made = |index: usize| (!monitor.is_stopped()).then(|| jobs[index].outcome(cache, monitor));
    let mut all: BTreeMap<usize, Option<Result<Observed, String>>> = BTreeMap::new();
    // A real machine is measured when nothing else runs on it.
    for (indices, threads) in [(simulated, threads), (real, 1)] {
        let outcomes = spread(threads, indices.len(), |place| made(indices[place]));
        all.extend(indices.into_iter().zip(outcomes));
    }
    let mut made = all.into_values();
    experiment.cases.iter().map(|case| together(made.by_ref().take(case.seeds.len()).collect())).collect()
}

/// Round by round, each round in an order of its own: what changes slowly on a machine then touches all cases alike.
fn interleaved(mut indices: Vec<usize>, jobs: &[Job]) -> Vec<usize> {
    let place = |&index: &usize| {
        let Job { case, seed } = jobs[index];
        let round = case.seeds.iter().position(|own| *own == seed);
        (round, Rng::split(seed, &format!("{} {} {:?}", case.run, case.policy_name, case.at)).next_u64())
    };
    indices.sort_by_key(place);
    indices
}

/// The runs of a case as one.
fn together(made: Vec<Option<Result<Observed, String>>>) -> CaseOutcome {
    let wanted = made.len();
    let runs: Result<Vec<Observed>, String> = made.into_iter().flatten().collect();
    match runs {
        Err(why) => CaseOutcome::NotRun(why),
        Ok(runs) if runs.len() < wanted => CaseOutcome::NotRun("stopped before it was run".into()),
        Ok(runs) => {
            let results: Vec<_> = runs.iter().filter_map(|run| run.result.as_one()).collect();
            let result = combine(&results, wanted);
            let groups = 0..result.groups().len();
            let curves = groups.map(|group| Curve::mean(runs.iter().filter_map(|run| run.curves.get(group)))).collect();
            let rates = runs.iter().flat_map(|run| run.rates.iter().copied()).collect();
            let (responses, statuses): (Vec<_>, Vec<_>) =
                runs.into_iter().map(|run| (run.responses, run.statuses)).unzip();
            let (responses, statuses) = (responses.concat(), statuses.concat());
            CaseOutcome::Ran(Box::new(Observed { result, responses, statuses, curves, rates }))
        }
    }
}

#[derive(Clone, Copy)]
struct Job<'a> {
    case: &'a Case,
    seed: u64,
}

impl Job<'_> {
    fn outcome(&self, cache: Option<&Cache>, monitor: &Monitor) -> Result<Observed, String> {
        if let Some(known) = cache.and_then(|cache| cache.find(self.case, self.seed)) {
            return Ok(known);
        }
        let observed = self.run(monitor)?;
        if let (Some(cache), false) = (cache, observed.result.is_partial()) {
            cache
                .keep(self.case, self.seed, &observed)
                .map_err(|error| format!("cannot keep what was seen: {error}"))?;
        }
        Ok(observed)
    }

    fn run(&self, monitor: &Monitor) -> Result<Observed, String> {
        let Job { case, seed } = *self;
        let request = Request {
            workload: &case.workload,
            scenario_hash: &case.scenario_hash,
            policy: &case.policy,
            seed,
            executor: None,
            check: false,
        };
        let mut responses = case.asked.responses.then(|| Listener::new(&case.workload));
        let mut section = case.asked.overhead.as_ref().map(|overhead| Section::new(&case.workload, &overhead.group));
        let mut statuses = case.asked.statuses.then(|| Hearer::new(&case.workload));
        let is_heard = responses.is_some() || statuses.is_some() || section.is_some();
        let mut sinks = ((responses.as_mut(), statuses.as_mut()), section.as_mut());
        let sink = is_heard.then_some(&mut sinks as &mut dyn Sink);
        let mut watch = Watch::new(monitor, &|| true);
        let run = case.place.venue().run(&request, sink, &mut watch).map_err(|error| error.to_string())?;
        if run.result.partial {
            return Err("stopped before its end".into());
        }
        let rate = section.map(|section| section.rate_per_s().ok_or("a task did not end a single computation"));
        let rates = rate.transpose()?.into_iter().collect();
        let responses = responses.map(Listener::end).into_iter().collect();
        let statuses = statuses.map(Hearer::end).into_iter().collect();
        let curves = run.curves.into_iter().map(|curves| curves.response).collect();
        Ok(Observed { result: run.result.into(), responses, statuses, curves, rates })
    }
}
