//! Watching a run: the recorder listens while the caller decides whether it goes on.

use crate::Control;
use schedlab_kernel::{Filter, Lack, Record, Recorder, Stats};
use schedlab_load::{LoadError, Watcher};
use schedlab_model::time::Time;
use std::time::Duration;

/// Memory between the kernel and us: a second of a busy machine.
const RING_BYTES: usize = 16 << 20;

/// Records of the run, or why there are none.
pub struct Watch<'a> {
    control: &'a mut dyn Control,
    recorder: Result<Recorder, Lack>,
    records: Vec<Record>,
}

impl<'a> Watch<'a> {
    /// Loads the recorder; nobody is followed yet.
    pub fn new(control: &'a mut dyn Control) -> Watch<'a> {
        Watch { control, recorder: Recorder::start(&Filter::default(), RING_BYTES), records: Vec::new() }
    }

    /// Everything that was recorded, in the order of time; or what is lacking, in a line.
    pub fn end(self) -> Result<(Vec<Record>, Stats), String> {
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
        self.control.go_on(now)
    }
}
