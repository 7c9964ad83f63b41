//! A policy in charge of a run.

use crate::message::{Loaded, PolicyJob};
use schedlab_kernel::{Scheduler, SchedulerError, layout};
use schedlab_model::hash::sha256;

/// A policy that has the CPUs, and what was loaded of it. The kernel's own scheduler has them when this is dropped.
pub struct InCharge {
    scheduler: Scheduler,
    loaded: Loaded,
}

impl InCharge {
    /// Hands the CPUs to a policy.
    pub fn take(job: &PolicyJob) -> Result<InCharge, SchedulerError> {
        let layout = layout();
        let scheduler = Scheduler::start(&job.object, &job.settings_on(&layout), &job.enumerators)?;
        let loaded = Loaded { hash: sha256(&job.object), layout, programs: scheduler.programs() };
        Ok(InCharge { scheduler, loaded })
    }

    /// Whether a policy could have the CPUs now: the kernel checks it and hands nothing over.
    pub fn probe(job: &PolicyJob) -> Result<(), SchedulerError> {
        Scheduler::probe(&job.object, &job.settings_on(&layout()), &job.enumerators)
    }

    /// What was loaded.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// Whether it still has them.
    pub fn check(&self) -> Result<(), SchedulerError> {
        self.scheduler.check()
    }

    /// Gives them back, and says what had them up to now.
    pub fn end(self) -> Result<Loaded, SchedulerError> {
        self.scheduler.stop()?;
        Ok(self.loaded)
    }
}
