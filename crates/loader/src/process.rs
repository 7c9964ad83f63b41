//! A supervised process from outside: its memory, its descriptors.

use crate::sys;
use libc::pid_t;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The longest path that a call may name.
const PATH_BYTES: usize = 4096;
/// What the name of a file in memory begins with that stands for an object of ours.
const OBJECT: &str = "kernel-object-";

/// An error number as the kernel gives it, positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Errno {
        Errno(error.raw_os_error().unwrap_or(libc::EIO))
    }
}

/// A supervised process: its system calls come to us.
#[derive(Debug)]
pub struct Process {
    pid: pid_t,
    handle: OwnedFd,
}

impl Process {
    pub(crate) fn new(pid: pid_t, handle: OwnedFd) -> Process {
        Process { pid, handle }
    }

    pub(crate) fn pid(&self) -> pid_t {
        self.pid
    }

    /// Fills `bytes` from its memory.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        let len = bytes.len();
        match sys::read_memory(self.pid, address, bytes) {
            Ok(read) if read == len => Ok(()),
            _ => Err(Errno(libc::EFAULT)),
        }
    }

    /// As [`read`](Self::read), `len` bytes.
    pub fn read_vec(&self, address: u64, len: usize) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; len];
        self.read(address, &mut bytes)?;
        Ok(bytes)
    }

    /// Writes into its memory.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Errno> {
        match sys::write_memory(self.pid, address, bytes) {
            Ok(written) if written == bytes.len() => Ok(()),
            _ => Err(Errno(libc::EFAULT)),
        }
    }

    /// Two words of its memory: a `timespec`, a `timeval`, an `iovec`.
    pub(crate) fn read_pair(&self, address: u64) -> Result<[u64; 2], Errno> {
        let mut bytes = [0; 16];
        self.read(address, &mut bytes)?;
        let (first, second) = bytes.split_at(8);
        let word = |part: &[u8]| u64::from_le_bytes(part.try_into().expect("eight bytes"));
        Ok([word(first), word(second)])
    }

    /// A text with a zero at its end.
    pub fn read_text(&self, address: u64, most: usize) -> Result<Vec<u8>, Errno> {
        let mut text = Vec::new();
        while text.len() < most {
            let at = address.wrapping_add(text.len() as u64);
            // Not over the end of a page: the next one may not be there.
            let len = (4096 - (at % 4096) as usize).min(most - text.len());
            let part = self.read_vec(at, len)?;
            if let Some(end) = part.iter().position(|&byte| byte == 0) {
                text.extend_from_slice(&part[..end]);
                return Ok(text);
            }
            text.extend(part);
        }
        Err(Errno(libc::ENAMETOOLONG))
    }

    pub(crate) fn read_path(&self, address: u64) -> Result<PathBuf, Errno> {
        let text = self.read_text(address, PATH_BYTES)?;
        Ok(PathBuf::from(std::ffi::OsStr::from_bytes(&text)))
    }

    /// A copy of one of its descriptors.
    pub(crate) fn descriptor(&self, fd: RawFd) -> Result<OwnedFd, Errno> {
        Ok(sys::pidfd_getfd(self.handle.as_fd(), fd)?)
    }

    /// What a descriptor of it leads to, as the kernel names it.
    pub(crate) fn link(&self, fd: RawFd) -> Result<PathBuf, Errno> {
        std::fs::read_link(format!("/proc/{}/fd/{fd}", self.pid)).map_err(|_| Errno(libc::EBADF))
    }

    /// The number of the object of ours behind a descriptor. Its number says nothing: programs move descriptors about.
    pub fn object(&self, fd: RawFd) -> Option<u32> {
        object_of(&self.link(fd).ok()?)
    }

    /// The CPU time that it has taken, in the host's units of 10 ms.
    pub(crate) fn cpu_time(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        // Behind its name, which may hold anything, come the state and 10 numbers before these two.
        let behind = text.rsplit_once(')').map_or("", |(_, behind)| behind);
        behind.split_whitespace().skip(11).take(2).filter_map(|number| number.parse::<u64>().ok()).sum()
    }

    /// Whether a thread sleeps in the host's kernel, or is stopped, as by SIGSTOP.
    pub(crate) fn is_asleep(&self, tid: pid_t) -> bool {
        self.state_of(tid).is_some_and(|state| "STt".contains(state))
    }

    /// Whether a thread has ended, though it may still be counted.
    pub(crate) fn is_over(&self, tid: pid_t) -> bool {
        self.state_of(tid).is_none_or(|state| "ZX".contains(state))
    }

    /// The letter of a thread's state; none where there is no such thread.
    fn state_of(&self, tid: pid_t) -> Option<char> {
        let text = std::fs::read_to_string(format!("/proc/{}/task/{tid}/stat", self.pid)).ok()?;
        text.rsplit_once(')')?.1.trim_start().chars().next()
    }

    /// The threads that it has now, by the host's numbers.
    pub(crate) fn threads(&self) -> Vec<pid_t> {
        let Ok(entries) = std::fs::read_dir(format!("/proc/{}/task", self.pid)) else { return Vec::new() };
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
    }
}

/// A file in memory of this many bytes that stands for an object.
///
/// # Errors
///
/// The host has no room.
pub fn object_file(object: u32, len: u64) -> io::Result<OwnedFd> {
    sys::object_file(&object_name(object), len)
}

/// The name of the file that stands for an object.
pub(crate) fn object_name(object: u32) -> CString {
    CString::new(format!("{OBJECT}{object}")).expect("no zero in it")
}

fn object_of(link: &Path) -> Option<u32> {
    let rest = link.to_str()?.strip_prefix("/memfd:")?.strip_prefix(OBJECT)?;
    rest.strip_suffix(" (deleted)").unwrap_or(rest).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_known_by_the_name_of_their_file() {
        assert_eq!(object_of(Path::new("/memfd:kernel-object-17 (deleted)")), Some(17));
        assert_eq!(object_of(Path::new("/memfd:other-17 (deleted)")), None);
        assert_eq!(object_of(Path::new("pipe:[4]")), None);
    }
}
