//! Address space of the host for the memory of a simulation.

use std::io;

/// Zeroed bytes of the host that are taken from the system as they are touched.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: *mut u8,
    len: usize,
}

impl Mapping {
    /// Where it begins.
    pub fn start(&self) -> *mut u8 {
        self.start
    }
}

#[cfg(not(miri))]
impl Mapping {
    /// Reserves the bytes.
    pub fn new(len: usize) -> io::Result<Mapping> {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
        // SAFETY: an anonymous mapping at an address of the kernel's choice disturbs nothing.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, -1, 0) };
        match start == libc::MAP_FAILED {
            true => Err(io::Error::last_os_error()),
            false => Ok(Mapping { start: start.cast(), len }),
        }
    }

    /// Gives whole pages back to the system, after which they read as zero; false if it keeps them.
    pub fn discard(&self, at: usize, len: usize) -> bool {
        assert!(at <= self.len && len <= self.len - at);
        // SAFETY: the range is inside the mapping, a private anonymous one, in which a page given back reads as zero.
        unsafe { libc::madvise(self.start.add(at).cast(), len, libc::MADV_DONTNEED) == 0 }
    }
}

#[cfg(not(miri))]
impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `new`, and the callers keep this promise.
        unsafe { libc::munmap(self.start.cast(), self.len) };
    }
}

/// Miri maps nothing: the same from an allocator.
#[cfg(miri)]
impl Mapping {
    fn layout(len: usize) -> std::alloc::Layout {
        std::alloc::Layout::from_size_align(len, 4096).expect("a length of ours")
    }

    pub fn new(len: usize) -> io::Result<Mapping> {
        // SAFETY: the length is not zero.
        Ok(Mapping { start: unsafe { std::alloc::alloc_zeroed(Mapping::layout(len)) }, len })
    }

    pub fn discard(&self, _at: usize, _len: usize) -> bool {
        false
    }
}

#[cfg(miri)]
impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: as it was allocated.
        unsafe { std::alloc::dealloc(self.start, Mapping::layout(self.len)) };
    }
}
