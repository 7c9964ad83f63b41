//! Helpers on text.

use std::cmp::Ordering;

use crate::arguments::{Pointer, Readable, Writable, host_functions};
use crate::check::Check;
use crate::maps::errno;
use crate::text::format;

/// Lines that are kept for the host; a program that prints more loses the later ones.
const LINES_MAX: usize = 10_000;
/// Bytes of a line; the rest is cut off, as by the buffer of a kernel.
const LINE_MAX: usize = 1024;
/// Bytes of a text that `bpf_snprintf` makes.
const TEXT_MAX: usize = 64 * 1024;
/// About what a conversion takes.
const STEPS_PER_VALUE: u64 = 8;
/// The most values of a text.
const VALUES_MAX: u64 = 12;

host_functions! {
    /// `bpf_trace_printk(format, size, a, b, c)`.
    fn trace_printk(call, pattern: Readable, a: u64, b: u64, c: u64) {
        print(call, pattern, &[a, b, c])
    }

    /// `bpf_trace_vprintk(format, size, data, bytes)`.
    fn trace_vprintk(call, pattern: Readable, data: Readable) {
        let words = values(call, data)?;
        print(call, pattern, &words)
    }

    /// `bpf_snprintf(out, size, format, data, bytes)`: gives the bytes that the whole text needs, final zero included.
    fn snprintf(call, out: Writable, pattern: Pointer, data: Readable) {
        let words = values(call, data)?;
        let pattern = call.text(pattern, TEXT_MAX as u64)?;
        call.charge(STEPS_PER_VALUE * words.len() as u64)?;
        let text = format(call.memory(), &pattern, &words, TEXT_MAX);
        call.charge_bytes(text.len() as u64)?;
        if let Some(room) = (out.len as usize).checked_sub(1) {
            let kept = &text.as_bytes()[..text.len().min(room)];
            out.write(call, &[kept, &[0]].concat());
        }
        Some(text.len() as u64 + 1)
    }

    /// `bpf_strncmp(text, size, other)`: as C `strncmp`.
    fn strncmp(call, text: Readable, other: Pointer) {
        let len = call.memory().readable_len(other.0, text.len.max(1));
        call.readable(other.0, len.max(1))?;
        let len = len.min(text.len);
        Some(match call.memory().compare_text(text.address, other.0, len as usize) {
            Ordering::Less => -1i64 as u64,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        })
    }
}

/// The values of a data array.
fn values(call: &mut Check<'_>, data: Readable) -> Option<Vec<u64>> {
    if data.len > 8 * VALUES_MAX {
        return call.fail(format!("prints {} values at once; {VALUES_MAX} are possible", data.len / 8));
    }
    Some(data.words(call))
}

fn print(call: &mut Check<'_>, pattern: Readable, words: &[u64]) -> Option<u64> {
    call.charge(STEPS_PER_VALUE * words.len() as u64)?;
    if call.vm().printed.len() >= LINES_MAX {
        return Some(errno::EBUSY as u64);
    }
    let pattern = call.text(Pointer(pattern.address), pattern.len.min(LINE_MAX as u64))?;
    let line = format(call.memory(), &pattern, words, LINE_MAX);
    call.charge_bytes(line.len() as u64)?;
    call.vm().printed.push(line.trim_end_matches('\n').to_string());
    Some(line.len() as u64)
}
