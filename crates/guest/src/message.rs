//! What goes into a guest and what comes out.

use schedlab_kernel::{Enumerator, LoadedProgram, Record, Setting, Stats};
use schedlab_load::costs::Costs;
use schedlab_load::{Calibration, Report};
use schedlab_model::fact::{Fact, Form, SetByHand};
use schedlab_model::layout::Layout;
use schedlab_model::result::SchedulerProgram;
use schedlab_model::workload::Workload;
use serde::{Deserialize, Serialize};

/// Where a guest's setup lies in the initramfs: in a folder that no program of a user is in.
pub const SETUP_PATH: &str = "/.schedlab/setup";
/// Where its work lies, unless it is handed over later: see [`crate::handover`].
pub const WORK_PATH: &str = "/.schedlab/work";

/// What a guest has to do. It is read once, by the same version of schedlab that wrote it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// What comes first.
    pub setup: Setup,
    /// What is measured.
    pub work: Work,
}

/// What many runs have in common: a guest can stop after it, and runs continue from copies of the stopped machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// What tasks compute, by name.
    pub algorithm: String,
    /// The policy; none stands for the kernel's own scheduler.
    pub policy: Option<PolicyJob>,
}

/// A run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Work {
    /// What the tasks do.
    pub workload: Workload,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Whether costs are measured after the run.
    pub costs: bool,
}

/// A policy to be put in charge of a kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum PolicyJob {
    /// An object.
    Object(ObjectJob),
    /// A program that loads an object of its own.
    Program(ProgramJob),
}

/// A program that puts a policy in charge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramJob {
    /// The program by its whole path, and its arguments.
    pub words: Vec<String>,
    /// Its working folder.
    pub folder: String,
    /// The files that its arguments name, by their whole paths: a guest gets them.
    pub files: Vec<String>,
}

impl ProgramJob {
    /// The most bytes of a file that its arguments name.
    pub const MOST_FILE_BYTES: u64 = 64 << 20;
}

/// An object to be put in charge.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ObjectJob {
    /// The object.
    pub object: Vec<u8>,
    /// What is put into its data before.
    pub settings: Vec<Setting>,
    /// The constants in its data that stand for the kernel's enumerators.
    pub enumerators: Vec<Enumerator>,
    /// The parameters in its data that report the machine.
    pub machine: Vec<MachineBlank>,
    /// What the user has set of such parameters.
    pub set_by_hand: SetByHand,
    /// The parameters in its data that say how many entries a map has.
    pub rooms: Vec<Room>,
}

/// A parameter that says how many entries a map has, of which each control group needs one on each CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Room {
    /// The map.
    pub map: String,
    /// The data section of the object in which the parameter is.
    pub section: String,
    /// Where in the section.
    pub offset: u64,
    /// How many entries there are.
    pub entries: u32,
    /// Whether there may be more: the user has not set it.
    pub grows: bool,
}

impl Room {
    /// The same on a machine with that many control groups and CPUs: room for twice as many groups, and for those of a few services.
    fn on(&self, groups: u32, cpus: u32) -> Room {
        let wanted = groups.saturating_mul(2).saturating_add(FURTHER_GROUPS).saturating_mul(cpus);
        let entries = if self.grows { self.entries.max(wanted) } else { self.entries };
        Room { entries, ..self.clone() }
    }
}

/// There is room for this many control groups beyond twice those that are there.
const FURTHER_GROUPS: u32 = 64;

/// A parameter that is filled from the machine on which the policy runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineBlank {
    /// What it says.
    pub fact: Fact,
    /// How it holds that.
    pub form: Form,
    /// The data section of the object.
    pub section: String,
    /// Where in the section it is.
    pub offset: u64,
}

impl ObjectJob {
    /// How many entries its maps get on a machine with this many control groups.
    pub fn rooms_on(&self, groups: u32, cpus: u32) -> Vec<Room> {
        self.rooms.iter().map(|room| room.on(groups, cpus)).collect()
    }

    /// What is put into its data on a machine.
    pub fn settings_on(&self, layout: &Layout) -> Vec<Setting> {
        let fill = |blank: &MachineBlank| {
            let bytes = blank.fact.bytes(blank.form, layout, &self.set_by_hand);
            (blank.section.clone(), blank.offset, bytes)
        };
        self.machine.iter().map(fill).chain(self.settings.iter().cloned()).collect()
    }
}

/// What a kernel was handed of a policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loaded {
    /// SHA-256 of the object or of the program, in hexadecimal.
    pub hash: String,
    /// The machine that it got to know.
    pub layout: Layout,
    /// What it was.
    pub what: LoadedWhat,
}

/// What had the CPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LoadedWhat {
    /// An object's programs.
    Object(Vec<LoadedProgram>),
    /// A program, with what it did.
    Program(ProgramReport),
}

/// What a program did that puts a policy in charge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramReport {
    /// As results have it.
    pub program: SchedulerProgram,
    /// Whether it ended when it was asked to, and did not have to be killed.
    pub ended: bool,
}

/// What a guest says, in this order: hello, begun, records, outcome; or a failure at any place. One that stops before its work says
/// hello and prepared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Message {
    /// Our program runs.
    Hello {
        /// The kernel's release.
        kernel: String,
        /// Virtual nanoseconds since the kernel began to count.
        at_ns: u64,
    },
    /// The load is calibrated and the policy is loaded; the machine stops now, and goes on when it has its work. After that it says hello
    /// once more, as the first message of others.
    Prepared,
    /// The scenario's first instruction comes now.
    Begun {
        /// Virtual nanoseconds since the kernel began to count.
        at_ns: u64,
    },
    /// So much of the run is over.
    Progress(u64),
    /// Some of the records, in order.
    Records(Vec<Record>),
    /// The end.
    Outcome(Box<Outcome>),
    /// The run did not happen, for a reason that the caller can read.
    Failed(String),
    /// The kernel threw the policy out.
    PolicyFailed(String),
    /// The kernel did not take the policy.
    PolicyRefused(String),
}

/// What a run left, except for the records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// What the tasks saw.
    pub report: Report,
    /// What the recorder says about the records, or why there are none.
    pub recorded: Result<Stats, String>,
    /// What the policy was; none for the kernel's own scheduler.
    pub loaded: Option<Loaded>,
    /// How much work a nanosecond was.
    pub calibration: Calibration,
    /// What the scheduler itself takes, measured after the run, where that was asked for.
    pub costs: Option<Result<Costs, String>>,
    /// How many records were sent.
    pub records: u64,
}
