//! A policy in charge of this kernel.

use super::enumerators;
use super::verifier::in_lines_of_source;
use crate::policy::{Entries, Enumerator, LoadedProgram, SchedulerError, Setting};
use crate::tenure::{Tenure, Vacancy, until_disabled};
use libbpf_rs::{Link, MapCore, MapType, Object, ObjectBuilder, OpenObject, PrintLevel, ProgramType};
use std::sync::{Mutex, PoisonError};

/// A policy that a kernel has verified and that is not in charge yet.
pub struct VerifiedScheduler {
    object: Object,
    vacancy: Vacancy,
}

impl VerifiedScheduler {
    /// Has the kernel verify an object. Its `settings` are put in first, and the kernel's numbers for the enumerators that it has
    /// constants for.
    pub fn load(
        object: &[u8],
        settings: &[Setting],
        entries: &[Entries],
        enumerators: &[Enumerator],
    ) -> Result<VerifiedScheduler, SchedulerError> {
        let vacancy = Vacancy::find()?;
        // The verifier says why in what libbpf prints.
        SAID.lock().unwrap_or_else(PoisonError::into_inner).clear();
        libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text| {
            SAID.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text);
        })));
        let mut open = ObjectBuilder::default().open_memory(object).map_err(refused)?;
        let numbers = enumerators::fill(enumerators)?;
        numbers.iter().chain(settings).try_for_each(|setting| apply(&mut open, setting))?;
        entries.iter().try_for_each(|entries| size(&mut open, entries))?;
        Ok(VerifiedScheduler { object: open.load().map_err(refused)?, vacancy })
    }

    /// Hands the CPUs to it.
    pub fn start(mut self) -> Result<Scheduler, SchedulerError> {
        let object = &mut self.object;
        let probes =
            object.progs_mut().filter(|program| program.autoload() && program.prog_type() == ProgramType::Tracing);
        let probes = probes.map(|probe| probe.attach()).collect::<Result<_, _>>().map_err(refused)?;
        let operations = object.maps_mut().find(|map| map.map_type() == MapType::StructOps);
        let link = match operations {
            Some(mut operations) => operations.attach_struct_ops().map_err(refused)?,
            None => return Err(SchedulerError::Refused("it has no operations".into())),
        };
        Ok(Scheduler { link: Some(link), _probes: probes, object: self.object, tenure: self.vacancy.filled()? })
    }
}

/// A policy that is in charge. The kernel's own scheduler is again when this is dropped.
pub struct Scheduler {
    link: Option<Link>,
    // What the policy looks at in addition to its operations.
    _probes: Vec<Link>,
    // The programs live as long as the link.
    object: Object,
    tenure: Tenure,
}

impl Scheduler {
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
        self.tenure.check()
    }

    /// Ends, and says whether it was in charge up to now.
    pub fn stop(mut self) -> Result<(), SchedulerError> {
        self.check()?;
        self.link = None;
        until_disabled();
        Ok(())
    }
}

fn refused(error: libbpf_rs::Error) -> SchedulerError {
    SchedulerError::Refused(why(&error))
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

fn size(open: &mut OpenObject, (name, entries): &Entries) -> Result<(), SchedulerError> {
    let map = open.maps_mut().find(|map| map.name().to_string_lossy() == *name);
    let mut map = map.ok_or_else(|| SchedulerError::Refused(format!("there is no map {name}")))?;
    map.set_max_entries(*entries).map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel without sched_ext says so; one that has it does not take what is no object.
    #[test]
    fn what_cannot_be_loaded_is_told() {
        let error = VerifiedScheduler::load(b"no object", &[], &[], &[]).err().expect("it cannot be loaded");
        match crate::tenure::state() {
            None => assert_eq!(error, SchedulerError::NoSchedExt),
            Some(_) => assert!(matches!(error, SchedulerError::Refused(_) | SchedulerError::Taken(_)), "{error}"),
        }
    }
}
