//! What was asked for when perf recorded: which numbers a sample holds (`struct perf_event_attr`).

use crate::bytes::Bytes;
use crate::error::Trouble;
use std::collections::HashMap;

/// Bits of what a sample holds, `enum perf_event_sample_format`.
pub mod holds {
    pub const IP: u64 = 1;
    pub const TID: u64 = 1 << 1;
    pub const TIME: u64 = 1 << 2;
    pub const ADDR: u64 = 1 << 3;
    pub const READ: u64 = 1 << 4;
    pub const CALLCHAIN: u64 = 1 << 5;
    pub const ID: u64 = 1 << 6;
    pub const CPU: u64 = 1 << 7;
    pub const PERIOD: u64 = 1 << 8;
    pub const STREAM_ID: u64 = 1 << 9;
    pub const RAW: u64 = 1 << 10;
    pub const IDENTIFIER: u64 = 1 << 16;
}

/// The type of an event that is a tracepoint.
const TRACEPOINT: u32 = 2;
/// A flag: other records end with the numbers of a sample, too.
const SAMPLE_ID_ALL: u64 = 1 << 18;
/// A flag: counting begins when the followed task executes a program.
const ENABLE_ON_EXEC: u64 = 1 << 12;
/// A flag: the buffer is written from its end, over what was there.
const WRITE_BACKWARD: u64 = 1 << 27;
/// The most events at once, and the most numbers of theirs.
const MOST: usize = 1 << 20;

/// How one event was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attr {
    pub is_tracepoint: bool,
    /// What a sample of it holds.
    pub holds: u64,
    /// How counts in a sample are written.
    pub read_format: u64,
    pub has_ids_everywhere: bool,
    /// It was begun by a program's start, so that it follows this program and not the machine.
    pub is_of_program: bool,
    /// New events overwrote old ones.
    pub is_overwritten: bool,
}

/// All events of a recording.
#[derive(Debug, Default)]
pub struct Attrs {
    all: Vec<Attr>,
    /// Not all samples hold the same.
    differ: bool,
    by_id: HashMap<u64, usize>,
}

impl Attrs {
    /// Takes an event, and the numbers by which its samples say that they are of it.
    pub fn add(&mut self, attr: &[u8], ids: &[u8], big: bool) -> Result<(), Trouble> {
        let attr = Attr::of(attr, big).ok_or_else(|| Trouble::damaged("an event's description is cut off"))?;
        if self.all.len() >= MOST || self.by_id.len() + ids.len() / 8 > MOST {
            return Err(Trouble::damaged("more events than a kernel has"));
        }
        let mut ids = Bytes::new(ids, big);
        while let Some(id) = ids.u64() {
            self.by_id.insert(id, self.all.len());
        }
        self.differ |=
            self.all.first().is_some_and(|first| (first.holds, first.read_format) != (attr.holds, attr.read_format));
        self.all.push(attr);
        Ok(())
    }

    /// Whether there is any tracepoint.
    pub fn has_tracepoints(&self) -> bool {
        self.all.iter().any(|attr| attr.is_tracepoint)
    }

    /// Whether they follow a program and not the machine.
    pub fn are_of_program(&self) -> bool {
        self.all.iter().any(|attr| attr.is_tracepoint && attr.is_of_program)
    }

    /// Whether new events overwrote old ones.
    pub fn are_overwritten(&self) -> bool {
        self.all.iter().any(|attr| attr.is_tracepoint && attr.is_overwritten)
    }

    /// The event of a sample with these bytes. Where events hold different things, the sample begins with its number.
    pub fn of_sample(&self, sample: &[u8], big: bool) -> Option<Attr> {
        let first = *self.all.first()?;
        if !self.differ {
            // Which one it is shows in its raw bytes.
            return Some(first);
        }
        if first.holds & holds::IDENTIFIER == 0 {
            return None;
        }
        let place = self.by_id.get(&Bytes::new(sample, big).u64()?)?;
        self.all.get(*place).copied()
    }

    /// What all records hold at their ends.
    pub fn at_ends(&self) -> Option<Attr> {
        self.all.first().copied().filter(|attr| attr.has_ids_everywhere)
    }
}

impl Attr {
    fn of(attr: &[u8], big: bool) -> Option<Attr> {
        let mut bytes = Bytes::new(attr, big);
        let (kind, _size, _config, _period) = (bytes.u32()?, bytes.u32()?, bytes.u64()?, bytes.u64()?);
        let (holds, read_format, flags) = (bytes.u64()?, bytes.u64()?, bytes.u64()?);
        // The first bit of a field of bits is the lowest, or the highest where the highest byte comes first.
        let flags = if big { flags.reverse_bits() } else { flags };
        Some(Attr {
            is_tracepoint: kind == TRACEPOINT,
            holds,
            read_format,
            has_ids_everywhere: flags & SAMPLE_ID_ALL != 0,
            is_of_program: flags & ENABLE_ON_EXEC != 0,
            is_overwritten: flags & WRITE_BACKWARD != 0,
        })
    }
}
