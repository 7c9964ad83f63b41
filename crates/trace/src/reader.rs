//! Opens a trace file of any kind that can be read back.

use crate::{Error, Format, Header, header::HeaderError, parquet, perfetto};
use schedlab_boundary::file;
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind};
use std::{
    io::Read,
    path::{Path, PathBuf},
};

pub(crate) type EventResult = Result<Event, Error>;
pub(crate) type Events = Box<dyn Iterator<Item = EventResult>>;

/// A trace file being read: its header, and as an iterator its events in the order in which they were written. After
/// an error the iterator ends.
pub struct Reader {
    format: Format,
    path: PathBuf,
    header: Header,
    events: Events,
    /// The lengths in all events so far.
    spent_ns: u64,
    failed: bool,
}

impl Reader {
    /// Opens a Parquet or Perfetto trace. What the file is, is seen from its content, not from its name.
    pub fn open(path: impl AsRef<Path>) -> Result<Reader, Error> {
        let path = path.as_ref();
        let unreadable = |source| Error::Read { path: path.into(), source };
        let mut file = file::open(path, file::ANY_BYTES).map_err(unreadable)?;
        let mut start = Vec::new();
        file.by_ref().take(32).read_to_end(&mut start).map_err(unreadable)?;
        let foreign = |what: &str| Error::Foreign { path: path.into(), what: what.into() };
        let format = match Format::of_content(&start) {
            Some(format) => format,
            None if start.is_empty() => return Err(foreign("the file is empty")),
            None => return Err(foreign("neither a Parquet nor a Perfetto file")),
        };
        let (header, events) = match format {
            Format::Parquet => parquet::open(path, file)?,
            Format::Perfetto => perfetto::open(path, file)?,
            Format::Text => return Err(Error::Text { path: path.into() }),
        };
        Ok(Reader { format, path: path.into(), header, events, spent_ns: 0, failed: false })
    }

    /// The form of the file.
    pub fn format(&self) -> Format {
        self.format
    }

    /// What ran, and where.
    pub fn header(&self) -> &Header {
        &self.header
    }
}

impl Iterator for Reader {
    type Item = EventResult;

    fn next(&mut self) -> Option<EventResult> {
        if self.failed {
            return None;
        }
        let next = self.events.next();
        let event = next.map(|event| event.and_then(|event| self.possible(event)));
        self.failed = matches!(event, Some(Err(_)));
        event
    }
}

impl Reader {
    /// An event that is of this machine and of a time that exists, so that readers need not ask.
    fn possible(&mut self, event: Event) -> EventResult {
        let what = match event {
            Event { time, .. } if time > Time::LATEST => format!("an event at {} ns, when no clock runs", time.ns()),
            Event { cpu, .. } if cpu.0 >= self.header.cpus => {
                format!("an event on CPU {} of a machine with {}", cpu.0, self.header.cpus)
            }
            Event { kind: EventKind::RequestBegin { intended: time, .. }, .. } if time > Time::LATEST => {
                format!("a request at {} ns, when no clock runs", time.ns())
            }
            Event {
                kind: EventKind::Overhead { length, .. } | EventKind::RequestEnd { demand: length, .. }, ..
            } if self.spends_too_much(length) => {
                format!("{} ns more in an event than all clocks of its machine run", length.ns())
            }
            event => return Ok(event),
        };
        Err(Error::Damaged { path: self.path.clone(), what })
    }

    /// Adds up the lengths of events, so that later sums cannot overflow.
    fn spends_too_much(&mut self, length: Time) -> bool {
        self.spent_ns = self.spent_ns.saturating_add(length.ns());
        self.spent_ns > Time::LATEST.ns()
    }
}

/// The error for a text that is no header.
pub(crate) fn header_error(path: &Path, error: HeaderError) -> Error {
    match error {
        HeaderError::Other(found) => Error::OtherSchema { path: path.into(), found },
        HeaderError::Invalid(what) => Error::Damaged { path: path.into(), what },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Writer, check,
        test_helpers::{any_event, header, story},
    };
    use proptest::prelude::*;
    use schedlab_model::{
        ids::{CpuId, TaskId},
        time::Time,
        trace::{EventKind, Reason, Sink},
    };
    use std::fs;

    const READABLE: [&str; 2] = ["trace.parquet", "trace.pftrace"];

    /// The bytes of a trace file of these events.
    fn written(name: &str, events: &[Event]) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let mut writer = Writer::create(&path, &header()).unwrap();
        events.iter().for_each(|event| writer.event(event));
        writer.set_lost(5);
        writer.finish(Time::from_ms(30));
        writer.close().unwrap();
        fs::read(path).unwrap()
    }

    /// What comes back from a file with these bytes: header and events, or the message without the file's name.
    fn read(bytes: &[u8]) -> Result<(Header, Vec<Event>), String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        fs::write(&path, bytes).unwrap();
        let message = |error: Error| error.to_string().replace(&format!("{}: ", path.display()), "");
        let mut reader = Reader::open(&path).map_err(message)?;
        let events = reader.by_ref().collect::<Result<_, _>>().map_err(message)?;
        Ok((reader.header().clone(), events))
    }

    fn expected_header() -> Header {
        Header { end: Time::from_ms(30), lost: 5, ..header() }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_is_written_is_read(events in proptest::collection::vec(any_event(), 0..80)) {
            for name in READABLE {
                prop_assert_eq!(read(&written(name, &events)).unwrap(), (expected_header(), events.clone()));
            }
        }

        #[test]
        fn a_damaged_file_is_read_or_refused(at in 0..3000usize, flip in 1..=255u8) {
            for name in READABLE {
                let mut bytes = written(name, &story());
                let at = at % bytes.len();
                bytes[at] ^= flip;
                if let Err(message) = read(&bytes) {
                    prop_assert!(!message.contains('\n'));
                }
            }
        }
    }

    #[test]
    fn the_same_run_gives_the_same_bytes() {
        for name in ["trace.parquet", "trace.pftrace", "trace.txt"] {
            assert_eq!(written(name, &story()), written(name, &story()));
        }
    }

    #[test]
    fn events_of_no_clock_and_no_cpu_are_refused() {
        let event = |ns, cpu, kind| Event { time: Time(ns), cpu: CpuId(cpu), kind };
        let spends = |length| EventKind::Overhead { what: schedlab_model::trace::Overhead::Tick, length: Time(length) };
        let latest = Time::LATEST.ns();
        for (events, what) in [
            (vec![event(latest + 1, 0, EventKind::Tick)], "when no clock runs"),
            (vec![event(u64::MAX, 0, EventKind::Tick)], "when no clock runs"),
            (vec![event(0, 2, EventKind::Tick)], "an event on CPU 2 of a machine with 2"),
            (vec![event(0, 0, spends(u64::MAX))], "than all clocks of its machine run"),
            (vec![event(0, 0, spends(latest)), event(1, 1, spends(1))], "than all clocks of its machine run"),
        ] {
            for name in READABLE {
                let why = read(&written(name, &events)).unwrap_err().to_string();
                assert!(why.contains(what), "{name}: {why}");
            }
        }
    }

    #[test]
    fn a_long_run_is_read_over_its_row_groups() {
        let switch = |n: u32| EventKind::Switch {
            previous: n.checked_sub(1).map(TaskId),
            reason: Reason::SliceEnd,
            next: (!n.is_multiple_of(3)).then_some(TaskId(n)),
        };
        let event = |n: u32| Event { time: Time(u64::from(n) * 1000), cpu: CpuId(n % header().cpus), kind: switch(n) };
        let events: Vec<_> = (0..600_000).map(event).collect();
        let (_, found) = read(&written("trace.parquet", &events)).unwrap();
        assert!(found == events, "{} of {} events", found.len(), events.len());
    }

    #[test]
    fn a_file_that_is_cut_off_is_refused_wherever_it_ends() {
        for name in READABLE {
            let bytes = written(name, &story());
            let near_the_ends = (0..40).chain(bytes.len() - 40..bytes.len());
            for length in near_the_ends.chain((40..bytes.len()).step_by(41)) {
                let message = read(&bytes[..length]).expect_err("the end is missing");
                let known = ["cut off", "the file is empty", "does not begin with a whole", "neither a Parquet"];
                assert!(known.iter().any(|known| message.contains(known)), "{name} to {length}: {message}");
            }
        }
    }

    #[test]
    fn another_schema_is_named() {
        for name in READABLE {
            let mut bytes = written(name, &story());
            let from = b"schedlab.trace/2";
            for at in 0..bytes.len() - from.len() {
                if bytes[at..].starts_with(from) {
                    bytes[at + from.len() - 1] = b'3';
                }
            }
            let expected = "the trace has the schema schedlab.trace/3, this schedlab reads schedlab.trace/2; \
                            use the schedlab that wrote it, or make it again with this one";
            assert_eq!(read(&bytes).unwrap_err(), expected);
        }
    }

    #[test]
    fn files_of_others_are_refused_in_one_line() {
        let packet_of_another = [0x0a, 3, 0x50, 1, 0x20];
        for (bytes, expected) in [
            (&b""[..], "the file is empty"),
            (b"{}", "neither a Parquet nor a Perfetto file"),
            (b"\nhello", "it does not begin with a whole Perfetto packet"),
            (&packet_of_another[..4], "it does not begin with a whole Perfetto packet"),
            (&[0x0a, 2, 0x50, 1], "a Perfetto trace without schedlab's header"),
        ] {
            let message = read(bytes).unwrap_err();
            assert!(
                message.starts_with(&format!("not a trace of schedlab: {expected}; `schedlab import ")),
                "{message}"
            );
            assert!(message.ends_with("` makes a trace of what another tool recorded"), "{message}");
        }
        let message = read(b"PAR1 and no more than that PAR1").unwrap_err();
        assert!(message.starts_with("the trace is damaged"), "{message}");
        let message = read(&written("trace.txt", &story())).unwrap_err();
        assert!(message.starts_with("a text trace is for reading only"), "{message}");
    }

    #[test]
    fn check_replays_all_events() {
        let folder = tempfile::tempdir().unwrap();
        for (name, format) in READABLE.into_iter().zip([Format::Parquet, Format::Perfetto]) {
            let path = folder.path().join(name);
            fs::write(&path, written(name, &story())).unwrap();
            let (report, found) = check(&path, |header| {
                assert_eq!(header.cpus, 2);
                Vec::new()
            })
            .unwrap();
            assert_eq!(found, story());
            assert_eq!(report, crate::Report { format, header: expected_header(), events: found.len() as u64 });
        }
        assert!(matches!(check(folder.path().join("none"), |_| ()), Err(Error::Read { .. })));
        assert!(matches!(check(folder.path(), |_| ()), Err(Error::Read { .. })));
    }
}
