//! The reader's end of the ring buffers, of which each CPU has one.
//!
//! The form of one is the kernel's (`kernel/bpf/ringbuf.c`): a page with the reader's position, a page with the writers', then
//! the data, mapped twice in a row so that no record is cut at the end. A record is a word with its length and two bits,
//! a word of the kernel's, and what the program wrote, up to a multiple of eight bytes. libbpf's own reader says the
//! kernel its position after each record, and each time takes a cache line away from the CPUs that write; this one says
//! it now and then.

use super::backlog::Backlog;
use super::order::Sorter;
use crate::clock::monotonic_ns;
use libbpf_rs::MapHandle;
use memmap2::{Advice, MmapOptions, MmapRaw};
use schedlab_record::Record;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The record is still being written.
const BUSY: u32 = 1 << 31;
/// The program gave the place up.
const DISCARDED: u32 = 1 << 30;
/// Before each record.
const HEAD_BYTES: u64 = 8;
/// After this number of bytes, the reader writes its position for the kernel: several times what is written between two calls for the
/// reader, and few enough for the nearest caches.
const TELL_BYTES: u64 = 64 << 10;

/// Moves records from the rings to the backlog, and hands them on from there.
pub struct Rings {
    rings: Vec<Ring>,
    /// Did not come through a ring.
    added: Vec<Record>,
    backlog: Backlog,
    /// Becomes ready once for each time the programs wake the reader, and not as long as anything waits to be read.
    woken: OwnedFd,
}

impl Rings {
    /// Of these maps, whose data have `data_bytes` bytes each, a power of two.
    pub fn new(maps: &[MapHandle], data_bytes: u32, page_bytes: usize) -> io::Result<Rings> {
        let rings = maps.iter().map(|map| Ring::new(map, data_bytes, page_bytes)).collect::<io::Result<_>>()?;
        Ok(Rings { rings, added: Vec::new(), backlog: Backlog::in_memory()?, woken: edge(maps)? })
    }

    /// Keeps what has been moved there. Nothing has been yet.
    pub fn keep_in(&mut self, file: File) {
        self.backlog = Backlog::new(file);
    }

    /// Waits until the programs wake the reader or the time is over; whether they did.
    pub fn wait(&self, timeout: Duration) -> bool {
        let milliseconds = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: one event is asked for and there is place for one.
        unsafe { libc::epoll_wait(self.woken.as_raw_fd(), &mut event, 1, milliseconds) == 1 }
    }

    /// Readable when the programs wake the reader.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.woken.as_fd()
    }

    /// Adds a record that did not come through a ring.
    pub fn add(&mut self, record: Record) {
        self.added.push(record);
    }

    /// Moves at most `at_most` bytes from each ring. Returns whether everything that was written before the call is moved.
    pub fn relieve(&mut self, at_most: u64) -> io::Result<bool> {
        let now_ns = monotonic_ns();
        let ends: Vec<u64> = self.rings.iter().map(Ring::written).collect();
        let mut complete = true;
        for (ring, end) in self.rings.iter_mut().zip(ends) {
            ring.relieve(end.min(ring.at.saturating_add(at_most)), &mut self.backlog)?;
            complete &= ring.at >= end;
        }
        if complete {
            self.backlog.complete(now_ns)?;
        }
        Ok(complete)
    }

    /// Moves what is left and hands on everything earlier than `until_ns`, which is over. Returns [`Sorter::late`].
    pub fn read(mut self, until_ns: u64, each: &mut impl FnMut(Record)) -> io::Result<u64> {
        while !self.relieve(u64::MAX)? {
            std::thread::yield_now();
        }
        let mut sorter = Sorter::default();
        sorter.append(&mut self.added);
        self.backlog.read(&mut sorter, &mut |record| {
            if record.time_ns < until_ns {
                each(record);
            }
        })?;
        Ok(sorter.late())
    }
}

/// Leaves a mapping out of processes that are forked. A kernel copies the page tables of such memory with each fork, all
/// of them: for a ring of 16 MiB that takes longer than what most processes of a scenario compute.
pub(crate) fn keep_from_children(mapping: &MmapRaw) -> io::Result<()> {
    mapping.advise(Advice::DontFork)
}

/// One CPU's.
struct Ring {
    /// The page with the reader's position.
    reader: MmapRaw,
    /// The page with the writers' position, and the data.
    writers: MmapRaw,
    page_bytes: usize,
    data_bytes: u64,
    /// Where the reader is.
    at: u64,
}

impl Ring {
    fn new(map: &MapHandle, data_bytes: u32, page_bytes: usize) -> io::Result<Ring> {
        let data_bytes = u64::from(data_bytes);
        let fd = map.as_fd().as_raw_fd();
        let reader = MmapOptions::new().len(page_bytes).map_raw(fd)?;
        let (from, length) = (page_bytes as u64, page_bytes + 2 * data_bytes as usize);
        let writers = MmapOptions::new().offset(from).len(length).map_raw_read_only(fd)?;
        keep_from_children(&reader)?;
        keep_from_children(&writers)?;
        Ok(Ring { reader, writers, page_bytes, data_bytes, at: 0 })
    }

    /// Moves records up to `end`, or to the first one that is still being written.
    fn relieve(&mut self, end: u64, to: &mut Backlog) -> io::Result<()> {
        while self.at < end {
            let upto = self.whole(end.min(self.at + TELL_BYTES));
            if upto == self.at {
                break;
            }
            // SAFETY: less than the ring's size, from a position that the writers have left behind: it lies within the two
            // mappings of the data. The kernel does not write there until the reader's position is published.
            let records = unsafe { std::slice::from_raw_parts(self.data(self.at), (upto - self.at) as usize) };
            to.put(records)?;
            self.at = upto;
            self.tell();
        }
        Ok(())
    }

    /// The end of the first record that ends at `end` or after it, or the start of one that is still being written.
    fn whole(&self, end: u64) -> u64 {
        let mut at = self.at;
        while at < end {
            // SAFETY: the position is below the writers', so a record begins here. Its first word is written by the kernel
            // while this reads it, the rest before the bit is taken away.
            let word = unsafe { (*self.data(at).cast::<AtomicU32>()).load(Ordering::Acquire) };
            if word & BUSY != 0 {
                break;
            }
            at += bytes_of(word);
        }
        at
    }

    fn data(&self, at: u64) -> *const u8 {
        // SAFETY: within the first of the two mappings of the data.
        unsafe { self.writers.as_ptr().add(self.page_bytes + (at & (self.data_bytes - 1)) as usize) }
    }

    fn written(&self) -> u64 {
        // SAFETY: the page begins with the position, which the kernel changes.
        unsafe { (*self.writers.as_ptr().cast::<AtomicU64>()).load(Ordering::Acquire) }
    }

    fn tell(&self) {
        // SAFETY: the page begins with the position, which only the reader changes.
        unsafe { (*self.reader.as_ptr().cast::<AtomicU64>()).store(self.at, Ordering::Release) }
    }
}

/// The bytes of a record's place, by its first word.
fn bytes_of(word: u32) -> u64 {
    (HEAD_BYTES + u64::from(word & !DISCARDED)).next_multiple_of(8)
}

/// What the program wrote, whether its place was given up, and the records behind it, of bytes that begin with a record.
pub fn next_record(bytes: &[u8]) -> (&[u8], bool, &[u8]) {
    let word = u32::from_ne_bytes(bytes[..4].try_into().expect("four"));
    let (place, rest) = bytes.split_at(bytes_of(word) as usize);
    let length = (word & !DISCARDED) as usize;
    (&place[HEAD_BYTES as usize..][..length], word & DISCARDED != 0, rest)
}

fn edge(maps: &[MapHandle]) -> io::Result<OwnedFd> {
    // SAFETY: plain system calls; the descriptor is owned from here.
    let poll = unsafe {
        let fd = libc::epoll_create1(libc::EPOLL_CLOEXEC);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd)
    };
    for map in maps {
        let mut event = libc::epoll_event { events: (libc::EPOLLIN | libc::EPOLLET) as u32, u64: 0 };
        // SAFETY: as above.
        if unsafe { libc::epoll_ctl(poll.as_raw_fd(), libc::EPOLL_CTL_ADD, map.as_fd().as_raw_fd(), &mut event) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(poll)
}
