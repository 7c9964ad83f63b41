//! A file, line by line, with nothing believed about it.

use super::Error;
use schedlab_gate::file;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// No tool writes longer lines.
const LONGEST: u64 = 1 << 16;

/// How files begin that are often taken for their text.
const BINARY: [(&[u8], &str); 4] = [
    (b"PERFILE2", "this is the file of perf itself; import what `perf script -i` prints of it"),
    (b"\x17\x08\x44tracing", "this is the file of trace-cmd itself; import what `trace-cmd report` prints of it"),
    (b"PAR1", "this is a trace already; look into it with `schedlab check`"),
    (b"\x1f\x8b", "this is compressed; unpack it first"),
];

/// The lines of a file.
pub struct Source {
    path: PathBuf,
    reader: BufReader<File>,
    bytes: Vec<u8>,
    line: String,
    number: u64,
}

impl Source {
    pub fn open(path: &Path) -> Result<Source, Error> {
        let mut reader = BufReader::with_capacity(1 << 16, open(path)?);
        let start = reader.fill_buf().map_err(|source| Error::Read { path: path.into(), source })?;
        if start.is_empty() {
            return Err(Error::NoText { path: path.into(), what: "the file is empty" });
        }
        if let Some((_, what)) = BINARY.iter().find(|(magic, _)| start.starts_with(magic)) {
            return Err(Error::NoText { path: path.into(), what });
        }
        Ok(Source { path: path.into(), reader, bytes: Vec::new(), line: String::new(), number: 0 })
    }

    /// The next line and its number, from 1; without its end.
    pub fn next(&mut self) -> Result<Option<(u64, &str)>, Error> {
        self.bytes.clear();
        let mut limited = (&mut self.reader).take(LONGEST);
        let read = limited.read_until(b'\n', &mut self.bytes);
        let length = read.map_err(|source| Error::Read { path: self.path.clone(), source })? as u64;
        if length == 0 {
            return Ok(None);
        }
        self.number += 1;
        let wrong = |what: &str| Error::Line { path: self.path.clone(), number: self.number, what: what.into() };
        if self.bytes.contains(&0) {
            return Err(wrong("binary data, no text of scheduler events"));
        }
        if self.bytes.pop() != Some(b'\n') {
            let what = if length == LONGEST { "no tool writes such a long line" } else { "the file is cut off here" };
            return Err(wrong(what));
        }
        if self.bytes.last() == Some(&b'\r') {
            self.bytes.pop();
        }
        self.line.clear();
        // Tasks give themselves names of any bytes.
        self.line.push_str(&String::from_utf8_lossy(&self.bytes));
        Ok(Some((self.number, &self.line)))
    }
}

/// A file that can be read twice.
fn open(path: &Path) -> Result<File, Error> {
    file::open(path, file::ANY_BYTES).map_err(|source| match source.kind() {
        ErrorKind::InvalidInput | ErrorKind::IsADirectory => {
            Error::NoText { path: path.into(), what: "this is no file; save the text to one first" }
        }
        _ => Error::Read { path: path.into(), source },
    })
}
