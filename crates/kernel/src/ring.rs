//! The reader's end of the ring buffers, of which each CPU has one.
//!
//! The form of one is the kernel's (`kernel/bpf/ringbuf.c`): a page with the reader's position, a page with the writers', then
//! the data, mapped twice in a row so that no record is cut at the end. A record is a word with its length and two bits,
//! a word of the kernel's, and what the program wrote, up to a multiple of eight bytes. libbpf's own reader tells the
//! kernel its position after each record, and each time takes a cache line away from the CPUs that write; this one tells
//! it now and then.

use crate::order::Sorter;
use crate::wire;
use libbpf_rs::MapHandle;
use memmap2::{MmapOptions, MmapRaw};
use schedlab_record::Record;
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
/// The kernel hears of the reader's position after so many bytes, a part of the smallest useful ring.
const TELL_BYTES: u64 = 32 << 10;
/// Read of each ring at once to make place: several times what is written between two calls for it.
const RELIEF_BYTES: u64 = 64 << 10;

/// Reads records and puts them in order.
pub struct Rings {
    rings: Vec<Ring>,
    inbox: Vec<Record>,
    sorter: Sorter,
    /// Becomes ready once for each time the programs wake the reader, and not as long as anything waits to be read.
    woken: OwnedFd,
}

impl Rings {
    /// Of these maps, whose data have so many bytes each, a power of two.
    pub fn new(maps: &[MapHandle], data_bytes: u32, page_bytes: usize) -> io::Result<Rings> {
        let rings = maps.iter().map(|map| Ring::new(map, data_bytes, page_bytes)).collect::<io::Result<_>>()?;
        Ok(Rings { rings, inbox: Vec::new(), sorter: Sorter::default(), woken: edge(maps)? })
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

    /// Reads a part of what is there, to be handed on later.
    pub fn relieve(&mut self) {
        for ring in &mut self.rings {
            let end = ring.written().min(ring.at + RELIEF_BYTES);
            ring.read(end, &mut self.inbox);
        }
        self.sorter.append(&mut self.inbox);
    }

    /// Adds a record that did not come through a ring.
    pub fn add(&mut self, record: Record) {
        self.sorter.append(&mut vec![record]);
    }

    /// Reads what is there and hands on what nothing can precede any more, and nothing of `until_ns` or later. Returns
    /// whether everything that was written before the call has been read.
    pub fn drain(&mut self, until_ns: u64, each: &mut impl FnMut(Record)) -> bool {
        let now_ns = monotonic_ns();
        let ends: Vec<u64> = self.rings.iter().map(Ring::written).collect();
        let mut complete = true;
        for (ring, end) in self.rings.iter_mut().zip(ends) {
            complete &= ring.read(end, &mut self.inbox);
        }
        self.sorter.append(&mut self.inbox);
        if complete {
            self.sorter.release(now_ns.min(until_ns), each);
        }
        complete
    }

    /// See [`Sorter::late`].
    pub fn late(&self) -> u64 {
        self.sorter.late()
    }
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
        Ok(Ring { reader, writers, page_bytes, data_bytes, at: 0 })
    }

    /// Reads up to `end`; false if a record before it is not whole yet, which holds up the ones behind it.
    fn read(&mut self, end: u64, inbox: &mut Vec<Record>) -> bool {
        let mut told = self.at;
        while self.at < end {
            let Some((bytes, discarded)) = self.next() else { break };
            if !discarded {
                inbox.push(wire::decode(bytes).expect("the programs write what this reads"));
            }
            if self.at - told >= TELL_BYTES {
                self.tell();
                told = self.at;
            }
        }
        if self.at != told {
            self.tell();
        }
        self.at >= end
    }

    /// The bytes of the next record, and whether its place was given up; none while it is being written.
    fn next(&mut self) -> Option<(&'static [u8], bool)> {
        let offset = self.page_bytes + (self.at & (self.data_bytes - 1)) as usize;
        // SAFETY: the position is below the writers', so a record begins here; it lies within the two mappings of the
        // data. Its first word is written by the kernel while this reads it, the rest before the bit is taken away. The
        // slice is used up before the reader's position is told, until when nobody writes there.
        unsafe {
            let head = self.writers.as_ptr().add(offset);
            let word = (*head.cast::<AtomicU32>()).load(Ordering::Acquire);
            if word & BUSY != 0 {
                return None;
            }
            let length = u64::from(word & !DISCARDED);
            self.at += (HEAD_BYTES + length).next_multiple_of(8);
            let bytes = std::slice::from_raw_parts(head.add(HEAD_BYTES as usize), length as usize);
            Some((bytes, word & DISCARDED != 0))
        }
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

/// The clock that the programs stamp records with.
pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists and there is place for its time.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
