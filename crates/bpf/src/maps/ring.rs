//! Ring buffers: records from the program to its host.
//!
//! A record is taken over the moment it is submitted, as if a reader always kept up. Records are counted; they are only
//! kept when the host asked for them.

use std::collections::BTreeMap;

use crate::memory::{Access, GuestMemory, MemoryError, PAGE_SIZE, Region};

/// What the kernel keeps before each record, which takes room too.
const HEADER: u32 = 8;
/// What the host keeps about a record.
const BYTES_KEPT: u64 = 64;

#[derive(Clone, Debug)]
pub struct Ring {
    base: u64,
    size: u32,
    next: u32,
    /// Reserved and not submitted yet: length by the address of the header.
    reserved: BTreeMap<u64, u32>,
    /// Records that were submitted.
    pub submitted: u64,
    /// Whether records are kept.
    pub keeps: bool,
    /// Records that were kept.
    records: Vec<Vec<u8>>,
}

impl Ring {
    pub fn new(name: &str, size: u32, memory: &GuestMemory) -> Result<Ring, MemoryError> {
        let size = size.max(PAGE_SIZE as u32);
        let region = Region::whole(format!("map {name}"), Access::ReadWrite);
        memory.charge(&format!("map {name}"), u64::from(size))?;
        let base = memory.alloc(u64::from(size), PAGE_SIZE, region)?;
        Ok(Ring { base, size, next: 0, reserved: BTreeMap::new(), submitted: 0, keeps: false, records: Vec::new() })
    }

    /// Bytes of the buffer.
    pub fn size(&self) -> u64 {
        u64::from(self.size)
    }

    /// A place for a record of `len` bytes; `None` when there is none.
    pub fn reserve(&mut self, len: u64) -> Option<u64> {
        let len = u32::try_from(len).ok().filter(|&len| len <= self.size - HEADER)?;
        let room = len.checked_next_multiple_of(8)?.checked_add(HEADER).filter(|&room| room <= self.size)?;
        let next = if room > self.size - self.next { 0 } else { self.next };
        let (start, end) = (self.base + u64::from(next), self.base + u64::from(next) + u64::from(room));
        // Only the last one that begins before the end can reach over the start.
        let before = self.reserved.range(..end).next_back();
        if before.is_some_and(|(&at, &len)| start < at + u64::from(HEADER) + u64::from(len)) {
            return None;
        }
        self.next = next + room;
        self.reserved.insert(start, len);
        Some(start + u64::from(HEADER))
    }

    /// Ends a reservation; false when there is none at the address.
    pub fn finish(&mut self, memory: &GuestMemory, address: u64, submit: bool) -> Result<bool, MemoryError> {
        let header = address.wrapping_sub(u64::from(HEADER));
        let Some(len) = self.reserved.remove(&header) else { return Ok(false) };
        if submit {
            self.submitted += 1;
            if self.keeps {
                memory.charge("records of ring buffers", u64::from(len) + BYTES_KEPT)?;
                let mut record = vec![0; len as usize];
                memory.read_bytes(address, &mut record);
                self.records.push(record);
            }
        }
        Ok(true)
    }

    /// The records that were kept since the last time.
    pub fn take_records(&mut self, memory: &GuestMemory) -> Vec<Vec<u8>> {
        memory.refund(self.records.iter().map(|record| record.len() as u64 + BYTES_KEPT).sum());
        std::mem::take(&mut self.records)
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
            assert!(ring.finish(&memory, at, round != 299).unwrap());
            assert!(!ring.finish(&memory, at, true).unwrap());
        }
        assert_eq!(ring.submitted, 299);
        let records = ring.take_records(&memory);
        assert_eq!((records.len(), &records[0][..2]), (1, &[42, 1][..]));
        assert_eq!((ring.reserve(4089), ring.reserve(u64::MAX)), (None, None));
        let held = ring.reserve(4088).unwrap();
        assert_eq!((ring.reserve(8), ring.reserve(0)), (None, None));
        assert!(ring.finish(&memory, held, false).unwrap());
        let empty = std::iter::from_fn(|| ring.reserve(0)).count();
        assert_eq!(empty, 512, "an empty record takes room too");
    }
}
