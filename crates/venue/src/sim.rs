//! The simulated machine as a venue.

use crate::loaded::{LIVE, Loading, ONCE};
use crate::{Control, Executor, NativeScheduler, Policy, Request, Run, Scheduler, Venue, VenueError};
use schedlab_bpf::{Coverage, Object, Value};
use schedlab_metrics::collector::{Collector, RunIdentity, RunMeasures};
use schedlab_metrics::validator::{Expectations, Validator};
use schedlab_model::control_group::{ControlGroup, DEFAULT_WEIGHT, PeriodPhase, Weight};
use schedlab_model::result::{Provenance, ScenarioInfo};
use schedlab_model::scenario::Notation;
use schedlab_model::time::Time;
use schedlab_model::trace::Sink;
use schedlab_model::workload::{Role, Step, Workload};
use schedlab_sim::{LimitCounters, Options, Outcome, PolicyFailure, RunError, ideal, scx};
use std::mem::take;

/// The simulator.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimVenue;

impl Venue for SimVenue {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn accepts(&self, policy: &Policy) -> Result<(), VenueError> {
        let why = match policy.scheduler {
            Scheduler::Kernel => "it is the kernel that runs on this machine; use --venue host".into(),
            Scheduler::Object { .. } | Scheduler::Program(_) | Scheduler::Ideal(_) | Scheduler::Native(_) => {
                return Ok(());
            }
        };
        Err(VenueError::NotHere { policy: policy.label.clone(), venue: self.name(), why })
    }

    fn run(
        &self,
        request: &Request,
        sink: Option<&mut dyn Sink>,
        control: &mut dyn Control,
    ) -> Result<Run, VenueError> {
        self.accepts(request.policy)?;
        let fluid = matches!(request.policy.scheduler, Scheduler::Ideal(discipline) if discipline.is_fluid());
        let expectations = Expectations { workload: Some(request.workload), fluid, ..Expectations::default() };
        let validator = request.check.then(|| Validator::new(expectations));
        let new_collector = if fluid { Collector::new_fluid } else { Collector::new };
        let mut sinks = (new_collector(request.workload), (validator, sink));
        let outcome = simulate(request, &mut sinks, control)
            .map_err(|error| VenueError::Run { policy: request.policy.label.clone(), error: Box::new(error) })?;
        let (collector, (validator, _)) = sinks;
        check_warmup(request, outcome.end, outcome.partial)?;
        check(request, &collector, validator)?;
        let mut measures = collector.into_measures();
        add_limits(&mut measures, &outcome.limits);
        let (curves, response_batches) = (take(&mut measures.curves), take(&mut measures.response_batches));
        let result = measures.into_result(identity(self.name(), request, &outcome));
        let Outcome { printed, printed_dropped, .. } = outcome;
        Ok(Run {
            result,
            curves,
            response_batches,
            printed,
            printed_dropped,
            wall: None,
            unwritten: Vec::new(),
            reserve: None,
        })
    }
}

fn simulate(request: &Request, sink: &mut dyn Sink, control: &mut dyn Control) -> Result<Outcome, RunError> {
    let Request { workload, policy, seed, .. } = *request;
    refuse_programs(workload)?;
    match &policy.scheduler {
        Scheduler::Object { object, .. } => {
            let executor = request.executor.unwrap_or_else(|| default_executor(policy));
            let options = options(workload, policy, object, executor, seed);
            scx::run(workload, object, &options, sink, control)
        }
        Scheduler::Ideal(discipline) => ideal::run(workload, *discipline, seed, sink, control),
        Scheduler::Native(NativeScheduler { object, maker }) => {
            let failed =
                |message| PolicyFailure { operation: None, task: None, time: Time::ZERO, is_stall: false, message };
            let native = maker.make(seed).map_err(|message| RunError::Policy(failed(message)))?;
            let options = Options { executor: Executor::Machine, settings: Vec::new(), seed };
            scx::run_native(workload, (object, native), &options, sink, control)
        }
        Scheduler::Program(program) => {
            let executor = request.executor.unwrap_or_else(|| default_executor(policy));
            let options = Options { executor, settings: Vec::new(), seed };
            let loading = Box::new(Loading::new(program, workload.machine.topology, seed));
            scx::run_loaded(workload, loading, &options, sink, control)
        }
        Scheduler::Kernel => unreachable!("not accepted"),
    }
}

/// Which source lines of a policy a run executes, however it ends.
///
/// # Errors
///
/// The policy has no object, or the run does not begin.
pub fn coverage(
    workload: &Workload,
    policy: &Policy,
    seed: u64,
    control: &mut dyn Control,
) -> Result<Coverage, VenueError> {
    let Scheduler::Object { object, .. } = &policy.scheduler else {
        let why = "it has no source lines: it is no BPF object".into();
        return Err(VenueError::NotHere { policy: policy.label.clone(), venue: "sim", why });
    };
    let options = options(workload, policy, object, Executor::Interpreter, seed);
    scx::coverage(workload, object, &options, control)
        .map_err(|error| VenueError::Run { policy: policy.label.clone(), error: Box::new(error) })
}

/// How the object of a policy is run.
fn options(workload: &Workload, policy: &Policy, object: &Object, executor: Executor, seed: u64) -> Options {
    let mut settings = policy.settings(&workload.machine.topology.into());
    settings.extend(phase(workload, seed, object, &settings));
    Options { executor, settings, seed }
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

/// When the scenario says that periods of limits begin, for a policy that has a parameter for it which is not set.
fn phase(workload: &Workload, seed: u64, object: &Object, set: &[(String, Value)]) -> Option<(String, Value)> {
    let (name, bytes) = match workload.run.period_phase {
        PeriodPhase::At(Time::ZERO) => return None,
        PeriodPhase::At(time) => ("period_phase", time.ns().to_le_bytes().to_vec()),
        PeriodPhase::Random => ("phase_seed", seed.saturating_add(1).to_le_bytes().to_vec()),
    };
    let is_free = object.place_of(name).is_some() && set.iter().all(|(other, _)| other != name);
    is_free.then(|| (name.into(), Value::Bytes(bytes)))
}

/// What of its control groups nobody obeys under a policy, in a sentence each.
fn unheeded(workload: &Workload, policy: &Policy) -> Vec<String> {
    let Scheduler::Object { object, .. } = &policy.scheduler else { return Vec::new() };
    let Ok(ops) = object.ops() else { return Vec::new() };
    let has = |names: &[&str]| names.iter().any(|name| ops.operation(name).is_some());
    let any = |is: fn(&ControlGroup) -> bool| workload.control_groups.iter().any(|(_, group)| is(group));
    let weights = any(|role| role.knobs.weight != Weight::Weight(DEFAULT_WEIGHT));
    let limits = any(|role| role.knobs.bandwidth.quota.is_some());
    let name = &policy.info.name;
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

/// A shipped policy has passed a kernel's verifier; a user's may do anything.
fn default_executor(policy: &Policy) -> Executor {
    if policy.shipped { Executor::Machine } else { Executor::Interpreter }
}

/// A run that ends with its last task may be over before it is measured.
pub(crate) fn check_warmup(request: &Request, end: Time, partial: bool) -> Result<(), VenueError> {
    let warmup = request.workload.run.warmup;
    match !partial && warmup > Time::ZERO && end <= warmup {
        true => Err(VenueError::OnlyWarmup { policy: request.policy.label.clone(), seed: request.seed, end, warmup }),
        false => Ok(()),
    }
}

/// Compares the run with the laws that no run may break.
pub(crate) fn check(request: &Request, collector: &Collector, validator: Option<Validator>) -> Result<(), VenueError> {
    let (policy, seed) = (request.policy.label.clone(), request.seed);
    if let Err(violation) = collector.conservation() {
        return Err(VenueError::NotConserved { policy, seed, violation });
    }
    match validator.and_then(|validator| validator.into_findings().reported.into_iter().next()) {
        Some(violation) => Err(VenueError::Unlawful { policy, seed, violation }),
        None => Ok(()),
    }
}

fn identity(venue: &str, request: &Request, outcome: &Outcome) -> RunIdentity {
    let layout = request.workload.machine.topology.into();
    let scheduler = &request.policy.scheduler;
    let simulates_kernel = matches!(scheduler, Scheduler::Object { .. } | Scheduler::Native(_) | Scheduler::Program(_));
    let unseen = (!outcome.unseen.is_empty()).then(|| {
        let events = outcome.unseen.join(", ");
        format!("programs of the policy watch {events}, of which nothing is simulated: they never run")
    });
    let of_program = match scheduler {
        Scheduler::Program(program) => Some(if program.once() { ONCE } else { LIVE }.to_string()),
        _ => None,
    };
    RunIdentity {
        scenario: scenario_info(request.workload),
        policy: request.policy.info_on(&layout),
        venue: venue.into(),
        seed: request.seed,
        provenance: Provenance {
            version: env!("CARGO_PKG_VERSION").into(),
            scenario_hash: request.scenario_hash.into(),
            policy_hash: request.policy.hash.clone(),
            kernel: simulates_kernel.then(kernel_release),
            engine: None,
        },
        lost: 0,
        partial: outcome.partial,
        calibration: None,
        kernel_run_delay_ns: None,
        missing: Vec::new(),
        cautions: request
            .policy
            .cautions_on(&layout)
            .into_iter()
            .chain(request.workload.control_groups.remarks())
            .chain(unheeded(request.workload, request.policy))
            .chain(of_program)
            .chain(unseen)
            .collect(),
    }
}

pub(crate) fn scenario_info(workload: &Workload) -> ScenarioInfo {
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
