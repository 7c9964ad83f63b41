//! The simulated machine as a venue.

use crate::loaded::{LIVE, Loading, ONCE};
use crate::{Control, Executor, NativeScheduler, Policy, Request, Run, RunFailure, Scheduler, Venue, VenueError};
use schedlab_bpf::Coverage;
use schedlab_model::trace::Sink;
use schedlab_model::workload::Workload;
use schedlab_sim::{Options, Outcome, PolicyFailure, RunError, ideal, scx};
use schedlab_simulation::{Measured, Subject, measure};

/// The simulator.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimVenue;

impl Venue for SimVenue {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn accepts(&self, policy: &Policy) -> Result<(), VenueError> {
        match policy.scheduler {
            Scheduler::Object { .. } | Scheduler::Program(_) | Scheduler::Ideal(_) | Scheduler::Native(_) => Ok(()),
            Scheduler::Kernel => Err(VenueError::NotHere {
                policy: policy.label.clone(),
                venue: self.name(),
                why: "it is the kernel that runs on this machine".into(),
                elsewhere: Some("use --venue host".into()),
            }),
        }
    }

    fn run(
        &self,
        request: &Request,
        sink: Option<&mut dyn Sink>,
        control: &mut dyn Control,
    ) -> Result<Run, VenueError> {
        self.accepts(request.policy)?;
        let measured = measure(&subject(request), sink, |sink| simulate(request, sink, control))?;
        let Measured { result, curves, response_batches, printed, printed_dropped } = measured;
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

/// The facts about a run that its result contains.
fn subject<'a>(request: &Request<'a>) -> Subject<'a> {
    let Request { workload, scenario_hash, policy, seed, check, .. } = *request;
    let layout = (&workload.machine).into();
    let manner = match &policy.scheduler {
        Scheduler::Program(program) => Some(if program.once() { ONCE } else { LIVE }.to_string()),
        _ => None,
    };
    Subject {
        workload,
        scenario_hash,
        label: &policy.label,
        policy: policy.info_on(&layout),
        policy_hash: policy.hash.as_deref(),
        object: policy.object().map(|policy| &*policy.object),
        is_fluid: matches!(policy.scheduler, Scheduler::Ideal(discipline) if discipline.is_fluid()),
        simulates_kernel: !matches!(policy.scheduler, Scheduler::Ideal(_) | Scheduler::Kernel),
        cautions: policy.cautions_on(&layout),
        manner,
        seed,
        check,
    }
}

fn simulate(request: &Request, sink: &mut dyn Sink, control: &mut dyn Control) -> Result<Outcome, RunError> {
    let Request { workload, policy, seed, .. } = *request;
    match &policy.scheduler {
        Scheduler::Object { policy: object, .. } => {
            let executor = request.executor.unwrap_or_else(|| default_executor(policy));
            object.simulate(workload, executor, seed, sink, control)
        }
        Scheduler::Ideal(discipline) => ideal::run(workload, *discipline, seed, sink, control),
        Scheduler::Native(NativeScheduler { object, maker }) => {
            let native = maker.make(seed).map_err(|message| RunError::Policy(PolicyFailure::at_start(message)))?;
            let options = Options { executor: Executor::Machine, settings: Vec::new(), seed };
            scx::run_native(workload, (object, native), &options, sink, control)
        }
        Scheduler::Program(program) => {
            let executor = request.executor.unwrap_or_else(|| default_executor(policy));
            let options = Options { executor, settings: Vec::new(), seed };
            let loading = Box::new(Loading::new(program, &workload.machine, seed));
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
    let Some(object) = policy.object() else {
        let why = "it has no source lines: it is no BPF object".into();
        return Err(VenueError::NotHere { policy: policy.label.clone(), venue: "sim", why, elsewhere: None });
    };
    let failed = |error| RunFailure::Run { policy: policy.label.clone(), error: Box::new(error) };
    Ok(object.coverage(workload, seed, control).map_err(failed)?)
}

/// A shipped policy has passed a kernel's verifier; a user's may do anything.
fn default_executor(policy: &Policy) -> Executor {
    if policy.shipped { Executor::Machine } else { Executor::Interpreter }
}
