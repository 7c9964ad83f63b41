//! Equal objects in guest memory that come and go: values of storage maps, objects of `bpf_obj_new`.

use crate::memory::{Access, Content, GuestMemory, MemoryError, PAGE_SIZE, Region};

/// Bytes of the largest piece that a pool takes from guest memory at once.
const CHUNK_SIZE_MAX: u64 = 256 * 1024;

/// A pool of objects of one size, which a policy can make grow. Objects are handed out zeroed, the one returned last
/// first.
#[derive(Clone, Debug)]
pub struct Pool {
    name: String,
    content: Content,
    size: u32,
    stride: u32,
    free: Vec<u32>,
    next: u64,
    end: u64,
    chunk_size: u64,
}

impl Pool {
    /// A pool of objects of `size` bytes, aligned to 8.
    pub(crate) fn new(name: impl Into<String>, size: u32, content: Content) -> Pool {
        let stride = size.max(1).checked_next_multiple_of(8).unwrap_or(u32::MAX - 7);
        Pool { name: name.into(), content, size, stride, free: Vec::new(), next: 0, end: 0, chunk_size: PAGE_SIZE }
    }

    /// Hands an object out.
    pub fn take(&mut self, memory: &GuestMemory) -> Result<u64, MemoryError> {
        if let Some(address) = self.free.pop() {
            return Ok(u64::from(address));
        }
        if self.next == self.end {
            let stride = u64::from(self.stride);
            let len = (self.chunk_size / stride).max(1) * stride;
            let region = Region::array(self.name.clone(), self.stride, self.size, Access::ReadWrite).with(self.content);
            memory.charge(&self.name, len)?;
            self.next = memory.alloc(len, 8, region)?;
            self.end = self.next + len;
            self.chunk_size = (self.chunk_size * 2).min(CHUNK_SIZE_MAX);
        }
        let address = self.next;
        self.next += u64::from(self.stride);
        Ok(address)
    }

    /// Takes an object back and clears it.
    pub fn give(&mut self, memory: &GuestMemory, address: u64) {
        memory.zero(address, self.size as usize);
        self.free.push(address as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_come_back_cleared() {
        let memory = GuestMemory::new().unwrap();
        let mut pool = Pool::new("thing", 20, Content::Other);
        let (a, b) = (pool.take(&memory).unwrap(), pool.take(&memory).unwrap());
        assert_eq!(b - a, 24);
        assert!(memory.writable(b, 20) && !memory.writable(b, 24));
        memory.write(b, 7u64);
        pool.give(&memory, b);
        assert_eq!(pool.take(&memory).unwrap(), b);
        assert_eq!(memory.read::<u64>(b), 0);
        for _ in 0..1000 {
            pool.take(&memory).unwrap();
        }
    }
}
