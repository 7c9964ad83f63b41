//! A whole scheduler in the simulator: its own program loads it, under supervision, into the simulated machine, and goes
//! on working next to it.

use crate::program::Program;
use schedlab_bpf::{Attached, Caller as BpfCaller, Reply as BpfReply};
use schedlab_loader::{
    Caller, Command, Errno, Files, LoaderError, Reply, Stand, Supervisor, System, add_machine, object_file,
};
use schedlab_model::machine;
use schedlab_sim::scx::loaded::{Loads, Machine, kernel_btf, kernel_configuration};
use schedlab_sim::{CpuTime, RunError};
use std::fmt::Write;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// What a result says about a program that was stopped when it was in charge.
pub(crate) const ONCE: &str = "the policy is as set up by its loader, whose later work is not simulated";
/// What it says about one that continued.
pub(crate) const LIVE: &str = "the policy's program works beside it, and its work takes no CPU of the machine";
/// That many calls are enough for any loader to get ready: those that were tried make up to 60 thousand.
const MOST_CALLS: u64 = 2_000_000;
/// Nanoseconds of a unit of `/proc/stat`.
const UNIT_NS: u64 = 10_000_000;

/// What the simulated kernel reports itself.
fn release() -> String {
    let version = schedlab_sim::scx::kernel().version;
    format!("{}.{}.{}", version >> 16, version >> 8 & 0xff, version & 0xff)
}

/// A program that loads its scheduler into a machine of this form.
pub(crate) struct Loading {
    program: Program,
    machine: machine::Machine,
    seed: u64,
    running: Option<Running>,
}

/// A program that is in charge.
struct Running {
    supervisor: Supervisor,
    /// What its clock showed when the run began.
    begun_ns: u64,
    /// The link that it waits for.
    link: Option<u32>,
    name: String,
    /// When it was last told where the CPUs' time goes.
    told_ns: u64,
}

impl Loading {
    pub fn new(program: &Program, machine: &machine::Machine, seed: u64) -> Loading {
        Loading { program: program.clone(), machine: machine.clone(), seed, running: None }
    }

    fn command(&self) -> io::Result<Command> {
        let job = self.program.job();
        let libraries = schedlab_vm::libraries::of(Path::new(&job.words[0]))?;
        let reads = libraries.into_keys().chain(job.files.iter().cloned()).map(PathBuf::from).collect();
        let mut files = Files::default();
        let release = release();
        add_machine(&mut files, &self.machine.topology, &release, &kernel_configuration(self.machine.tick));
        files.file("/sys/kernel/btf/vmlinux", kernel_btf().bytes);
        for (name, text) in
            [("state", "disabled\n"), ("hotplug_seq", "0\n"), ("enable_seq", "0\n"), ("nr_rejected", "0\n")]
        {
            files.file(format!("/sys/kernel/sched_ext/{name}"), text);
        }
        Ok(Command {
            words: job.words.iter().map(Into::into).collect(),
            folder: job.folder.clone().into(),
            reads,
            files,
            cpus: self.machine.cpus(),
            release,
            seed: self.seed,
            most_calls: MOST_CALLS,
        })
    }
}

impl Loads for Loading {
    fn load(&mut self, machine: &mut Machine<'_>) -> Result<Box<Attached>, RunError> {
        let failed = |error: &dyn std::fmt::Display| RunError::Program(error.to_string());
        let command = self.command().map_err(|error| failed(&error))?;
        let mut supervisor = Supervisor::start(command).map_err(|error| failed(&error))?;
        let mut system = Answers { machine, attached: None };
        let ended = supervisor.run_to_stop(&mut system);
        let attached = match (ended, system.attached) {
            (Ok(()), Some(attached)) => attached,
            (Ok(()), None) => unreachable!("only what is attached stops it"),
            (Err(LoaderError::Stopped), _) => return Err(RunError::Stopped),
            (Err(error), _) => {
                let mut text = match &error {
                    LoaderError::Ended(how, tail) => {
                        format!(
                            "it ended with {how} and loaded no scheduler: name a program that loads one and stays{tail}"
                        )
                    }
                    error => error.to_string(),
                };
                let refused: Vec<&str> = supervisor.refused().collect();
                let faults: Vec<&str> = machine.faults().iter().map(String::as_str).collect();
                let lists =
                    [("what failed in the simulated kernel", faults), ("what it asked for and did not get", refused)];
                for (what, list) in lists.iter().filter(|(_, list)| !list.is_empty()) {
                    let _ = write!(text, "\n{what}: {}", list.join("; "));
                }
                return Err(RunError::Program(text));
            }
        };
        if !self.program.once() {
            let (begun_ns, link) = (supervisor.now_ns(), Some(attached.link));
            let name = attached.operations.text("name").unwrap_or_default().to_string();
            self.running = Some(Running { supervisor, begun_ns, link, name, told_ns: 0 });
        }
        Ok(attached)
    }

    fn goes_on(&self) -> bool {
        self.running.is_some()
    }

    fn work(&mut self, machine: &mut Machine<'_>, now_ns: u64) -> Result<Option<u64>, String> {
        let Some(running) = &mut self.running else { return Ok(None) };
        running.work(machine, now_ns).map_err(|error| format!("the policy's program: {error}"))
    }
}

impl Running {
    fn work(&mut self, machine: &mut Machine<'_>, now_ns: u64) -> Result<Option<u64>, String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let now = self.begun_ns + now_ns;
        if now_ns >= self.told_ns {
            self.told_ns = now_ns + UNIT_NS;
            self.supervisor.write_file("/proc/stat", &stat(&machine.cpu_times())).map_err(|error| text(&error))?;
        }
        if let Some(link) = self.link.take() {
            for (file, content) in [("state", "enabled"), ("enable_seq", "1"), ("root/ops", &self.name)] {
                let path = format!("/sys/kernel/sched_ext/{file}");
                self.supervisor.write_file(&path, &format!("{content}\n")).map_err(|error| text(&error))?;
            }
            self.supervisor.go_on(link).map_err(|error| text(&error))?;
        }
        self.supervisor.let_pass(now);
        match self.supervisor.run(&mut Answers { machine, attached: None }, now).map_err(|error| text(&error))? {
            Stand::Waits(next) => Ok(next.map(|next| next - self.begun_ns)),
            Stand::Stopped => Err("it put a second policy in charge, which is not simulated".into()),
            Stand::Ended(how) => Err(format!("it ended with {how}{}", self.supervisor.tail())),
        }
    }
}

/// `/proc/stat`: the time of tasks is that of users, what the system takes for itself its own.
fn stat(cpus: &[CpuTime]) -> String {
    let units = |part: fn(&CpuTime) -> u64, of: &[CpuTime]| of.iter().map(part).sum::<u64>() / UNIT_NS;
    let line = |name: &str, of: &[CpuTime]| {
        let user = units(|time| time.task.ns(), of);
        let (system, idle) = (units(|time| time.overhead.ns(), of), units(|time| time.idle.ns(), of));
        format!("{name} {user} 0 {system} {idle} 0 0 0 0 0 0\n")
    };
    let mut text = line("cpu ", cpus);
    for (number, cpu) in cpus.iter().enumerate() {
        text += &line(&format!("cpu{number}"), std::slice::from_ref(cpu));
    }
    text + "intr 0\nctxt 0\nbtime 1767225600\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n"
}

/// The simulated kernel as the program sees it.
struct Answers<'m, 'a> {
    machine: &'m mut Machine<'a>,
    attached: Option<Box<Attached>>,
}

impl System for Answers<'_, '_> {
    fn bpf(&mut self, caller: &Caller<'_>, command: u32, attributes: u64, size: u32) -> Reply {
        match self.machine.bpf(&Process(caller), command, (attributes, size)) {
            BpfReply::Value(value) => Reply::Value(value),
            BpfReply::Error(number) => Reply::Error(Errno(number)),
            BpfReply::Object(object, file) => Reply::Object(object, file),
            BpfReply::Attached(attached) => {
                self.attached = Some(attached);
                Reply::Stop
            }
        }
    }

    fn is_to_stop(&mut self) -> bool {
        self.machine.is_to_stop()
    }
}

/// The supervised process, as bpf(2) looks at it.
struct Process<'a, 'c>(&'a Caller<'c>);

impl BpfCaller for Process<'_, '_> {
    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), i32> {
        self.0.process.read(address, bytes).map_err(|Errno(number)| number)
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), i32> {
        self.0.process.write(address, bytes).map_err(|Errno(number)| number)
    }

    fn object(&self, fd: i32) -> Option<u32> {
        self.0.process.object(fd)
    }

    fn file(&self, object: u32, len: u64) -> io::Result<OwnedFd> {
        object_file(object, len)
    }

    fn cpu(&self) -> u32 {
        self.0.cpu
    }
}
