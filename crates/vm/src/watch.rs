//! An emulator at work: what its guest says, how long it takes and how much it writes, and how it ended.

use crate::engine::{Engine, Guest};
use crate::error::{VmError, system, tail};
use crate::run::{Finished, Limit, Settings};
use crate::told::Told;
use schedlab_guest::frame::FrameError;
use schedlab_load::{Ended, Guarded};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Between two looks at the emulator.
const LOOK: Duration = Duration::from_millis(20);
/// The most that a guest prints to its console, and its emulator to standard error. A kernel prints some kilobytes.
const PRINTED_MAX: u64 = 16 << 20;
/// The most that a guest sends: a hundred million records.
const SENT_MAX: u64 = 4 << 30;
/// The most of it that is read at one look.
const READ_AT_ONCE: u64 = 64 << 20;

/// An emulator at work.
pub(crate) struct Watch<'a> {
    engine: &'a dyn Engine,
    emulator: Guarded,
    limit: Limit,
    begun: Instant,
    /// When it last said something.
    heard: Instant,
    frames: File,
    /// Bytes that the guest has sent.
    sent: u64,
    console: PathBuf,
    errors: PathBuf,
    told: Told,
    /// Wall time to the scenario's first instruction.
    boot: Option<Duration>,
}

impl<'a> Watch<'a> {
    pub fn start(guest: &Guest, settings: &Settings<'a>, mut command: Command) -> Result<Watch<'a>, VmError> {
        let what = format!("start {}", settings.engine.name());
        let failed = system(&what);
        let errors = guest.folder.join("errors");
        command.stdin(Stdio::null()).stderr(File::create(&errors).map_err(&failed)?);
        // There to be read before the emulator begins; it writes from the start.
        File::options().create(true).append(true).open(guest.frames()).map_err(&failed)?;
        let mut emulator = Guarded::start_apart(&mut command).map_err(&failed)?;
        emulator.go().map_err(&failed)?;
        Ok(Watch {
            engine: settings.engine,
            emulator,
            limit: settings.limit,
            begun: Instant::now(),
            heard: Instant::now(),
            frames: File::open(guest.frames()).map_err(&failed)?,
            sent: 0,
            console: guest.console(),
            errors,
            told: Told::by(settings.engine),
            boot: None,
        })
    }

    /// Waits for the end of the guest.
    pub fn until_it_ends(&mut self, go_on: &mut dyn FnMut(u64) -> bool) -> Result<(), VmError> {
        self.until(|_| false, go_on).map(drop)
    }

    /// Waits until the guest is set up and stops.
    pub fn until_it_is_set_up(&mut self, go_on: &mut dyn FnMut(u64) -> bool) -> Result<(), VmError> {
        match self.until(Told::is_prepared, go_on)? {
            true => Ok(()),
            false => Err(self.incomplete()),
        }
    }

    /// Waits until the machine is saved, or for the end of the emulator, and says whether it was the former.
    pub fn until_it_is_saved(
        &mut self,
        is_saved: impl Fn() -> bool,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<bool, VmError> {
        self.until(|_| is_saved(), go_on)
    }

    /// Waits until something has been told, or for the end of the guest, and says whether it was the former.
    fn until(&mut self, is_told: impl Fn(&Told) -> bool, go_on: &mut dyn FnMut(u64) -> bool) -> Result<bool, VmError> {
        loop {
            let ended = self.emulator.ended().map_err(system("wait for the emulator"))?;
            self.listen(ended.is_some())?;
            if let Some(ended) = ended {
                self.check_sizes()?;
                return self.judge(ended).map(|()| false);
            }
            if is_told(&self.told) {
                return Ok(true);
            }
            if !go_on(self.told.done_ns()) {
                return Err(VmError::Stopped);
            }
            self.check_limit()?;
            self.check_sizes()?;
            std::thread::sleep(LOOK);
        }
    }

    fn check_limit(&self) -> Result<(), VmError> {
        let (stage, console) = (self.stage(), || self.console_tail());
        match self.limit {
            Limit::Whole(limit) if self.begun.elapsed() > limit => {
                Err(VmError::TooLong { stage, limit, console: console() })
            }
            Limit::Silence(limit) if self.heard.elapsed() > limit => {
                Err(VmError::Silent { stage, limit, console: console() })
            }
            _ => Ok(()),
        }
    }

    /// A guest that writes without an end is stopped before the disk is full.
    fn check_sizes(&self) -> Result<(), VmError> {
        let len = |path: &Path| path.metadata().map_or(0, |data| data.len());
        let written = [
            ("what it printed to its console", len(&self.console), PRINTED_MAX),
            ("what its emulator wrote to standard error", len(&self.errors), PRINTED_MAX),
            ("what it sent", self.sent, SENT_MAX),
        ];
        match written.into_iter().find(|(_, len, most)| len > most) {
            Some((what, _, most)) => Err(VmError::TooMuch { what, most_mib: most >> 20, console: self.console_tail() }),
            None => Ok(()),
        }
    }

    /// Takes what the guest has sent, all of it once its emulator has ended.
    fn listen(&mut self, has_ended: bool) -> Result<(), VmError> {
        while self.listen_once()? && has_ended && self.sent <= SENT_MAX {}
        Ok(())
    }

    /// Takes a part of what the guest has sent; false if there is nothing.
    fn listen_once(&mut self) -> Result<bool, VmError> {
        let mut bytes = Vec::new();
        let mut frames = (&mut self.frames).take(READ_AT_ONCE);
        frames.read_to_end(&mut bytes).map_err(system("read what the guest sent"))?;
        self.sent += bytes.len() as u64;
        if !bytes.is_empty() {
            self.heard = Instant::now();
        }
        let taken = self.told.take(&bytes);
        if self.told.has_begun() {
            self.boot.get_or_insert_with(|| self.begun.elapsed());
        }
        taken.map_err(|error| match error {
            VmError::Frame { error, .. } => self.untrusted(error),
            other => other,
        })?;
        Ok(!bytes.is_empty())
    }

    fn untrusted(&self, error: FrameError) -> VmError {
        let console = self.console_tail();
        match error {
            // An emulator that goes through a reboot: the guest says hello once more.
            FrameError::Missing { got: 0, .. } => {
                let reason = self.panic().unwrap_or_else(|| "it started again".into());
                VmError::Panicked { reason, console }
            }
            error => VmError::Frame { error, console },
        }
    }

    /// Whether the emulator ended as it should.
    fn judge(&self, ended: Ended) -> Result<(), VmError> {
        let errors = read_some(&self.errors);
        let errors = String::from_utf8_lossy(&errors);
        let failed = match ended {
            Ended::Status(status) if self.engine.ended_well(status.code(), &errors) => return Ok(()),
            Ended::Status(status) => status.to_string(),
            Ended::NotStarted(error) => io::Error::from_raw_os_error(error).to_string(),
        };
        if let Some(reason) = self.panic() {
            return Err(VmError::Panicked { reason, console: self.console_tail() });
        }
        let message = self.engine.complaint(&errors).unwrap_or("it did not say why").to_string();
        Err(VmError::Engine { engine: self.engine.name(), status: failed, message })
    }

    fn stage(&self) -> &'static str {
        self.told.stage()
    }

    fn console_tail(&self) -> String {
        tail(&read_some(&self.console))
    }

    /// Why the guest's kernel gave up, if it did: said above the list of what it was doing.
    fn panic(&self) -> Option<String> {
        let console = read_some(&self.console);
        let console = String::from_utf8_lossy(&console);
        Some(console.lines().find_map(|line| line.split_once("Kernel panic - not syncing: "))?.1.to_string())
    }

    /// The result, if all of it came. The time until the guest was set up is part of its boot's.
    pub fn finished(self, engine: String, setup: Duration) -> Result<Finished, VmError> {
        let Some(boot) = self.boot.filter(|_| self.told.is_whole()) else { return Err(self.incomplete()) };
        let wall = (setup + boot, self.begun.elapsed().saturating_sub(boot));
        Ok(self.told.finished(engine, Some(wall)).expect("it is whole"))
    }

    fn incomplete(&self) -> VmError {
        let console = self.console_tail();
        match self.panic() {
            Some(reason) => VmError::Panicked { reason, console },
            None => VmError::EndedEarly { stage: self.stage(), console },
        }
    }
}

/// As much of a file as is ever looked at; nothing if it cannot be read.
fn read_some(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = File::open(path).and_then(|file| file.take(PRINTED_MAX).read_to_end(&mut bytes));
    bytes
}
