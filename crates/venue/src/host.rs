//! This machine as a venue: real threads and processes under the scheduler of the kernel that runs.

use crate::charge::Charge;
use crate::measured::{KernelRun, scheduler_program};
use crate::{Control, Policy, Request, Run, Scheduler, Venue, VenueError};
use schedlab_guest::{InCharge, MeasureError, Measured, measure};
use schedlab_load::{Algorithm, Calibration, CalibrationError, LoadError, Served, Settings, reserve};
use schedlab_model::trace::Sink;
use std::sync::OnceLock;
use std::time::Duration;

/// The venue's name.
pub(crate) const NAME: &str = "host";
/// Between two looks at a run: how far it is, and whether it continues.
const LOOK: Duration = Duration::from_millis(100);

/// The running kernel.
#[derive(Debug)]
pub struct HostVenue {
    algorithm: Algorithm,
    calibration: OnceLock<Result<Calibration, CalibrationError>>,
}

impl HostVenue {
    /// With tasks that compute by this algorithm.
    pub fn new(algorithm: Algorithm) -> HostVenue {
        HostVenue { algorithm, calibration: OnceLock::new() }
    }

    /// The same with a calibration that the caller has.
    pub fn with_calibration(algorithm: Algorithm, calibration: Calibration) -> HostVenue {
        HostVenue { algorithm, calibration: OnceLock::from(Ok(calibration)) }
    }

    /// How much work a nanosecond is here; measured once, before the first run.
    fn calibration(&self) -> Result<Calibration, VenueError> {
        let calibration = self.calibration.get_or_init(|| schedlab_load::obtain(self.algorithm, false));
        calibration.clone().map_err(|error| LoadError::Failed(error.to_string()).into())
    }
}

impl Venue for HostVenue {
    fn name(&self) -> &'static str {
        NAME
    }

    fn accepts(&self, policy: &Policy) -> Result<(), VenueError> {
        policy.must_schedule_all(self.name())?;
        accepts(policy)
    }

    fn is_shareable(&self) -> bool {
        false
    }

    fn run(
        &self,
        request: &Request,
        sink: Option<&mut dyn Sink>,
        control: &mut dyn Control,
    ) -> Result<Run, VenueError> {
        self.accepts(request.policy)?;
        let calibration = self.calibration()?;
        let mut go_on = |now| control.go_on(now);
        let mut policy = Charge::of(request.policy)?.map(Charge::into_inner);
        let settings = Settings {
            algorithm: self.algorithm,
            calibration: calibration.clone(),
            seed: request.seed,
            look: LOOK,
            others: Some(others(request.policy)),
            reads_cpu_time: false,
        };
        let ejected = |error| VenueError::on_host(&request.policy.label, error);
        let measured = measure(request.workload, &settings, policy.as_mut(), || (), &mut go_on);
        // Tasks may have failed because their policy did.
        let loaded = policy.map(InCharge::end).transpose().map_err(ejected)?;
        let (Measured { report, recorded, counted }, ()) = measured.map_err(|error| match error {
            MeasureError::Load(error) => error.into(),
            MeasureError::Policy(error) => ejected(error),
        })?;
        let kernel = kernel_release();
        let run = KernelRun {
            request,
            venue: self.name(),
            layout: loaded.as_ref().map(|loaded| &loaded.layout),
            kernel: &kernel,
            engine: None,
            report: &report,
            calibration: &calibration,
            counted: counted.as_ref(),
            others_told: true,
        };
        let reserve = if request.workload.has_realtime() { reserve(others(request.policy)).ok() } else { None };
        let mut run = Run { reserve, ..run.result(recorded, sink)? };
        scheduler_program::add(&mut run.result, loaded.as_ref());
        Ok(run)
    }
}

/// The class of all programs of this machine during a run.
fn others(policy: &Policy) -> Served {
    if matches!(policy.scheduler, Scheduler::Kernel) { Served::Fair } else { Served::Ext }
}

/// Whether this machine's kernel can run a policy.
pub(crate) fn accepts(policy: &Policy) -> Result<(), VenueError> {
    let (why, elsewhere) = match policy.scheduler {
        Scheduler::Kernel => return Ok(()),
        Scheduler::Ideal(_) => ("an ideal discipline exists in the simulator alone".into(), "use --venue sim"),
        Scheduler::Native(_) => ("it is a part of the program and not of a kernel".into(), "use --venue sim"),
        Scheduler::Program(ref program) if program.once() => (crate::program::GOES_ON.into(), crate::program::NOT_ONCE),
        Scheduler::Object { .. } | Scheduler::Program(_) if schedlab_kernel::has_sched_ext() => return Ok(()),
        Scheduler::Object { .. } | Scheduler::Program(_) => (
            format!("the running kernel, {}, has no sched_ext", kernel_release()),
            "--venue vm runs it in one that has, --venue sim simulates it, and --policy kernel is this kernel's own \
             scheduler",
        ),
    };
    Err(VenueError::NotHere { policy: policy.label.clone(), venue: NAME, why, elsewhere: Some(elsewhere.into()) })
}

/// The release of the running kernel.
pub(crate) fn kernel_release() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("Linux {}", release.trim())
}
