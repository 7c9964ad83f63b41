//! Helpers on text.

use crate::call::{Call, host_functions};
use crate::maps::errno;
use crate::text::format;

/// Lines that are kept for the host; a program that prints more loses the later ones.
const LINES_MAX: usize = 10_000;

host_functions! {
    /// `bpf_trace_printk(format, size, a, b, c)`.
    fn trace_printk(call, pattern, len, a, b, c) {
        print(call, pattern, len, &[a, b, c])
    }

    /// `bpf_trace_vprintk(format, size, data, bytes)`.
    fn trace_vprintk(call, pattern, len, data, data_len) {
        match words(call, data, data_len) {
            Some(words) => print(call, pattern, len, &words),
            None => 0,
        }
    }

    /// `bpf_snprintf(out, size, format, data, bytes)`: gives the bytes that the whole text needs, final zero included.
    fn snprintf(call, out, size, pattern, data, data_len) {
        let Some(words) = words(call, data, data_len) else { return 0 };
        let Some(pattern) = call.text(pattern, u64::MAX) else { return 0 };
        if !call.check(out, size, true) {
            return 0;
        }
        let text = format(call.memory(), &pattern, &words);
        if size > 0 {
            let kept = text.len().min(size as usize - 1);
            call.memory().write_bytes(out, &text.as_bytes()[..kept]);
            call.memory().write(out + kept as u64, 0u8);
        }
        text.len() as u64 + 1
    }

    /// `bpf_strncmp(text, size, other)`: as C `strncmp`.
    fn strncmp(call, text, len, other) {
        if !call.check(text, len, false) || !call.check(other, 1, false) {
            return 0;
        }
        for at in 0..len {
            let (a, b): (u8, u8) = (call.memory().read(text + at), call.memory().read(other + at));
            if a != b {
                return if a < b { -1i64 as u64 } else { 1 };
            }
            if a == 0 {
                break;
            }
        }
        0
    }
}

/// The words of a data array.
pub fn words(call: Call, data: u64, len: u64) -> Option<Vec<u64>> {
    if len == 0 {
        return Some(Vec::new());
    }
    if len > 8 * 12 {
        call.fail(format!("prints {} values at once; 12 are possible", len / 8));
        return None;
    }
    let bytes = call.bytes(data, len)?;
    Some(bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default())).collect())
}

fn print(call: Call, pattern: u64, len: u64, words: &[u64]) -> u64 {
    let Some(pattern) = call.text(pattern, len) else { return 0 };
    let line = format(call.memory(), &pattern, words);
    let printed = &mut call.vm().printed;
    if printed.len() >= LINES_MAX {
        return errno::EBUSY as u64;
    }
    printed.push(line.trim_end_matches('\n').to_string());
    line.len() as u64
}
