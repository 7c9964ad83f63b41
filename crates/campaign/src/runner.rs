//! Makes runs: those in simulated time side by side, those on a real machine one after the other and round by round,
//! each only once where there is a cache.

use crate::cache::Cache;
use crate::case::{Case, Keeps};
use crate::ear::{Heard, Hearers};
use crate::spread::spread;
use schedlab_model::rng::Rng;
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, Sink};
use schedlab_trace::{Header, Writer};
use schedlab_venue::{ErrorClass, Monitor, Request, Run, Venue, VenueError, Watch};
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// Makes runs.
pub struct Runner<'a> {
    /// What is known from before; nothing where it is not asked.
    pub cache: Option<&'a Cache>,
    /// How many runs in simulated time may happen at once; the results do not depend on it.
    pub threads: usize,
    /// Shows progress, and can stop the runs.
    pub monitor: &'a Monitor,
    venues: Mutex<BTreeMap<String, Arc<dyn Venue>>>,
    known: Mutex<Known>,
    unkept: Mutex<Option<io::Error>>,
    untraced: Mutex<Vec<String>>,
}

/// Runs that came from the cache.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    /// How many.
    pub runs: usize,
    /// When the oldest of those in real time was made: it measured the machine as it was then.
    pub measured_since: Option<SystemTime>,
}

/// What was seen of a run.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The run.
    pub run: Run,
    /// What was heard of it.
    pub heard: Heard,
    /// When it was made, where it is known from before.
    pub since: Option<SystemTime>,
}

/// What came of a case.
#[derive(Debug)]
pub enum Made {
    /// Its runs in the order of the seeds: those that came to their end, or else the one that was cut short.
    Ran(Vec<Seen>),
    /// Its first error. That says nothing about the other cases.
    Failed(VenueError),
    /// It was stopped before its first run.
    NotBegun,
}

/// What an error ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errors {
    /// The case that made it.
    EndCases,
    /// Everything, except for the failure of a policy: that is a finding about this policy.
    EndAll,
}

impl<'a> Runner<'a> {
    /// One that has made nothing yet.
    pub fn new(cache: Option<&'a Cache>, threads: usize, monitor: &'a Monitor) -> Runner<'a> {
        Runner {
            cache,
            threads,
            monitor,
            venues: Mutex::default(),
            known: Mutex::default(),
            unkept: Mutex::default(),
            untraced: Mutex::default(),
        }
    }

    /// Makes all runs and says for each case, in order, what came of it. When the monitor stops them, what has not begun
    /// is missing.
    ///
    /// # Errors
    ///
    /// What ends everything.
    pub fn carry_out(&self, cases: &[Case], errors: Errors) -> Result<Vec<Made>, VenueError> {
        let jobs: Vec<Job> = jobs(cases);
        let failed = Failures::new(cases.len());
        let (simulated, real): (Vec<usize>, Vec<usize>) =
            (0..jobs.len()).partition(|&index| self.venue(jobs[index].case).is_shareable());
        let real = interleaved(real, &jobs);
        let made = |index: usize| self.made(index, &jobs[index], &failed, errors);
        let mut all = BTreeMap::new();
        // A real machine is measured when nothing else runs on it.
        for (indices, threads) in [(simulated, self.threads), (real, 1)] {
            let outcomes = spread(threads, indices.len(), |place| made(indices[place]));
            all.extend(indices.into_iter().zip(outcomes));
        }
        let mut made = all.into_values();
        let outcome = |case: &Case| outcome(made.by_ref().take(case.seeds.len()).collect(), errors);
        let outcomes = cases.iter().map(outcome).collect::<Result<Vec<_>, _>>()?;
        if !self.monitor.is_stopped() {
            self.forget(cases);
        }
        Ok(outcomes)
    }

    /// What was seen of one run of a case, by its place among the seeds: from the cache, or made now. The run ends
    /// early when it is not wanted any more.
    ///
    /// # Errors
    ///
    /// Whatever can go wrong with a run.
    pub fn seen(&self, case: &Case, run: usize, is_wanted: &dyn Fn() -> bool) -> Result<Seen, VenueError> {
        let is_traced = run == 0 && !case.traces.is_empty();
        let name = self.cache.and_then(|cache| Some((cache, cache.name(case, case.seeds[run])?)));
        if let Some((cache, name)) = name.as_ref().filter(|_| !is_traced) {
            let ears: Vec<String> = case.ears_of(run).map(|ear| ear.name()).collect();
            if let Some((kept, since)) = cache.find(name, ears.iter().map(String::as_str)) {
                self.monitor.add_done(case.duration().map_or(kept.run.result.duration_ns, Time::ns));
                self.note_known(case, since);
                return Ok(Seen { run: kept.run, heard: kept.heard, since: Some(since) });
            }
        }
        let seen = self.make(case, run, is_wanted)?;
        if let Some((cache, name)) = name.filter(|_| !seen.run.result.partial)
            && let Err(error) = cache.keep(&name, &seen.run, &seen.heard)
        {
            self.unkept.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
        Ok(seen)
    }

    /// How many of a case's runs are kept: making the case makes the others only.
    pub fn kept(&self, case: &Case) -> usize {
        let is_kept = |&run: &usize| {
            let ears: Vec<String> = case.ears_of(run).map(|ear| ear.name()).collect();
            let name = self.cache.and_then(|cache| Some((cache, cache.name(case, case.seeds[run])?)));
            name.is_some_and(|(cache, name)| cache.find(&name, ears.iter().map(String::as_str)).is_some())
        };
        (0..case.seeds.len()).filter(is_kept).count()
    }

    /// What came from the cache.
    pub fn known(&self) -> Known {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_known(&self, case: &Case, since: SystemTime) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.runs += 1;
        if !case.repeats() {
            known.measured_since = Some(known.measured_since.map_or(since, |oldest| oldest.min(since)));
        }
    }

    /// Why something could not be kept, if so.
    pub fn unkept(&self) -> Option<String> {
        self.unkept.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(ToString::to_string)
    }

    /// Traces of runs that failed, each with why it could not be written.
    pub fn untraced(&self) -> Vec<String> {
        self.untraced.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn make(&self, case: &Case, run: usize, is_wanted: &dyn Fn() -> bool) -> Result<Seen, VenueError> {
        let seed = case.seeds[run];
        let request = Request {
            workload: &case.workload,
            scenario_hash: &case.scenario_hash,
            policy: &case.policy,
            seed,
            executor: case.executor,
            check: case.check,
            costs: case.costs,
        };
        let mut watch = Watch::new(self.monitor, is_wanted);
        let mut files = if run == 0 { open_traces(case, seed)? } else { Files(Vec::new()) };
        let mut hearers = Hearers(case.ears_of(run).map(|ear| (ear.name(), ear.listen(&case.workload))).collect());
        let is_heard = !hearers.0.is_empty() || !files.0.is_empty();
        let mut sinks = (&mut hearers, &mut files);
        let sink = is_heard.then_some(&mut sinks as &mut dyn Sink);
        let made = self.venue(case).run(&request, sink, &mut watch);
        let mut made = made.inspect_err(|error| {
            // What a simulated policy did before it failed is what its author wants to see.
            error.simulated_failure().into_iter().for_each(|failure| files.finish(failure.time));
        });
        let unwritten = files.close();
        match &mut made {
            Ok(made) => made.unwritten = unwritten,
            // Of wrong input nothing ran that a trace could be of.
            Err(error) if error.class() == ErrorClass::WrongInput => {}
            Err(_) => self.untraced.lock().unwrap_or_else(PoisonError::into_inner).extend(unwritten),
        }
        let made = made?;
        watch.done(case.duration().map_or(made.result.duration_ns, Time::ns));
        Ok(Seen { run: made, heard: hearers.end(), since: None })
    }

    /// The venue of a case. Each is made once: it may have to find out how fast this machine is.
    fn venue(&self, case: &Case) -> Arc<dyn Venue> {
        let cpus = case.workload.machine.cpus();
        let guests = self.cache.filter(|_| case.keeps != Keeps::Nothing).map(Cache::guests);
        let key = format!("{:?} {:?} {}", case.place, case.place.engine(cpus), guests.is_some());
        let mut venues = self.venues.lock().unwrap_or_else(PoisonError::into_inner);
        let made = || match guests {
            Some(guests) => case.place.venue_with(cpus, Some(guests)),
            None => case.place.venue(cpus),
        };
        venues.entry(key).or_insert_with(|| made().into()).clone()
    }

    /// What came of a job; nothing where it need not be done. The first job is made even then, so that there is something.
    fn made(&self, index: usize, job: &Job, failed: &Failures, errors: Errors) -> Option<Result<Seen, VenueError>> {
        let is_stopped = index > 0 && self.monitor.is_stopped();
        let is_wanted = || !failed.is_idle(index, job.number);
        if is_stopped || !is_wanted() {
            return None;
        }
        let result = self.seen(job.case, job.run, &is_wanted);
        if result.as_ref().is_err_and(VenueError::is_stop) {
            // What was stopped half way has told nothing yet.
            return None;
        }
        if let Err(error) = &result {
            failed.note(index, job.number, ends_all(error, errors));
        }
        Some(result)
    }

    /// What was kept so that a campaign could continue is not kept beyond its end.
    fn forget(&self, cases: &[Case]) {
        let Some(cache) = self.cache else { return };
        let is_over = |case: &&Case| case.keeps == Keeps::ToGoOn && !case.repeats();
        for case in cases.iter().filter(is_over) {
            case.seeds.iter().filter_map(|seed| cache.name(case, *seed)).for_each(|name| cache.forget(&name));
        }
    }
}

fn ends_all(error: &VenueError, errors: Errors) -> bool {
    errors == Errors::EndAll && !error.is_failure_of_policy()
}

/// What came of one case.
fn outcome(made: Vec<Option<Result<Seen, VenueError>>>, errors: Errors) -> Result<Made, VenueError> {
    let mut seen: Vec<Seen> = Vec::new();
    for result in made.into_iter().flatten() {
        match result {
            Ok(run) => seen.push(run),
            Err(error) if ends_all(&error, errors) => return Err(error),
            Err(error) => return Ok(Made::Failed(error)),
        }
    }
    if seen.iter().any(|seen| !seen.run.result.partial) {
        seen.retain(|seen| !seen.run.result.partial);
    } else {
        seen.truncate(1);
    }
    Ok(if seen.is_empty() { Made::NotBegun } else { Made::Ran(seen) })
}

/// A run to be made.
struct Job<'a> {
    case: &'a Case,
    /// Which case it is.
    number: usize,
    /// Which of its runs.
    run: usize,
}

/// All runs of all cases, in order.
fn jobs(cases: &[Case]) -> Vec<Job<'_>> {
    let mut jobs = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        jobs.extend((0..case.seeds.len()).map(|run| Job { case, number, run }));
    }
    jobs
}

/// Round by round, each round in an order of its own: what changes slowly on a machine then touches all cases alike.
fn interleaved(mut indices: Vec<usize>, jobs: &[Job]) -> Vec<usize> {
    let place = |&index: &usize| {
        let Job { case, number, run } = jobs[index];
        let seed = case.seeds[run];
        (run, Rng::split(seed, &format!("{} {}", case.policy.label, case.scenario_hash)).next_u64(), number)
    };
    indices.sort_by_key(place);
    indices
}

fn open_traces(case: &Case, seed: u64) -> Result<Files, VenueError> {
    let header = Header::of(&case.workload, &case.policy.info.name, case.place.name.name());
    let mut header = header.in_setting(&case.workload, &case.policy.label);
    header.seed = seed;
    let writers = case.traces.iter().map(|path| Writer::create(path, &header));
    Ok(Files(writers.collect::<Result<_, _>>()?))
}

/// The lowest jobs that failed: those after them need not be made. The job with the lowest number decides which error is
/// told, so those before a failed one are still made.
struct Failures {
    /// For each case, where it failed by itself.
    of_cases: Vec<AtomicUsize>,
    /// Where anything happened that ends all.
    of_all: AtomicUsize,
}

impl Failures {
    fn new(cases: usize) -> Failures {
        let none = || AtomicUsize::new(usize::MAX);
        Failures { of_cases: (0..cases).map(|_| none()).collect(), of_all: none() }
    }

    fn note(&self, job: usize, case: usize, ends_all: bool) {
        let failed = if ends_all { &self.of_all } else { &self.of_cases[case] };
        failed.fetch_min(job, Ordering::Relaxed);
    }

    /// Whether an earlier failure makes the job unnecessary.
    fn is_idle(&self, job: usize, case: usize) -> bool {
        job > self.of_all.load(Ordering::Relaxed) || job > self.of_cases[case].load(Ordering::Relaxed)
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
