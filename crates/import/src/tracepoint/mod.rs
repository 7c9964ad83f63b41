//! Events as the kernel wrote them: bytes, and a text for each kind of event that says what lies where.

mod format;
mod header;

pub use format::Format;
pub use header::{PageHeader, formats, header_of, own_formats, page_header, system_formats};

use crate::bytes::Bytes;
use crate::error::Trouble;
use crate::gather::Gather;
use crate::read::seconds;
use crate::told::Head;
use std::collections::BTreeMap;

/// The most kinds of events that a kernel has.
const KINDS: usize = 1 << 16;

/// The formats of a recording, by their numbers.
#[derive(Debug, Default)]
pub struct Formats {
    by_id: BTreeMap<u16, Format>,
}

impl Formats {
    /// Takes the text of a format. What is none, or one too many, is left out: its events are then passed over by number.
    pub fn add(&mut self, text: &[u8]) {
        if let Some((id, format)) = Format::of(&String::from_utf8_lossy(text))
            && self.by_id.len() < KINDS
        {
            self.by_id.insert(id, format);
        }
    }

    /// Whether there is any.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Hands on an event of these bytes: one of the scheduler as such, another as passed over.
    pub fn tell(&self, raw: &[u8], big: bool, time_ns: u64, cpu: u32, gather: &mut Gather) -> Result<(), Trouble> {
        let place = || format!("CPU {cpu} at {} s", seconds(time_ns));
        let id = Bytes::new(raw, big).u16().ok_or_else(|| Trouble::damaged("an event without bytes"))?;
        match self.by_id.get(&id) {
            Some(Format::Scheduler(decoder)) => {
                let short =
                    || Trouble::Damaged(format!("{} of {} bytes, too few for its fields", decoder.name(), raw.len()));
                let (tid, in_interrupt, event) = decoder.read(raw, big).ok_or_else(short)?;
                gather.event(Head { time_ns, cpu, tid, in_interrupt }, event)
            }
            Some(Format::Other(name)) => gather.passed(time_ns, cpu, name, place),
            None => gather.passed(time_ns, cpu, &format!("event {id}"), place),
        }
    }
}
