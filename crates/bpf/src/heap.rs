//! Objects that a program makes for itself (`bpf_obj_new`), with counted references, and the collections that hold
//! them: lists and trees.

use std::collections::{BTreeMap, VecDeque};

use crate::memory::{Content, GuestMemory, MemoryError};
use crate::pool::Pool;

/// What the host keeps about an object, and its place in a collection.
const BYTES_KEPT: u64 = 192;

/// An object that is alive.
#[derive(Clone, Copy, Debug)]
struct Object {
    /// Number of its type.
    ty: u64,
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
    /// The tree whose order a callback is asked for: nothing may change meanwhile.
    pub(crate) comparing: bool,
}

impl Heap {
    /// Makes an object of a type of `size` bytes, once for each of `cpus` if given. `None`: there is no room.
    pub fn create(&mut self, memory: &GuestMemory, ty: u64, size: u32, cpus: Option<u32>) -> Result<u64, MemoryError> {
        let stride = size.checked_next_multiple_of(8).unwrap_or(u32::MAX - 7);
        let total = stride.saturating_mul(cpus.unwrap_or(1));
        let pool = self
            .pools
            .entry(total)
            .or_insert_with(|| Pool::new(format!("objects of {size} bytes"), total, Content::Objects));
        memory.charge("what the program makes", BYTES_KEPT)?;
        let address = pool.take(memory).inspect_err(|_| memory.refund(BYTES_KEPT))?;
        let cpu_stride = if cpus.is_some() { stride } else { 0 };
        self.live.insert(address, Object { ty, size: total, cpu_stride, references: 1 });
        Ok(address)
    }

    /// The type of the object that begins at an address.
    pub fn type_of(&self, address: u64) -> Option<u64> {
        self.live.get(&address).map(|object| object.ty)
    }

    /// Counts another reference; false when there is no such object.
    pub fn acquire(&mut self, address: u64) -> bool {
        let object = self.live.get_mut(&address);
        object.map(|object| object.references += 1).is_some()
    }

    /// Drops a reference, and the object with the last one: then gives its address and bytes.
    pub fn release(&mut self, memory: &GuestMemory, address: u64) -> Option<(u64, u64)> {
        let object = self.live.get_mut(&address)?;
        object.references -= 1;
        if object.references > 0 {
            return None;
        }
        let size = object.size;
        self.live.remove(&address);
        memory.refund(BYTES_KEPT);
        if let Some(pool) = self.pools.get_mut(&size) {
            pool.give(memory, address);
        }
        Some((address, u64::from(size)))
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

    /// Whether a node is in a collection.
    pub fn is_member(&self, node: u64) -> bool {
        self.member_of.contains_key(&node)
    }

    /// Puts a node into a collection at a position; false when it is in one already.
    pub fn insert(&mut self, head: u64, position: usize, node: u64) -> bool {
        if self.is_member(node) {
            return false;
        }
        let members = self.collections.entry(head).or_default();
        let position = position.min(members.len());
        members.insert(position, node);
        self.member_of.insert(node, head);
        true
    }

    /// Takes the node at a position out.
    pub fn take(&mut self, head: u64, position: usize) -> Option<u64> {
        let members = self.collections.get_mut(&head)?;
        let node = members.remove(position)?;
        if members.is_empty() {
            self.collections.remove(&head);
        }
        self.member_of.remove(&node);
        Some(node)
    }

    /// The position of a node in a collection.
    pub fn position(&self, head: u64, node: u64) -> Option<usize> {
        self.member_of.get(&node).filter(|of| **of == head)?;
        self.members(head)?.iter().position(|&member| member == node)
    }

    /// Takes apart the collections whose heads are in `len` bytes, which are gone; gives the objects that were in them.
    pub fn drop_collections(&mut self, address: u64, len: u64) -> Vec<u64> {
        let heads: Vec<u64> = self.collections.range(address..address + len).map(|(&head, _)| head).collect();
        let members: Vec<u64> = heads.iter().filter_map(|head| self.collections.remove(head)).flatten().collect();
        members.iter().for_each(|node| _ = self.member_of.remove(node));
        members.into_iter().filter_map(|node| Some(*self.live.range(..=node).next_back()?.0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_reference_frees() {
        let memory = GuestMemory::new().unwrap();
        let mut heap = Heap::default();
        let a = heap.create(&memory, 5, 24, None).unwrap();
        memory.write(a, 5u64);
        assert!(heap.acquire(a));
        assert_eq!((heap.type_of(a), heap.type_of(a + 8)), (Some(5), None));
        assert_eq!([heap.release(&memory, a), heap.release(&memory, a)], [None, Some((a, 24))]);
        assert_eq!((heap.release(&memory, a), heap.type_of(a)), (None, None));
        let again = heap.create(&memory, 5, 24, None).unwrap();
        assert_eq!((again, memory.read::<u64>(again)), (a, 0));
        let per_cpu = heap.create(&memory, 6, 10, Some(4)).unwrap();
        assert_eq!(heap.cpu_stride(per_cpu + 8), Some(16));
        assert_eq!(heap.cpu_stride(a), None);
    }

    #[test]
    fn a_node_is_in_one_collection() {
        let mut heap = Heap::default();
        assert!(heap.insert(1, 0, 100) && heap.insert(1, 9, 101) && heap.insert(1, 0, 99));
        assert!(!heap.insert(2, 0, 100));
        assert_eq!((heap.position(2, 100), heap.position(1, 100)), (None, Some(1)));
        assert_eq!(heap.take(1, 1), Some(100));
        assert_eq!(heap.members(1).unwrap(), &[99, 101]);
        assert_eq!(heap.take(1, 0), Some(99));
        heap.drop_collections(0, 8);
        assert!(heap.members(1).is_none() && !heap.is_member(101));
    }
}
