//! Runs the cases: those in simulated time side by side, the others one after the other, and each run only once for ever.

use crate::cache::Cache;
use crate::case::{Case, Experiment};
use crate::language::Place;
use crate::measure::Responses;
use schedlab_model::result::RunResult;
use schedlab_model::time::Time;
use schedlab_model::trace::Sink;
use schedlab_venue::{Control, Monitor, Request, merge};
use serde::{Deserialize, Serialize};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What was seen in a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Observed {
    /// The result.
    pub result: RunResult,
    /// All response times.
    pub responses: Responses,
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
    let slots: Vec<Mutex<Option<Result<Observed, String>>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let work = |next: &AtomicUsize, shared: bool| {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(index) else { return };
            if (job.case.place == Place::Sim) == shared && !monitor.is_stopped() {
                *slots[index].lock().expect("nobody else has this job") = Some(job.outcome(cache, monitor));
            }
        }
    };
    let (simulated, real) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| work(&simulated, true));
        }
    });
    // A real machine is measured when nothing else runs on it.
    work(&real, false);
    let mut made = slots.into_iter().map(|slot| slot.into_inner().expect("a job that panics ends the scope"));
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
            CaseOutcome::Ran(Box::new(Observed { result, responses }))
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
        let mut watch = Watch { monitor, done_ns: 0 };
        let run = case.venue().run(&request, sink, &mut watch).map_err(|error| error.to_string())?;
        match run.result.partial {
            true => Err("stopped before its end".into()),
            false => Ok(Observed { result: run.result, responses: responses.end() }),
        }
    }
}

/// Tells how far a run is, and ends it early when that is wanted.
struct Watch<'a> {
    monitor: &'a Monitor,
    done_ns: u64,
}

impl Control for Watch<'_> {
    fn go_on(&mut self, now: Time) -> bool {
        self.monitor.add_done(now.ns().saturating_sub(self.done_ns));
        self.done_ns = self.done_ns.max(now.ns());
        !self.monitor.is_stopped()
    }
}
