//! What a sample holds, in the order in which the kernel writes it.

use super::attr::{Attr, holds};
use crate::bytes::Bytes;

/// The parts of a sample that matter here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample<'a> {
    pub process: Option<(i32, i32)>,
    pub time_ns: Option<u64>,
    pub cpu: Option<u32>,
    pub raw: Option<&'a [u8]>,
}

/// Bits of `read_format`.
const ENABLED: u64 = 1;
const RUNNING: u64 = 1 << 1;
const READ_ID: u64 = 1 << 2;
const ROLE: u64 = 1 << 3;
const LOST: u64 = 1 << 4;

/// Reads a sample up to its raw bytes, behind which nothing matters.
pub fn of<'a>(bytes: &'a [u8], big: bool, attr: &Attr) -> Option<Sample<'a>> {
    let mut bytes = Bytes::new(bytes, big);
    let has = |bit: u64| attr.holds & bit != 0;
    let mut sample = Sample::default();
    let skip = |bytes: &mut Bytes<'a>, bit: u64| if has(bit) { bytes.skip(8) } else { Some(()) };
    skip(&mut bytes, holds::IDENTIFIER)?;
    skip(&mut bytes, holds::IP)?;
    if has(holds::TID) {
        sample.process = Some((bytes.u32()? as i32, bytes.u32()? as i32));
    }
    if has(holds::TIME) {
        sample.time_ns = Some(bytes.u64()?);
    }
    skip(&mut bytes, holds::ADDR)?;
    skip(&mut bytes, holds::ID)?;
    skip(&mut bytes, holds::STREAM_ID)?;
    if has(holds::CPU) {
        sample.cpu = Some(bytes.u32()?);
        bytes.skip(4)?;
    }
    skip(&mut bytes, holds::PERIOD)?;
    if has(holds::READ) {
        counts(&mut bytes, attr.read_format)?;
    }
    if has(holds::CALLCHAIN) {
        words(&mut bytes, 1)?;
    }
    if has(holds::RAW) {
        let size = bytes.u32()?;
        sample.raw = Some(bytes.take(size as usize)?);
    }
    Some(sample)
}

/// Leaves out a count, or the counts of a role.
fn counts(bytes: &mut Bytes, format: u64) -> Option<()> {
    let times = (format & ENABLED != 0) as usize + (format & RUNNING != 0) as usize;
    let each = 1 + (format & READ_ID != 0) as usize + (format & LOST != 0) as usize;
    if format & ROLE == 0 {
        return bytes.skip(8 * (times + each));
    }
    let count = bytes.u64()?;
    bytes.skip(8 * times)?;
    let length = usize::try_from(count).ok()?.checked_mul(8 * each)?;
    bytes.skip(length)
}

/// Leaves out this many words for each that the first word counts.
fn words(bytes: &mut Bytes, each: usize) -> Option<()> {
    let count = usize::try_from(bytes.u64()?).ok()?;
    bytes.skip(count.checked_mul(8 * each)?)
}

/// What is at the end of any other record.
pub fn at_end<'a>(bytes: &'a [u8], big: bool, attr: &Attr) -> Option<Sample<'a>> {
    const ENDS: [u64; 6] = [holds::TID, holds::TIME, holds::ID, holds::STREAM_ID, holds::CPU, holds::IDENTIFIER];
    let held: Vec<u64> = ENDS.into_iter().filter(|bit| attr.holds & bit != 0).collect();
    let begin = bytes.len().checked_sub(8 * held.len())?;
    let mut bytes = Bytes::new(&bytes[begin..], big);
    let mut sample = Sample::default();
    for bit in held {
        match bit {
            holds::TID => sample.process = Some((bytes.u32()? as i32, bytes.u32()? as i32)),
            holds::TIME => sample.time_ns = Some(bytes.u64()?),
            holds::CPU => {
                sample.cpu = Some(bytes.u32()?);
                bytes.skip(4)?;
            }
            _ => bytes.skip(8)?,
        }
    }
    Some(sample)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(numbers: &[u64]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    fn attr(holds: u64, read_format: u64) -> Attr {
        Attr {
            is_tracepoint: true,
            holds,
            read_format,
            has_ids_everywhere: true,
            is_of_program: false,
            is_overwritten: false,
        }
    }

    #[test]
    fn a_sample_is_read_whatever_else_it_holds() {
        let raw = [&4_u32.to_le_bytes()[..], b"abcd"].concat();
        let everything = ((1 << 11) - 1) | holds::IDENTIFIER;
        let process = 7 | 8 << 32;
        for (format, counts) in
            [(0, vec![1]), (ENABLED | READ_ID, vec![1, 2, 3]), (ROLE | LOST | RUNNING, vec![2, 9, 1, 1, 1, 1])]
        {
            let before =
                [&words(&[1, 2, process, 1000, 3, 4, 5, 6, 7])[..], &words(&counts), &words(&[2, 11, 12])].concat();
            let bytes = [before, raw.clone()].concat();
            let expected = Sample { process: Some((7, 8)), time_ns: Some(1000), cpu: Some(6), raw: Some(b"abcd") };
            let attr = attr(everything, format);
            assert_eq!(of(&bytes, false, &attr), Some(expected), "{format}");
            (0..bytes.len()).for_each(|length| assert_eq!(of(&bytes[..length], false, &attr), None));
        }
    }

    #[test]
    fn counts_that_no_memory_holds_are_nothing() {
        for bit in [holds::CALLCHAIN, holds::READ] {
            assert_eq!(of(&words(&[u64::MAX, 1]), false, &attr(bit, ROLE)), None);
        }
    }

    #[test]
    fn the_end_of_a_record_says_where_it_was() {
        let attr = attr(holds::TID | holds::TIME | holds::CPU | holds::RAW | holds::IDENTIFIER, 0);
        let bytes = words(&[99, 99, 7 | 8 << 32, 1000, 3, 1]);
        let expected = Sample { process: Some((7, 8)), time_ns: Some(1000), cpu: Some(3), raw: None };
        assert_eq!(at_end(&bytes, false, &attr), Some(expected));
        assert_eq!(at_end(&bytes[..24], false, &attr), None);
    }
}
