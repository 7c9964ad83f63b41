//! What a guest has said: frames in, its result out, whether they come from an emulator at work or from what was kept.

use crate::engine::Engine;
use crate::error::VmError;
use crate::run::Finished;
use schedlab_guest::frame::FrameReader;
use schedlab_guest::{Message, Outcome};
use schedlab_kernel::Record;
use std::time::Duration;

/// What a guest has said up to now.
pub(crate) struct Told {
    reader: FrameReader,
    /// The kernel's release.
    hello: Option<String>,
    /// Whether it has set up all that comes before its work.
    is_prepared: bool,
    /// When the scenario's first instruction came, in virtual nanoseconds.
    begun_ns: Option<u64>,
    /// How much of the run is over.
    done_ns: u64,
    records: Vec<Record>,
    outcome: Option<Outcome>,
}

impl Told {
    /// Nothing yet, by a guest of this engine.
    pub fn by(engine: &dyn Engine) -> Told {
        Told {
            reader: if engine.has_noise() { FrameReader::amid_noise() } else { FrameReader::default() },
            hello: None,
            is_prepared: false,
            begun_ns: None,
            done_ns: 0,
            records: Vec::new(),
            outcome: None,
        }
    }

    /// Takes more of what it sent.
    ///
    /// # Errors
    ///
    /// What cannot be trusted, or what the guest says has failed.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), VmError> {
        self.reader.push(bytes);
        let untrusted = |error| VmError::Frame { error, console: String::new() };
        while let Some(message) = self.reader.take().map_err(untrusted)? {
            match message {
                Message::Hello { kernel, .. } => self.hello = Some(kernel),
                Message::Prepared => self.is_prepared = true,
                Message::Begun { at_ns } => self.begun_ns = Some(at_ns),
                Message::Progress(ns) => self.done_ns = ns,
                Message::Records(mut records) => self.records.append(&mut records),
                Message::Outcome(outcome) => self.outcome = Some(*outcome),
                Message::Failed(why) => return Err(VmError::Refused(why)),
                Message::PolicyFailed(why) => return Err(VmError::Policy { why, was_in_charge: true }),
                Message::PolicyRefused(why) => return Err(VmError::Policy { why, was_in_charge: false }),
            }
        }
        Ok(())
    }

    /// How much of the run is over, in virtual nanoseconds.
    pub fn done_ns(&self) -> u64 {
        self.done_ns
    }

    /// Whether it is set up and stops.
    pub fn is_prepared(&self) -> bool {
        self.is_prepared
    }

    /// Whether the scenario's first instruction has come.
    pub fn has_begun(&self) -> bool {
        self.begun_ns.is_some()
    }

    /// How far the guest is.
    pub fn stage(&self) -> &'static str {
        match (&self.hello, self.begun_ns) {
            (None, _) => "booting",
            (Some(_), None) => "preparing the run",
            (Some(_), Some(_)) => "running",
        }
    }

    /// Whether all of its result has come.
    pub fn is_whole(&self) -> bool {
        let has_all = |outcome: &Outcome| outcome.records == self.records.len() as u64;
        self.hello.is_some() && self.has_begun() && self.outcome.as_ref().is_some_and(has_all)
    }

    /// The result of a guest that ran in this engine, if all of it has come.
    pub fn finished(self, engine: String, wall: Option<(Duration, Duration)>) -> Option<Finished> {
        if !self.is_whole() {
            return None;
        }
        let Told { hello, begun_ns, records, outcome, .. } = self;
        let (kernel, boot_virtual_ns, outcome) = (hello?, begun_ns?, outcome?);
        Some(Finished { engine, kernel, outcome, records, boot_virtual_ns, wall })
    }
}
