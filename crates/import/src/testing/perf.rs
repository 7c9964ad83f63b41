//! The small recording as perf writes it.

use super::{story, tracepoints};

/// A sample holds its event's number, thread, time, CPU, period and raw bytes.
const HOLDS: u64 = 1 << 16 | 1 << 1 | 1 << 2 | 1 << 7 | 1 << 8 | 1 << 10;
/// Other records end with such numbers, too.
const SAMPLE_ID_ALL: u64 = 1 << 18;
const ATTR_BYTES: usize = 128;

fn record(kind: u32, body: &[u8]) -> Vec<u8> {
    let size = 8 + body.len() as u16;
    [&kind.to_le_bytes()[..], &[0, 0], &size.to_le_bytes(), body].concat()
}

fn attr() -> Vec<u8> {
    let words = [HOLDS, 0, SAMPLE_ID_ALL];
    let mut attr = [2_u32.to_le_bytes(), (ATTR_BYTES as u32).to_le_bytes()].concat();
    attr.extend([372_u64, 1].iter().chain(&words).flat_map(|word| word.to_le_bytes()));
    attr.resize(ATTR_BYTES, 0);
    attr
}

fn samples() -> Vec<u8> {
    let mut bytes = Vec::new();
    // Each CPU's come after one another, as buffers are read.
    for cpu in 0..2 {
        for happening in story().iter().filter(|happening| happening.cpu == cpu) {
            let raw = tracepoints::raw(happening);
            // What is in front of the bytes is as long as they must be for whole words.
            let padded = (raw.len() + 4).next_multiple_of(8) - 4;
            let thread = [happening.on, happening.on].map(i32::to_le_bytes).concat();
            let mut body = [&1_u64.to_le_bytes()[..], &thread, &happening.time_ns.to_le_bytes()].concat();
            body.extend([cpu, 0].iter().flat_map(|word: &u32| word.to_le_bytes()));
            body.extend(1_u64.to_le_bytes());
            body.extend((padded as u32).to_le_bytes());
            body.extend(&raw);
            body.resize(body.len() + padded - raw.len(), 0);
            bytes.extend(record(9, &body));
        }
    }
    bytes.extend(record(68, &[]));
    bytes
}

fn tracing_data() -> Vec<u8> {
    let begin = [&b"\x17\x08\x44tracing0.6\0\0\x08"[..], &4096_u32.to_le_bytes()].concat();
    // No symbols, no formats of prints, no names of tasks.
    [begin, tracepoints::header(), vec![0; 16]].concat()
}

/// `perf.data`, whose records are compressed or not.
pub fn perf_data(compressed: bool) -> Vec<u8> {
    let records = if compressed {
        let packed = ruzstd::encoding::compress_to_vec(&samples()[..], ruzstd::encoding::CompressionLevel::Fastest);
        packed.chunks(500).flat_map(|piece| record(81, piece)).collect()
    } else {
        samples()
    };
    let tracing = tracing_data();
    let (attrs_at, entry) = (104 + 8_u64, ATTR_BYTES as u64 + 16);
    let data_at = attrs_at + entry;
    let sections_at = data_at + records.len() as u64;
    let mut header = b"PERFILE2".to_vec();
    let words = [104, entry, attrs_at, entry, data_at, records.len() as u64, 0, 0, 1 << 1, 0, 0, 0];
    header.extend(words.iter().flat_map(|word: &u64| word.to_le_bytes()));
    let ids = 1_u64.to_le_bytes();
    let place = [104_u64, 8].map(u64::to_le_bytes).concat();
    let section = [sections_at + 16, tracing.len() as u64].map(u64::to_le_bytes).concat();
    [header, ids.to_vec(), attr(), place, records, section, tracing].concat()
}

/// What `perf record -o -` writes.
pub fn perf_pipe() -> Vec<u8> {
    let header = [&b"PERFILE2"[..], &16_u64.to_le_bytes()].concat();
    let mut tracing = tracing_data();
    let size = (tracing.len() as u32).to_le_bytes();
    tracing.resize(tracing.len().next_multiple_of(8), 0);
    let described = record(64, &[attr(), 1_u64.to_le_bytes().to_vec()].concat());
    [header, described, record(66, &size), tracing, samples()].concat()
}
