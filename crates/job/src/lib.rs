//! One scenario under several policies in several venues: what `run` and `compare` do, whoever asks for it.
//!
//! A [`Job`] is what is asked for, found and checked; [`Job::run`] makes its runs and gives [`Done`], from which a
//! [`Comparison`] is made.

pub mod label;

use schedlab_html::{Evidence, Heard, Listing, Provenance};
use schedlab_model::scenario::Scenario;
use schedlab_model::workload::Workload;
use schedlab_policy::{PolicySpec, Reference, catalog};
use schedlab_report::comparison::{Candidate, Comparison};
use schedlab_venue::{
    Executor, KERNEL, Listener, Monitor, Plan, Policy, PolicyOutcome, RunSet, Venue, VenueError, seeds,
};
use std::path::PathBuf;
use std::sync::Mutex;

/// Everything that was asked for.
pub struct Job {
    /// The scenario as it is run.
    pub scenario: Scenario,
    /// What the tasks do, and on what machine.
    pub workload: Workload,
    /// Who decides.
    pub policies: Vec<Policy>,
    /// How it is run.
    pub options: Options,
}

/// How a job is run.
pub struct Options {
    /// Where.
    pub venues: Vec<Box<dyn Venue>>,
    /// The first seed; that of the scenario where it is absent.
    pub seed: Option<u64>,
    /// How many seeds.
    pub runs: u32,
    /// How many runs in simulated time may happen at once.
    pub threads: usize,
    /// See [`schedlab_venue::Request`].
    pub executor: Option<Executor>,
    /// See [`schedlab_venue::Request`].
    pub check: bool,
    /// Trace files to write of the first run under the first policy.
    pub traces: Vec<PathBuf>,
    /// Whether the first run of each policy is listened to, for a page.
    pub listens: bool,
}

/// What is run in one venue.
pub struct Share<'a> {
    venue: &'a dyn Venue,
    policies: Vec<Policy>,
    /// What is to be said about policies that are not run there.
    pub remarks: Vec<String>,
}

/// What came of a job.
pub struct Done {
    /// The policies that ran, each with its label; those that had not begun when it was stopped are missing.
    pub sets: Vec<(String, RunSet)>,
    /// What was heard of the first run of each of these, where that was asked for.
    pub heard: Vec<Heard>,
    /// The policies that failed.
    pub failures: Vec<VenueError>,
    /// Whether it was stopped.
    pub interrupted: bool,
}

/// What came of each policy, and what was heard of each where that was asked for.
type Outcomes = (Vec<PolicyOutcome>, Vec<Evidence>);

impl Job {
    /// A job whose scenario can be run.
    ///
    /// # Errors
    ///
    /// The scenario says something that cannot be.
    pub fn new(scenario: Scenario, policies: Vec<Policy>, options: Options) -> Result<Job, VenueError> {
        Ok(Job { workload: scenario.compile()?, scenario, policies, options })
    }

    /// What is run in each venue: the policies that can be. Where none can be, a kernel's own scheduler still can.
    ///
    /// # Errors
    ///
    /// A policy that can be run in none of them.
    pub fn shares(&self) -> Result<Vec<Share<'_>>, VenueError> {
        let venues = &self.options.venues;
        for policy in &self.policies {
            let refusals: Vec<VenueError> = venues.iter().filter_map(|venue| venue.accepts(policy).err()).collect();
            if refusals.len() == venues.len()
                && let Some(refusal) = refusals.into_iter().next()
            {
                return Err(refusal);
            }
        }
        let kernel = Policy::find(&PolicySpec::parse(KERNEL)?)?;
        Ok(venues.iter().map(|venue| self.share(&**venue, &kernel)).collect())
    }

    fn share<'a>(&self, venue: &'a dyn Venue, kernel: &Policy) -> Share<'a> {
        let mut policies: Vec<Policy> =
            self.policies.iter().filter(|policy| venue.accepts(policy).is_ok()).cloned().collect();
        let refusals = self.policies.iter().filter_map(|policy| venue.accepts(policy).err());
        let mut remarks: Vec<String> = refusals.map(|refusal| format!("not run: {refusal}")).collect();
        if policies.is_empty() && venue.accepts(kernel).is_ok() {
            remarks.truncate(1);
            remarks.push(format!("in {} the kernel's own scheduler is run instead", venue.name()));
            policies.push(kernel.clone());
        }
        Share { venue, policies, remarks }
    }

    /// How many runs these are.
    pub fn count(&self, shares: &[Share]) -> u64 {
        shares.iter().map(|share| share.policies.len() as u64).sum::<u64>() * u64::from(self.options.runs)
    }

    /// Makes the runs, venue by venue. A policy that fails does not touch the others.
    ///
    /// # Errors
    ///
    /// Anything but the failure of a policy.
    pub fn run(&self, shares: &[Share], monitor: &Monitor) -> Result<Done, VenueError> {
        let seeds = seeds(self.options.seed.unwrap_or(self.workload.run.seed), self.options.runs);
        let mut done = Done { sets: Vec::new(), heard: Vec::new(), failures: Vec::new(), interrupted: false };
        for share in shares {
            let (outcomes, evidence) = self.carry_out(share, &seeds, monitor)?;
            let mut evidence = evidence.into_iter();
            for (label, outcome) in self.labels(share).into_iter().zip(outcomes) {
                let evidence = evidence.next();
                match outcome {
                    PolicyOutcome::Ran(set) => {
                        let end = |evidence: Evidence| evidence.end(&label, share.venue.name(), set.curves.clone());
                        done.heard.extend(evidence.map(end));
                        done.sets.push((label, *set));
                    }
                    PolicyOutcome::Failed(error) => done.failures.push(error),
                    PolicyOutcome::NotBegun => {}
                }
            }
        }
        done.interrupted = monitor.is_stopped();
        Ok(done)
    }

    fn carry_out(&self, share: &Share, seeds: &[u64], monitor: &Monitor) -> Result<Outcomes, VenueError> {
        let options = &self.options;
        let listened = share.policies.iter().filter(|_| options.listens);
        let mut evidence: Vec<Evidence> = listened.map(|_| Evidence::new(&self.workload)).collect();
        let listeners: Vec<Listener> = evidence.iter_mut().map(|one| Mutex::new(one as _)).collect();
        let plan = Plan {
            venue: share.venue,
            workload: &self.workload,
            scenario_hash: &self.scenario.hash(),
            policies: &share.policies,
            seeds,
            threads: options.threads,
            executor: options.executor,
            check: options.check,
            traces: &options.traces,
            listeners: &listeners,
        };
        let outcomes = plan.carry_out(monitor)?;
        Ok((outcomes, evidence))
    }

    /// The labels of what is run in a venue, with its name where there are several.
    fn labels(&self, share: &Share) -> Vec<String> {
        let venue = if self.options.venues.len() > 1 { format!("@{}", share.venue.name()) } else { String::new() };
        let written: Vec<String> = share.policies.iter().map(|policy| policy.label.clone()).collect();
        label::of_written(&written).into_iter().map(|label| label + &venue).collect()
    }

    /// What ran side by side. Of a policy that failed it says so.
    pub fn comparison(&self, done: &Done) -> Comparison {
        let candidates: Vec<Candidate> = done.sets.iter().map(|(label, set)| candidate(label, set)).collect();
        // Whether chance had a part beside the scenario's: a policy that draws random numbers, or a real machine.
        let draws = self.policies.iter().any(Policy::draws)
            || done.sets.iter().any(|(_, set)| set.result.algorithm().is_some());
        let mut comparison = Comparison::new(&candidates, &self.workload, &self.scenario.published, draws);
        comparison.failures = done.failures.iter().map(ToString::to_string).collect();
        comparison
    }

    /// What gives the same again: a command, the scenario and the policies' sources.
    pub fn provenance(&self, command: String) -> Provenance {
        let nice = self.workload.groups.iter().map(|group| (group.name.clone(), group.nice.into())).collect();
        let mut files = vec![Listing::file(&format!("{}.toml", self.scenario.name), &self.scenario.to_toml())];
        for source in self.policies.iter().filter_map(source) {
            if !files.iter().any(|known| known.title == source.title) {
                files.push(source);
            }
        }
        Provenance { commands: vec![command], files, nice, ..Provenance::default() }
    }
}

/// A policy that ran, as one of a comparison.
fn candidate<'a>(label: &str, set: &'a RunSet) -> Candidate<'a> {
    Candidate {
        label: label.into(),
        result: &set.result,
        curves: &set.curves,
        batches: set.runs.first().map_or(&[], |run| &run.response_batches),
    }
}

/// The source of a policy, where there is one: a shipped one, or the user's file.
fn source(policy: &Policy) -> Option<Listing> {
    match PolicySpec::parse(&policy.label).ok()?.reference {
        Reference::Name(name) => {
            let shipped = catalog().iter().find(|shipped| shipped.name == name)?;
            Some(Listing::file(&format!("{name}.bpf.c"), shipped.source))
        }
        Reference::Object(_) => None,
        Reference::Source(path) => {
            let text = std::fs::read_to_string(&path).ok()?;
            Some(Listing::file(&path.file_name()?.to_string_lossy(), &text))
        }
    }
}

/// How many runs may happen at once: as many as asked for, or one for each CPU.
pub fn threads(asked: Option<u32>) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    asked.map_or_else(cores, |threads| threads as usize)
}
