//! What a program may take of this machine's memory: as much as its own machine has, and little that others could see.

use crate::process::Errno;

/// Bytes of memory of the machine that a program sees, and the most that it may have for itself.
pub const MEMORY_BYTES: u64 = 8 << 30;
/// The most addresses that it may use: tables for those are memory, too.
pub const ADDRESS_BYTES: u64 = 256 << 30;
/// The most bytes of a file that it writes.
pub const FILE_BYTES: u64 = 64 << 20;
/// The most files and folders that it may make, those in memory included.
const MOST_FILES: u32 = 32;
/// The most bytes that it may map to share them, objects of ours not counted.
const SHARED_BYTES: u64 = 1 << 30;

/// What it has taken.
#[derive(Debug, Default)]
pub struct Allowance {
    files: u32,
    shared_bytes: u64,
}

impl Allowance {
    /// It makes a file or folder.
    pub fn take_file(&mut self) -> Result<(), Errno> {
        if self.files == MOST_FILES {
            return Err(Errno(libc::ENOSPC));
        }
        self.files += 1;
        Ok(())
    }

    /// It maps bytes that others could see.
    pub fn take_shared(&mut self, bytes: u64) -> Result<(), Errno> {
        let taken = self.shared_bytes.checked_add(bytes).filter(|&taken| taken <= SHARED_BYTES);
        self.shared_bytes = taken.ok_or(Errno(libc::ENOMEM))?;
        Ok(())
    }
}

/// What is to be said of a program that failed when it had taken this much memory.
pub fn words(peak_bytes: u64) -> String {
    match peak_bytes > MEMORY_BYTES / 10 * 9 {
        true => format!(" (it had taken {} GiB of memory, all that its machine has)", MEMORY_BYTES >> 30),
        false => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_shared_memory_end() {
        let mut allowance = Allowance::default();
        (0..MOST_FILES).for_each(|_| allowance.take_file().unwrap());
        assert_eq!(allowance.take_file(), Err(Errno(libc::ENOSPC)));
        allowance.take_shared(SHARED_BYTES - 1).unwrap();
        assert_eq!(allowance.take_shared(2), Err(Errno(libc::ENOMEM)));
        assert_eq!(allowance.take_shared(u64::MAX), Err(Errno(libc::ENOMEM)));
        allowance.take_shared(1).unwrap();
    }

    #[test]
    fn only_what_took_nearly_all_is_said_so() {
        assert!(words(MEMORY_BYTES).contains("8 GiB") && words(MEMORY_BYTES / 2).is_empty());
    }
}
