//! What each task did, on disk: a recording may be longer than memory.

use crate::raw::{RAW_BYTES, Raw};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// What is kept of a task in memory before it goes to the disk.
const CHUNK: usize = 512;

/// A place on the disk.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    at: u64,
    count: u32,
}

/// What is kept of one task.
#[derive(Debug, Default)]
struct Part {
    buffer: Vec<Raw>,
    chunks: Vec<Chunk>,
}

/// A file without a name that holds what tasks did, task by task.
#[derive(Debug)]
pub struct Spool {
    file: File,
    end: u64,
    parts: Vec<Part>,
}

impl Spool {
    /// An empty one in a folder.
    ///
    /// # Errors
    ///
    /// Nothing can be written there.
    pub fn create_in(folder: &Path) -> io::Result<Spool> {
        Ok(Spool { file: schedlab_boundary::own::unnamed(folder)?, end: 0, parts: Vec::new() })
    }

    /// Keeps what a task did next.
    ///
    /// # Errors
    ///
    /// The disk is full.
    pub fn push(&mut self, task: usize, raw: Raw) -> io::Result<()> {
        if self.parts.len() <= task {
            self.parts.resize_with(task + 1, Part::default);
        }
        self.parts[task].buffer.push(raw);
        if self.parts[task].buffer.len() == CHUNK {
            self.flush(task)?;
        }
        Ok(())
    }

    fn flush(&mut self, task: usize) -> io::Result<()> {
        let part = &mut self.parts[task];
        let mut bytes = Vec::with_capacity(part.buffer.len() * RAW_BYTES);
        part.buffer.iter().for_each(|raw| bytes.extend(raw.to_bytes()));
        self.file.write_all_at(&bytes, self.end)?;
        part.chunks.push(Chunk { at: self.end, count: part.buffer.len() as u32 });
        self.end += bytes.len() as u64;
        part.buffer.clear();
        Ok(())
    }

    /// Shows what a task did, in order, until `show` has seen enough.
    ///
    /// # Errors
    ///
    /// The disk cannot be read.
    pub fn each(&self, task: usize, mut show: impl FnMut(Raw)) -> io::Result<()> {
        let Some(part) = self.parts.get(task) else { return Ok(()) };
        for chunk in &part.chunks {
            let mut bytes = vec![0; chunk.count as usize * RAW_BYTES];
            self.file.read_exact_at(&mut bytes, chunk.at)?;
            for raw in bytes.chunks_exact(RAW_BYTES) {
                show(Raw::from_bytes(raw.try_into().expect("chunks are of this size")));
            }
        }
        part.buffer.iter().copied().for_each(&mut show);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::recorded::{Act, Op};

    #[test]
    fn what_was_kept_comes_back_in_order_task_by_task() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::create_in(folder.path()).unwrap();
        for number in 0..3 * CHUNK as u64 {
            spool.push((number % 2) as usize, Raw::Act(Act::new(Op::Compute, number))).unwrap();
        }
        for task in 0..2 {
            let mut expected = (task as u64..3 * CHUNK as u64).step_by(2);
            spool.each(task, |raw| assert_eq!(raw, Raw::Act(Act::new(Op::Compute, expected.next().unwrap())))).unwrap();
            assert_eq!(expected.next(), None);
        }
    }
}
