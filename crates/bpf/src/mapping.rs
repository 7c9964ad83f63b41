//! Address space of the host for the memory of a simulation.

use std::io;

use crate::descriptor::BorrowedFd;

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

#[cfg(all(unix, not(miri)))]
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

    /// Puts pages of a file in the place of pages, which are shared with each process that maps the file.
    pub fn share(&self, at: usize, len: usize, file: BorrowedFd, offset: u64) -> io::Result<()> {
        use std::os::fd::AsRawFd;
        assert!(at <= self.len && len <= self.len - at && at.is_multiple_of(4096));
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
        // SAFETY: the range is inside the mapping, which is ours, and there is no reference into it.
        let shared = unsafe {
            let start = self.start.add(at).cast();
            libc::mmap(start, len, protection, flags, file.as_raw_fd(), offset as libc::off_t)
        };
        if shared == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Gives whole pages back to the system, after which they read as zero; false if it keeps them.
    pub fn discard(&self, at: usize, len: usize) -> bool {
        assert!(at <= self.len && len <= self.len - at);
        // SAFETY: the range is inside the mapping, a private anonymous one, in which a page given back reads as zero.
        unsafe { libc::madvise(self.start.add(at).cast(), len, libc::MADV_DONTNEED) == 0 }
    }
}

#[cfg(all(unix, not(miri)))]
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

    pub fn share(&self, _at: usize, _len: usize, _file: BorrowedFd, _offset: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(miri)]
impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: as it was allocated.
        unsafe { std::alloc::dealloc(self.start, Mapping::layout(self.len)) };
    }
}

/// A page takes bytes from the end of its module's memory, where they are zero. They stay until the module is dropped, so
/// that each run has a module of its own.
#[cfg(target_arch = "wasm32")]
impl Mapping {
    pub fn new(len: usize) -> io::Result<Mapping> {
        const PAGE: usize = 64 * 1024;
        match core::arch::wasm32::memory_grow::<0>(len.div_ceil(PAGE)) {
            usize::MAX => Err(io::ErrorKind::OutOfMemory.into()),
            before => Ok(Mapping { start: std::ptr::with_exposed_provenance_mut(before * PAGE), len }),
        }
    }

    pub fn discard(&self, at: usize, len: usize) -> bool {
        assert!(at <= self.len && len <= self.len - at);
        false
    }

    pub fn share(&self, _at: usize, _len: usize, _file: BorrowedFd, _offset: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
