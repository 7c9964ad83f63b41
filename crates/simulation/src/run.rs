//! From a simulation to a result.

use crate::RunFailure;
use schedlab_bpf::Object;
use schedlab_metrics::collector::{Collector, RunIdentity, RunMeasures};
use schedlab_metrics::curve::RoleCurves;
use schedlab_metrics::statistics::BatchMeans;
use schedlab_metrics::validator::{Expectations, Validator};
use schedlab_model::control_group::{ControlGroup, DEFAULT_WEIGHT, KnobChange, Weight};
use schedlab_model::result::{PolicyInfo, Provenance, RunResult, ScenarioInfo};
use schedlab_model::scenario::Notation;
use schedlab_model::time::Time;
use schedlab_model::trace::Sink;
use schedlab_model::workload::{Role, Step, Workload};
use schedlab_sim::{LimitCounters, Outcome, RunError, scx};
use std::mem::take;

/// The name of the venue.
const VENUE: &str = "sim";

/// What is simulated, as far as a result speaks of it.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    /// What the tasks do, and on what machine.
    pub workload: &'a Workload,
    /// The hash of the scenario behind the workload.
    pub scenario_hash: &'a str,
    /// The policy, as the user wrote it.
    pub label: &'a str,
    /// What results say about the policy on this machine.
    pub policy: PolicyInfo,
    /// SHA-256 of the policy's object; absent where there is none.
    pub policy_hash: Option<&'a str>,
    /// Its object; absent where there is none.
    pub object: Option<&'a Object>,
    /// Whether it divides CPUs among tasks, without switches.
    pub is_fluid: bool,
    /// Whether it runs on the simulated kernel.
    pub simulates_kernel: bool,
    /// What a reader has to know of the policy on this machine, in a sentence each.
    pub cautions: Vec<String>,
    /// What a reader has to know of how it was run.
    pub manner: Option<String>,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Whether the events are compared with the laws of traces while they happen.
    pub check: bool,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What is printed.
    pub result: RunResult,
    /// How the times of each role are distributed.
    pub curves: Vec<RoleCurves>,
    /// The mean response times of consecutive batches of requests, for each role.
    pub response_batches: Vec<BatchMeans>,
    /// Lines that the policy printed, each with the simulated time.
    pub printed: Vec<(Time, String)>,
    /// How many more lines it printed.
    pub printed_dropped: u64,
}

/// Measures what `simulate` does. `sink`, when there is one, gets every event.
///
/// # Errors
///
/// The run did not start or did not end, or what it did cannot be.
pub fn measure(
    subject: &Subject,
    sink: Option<&mut dyn Sink>,
    simulate: impl FnOnce(&mut dyn Sink) -> Result<Outcome, RunError>,
) -> Result<Measured, RunFailure> {
    let Subject { workload, label, seed, .. } = *subject;
    let expectations = Expectations { workload: Some(workload), fluid: subject.is_fluid, ..Expectations::default() };
    let validator = subject.check.then(|| Validator::new(expectations));
    let new_collector = if subject.is_fluid { Collector::new_fluid } else { Collector::new };
    let mut sinks = (new_collector(workload), (validator, sink));
    let outcome = refuse_programs(workload)
        .and_then(|()| simulate(&mut sinks))
        .map_err(|error| RunFailure::Run { policy: label.into(), error: Box::new(error) })?;
    let (collector, (validator, _)) = sinks;
    check_warmup(workload, (label, seed), outcome.end, outcome.partial)?;
    is_lawful((label, seed), &collector, validator)?;
    let mut measures = collector.into_measures();
    add_limits(&mut measures, &outcome.limits);
    let (curves, response_batches) = (take(&mut measures.curves), take(&mut measures.response_batches));
    let result = measures.into_result(identity(subject, &outcome));
    let Outcome { printed, printed_dropped, .. } = outcome;
    Ok(Measured { result, curves, response_batches, printed, printed_dropped })
}

/// Compares a run of a policy with a seed with the laws that no run may break.
///
/// # Errors
///
/// The first law that it broke.
pub fn is_lawful(
    (label, seed): (&str, u64),
    collector: &Collector,
    validator: Option<Validator>,
) -> Result<(), RunFailure> {
    let policy = label.to_string();
    if let Err(violation) = collector.conservation() {
        return Err(RunFailure::NotConserved { policy, seed, violation });
    }
    match validator.and_then(|validator| validator.into_findings().reported.into_iter().next()) {
        Some(violation) => Err(RunFailure::Unlawful { policy, seed, violation }),
        None => Ok(()),
    }
}

/// A run that ends with its last task may be over before it is measured.
///
/// # Errors
///
/// It was.
pub fn check_warmup(
    workload: &Workload,
    (label, seed): (&str, u64),
    end: Time,
    partial: bool,
) -> Result<(), RunFailure> {
    let warmup = workload.run.warmup;
    match !partial && warmup > Time::ZERO && end <= warmup {
        true => Err(RunFailure::OnlyWarmup { policy: label.into(), seed, end, warmup }),
        false => Ok(()),
    }
}

/// What a policy counts of limits; the root has no result.
fn add_limits(measures: &mut RunMeasures, limits: &[Option<LimitCounters>]) {
    for (group, counters) in measures.control_groups.iter_mut().zip(limits.iter().skip(1)) {
        let Some(LimitCounters([periods, throttled, throttled_ns, bursts, burst_ns])) = counters else { continue };
        (group.nr_periods, group.nr_throttled, group.throttled_ns) =
            (Some(*periods), Some(*throttled), Some(*throttled_ns));
        (group.nr_bursts, group.burst_ns) = (Some(*bursts), Some(*burst_ns));
    }
}

/// What the policy ignores of its control groups, in a sentence each.
fn unheeded(workload: &Workload, name: &str, object: Option<&Object>) -> Vec<String> {
    let Some(Ok(ops)) = object.map(Object::ops) else { return Vec::new() };
    let has = |names: &[&str]| names.iter().any(|name| ops.operation(name).is_some());
    let any = |is: fn(&ControlGroup) -> bool| workload.control_groups.iter().any(|(_, group)| is(group));
    let steps = || workload.roles.iter().flat_map(|role| &role.program.steps);
    let written =
        |is: fn(&KnobChange) -> bool| steps().any(|step| matches!(step, Step::Adjust(_, change) if is(change)));
    let weights =
        any(|role| role.knobs.weight != Weight::Weight(DEFAULT_WEIGHT)) || written(|change| change.weight.is_some());
    let limits = any(|role| role.knobs.bandwidth.quota.is_some())
        || written(|change| change.max.is_some_and(|max| max.quota.is_some()));
    let mut told = Vec::new();
    if weights && !has(&["cgroup_set_weight"]) {
        told.push(format!("{name} has no cgroup_set_weight: it does not heed the weights of control groups"));
    }
    if limits && !has(&["cgroup_set_bandwidth"]) {
        told.push(format!("{name} has no cgroup_set_bandwidth: it does not heed the limits of control groups"));
    }
    told
}

/// Real programs cannot be simulated.
fn refuse_programs(workload: &Workload) -> Result<(), RunError> {
    let is_real = |role: &&Role| role.program.steps.iter().any(|step| matches!(step, Step::Command(_)));
    let Some(role) = workload.roles.iter().find(is_real) else { return Ok(()) };
    Err(RunError::Unsupported(format!(
        "task `{}` is a real program (`command`), which cannot be simulated: use --venue host, or write what it does as \
         a `loop`",
        role.name
    )))
}

fn identity(subject: &Subject, outcome: &Outcome) -> RunIdentity {
    let unseen = (!outcome.unseen.is_empty()).then(|| {
        let events = outcome.unseen.join(", ");
        format!("programs of the policy watch {events}, of which nothing is simulated: they never run")
    });
    RunIdentity {
        scenario: scenario_info(subject.workload),
        policy: subject.policy.clone(),
        venue: VENUE.into(),
        seed: subject.seed,
        provenance: Provenance {
            version: env!("CARGO_PKG_VERSION").into(),
            scenario_hash: subject.scenario_hash.into(),
            policy_hash: subject.policy_hash.map(String::from),
            kernel: subject.simulates_kernel.then(kernel_release),
            engine: None,
        },
        lost: 0,
        partial: outcome.partial,
        calibration: None,
        kernel_run_delay_ns: None,
        missing: Vec::new(),
        cautions: subject
            .cautions
            .iter()
            .cloned()
            .chain(subject.workload.control_groups.remarks())
            .chain(unheeded(subject.workload, &subject.policy.name, subject.object))
            .chain(subject.manner.clone())
            .chain(unseen)
            .collect(),
    }
}

/// What results say of a scenario.
pub fn scenario_info(workload: &Workload) -> ScenarioInfo {
    ScenarioInfo {
        name: workload.name.clone(),
        about: workload.about.clone(),
        cpus: workload.machine.cpus(),
        topology: workload.machine.topology.write(),
        tick_ns: workload.machine.tick.ns(),
    }
}

/// The release that the simulated kernel presents, as `7.2`.
fn kernel_release() -> String {
    let version = scx::kernel().version;
    format!("{}.{}", version >> 16, version >> 8 & 0xff)
}
