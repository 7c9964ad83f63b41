//! A run that the recorder watches.

use crate::charge::InCharge;
use schedlab_kernel::{Filter, Record, Recorder, SchedulerError, Stats};
use schedlab_load::{LoadError, Report, Settings, Watcher};
use schedlab_model::time::Time;
use schedlab_model::workload::Workload;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// Memory between the kernel and us: a second of a busy machine.
const RING_BYTES: usize = 16 << 20;
/// Moved from each ring at once: several times what is written between two calls for it, and little enough to wait for.
const RELIEF_BYTES: u64 = 64 << 10;

/// What was recorded, in the order of time; or, in a line, why nothing was.
pub type Recorded = Result<(Vec<Record>, Stats), String>;

/// What a run left: what its tasks saw, and what the kernel did; or, in a line, why that is not known.
#[derive(Debug)]
pub struct Measured {
    /// What the tasks saw.
    pub report: Report,
    /// What the kernel did.
    pub recorded: Recorded,
}

/// Why a run on this kernel left nothing.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The tasks.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The policy was not in charge to the end.
    #[error(transparent)]
    Policy(#[from] SchedulerError),
}

/// Runs a workload on this kernel, under a policy that is in charge already, or under none. `go_on` is told every
/// `settings.look` how far the run is, and may end it; the end of the policy ends it too.
pub fn measure(
    workload: &Workload,
    settings: &Settings,
    policy: Option<&InCharge>,
    go_on: &mut dyn FnMut(Time) -> bool,
) -> Result<Measured, MeasureError> {
    let mut watch = Watch::new(go_on, settings.look, policy);
    let report = schedlab_load::run(workload, settings, &mut watch);
    let recorded = watch.end()?;
    Ok(Measured { report: report?, recorded })
}

/// Records of the run, or why there are none.
struct Watch<'a> {
    go_on: &'a mut dyn FnMut(Time) -> bool,
    policy: Option<&'a InCharge>,
    look: Duration,
    looked: Instant,
    ejected: Result<(), SchedulerError>,
    recorder: Result<Recorder, String>,
}

impl<'a> Watch<'a> {
    /// Loads the recorder; nobody is followed yet.
    fn new(go_on: &'a mut dyn FnMut(Time) -> bool, look: Duration, policy: Option<&'a InCharge>) -> Watch<'a> {
        let recorder = Recorder::start(&Filter::default(), RING_BYTES).map_err(|lack| lack.to_string());
        Watch { go_on, policy, look, looked: Instant::now(), ejected: Ok(()), recorder }
    }

    /// What was recorded, unless the policy was seen to be ejected.
    fn end(self) -> Result<Recorded, SchedulerError> {
        self.ejected?;
        let mut records = Vec::new();
        Ok(self.recorder.and_then(|recorder| {
            let stats = recorder.stop(&mut |record| records.push(record)).map_err(unkept)?;
            Ok((records, stats))
        }))
    }

    /// Whether the policy is in charge and the run goes on.
    fn look(&mut self, now: Time) -> bool {
        self.looked = Instant::now();
        self.ejected = self.policy.map_or(Ok(()), InCharge::check);
        self.ejected.is_ok() && (self.go_on)(now)
    }
}

fn unkept(error: io::Error) -> String {
    format!("cannot keep records until the run is over: {error}")
}

impl Watcher for Watch<'_> {
    fn started(&mut self, pid: i32) -> Result<(), LoadError> {
        if let Ok(recorder) = &mut self.recorder
            && let Err(lack) = recorder.follow(pid)
        {
            self.recorder = Err(lack.to_string());
        }
        Ok(())
    }

    fn go_on(&mut self, now: Time) -> bool {
        if let Ok(recorder) = &mut self.recorder
            && let Err(error) = recorder.relieve(Duration::ZERO, RELIEF_BYTES)
        {
            self.recorder = Err(unkept(error));
        }
        // A full ring is no reason to look.
        self.looked.elapsed() < self.look || self.look(now)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.recorder.as_ref().ok().map(Recorder::descriptor)
    }
}
