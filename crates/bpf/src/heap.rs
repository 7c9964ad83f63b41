//! Objects that a program makes for itself (`bpf_obj_new`), with counted references, and the collections that hold
//! them: lists and trees.

use std::collections::{BTreeMap, VecDeque};

use crate::memory::{GuestMemory, MemoryError};
use crate::pool::Pool;

/// An object that is alive.
#[derive(Clone, Copy, Debug)]
struct Object {
    /// Bytes as asked for.
    size: u32,
    /// Bytes from a CPU's copy to the next; 0 when there is one copy.
    cpu_stride: u32,
    references: u32,
}

/// All objects of a program.
#[derive(Clone, Debug, Default)]
pub struct Heap {
    pools: BTreeMap<u32, Pool>,
    live: BTreeMap<u64, Object>,
    /// Members of each list (in order) and tree (ascending), by the address of its head.
    collections: BTreeMap<u64, VecDeque<u64>>,
    /// The head of the collection that each node is in.
    member_of: BTreeMap<u64, u64>,
}

impl Heap {
    /// Makes an object of `size` bytes, once for each of `cpus` if given.
    pub fn create(&mut self, memory: &GuestMemory, size: u32, cpus: Option<u32>) -> Result<u64, MemoryError> {
        let stride = size.checked_next_multiple_of(8).unwrap_or(u32::MAX - 7);
        let total = stride.saturating_mul(cpus.unwrap_or(1));
        let pool = self.pools.entry(total).or_insert_with(|| Pool::new(format!("objects of {size} bytes"), total));
        let address = pool.take(memory)?;
        let cpu_stride = if cpus.is_some() { stride } else { 0 };
        self.live.insert(address, Object { size: total, cpu_stride, references: 1 });
        Ok(address)
    }

    /// Counts another reference; false when there is no such object.
    pub fn acquire(&mut self, address: u64) -> bool {
        let object = self.live.get_mut(&address);
        object.map(|object| object.references += 1).is_some()
    }

    /// Drops a reference, and the object with the last one; false when there is no such object.
    pub fn release(&mut self, memory: &GuestMemory, address: u64) -> bool {
        let Some(object) = self.live.get_mut(&address) else { return false };
        object.references -= 1;
        if object.references == 0 {
            let size = object.size;
            self.live.remove(&address);
            if let Some(pool) = self.pools.get_mut(&size) {
                pool.give(memory, address);
            }
        }
        true
    }

    /// Bytes between the copies of the per-CPU object that `address` is in, for CPU 0.
    pub fn cpu_stride(&self, address: u64) -> Option<u32> {
        let (&start, object) = self.live.range(..=address).next_back()?;
        (address < start + u64::from(object.cpu_stride)).then_some(object.cpu_stride)
    }

    /// The members of a collection.
    pub fn members(&self, head: u64) -> Option<&VecDeque<u64>> {
        self.collections.get(&head)
    }

    /// Puts a node into a collection at a position; false when it is in one already.
    pub fn insert(&mut self, head: u64, position: usize, node: u64) -> bool {
        if self.member_of.contains_key(&node) {
            return false;
        }
        self.member_of.insert(node, head);
        self.collections.entry(head).or_default().insert(position, node);
        true
    }

    /// Takes the node at a position out.
    pub fn take(&mut self, head: u64, position: usize) -> Option<u64> {
        let node = self.collections.get_mut(&head)?.remove(position)?;
        self.member_of.remove(&node);
        Some(node)
    }

    /// Takes a node out of a collection; false when it is not in it.
    pub fn remove(&mut self, head: u64, node: u64) -> bool {
        if self.member_of.get(&node) != Some(&head) {
            return false;
        }
        let position =
            self.collections.get(&head).and_then(|members| members.iter().position(|&member| member == node));
        position.and_then(|position| self.take(head, position)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_reference_frees() {
        let memory = GuestMemory::new().unwrap();
        let mut heap = Heap::default();
        let a = heap.create(&memory, 24, None).unwrap();
        memory.write(a, 5u64);
        assert!(heap.acquire(a) && heap.release(&memory, a) && heap.release(&memory, a));
        assert!(!heap.release(&memory, a));
        let again = heap.create(&memory, 24, None).unwrap();
        assert_eq!((again, memory.read::<u64>(again)), (a, 0));
        let per_cpu = heap.create(&memory, 10, Some(4)).unwrap();
        assert_eq!(heap.cpu_stride(per_cpu + 8), Some(16));
        assert_eq!(heap.cpu_stride(a), None);
    }

    #[test]
    fn a_node_is_in_one_collection() {
        let mut heap = Heap::default();
        assert!(heap.insert(1, 0, 100) && heap.insert(1, 1, 101) && heap.insert(1, 0, 99));
        assert!(!heap.insert(2, 0, 100));
        assert!(!heap.remove(2, 100) && heap.remove(1, 100));
        assert_eq!(heap.members(1).unwrap(), &[99, 101]);
        assert_eq!(heap.take(1, 0), Some(99));
    }
}
