//! Several policies under several seeds, spread over threads.

use crate::monitor::Watch;
use crate::spread::spread;
use crate::{Executor, Monitor, Policy, Request, Run, Venue, VenueError, VmError};
use schedlab_metrics::combine::combine;
use schedlab_metrics::curve::{Curve, GroupCurves};
use schedlab_model::{
    outcome::Outcome,
    result::RunResult,
    rng::Rng,
    time::Time,
    trace::{Event, Sink},
    workload::Workload,
};
use schedlab_trace::{Header, Writer};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Runs to be made: every policy under every seed.
pub struct Plan<'a> {
    /// Where.
    pub venue: &'a dyn Venue,
    /// What the tasks do, and on what machine.
    pub workload: &'a Workload,
    /// The hash of the scenario behind the workload.
    pub scenario_hash: &'a str,
    /// Who decides.
    pub policies: &'a [Policy],
    /// The seeds, at least one; see [`seeds`].
    pub seeds: &'a [u64],
    /// How many runs may happen at once; the results do not depend on it.
    pub threads: usize,
    /// See [`Request`].
    pub executor: Option<Executor>,
    /// See [`Request`].
    pub check: bool,
    /// Trace files to write of the first run under the first policy.
    pub traces: &'a [PathBuf],
    /// Who hears the events of the first run of each policy, in their order; nobody where there are fewer.
    pub listeners: &'a [Listener<'a>],
}

/// Hears the events of a run, on whatever thread that happens.
pub type Listener<'a> = Mutex<&'a mut (dyn Sink + Send)>;

/// What came of one policy.
#[derive(Debug)]
pub enum PolicyOutcome {
    /// Its runs.
    Ran(Box<RunSet>),
    /// It failed: it made an error, or let tasks starve. That says nothing about the other policies.
    Failed(VenueError),
    /// The plan was stopped before its first run.
    NotBegun,
}

/// All runs under one policy.
#[derive(Clone, Debug)]
pub struct RunSet {
    /// The runs put together.
    pub result: Outcome,
    /// Each run, in the order of the seeds.
    pub runs: Vec<Run>,
    /// How the times of each group are distributed: the means of the runs' curves.
    pub curves: Vec<GroupCurves>,
}

/// The seeds of `count` runs: the base itself, then numbers split off from it by name. They fit into 53 bits, so that
/// every reader of JSON sees them exactly.
pub fn seeds(base: u64, count: u32) -> Vec<u64> {
    let derived = |run| Rng::split(base, &format!("run/{run}")).next_u64() >> 11;
    (0..count).map(|run| if run == 0 { base } else { derived(run) }).collect()
}

impl Plan<'_> {
    /// Makes all runs and says for each policy, in order, what came of it. When `monitor` stops them, what has not begun
    /// is missing: a set then has the runs that came to their end, or else the one that was cut short.
    ///
    /// # Errors
    ///
    /// Anything but the failure of a policy.
    pub fn carry_out(&self, monitor: &Monitor) -> Result<Vec<PolicyOutcome>, VenueError> {
        let jobs = self.policies.len() * self.seeds.len();
        let state = State { failed: Failures::new(self.policies.len()), monitor };
        let threads = if self.venue.is_shareable() { self.threads } else { 1 };
        let mut made = spread(threads, jobs, |job| self.made(job, &state)).into_iter();
        let runs = |_| made.by_ref().take(self.seeds.len()).collect::<Vec<_>>();
        let by_policy: Vec<_> = self.policies.iter().map(runs).collect();
        by_policy.into_iter().map(|made| self.outcome(made)).collect()
    }

    /// What came of one policy.
    fn outcome(&self, made: Vec<Option<Result<Run, VenueError>>>) -> Result<PolicyOutcome, VenueError> {
        let mut runs: Vec<Run> = Vec::new();
        for result in made.into_iter().flatten() {
            match result {
                Ok(run) => runs.push(run),
                Err(error) if error.is_failure_of_policy() => return Ok(PolicyOutcome::Failed(error)),
                Err(error) => return Err(error),
            }
        }
        if runs.iter().any(|run| !run.result.partial) {
            runs.retain(|run| !run.result.partial);
        } else {
            runs.truncate(1);
        }
        let results: Vec<&RunResult> = runs.iter().map(|run| &run.result).collect();
        if results.is_empty() {
            return Ok(PolicyOutcome::NotBegun);
        }
        let result = combine(&results, self.seeds.len());
        let curves = (0..results[0].groups.len()).map(|group| mean_curves(&runs, group)).collect();
        Ok(PolicyOutcome::Ran(Box::new(RunSet { result, runs, curves })))
    }

    /// What came of a job; nothing where it need not be done. The job with the lowest number decides which error is told,
    /// so those before a failed one are still made.
    fn made(&self, job: usize, state: &State) -> Option<Result<Run, VenueError>> {
        let policy = job / self.seeds.len();
        let stopped = job > 0 && state.monitor.is_stopped();
        if stopped || state.failed.is_idle(job, policy) {
            return None;
        }
        let result = self.job(job, policy, state);
        if matches!(result, Err(VenueError::Vm(VmError::Stopped))) {
            // A guest that was stopped half way has told nothing yet.
            return None;
        }
        if let Err(error) = &result {
            state.failed.note(job, policy, error.is_failure_of_policy());
        }
        Some(result)
    }

    fn job(&self, job: usize, number: usize, state: &State) -> Result<Run, VenueError> {
        let policy = &self.policies[number];
        let seed = self.seeds[job % self.seeds.len()];
        let request = Request {
            workload: self.workload,
            scenario_hash: self.scenario_hash,
            policy,
            seed,
            executor: self.executor,
            check: self.check,
        };
        let is_wanted = || !state.failed.is_idle(job, number);
        let mut watch = Watch::new(state.monitor, &is_wanted);
        let mut files = if job == 0 { self.open_traces(policy, seed)? } else { Files(Vec::new()) };
        let listener = self.listeners.get(number).filter(|_| job.is_multiple_of(self.seeds.len()));
        let mut listener = listener.map(|listener| listener.lock().unwrap_or_else(PoisonError::into_inner));
        let is_heard = listener.is_some() || !files.0.is_empty();
        let mut sinks = (listener.as_mut().map(|listener| &mut ***listener), &mut files);
        let mut run = self.venue.run(&request, is_heard.then_some(&mut sinks as &mut dyn Sink), &mut watch)?;
        run.unwritten = files.close();
        watch.done(self.workload.run.end().map_or(run.result.duration_ns, Time::ns));
        Ok(run)
    }

    fn open_traces(&self, policy: &Policy, seed: u64) -> Result<Files, VenueError> {
        let mut header = Header::of(self.workload, &policy.info.name, self.venue.name());
        header.seed = seed;
        let writers = self.traces.iter().map(|path| Writer::create(path, &header));
        Ok(Files(writers.collect::<Result<_, _>>()?))
    }
}

/// The means of the curves of a group.
fn mean_curves(runs: &[Run], group: usize) -> GroupCurves {
    let mean = |of: fn(&GroupCurves) -> &Curve| Curve::mean(runs.iter().map(|run| of(&run.curves[group])));
    GroupCurves { response: mean(|curves| &curves.response), wakeup_latency: mean(|curves| &curves.wakeup_latency) }
}

/// What the threads share.
struct State<'a> {
    failed: Failures,
    monitor: &'a Monitor,
}

/// The lowest jobs that failed: those after them need not be made.
struct Failures {
    /// For each policy, where the policy itself failed.
    of_policies: Vec<AtomicUsize>,
    /// Where anything else did.
    of_all: AtomicUsize,
}

impl Failures {
    fn new(policies: usize) -> Failures {
        let none = || AtomicUsize::new(usize::MAX);
        Failures { of_policies: (0..policies).map(|_| none()).collect(), of_all: none() }
    }

    fn note(&self, job: usize, policy: usize, of_policy: bool) {
        let failed = if of_policy { &self.of_policies[policy] } else { &self.of_all };
        failed.fetch_min(job, Ordering::Relaxed);
    }

    /// Whether nobody needs the job any more.
    fn is_idle(&self, job: usize, policy: usize) -> bool {
        job > self.of_all.load(Ordering::Relaxed) || job > self.of_policies[policy].load(Ordering::Relaxed)
    }
}

/// Trace files that are written at once.
struct Files(Vec<Writer>);

impl Files {
    /// Gives them their names, and says which could not be written and why: that is no reason to lose the run.
    fn close(self) -> Vec<String> {
        self.0.into_iter().filter_map(|file| Some(file.close().err()?.to_string())).collect()
    }
}

impl Sink for Files {
    fn event(&mut self, event: &Event) {
        self.0.iter_mut().for_each(|file| file.event(event));
    }
    fn finish(&mut self, end: Time) {
        self.0.iter_mut().for_each(|file| file.finish(end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorClass, SimVenue};
    use schedlab_model::scenario::Scenario;
    use schedlab_policy::PolicySpec;

    fn workload(cpus: u32) -> Workload {
        let text = format!(
            "name = \"w\"\n[machine]\ncpus = {cpus}\n[[task]]\nname = \"t\"\ncount = 3\nstart_on = 0\n\
             loop = [{{ compute = \"exp(3ms)\" }}, {{ sleep = \"2ms\" }}]\n[run]\nduration = \"300ms\"\n"
        );
        Scenario::parse(&text, "test").unwrap().compile().unwrap()
    }

    fn policies(text: &str) -> Vec<Policy> {
        PolicySpec::parse_list(text).unwrap().iter().map(|spec| Policy::find(spec).unwrap()).collect()
    }

    fn sets(outcomes: Vec<PolicyOutcome>) -> Vec<RunSet> {
        let ran = |outcome| if let PolicyOutcome::Ran(set) = outcome { Some(*set) } else { None };
        outcomes.into_iter().filter_map(ran).collect()
    }

    fn plan<'a>(workload: &'a Workload, policies: &'a [Policy], seeds: &'a [u64]) -> Plan<'a> {
        let (scenario_hash, traces) = ("00", &[][..]);
        let venue = &SimVenue;
        Plan {
            venue,
            workload,
            scenario_hash,
            policies,
            seeds,
            threads: 1,
            executor: None,
            check: true,
            traces,
            listeners: &[],
        }
    }

    #[test]
    fn seeds_begin_with_the_base_and_are_readable_by_all() {
        let many = seeds(u64::MAX, 5);
        assert_eq!((many[0], seeds(u64::MAX, 2)[1]), (u64::MAX, many[1]));
        assert!(many[1..].iter().all(|&seed| seed < 1 << 53));
        assert!((1..5).all(|run| !many[..run].contains(&many[run])), "{many:?}");
    }

    #[test]
    fn sets_come_in_order_whatever_the_number_of_threads() {
        let (workload, policies, seeds) = (workload(2), policies("rr,rr:quantum=1ms,ps,ideal-fcfs"), seeds(1, 4));
        let alone = sets(plan(&workload, &policies, &seeds).carry_out(&Monitor::default()).unwrap());
        let monitor = Monitor::default();
        let together = Plan { threads: 5, ..plan(&workload, &policies, &seeds) };
        let together = sets(together.carry_out(&monitor).unwrap());
        assert_eq!(monitor.done_ns(), 4 * 4 * 300_000_000);
        assert_eq!(alone.len(), 4);
        for (policy, (a, b)) in policies.iter().zip(alone.iter().zip(&together)) {
            assert_eq!(a.result, b.result, "{}", policy.label);
            assert_eq!((a.result.policy(), a.runs.len()), (&policy.info, 4));
            assert_eq!(a.result.seeds(), seeds);
            assert!(a.result.groups()[0].metrics.value("response_ns.mean").unwrap().interval.is_some());
        }
    }

    #[test]
    fn what_has_not_begun_is_missing_after_a_stop() {
        let (workload, policies, seeds) = (workload(1), policies("rr,ps"), seeds(1, 3));
        let monitor = Monitor::default();
        monitor.stop();
        let plan = plan(&workload, &policies, &seeds);
        let outcomes = plan.carry_out(&monitor).unwrap();
        assert!(matches!(outcomes[1], PolicyOutcome::NotBegun));
        let set = &sets(outcomes)[0];
        assert!(set.runs.len() == 1 && set.result.is_partial());
    }

    #[test]
    fn a_policy_that_fails_does_not_touch_the_others() {
        let mut workload = workload(1);
        // Tasks that never block starve the others under fcfs, which a kernel does not suffer for more than 30 s.
        workload.groups[0].program.steps.truncate(2);
        workload.groups[0].program.steps.push(schedlab_model::workload::Step::RequestEnd);
        workload.run.duration = Time::from_s(31);
        let (policies, seeds) = (policies("rr,fcfs,ps"), seeds(1, 2));
        for threads in [1, 4] {
            let outcomes =
                Plan { threads, ..plan(&workload, &policies, &seeds) }.carry_out(&Monitor::default()).unwrap();
            let [PolicyOutcome::Ran(_), PolicyOutcome::Failed(error), PolicyOutcome::Ran(_)] = outcomes.as_slice()
            else {
                panic!("{outcomes:?}")
            };
            assert_eq!(error.class(), ErrorClass::Failed);
            assert!(error.to_string().starts_with("policy fcfs: the policy failed at 30s"), "{error}");
        }
    }

    #[test]
    fn the_first_of_several_failures_is_told() {
        let mut workload = workload(2);
        let policies = policies("rr,ps,fb");
        // Fluid disciplines divide all CPUs among all tasks.
        workload.groups[0].cpus = [schedlab_model::ids::CpuId(0)].into_iter().collect();
        let seeds = seeds(1, 2);
        for threads in [1, 4] {
            let plan = Plan { threads, ..plan(&workload, &policies, &seeds) };
            let error = plan.carry_out(&Monitor::default()).unwrap_err();
            assert_eq!(error.class(), ErrorClass::WrongInput);
            assert!(error.to_string().starts_with("policy ps: "), "{error}");
        }
    }
}
