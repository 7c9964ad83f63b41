//! A run that the recorder watches.

use schedlab_kernel::{Filter, Lack, Record, Recorder, Stats};
use schedlab_load::{LoadError, Report, Settings, Watcher};
use schedlab_model::time::Time;
use schedlab_model::workload::Workload;
use std::time::Duration;

/// Memory between the kernel and us: a second of a busy machine.
const RING_BYTES: usize = 16 << 20;

/// What a run left: what its tasks saw, and what the kernel did; or, in a line, why that is not known.
#[derive(Debug)]
pub struct Measured {
    /// What the tasks saw.
    pub report: Report,
    /// What was recorded, in the order of time.
    pub recorded: Result<(Vec<Record>, Stats), String>,
}

/// Runs a workload on this kernel. `go_on` is told how far the run is, and may end it.
pub fn measure(
    workload: &Workload,
    settings: &Settings,
    go_on: &mut dyn FnMut(Time) -> bool,
) -> Result<Measured, LoadError> {
    let mut watch = Watch::new(go_on);
    let report = schedlab_load::run(workload, settings, &mut watch)?;
    Ok(Measured { report, recorded: watch.end() })
}

/// Records of the run, or why there are none.
struct Watch<'a> {
    go_on: &'a mut dyn FnMut(Time) -> bool,
    recorder: Result<Recorder, Lack>,
    records: Vec<Record>,
}

impl<'a> Watch<'a> {
    /// Loads the recorder; nobody is followed yet.
    fn new(go_on: &'a mut dyn FnMut(Time) -> bool) -> Watch<'a> {
        Watch { go_on, recorder: Recorder::start(&Filter::default(), RING_BYTES), records: Vec::new() }
    }

    /// Everything that was recorded, in the order of time; or what is lacking, in a line.
    fn end(self) -> Result<(Vec<Record>, Stats), String> {
        let mut records = self.records;
        let recorder = self.recorder.map_err(|lack| lack.to_string())?;
        let stats = recorder.stop(&mut |record| records.push(record));
        Ok((records, stats))
    }
}

impl Watcher for Watch<'_> {
    fn started(&mut self, pid: i32) -> Result<(), LoadError> {
        if let Ok(recorder) = &mut self.recorder
            && let Err(lack) = recorder.follow(pid)
        {
            self.recorder = Err(lack);
        }
        Ok(())
    }

    fn go_on(&mut self, now: Time) -> bool {
        if let Ok(recorder) = &mut self.recorder {
            recorder.poll(Duration::ZERO, &mut |record| self.records.push(record));
        }
        (self.go_on)(now)
    }
}
