//! A policy in charge of this kernel.

use libbpf_rs::{Link, MapCore, MapType, ObjectBuilder, OpenObject, PrintLevel};
use std::fs;
use std::sync::{Mutex, PoisonError};

/// Where a kernel with sched_ext tells about it.
const FOLDER: &str = "/sys/kernel/sched_ext";

/// Why a policy is not in charge.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchedulerError {
    /// No sched_ext.
    #[error("this kernel has no sched_ext: it takes 6.12 or newer with CONFIG_SCHED_CLASS_EXT")]
    NoSchedExt,
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

/// A policy that is in charge. The kernel's own scheduler is again when this is dropped.
pub struct Scheduler {
    link: Option<Link>,
    // The programs live as long as the link.
    _object: libbpf_rs::Object,
}

impl Scheduler {
    /// Loads an object, whose `settings` are put in first, and hands the CPUs to it.
    pub fn start(object: &[u8], settings: &[Setting]) -> Result<Scheduler, SchedulerError> {
        match state() {
            None => return Err(SchedulerError::NoSchedExt),
            Some(state) if state != "disabled" => return Err(SchedulerError::Taken(name())),
            Some(_) => {}
        }
        let refused = |error: libbpf_rs::Error| SchedulerError::Refused(why(&error));
        // The verifier says why in what libbpf prints.
        SAID.lock().unwrap_or_else(PoisonError::into_inner).clear();
        libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text| {
            SAID.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text);
        })));
        let mut open = ObjectBuilder::default().open_memory(object).map_err(refused)?;
        settings.iter().try_for_each(|setting| apply(&mut open, setting))?;
        let mut object = open.load().map_err(refused)?;
        let operations = object.maps_mut().find(|map| map.map_type() == MapType::StructOps);
        let link = match operations {
            Some(mut operations) => operations.attach_struct_ops().map_err(refused)?,
            None => return Err(SchedulerError::Refused("it has no operations".into())),
        };
        let scheduler = Scheduler { link: Some(link), _object: object };
        scheduler.check()?;
        Ok(scheduler)
    }

    /// Whether it is still in charge.
    pub fn check(&self) -> Result<(), SchedulerError> {
        match state().as_deref() {
            Some("enabled") => Ok(()),
            _ => Err(SchedulerError::Ejected(last_words())),
        }
    }

    /// Ends, and says whether it was in charge up to now.
    pub fn stop(mut self) -> Result<(), SchedulerError> {
        let checked = self.check();
        self.link = None;
        checked
    }
}

/// What libbpf has printed since the last start.
static SAID: Mutex<String> = Mutex::new(String::new());

/// So many of the verifier's last lines are told.
const VERIFIER_LINES: usize = 24;

/// An error, with the verifier's last words below it if it was the verifier's.
fn why(error: &libbpf_rs::Error) -> String {
    let said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    let mut why = format!("{error:#}").replace('\n', " ");
    let end = said.find("-- END PROG LOAD LOG --");
    let lines: Vec<&str> = said[..end.unwrap_or(0)].lines().collect();
    for line in &lines[lines.len().saturating_sub(VERIFIER_LINES)..] {
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

fn read(file: &str) -> Option<String> {
    Some(fs::read_to_string(format!("{FOLDER}/{file}")).ok()?.trim().to_string())
}

fn state() -> Option<String> {
    read("state")
}

fn name() -> String {
    read("root/ops").unwrap_or_else(|| "another".into())
}

/// What the kernel's log says last about sched_ext.
fn last_words() -> String {
    use std::io::Read;
    use std::os::unix::fs::OpenOptionsExt;
    let log = fs::File::options().read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg");
    let Ok(mut log) = log else { return "its log cannot be read".into() };
    let (mut words, mut record) = (Vec::new(), [0; 8192]);
    // Each read gives one record: numbers, a semicolon, the text.
    while let Ok(length) = log.read(&mut record) {
        let text = String::from_utf8_lossy(&record[..length]).into_owned();
        let text = text.split_once(';').map_or("", |(_, text)| text).lines().next().unwrap_or("").to_string();
        if let Some((_, said)) = text.split_once("sched_ext: ") {
            words.push(said.to_string());
        }
    }
    let last = words.len().saturating_sub(3);
    if words.is_empty() { "it did not say why".into() } else { words[last..].join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel without sched_ext says so; one that has it does not take what is no object.
    #[test]
    fn what_cannot_be_loaded_is_told() {
        let error = Scheduler::start(b"no object", &[]).err().expect("it cannot be loaded");
        match state() {
            None => assert_eq!(error, SchedulerError::NoSchedExt),
            Some(_) => assert!(matches!(error, SchedulerError::Refused(_) | SchedulerError::Taken(_)), "{error}"),
        }
    }
}
