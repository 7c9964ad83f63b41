//! From a recording to records.

use crate::error::Trouble;
use crate::gather::{Gather, Gathered, What};
use crate::input::{Input, Place};
use crate::kind::{self, Kind};
use crate::passed::PassedOver;
use crate::story::Story;
use crate::{Error, perf_data, perfetto, text, trace_dat};
use schedlab_record::Record;
use std::path::Path;

/// What a recording told in addition to its records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// When the recording begins, in nanoseconds of the tool's clock: with the first scheduler event, or, where older
    /// events were overwritten, when the last CPU's buffer begins. Earlier records show only which task was where then.
    pub start_ns: u64,
    /// The time of the first scheduler event.
    pub first_ns: u64,
    /// The time of the last event.
    pub end_ns: u64,
    /// The task on each CPU at the start, as records of the time before it. They come after all other such records.
    pub before: Vec<Record>,
    /// The CPUs of the machine; zero when it does not say.
    pub cpus: u32,
    /// Events that the tool had to drop.
    pub lost: u64,
    /// Events that had been overwritten before the recording begins.
    pub overwritten: u64,
    /// Whether the recording says which task came to a CPU, and which left it.
    pub has_switches: bool,
    /// Whether the recording says when tasks became runnable.
    pub has_wakeups: bool,
    /// What else it cannot say, in words.
    pub missing: Vec<String>,
    /// What was passed over.
    pub passed: PassedOver,
}

/// Reads a recording and hands on its records, in the order of time. What has to be kept meanwhile is kept in files without
/// names in `scratch`.
pub fn read(place: &Place, scratch: &Path, each: impl FnMut(&Record)) -> Result<Told, Error> {
    let input = Input::open(place, scratch)?;
    let of = |trouble: Trouble| named(trouble, place, scratch);
    let gathered = gather(&input, scratch).map_err(of)?;
    if !gathered.facts.has_events {
        return Err(Error::NoEvents { place: place.clone() });
    }
    tell(&gathered, each).map_err(|error| of(Trouble::Scratch(error)))
}

fn gather(input: &Input, scratch: &Path) -> Result<Gathered, Trouble> {
    let start = input.start(kind::START).map_err(Trouble::Read)?;
    let mut gather = Gather::create_in(scratch).map_err(Trouble::Scratch)?;
    match kind::of(&start)? {
        Kind::PerfData => perf_data::read(input, &mut gather)?,
        Kind::TraceDat => trace_dat::read(input, &mut gather)?,
        Kind::Perfetto => perfetto::read(input, &mut gather)?,
        Kind::Wrapped => text::read(input, true, &mut gather)?,
        Kind::Text => text::read(input, false, &mut gather)?,
    }
    gather.finish().map_err(Trouble::Scratch)
}

/// What was gathered, as records.
fn tell(gathered: &Gathered, each: impl FnMut(&Record)) -> std::io::Result<Told> {
    let facts = &gathered.facts;
    let mut story = Story::new(!facts.has_wakeups, facts.processes.clone(), each);
    let (mut starts, mut first_ns, mut start_ns) = (facts.starts, None, None);
    gathered.each(|entry| match entry.what {
        What::Started => starts -= 1,
        What::Lost => story.lose(entry.head.time_ns, entry.head.cpu),
        What::Event(event) => {
            let time_ns = entry.head.time_ns;
            if event.is_of_switches() {
                first_ns.get_or_insert(time_ns);
                if starts == 0 && start_ns.is_none() {
                    start_ns = Some(time_ns);
                    story.start();
                }
            }
            story.tell(&entry.head, &event);
        }
    })?;
    let first_ns = first_ns.unwrap_or_default();
    let start_ns = start_ns.unwrap_or(first_ns);
    let (before, has_wakeups) = story.end(start_ns);
    Ok(Told {
        start_ns,
        first_ns,
        end_ns: facts.end_ns,
        before,
        cpus: facts.cpus,
        lost: facts.lost,
        overwritten: facts.overwritten,
        has_switches: facts.has_switches,
        has_wakeups,
        missing: facts.missing.clone(),
        passed: facts.passed.clone(),
    })
}

fn named(trouble: Trouble, place: &Place, scratch: &Path) -> Error {
    let place = place.clone();
    match trouble {
        Trouble::Read(source) => Error::Read { place, source },
        Trouble::Damaged(what) => Error::Damaged { place, what },
        Trouble::Foreign(what) => Error::Foreign { place, what },
        Trouble::Line(number, what) => Error::Line { place, number, what },
        Trouble::Scratch(source) => Error::Scratch { folder: scratch.into(), source },
    }
}
