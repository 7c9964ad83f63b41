//! A policy in charge of this kernel.

use crate::enumerators::{self, Enumerator};
use crate::lack;
use crate::log::Log;
use crate::verifier::in_lines_of_source;
use libbpf_rs::{Link, MapCore, MapType, Object, ObjectBuilder, OpenObject, PrintLevel, ProgramType};
use serde::{Deserialize, Serialize};
use std::fs;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Where a kernel with sched_ext tells about it.
const FOLDER: &str = "/sys/kernel/sched_ext";
/// The longest that a kernel needs to put its own scheduler back.
const PUT_BACK: Duration = Duration::from_secs(5);

/// Why a policy is not in charge.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchedulerError {
    /// No sched_ext.
    #[error("this kernel has no sched_ext: it takes 6.12 or newer with CONFIG_SCHED_CLASS_EXT")]
    NoSchedExt,
    /// This process may not.
    #[error("loading a policy needs {0}, which this process lacks; run it as root")]
    Rights(String),
    /// Another one is in charge.
    #[error("the scheduler `{0}` is in charge of this kernel; stop it first")]
    Taken(String),
    /// The kernel refused it.
    #[error("the kernel does not take the policy: {0}")]
    Refused(String),
    /// It was in charge, and the kernel threw it out.
    #[error("the kernel threw the policy out: {0}")]
    Ejected(String),
}

/// A value to be put into the object's data before it is loaded: section, offset, bytes.
pub type Setting = (String, u64, Vec<u8>);

/// A program as it was handed to the kernel: with its addresses, and with the subprograms that it calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedProgram {
    /// Its name.
    pub name: String,
    /// Its instructions, each as its eight bytes.
    pub instructions: Vec<[u8; 8]>,
}

/// A policy that is in charge. The kernel's own scheduler is again when this is dropped.
pub struct Scheduler {
    link: Option<Link>,
    // What the policy looks at beside its operations.
    _probes: Vec<Link>,
    // The programs live as long as the link.
    object: Object,
    log: Log,
    /// The kernel counts policies that it puts in charge: which one this is.
    number: Option<String>,
}

impl Scheduler {
    /// Whether an object can be put in charge now: the kernel is given it and does not begin to use it.
    pub fn probe(object: &[u8], settings: &[Setting], enumerators: &[Enumerator]) -> Result<(), SchedulerError> {
        load(object, settings, enumerators).map(drop)
    }

    /// Loads an object and hands the CPUs to it. Its `settings` are put in first, and the kernel's numbers for the
    /// enumerators that it has constants for.
    pub fn start(object: &[u8], settings: &[Setting], enumerators: &[Enumerator]) -> Result<Scheduler, SchedulerError> {
        let mut object = load(object, settings, enumerators)?;
        let log = Log::from_now();
        let probes =
            object.progs_mut().filter(|program| program.autoload() && program.prog_type() == ProgramType::Tracing);
        let probes = probes.map(|probe| probe.attach()).collect::<Result<_, _>>().map_err(refused)?;
        let operations = object.maps_mut().find(|map| map.map_type() == MapType::StructOps);
        let link = match operations {
            Some(mut operations) => operations.attach_struct_ops().map_err(refused)?,
            None => return Err(SchedulerError::Refused("it has no operations".into())),
        };
        let scheduler = Scheduler { link: Some(link), _probes: probes, object, log, number: number() };
        scheduler.check()?;
        Ok(scheduler)
    }

    /// What the kernel was handed.
    pub fn programs(&self) -> Vec<LoadedProgram> {
        let loaded = self.object.progs().filter(|program| program.autoload());
        let bytes = |insn: &libbpf_sys::bpf_insn| {
            let (offset, imm) = (insn.off.to_le_bytes(), insn.imm.to_le_bytes());
            let registers = insn.dst_reg() | insn.src_reg() << 4;
            [insn.code, registers, offset[0], offset[1], imm[0], imm[1], imm[2], imm[3]]
        };
        let program = |program: libbpf_rs::Program| LoadedProgram {
            name: program.name().to_string_lossy().into_owned(),
            instructions: program.insns().iter().map(bytes).collect(),
        };
        loaded.map(program).collect()
    }

    /// Whether it is still in charge.
    pub fn check(&self) -> Result<(), SchedulerError> {
        if state().as_deref() == Some("enabled") && number() == self.number {
            return Ok(());
        }
        // The kernel says why before it is done with it.
        until_disabled();
        Err(SchedulerError::Ejected(self.log.of_sched_ext()))
    }

    /// Ends, and says whether it was in charge up to now.
    pub fn stop(mut self) -> Result<(), SchedulerError> {
        self.check()?;
        self.link = None;
        until_disabled();
        Ok(())
    }
}

/// Has the kernel check an object, whose `settings` and `enumerators` are put in first. Nobody is in charge, and this
/// process may.
fn load(object: &[u8], settings: &[Setting], enumerators: &[Enumerator]) -> Result<Object, SchedulerError> {
    match state() {
        None => return Err(SchedulerError::NoSchedExt),
        Some(state) if state != "disabled" => return Err(SchedulerError::Taken(name())),
        Some(_) => {}
    }
    if let Some(missing) = lack::missing_here() {
        return Err(SchedulerError::Rights(missing));
    }
    // The verifier says why in what libbpf prints.
    SAID.lock().unwrap_or_else(PoisonError::into_inner).clear();
    libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text| {
        SAID.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text);
    })));
    let mut open = ObjectBuilder::default().open_memory(object).map_err(refused)?;
    let numbers = enumerators::fill(enumerators)?;
    numbers.iter().chain(settings).try_for_each(|setting| apply(&mut open, setting))?;
    open.load().map_err(refused)
}

fn refused(error: libbpf_rs::Error) -> SchedulerError {
    SchedulerError::Refused(why(&error))
}

/// Waits until the kernel's own scheduler is in charge of all, or another policy.
fn until_disabled() {
    let begun = Instant::now();
    while state().is_some_and(|state| state == "disabling") && begun.elapsed() < PUT_BACK {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What libbpf has printed since the last start.
static SAID: Mutex<String> = Mutex::new(String::new());

/// An error, with what the verifier has against which lines below it, if it was the verifier's.
fn why(error: &libbpf_rs::Error) -> String {
    let said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    let mut why = format!("{error:#}").replace('\n', " ");
    let end = said.find("-- END PROG LOAD LOG --");
    let log = &said[..end.unwrap_or(0)];
    let begin = log.rfind("-- BEGIN PROG LOAD LOG --").unwrap_or(0);
    for line in in_lines_of_source(&log[begin..]) {
        why += &format!("\n  verifier: {line}");
    }
    why
}

fn apply(open: &mut OpenObject, (section, offset, bytes): &Setting) -> Result<(), SchedulerError> {
    let map = open.maps_mut().find(|map| map.name().to_string_lossy().ends_with(section.as_str()));
    let range = *offset as usize..*offset as usize + bytes.len();
    let mut map = map.ok_or_else(|| SchedulerError::Refused(format!("there is no data section {section}")))?;
    let place = map.initial_value_mut().and_then(|value| value.get_mut(range));
    let place = place.ok_or_else(|| SchedulerError::Refused(format!("a parameter lies outside of {section}")))?;
    place.copy_from_slice(bytes);
    Ok(())
}

/// Whether this kernel can be given a policy.
pub fn has_sched_ext() -> bool {
    state().is_some()
}

/// The CPUs that this machine may have.
pub fn cpus() -> u32 {
    libbpf_rs::num_possible_cpus().map_or(1, |cpus| cpus as u32)
}

fn read(file: &str) -> Option<String> {
    Some(fs::read_to_string(format!("{FOLDER}/{file}")).ok()?.trim().to_string())
}

fn state() -> Option<String> {
    read("state")
}

fn number() -> Option<String> {
    read("enable_seq")
}

fn name() -> String {
    read("root/ops").unwrap_or_else(|| "another".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel without sched_ext says so; one that has it does not take what is no object.
    #[test]
    fn what_cannot_be_loaded_is_told() {
        let error = Scheduler::start(b"no object", &[], &[]).err().expect("it cannot be loaded");
        match state() {
            None => assert_eq!(error, SchedulerError::NoSchedExt),
            Some(_) => assert!(matches!(error, SchedulerError::Refused(_) | SchedulerError::Taken(_)), "{error}"),
        }
    }
}
