//! The reader's end of the ring buffer.

use crate::order::Sorter;
use crate::wire;
use libbpf_rs::{AsRawLibbpf, MapCore, RingBuffer, RingBufferBuilder};
use schedlab_record::Record;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Reads records and puts them in order.
pub struct Ring {
    buffer: RingBuffer<'static>,
    inbox: Arc<Mutex<Vec<Record>>>,
    sorter: Sorter,
    woken: OwnedFd,
}

impl Ring {
    /// Of the map `map`.
    pub fn new(map: &dyn MapCore) -> libbpf_rs::Result<Ring> {
        let inbox = Arc::new(Mutex::new(Vec::new()));
        let writer = Arc::clone(&inbox);
        let mut builder = RingBufferBuilder::new();
        builder.add(map, move |bytes| {
            let record = wire::decode(bytes).expect("the programs write what this reads");
            writer.lock().unwrap_or_else(PoisonError::into_inner).push(record);
            0
        })?;
        let buffer = builder.build()?;
        Ok(Ring { buffer, inbox, sorter: Sorter::default(), woken: edge(map)? })
    }

    /// Waits until the programs wake the reader or the time is over.
    pub fn wait(&self, timeout: Duration) {
        let milliseconds = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: one event is asked for and there is place for one.
        unsafe { libc::epoll_wait(self.woken.as_raw_fd(), &mut event, 1, milliseconds) };
    }

    /// Adds a record that did not come through the ring.
    pub fn add(&mut self, record: Record) {
        self.sorter.append(&mut vec![record]);
    }

    /// Reads what is there and hands on what nothing can precede any more, and nothing of `until_ns` or later. Returns
    /// whether everything that was written before the call has been read.
    pub fn drain(&mut self, until_ns: u64, each: &mut impl FnMut(Record)) -> bool {
        let now_ns = monotonic_ns();
        let end = self.written();
        self.buffer.consume_raw();
        self.sorter.append(&mut self.inbox.lock().unwrap_or_else(PoisonError::into_inner));
        // A record that is being written holds up the ones behind it, whose times are not known yet.
        let complete = self.read() >= end;
        if complete {
            self.sorter.release(now_ns.min(until_ns), each);
        }
        complete
    }

    /// See [`Sorter::late`].
    pub fn late(&self) -> u64 {
        self.sorter.late()
    }

    fn written(&self) -> u64 {
        // SAFETY: the buffer lives, and it has a ring of number 0.
        unsafe { libbpf_sys::ring__producer_pos(self.ring()) }
    }

    fn read(&self) -> u64 {
        // SAFETY: as above.
        unsafe { libbpf_sys::ring__consumer_pos(self.ring()) }
    }

    fn ring(&self) -> *const libbpf_sys::ring {
        // SAFETY: the pointer is that of a buffer that lives.
        unsafe { libbpf_sys::ring_buffer__ring(self.buffer.as_libbpf_object().as_ptr(), 0) }
    }
}

/// What becomes ready once for each time the programs wake the reader, and not as long as anything waits to be read.
fn edge(map: &dyn MapCore) -> io::Result<OwnedFd> {
    // SAFETY: plain system calls; the descriptor is owned from here.
    unsafe {
        let fd = libc::epoll_create1(libc::EPOLL_CLOEXEC);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        let poll = OwnedFd::from_raw_fd(fd);
        let mut event = libc::epoll_event { events: (libc::EPOLLIN | libc::EPOLLET) as u32, u64: 0 };
        if libc::epoll_ctl(fd, libc::EPOLL_CTL_ADD, map.as_fd().as_raw_fd(), &mut event) < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(poll)
    }
}

/// The clock that the programs stamp records with.
pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists and there is place for its time.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
