//! From a recording to records.

use crate::error::Trouble;
use crate::gather::{Gather, Gathered, What};
use crate::input::{Input, Place};
use crate::kind::{self, Kind};
use crate::passed::PassedOver;
use crate::repeats::Repeats;
use crate::story::{Ending, Story};
use crate::{Error, perf_data, perfetto, text, trace_dat};
use schedlab_record::Record;
use std::collections::BTreeSet;
use std::io::Write;
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
    /// The CPUs of which any event was recorded.
    pub heard: BTreeSet<u32>,
    /// Whether it follows some tasks and not the machine.
    pub is_of_some_tasks: bool,
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

/// What a trace of schedlab's in Perfetto's protobuf has in its first packet.
const OWN: &[u8] = b"schedlab.trace";
/// What is passed over of events that a tool recorded twice.
const REPEATED: &str = "events that are there twice";

/// A recording that can be read, unpacked where it is compressed. What has to be kept is kept in files without names in a folder.
pub struct Source<'a> {
    input: Input,
    place: &'a Place,
    scratch: &'a Path,
}

impl<'a> Source<'a> {
    /// Opens it, with a folder for what has to be kept.
    pub fn open(place: &'a Place, scratch: &'a Path) -> Result<Source<'a>, Error> {
        Ok(Source { input: Input::open(place, scratch)?, place, scratch })
    }

    /// Whether it is a trace that schedlab wrote for Perfetto, which says more than the kernel's events in it.
    pub fn is_own(&self) -> Result<bool, Error> {
        let start = self.input.start(kind::START).map_err(|error| self.named(Trouble::Read(error)))?;
        let is_own = start.windows(OWN.len()).any(|bytes| bytes == OWN);
        Ok(is_own && matches!(kind::of(&start), Ok(Kind::Perfetto)))
    }

    /// Writes all of it as it is unpacked.
    pub fn copy(&self, into: &mut impl Write) -> std::io::Result<()> {
        std::io::copy(&mut self.input.reader(0, u64::MAX), into).map(|_| ())
    }

    /// Hands on its records, in the order of time.
    pub fn read(&self, each: impl FnMut(&Record)) -> Result<Told, Error> {
        let gathered = gather(&self.input, self.scratch).map_err(|trouble| self.named(trouble))?;
        if !gathered.facts.has_events {
            return Err(Error::NoEvents { place: self.place.clone() });
        }
        tell(&gathered, each).map_err(|error| self.named(Trouble::Scratch(error)))
    }

    fn named(&self, trouble: Trouble) -> Error {
        named(trouble, self.place, self.scratch)
    }
}

/// Reads a recording and hands on its records, in the order of time. What has to be kept meanwhile is kept in files without
/// names in `scratch`.
pub fn read(place: &Place, scratch: &Path, each: impl FnMut(&Record)) -> Result<Told, Error> {
    Source::open(place, scratch)?.read(each)
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
    let (mut repeats, mut passed) = (Repeats::of(facts.is_counting), facts.passed.clone());
    gathered.each(|entry| match entry.what {
        What::Event(_) if repeats.has(&entry) => {
            passed.count(REPEATED, || format!("CPU {} at {} s", entry.head.cpu, seconds(entry.head.time_ns)));
        }
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
    let Ending { before, has_wakeups, is_of_some_tasks } = story.end(start_ns, facts.is_of_some_tasks);
    Ok(Told {
        start_ns,
        first_ns,
        end_ns: facts.end_ns,
        before,
        cpus: facts.cpus,
        heard: facts.heard.keys().copied().collect(),
        is_of_some_tasks,
        lost: facts.lost,
        overwritten: facts.overwritten,
        has_switches: facts.has_switches,
        has_wakeups,
        missing: facts.missing.clone(),
        passed,
    })
}

/// A time as the tools write it.
pub fn seconds(time_ns: u64) -> String {
    format!("{}.{:09}", time_ns / 1_000_000_000, time_ns % 1_000_000_000)
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
