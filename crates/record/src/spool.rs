//! Keeps records on disk until the recording is over: which tasks were there, how long it took and what was lost are known only
//! then, and a trace file begins with it.

use crate::record::Record;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Seek, Write};
use std::path::Path;

/// No record is longer than this in its form on disk.
const LONGEST: usize = 128;

/// Takes records. The file has no name, so that it is gone with the process, however that ends.
pub struct Spool {
    file: BufWriter<File>,
    failed: Option<io::Error>,
    count: u64,
}

/// Gives them back, as often as is wanted.
pub struct Spooled {
    file: File,
    count: u64,
}

impl Spool {
    /// Opens one on the disk of this folder.
    pub fn create_in(folder: &Path) -> io::Result<Spool> {
        let file = BufWriter::with_capacity(1 << 18, tempfile::tempfile_in(folder)?);
        Ok(Spool { file, failed: None, count: 0 })
    }

    /// Keeps one. The first error is kept instead and told by [`Spool::finish`].
    pub fn push(&mut self, record: &Record) {
        if self.failed.is_some() {
            return;
        }
        let mut bytes = [0; LONGEST];
        let bytes = postcard::to_slice(record, &mut bytes).expect("a record is shorter");
        match self.file.write_all(bytes) {
            Ok(()) => self.count += 1,
            Err(error) => self.failed = Some(error),
        }
    }

    /// All that was kept.
    pub fn finish(self) -> io::Result<Spooled> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(Spooled { file, count: self.count })
    }
}

impl Spooled {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Hands on all of them, in the order in which they came.
    pub fn each(&mut self, mut each: impl FnMut(&Record)) -> io::Result<()> {
        self.file.rewind()?;
        let mut reader = BufReader::with_capacity(1 << 18, &self.file);
        let mut scratch = [0; LONGEST];
        for _ in 0..self.count {
            let source = (&mut reader, &mut scratch[..]);
            let (record, _) = postcard::from_io(source).map_err(|error| io::Error::other(error.to_string()))?;
            each(&record);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Comm, Departure, RecordKind, Thread, Waker};

    #[test]
    fn records_come_back_as_often_as_wanted_and_no_file_is_left() {
        let thread = Thread { tid: i32::MAX, tgid: i32::MIN, priority: -1, followed: true };
        let kinds = [
            RecordKind::Switch { previous: thread, how: Departure::Yielded, next: Thread::default() },
            RecordKind::Wakeup { thread, target: u32::MAX, waker: Waker::Task(-7), new: true },
            RecordKind::Present { thread, comm: Comm([0xff; 16]), runnable: true, cpu: 4095 },
            RecordKind::Status { thread, word: u64::MAX },
            RecordKind::Tick,
        ];
        let records: Vec<Record> =
            kinds.into_iter().map(|kind| Record { time_ns: u64::MAX, cpu: u32::MAX, kind }).collect();
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::create_in(folder.path()).unwrap();
        records.iter().for_each(|record| spool.push(record));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let mut spooled = spool.finish().unwrap();
        assert_eq!(spooled.count(), 5);
        for _ in 0..2 {
            let mut back = Vec::new();
            spooled.each(|record| back.push(*record)).unwrap();
            assert_eq!(back, records);
        }
    }

    #[test]
    fn a_full_disk_is_told_at_the_end() {
        let file = File::options().write(true).open("/dev/full").unwrap();
        let mut spool = Spool { file: BufWriter::with_capacity(64, file), failed: None, count: 0 };
        let record = Record { time_ns: 1 << 40, cpu: 0, kind: RecordKind::Tick };
        (0..100).for_each(|_| spool.push(&record));
        assert_eq!(spool.finish().err().unwrap().kind(), io::ErrorKind::StorageFull);
    }
}
