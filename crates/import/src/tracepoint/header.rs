//! The beginning that `trace.dat` and the tracing data of `perf.data` have in common: how pages and events are laid out.

use super::Formats;
use crate::bytes::Bytes;

/// The longest format of an event.
const FORMAT_BYTES: u64 = 1 << 20;

/// What both files begin with.
pub const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// The version of the file and how its numbers are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracing {
    pub version: String,
    pub big: bool,
    pub page_size: u32,
}

/// How a page of the ring buffer begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageHeader {
    /// How long the word is that says how much of the page is used.
    pub commit_size: usize,
    /// Where its events begin.
    pub data_at: usize,
}

/// Reads up to the size of a page, and continues in the order of bytes that the file says.
pub fn header_of(bytes: &mut Bytes) -> Option<Tracing> {
    if bytes.take(MAGIC.len())? != MAGIC {
        return None;
    }
    let version = String::from_utf8_lossy(bytes.string()?).into_owned();
    bytes.big = bytes.u8()? == 1;
    let _long_size = bytes.u8()?;
    Some(Tracing { version, big: bytes.big, page_size: bytes.u32()? })
}

/// Reads how pages begin.
pub fn page_header(bytes: &mut Bytes) -> Option<PageHeader> {
    if bytes.string()? != b"header_page" {
        return None;
    }
    let size = usize::try_from(bytes.u64()?).ok()?;
    let text = String::from_utf8_lossy(bytes.take(size)?).into_owned();
    let header = PageHeader::of(&text)?;
    if bytes.string()? != b"header_event" {
        return None;
    }
    let size = usize::try_from(bytes.u64()?).ok()?;
    bytes.skip(size)?;
    Some(header)
}

impl PageHeader {
    /// `field: local_t commit; offset:8; size:8; signed:1;`
    fn of(text: &str) -> Option<PageHeader> {
        let number = |name: &str, key: &str| -> Option<usize> {
            let line = text.lines().find(|line| line.contains(&format!(" {name};")))?;
            line.split(key).nth(1)?.split(';').next()?.parse().ok()
        };
        let (commit_size, data_at) = (number("commit", "size:")?, number("data", "offset:")?);
        (matches!(commit_size, 4 | 8) && data_at >= 8 + commit_size && data_at <= 64)
            .then_some(PageHeader { commit_size, data_at })
    }
}

/// Reads the formats of ftrace's own events, a list.
pub fn own_formats(bytes: &mut Bytes, formats: &mut Formats) -> Option<()> {
    let count = bytes.u32()?;
    (0..count).try_for_each(|_| format(bytes, formats))
}

/// Reads the formats of all systems' events, a list of lists.
pub fn system_formats(bytes: &mut Bytes, formats: &mut Formats) -> Option<()> {
    let systems = bytes.u32()?;
    (0..systems).try_for_each(|_| {
        let _system = bytes.string()?;
        let count = bytes.u32()?;
        (0..count).try_for_each(|_| format(bytes, formats))
    })
}

fn format(bytes: &mut Bytes, formats: &mut Formats) -> Option<()> {
    let size = bytes.u64().filter(|&size| size <= FORMAT_BYTES)?;
    formats.add(bytes.take(size as usize)?);
    Some(())
}

/// Reads all of it, one after the other, as version 6 of `trace.dat` and perf have it.
pub fn formats(bytes: &mut Bytes) -> Option<(PageHeader, Formats)> {
    let mut formats = Formats::default();
    let page = page_header(bytes)?;
    own_formats(bytes, &mut formats)?;
    system_formats(bytes, &mut formats)?;
    Some((page, formats))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_of_a_page_says_where_events_begin() {
        let text = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
            \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
        assert_eq!(PageHeader::of(text), Some(PageHeader { commit_size: 8, data_at: 16 }));
        assert_eq!(
            PageHeader::of(&text.replace("size:8;\tsigned:1", "size:4;\tsigned:1").replace("offset:16", "offset:12")),
            Some(PageHeader { commit_size: 4, data_at: 12 })
        );
        for wrong in [text.replace("size:8;\tsigned:1", "size:9;\tsigned:1"), text.replace("offset:16", "offset:2")] {
            assert_eq!(PageHeader::of(&wrong), None);
        }
    }
}
