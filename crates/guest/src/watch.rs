//! A run that the recorder watches.

use crate::charge::InCharge;
use schedlab_kernel::{Filter, Record, Recorder, SchedulerError, Stats, Usage};
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
    /// What it counted of the use of its CPUs; none in a guest, which is the run's alone.
    pub counted: Option<Counted>,
}

/// The kernel's counters at the ends of a run.
#[derive(Clone, Debug)]
pub struct Counted {
    /// A moment before its start.
    pub begin: Usage,
    /// When its warm-up was over, up to a look later; its start where there is none.
    pub warm: Usage,
    /// When its last task was gone.
    pub end: Usage,
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

/// Runs a workload on this kernel, under a policy that is in charge already, or under none. `is_ready` is called when all is
/// there that this process has in memory while the tasks run; what it gives comes back with the measurements. `go_on` is called
/// every `settings.look` how far the run is, and may end it; the end of the policy ends it too.
pub fn measure<T>(
    workload: &Workload,
    settings: &Settings,
    mut policy: Option<&mut InCharge>,
    is_ready: impl FnOnce() -> T,
    go_on: &mut dyn FnMut(Time) -> bool,
) -> Result<(Measured, T), MeasureError> {
    if let Some(policy) = &mut policy {
        policy.begin_account();
    }
    let mut watch = Watch::new(workload, settings, policy.as_deref(), go_on);
    let ready = is_ready();
    let report = schedlab_load::run(workload, settings, &mut watch);
    let counted = watch.counters.take().and_then(Counters::counted);
    let recorded = watch.end()?;
    if let Some(policy) = policy {
        policy.end_account();
    }
    Ok((Measured { report: report?, recorded, counted }, ready))
}

/// Records of the run, or why there are none.
struct Watch<'a> {
    go_on: &'a mut dyn FnMut(Time) -> bool,
    policy: Option<&'a InCharge>,
    look: Duration,
    looked: Instant,
    ejected: Result<(), SchedulerError>,
    recorder: Result<Recorder, String>,
    /// Present if the CPU time of other tasks matters.
    counters: Option<Counters>,
}

/// Looks at the kernel's counters.
struct Counters {
    warmup: Time,
    begin: Option<Usage>,
    warm: Option<Usage>,
    end: Option<Usage>,
}

impl Counters {
    /// Those of a run that began and ended.
    fn counted(self) -> Option<Counted> {
        let begin = self.begin?;
        let warm = if self.warmup == Time::ZERO { begin.clone() } else { self.warm? };
        Some(Counted { begin, warm, end: self.end? })
    }
}

impl<'a> Watch<'a> {
    /// Loads the recorder; it follows no task yet.
    fn new(
        workload: &Workload,
        settings: &Settings,
        policy: Option<&'a InCharge>,
        go_on: &'a mut dyn FnMut(Time) -> bool,
    ) -> Watch<'a> {
        let is_shared = settings.others.is_some();
        let others_below = if is_shared { workload.machine.cpus() } else { 0 };
        let filter = Filter { others_below, ..Filter::default() };
        let recorder = Recorder::start(&filter, RING_BYTES).map_err(|lack| lack.to_string());
        let counters = Counters { warmup: workload.run.warmup, begin: None, warm: None, end: None };
        Watch {
            go_on,
            policy,
            look: settings.look,
            looked: Instant::now(),
            ejected: Ok(()),
            recorder,
            counters: is_shared.then_some(counters),
        }
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

    /// Whether the policy is in charge and the run continues.
    fn look(&mut self, now: Time) -> bool {
        self.looked = Instant::now();
        self.ejected = self.policy.map_or(Ok(()), InCharge::check);
        let is_warm = |counters: &&mut Counters| counters.warmup > Time::ZERO && now >= counters.warmup;
        if let Some(counters) = self.counters.as_mut().filter(is_warm) {
            counters.warm.get_or_insert_with(Usage::read);
        }
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

    fn begins(&mut self) {
        if let Some(counters) = &mut self.counters {
            counters.begin = Some(Usage::read());
        }
    }

    fn ended(&mut self) {
        if let Some(counters) = &mut self.counters {
            counters.end = Some(Usage::read());
        }
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
