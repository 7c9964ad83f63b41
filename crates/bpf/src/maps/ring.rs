//! Ring buffers: records from the program to its host.
//!
//! A record is taken over the moment it is submitted, as if a reader always kept up. Records are counted; they are only
//! kept when the host asked for them.

use crate::memory::{Access, GuestMemory, MemoryError, PAGE_SIZE, Region};

#[derive(Clone, Debug)]
pub struct Ring {
    base: u64,
    size: u32,
    next: u32,
    /// Reserved and not submitted yet: address and length.
    reserved: Vec<(u64, u32)>,
    /// Records that were submitted.
    pub submitted: u64,
    /// Whether records are kept.
    pub keeps: bool,
    /// Records that were kept.
    pub records: Vec<Vec<u8>>,
}

impl Ring {
    pub fn new(name: &str, size: u32, memory: &GuestMemory) -> Result<Ring, MemoryError> {
        let size = size.max(PAGE_SIZE as u32);
        let region = Region::whole(format!("map {name}"), Access::ReadWrite);
        let base = memory.alloc(u64::from(size), PAGE_SIZE, region)?;
        Ok(Ring { base, size, next: 0, reserved: Vec::new(), submitted: 0, keeps: false, records: Vec::new() })
    }

    /// Bytes of the buffer.
    pub fn size(&self) -> u64 {
        u64::from(self.size)
    }

    /// A place for a record of `len` bytes; `None` when there is none.
    pub fn reserve(&mut self, len: u64) -> Option<u64> {
        let len = u32::try_from(len).ok().filter(|&len| len <= self.size)?;
        let room = len.checked_next_multiple_of(8)?;
        if room > self.size - self.next {
            self.next = 0;
        }
        let (start, end) = (self.base + u64::from(self.next), self.base + u64::from(self.next) + u64::from(room));
        if self.reserved.iter().any(|&(at, len)| at < end && start < at + u64::from(len)) {
            return None;
        }
        self.next += room;
        self.reserved.push((start, len));
        Some(start)
    }

    /// Ends a reservation; false when there is none at the address.
    pub fn finish(&mut self, memory: &GuestMemory, address: u64, submit: bool) -> bool {
        let Some(at) = self.reserved.iter().position(|&(start, _)| start == address) else { return false };
        let (start, len) = self.reserved.swap_remove(at);
        if submit {
            self.submitted += 1;
            if self.keeps {
                let mut record = vec![0; len as usize];
                memory.read_bytes(start, &mut record);
                self.records.push(record);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_counted_and_kept_on_request() {
        let memory = GuestMemory::new().unwrap();
        let mut ring = Ring::new("events", 4096, &memory).unwrap();
        for round in 0..300u64 {
            ring.keeps = round >= 298;
            let at = ring.reserve(24).unwrap();
            memory.write(at, round);
            assert!(ring.finish(&memory, at, round != 299));
            assert!(!ring.finish(&memory, at, true));
        }
        assert_eq!(ring.submitted, 299);
        assert_eq!(ring.records.len(), 1);
        assert_eq!(ring.records[0][..2], [42, 1]);
        assert_eq!(ring.reserve(5000), None);
        let held = ring.reserve(4096).unwrap();
        assert_eq!(ring.reserve(8), None);
        assert!(ring.finish(&memory, held, false));
    }
}
