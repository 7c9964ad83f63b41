//! A whole scheduler in the simulator: its own program loads it, under supervision, into the simulated machine.

use crate::program::Program;
use schedlab_bpf::{Attached, Caller as BpfCaller, Reply as BpfReply};
use schedlab_loader::{Caller, Command, Errno, Files, Reply, Supervisor, System, add_machine, object_file};
use schedlab_model::machine::Topology;
use schedlab_sim::RunError;
use schedlab_sim::scx::loaded::{Loads, Machine, kernel_btf, kernel_configuration};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// What a result says of a program that was stopped when it was in charge.
pub(crate) const ONCE: &str = "The policy is as set up by its loader, whose later work is not simulated.";

/// So many calls are enough for any loader: those that were tried make up to 60 thousand.
const MOST_CALLS: u64 = 2_000_000;

/// What the simulated kernel tells of itself.
fn release() -> String {
    let version = schedlab_sim::scx::kernel().version;
    format!("{}.{}.{}", version >> 16, version >> 8 & 0xff, version & 0xff)
}

/// A program that loads its scheduler into a machine of this form.
pub(crate) struct Loading<'a> {
    pub program: &'a Program,
    pub topology: Topology,
    pub seed: u64,
}

impl Loading<'_> {
    fn command(&self) -> io::Result<Command> {
        let job = self.program.job();
        let libraries = schedlab_vm::libraries::of(Path::new(&job.words[0]))?;
        let reads = libraries.into_keys().chain(job.files.iter().cloned()).map(PathBuf::from).collect();
        let mut files = Files::default();
        let release = release();
        add_machine(&mut files, &self.topology, &release, &kernel_configuration());
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
            cpus: self.topology.cpus(),
            release,
            seed: self.seed,
            most_calls: MOST_CALLS,
        })
    }
}

impl Loads for Loading<'_> {
    fn load(&mut self, machine: &mut Machine<'_>) -> Result<Box<Attached>, RunError> {
        let failed = |why: String| RunError::Program(why);
        let command = self.command().map_err(|error| failed(error.to_string()))?;
        let mut supervisor = Supervisor::start(command).map_err(|error| failed(error.to_string()))?;
        let mut system = Answers { machine, attached: None };
        let ended = supervisor.run_to_stop(&mut system);
        let faults: Vec<String> = system.machine.faults().to_vec();
        match (ended, system.attached) {
            (Ok(()), Some(attached)) => Ok(attached),
            (Ok(()), None) => unreachable!("only what is attached stops it"),
            (Err(error), _) => {
                let refused: Vec<&str> = supervisor.refused().collect();
                let because = |what: &str, list: &[String]| match list {
                    [] => String::new(),
                    list => format!("\n{what}: {}", list.join("; ")),
                };
                let refused: Vec<String> = refused.into_iter().map(String::from).collect();
                let refused = because("what it asked for and did not get", &refused);
                Err(failed(format!("{error}{}{refused}", because("programs that it ran failed", &faults))))
            }
        }
    }
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
