//! Lines of ftrace's latency formats, in which the CPU has no brackets: `comm-pid CPUflags time: event: fields`, where time
//! is `16480us+` since the beginning or, from `trace-cmd report -l`, in seconds; and the verbose one, with columns of numbers.

use super::ftrace::{is_flags, is_interrupt};
use super::line::{Line, Stamp, decimal, event_and_fields, number, time_and_event};

/// Reads an event's line.
pub fn line(text: &str) -> Option<Line<'_>> {
    short(text).or_else(|| verbose(text))
}

/// `bash-6293      1d..2. 16528us!: sched_switch: …`
fn short(text: &str) -> Option<Line<'_>> {
    // Names of tasks hold anything, so each blank may be the one behind the number.
    text.match_indices(char::is_whitespace).find_map(|(at, _)| {
        let (_, tid) = text[..at].rsplit_once('-')?;
        let tid = number(tid).filter(|_| !tid.is_empty())?;
        let (place, rest) = text[at..].trim_start().split_once(char::is_whitespace)?;
        let digits = place.bytes().take_while(u8::is_ascii_digit).count();
        let (cpu, flags) = place.split_at(digits);
        let cpu = number(cpu).filter(|_| digits > 0)?;
        // `-R` prints the flags as a number behind a dash.
        let in_interrupt = match flags.strip_prefix("-0x") {
            Some(bits) => Some(u8::from_str_radix(bits, 16).ok()? & 0x18 != 0),
            None if is_flags(flags) => is_interrupt(flags),
            None => return None,
        };
        let (time, event, fields) = since_beginning(rest).or_else(|| time_and_event(rest))?;
        Some(Line { tid, tgid: None, cpu, in_interrupt, time, event, fields })
    })
}

/// `16528us!: sched_switch: …`: behind the unit a mark shows how long it took to the next event.
fn since_beginning(text: &str) -> Option<(Stamp, &str, &str)> {
    let (time, rest) = text.trim_start().split_once("us")?;
    let us: u64 = number(time).filter(|_| !time.is_empty())?;
    let mark = rest.find(':').filter(|&at| at <= 2)?;
    let (event, fields) = event_and_fields(&rest[mark + 1..])?;
    Some((Stamp::Ns(us.checked_mul(1000)?), event, fields))
}

/// `head    6440   0 37 00000004 00000009 [f0544e1e8] 21.746ms (+0.003ms): sched_wakeup: …`: name, thread, CPU, flags, depth
/// of preemption, place, microseconds of the clock in sixteen digits, time since the beginning and to the next event.
fn verbose(text: &str) -> Option<Line<'_>> {
    text.match_indices(" [").find_map(|(open, _)| {
        let (clock, rest) = text[open + 2..].split_once(']')?;
        let us = u64::from_str_radix(clock, 16).ok()?;
        let mut columns = text[..open].split_whitespace().rev();
        let mut column = || columns.next();
        let (_place, _depth, flags, cpu, tid) = (column()?, column()?, column()?, column()?, column()?);
        let (since, rest) = rest.trim_start().split_once("ms (+")?;
        let (whole, fraction) = since.split_once('.')?;
        decimal(whole, fraction, 9)?;
        let (_, rest) = rest.split_once("ms):")?;
        let (event, fields) = event_and_fields(rest)?;
        Some(Line {
            tid: number(tid)?,
            tgid: None,
            cpu: number(cpu)?,
            // The bits of interrupts and soft interrupts.
            in_interrupt: Some(u32::from_str_radix(flags, 16).ok()? & 0x18 != 0),
            time: Stamp::Ns(us.checked_mul(1000)?),
            event,
            fields,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_in_both_formats() {
        let expected = Line {
            tid: 6293,
            tgid: None,
            cpu: 1,
            in_interrupt: Some(false),
            time: Stamp::Ns(16_528_000),
            event: "sched_switch",
            fields: "prev_comm=x",
        };
        let tail = "sched_switch: prev_comm=x";
        assert_eq!(line(&format!("    bash-6293      1d..2. 16528us!: {tail}")), Some(expected));
        assert_eq!(line(&format!("    b sh-1-6293    1d..2. 16528us : {tail}")), Some(expected));
        let clock = Line { time: Stamp::Ns(64_059_254_137_000), ..expected };
        assert_eq!(line(&format!("bash-6293    1d..2. 64059.254137: {tail}")), Some(clock));
        assert_eq!(line(&format!("bash-6293    1-0x1 64059.254137: {tail}")), Some(clock));
        let interrupt = Line { in_interrupt: Some(true), ..clock };
        assert_eq!(line(&format!("bash-6293    1d.h2. 64059.254137: {tail}")), Some(interrupt));
        let verbose = format!("  a [b] c  6293   1 1 00000002 0000000a [f0544e1ec] 21.749ms (+0.088ms): {tail}");
        assert_eq!(line(&verbose), Some(Line { time: Stamp::Ns(64_512_909_804_000), ..expected }));
        for wrong in [
            "bash 6293 1d..2. 5us: x: y",
            "bash-6293 d..2. 5us: x: y",
            "bash-6293 1d..2. us: x: y",
            "bash-6293 1 5us: x",
        ] {
            assert_eq!(line(wrong), None, "{wrong}");
        }
    }
}
