//! The scenario language: a TOML file that says what the tasks do, on what machine, for how long.
//!
//! The types here are the language, one field for each key; the published schema is made from them. Values are checked
//! as they are read, what they mean together when the scenario is [compiled](Scenario::compile) into the
//! [`Workload`] that a venue takes. `docs/reference/scenario.md` explains the language to users.

mod attributes;
mod averages;
mod change;
mod check;
mod compile;
mod control_group;
mod error;
mod hotplug;
mod list;
mod machine_file;
mod notation;
mod objects;
mod origin;
mod program;
mod quantity;
mod recorded;
mod requests;
mod reservations;
mod runtimes;
mod source;
mod step;
mod toml_text;
mod waits;
mod write;

pub use crate::costs::CostKeys as Costs;
pub use control_group::{Adjustment, ControlGroup, MAX_CONTROL_GROUPS, PartitionName};
pub use error::{ScenarioError, did_you_mean};
pub use hotplug::Hotplug;
pub use list::{OneOrMany, combinations};
pub use machine_file::MachineFile;
pub use notation::{Notation, Text};
pub use origin::Origin;
pub use quantity::{Picoseconds, nanoseconds};
pub use recorded::{Recorded, step as recorded_step};
pub use runtimes::{Conversion, Kubernetes, MilliCpus, Percentage, Systemd, UnitWeight};
pub use source::Source;
pub use step::{Change, Io, STEPS, Step, StepKind, True};
pub(crate) use toml_text::unfit_text;
pub use toml_text::{read_table, read_toml, unfit_name};

pub(crate) use error::{At, Fault};
pub(crate) use step::{Condition, Effect};

use crate::hash::sha256;
use crate::rtapp;
use crate::{
    control_group::PeriodPhase,
    cpuset::CpuSet,
    distribution::Distribution,
    machine::{Mechanisms, Topology},
    time::Time,
    workload::{ChannelKind, Class, Kind, Mutex, Preference, Protocol, Workload},
};
use schedlab_boundary::file;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::Path};

/// A scenario as it is in its file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// A short name.
    pub name: String,
    /// What it shows, in a sentence or two.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Where it runs.
    pub machine: Machine,
    /// How long, from which seed; may be absent when all tasks end by themselves.
    #[serde(default)]
    pub run: Run,
    /// Semaphores by name. One that is not declared starts at 0.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub semaphore: BTreeMap<String, Semaphore>,
    /// Channels by name. One that is not declared is a pipe for 64 messages.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub channel: BTreeMap<String, Channel>,
    /// Barriers by name. One that is not declared waits for all tasks that use it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub barrier: BTreeMap<String, Barrier>,
    /// Devices by name; they need not be declared.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub device: BTreeMap<String, Device>,
    /// Mutexes by name; they need not be declared.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lock: BTreeMap<String, Lock>,
    /// The control groups below the root, in which tasks may be.
    #[serde(rename = "control_group", default, skip_serializing_if = "Vec::is_empty")]
    pub control_groups: Vec<ControlGroup>,
    /// What others have published about the same experiment, shown in addition to what is measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Published>,
    /// The roles.
    #[serde(rename = "task", default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<Task>,
    /// Messages that come from outside of the machine.
    #[serde(rename = "source", default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
    /// CPUs that go offline and come back, in the order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hotplug: Vec<Hotplug>,
    /// Where the scenario was read from; no part of what it says.
    #[serde(skip)]
    written: Written,
}

/// The text behind a scenario. All are equal: two scenarios that say the same are the same, wherever they stand.
#[derive(Clone, Debug, Default)]
struct Written {
    origin: String,
    text: Option<String>,
    remarks: Vec<String>,
    /// Files of steps, by the name under which the scenario knows them.
    files: BTreeMap<String, std::sync::Arc<recorded::Attached>>,
}

impl PartialEq for Written {
    fn eq(&self, _: &Written) -> bool {
        true
    }
}

/// The machine: `cpus` or `topology`, and what else is not zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The number of CPUs, 1 to 4096, in one node with one cache and one thread to a core.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4096))]
    pub cpus: Option<u32>,
    /// How the CPUs hang together, instead of `cpus`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology: Option<Text<Topology>>,
    /// The period of the timer tick. Without one slices end to the nanosecond.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tick: Option<Text<Time>>,
    /// How long after the start the first tick comes, less than a period; 0 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tick_offset: Option<Text<Time>>,
    /// How long a runnable task may wait before the policy is removed; a kernel's 30 s when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watchdog: Option<Text<Time>>,
    /// Ticks per second, instead of `tick`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub hz: Option<u32>,
    /// What the machine and the kernel take for themselves.
    #[serde(default, skip_serializing_if = "is_default")]
    pub costs: Costs,
    /// What the simulated machine does as a kernel does it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mechanisms: Mechanisms,
}

/// One `[[task]]`: a role, which is one or more like tasks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The role's name.
    pub name: String,
    /// How many tasks; 1 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub count: Option<u32>,
    /// When they are created, or when arrivals begin; the start of the run when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Text<Time>>,
    /// The CPU on which they are first placed, before they are free to move.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 4095))]
    pub start_on: Option<u32>,
    /// Nice value, -20 (most) to 19 (least); 0 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -20, max = 19))]
    pub nice: Option<i64>,
    /// Scheduling class; other when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<Text<Class>>,
    /// The slice that they ask the kernel for (`sched_runtime`), 100us to 100ms; the scheduler's own when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice: Option<Text<Time>>,
    /// The CPUs on which they may run; all when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<Text<CpuSet>>,
    /// The path of the control group in which they begin; the root when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_group: Option<String>,
    /// Thread (when absent) or process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<KindName>,
    /// Born only by the `spawn` step of another task.
    #[serde(default, skip_serializing_if = "is_default")]
    pub spawned: bool,
    /// An open workload: the time from one arrival to the next. Each arrival is a new task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Text<Distribution>>,
    /// The instants of the arrivals, ascending, instead of `arrivals`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Vec<Text<Time>>>,
    /// The most arrivals; no bound when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub limit: Option<u32>,
    /// Steps that repeat until the run ends. Each pass is one request, unless it takes requests from others.
    #[serde(rename = "loop", skip_serializing_if = "Option::is_none")]
    pub repeated: Option<Vec<Step>>,
    /// Steps that are done once; then the task ends. They are one request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub once: Option<Vec<Step>>,
    /// A real program with its arguments, for the venues `host` and `vm`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// Steps that were recorded, from a file of steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Recorded>,
}

/// Thread or process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KindName {
    /// A thread of the role's process, or of its parent's if it is spawned.
    Thread,
    /// A process of its own.
    Process,
}

impl From<KindName> for Kind {
    fn from(name: KindName) -> Kind {
        match name {
            KindName::Thread => Kind::Thread,
            KindName::Process => Kind::Process,
        }
    }
}

/// How long a run is and where its random numbers come from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The end of the run. It ends earlier when no task is left. May be absent when all tasks end by themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Text<Time>>,
    /// Nothing before this instant is measured; 0 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup: Option<Text<Time>>,
    /// When the first period of a control group's limit begins after the start, in the simulator: a time, or `"random"`, as
    /// kernels since 6.12 have it, for each group by the seed. At the start when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period_phase: Option<Text<PeriodPhase>>,
    /// The seed of all random numbers; 1 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Whether traces tell what tasks do with shared objects, so that a model can be made of them; false when absent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub calls: bool,
}

/// A semaphore.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Semaphore {
    /// Its value at the start; 0 when absent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub initial: u32,
}

/// A channel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// How many messages it holds before a sender sleeps; 64 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub capacity: Option<u32>,
    /// What it is made of: pipe (when absent) or socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ChannelKindName>,
}

/// What a channel is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChannelKindName {
    /// A pipe.
    Pipe,
    /// A loopback socket.
    Socket,
}

impl From<ChannelKindName> for ChannelKind {
    fn from(name: ChannelKindName) -> ChannelKind {
        match name {
            ChannelKindName::Pipe => ChannelKind::Pipe,
            ChannelKindName::Socket => ChannelKind::Socket,
        }
    }
}

/// A barrier.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Barrier {
    /// How many tasks meet; all that use it when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub parties: Option<u32>,
}

/// A device: it serves one request at a time, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Device {}

/// A mutex, or a reader-writer lock if a task takes it to read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// How it treats its owner: none (when absent), or inherit: it has the priority of the most urgent real-time task that waits.
    #[serde(default, skip_serializing_if = "is_default")]
    pub protocol: Protocol,
    /// How long a task spins for it, as CPU work, before it sleeps; not at all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spin: Option<Text<Time>>,
    /// Whether a reader-writer lock lets readers or writers in first; readers when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefer: Option<Preference>,
}

/// As a file says it.
impl From<&Mutex> for Lock {
    fn from(mutex: &Mutex) -> Lock {
        let spin = Some(Text(mutex.spin)).filter(|spin| spin.0 > Time::ZERO);
        Lock { protocol: mutex.protocol, spin, prefer: mutex.readers }
    }
}

/// A published value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The name of the policy.
    pub policy: String,
    /// What was measured.
    pub metric: PublishedMetric,
    /// The value.
    pub value: Text<Time>,
    /// Where it was published.
    pub source: String,
}

/// What a published value is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PublishedMetric {
    /// The mean response time of all requests.
    ResponseMean,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Scenario {
    /// A scenario that no file is behind; `origin` names it in errors.
    pub fn new(name: &str, machine: Machine, run: Run, tasks: Vec<Task>, origin: &str) -> Scenario {
        Scenario {
            name: name.into(),
            about: String::new(),
            machine,
            run,
            semaphore: BTreeMap::new(),
            channel: BTreeMap::new(),
            barrier: BTreeMap::new(),
            device: BTreeMap::new(),
            lock: BTreeMap::new(),
            control_groups: Vec::new(),
            published: Vec::new(),
            tasks,
            sources: Vec::new(),
            hotplug: Vec::new(),
            written: Written { origin: origin.into(), ..Written::default() },
        }
    }

    /// Reads a scenario file, which may be one of rt-app.
    pub fn from_file(path: &Path) -> Result<Scenario, ScenarioError> {
        let origin = path.display().to_string();
        let text = read_text(path, &origin)?;
        match path.extension().is_some_and(|extension| extension == "json") {
            true => rtapp::import(&text, &origin),
            false => Scenario::of_text(&text, &origin),
        }
    }

    /// Reads the text of a scenario or of an rt-app file; `origin` names it in errors.
    pub fn of_text(text: &str, origin: &str) -> Result<Scenario, ScenarioError> {
        if rtapp::is_likely(text) { rtapp::import(text, origin) } else { Scenario::parse(text, origin) }
    }

    /// What a file of another language says that is carried over with changes, or not at all.
    pub fn remarks(&self) -> &[String] {
        &self.written.remarks
    }

    /// Keeps such remarks.
    pub(crate) fn with_remarks(mut self, remarks: Vec<String>) -> Scenario {
        self.written.remarks = remarks;
        self
    }

    /// Reads a scenario from a text; `origin` names it in errors.
    pub fn parse(text: &str, origin: &str) -> Result<Scenario, ScenarioError> {
        let says_something = |line: &str| !matches!(line.trim().chars().next(), None | Some('#'));
        if !text.lines().any(says_something) {
            return Err(ScenarioError::whole(
                origin,
                "the scenario is empty: it needs a name, [machine], [[task]] and [run]",
            ));
        }
        let mut scenario: Scenario = read_toml(text, origin)?;
        scenario.written = Written { origin: origin.into(), text: Some(text.into()), ..Written::default() };
        Ok(scenario)
    }

    /// Checks what the scenario says as a whole and turns it into what a venue takes.
    pub fn compile(&self) -> Result<Workload, ScenarioError> {
        compile::workload(self).map_err(|fault| self.located(fault))
    }

    /// A fault with the place where it is in the file.
    pub(crate) fn located(&self, fault: Fault) -> ScenarioError {
        fault.located(&self.written.origin, self.written.text.as_deref())
    }

    /// The scenario as a TOML text, which reads back as an equal scenario.
    pub fn to_toml(&self) -> String {
        write::toml(self)
    }

    /// SHA-256 of the canonical form, in hexadecimal: the same for two files that say the same.
    pub fn hash(&self) -> String {
        let mut canonical = serde_json::to_vec(self).expect("every value of the language has a form in JSON");
        self.digests().for_each(|digest| canonical.extend(digest.as_bytes()));
        sha256(&canonical)
    }
}

/// The text of a file that a person wrote; `origin` names it in errors.
///
/// # Errors
///
/// It cannot be read, is no file, is too large, or is not UTF-8.
pub fn read_text(path: &Path, origin: &str) -> Result<String, ScenarioError> {
    let bytes = file::bytes(path, file::TEXT_BYTES)
        .map_err(|error| ScenarioError::whole(origin, format!("the file cannot be read: {error}")))?;
    decode(&bytes, origin)
}

/// The text of a file, which must be UTF-8.
fn decode(bytes: &[u8], origin: &str) -> Result<String, ScenarioError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.into()),
        Err(e) => {
            let good = e.valid_up_to();
            let text = String::from_utf8_lossy(&bytes[..good]);
            let message = format!("the byte 0x{:02x} here is not UTF-8: save the file as UTF-8", bytes[good]);
            Err(ScenarioError::at_byte(origin, &text, good, message))
        }
    }
}

#[cfg(test)]
mod tests;
