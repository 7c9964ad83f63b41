//! Keeps what was in the rings, as it was there, until there is time to read it: while programs write, each record only
//! costs the copy of its bytes.
//!
//! A file of parts. A part is a length in bytes, a time, and bytes of a ring of this length. After a part with the time T
//! everything earlier than T has been put here, so that all before it can be sorted and handed on: memory follows the
//! largest distance between two such times, and not the length of the file.

use super::order::Sorter;
use super::ring::next_record;
use super::wire;
use schedlab_record::Record;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};
use std::os::fd::FromRawFd;

/// The number of bytes and the time.
const HEAD_BYTES: usize = 16;
/// The time of a part after which earlier ones may come.
const UNKNOWN: u64 = 0;

pub struct Backlog {
    file: File,
}

impl Backlog {
    /// In a file that is at its start, and has nothing.
    pub fn new(file: File) -> Backlog {
        Backlog { file }
    }

    pub fn in_memory() -> io::Result<Backlog> {
        // SAFETY: a plain system call with a name that lives; the descriptor is owned from here.
        unsafe {
            let fd = libc::memfd_create(c"schedlab records".as_ptr(), libc::MFD_CLOEXEC);
            if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(Backlog::new(File::from_raw_fd(fd))) }
        }
    }

    /// Takes whole records of one ring.
    pub fn put(&mut self, records: &[u8]) -> io::Result<()> {
        if records.is_empty() { Ok(()) } else { self.part(records, UNKNOWN) }
    }

    /// Nothing earlier than this will come.
    pub fn complete(&mut self, until_ns: u64) -> io::Result<()> {
        self.part(&[], until_ns)
    }

    fn part(&mut self, records: &[u8], time_ns: u64) -> io::Result<()> {
        let mut head = [0; HEAD_BYTES];
        head[..8].copy_from_slice(&(records.len() as u64).to_ne_bytes());
        head[8..].copy_from_slice(&time_ns.to_ne_bytes());
        self.file.write_all(&head)?;
        self.file.write_all(records)
    }

    /// Hands on, in the order of time, all that is earlier than the last [`Backlog::complete`].
    pub fn read(mut self, sorter: &mut Sorter, each: &mut impl FnMut(Record)) -> io::Result<()> {
        let end = self.file.stream_position()?;
        self.file.rewind()?;
        let (mut file, mut at) = (BufReader::new(self.file), 0);
        let (mut part, mut inbox) = (Vec::new(), Vec::new());
        while at < end {
            let mut head = [0; HEAD_BYTES];
            file.read_exact(&mut head)?;
            let word = |at: usize| u64::from_ne_bytes(head[at..at + 8].try_into().expect("eight"));
            part.resize(word(0) as usize, 0);
            file.read_exact(&mut part)?;
            decode(&part, &mut inbox);
            sorter.append(&mut inbox);
            if word(8) != UNKNOWN {
                sorter.release(word(8), each);
            }
            at += (HEAD_BYTES + part.len()) as u64;
        }
        Ok(())
    }
}

fn decode(mut part: &[u8], inbox: &mut Vec<Record>) {
    while !part.is_empty() {
        let (record, discarded, rest) = next_record(part);
        if !discarded {
            inbox.push(wire::decode(record).expect("the programs write what this reads"));
        }
        part = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_record::RecordKind;

    const DISCARDED: u32 = 1 << 30;

    /// Ticks of the CPU at these times, as a ring has them; 0: a place that was given up.
    fn ring(cpu: u32, times: &[u64]) -> Vec<u8> {
        let record = |time: u64| {
            let length = 44 | if time == 0 { DISCARDED } else { 0 };
            let mut bytes = length.to_ne_bytes().to_vec();
            bytes.extend([0; 4]);
            bytes.extend(time.to_ne_bytes());
            bytes.extend(cpu.to_ne_bytes());
            bytes.extend(10_u16.to_ne_bytes());
            bytes.resize(56, 0);
            bytes
        };
        times.iter().flat_map(|&time| record(time)).collect()
    }

    #[test]
    fn parts_of_several_rings_are_put_in_order_as_far_as_they_are_complete() {
        let mut backlog = Backlog::in_memory().unwrap();
        backlog.put(&ring(0, &[1, 0, 4, 7])).unwrap();
        backlog.put(&ring(1, &[2, 5])).unwrap();
        backlog.put(&[]).unwrap();
        backlog.complete(5).unwrap();
        backlog.put(&ring(1, &[6, 3])).unwrap();
        backlog.complete(8).unwrap();
        backlog.put(&ring(0, &[9])).unwrap();
        let (mut sorter, mut times) = (Sorter::default(), Vec::new());
        backlog
            .read(&mut sorter, &mut |record| {
                assert_eq!(record.kind, RecordKind::Tick);
                times.push((record.time_ns, record.cpu));
            })
            .unwrap();
        assert_eq!(times, [(1, 0), (2, 1), (4, 0), (5, 1), (6, 1), (7, 0)]);
        assert_eq!(sorter.late(), 1);
    }

    #[test]
    fn a_full_disk_is_an_error() {
        let file = File::options().write(true).open("/dev/full").unwrap();
        assert_eq!(Backlog::new(file).put(&ring(0, &[1])).unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
