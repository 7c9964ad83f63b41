//! Runs the cases: those in simulated time side by side, the others one after the other, and each run only once for ever.

use crate::cache::Cache;
use crate::case::{Case, Experiment};
use crate::measure::Responses;
use schedlab_model::result::RunResult;
use schedlab_model::trace::Sink;
use schedlab_venue::{Monitor, Request, Watch, merge, spread};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// What was seen in a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Observed {
    /// The result.
    pub result: RunResult,
    /// All response times.
    pub responses: Responses,
    /// The result as a tree, made when it is first asked for.
    #[serde(skip)]
    tree: OnceLock<Value>,
}

impl Observed {
    /// The result as a tree of JSON.
    pub fn tree(&self) -> &Value {
        self.tree.get_or_init(|| serde_json::to_value(&self.result).expect("a result has a form in JSON"))
    }
}

/// What came of a case.
pub enum CaseOutcome {
    /// Its runs put together.
    Ran(Box<Observed>),
    /// It could not be run here, or failed: why.
    NotRun(String),
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
        (0..jobs.len()).partition(|&index| jobs[index].case.venue().is_shareable());
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

/// The runs of a case as one.
fn together(made: Vec<Option<Result<Observed, String>>>) -> CaseOutcome {
    let wanted = made.len();
    let runs: Result<Vec<Observed>, String> = made.into_iter().flatten().collect();
    match runs {
        Err(why) => CaseOutcome::NotRun(why),
        Ok(runs) if runs.len() < wanted => CaseOutcome::NotRun("stopped before it was run".into()),
        Ok(runs) => {
            let result = merge(&runs.iter().map(|run| &run.result).collect::<Vec<_>>(), wanted);
            let mut responses = Responses::default();
            runs.iter().for_each(|run| responses.add(&run.responses));
            CaseOutcome::Ran(Box::new(Observed { result, responses, tree: OnceLock::new() }))
        }
    }
}

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
        if let (Some(cache), false) = (cache, observed.result.partial) {
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
        let mut responses = crate::measure::Listener::new(&case.workload);
        let sink = case.listens.then_some(&mut responses as &mut dyn Sink);
        let mut watch = Watch::new(monitor, &|| true);
        let run = case.venue().run(&request, sink, &mut watch).map_err(|error| error.to_string())?;
        match run.result.partial {
            true => Err("stopped before its end".into()),
            false => Ok(Observed { result: run.result, responses: responses.end(), tree: OnceLock::new() }),
        }
    }
}
