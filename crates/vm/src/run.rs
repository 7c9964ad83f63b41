//! A guest from its start to its result.

use crate::engine::{Engine, Guest};
use crate::error::{VmError, system, tail};
use crate::files;
use crate::image::Image;
use schedlab_guest::frame::{FrameError, FrameReader};
use schedlab_guest::{Job, Message, Outcome};
use schedlab_kernel::Record;
use schedlab_load::{Ended, Guarded};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Between two looks at the emulator.
const LOOK: Duration = Duration::from_millis(20);

/// How to run a guest.
pub struct Settings<'a> {
    /// The emulator.
    pub engine: &'a dyn Engine,
    /// The kernel.
    pub kernel: &'a Image,
    /// The program that is the guest's first.
    pub program: &'a Path,
    /// The most wall time that it may take.
    pub limit: Limit,
}

/// The most wall time that something may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The whole of it.
    Whole(Duration),
    /// From one sign of life to the next: of a guest whose run has no known end.
    Silence(Duration),
}

/// What a guest gave.
#[derive(Debug)]
pub struct Finished {
    /// Which emulator, with its version.
    pub engine: String,
    /// The kernel's release.
    pub kernel: String,
    /// What the run left.
    pub outcome: Outcome,
    /// Its records.
    pub records: Vec<Record>,
    /// Virtual time from the kernel's first to the scenario's first instruction.
    pub boot_virtual_ns: u64,
    /// Wall time to the same place.
    pub boot_wall: Duration,
    /// Wall time from there to the end.
    pub run_wall: Duration,
}

/// Runs a job in a guest. `go_on` is told how much of the run is over, in virtual nanoseconds, and may end it.
pub fn run(job: &Job, settings: &Settings, go_on: &mut dyn FnMut(u64) -> bool) -> Result<Finished, VmError> {
    let version = settings.engine.probe().map_err(VmError::Lack)?;
    let folder = tempfile::tempdir().map_err(system("make a temporary folder"))?;
    let guest = Guest {
        kernel: settings.kernel,
        files: &files::archive(job, settings.program)?,
        cpus: job.workload.machine.cpus(),
        seed: job.seed,
        folder: folder.path(),
    };
    let mut watch = Watch::start(&guest, settings)?;
    watch.until_it_ends(go_on)?;
    watch.finished(version)
}

/// An emulator at work.
struct Watch<'a> {
    engine: &'a dyn Engine,
    emulator: Guarded,
    limit: Limit,
    begun: Instant,
    /// When it last said something.
    heard: Instant,
    frames: File,
    reader: FrameReader,
    console: PathBuf,
    errors: PathBuf,
    hello: Option<String>,
    first_instruction: Option<(u64, Duration)>,
    records: Vec<Record>,
    outcome: Option<Outcome>,
}

impl<'a> Watch<'a> {
    fn start(guest: &Guest, settings: &Settings<'a>) -> Result<Watch<'a>, VmError> {
        let what = format!("start {}", settings.engine.name());
        let failed = system(&what);
        let errors = guest.folder.join("errors");
        let mut command = settings.engine.command(guest).map_err(|error| match error.kind() {
            io::ErrorKind::Unsupported => VmError::Lack(error.to_string()),
            _ => failed(error),
        })?;
        command.stdin(Stdio::null()).stderr(File::create(&errors).map_err(&failed)?);
        // There to be read before the emulator begins; it writes from the start.
        File::options().create(true).append(true).open(guest.frames()).map_err(&failed)?;
        let mut emulator = Guarded::start(&mut command).map_err(&failed)?;
        emulator.go().map_err(&failed)?;
        Ok(Watch {
            engine: settings.engine,
            emulator,
            limit: settings.limit,
            begun: Instant::now(),
            heard: Instant::now(),
            frames: File::open(guest.frames()).map_err(&failed)?,
            reader: if settings.engine.has_noise() { FrameReader::amid_noise() } else { FrameReader::default() },
            console: guest.console(),
            errors,
            hello: None,
            first_instruction: None,
            records: Vec::new(),
            outcome: None,
        })
    }

    fn until_it_ends(&mut self, go_on: &mut dyn FnMut(u64) -> bool) -> Result<(), VmError> {
        let mut done_ns = 0;
        loop {
            let ended = self.emulator.ended().map_err(system("wait for the emulator"))?;
            self.listen(&mut done_ns)?;
            if let Some(ended) = ended {
                return self.judge(ended);
            }
            if !go_on(done_ns) {
                return Err(VmError::Stopped);
            }
            self.check_limit()?;
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

    /// Takes what the guest has sent.
    fn listen(&mut self, done_ns: &mut u64) -> Result<(), VmError> {
        let mut bytes = Vec::new();
        self.frames.read_to_end(&mut bytes).map_err(system("read what the guest sent"))?;
        if !bytes.is_empty() {
            self.heard = Instant::now();
        }
        self.reader.push(&bytes);
        while let Some(message) = self.reader.take().map_err(|error| self.untrusted(error))? {
            match message {
                Message::Hello { kernel, .. } => self.hello = Some(kernel),
                Message::Begun { at_ns } => self.first_instruction = Some((at_ns, self.begun.elapsed())),
                Message::Progress(ns) => *done_ns = ns,
                Message::Records(mut records) => self.records.append(&mut records),
                Message::Outcome(outcome) => self.outcome = Some(*outcome),
                Message::Failed(why) => return Err(VmError::Refused(why)),
                Message::PolicyFailed(why) => return Err(VmError::Policy(why)),
            }
        }
        Ok(())
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
        let errors = fs::read(&self.errors).unwrap_or_default();
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
        match (&self.hello, &self.first_instruction) {
            (None, _) => "booting",
            (Some(_), None) => "preparing the run",
            (Some(_), Some(_)) => "running",
        }
    }

    fn console_tail(&self) -> String {
        tail(&fs::read(&self.console).unwrap_or_default())
    }

    /// Why the guest's kernel gave up, if it did: said above the list of what it was doing.
    fn panic(&self) -> Option<String> {
        let console = fs::read(&self.console).unwrap_or_default();
        let console = String::from_utf8_lossy(&console);
        Some(console.lines().find_map(|line| line.split_once("Kernel panic - not syncing: "))?.1.to_string())
    }

    /// The result, if all of it came.
    fn finished(self, engine: String) -> Result<Finished, VmError> {
        let (Some(kernel), Some((boot_virtual_ns, boot_wall)), Some(outcome)) =
            (&self.hello, self.first_instruction, &self.outcome)
        else {
            return Err(self.incomplete());
        };
        if outcome.records != self.records.len() as u64 {
            return Err(self.incomplete());
        }
        Ok(Finished {
            engine,
            kernel: kernel.clone(),
            outcome: outcome.clone(),
            records: self.records,
            boot_virtual_ns,
            boot_wall,
            run_wall: self.begun.elapsed().saturating_sub(boot_wall),
        })
    }

    fn incomplete(&self) -> VmError {
        let console = self.console_tail();
        match self.panic() {
            Some(reason) => VmError::Panicked { reason, console },
            None => VmError::EndedEarly { stage: self.stage(), console },
        }
    }
}
