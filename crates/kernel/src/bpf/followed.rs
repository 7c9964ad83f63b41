//! The processes that the programs follow.

use super::ring::keep_from_children;
use libbpf_rs::{MapCore, Object};
use memmap2::{MmapOptions, MmapRaw};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicU8, Ordering};

/// As in bpf/recorder.bpf.c: more processes there cannot be.
const PROCESSES: usize = 1 << 22;

/// The programs' marks, one byte for each process, which they and this change as they like.
pub struct Followed {
    marks: MmapRaw,
}

impl Followed {
    /// Of the loaded programs.
    pub fn of(object: &Object) -> libbpf_rs::Result<Followed> {
        let map = object.maps().find(|map| map.name().to_string_lossy().ends_with(".bss"));
        let map = map.ok_or_else(|| libbpf_rs::Error::from_raw_os_error(libc::ENOENT))?;
        let marks = MmapOptions::new().len(PROCESSES).map_raw(map.as_fd().as_raw_fd())?;
        keep_from_children(&marks)?;
        Ok(Followed { marks })
    }

    /// Follows one more.
    pub fn add(&mut self, tgid: i32) {
        let place = tgid as usize % PROCESSES;
        // SAFETY: the index is within the mapping, and others that share it change single bytes.
        unsafe { (*self.marks.as_mut_ptr().add(place).cast::<AtomicU8>()).store(1, Ordering::SeqCst) };
    }
}
