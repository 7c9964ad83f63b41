//! A recording that another tool made.

use super::tape::{self, FirstLook, Label, Tape};
use super::{RecordError, Recording, Wholeness};
use crate::VenueError;
use schedlab_model::time::Time;
use schedlab_record::text::{self, Told};
use std::path::Path;

/// Makes a trace of the text of scheduler events in the file `text`.
pub fn import(text: &Path, trace: &Path) -> Result<Recording, VenueError> {
    if text.is_dir() {
        // Said before anything about the trace, whose name comes from the text's.
        let what = "this is no file; save the text to one first";
        return Err(RecordError::Text(text::Error::NoText { path: text.into(), what }).into());
    }
    if let (Ok(text), Ok(trace)) = (text.canonicalize(), trace.canonicalize())
        && text == trace
    {
        return Err(RecordError::SameFile(trace).into());
    }
    let (mut spool, folder) = tape::spool_for(trace)?;
    let told = text::read(text, |record| spool.push(record)).map_err(RecordError::Text)?;
    let spool_failed = |error| RecordError::Spool { folder: folder.clone(), error };
    let mut spooled = spool.finish().map_err(spool_failed)?;
    // What was there at the start is known only at the end of the text.
    let mut look = FirstLook::default();
    tape::in_order(&mut spooled, &told.before, told.start_ns, |record| look.note(record)).map_err(spool_failed)?;
    let records = spooled.count();
    let label = Label {
        name: text.file_name().map_or_else(String::new, |name| super::programs::clean(&name.to_string_lossy())),
        text: Some(text),
        venue: "import",
        kernel: None,
        partial: false,
        missing: missing(&told),
    };
    let tape = Tape {
        spooled,
        cpus: told.cpus.max(look.programs.cpus()).max(1),
        look,
        start_ns: told.start_ns,
        end_ns: told.end_ns,
        lost: told.lost,
        before: told.before,
    };
    let (result, summary, unwritten) = tape.convert(&label, trace)?;
    let lost = if told.lost > 0 { vec![("events".to_string(), told.lost)] } else { Vec::new() };
    Ok(Recording { result, wholeness: Wholeness::of(records, lost, &summary), ended: None, unwritten })
}

/// What the text did not say.
fn missing(told: &Told) -> Vec<String> {
    let wakeups = "waits after a sleep, since the text has no wakeups; record sched:sched_wakeup too";
    let mut missing: Vec<String> = (!told.has_wakeups).then(|| wakeups.into()).into_iter().collect();
    if told.overwritten > 0 {
        missing.push(format!("the time of {} older events, which had been overwritten", told.overwritten));
    }
    if told.start_ns > told.first_ns {
        let early = Time(told.start_ns - told.first_ns);
        missing.push(format!("the first {early} of the text, in which the buffers of some CPUs had not begun"));
    }
    missing
}
