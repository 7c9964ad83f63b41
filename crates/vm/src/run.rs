//! A guest from its start to its result.

use crate::engine::{Engine, Guest, MEMORY_BYTES};
use crate::error::{VmError, system, tail};
use crate::files;
use crate::image::Image;
use crate::kept::{self, KeptGuests};
use crate::told::Told;
use schedlab_boundary::own::Folder;
use schedlab_guest::frame::FrameError;
use schedlab_guest::{Job, Outcome, PolicyJob};
use schedlab_kernel::Record;
use schedlab_load::{Ended, Guarded};
use std::fs::{self, File};
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

/// How to run a guest.
pub struct Settings<'a> {
    /// The emulator.
    pub engine: &'a dyn Engine,
    /// The kernel.
    pub kernel: &'a Image,
    /// The program that is the guest's first.
    pub program: &'a Path,
    /// How the kernel was configured, for programs that look for that in `/boot`.
    pub configuration: Option<Vec<u8>>,
    /// The most wall time that it may take.
    pub limit: Limit,
    /// What is known of guests from before: the same one need not run again. Those in real time are never kept.
    pub kept: Option<&'a KeptGuests>,
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
    /// Wall time to the same place, and from there to the end; not known of a guest that was kept.
    pub wall: Option<(Duration, Duration)>,
}

/// Runs a job in a guest, or takes what the same guest sent before. `go_on` gets the time that the run has taken, in virtual
/// nanoseconds, and can end it.
pub fn run(job: &Job, settings: &Settings, go_on: &mut dyn FnMut(u64) -> bool) -> Result<Finished, VmError> {
    let version = settings.engine.probe().map_err(VmError::Lack)?;
    let folder = Folder::new().map_err(system("make a temporary folder"))?;
    let guest = Guest {
        kernel: settings.kernel,
        files: &files::archive(job, settings)?,
        cpus: job.workload.machine.cpus(),
        memory_bytes: memory_bytes(job),
        seed: job.seed,
        folder: folder.path(),
    };
    let command = command(&guest, settings.engine)?;
    let kept = settings.kept.filter(|_| settings.engine.repeats());
    let named = |kept| Ok((kept, kept::name(settings.engine, &version, &guest, &command)?));
    let kept: Option<(&KeptGuests, String)> =
        kept.map(named).transpose().map_err(system("read what the emulator is handed"))?;
    let known = kept.as_ref().and_then(|(kept, name)| recalled(&kept.find(name)?, settings.engine));
    if let Some(told) = known {
        return Ok(told.finished(version, None).expect("it was whole"));
    }
    let mut watch = Watch::start(&guest, settings, command)?;
    watch.until_it_ends(go_on)?;
    let finished = watch.finished(version)?;
    if let Some((kept, name)) = kept {
        // Without it the guest runs again the next time: nothing worse.
        let _ = fs::read(guest.frames()).and_then(|frames| kept.keep(&name, &frames));
    }
    Ok(finished)
}

/// A scheduler's own program takes up to 200 MB, and its maps as much.
fn memory_bytes(job: &Job) -> u64 {
    match job.policy {
        Some(PolicyJob::Program(_)) => 2 * MEMORY_BYTES,
        _ => MEMORY_BYTES,
    }
}

/// What a guest said that was kept, if it is whole.
fn recalled(frames: &[u8], engine: &dyn Engine) -> Option<Told> {
    let mut told = Told::by(engine);
    told.take(frames).ok()?;
    told.is_whole().then_some(told)
}

/// The emulator's command, with all that it reads in the guest's folder.
fn command(guest: &Guest, engine: &dyn Engine) -> Result<Command, VmError> {
    engine.command(guest).map_err(|error| match error.kind() {
        io::ErrorKind::Unsupported => VmError::Lack(error.to_string()),
        _ => system(&format!("start {}", engine.name()))(error),
    })
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
    /// Bytes that the guest has sent.
    sent: u64,
    console: PathBuf,
    errors: PathBuf,
    told: Told,
    /// Wall time to the scenario's first instruction.
    boot: Option<Duration>,
}

impl<'a> Watch<'a> {
    fn start(guest: &Guest, settings: &Settings<'a>, mut command: Command) -> Result<Watch<'a>, VmError> {
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

    fn until_it_ends(&mut self, go_on: &mut dyn FnMut(u64) -> bool) -> Result<(), VmError> {
        loop {
            let ended = self.emulator.ended().map_err(system("wait for the emulator"))?;
            self.listen(ended.is_some())?;
            if let Some(ended) = ended {
                self.check_sizes()?;
                return self.judge(ended);
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

    /// The result, if all of it came.
    fn finished(self, engine: String) -> Result<Finished, VmError> {
        let Some(boot) = self.boot.filter(|_| self.told.is_whole()) else { return Err(self.incomplete()) };
        let wall = (boot, self.begun.elapsed().saturating_sub(boot));
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

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_guest::Message;
    use schedlab_guest::frame::FrameWriter;

    use schedlab_load::{Calibration, Report, TasksCpu};
    use schedlab_model::scenario::Scenario;

    /// A shell that says what a guest would, and writes down that it was started.
    #[derive(Debug)]
    struct Shell {
        says: PathBuf,
        started: PathBuf,
        repeats: bool,
        /// What the shell does then, in the guest's folder.
        then: &'static str,
    }

    impl Engine for Shell {
        fn name(&self) -> &'static str {
            "shell"
        }
        fn probe(&self) -> Result<String, String> {
            Ok("Shell 1".into())
        }
        fn max_cpus(&self) -> u32 {
            1
        }
        fn clock(&self) -> String {
            "none".into()
        }
        fn ns_per_instruction(&self) -> Option<f64> {
            None
        }
        fn repeats(&self) -> bool {
            self.repeats
        }
        fn command(&self, guest: &Guest) -> io::Result<Command> {
            fs::write(guest.folder.join("files"), guest.files)?;
            let (says, started, to) = (self.says.display(), self.started.display(), guest.frames());
            let mut command = Command::new("sh");
            let script = format!("echo x >> {started}; cat {says} > {}; {}", to.display(), self.then);
            command.args(["-c", &script]).current_dir(guest.folder);
            Ok(command)
        }
    }

    fn job(seed: u64) -> Job {
        let text = "name = \"t\"\n[machine]\ncpus = 1\n[[task]]\nname = \"t\"\nloop = [{ compute = \"1ms\" }]\n\
                    [run]\nduration = \"1s\"\n";
        let workload = Scenario::parse(text, "t").unwrap().compile().unwrap();
        Job { workload, seed, algorithm: "spin".into(), policy: None, costs: true }
    }

    fn outcome() -> Outcome {
        let report = Report {
            start_ns: 1,
            length_ns: 2,
            tasks: Vec::new(),
            requests: Vec::new(),
            releases: Vec::new(),
            waiting: Vec::new(),
            requests_lost: 0,
            dropped: 0,
            late: 0,
            arrivals: 0,
            arrivals_cpu_ns: 0,
            cpu_ns: TasksCpu::default(),
            control_groups: Vec::new(),
            joins: Vec::new(),
            freeing_ns: 0,
            partial: false,
        };
        let calibration = Calibration {
            algorithm: "spin".into(),
            ns_per_piece: 1.0,
            ns_per_call: 1.0,
            spread: 0.0,
            misfit: 0.0,
            measurements: 1,
        };
        let none = || "none".to_string();
        Outcome { report, recorded: Err(none()), loaded: None, calibration, costs: Some(Err(none())), records: 0 }
    }

    fn frames(messages: &[Message]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = FrameWriter::new(&mut bytes);
        messages.iter().for_each(|message| writer.send(message).unwrap());
        bytes
    }

    fn whole() -> Vec<Message> {
        let hello = Message::Hello { kernel: "6.1".into(), at_ns: 5 };
        vec![hello, Message::Begun { at_ns: 7 }, Message::Outcome(Box::new(outcome()))]
    }

    /// Runs a guest that says this, and says what came and how often an emulator has been started up to now.
    fn ran(folder: &Path, says: &[Message], seed: u64, repeats: bool, kept: &KeptGuests) -> (bool, Option<usize>) {
        let engine = Shell { says: folder.join("says"), started: folder.join("started"), repeats, then: ":" };
        fs::write(&engine.says, frames(says)).unwrap();
        let kernel = Image::of_program(Vec::new());
        let limit = Limit::Whole(Duration::from_secs(60));
        let settings = Settings {
            engine: &engine,
            kernel: &kernel,
            program: Path::new("/bin/true"),
            configuration: None,
            limit,
            kept: Some(kept),
        };
        let finished = run(&job(seed), &settings, &mut |_| true).ok();
        if let Some(finished) = &finished {
            assert_eq!((finished.kernel.as_str(), finished.boot_virtual_ns), ("6.1", 7));
            assert_eq!((&finished.outcome, finished.engine.as_str()), (&outcome(), "Shell 1"));
        }
        let started = fs::read_to_string(&engine.started).ok().map(|lines| lines.lines().count());
        (finished.is_some_and(|finished| finished.wall.is_some()), started)
    }

    #[test]
    fn the_same_guest_is_not_run_again() {
        let folder = tempfile::tempdir().unwrap();
        let kept = KeptGuests::new(folder.path().join("kept"));
        let ran = |seed, repeats, kept: &KeptGuests| ran(folder.path(), &whole(), seed, repeats, kept);
        assert_eq!(ran(1, true, &kept), (true, Some(1)));
        assert_eq!(ran(1, true, &kept), (false, Some(1)), "it is known, and took no time");
        assert_eq!(ran(2, true, &kept), (true, Some(2)), "another seed is another guest");
        assert_eq!(ran(1, true, &kept.clone().forgetful()), (true, Some(3)));
        // The settings of the engine are part of the name; in real time no guest is another's like.
        assert_eq!(ran(1, false, &kept), (true, Some(4)));
        assert_eq!(ran(1, false, &kept), (true, Some(5)));
        assert_eq!(fs::read_dir(folder.path().join("kept")).unwrap().count(), 2);
    }

    #[test]
    fn who_writes_without_an_end_is_stopped() {
        let cases = [
            ("yes 0123456789 > console", "what it printed to its console went on beyond 16 MiB"),
            ("yes >&2", "what its emulator wrote to standard error went on beyond 16 MiB"),
            ("head -c 20M /dev/zero > console", "what it printed to its console went on beyond 16 MiB"),
        ];
        for (then, text) in cases {
            let folder = tempfile::tempdir().unwrap();
            let (says, started) = (folder.path().join("says"), folder.path().join("started"));
            fs::write(&says, frames(&whole()[..2])).unwrap();
            let engine = Shell { says, started, repeats: false, then };
            let (kernel, limit) = (Image::of_program(Vec::new()), Limit::Whole(Duration::from_secs(600)));
            let program = Path::new("/bin/true");
            let settings =
                Settings { engine: &engine, kernel: &kernel, program, configuration: None, limit, kept: None };
            let error = run(&job(1), &settings, &mut |_| true).expect_err("it is stopped").to_string();
            assert!(error.contains(text), "{then}: {error}");
            assert!(error.len() < 4000, "{then}: {} bytes", error.len());
        }
    }

    #[test]
    fn what_did_not_come_to_its_end_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let kept = KeptGuests::new(folder.path().join("kept"));
        let half = &whole()[..2];
        let failed = [half, &[Message::PolicyFailed("no".into())]].concat();
        assert_eq!(ran(folder.path(), half, 1, true, &kept), (false, Some(1)));
        assert_eq!(ran(folder.path(), &failed, 1, true, &kept), (false, Some(2)));
        assert!(!folder.path().join("kept").exists());
    }
}
