//! From the flags of `run` and `compare` to runs, with progress and remarks.

use crate::args::{ExecutorName, SharedArgs};
use crate::failure::{self, Failure};
use crate::{files, interrupt, kept, meant, output, overlay, progress};
use schedlab_campaign::{Axis, Cache, Place, RunSet, Runner, threads};
use schedlab_catalogue::kinds::of_trace;
use schedlab_catalogue::{self as catalogue, CatalogueError};
use schedlab_job::{Done, Job, Options};
use schedlab_model::count::counted;
use schedlab_model::scenario::Scenario;
use schedlab_policy::PolicySpec;
use schedlab_venue::{Algorithm, Executor, Monitor, Policy, PolicyFailure, VenueError, VenueName, Wall};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What `run` or `compare` alone asks for.
#[derive(Default)]
pub struct More {
    /// Trace files to write of the first run.
    pub traces: Vec<PathBuf>,
    /// What is varied.
    pub vary: Vec<Axis>,
    /// How many copies with small changes are run.
    pub perturb: u32,
    /// Whether traces tell what tasks do with shared objects.
    pub calls: bool,
}

/// Reads the scenario, with what is varied about it, finds the policies, and looks whether there is a place for the files.
pub fn find(args: &SharedArgs, specs: &[PolicySpec], more: More) -> Result<Job, Failure> {
    files::check_traces(&more.traces)?;
    files::check(more.traces.iter().chain(&args.report).map(PathBuf::as_path))?;
    let mut scenario = scenario(args, specs)?;
    scenario.run.calls |= more.calls;
    let policies = policies(args, specs)?;
    meant::refuse_varied(args, &more.vary)?;
    let (vary, options) = (more.vary.clone(), options(args, &policies, more)?);
    let is_sound = vary.is_empty() || scenario.compile().is_ok();
    Job::new(scenario, &vary, policies, options).map_err(|error| match error {
        VenueError::Scenario(error) if is_sound && !vary.is_empty() => Failure::Input(format!("--vary: {error}")),
        error => error.into(),
    })
}

/// Finds the policies, and says what there is to say about them.
pub fn policies(args: &SharedArgs, specs: &[PolicySpec]) -> Result<Vec<Policy>, Failure> {
    let policies = Policy::find_each(specs)?;
    for policy in policies.iter().filter(|policy| !policy.warnings.is_empty() && !args.quiet) {
        output::remark(&policy.warnings);
    }
    Ok(policies)
}

/// How runs of these policies are made, by the flags. Each flag means something in one of the venues.
pub fn options(args: &SharedArgs, policies: &[Policy], more: More) -> Result<Options, Failure> {
    meant::refuse_shared(args)?;
    meant::refuse_executor(args, policies)?;
    let SharedArgs { kernel, engine, load, .. } = args;
    let load = load.unwrap_or(Algorithm::Spin);
    let place = |name: &VenueName| Place::new(*name, kernel.as_deref(), *engine).computing(load);
    Ok(Options {
        places: args.venue.iter().map(place).collect(),
        seed: args.seed,
        runs: args.runs,
        executor: executor(args),
        check: args.check || cfg!(debug_assertions),
        costs: !args.no_costs,
        traces: more.traces,
        listens: args.report.is_some(),
        perturb: more.perturb,
    })
}

/// Makes the runs, or takes those that a cache knows.
pub fn run(job: &Job, args: &SharedArgs, cache: Option<&Cache>) -> Result<Done, Failure> {
    let monitor = &Arc::new(Monitor::default());
    interrupt::watch(monitor)?;
    let shares = job.shares()?;
    if !args.quiet {
        shares.iter().flat_map(|share| &share.remarks).for_each(|remark| output::remark(remark));
    }
    let total_ns = job.duration_ns(&shares);
    let runner = Runner::new(cache, threads(args.threads), monitor);
    let begin = Instant::now();
    let done = progress::show(monitor, total_ns, args.quiet, || job.run(&shares, &runner));
    runner.untraced().iter().for_each(|why| output::complain(why));
    let done = done?;
    if !args.quiet {
        done.failures.iter().filter_map(VenueError::simulated_failure).for_each(printed_before);
    }
    if !args.quiet && !done.sets.is_empty() {
        remarks(&done.sets, begin.elapsed().as_secs_f64());
        kept::remark(&runner);
    }
    Ok(done)
}

/// How the program ends when everything is printed: policies that failed and traces that could not be written are
/// reported now, and an interrupted run has its own exit code.
pub fn end(done: Done) -> Result<(), Failure> {
    let runs = done.sets.iter().flat_map(|(_, set)| &set.runs);
    let unwritten: Vec<_> = runs.flat_map(|run| &run.unwritten).map(|why| Err(Failure::Failed(why.clone()))).collect();
    let ended = match (done.failures.is_empty(), done.interrupted) {
        (false, _) => Err(Failure::Policies(done.failures)),
        (true, true) => Err(Failure::Interrupted),
        (true, false) => Ok(()),
    };
    failure::all(unwritten.into_iter().chain([ended]))
}

/// What came out, unless others took more of this machine than it bears.
pub fn borne(why_not: Option<String>) -> Result<(), Failure> {
    why_not.map_or(Ok(()), |why| Err(Failure::Inconclusive(why)))
}

/// The scenario with what the flags change about it.
pub fn scenario(args: &SharedArgs, specs: &[PolicySpec]) -> Result<Scenario, Failure> {
    let scenario = catalogue::load_on(&args.scenario, args.cpus).map_err(|error| with_policies(error, specs))?;
    if !args.quiet {
        scenario.remarks().iter().for_each(|remark| output::remark(remark));
    }
    overlay::changed(scenario, args)
}

/// What is wrong with a scenario. For a trace, the policies that were named can be predicted.
fn with_policies(error: CatalogueError, specs: &[PolicySpec]) -> Failure {
    match error {
        CatalogueError::Trace(file) => {
            let policies = specs.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
            Failure::Input(of_trace(&file, &policies))
        }
        other => other.into(),
    }
}

fn executor(args: &SharedArgs) -> Option<Executor> {
    match args.executor {
        Some(ExecutorName::Interpreter) => Some(Executor::Interpreter),
        Some(ExecutorName::Machine) => Some(Executor::Machine),
        None => args.unchecked.then_some(Executor::Machine),
    }
}

/// What a policy had printed when it failed.
fn printed_before(failure: &PolicyFailure) {
    failure.printed.iter().for_each(|(time, line)| output::remark(&format!("{time}: {line}")));
}

/// What the policies printed in the first runs, and what the runs took: nothing of this is part of a result.
fn remarks(sets: &[(String, RunSet)], seconds: f64) {
    for (_, set) in sets {
        let Some(run) = set.runs.first() else { continue };
        for (time, line) in &run.printed {
            output::remark(&format!("{time} {}: {line}", set.result.policy().name));
        }
        if run.printed_dropped > 0 {
            output::remark(&format!("{} of {}", counted(run.printed_dropped, "more line"), set.result.policy().name));
        }
        if let Some(reserve) = run.reserve {
            output::remark(&format!("real-time tasks left others {reserve}: the kernel keeps it from them"));
        }
    }
    let runs: usize = sets.iter().map(|(_, set)| set.runs.len()).sum();
    let all = sets.iter().flat_map(|(_, set)| &set.runs);
    let switches: u64 = all.map(|run| run.result.events.switches).sum();
    let rate = switches as f64 / seconds / 1e6;
    // Of real machines the rate says nothing.
    let rate = if rate >= 0.01 { format!(", {rate:.2} million switches per second") } else { String::new() };
    output::remark(&format!("{} in {seconds:.2} s of wall time{rate}{}", counted(runs as u64, "run"), boots(sets)));
}

/// How long virtual machines took to boot, and to run, each on average.
fn boots(sets: &[(String, RunSet)]) -> String {
    let walls: Vec<Wall> = sets.iter().flat_map(|(_, set)| &set.runs).filter_map(|run| run.wall).collect();
    let mean =
        |part: fn(&Wall) -> Duration| walls.iter().map(part).sum::<Duration>().as_secs_f64() / walls.len() as f64;
    if walls.is_empty() {
        return String::new();
    }
    let average = if walls.len() > 1 { " on average" } else { "" };
    format!(": boot {:.1} s, run {:.1} s{average}", mean(|wall| wall.boot), mean(|wall| wall.run))
}
