//! `perf.data`: samples of tracepoints, with what the kernel wrote of each in raw bytes.
//!
//! The layout is small and is in the kernel's `tools/perf/Documentation/perf.data-file-format.txt`. It is read here and
//! not by a library because the one that there is, linux-perf-data 0.13, believes the sizes that a file states: it takes memory
//! by sizes in the header before it looks whether the file has that much, and keeps all samples in memory when no round ends.

mod attr;
mod records;
mod sample;
mod zstd;

use crate::bytes::Bytes;
use crate::error::Trouble;
use crate::gather::Gather;
use crate::input::Input;
use crate::tracepoint::{self, Formats};
use attr::Attrs;
use records::Records;
use std::io::Read;

/// The most that is read of the tracing data, of which most are symbols.
const TRACING_BYTES: u64 = 256 << 20;
/// The most bytes of attributes.
const ATTR_BYTES: u64 = 16 << 20;

/// Numbers of features.
const TRACING_DATA: u32 = 1;
const CPUS: u32 = 7;

/// Where things lie in a file.
struct Header {
    attr_size: u64,
    attrs: (u64, u64),
    data: (u64, u64),
    features: [u64; 4],
}

/// Reads a file, or what `perf record -o -` writes into a pipe.
pub fn read(input: &Input, gather: &mut Gather) -> Result<(), Trouble> {
    let start = input.start(104).map_err(Trouble::Read)?;
    let big = start.starts_with(b"2ELIFREP");
    let mut bytes = Bytes::new(&start, big);
    let size = bytes.skip(8).and_then(|()| bytes.u64()).ok_or_else(cut_off)?;
    if size == 16 {
        return Records::of(input.reader(16, u64::MAX), big, input.length()).read(gather);
    }
    let header = header(&mut bytes).ok_or_else(cut_off)?;
    let attrs = attrs(input, &header, big)?;
    let formats = features(input, &header, big, gather)?;
    if header.data.1 == 0 {
        return Err(Trouble::damaged("its recording was not ended, so that it does not say where its samples are"));
    }
    let records = Records::of(input.reader(header.data.0, header.data.1), big, input.length());
    records.with(attrs, formats).read(gather)
}

fn cut_off() -> Trouble {
    Trouble::damaged("its header is cut off")
}

fn header(bytes: &mut Bytes) -> Option<Header> {
    let attr_size = bytes.u64()?;
    let mut pair = || Some((bytes.u64()?, bytes.u64()?));
    let (attrs, data, _types) = (pair()?, pair()?, pair()?);
    Some(Header { attr_size, attrs, data, features: [bytes.u64()?, bytes.u64()?, bytes.u64()?, bytes.u64()?] })
}

fn attrs(input: &Input, header: &Header, big: bool) -> Result<Attrs, Trouble> {
    let (offset, size) = header.attrs;
    let table = if size <= ATTR_BYTES { input.at(offset, size).map_err(Trouble::Read)? } else { None };
    let table = table.ok_or_else(cut_off)?;
    let entry = usize::try_from(header.attr_size).ok().filter(|&size| size >= 64 + 16).ok_or_else(cut_off)?;
    let mut attrs = Attrs::default();
    for entry in table.chunks_exact(entry) {
        let (attr, mut place) = (&entry[..entry.len() - 16], Bytes::new(&entry[entry.len() - 16..], big));
        let (Some(offset), Some(size)) = (place.u64(), place.u64()) else { return Err(cut_off()) };
        let ids = if size <= ATTR_BYTES { input.at(offset, size).map_err(Trouble::Read)? } else { None };
        let ids = ids.ok_or_else(|| Trouble::damaged("the numbers of its events are not where they are said to be"))?;
        attrs.add(attr, &ids, big)?;
    }
    Ok(attrs)
}

/// What is behind the samples: the formats of tracepoints, and how many CPUs there are.
fn features(input: &Input, header: &Header, big: bool, gather: &mut Gather) -> Result<Formats, Trouble> {
    let mut place = header.data.0.checked_add(header.data.1).ok_or_else(cut_off)?;
    let mut formats = Formats::default();
    for feature in (0..256).filter(|bit| header.features[(bit / 64) as usize] & 1 << (bit % 64) != 0) {
        let section = input.at(place, 16).map_err(Trouble::Read)?.ok_or_else(cut_off)?;
        place += 16;
        let mut section = Bytes::new(&section, big);
        let (Some(offset), Some(size)) = (section.u64(), section.u64()) else { return Err(cut_off()) };
        let content = |most: u64| input.at(offset, size.min(most)).map_err(Trouble::Read)?.ok_or_else(cut_off);
        match feature {
            TRACING_DATA => formats = tracing_data(&content(TRACING_BYTES)?)?,
            CPUS => gather.facts.cpus = Bytes::new(&content(8)?, big).u32().unwrap_or(0),
            _ => {}
        }
    }
    Ok(formats)
}

/// The formats of events, which precede symbols that are not needed here.
fn tracing_data(bytes: &[u8]) -> Result<Formats, Trouble> {
    let mut bytes = Bytes::new(bytes, false);
    let formats = tracepoint::header_of(&mut bytes).and_then(|_| tracepoint::formats(&mut bytes));
    formats.map(|(_, formats)| formats).ok_or_else(|| Trouble::damaged("the formats of its events are cut off"))
}

/// All bytes of a reader, up to a limit beyond which nothing is kept.
fn all_of(reader: &mut impl Read, length: u64) -> Result<Vec<u8>, Trouble> {
    let mut bytes = Vec::new();
    reader.take(length).read_to_end(&mut bytes).map_err(Trouble::Read)?;
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(Trouble::damaged("it is cut off")) }
}
