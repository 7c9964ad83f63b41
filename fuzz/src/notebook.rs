//! The input that a process is trying, where another process finds it when the first one is gone.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Number of inputs tried and length of the present one, 8 bytes each.
const HEAD: u64 = 16;

/// One input and how many were tried before it. A note is one write into a file that stays open and is never truncated: a
/// file that is replaced costs a hundred times as much on a disk.
pub struct Notebook {
    file: File,
    page: Vec<u8>,
}

impl Notebook {
    /// An empty one.
    ///
    /// # Errors
    ///
    /// The file cannot be created.
    pub fn create(path: &Path) -> io::Result<Notebook> {
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        let mut notebook = Notebook { file, page: Vec::new() };
        notebook.note(0, b"")?;
        Ok(notebook)
    }

    /// One that another process reads.
    ///
    /// # Errors
    ///
    /// The file cannot be opened.
    pub fn open(path: &Path) -> io::Result<Notebook> {
        let file = OpenOptions::new().write(true).open(path)?;
        Ok(Notebook { file, page: Vec::new() })
    }

    /// Notes the input that is tried next.
    ///
    /// # Errors
    ///
    /// Nothing can be written.
    pub fn note(&mut self, tried: u64, input: &[u8]) -> io::Result<()> {
        self.page.clear();
        self.page.extend_from_slice(&tried.to_le_bytes());
        self.page.extend_from_slice(&(input.len() as u64).to_le_bytes());
        self.page.extend_from_slice(input);
        self.file.write_all_at(&self.page, 0)
    }

    /// How many inputs were tried before the present one.
    ///
    /// # Errors
    ///
    /// Nothing can be read.
    pub fn tried(&self) -> io::Result<u64> {
        self.number(0)
    }

    /// The present input. The process that writes must be gone.
    ///
    /// # Errors
    ///
    /// Nothing can be read.
    pub fn input(&self) -> io::Result<Vec<u8>> {
        let mut input = vec![0; self.number(8)? as usize];
        self.file.read_exact_at(&mut input, HEAD)?;
        Ok(input)
    }

    fn number(&self, at: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, at)?;
        Ok(u64::from_le_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_note_is_read_whole_and_nothing_of_a_longer_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes");
        let reader = Notebook::create(&path).unwrap();
        assert_eq!((reader.tried().unwrap(), reader.input().unwrap()), (0, Vec::new()));
        let mut writer = Notebook::open(&path).unwrap();
        writer.note(7, b"a long input").unwrap();
        writer.note(8, b"short").unwrap();
        assert_eq!((reader.tried().unwrap(), reader.input().unwrap()), (8, b"short".to_vec()));
    }
}
