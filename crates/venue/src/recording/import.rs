//! A recording that another tool made.

use super::programs::{self, RoleBy};
use super::tape::{self, FirstLook, Label, Tape};
use super::{RecordError, Recording, Wholeness, own};
use crate::VenueError;
use schedlab_import::{Error, Place, Source, Told};
use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::CpuId;
use schedlab_model::time::Time;
use std::path::Path;

/// Makes a trace of what another tool recorded: a file, or what is piped into the program.
pub fn import(place: &Place, trace: &Path, role_by: RoleBy) -> Result<Recording, VenueError> {
    if let Place::File(file) = place {
        check(file, trace)?;
    }
    let (mut spool, folder) = tape::spool_for(trace)?;
    let source = Source::open(place, &folder).map_err(RecordError::Import)?;
    if source.is_own().map_err(RecordError::Import)?
        && let Some(recording) = own::import(&source, place, trace, role_by)?
    {
        return Ok(recording);
    }
    let told = source.read(|record| spool.push(record)).map_err(RecordError::Import)?;
    let spool_failed = |error| RecordError::Spool { folder: folder.clone(), error };
    let mut spooled = spool.finish().map_err(spool_failed)?;
    // What was there at the start is known only at the end of the recording.
    let mut look = FirstLook::by(role_by);
    tape::in_order(&mut spooled, &told.before, told.start_ns, |record| look.note(record)).map_err(spool_failed)?;
    if told.is_of_some_tasks {
        look.gaps.follow_some_tasks();
    }
    let records = spooled.count();
    let cpus = told.cpus.max(look.programs.cpus()).max(1);
    let label = Label {
        name: name(place),
        source: Some(place),
        venue: "import",
        kernel: None,
        partial: false,
        missing: missing(&told, cpus),
    };
    let tape = Tape {
        spooled,
        cpus,
        look,
        start_ns: told.start_ns,
        end_ns: told.end_ns.max(told.start_ns),
        lost: told.lost,
        before: told.before,
    };
    let (result, summary, unwritten) = tape.convert(&label, trace)?;
    let lost = if told.lost > 0 { vec![("events".to_string(), told.lost)] } else { Vec::new() };
    let wholeness = Wholeness { passed: told.passed, ..Wholeness::of(records, lost, &summary) };
    Ok(Recording { result, wholeness, ended: None, unwritten })
}

/// Checks both paths before anything is read.
fn check(file: &Path, trace: &Path) -> Result<(), RecordError> {
    if file.is_dir() {
        let what = "this is not a file; save the recording to one first";
        return Err(Error::Foreign { place: Place::of(file), what: what.into() }.into());
    }
    if let (Ok(file), Ok(trace)) = (file.canonicalize(), trace.canonicalize())
        && file == trace
    {
        return Err(RecordError::SameFile(trace));
    }
    Ok(())
}

fn name(place: &Place) -> String {
    match place {
        Place::File(file) => file.file_name().map_or_else(String::new, |name| programs::clean(&name.to_string_lossy())),
        Place::Standard => place.to_string(),
    }
}

/// What the recording did not say.
fn missing(told: &Told, cpus: u32) -> Vec<String> {
    let mut missing = Vec::new();
    if !told.has_switches {
        missing.push("which task ran when, since the recording has no switches; record sched:sched_switch too".into());
    }
    if !told.has_wakeups {
        missing.push("waits after a sleep, since the recording has no wake-ups; record sched:sched_wakeup too".into());
    }
    if told.is_of_some_tasks {
        missing.push("what the machine did: the recording follows some tasks; record with -a".into());
    } else {
        missing.extend(unheard(told, cpus));
    }
    if told.overwritten > 0 {
        missing.push(format!("the time of {} older events, which had been overwritten", told.overwritten));
    }
    if told.start_ns > told.first_ns {
        let early = Time(told.start_ns - told.first_ns);
        missing.push(format!("the first {early} of the recording, in which the buffers of some CPUs had not begun"));
    }
    missing.extend(told.missing.iter().cloned());
    missing
}

/// The CPUs of which nothing was recorded.
fn unheard(told: &Told, cpus: u32) -> Option<String> {
    let silent: CpuSet = (0..cpus).filter(|cpu| !told.heard.contains(cpu)).map(CpuId).collect();
    let which = match silent.len() {
        0 => return None,
        1 => format!("CPU {silent}"),
        _ => format!("CPUs {silent}"),
    };
    Some(format!(
        "what {which} did: nothing was recorded of {}; record with -a",
        if silent.len() == 1 { "it" } else { "them" }
    ))
}
