//! Pages of the kernel's ring buffer.

use crate::bytes::Bytes;
use crate::tracepoint::PageHeader;

/// Bits of the word that says how much of a page is used: events were lost before it, and their number is behind the data.
const MISSED: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
const USED: u64 = (1 << 27) - 1;

/// What a page holds.
#[derive(Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// Events were lost before the page, this many where that is known.
    Lost(Option<u64>),
    /// An event and its bytes.
    Event(&'a [u8]),
}

/// Hands on what is in a page, each with its time. Nothing comes of a page that does not hold together from there on.
pub fn items<'a, E>(
    page: &'a [u8],
    header: PageHeader,
    big: bool,
    mut each: impl FnMut(u64, Item<'a>) -> Result<(), E>,
) -> Result<bool, E> {
    let Some((mut time_ns, data, lost)) = opened(page, header, big) else { return Ok(false) };
    if let Some(count) = lost {
        each(time_ns, Item::Lost(count))?;
    }
    let mut data = Bytes::new(data, big);
    while data.len() >= 4 {
        let Some(entry) = entry(&mut data, &mut time_ns) else { return Ok(false) };
        match entry {
            Entry::Event(bytes) => each(time_ns, Item::Event(bytes))?,
            Entry::Nothing => {}
            Entry::End => break,
        }
    }
    Ok(true)
}

/// The time of a page, its used bytes, and what was lost before it.
#[expect(clippy::type_complexity, reason = "three things that belong together nowhere else")]
fn opened(page: &[u8], header: PageHeader, big: bool) -> Option<(u64, &[u8], Option<Option<u64>>)> {
    let mut bytes = Bytes::new(page, big);
    let time_ns = bytes.u64()?;
    let commit = bytes.number(header.commit_size)?;
    let used = (commit & USED) as usize;
    let data = page.get(header.data_at..)?;
    let lost = (commit & MISSED != 0).then(|| {
        let is_stored = commit & MISSED_STORED != 0;
        let behind = data.get(used..).filter(|_| is_stored)?;
        Bytes::new(behind, big).number(header.commit_size)
    });
    Some((time_ns, data.get(..used)?, lost))
}

enum Entry<'a> {
    Event(&'a [u8]),
    Nothing,
    End,
}

fn entry<'a>(data: &mut Bytes<'a>, time_ns: &mut u64) -> Option<Entry<'a>> {
    let word = data.u32()?;
    let (kind, delta) = if data.big { (word >> 27, word & USED as u32) } else { (word & 0x1f, word >> 5) };
    let delta = u64::from(delta);
    match kind {
        // The rest of the page is empty, or this many bytes were taken back.
        29 if delta == 0 => return Some(Entry::End),
        29 => {
            let length = data.u32()?;
            data.skip((length as usize).checked_sub(4)?)?;
            *time_ns = time_ns.checked_add(delta)?;
            return Some(Entry::Nothing);
        }
        30 => {
            let more = u64::from(data.u32()?);
            *time_ns = time_ns.checked_add(delta | more << 27)?;
            return Some(Entry::Nothing);
        }
        // A whole time, except for its highest bits.
        31 => {
            let more = u64::from(data.u32()?);
            *time_ns = (*time_ns & !((1 << 59) - 1)) | delta | more << 27;
            return Some(Entry::Nothing);
        }
        _ => {}
    }
    *time_ns = time_ns.checked_add(delta)?;
    let length = match kind {
        0 => (data.u32()? as usize).checked_sub(4)?,
        words => 4 * words as usize,
    };
    data.take(length).map(Entry::Event)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    const HEADER: PageHeader = PageHeader { commit_size: 8, data_at: 16 };

    fn page(commit_bits: u64, data: &[u8]) -> Vec<u8> {
        let commit = data.len() as u64 | commit_bits;
        [&1000_u64.to_le_bytes()[..], &commit.to_le_bytes(), data, &7_u64.to_le_bytes()].concat()
    }

    fn word(kind: u32, delta: u32) -> [u8; 4] {
        (kind | delta << 5).to_le_bytes()
    }

    fn read(page: &[u8]) -> (bool, Vec<(u64, String)>) {
        let mut told = Vec::new();
        let is_whole = items(page, HEADER, false, |time_ns, item| {
            told.push((time_ns, format!("{item:?}")));
            Ok::<(), Infallible>(())
        });
        (is_whole.unwrap(), told)
    }

    #[test]
    fn all_kinds_of_entries_are_read() {
        let data = [
            &word(1, 5)[..],
            b"abcd",
            &word(30, 1),
            &2_u32.to_le_bytes(),
            &word(0, 1),
            &12_u32.to_le_bytes(),
            b"efghijkl",
            &word(29, 1),
            &8_u32.to_le_bytes(),
            b"wxyz",
            &word(31, 3),
            &1_u32.to_le_bytes(),
            &word(1, 0),
            b"mnop",
            &word(29, 0),
        ]
        .concat();
        let extended = 1005 + 1 + (2 << 27);
        let expected = [
            (1005, "Event([97, 98, 99, 100])".to_string()),
            (extended + 1, "Event([101, 102, 103, 104, 105, 106, 107, 108])".into()),
            (3 + (1 << 27), "Event([109, 110, 111, 112])".into()),
        ];
        assert_eq!(read(&page(0, &data)), (true, expected.to_vec()));
        // However it is cut off, what is there is read.
        (0..data.len()).for_each(|length| drop(read(&page(0, &data[..length]))));
    }

    #[test]
    fn what_was_lost_is_told() {
        assert_eq!(read(&page(MISSED, b"")), (true, vec![(1000, "Lost(None)".into())]));
        assert_eq!(read(&page(MISSED | MISSED_STORED, b"")), (true, vec![(1000, "Lost(Some(7))".into())]));
    }

    #[test]
    fn a_page_that_claims_more_than_it_has_gives_nothing() {
        assert_eq!(read(&[0; 15]), (false, vec![]));
        assert_eq!(read(&page(4096, b"")), (false, vec![]));
        assert_eq!(read(&page(0, &[word(28, 0), [0; 4]].concat())), (false, vec![]));
    }
}
