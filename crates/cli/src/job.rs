//! From the flags of `run` and `compare` to runs.

use crate::args::{ExecutorName, SharedArgs};
use crate::failure::Failure;
use crate::{interrupt, output, progress};
use schedlab_catalogue as catalogue;
use schedlab_html::{Evidence, Heard};
use schedlab_model::scenario::{MachineFile, Scenario, Text};
use schedlab_model::time::Time;
use schedlab_model::workload::Workload;
use schedlab_policy::PolicySpec;
use schedlab_venue::{
    Executor, KERNEL, Listener, Monitor, Plan, Policy, PolicyOutcome, RunSet, Venue, VenueError, VenueName, Wall, seeds,
};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Everything that was asked for, read and checked.
pub struct Job {
    args: SharedArgs,
    /// The scenario as it is run, with what the flags change.
    pub scenario: Scenario,
    /// What the tasks do, and on what machine.
    pub workload: Workload,
    /// Who decides.
    pub policies: Vec<Policy>,
    traces: Vec<PathBuf>,
}

/// What came of it.
pub struct Done {
    /// The policies that ran, each with its label; those that had not begun at a Ctrl-C are missing.
    pub sets: Vec<(String, RunSet)>,
    /// What was heard of the first run of each of these, where a page is asked for.
    pub heard: Vec<Heard>,
    /// The policies that failed.
    pub failures: Vec<VenueError>,
    /// Whether Ctrl-C was pressed.
    pub interrupted: bool,
}

impl Job {
    /// Reads the scenario and finds the policies.
    pub fn new(args: SharedArgs, specs: &[PolicySpec], traces: Vec<PathBuf>) -> Result<Job, Failure> {
        let scenario = scenario(&args)?;
        let workload = scenario.compile()?;
        let policies = specs.iter().map(Policy::find).collect::<Result<Vec<_>, _>>()?;
        for policy in policies.iter().filter(|policy| !policy.warnings.is_empty() && !args.quiet) {
            output::remark(&policy.warnings);
        }
        Ok(Job { args, scenario, workload, policies, traces })
    }

    /// Makes the runs, venue by venue.
    pub fn run(&self) -> Result<Done, Failure> {
        let args = &self.args;
        let monitor = Arc::new(Monitor::default());
        interrupt::watch(&monitor)?;
        let seeds = seeds(args.seed.unwrap_or(self.workload.run.seed), args.runs);
        let shares = self.shares()?;
        let jobs = (shares.iter().map(|share| share.policies.len()).sum::<usize>() * seeds.len()) as u64;
        let duration = self.workload.run.duration;
        let total_ns = (duration < Time::NEVER).then(|| duration.ns().saturating_mul(jobs));
        let begin = Instant::now();
        let outcomes = progress::show(&monitor, total_ns, args.quiet, || {
            shares.iter().map(|share| self.carry_out(share, &seeds, &monitor)).collect::<Result<Vec<_>, VenueError>>()
        })?;
        let interrupted = monitor.is_stopped();
        let mut done = Done { sets: Vec::new(), heard: Vec::new(), failures: Vec::new(), interrupted };
        for (share, (outcomes, evidence)) in shares.iter().zip(outcomes) {
            let mut evidence = evidence.into_iter();
            for (policy, outcome) in share.policies.iter().zip(outcomes) {
                let evidence = evidence.next();
                match outcome {
                    PolicyOutcome::Ran(set) => {
                        let label = self.label(policy, share);
                        let end = |evidence: Evidence| evidence.end(&label, share.venue.name(), set.curves.clone());
                        done.heard.extend(evidence.map(end));
                        done.sets.push((label, *set));
                    }
                    PolicyOutcome::Failed(error) => done.failures.push(error),
                    PolicyOutcome::NotBegun => {}
                }
            }
        }
        if !args.quiet && !done.sets.is_empty() {
            remarks(&done.sets, begin.elapsed().as_secs_f64());
        }
        Ok(done)
    }

    /// What is run in each venue: the policies that can be. One that can be run nowhere is an error. Where none can be,
    /// a kernel's own scheduler still can.
    fn shares(&self) -> Result<Vec<Share>, Failure> {
        let SharedArgs { kernel, engine, load, .. } = &self.args;
        let venue = |name: &VenueName| name.venue(kernel, *engine, *load);
        let venues: Vec<Box<dyn Venue>> = self.args.venue.iter().map(venue).collect();
        for policy in &self.policies {
            let refusals: Vec<VenueError> = venues.iter().filter_map(|venue| venue.accepts(policy).err()).collect();
            if refusals.len() == venues.len() {
                return Err(refusals.into_iter().next().expect("there is a venue").into());
            }
        }
        let kernel = Policy::find(&PolicySpec::parse(KERNEL)?)?;
        let share = |venue: Box<dyn Venue>| {
            let mut policies: Vec<Policy> =
                self.policies.iter().filter(|policy| venue.accepts(policy).is_ok()).cloned().collect();
            let refusals = self.policies.iter().filter_map(|policy| venue.accepts(policy).err());
            let mut remarks: Vec<String> = refusals.map(|refusal| format!("not run: {refusal}")).collect();
            if policies.is_empty() && venue.accepts(&kernel).is_ok() {
                remarks.truncate(1);
                remarks.push(format!("in {} the kernel's own scheduler is run instead", venue.name()));
                policies.push(kernel.clone());
            }
            if !self.args.quiet {
                remarks.iter().for_each(|remark| output::remark(remark));
            }
            Share { venue, policies }
        };
        Ok(venues.into_iter().map(share).collect())
    }

    fn carry_out(&self, share: &Share, seeds: &[u64], monitor: &Monitor) -> Result<Outcomes, VenueError> {
        let args = &self.args;
        let listened = share.policies.iter().filter(|_| args.report.is_some());
        let mut evidence: Vec<Evidence> = listened.map(|_| Evidence::new(&self.workload)).collect();
        let listeners: Vec<Listener> = evidence.iter_mut().map(|one| Mutex::new(one as _)).collect();
        let plan = Plan {
            venue: &*share.venue,
            workload: &self.workload,
            scenario_hash: &self.scenario.hash(),
            policies: &share.policies,
            seeds,
            threads: threads(args.threads),
            executor: executor(args),
            check: args.check || cfg!(debug_assertions),
            traces: &self.traces,
            listeners: &listeners,
        };
        let outcomes = plan.carry_out(monitor)?;
        Ok((outcomes, evidence))
    }

    /// A policy as the user wrote it, with its venue where there are several.
    fn label(&self, policy: &Policy, share: &Share) -> String {
        let venue = if self.args.venue.len() > 1 { format!("@{}", share.venue.name()) } else { String::new() };
        policy.label.clone() + &venue
    }

    /// Whether chance had a part, beside the scenario's: a policy that draws random numbers, or a real machine.
    pub fn draws(&self, done: &Done) -> bool {
        self.policies.iter().any(Policy::draws) || done.sets.iter().any(|(_, set)| set.result.calibration.is_some())
    }
}

/// What came of each policy, and what was heard of each where a page is asked for.
type Outcomes = (Vec<PolicyOutcome>, Vec<Evidence>);

/// What is run in one venue.
struct Share {
    venue: Box<dyn Venue>,
    policies: Vec<Policy>,
}

/// How many runs may happen at once: as many as asked for, or one for each CPU.
pub fn threads(asked: Option<u32>) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    asked.map_or_else(cores, |threads| threads as usize)
}

impl Done {
    /// How the program ends when everything is printed: policies that failed are told now, and an interrupted run has
    /// its own exit code.
    pub fn end(self) -> Result<(), Failure> {
        match (self.failures.is_empty(), self.interrupted) {
            (false, _) => Err(Failure::Policies(self.failures)),
            (true, true) => Err(Failure::Interrupted),
            (true, false) => Ok(()),
        }
    }
}

/// The scenario with what the flags change about it.
fn scenario(args: &SharedArgs) -> Result<Scenario, Failure> {
    let mut scenario = catalogue::load(&args.scenario)?;
    if args.cpus.is_some() || args.topology.is_some() {
        scenario.machine.cpus = args.cpus;
        scenario.machine.topology = args.topology.map(Text);
    }
    if let Some(tick) = args.tick {
        scenario.machine.hz = None;
        scenario.machine.tick = (tick > Time::ZERO).then_some(Text(tick));
    }
    if let Some(path) = &args.machine {
        scenario.machine.costs = MachineFile::from_file(path)?.costs;
    }
    if let Some(duration) = args.duration {
        scenario.run.duration = Some(Text(duration));
    }
    Ok(scenario)
}

fn executor(args: &SharedArgs) -> Option<Executor> {
    match args.executor {
        Some(ExecutorName::Interpreter) => Some(Executor::Interpreter),
        Some(ExecutorName::Machine) => Some(Executor::Machine),
        None => args.unchecked.then_some(Executor::Machine),
    }
}

/// What the policies printed in the first runs, and what the runs took: nothing of this is part of a result.
fn remarks(sets: &[(String, RunSet)], seconds: f64) {
    for (_, set) in sets {
        let Some(run) = set.runs.first() else { continue };
        for (time, line) in &run.printed {
            output::remark(&format!("{time} {}: {line}", set.result.policy.name));
        }
        if run.printed_dropped > 0 {
            output::remark(&format!("{} more lines of {}", run.printed_dropped, set.result.policy.name));
        }
    }
    let runs: usize = sets.iter().map(|(_, set)| set.runs.len()).sum();
    let all = sets.iter().flat_map(|(_, set)| &set.runs);
    let switches: u64 = all.map(|run| run.result.events.switches).sum();
    let rate = switches as f64 / seconds / 1e6;
    let plural = if runs == 1 { "" } else { "s" };
    // Of real machines the rate says nothing.
    let rate = if rate >= 0.01 { format!(", {rate:.2} million switches per second") } else { String::new() };
    output::remark(&format!("{runs} run{plural} in {seconds:.2} s of wall time{rate}{}", boots(sets)));
}

/// How long virtual machines took to boot, and to run, each on average.
fn boots(sets: &[(String, RunSet)]) -> String {
    let walls: Vec<Wall> = sets.iter().flat_map(|(_, set)| &set.runs).filter_map(|run| run.wall).collect();
    let mean =
        |part: fn(&Wall) -> Duration| walls.iter().map(part).sum::<Duration>().as_secs_f64() / walls.len() as f64;
    match walls.len() {
        0 => String::new(),
        _ => format!("; a boot {:.1} s, a run {:.1} s", mean(|wall| wall.boot), mean(|wall| wall.run)),
    }
}
