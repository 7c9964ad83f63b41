//! A kernel in a virtual machine whose time is counted in instructions, as a venue.

use crate::measured::KernelRun;
use crate::{Control, Policy, Request, Run, Scheduler, Venue, VenueError, identity};
use schedlab_guest::Job;
use schedlab_load::Algorithm;
use schedlab_model::time::Time;
use schedlab_model::trace::Sink;
use schedlab_vm::engine::{Bochs, Engine, Qemu};
use schedlab_vm::{Finished, Settings, VmError, kernels};
use std::path::PathBuf;
use std::time::Duration;

/// The program that is a guest's first, beside our own.
const GUEST: &str = "schedlab-guest";

/// Wall time for the boot, and for each second of a run on one CPU.
const BOOT_LIMIT: Duration = Duration::from_secs(180);
const SLOWEST: u64 = 60;

/// Which emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineName {
    /// QEMU, one CPU.
    Qemu,
    /// Bochs, any number.
    Bochs,
}

/// A kernel in a virtual machine.
#[derive(Clone, Debug)]
pub struct VmVenue {
    /// The kernel, as the user wrote it; see [`kernels::find`].
    pub kernel: String,
    /// The emulator; by itself the fastest that is right for the scenario's machine.
    pub engine: Option<EngineName>,
    /// What tasks compute.
    pub algorithm: Algorithm,
}

impl VmVenue {
    fn engine(&self, cpus: u32) -> Result<Box<dyn Engine>, VenueError> {
        let name = self.engine.unwrap_or(if cpus == 1 { EngineName::Qemu } else { EngineName::Bochs });
        let engine: Box<dyn Engine> = match name {
            EngineName::Qemu => Box::new(Qemu::default()),
            EngineName::Bochs => Box::new(Bochs::default()),
        };
        if cpus > engine.max_cpus() {
            return Err(VmError::Lack(format!(
                "the time of {} is true for at most {} CPUs and the scenario's machine has {cpus}; run with --cpus or \
                 another --engine",
                engine.name(),
                engine.max_cpus()
            ))
            .into());
        }
        Ok(engine)
    }
}

/// The guest's program lies where ours lies.
fn program() -> Result<PathBuf, VmError> {
    let ours = std::env::current_exe().ok();
    let beside = ours.and_then(|path| Some(path.parent()?.join(GUEST))).filter(|path| path.exists());
    beside.ok_or_else(|| VmError::Lack(format!("there is no {GUEST} beside schedlab; `make build` makes both")))
}

impl Venue for VmVenue {
    fn name(&self) -> &'static str {
        "vm"
    }

    fn accepts(&self, policy: &Policy) -> Result<(), VenueError> {
        match policy.scheduler {
            Scheduler::Kernel | Scheduler::Object { .. } => Ok(()),
            Scheduler::Ideal(_) => Err(VenueError::NotHere {
                policy: policy.label.clone(),
                venue: self.name(),
                why: "an ideal discipline exists in the simulator alone; use --venue sim".into(),
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
        let kernel = kernels::find(&self.kernel)?;
        let (program, length) = (program()?, request.workload.run.duration.ns().div_ceil(1_000_000_000));
        let cpus = u64::from(request.workload.machine.cpus());
        let limit = BOOT_LIMIT + Duration::from_secs(length.saturating_mul(SLOWEST * cpus));
        let settings = Settings { engine: &*engine, kernel: &kernel, program: &program, limit };
        let job = Job {
            workload: request.workload.clone(),
            seed: request.seed,
            algorithm: self.algorithm.to_string(),
            policy: request.policy.job(request.workload.machine.cpus())?,
        };
        let finished = schedlab_vm::run(&job, &settings, &mut |ns| control.go_on(Time(ns)));
        let finished = finished.map_err(|error| VenueError::in_vm(request.policy, error))?;
        let Finished { kernel, outcome, records, .. } = finished;
        identity::check(request.policy, outcome.loaded.as_ref())?;
        let kernel = format!("Linux {kernel} in {}, {}", engine.name(), engine.clock());
        let (report, calibration) = (&outcome.report, &outcome.calibration);
        let run = KernelRun { request, venue: self.name(), kernel: &kernel, report, calibration };
        run.result(outcome.recorded.map(|stats| (records, stats)), sink)
    }
}
