//! Guests that are a shell's words.

use super::*;
use schedlab_guest::frame::FrameWriter;
use schedlab_guest::{Message, Setup, Work};
use std::path::PathBuf;

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

/// A shell whose machine is saved once the shell has closed its answers.
#[derive(Debug)]
struct Saved(Shell);

impl Engine for Saved {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn probe(&self) -> Result<String, String> {
        self.0.probe()
    }
    fn max_cpus(&self) -> u32 {
        self.0.max_cpus()
    }
    fn clock(&self) -> String {
        self.0.clock()
    }
    fn ns_per_instruction(&self) -> Option<f64> {
        self.0.ns_per_instruction()
    }
    fn command(&self, guest: &Guest) -> io::Result<Command> {
        Command::new("mkfifo").arg(guest.folder.join("answers")).status()?;
        self.0.command(guest)
    }
    fn has_parts(&self) -> bool {
        true
    }
    fn save(&self, guest: &Guest) -> io::Result<()> {
        fs::write(&self.0.started, "saving")?;
        fs::read(guest.folder.join("answers")).map(drop)
    }
}

fn job(seed: u64) -> Job {
    let text = "name = \"t\"\n[machine]\ncpus = 1\n[[task]]\nname = \"t\"\nloop = [{ compute = \"1ms\" }]\n\
                [run]\nduration = \"1s\"\n";
    let workload = Scenario::parse(text, "t").unwrap().compile().unwrap();
    Job { setup: Setup { algorithm: "spin".into(), policy: None }, work: Work { workload, seed, costs: true } }
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
    let kept = KeptGuests::new(&folder.path().join("kept"));
    let ran = |seed, repeats, kept: &KeptGuests| ran(folder.path(), &whole(), seed, repeats, kept);
    assert_eq!(ran(1, true, &kept), (true, Some(1)));
    assert_eq!(ran(1, true, &kept), (false, Some(1)), "it is known, and took no time");
    assert_eq!(ran(2, true, &kept), (true, Some(2)), "another seed is another guest");
    assert_eq!(ran(1, true, &kept.clone().forgetful()), (true, Some(3)));
    // The settings of the engine are part of the name; in real time no guest is another's like.
    assert_eq!(ran(1, false, &kept), (true, Some(4)));
    assert_eq!(ran(1, false, &kept), (true, Some(5)));
    assert_eq!(fs::read_dir(folder.path().join("kept/guests")).unwrap().count(), 2);
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
        let settings = Settings { engine: &engine, kernel: &kernel, program, configuration: None, limit, kept: None };
        let error = run(&job(1), &settings, &mut |_| true).expect_err("it is stopped").to_string();
        assert!(error.contains(text), "{then}: {error}");
        assert!(error.len() < 4000, "{then}: {} bytes", error.len());
    }
}

#[test]
fn a_machine_that_is_never_saved_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let (says, started) = (folder.path().join("says"), folder.path().join("started"));
    let hello = Message::Hello { kernel: "6.1".into(), at_ns: 5 };
    fs::write(&says, frames(&[hello, Message::Prepared])).unwrap();
    let is_saving = || fs::read_to_string(&started).is_ok_and(|text| text == "saving");
    let engine = Saved(Shell { says, started: started.clone(), repeats: false, then: "exec sleep 1000 > answers" });
    let (kernel, limit) = (Image::of_program(Vec::new()), Limit::Whole(Duration::from_secs(600)));
    let program = Path::new("/bin/true");
    let settings = Settings { engine: &engine, kernel: &kernel, program, configuration: None, limit, kept: None };
    let stopped = run(&job(1), &settings, &mut |_| !is_saving()).expect_err("it is stopped");
    assert!(matches!(stopped, VmError::Stopped), "{stopped}");
}

/// It is seen first that the machine is saved, or that its emulator has ended.
#[test]
fn an_emulator_may_end_as_soon_as_its_machine_is_saved() {
    for _ in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let (says, started) = (folder.path().join("says"), folder.path().join("started"));
        let hello = Message::Hello { kernel: "6.1".into(), at_ns: 5 };
        fs::write(&says, frames(&[hello, Message::Prepared])).unwrap();
        let engine = Saved(Shell { says, started, repeats: false, then: ": > answers" });
        let (kernel, limit) = (Image::of_program(Vec::new()), Limit::Whole(Duration::from_secs(600)));
        let program = Path::new("/bin/true");
        let settings = Settings { engine: &engine, kernel: &kernel, program, configuration: None, limit, kept: None };
        // It goes on with a state that the shell has not written.
        let error = run(&job(1), &settings, &mut |_| true).expect_err("there is no state").to_string();
        assert!(error.contains("copy the machine that is set up"), "{error}");
    }
}

#[test]
fn what_did_not_come_to_its_end_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let kept = KeptGuests::new(&folder.path().join("kept"));
    let half = &whole()[..2];
    let failed = [half, &[Message::PolicyFailed("no".into())]].concat();
    assert_eq!(ran(folder.path(), half, 1, true, &kept), (false, Some(1)));
    assert_eq!(ran(folder.path(), &failed, 1, true, &kept), (false, Some(2)));
    assert!(!folder.path().join("kept").exists());
}
