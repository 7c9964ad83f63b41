//! `trace.dat`, as trace-cmd writes it: for each CPU the pages of the kernel's ring buffer, as they were.

mod layout;
mod options;
mod packed;
mod pages;

use crate::bytes::Bytes;
use crate::error::Trouble;
use crate::gather::Gather;
use crate::input::Input;
use layout::Layout;
use options::Buffer;
use pages::Item;
use std::collections::{BTreeMap, BTreeSet};

/// What a count of the clock `uptime` is.
const UPTIME_NS: u64 = 10_000_000;

/// Reads the first buffer in which a scheduler event is.
pub fn read(input: &Input, gather: &mut Gather) -> Result<(), Trouble> {
    let mut layout = layout::of(input)?;
    if layout.formats.is_empty() {
        return Err(Trouble::damaged("it does not say how its events are laid out"));
    }
    gather.facts.cpus = layout.options.cpus;
    let buffers = std::mem::take(&mut layout.buffers);
    let mut buffers = buffers.iter();
    for buffer in &mut buffers {
        buffer_of(input, &mut layout, buffer, gather)?;
        if gather.facts.has_events {
            break;
        }
    }
    let others = buffers.filter(|buffer| buffer.cpus.iter().any(|(_, _, size)| *size > 0)).count();
    if others > 0 {
        gather.lacks(&format!(
            "what {others} further buffers of instances hold; the first with scheduler events was read"
        ));
    }
    Ok(())
}

/// How a buffer's times become nanoseconds.
#[derive(Clone, Copy)]
enum Clock {
    Ns,
    Uptime,
    Tsc(u32, u32, u64),
    Counts,
}

impl Clock {
    fn of(name: &str, tsc: Option<(u32, u32, u64)>) -> Clock {
        match (name, tsc) {
            ("x86-tsc" | "tsc2nsec", Some((multiplier, shift, offset))) => Clock::Tsc(multiplier, shift, offset),
            ("counter" | "x86-tsc", _) => Clock::Counts,
            ("uptime", _) => Clock::Uptime,
            _ => Clock::Ns,
        }
    }

    fn ns(self, time: u64) -> Option<u64> {
        match self {
            Clock::Ns | Clock::Counts => Some(time),
            Clock::Uptime => time.checked_mul(UPTIME_NS),
            Clock::Tsc(multiplier, shift, offset) => {
                let ns = (u128::from(time) * u128::from(multiplier)) >> shift.min(127);
                u64::try_from(ns).ok()?.checked_add(offset)
            }
        }
    }

    fn lack(self) -> Option<&'static str> {
        match self {
            Clock::Ns | Clock::Tsc(..) => None,
            Clock::Uptime => {
                Some("times finer than 10 ms, since the clock of the recording is uptime; record with -C mono")
            }
            Clock::Counts => Some(
                "real times, since the clock of the recording counts something else: each count is taken for a \
                 nanosecond; record with -C mono",
            ),
        }
    }
}

fn buffer_of(input: &Input, layout: &mut Layout, buffer: &Buffer, gather: &mut Gather) -> Result<(), Trouble> {
    let clock = Clock::of(&buffer.clock, layout.options.tsc);
    let mut begins = Begins::default();
    let lost_before = gather.facts.lost;
    for &(cpu, offset, size) in buffer.cpus.iter().filter(|(_, _, size)| *size > 0) {
        let mut pages = |layout: &Layout, bytes: &[u8], gather: &mut Gather| {
            for page in bytes.chunks(buffer.page_size as usize) {
                page_of(layout, page, cpu, clock, &mut begins, gather)?;
            }
            Ok::<(), Trouble>(())
        };
        pieces(input, layout, (offset, size, buffer.page_size), &mut |layout, bytes| pages(layout, bytes, gather))?;
    }
    gather.facts.is_counting |= clock.lack().is_some();
    clock.lack().into_iter().for_each(|lack| gather.lacks(lack));
    // Where nothing was lost on the way and some was overwritten, each CPU begins where its oldest page does.
    let all = layout.options.overrun > 0 && gather.facts.lost == lost_before;
    if all {
        gather.facts.overwritten = layout.options.overrun;
    }
    let first = begins.first_ns.values().min().copied().unwrap_or(0);
    let late = begins.first_ns.into_iter().filter(|(cpu, begin)| {
        let is_overwritten = all || begins.overwritten.contains(cpu);
        is_overwritten && *begin > first
    });
    late.into_iter().try_for_each(|(cpu, begin)| gather.started(begin, cpu))
}

/// Where what is known of the CPUs begins.
#[derive(Default)]
struct Begins {
    /// The time of the first event of each.
    first_ns: BTreeMap<u32, u64>,
    /// Those of which older events were lost.
    overwritten: BTreeSet<u32>,
}

/// Receives pages.
type Taker<'a> = &'a mut dyn FnMut(&Layout, &[u8]) -> Result<(), Trouble>;

/// Hands on a CPU's pages, some at a time.
fn pieces(
    input: &Input,
    layout: &mut Layout,
    (offset, size, page_size): (u64, u64, u32),
    each: Taker,
) -> Result<(), Trouble> {
    let missing = || Trouble::damaged("the pages of a CPU are not where they are said to be");
    let at = |offset: u64, length: u64| input.at(offset, length).map_err(Trouble::Read)?.ok_or_else(missing);
    if offset.checked_add(size).is_none_or(|end| end > input.length()) {
        return Err(missing());
    }
    let big = layout.big;
    let number = |bytes: &[u8]| u64::from(Bytes::new(bytes, big).u32().unwrap_or(0));
    let Some(mut unpacker) = layout.unpacker.take() else {
        let step = u64::from(page_size) * 64;
        return (0..size.div_ceil(step))
            .try_for_each(|piece| each(layout, &at(offset + piece * step, step.min(size - piece * step))?));
    };
    let chunks = number(&at(offset, 4)?);
    let mut place = offset + 4;
    for _ in 0..chunks {
        let (packed, unpacked) = (number(&at(place, 4)?), number(&at(place.saturating_add(4), 4)?));
        if packed > packed::PIECE_BYTES {
            return Err(missing());
        }
        let bytes = unpacker.unpack(&at(place + 8, packed)?, unpacked)?;
        place += 8 + packed;
        each(layout, &bytes)?;
    }
    layout.unpacker = Some(unpacker);
    Ok(())
}

fn page_of(
    layout: &Layout,
    page: &[u8],
    cpu: u32,
    clock: Clock,
    begins: &mut Begins,
    gather: &mut Gather,
) -> Result<(), Trouble> {
    let is_whole = pages::items(page, layout.page, layout.big, |time, item| {
        let time_ns = clock.ns(time).ok_or_else(|| Trouble::damaged("a time that no clock shows"))?;
        match item {
            // The kernel marks the oldest page, too, where older ones were overwritten.
            Item::Lost(count) if !begins.first_ns.contains_key(&cpu) => {
                begins.overwritten.insert(cpu);
                gather.before(count.unwrap_or(1));
                Ok(())
            }
            Item::Lost(count) => gather.lost(time_ns, cpu, count.unwrap_or(1)),
            Item::Event(raw) => {
                begins.first_ns.entry(cpu).or_insert(time_ns);
                layout.formats.tell(raw, layout.big, time_ns, cpu, gather)
            }
        }
    })?;
    if is_whole { Ok(()) } else { Err(Trouble::Damaged(format!("a page of CPU {cpu} does not hold together"))) }
}
