//! The `printf` of programs: `bpf_printk`, `bpf_snprintf` and messages of schedulers.

use std::fmt::Write;

use crate::memory::GuestMemory;

/// The longest text that a `%s` puts in.
const STRING_LIMIT: u64 = 1024;

/// A conversion: `%-08llx`.
#[derive(Default)]
struct Conversion {
    left: bool,
    zeros: bool,
    alternate: bool,
    plus: bool,
    width: usize,
    precision: Option<usize>,
    /// Bytes of the argument.
    bytes: u32,
}

/// Formats `format` with one word for each conversion, as `bpf_snprintf` is given them. Missing words are 0. What is
/// longer than `limit` bytes is cut off.
pub fn format(memory: &GuestMemory, format: &str, words: &[u64], limit: usize) -> String {
    let mut out = String::new();
    let mut words = words.iter().copied();
    let mut chars = format.chars().peekable();
    while let Some(char) = chars.next().filter(|_| out.len() < limit) {
        if char != '%' {
            out.push(char);
            continue;
        }
        let mut conversion = Conversion { bytes: 4, ..Conversion::default() };
        loop {
            match chars.next() {
                Some('%') => out.push('%'),
                Some('-') => {
                    conversion.left = true;
                    continue;
                }
                Some('0') if conversion.width == 0 && conversion.precision.is_none() => {
                    conversion.zeros = true;
                    continue;
                }
                Some('#') => {
                    conversion.alternate = true;
                    continue;
                }
                Some('+') => {
                    conversion.plus = true;
                    continue;
                }
                Some(' ') => continue,
                Some('.') => {
                    conversion.precision = Some(0);
                    continue;
                }
                Some(digit @ '0'..='9') => {
                    let place = conversion.precision.as_mut().unwrap_or(&mut conversion.width);
                    *place = (*place * 10 + digit as usize - '0' as usize).min(256);
                    continue;
                }
                Some('l' | 'z') => {
                    conversion.bytes = 8;
                    continue;
                }
                Some('h') => {
                    conversion.bytes = if conversion.bytes == 2 { 1 } else { 2 };
                    continue;
                }
                Some('p') => {
                    while chars.next_if(|next| next.is_ascii_alphanumeric()).is_some() {}
                    conversion.put(&mut out, &format!("{:#x}", words.next().unwrap_or(0)), "");
                }
                Some(kind) => conversion.convert(&mut out, memory, kind, &mut words),
                None => out.push('%'),
            }
            break;
        }
    }
    out.truncate(out.floor_char_boundary(limit));
    out
}

impl Conversion {
    fn convert(&self, out: &mut String, memory: &GuestMemory, kind: char, words: &mut impl Iterator<Item = u64>) {
        let unused = 64 - 8 * self.bytes;
        let unsigned = |word: u64| (word << unused) >> unused;
        match kind {
            'd' | 'i' => {
                let value = ((words.next().unwrap_or(0) << unused) as i64) >> unused;
                let sign = if value < 0 {
                    "-"
                } else if self.plus {
                    "+"
                } else {
                    ""
                };
                self.put(out, &value.unsigned_abs().to_string(), sign);
            }
            'u' => self.put(out, &unsigned(words.next().unwrap_or(0)).to_string(), ""),
            'x' => {
                let prefix = if self.alternate { "0x" } else { "" };
                self.put(out, &format!("{:x}", unsigned(words.next().unwrap_or(0))), prefix);
            }
            'X' => self.put(out, &format!("{:X}", unsigned(words.next().unwrap_or(0))), ""),
            'o' => self.put(out, &format!("{:o}", unsigned(words.next().unwrap_or(0))), ""),
            'c' => out.push(char::from(words.next().unwrap_or(0) as u8)),
            's' => {
                let address = words.next().unwrap_or(0);
                let limit = self.precision.map_or(STRING_LIMIT, |precision| STRING_LIMIT.min(precision as u64));
                let readable = memory.readable_len(address, limit) as usize;
                let text = if address == 0 { "(null)".to_string() } else { memory.read_text(address, readable) };
                Conversion { zeros: false, ..*self }.put(out, &text, "");
            }
            other => {
                out.push('%');
                out.push(other);
            }
        }
    }

    /// Puts a text of a sign and digits at its width.
    fn put(&self, out: &mut String, digits: &str, sign: &str) {
        let len = digits.chars().count() + sign.len();
        let fill = self.width.saturating_sub(len);
        // Writing to a string does not fail.
        let _ = match (self.left, self.zeros) {
            (true, _) => write!(out, "{sign}{digits}{:fill$}", ""),
            (false, true) => write!(out, "{sign}{:0<fill$}{digits}", ""),
            (false, false) => write!(out, "{:fill$}{sign}{digits}", ""),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Access, Region};

    #[test]
    fn formats_as_the_kernel_does() {
        let memory = GuestMemory::new().unwrap();
        let text = memory.alloc(8, 8, Region::whole("text", Access::ReadOnly)).unwrap();
        memory.write_bytes(text, b"abc\0");
        let cases: [(&str, &[u64], &str); 9] = [
            ("cpu %d of %u", &[u64::MAX, 4], "cpu -1 of 4"),
            ("%llu|%lld|%lx", &[u64::MAX, u64::MAX, 255], "18446744073709551615|-1|ff"),
            ("[%5d|%-5d|%05d]", &[42, 42, -42i64 as u64], "[   42|42   |-0042]"),
            ("%s %8s %.2s", &[text, text, text], "abc      abc ab"),
            ("%s", &[0], "(null)"),
            ("100%% %c%#x", &[u64::from(b'z'), 16], "100% z0x10"),
            ("%pB %p!", &[4096, 16], "0x1000 0x10!"),
            ("%hhu %hd", &[0x1FF, 0x1_8000], "255 -32768"),
            ("%d %", &[], "0 %"),
        ];
        for (pattern, words, expected) in cases {
            assert_eq!(format(&memory, pattern, words, 100), expected, "{pattern}");
        }
        assert_eq!(format(&memory, &"%256d".repeat(10_000), &[], 1000).len(), 1000);
        assert_eq!(format(&memory, "%s|", &[u64::MAX], 100), "|", "nothing to read there");
    }
}
