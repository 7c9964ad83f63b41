//! The records of `perf.data`, one after the other.

use super::attr::Attrs;
use super::{all_of, sample, tracing_data, zstd};
use crate::bytes::Bytes;
use crate::error::Trouble;
use crate::gather::Gather;
use crate::tracepoint::Formats;
use std::io::Read;

/// The largest block of tracing data in a pipe.
const TRACING_BYTES: u64 = 256 << 20;
/// How much more than the file may come out of its compressed records, and a part that always may.
const RATIO: u64 = 200;
const FREE_BYTES: u64 = 1 << 30;

/// Types of records, `enum perf_event_type` and `enum perf_user_event_type`.
mod kind {
    pub const LOST: u32 = 2;
    pub const SAMPLE: u32 = 9;
    pub const LOST_SAMPLES: u32 = 13;
    pub const HEADER_ATTR: u32 = 64;
    pub const TRACING_DATA: u32 = 66;
    pub const AUXTRACE: u32 = 71;
    pub const HEADER_FEATURE: u32 = 80;
    pub const COMPRESSED: u32 = 81;
    pub const COMPRESSED2: u32 = 83;
}

/// Reads records.
pub struct Records<R> {
    reader: R,
    big: bool,
    attrs: Attrs,
    formats: Formats,
    stream: zstd::Stream,
    /// Unpacked bytes of which no whole record has come yet.
    unpacked: Vec<u8>,
    /// How much may still come out of compressed records.
    left: u64,
    /// What records say was lost, each where it was lost, and what the kernel says in sum at the end.
    lost: u64,
    lost_in_sum: u64,
}

impl<R: Read> Records<R> {
    /// Of a reader at the first record.
    pub fn of(reader: R, big: bool, file_bytes: u64) -> Records<R> {
        Records {
            reader,
            big,
            attrs: Attrs::default(),
            formats: Formats::default(),
            stream: zstd::Stream::default(),
            unpacked: Vec::new(),
            left: FREE_BYTES.max(file_bytes.saturating_mul(RATIO)),
            lost: 0,
            lost_in_sum: 0,
        }
    }

    /// With what a file says in addition to its records; a pipe says it in records.
    pub fn with(self, attrs: Attrs, formats: Formats) -> Records<R> {
        Records { attrs, formats, ..self }
    }

    /// Reads all records.
    pub fn read(mut self, gather: &mut Gather) -> Result<(), Trouble> {
        let mut body = Vec::new();
        while let Some(kind) = self.next(&mut body)? {
            match kind {
                kind::COMPRESSED | kind::COMPRESSED2 => self.compressed(kind, &body, gather)?,
                kind::TRACING_DATA => self.formats = self.tracing_data(&body)?,
                kind::AUXTRACE => {
                    let size = Bytes::new(&body, self.big).u64().unwrap_or(0);
                    let skipped = std::io::copy(&mut self.reader.by_ref().take(size), &mut std::io::sink());
                    skipped.map_err(Trouble::Read)?;
                }
                _ => self.record(kind, &body, gather)?,
            }
        }
        let rest = self.stream.finish(self.left).map_err(Trouble::Damaged)?;
        self.unpacked(&rest, gather)?;
        let untold = self.lost_in_sum.saturating_sub(self.lost);
        gather.facts.lost = gather.facts.lost.saturating_add(untold);
        gather.facts.is_of_some_tasks = self.attrs.are_of_program();
        if self.attrs.are_overwritten() {
            gather.starts_with_first_events()?;
        }
        if !self.attrs.has_tracepoints() {
            let way =
                "record them with `perf record -a -e 'sched:sched_switch,sched:sched_wak*'`, or `perf sched record`";
            return Err(Trouble::Foreign(format!("this is perf.data without tracepoints; {way}")));
        }
        Ok(())
    }

    /// The type of the next record, whose bytes behind the header come into `body`.
    fn next(&mut self, body: &mut Vec<u8>) -> Result<Option<u32>, Trouble> {
        let mut header = [0; 8];
        let mut have = 0;
        while have < 8 {
            match self.reader.read(&mut header[have..]).map_err(Trouble::Read)? {
                0 if have == 0 => return Ok(None),
                0 => return Err(Trouble::damaged("it is cut off")),
                read => have += read,
            }
        }
        let (kind, size) = header_of(&header, self.big);
        let size = size.checked_sub(8).ok_or_else(|| Trouble::damaged("a record that is shorter than its header"))?;
        body.clear();
        let length = (&mut self.reader).take(size as u64).read_to_end(body).map_err(Trouble::Read)?;
        if length < size {
            return Err(Trouble::damaged("it is cut off"));
        }
        Ok(Some(kind))
    }

    /// In a pipe the formats follow their record, which says how many bytes they are.
    fn tracing_data(&mut self, body: &[u8]) -> Result<Formats, Trouble> {
        let size = Bytes::new(body, self.big).u32().ok_or_else(|| Trouble::damaged("it is cut off"))?;
        let padded = u64::from(size).next_multiple_of(8);
        if padded > TRACING_BYTES {
            return Err(Trouble::damaged("the formats of its events claim more than they can be"));
        }
        tracing_data(&all_of(&mut self.reader, padded)?)
    }

    fn compressed(&mut self, kind: u32, body: &[u8], gather: &mut Gather) -> Result<(), Trouble> {
        let mut bytes = Bytes::new(body, self.big);
        let piece = if kind == kind::COMPRESSED2 {
            let size = bytes.u64().and_then(|size| usize::try_from(size).ok());
            size.and_then(|size| bytes.take(size)).ok_or_else(|| Trouble::damaged("it is cut off"))?
        } else {
            body
        };
        let more = self.stream.unpack(piece, self.left).map_err(Trouble::Damaged)?;
        self.unpacked(&more, gather)
    }

    /// More came out of compressed records: whole records, and the beginning of the next.
    fn unpacked(&mut self, more: &[u8], gather: &mut Gather) -> Result<(), Trouble> {
        self.left -= self.left.min(more.len() as u64);
        self.unpacked.extend_from_slice(more);
        let unpacked = std::mem::take(&mut self.unpacked);
        let mut rest = unpacked.as_slice();
        while let Some(header) = rest.first_chunk::<8>() {
            let (kind, size) = header_of(header, self.big);
            if size < 8 {
                return Err(Trouble::damaged("a record that is shorter than its header"));
            }
            let Some((record, behind)) = rest.split_at_checked(size) else { break };
            self.record(kind, &record[8..], gather)?;
            rest = behind;
        }
        self.unpacked = rest.to_vec();
        Ok(())
    }

    fn record(&mut self, kind: u32, body: &[u8], gather: &mut Gather) -> Result<(), Trouble> {
        match kind {
            kind::SAMPLE => self.sample(body, gather),
            kind::LOST | kind::LOST_SAMPLES => self.lost(kind, body, gather),
            kind::HEADER_ATTR => {
                let size = body.get(4..8).and_then(|size| Bytes::new(size, self.big).u32());
                let parts = size.and_then(|size| body.split_at_checked(size as usize));
                let (attr, ids) = parts.ok_or_else(|| Trouble::damaged("an event's description is cut off"))?;
                self.attrs.add(attr, ids, self.big)
            }
            kind::HEADER_FEATURE => {
                let mut bytes = Bytes::new(body, self.big);
                if bytes.u64() == Some(7) {
                    gather.facts.cpus = bytes.u32().unwrap_or(0);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn sample(&mut self, body: &[u8], gather: &mut Gather) -> Result<(), Trouble> {
        let Some(attr) = self.attrs.of_sample(body, self.big) else {
            return Err(Trouble::damaged("a sample of an event that was not asked for"));
        };
        let sample = sample::of(body, self.big, &attr).ok_or_else(|| Trouble::damaged("a sample is cut off"))?;
        let Some(raw) = sample.raw.filter(|_| attr.is_tracepoint) else {
            gather.facts.passed.count("samples of counters and clocks", String::new);
            return Ok(());
        };
        let time_ns = sample.time_ns.ok_or_else(|| lack("time", "without `--no-timestamp`"))?;
        let cpu = sample.cpu.ok_or_else(|| lack("CPU", "with `-a` or `--sample-cpu`"))?;
        if let Some((process, thread)) = sample.process {
            gather.process(thread, process);
        }
        if self.formats.is_empty() {
            let way = "record with perf of Linux, or import what prints its events as text";
            return Err(Trouble::Foreign(format!("this recording does not say how its events are laid out; {way}")));
        }
        self.formats.tell(raw, self.big, time_ns, cpu, gather)
    }

    fn lost(&mut self, kind: u32, body: &[u8], gather: &mut Gather) -> Result<(), Trouble> {
        let mut bytes = Bytes::new(body, self.big);
        if kind == kind::LOST {
            bytes.skip(8);
        }
        let count = bytes.u64().ok_or_else(|| Trouble::damaged("a record of losses is cut off"))?;
        if kind == kind::LOST_SAMPLES {
            self.lost_in_sum = self.lost_in_sum.saturating_add(count);
            return Ok(());
        }
        self.lost = self.lost.saturating_add(count);
        let end = self.attrs.at_ends().and_then(|attr| sample::at_end(body, self.big, &attr));
        match end.map(|end| (end.time_ns, end.cpu)) {
            Some((Some(time_ns), Some(cpu))) if count > 0 => gather.lost(time_ns, cpu, count),
            _ => {
                gather.facts.lost = gather.facts.lost.saturating_add(count);
                Ok(())
            }
        }
    }
}

fn header_of(header: &[u8; 8], big: bool) -> (u32, usize) {
    let mut bytes = Bytes::new(header, big);
    (bytes.u32().unwrap_or(0), bytes.u16().and_then(|_| bytes.u16()).unwrap_or(0).into())
}

fn lack(what: &str, way: &str) -> Trouble {
    Trouble::Foreign(format!("the samples of this recording do not say their {what}; record {way}"))
}
