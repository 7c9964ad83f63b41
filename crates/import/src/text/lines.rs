//! A text, line by line, with nothing believed about it.

use crate::error::Trouble;
use crate::input::{Input, Part};
use std::io::{BufRead, BufReader, Read};

/// No tool writes longer lines.
const LONGEST: u64 = 1 << 16;

/// The lines of a text.
pub struct Lines<'a> {
    reader: BufReader<Part<'a>>,
    /// The text is in a page or in JSON.
    wrapped: bool,
    bytes: Vec<u8>,
    line: String,
    number: u64,
}

impl<'a> Lines<'a> {
    pub fn of(input: &'a Input, wrapped: bool) -> Lines<'a> {
        let reader = input.reader(0, u64::MAX);
        Lines { reader, wrapped, bytes: Vec::new(), line: String::new(), number: 0 }
    }

    /// The next line and its number, from 1; without its end.
    pub fn next(&mut self) -> Result<Option<(u64, &str)>, Trouble> {
        self.bytes.clear();
        let is_line = if self.wrapped { self.wrapped_line()? } else { self.plain_line()? };
        if !is_line {
            return Ok(None);
        }
        if self.bytes.last() == Some(&b'\r') {
            self.bytes.pop();
        }
        self.line.clear();
        // Tasks give themselves names of any bytes.
        self.line.push_str(&String::from_utf8_lossy(&self.bytes));
        if self.wrapped {
            unescape(&mut self.line);
        }
        Ok(Some((self.number, &self.line)))
    }

    fn plain_line(&mut self) -> Result<bool, Trouble> {
        let mut limited = (&mut self.reader).take(LONGEST);
        let length = limited.read_until(b'\n', &mut self.bytes).map_err(Trouble::Read)? as u64;
        if length == 0 {
            return Ok(false);
        }
        self.number += 1;
        let wrong = |what: &str| Err(Trouble::Line(self.number, what.into()));
        if self.bytes.contains(&0) {
            return wrong("binary data, no text of scheduler events");
        }
        if self.bytes.pop() != Some(b'\n') {
            return wrong(if length == LONGEST {
                "no tool writes such a long line"
            } else {
                "the file is cut off here"
            });
        }
        Ok(true)
    }

    /// In a script or in JSON a line ends with the two signs `\n`, and a backslash before a real end means nothing. Scripts
    /// of a page are one long line, of which only the beginning counts.
    fn wrapped_line(&mut self) -> Result<bool, Trouble> {
        let (mut is_line, mut last) = (false, [0; 2]);
        loop {
            let block = self.reader.fill_buf().map_err(Trouble::Read)?;
            if block.is_empty() {
                return Ok(is_line);
            }
            is_line = true;
            let end = block.iter().position(|&byte| byte == b'\n' || byte == b'n');
            let taken = end.map_or(block.len(), |end| end + 1);
            let room = (LONGEST as usize).saturating_sub(self.bytes.len());
            self.bytes.extend_from_slice(&block[..taken.min(room)]);
            last = [if taken > 1 { block[taken - 2] } else { last[1] }, block[taken - 1]];
            self.reader.consume(taken);
            if last[1] == b'\n' {
                self.bytes.pop_if(|byte| *byte == b'\n');
                self.bytes.pop_if(|byte| *byte == b'\\');
                self.number += 1;
                return Ok(true);
            }
            if &last == b"\\n" {
                if self.bytes.ends_with(&last) {
                    self.bytes.truncate(self.bytes.len() - 2);
                }
                // An end that is written twice, as `\n\` and a real one, is one.
                if self.reader.fill_buf().map_err(Trouble::Read)?.starts_with(b"\\\n") {
                    self.reader.consume(2);
                }
                self.number += 1;
                return Ok(true);
            }
        }
    }
}

/// What pages and scripts write instead of signs that mean something there.
const ESCAPES: [(&str, &str); 12] = [
    ("&gt;", ">"),
    ("&lt;", "<"),
    ("&quot;", "\""),
    ("&#39;", "'"),
    ("&#x27;", "'"),
    ("&amp;", "&"),
    ("\\u003e", ">"),
    ("\\u003c", "<"),
    ("\\u003d", "="),
    ("\\t", "\t"),
    ("\\\"", "\""),
    ("\\/", "/"),
];

fn unescape(line: &mut String) {
    if line.contains(['&', '\\']) {
        for (written, meant) in ESCAPES {
            if line.contains(written) {
                *line = line.replace(written, meant);
            }
        }
    }
}
