//! A kernel in a virtual machine whose time is counted in instructions, as a venue.

use crate::measured::{KernelRun, scheduler_program};
use crate::{Control, Policy, Request, Run, Scheduler, Venue, VenueError, Wall, identity, own_file};
use schedlab_guest::{Job, Setup, Work};
use schedlab_load::Algorithm;
use schedlab_model::count::counted;
use schedlab_model::result::EngineInfo;
use schedlab_model::time::Time;
use schedlab_model::trace::Sink;
use schedlab_model::workload::Workload;
use schedlab_vm::engine::{Engine, EngineSpec};
use schedlab_vm::image::Image;
use schedlab_vm::{Finished, KeptGuests, Limit, Settings, VmError, kernels};
use std::path::PathBuf;
use std::time::Duration;

/// The program that is a guest's first, next to our own.
const GUEST: &str = "schedlab-guest";

/// Wall time for the boot, and for each second of a run on one CPU.
const BOOT_LIMIT: Duration = Duration::from_secs(180);
const SLOWEST: u64 = 60;
/// The same for a boot in which a scheduler's program is loaded. The guest itself gives up after ten minutes of its own time;
/// this is for one that hangs.
const LOADING_LIMIT: Duration = Duration::from_secs(2 * 3600);

/// A kernel in a virtual machine.
#[derive(Clone, Debug)]
pub struct VmVenue {
    /// The kernel, as the user wrote it; see [`kernels::find`].
    pub kernel: String,
    /// The emulator.
    pub engine: EngineSpec,
    /// What tasks compute.
    pub algorithm: Algorithm,
    /// What is known of guests from before; nothing where each is to boot.
    pub kept: Option<KeptGuests>,
}

impl VmVenue {
    fn engine(&self, cpus: u32) -> Result<EngineSpec, VmError> {
        built()?;
        let spec = self.engine;
        let (name, most) = (spec.engine().name(), spec.engine().max_cpus());
        if cpus > most {
            return Err(VmError::Lack(format!(
                "the time of {name} is true for at most {} and the scenario's machine has {cpus}; run with --cpus or \
                 another --engine",
                counted(most, "CPU")
            )));
        }
        // Known before a kernel is fetched for it.
        spec.engine().probe().map(|_| spec).map_err(VmError::Lack)
    }

    /// The kernel, once it is known that it can do what the policy needs.
    fn image(&self, policy: &Policy) -> Result<Image, VenueError> {
        let image = Image::read(&kernels::find(&self.kernel)?)?;
        if !policy.scheduler.needs_sched_ext() || image.has_sched_ext() {
            return Ok(image);
        }
        Err(VenueError::NotHere {
            policy: policy.label.clone(),
            venue: self.name(),
            why: format!("the kernel {} has no sched_ext; --kernel debian:13-backports has", self.kernel),
            elsewhere: None,
        })
    }
}

/// Whether this program can have guests: each records what its kernel does.
pub(crate) fn built() -> Result<(), VmError> {
    let lack = || VmError::Lack("the venue `vm` takes libbpf, without which this schedlab was built".into());
    schedlab_kernel::HAS_LIBBPF.then_some(()).ok_or_else(lack)
}

/// The first program of a guest, which lies where ours lies.
///
/// # Errors
///
/// It does not.
pub fn guest_program() -> Result<PathBuf, VmError> {
    let ours = own_file().ok();
    let beside = ours.and_then(|path| Some(path.parent()?.join(GUEST))).filter(|path| path.exists());
    beside.ok_or_else(|| VmError::Lack(format!("there is no {GUEST} next to schedlab; `make build` builds both")))
}

impl Venue for VmVenue {
    fn name(&self) -> &'static str {
        "vm"
    }

    fn accepts(&self, policy: &Policy) -> Result<(), VenueError> {
        policy.must_schedule_all(self.name())?;
        match policy.scheduler {
            Scheduler::Program(ref program) if program.once() => Err(VenueError::NotHere {
                policy: policy.label.clone(),
                venue: self.name(),
                why: crate::program::GOES_ON.into(),
                elsewhere: Some(crate::program::NOT_ONCE.into()),
            }),
            Scheduler::Kernel | Scheduler::Object { .. } | Scheduler::Program(_) => Ok(()),
            Scheduler::Ideal(_) | Scheduler::Native(_) => Err(VenueError::NotHere {
                policy: policy.label.clone(),
                venue: self.name(),
                why: "it exists in the simulator alone".into(),
                elsewhere: Some("use --venue sim".into()),
            }),
        }
    }

    fn is_shareable(&self) -> bool {
        true
    }

    fn run(
        &self,
        request: &Request,
        sink: Option<&mut dyn Sink>,
        control: &mut dyn Control,
    ) -> Result<Run, VenueError> {
        self.accepts(request.policy)?;
        let engine = self.engine(request.workload.machine.cpus())?;
        let (engine, kernel) = (engine.engine(), self.image(request.policy)?);
        let program = guest_program()?;
        let is_program = matches!(request.policy.scheduler, Scheduler::Program(_));
        let configuration = is_program.then(|| kernels::configuration(&self.kernel, &kernel)).transpose()?;
        let limit = limit(request.workload, if is_program { LOADING_LIMIT } else { BOOT_LIMIT });
        let kept = self.kept.as_ref();
        let settings = Settings { engine, kernel: &kernel, program: &program, configuration, limit, kept };
        let setup = Setup { algorithm: self.algorithm.to_string(), policy: request.policy.job()? };
        let work = Work { workload: request.workload.clone(), seed: request.seed, costs: request.costs };
        let job = Job { setup, work };
        let finished = schedlab_vm::run(&job, &settings, &mut |ns| control.go_on(Time(ns)));
        let finished = finished.map_err(|error| VenueError::in_vm(request.policy, error))?;
        result(request, engine, finished, sink)
    }
}

/// How long a guest may take: it boots, and each second of its run takes so long. A run that ends with its last task has
/// no length; its guest says every second how far it is.
fn limit(workload: &Workload, boot: Duration) -> Limit {
    let second = SLOWEST * u64::from(workload.machine.cpus());
    let seconds = |count: u64| boot + Duration::from_secs(count.saturating_mul(second));
    match workload.run.end() {
        Some(end) => Limit::Whole(seconds(end.ns().div_ceil(1_000_000_000))),
        None => Limit::Silence(seconds(1)),
    }
}

/// What a guest gave, as a result.
fn result(
    request: &Request,
    engine: &dyn Engine,
    finished: Finished,
    sink: Option<&mut dyn Sink>,
) -> Result<Run, VenueError> {
    let Finished { outcome, records, boot_virtual_ns, wall, .. } = finished;
    identity::check(request.policy, outcome.loaded.as_ref())?;
    let kernel = format!("Linux {}", finished.kernel);
    let info = EngineInfo {
        version: finished.engine,
        clock: engine.clock(),
        repeats: engine.repeats(),
        boot_ns: Some(boot_virtual_ns),
    };
    let (report, calibration) = (&outcome.report, &outcome.calibration);
    let layout = outcome.loaded.as_ref().map(|loaded| &loaded.layout);
    let run = KernelRun {
        request,
        venue: "vm",
        layout,
        kernel: &kernel,
        engine: Some(info),
        report,
        calibration,
        // A guest is the run's, except for its kernel's own threads and for a scheduler's program; to watch the former alone would
        // take virtual time from the tasks.
        counted: None,
        others_told: matches!(request.policy.scheduler, Scheduler::Program(_)),
    };
    let mut run = run.result(outcome.recorded.map(|stats| (records, stats)), sink)?;
    scheduler_program::add(&mut run.result, outcome.loaded.as_ref());
    run.result.costs = engine.ns_per_instruction().and_then(|ns| Some(outcome.costs?.ok()?.told(ns)));
    run.wall = wall.map(|(boot, run)| Wall { boot, run });
    Ok(run)
}
