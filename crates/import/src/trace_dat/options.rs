//! The options of `trace.dat`, which say what was recorded how, and in version 7 where things are.

use crate::bytes::{Bytes, until_zero};

/// A ring buffer: that of the kernel, without a name, or of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    pub name: String,
    /// The clock of its times.
    pub clock: String,
    pub page_size: u32,
    /// Of each CPU its number, where its pages begin, and how many bytes they are.
    pub cpus: Vec<(u32, u64, u64)>,
}

/// What the options say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub cpus: u32,
    pub clock: String,
    /// Events that were overwritten, of all CPUs.
    pub overrun: u64,
    /// How counts of the TSC become nanoseconds: multiplied, shifted, added to.
    pub tsc: Option<(u32, u32, u64)>,
    /// Buffers of instances, in version 6: where they are described.
    pub buffers_at: Vec<(u64, String)>,
    /// Buffers, in version 7.
    pub buffers: Vec<Buffer>,
    pub header_at: u64,
    pub own_formats_at: u64,
    pub formats_at: u64,
}

/// The most buffers.
const BUFFERS: usize = 1024;

/// Reads options up to their end; gives where the next are, or zero.
pub fn read(bytes: &mut Bytes, options: &mut Options) -> Option<u64> {
    loop {
        let id = bytes.u16()?;
        // In version 6 the end has no size.
        if id == 0 && bytes.len() < 12 {
            return bytes.u32().and_then(|_| bytes.u64()).or(Some(0));
        }
        if id == 0 {
            let mut ahead = *bytes;
            if ahead.u32() == Some(8) {
                *bytes = ahead;
                return bytes.u64();
            }
            return Some(0);
        }
        let size = bytes.u32()?;
        let content = bytes.take(size as usize)?;
        option(id, Bytes::new(content, bytes.big), options)?;
    }
}

fn option(id: u16, mut content: Bytes, options: &mut Options) -> Option<()> {
    match id {
        2 => options.overrun = options.overrun.saturating_add(overrun(&text(content.rest()))),
        3 if options.buffers.len() + options.buffers_at.len() < BUFFERS => {
            let offset = content.u64()?;
            let name = text(content.string()?);
            if content.len() == 0 {
                options.buffers_at.push((offset, name));
            } else {
                options.buffers.push(buffer(name, &mut content)?);
            }
        }
        4 => options.clock = chosen(&text(content.rest())),
        8 => options.cpus = content.u32()?,
        14 => options.tsc = Some((content.u32()?, content.u32()?, content.u64()?)),
        16 => options.header_at = content.u64()?,
        17 => options.own_formats_at = content.u64()?,
        18 => options.formats_at = content.u64()?,
        _ => {}
    }
    Some(())
}

fn buffer(name: String, content: &mut Bytes) -> Option<Buffer> {
    let clock = text(content.string()?);
    let (page_size, count) = (content.u32()?, content.u32()?);
    let cpu = |_| Some((content.u32()?, content.u64()?, content.u64()?));
    Some(Buffer { name, clock, page_size, cpus: (0..count).map(cpu).collect::<Option<_>>()? })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(until_zero(bytes)).into_owned()
}

/// `local global [mono] boot`: that in brackets.
fn chosen(clocks: &str) -> String {
    let inside = clocks.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(clocks, |(clock, _)| clock).trim().into()
}

/// What the statistics of a CPU's buffer say was overwritten.
fn overrun(stats: &str) -> u64 {
    let count = stats.lines().find_map(|line| line.strip_prefix("overrun: "));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(id: u16, content: &[u8]) -> Vec<u8> {
        [&id.to_le_bytes()[..], &(content.len() as u32).to_le_bytes(), content].concat()
    }

    #[test]
    fn options_are_read_and_others_passed_over() {
        let buffer = [
            &7_u64.to_le_bytes()[..],
            b"web\0mono\0",
            &4096_u32.to_le_bytes(),
            &1_u32.to_le_bytes(),
            &3_u32.to_le_bytes(),
            &64_u64.to_le_bytes(),
            &4096_u64.to_le_bytes(),
        ]
        .concat();
        let all = [
            option(2, b"CPU: 0\nentries: 5\noverrun: 12\ncommit overrun: 0\n\0"),
            option(3, &buffer),
            option(4, b"local [mono] boot\n\0"),
            option(8, &4_u32.to_le_bytes()),
            option(99, b"anything"),
            option(0, &77_u64.to_le_bytes()),
        ]
        .concat();
        let mut options = Options::default();
        assert_eq!(read(&mut Bytes::new(&all, false), &mut options), Some(77));
        assert_eq!((options.overrun, options.cpus, options.clock.as_str()), (12, 4, "mono"));
        let expected = Buffer { name: "web".into(), clock: "mono".into(), page_size: 4096, cpus: vec![(3, 64, 4096)] };
        assert_eq!(options.buffers, [expected]);
        // Version 6 ends its options with nothing but a zero.
        let short = [option(8, &4_u32.to_le_bytes()), vec![0, 0], b"flyrecord\0".to_vec(), vec![0; 32]].concat();
        assert_eq!(read(&mut Bytes::new(&short, false), &mut Options::default()), Some(0));
        for length in 0..all.len() {
            assert_ne!(read(&mut Bytes::new(&all[..length], false), &mut Options::default()), Some(77));
        }
    }
}
