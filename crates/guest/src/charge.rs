//! A policy in charge of a run.

use crate::message::{Loaded, LoadedWhat, ObjectJob, PolicyJob, Room};
use crate::program::Program;
use schedlab_kernel::{Entries, Scheduler, SchedulerError, Setting, Vacancy, VerifiedScheduler, cpus, layout};
use schedlab_load::control_groups_here;
use schedlab_model::hash::sha256;
use schedlab_model::layout::Layout;

/// A policy that has the CPUs, and what was loaded of it. The kernel's own scheduler has them when this is dropped.
pub struct InCharge {
    held: Held,
    loaded: Loaded,
}

enum Held {
    // Both are large.
    Object(Box<Scheduler>),
    Program(Box<Program>),
}

/// A policy that can have the CPUs: an object that the kernel has verified, or a program. A program takes them when it is started,
/// so it has them already.
pub struct Ready {
    held: Prepared,
    loaded: Loaded,
}

enum Prepared {
    // Both are large.
    Object(Box<VerifiedScheduler>),
    Program(Box<Program>),
}

impl Ready {
    /// Does all that takes long.
    pub fn load(job: &PolicyJob) -> Result<Ready, SchedulerError> {
        let layout = layout();
        let (held, hash, what) = match job {
            PolicyJob::Object(job) => {
                let (settings, entries) = fill(job, &layout);
                let verified = VerifiedScheduler::load(&job.object, &settings, &entries, &job.enumerators)?;
                (Prepared::Object(verified.into()), sha256(&job.object), LoadedWhat::Object(Vec::new()))
            }
            PolicyJob::Program(job) => {
                let program = Program::start(job)?;
                let (hash, report) = (program.hash().to_string(), program.report().clone());
                (Prepared::Program(program.into()), hash, LoadedWhat::Program(report))
            }
        };
        Ok(Ready { held, loaded: Loaded { hash, layout, what } })
    }

    /// Hands the CPUs to it.
    pub fn take(self) -> Result<InCharge, SchedulerError> {
        let Ready { held, mut loaded } = self;
        let held = match held {
            Prepared::Object(verified) => {
                let scheduler = verified.start()?;
                loaded.what = LoadedWhat::Object(scheduler.programs());
                Held::Object(scheduler.into())
            }
            Prepared::Program(program) => Held::Program(program),
        };
        Ok(InCharge { held, loaded })
    }
}

impl InCharge {
    /// Hands the CPUs to a policy.
    pub fn take(job: &PolicyJob) -> Result<InCharge, SchedulerError> {
        Ready::load(job)?.take()
    }

    /// Whether a policy could have the CPUs now: the kernel checks it and hands nothing over. A program, of which the
    /// kernel would hear only from itself, is not started.
    pub fn probe(job: &PolicyJob) -> Result<(), SchedulerError> {
        match job {
            PolicyJob::Object(_) => Ready::load(job).map(drop),
            PolicyJob::Program(_) => Vacancy::find().map(drop),
        }
    }

    /// What was loaded.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// Whether it still has them.
    pub fn check(&self) -> Result<(), SchedulerError> {
        match &self.held {
            Held::Object(scheduler) => scheduler.check(),
            Held::Program(program) => program.check(),
        }
    }

    /// From here on what a program takes is the run's.
    pub fn begin_account(&mut self) {
        if let Held::Program(program) = &mut self.held {
            program.begin_account();
        }
    }

    /// And up to here.
    pub fn end_account(&mut self) {
        if let Held::Program(program) = &mut self.held {
            program.end_account();
        }
    }

    /// Gives them back, and says what had them up to now.
    pub fn end(mut self) -> Result<Loaded, SchedulerError> {
        match self.held {
            Held::Object(scheduler) => scheduler.stop()?,
            Held::Program(program) => self.loaded.what = LoadedWhat::Program(program.stop()?),
        }
        Ok(self.loaded)
    }
}

/// What is put into an object here, and how many entries its maps get.
fn fill(job: &ObjectJob, layout: &Layout) -> (Vec<Setting>, Vec<Entries>) {
    let rooms = job.rooms_on(control_groups_here(), cpus());
    let number = |room: &Room| (room.section.clone(), room.offset, room.entries.to_le_bytes().to_vec());
    let settings = job.settings_on(layout).into_iter().chain(rooms.iter().map(number)).collect();
    (settings, rooms.into_iter().map(|room| (room.map, room.entries)).collect())
}
