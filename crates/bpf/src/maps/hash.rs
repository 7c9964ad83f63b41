//! Hash maps, also with a value for each CPU, also forgetting the smallest recently used entry.
//!
//! An element is a key followed by its values, in a slot of guest memory that never moves. Walks go in the order of the
//! slots. The index over them is a hash table on the host's side, whose order shows nowhere: so its hash function has a
//! seed that differs from run to run, and no program can choose keys that meet in one place.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::memory::{Access, Content, GuestMemory, MemoryError, Region};

/// What the host keeps about an element.
const BYTES_KEPT: u64 = 32;
/// No slot.
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub struct Hash {
    base: u64,
    key_size: u32,
    /// Bytes from an element's start to its first value.
    value_offset: u32,
    /// Bytes from a CPU's value to the next; 0 when there is one value.
    cpu_stride: u32,
    cpus: u32,
    stride: u64,
    entries: u32,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// Slots that were used and are free again.
    free: Vec<u32>,
    /// Whether each slot that was ever used is taken.
    taken: Vec<bool>,
    recency: Option<Recency>,
}

impl Hash {
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        name: &str,
        key_size: u32,
        value_size: u32,
        entries: u32,
        cpus: Option<u32>,
        lru: bool,
        content: Content,
        memory: &GuestMemory,
    ) -> Result<Hash, MemoryError> {
        let value_offset = key_size.next_multiple_of(8);
        let value_stride = u64::from(value_size).next_multiple_of(8);
        let stride = u64::from(value_offset) + value_stride.saturating_mul(u64::from(cpus.unwrap_or(1)));
        let element = u32::try_from(stride).unwrap_or(u32::MAX - 7);
        let region =
            Region::array(format!("map {name}"), element, element, Access::WritableFrom(value_offset)).with(content);
        let base = memory.alloc(stride.saturating_mul(u64::from(entries)), 8, region)?;
        Ok(Hash {
            base,
            key_size,
            value_offset,
            cpu_stride: if cpus.is_some() { value_stride as u32 } else { 0 },
            cpus: cpus.unwrap_or(1),
            stride,
            entries,
            index: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            free: Vec::new(),
            taken: Vec::new(),
            recency: lru.then(Recency::default),
        })
    }

    fn key_address(&self, slot: u32) -> u64 {
        self.base + u64::from(slot) * self.stride
    }

    /// The value of a slot on a CPU.
    pub fn value_address(&self, slot: u32, cpu: u32) -> u64 {
        self.key_address(slot) + u64::from(self.value_offset) + u64::from(cpu) * u64::from(self.cpu_stride)
    }

    fn find(&self, memory: &GuestMemory, key: &[u8]) -> Option<u32> {
        debug_assert_eq!(key.len(), self.key_size as usize);
        let found = self.index.find(self.hasher.hash_one(key), |&slot| memory.holds(self.key_address(slot), key));
        found.copied()
    }

    /// The slot of a key.
    pub fn slot_of(&self, memory: &GuestMemory, key: &[u8]) -> Option<u32> {
        self.find(memory, key)
    }

    /// Guest address of a key's value on a CPU.
    pub fn lookup(&mut self, memory: &GuestMemory, key: &[u8], cpu: u32) -> Option<u64> {
        let slot = self.find(memory, key).filter(|_| self.cpu_stride == 0 || cpu < self.cpus)?;
        if let Some(recency) = &mut self.recency {
            recency.touch(slot);
        }
        Some(self.value_address(slot, cpu))
    }

    /// Puts a key that is not there into a slot that is free, and gives the address of its value, zeroed.
    pub fn fill(&mut self, memory: &GuestMemory, slot: u32, key: &[u8], cpu: u32) -> u64 {
        let (at, len) = (self.key_address(slot), self.key_size as usize);
        memory.zero(at, self.stride as usize);
        memory.write_bytes(at, key);
        let (base, stride, hasher) = (self.base, self.stride, &self.hasher);
        let of_slot = |slot: &u32| memory.hash(base + u64::from(*slot) * stride, len, hasher);
        self.index.insert_unique(hasher.hash_one(key), slot, of_slot);
        self.taken[slot as usize] = true;
        if let Some(recency) = &mut self.recency {
            recency.push(slot);
        }
        self.value_address(slot, cpu)
    }

    /// A slot for a key that is not there, that of the smallest recently used one if need be; `None` when the map is full.
    pub fn free_slot(&mut self, memory: &GuestMemory) -> Result<Option<u32>, MemoryError> {
        if let Some(slot) = self.free.pop() {
            return Ok(Some(slot));
        }
        if self.taken.len() < self.entries as usize {
            memory.charge("hash maps", self.stride + BYTES_KEPT)?;
            self.taken.push(false);
            return Ok(Some(self.taken.len() as u32 - 1));
        }
        let Some(oldest) = self.recency.as_ref().and_then(Recency::oldest) else { return Ok(None) };
        self.remove_slot(memory, oldest);
        Ok(self.free.pop())
    }

    fn remove_slot(&mut self, memory: &GuestMemory, slot: u32) {
        let hash = memory.hash(self.key_address(slot), self.key_size as usize, &self.hasher);
        if let Ok(entry) = self.index.find_entry(hash, |&other| other == slot) {
            entry.remove();
            self.taken[slot as usize] = false;
            self.free.push(slot);
        }
        if let Some(recency) = &mut self.recency {
            recency.unlink(slot);
        }
    }

    /// Removes a key; gives the address of its first value, which keeps its content until the slot is used again.
    pub fn remove(&mut self, memory: &GuestMemory, key: &[u8]) -> Option<u64> {
        let slot = self.find(memory, key)?;
        self.remove_slot(memory, slot);
        Some(self.value_address(slot, 0))
    }

    /// The first element at or behind a slot: slot, address of the key, address of a CPU's value.
    pub fn next_element(&self, from: u32, cpu: u32) -> Option<(u32, u64, u64)> {
        let slot = (from as usize..self.taken.len()).find(|&slot| self.taken[slot])? as u32;
        Some((slot, self.key_address(slot), self.value_address(slot, cpu)))
    }

    /// How many slots were ever used.
    pub fn slots(&self) -> u32 {
        self.taken.len() as u32
    }

    /// Bytes from the first value of an element to the end of the last, each of `value_size` bytes.
    pub fn span(&self, value_size: u32) -> u64 {
        u64::from(self.cpu_stride) * u64::from(self.cpus - 1) + u64::from(value_size)
    }

    /// Bytes of an element, the values of all CPUs included.
    pub fn element_bytes(&self) -> u64 {
        self.stride
    }

    /// The value of the element at `start` that an address is in.
    pub fn value_in(&self, start: u64, address: u64) -> Option<u64> {
        let offset = address.checked_sub(start + u64::from(self.value_offset))?;
        let first = start + u64::from(self.value_offset);
        Some(first + offset.checked_div(u64::from(self.cpu_stride)).unwrap_or(0) * u64::from(self.cpu_stride))
    }

    /// The value around an address and the address of its key.
    pub fn element_around(&self, address: u64) -> Option<(u64, u64)> {
        let slot = address.checked_sub(self.base)? / self.stride;
        let slot = u32::try_from(slot).ok().filter(|&slot| slot < self.entries)?;
        Some((self.value_address(slot, 0), self.key_address(slot)))
    }
}

/// The order of use: a list through the slots, most recent first.
#[derive(Clone, Debug)]
struct Recency {
    /// Neighbours of each slot: more and less recently used.
    links: Vec<(u32, u32)>,
    newest: u32,
    oldest: u32,
}

impl Default for Recency {
    fn default() -> Recency {
        Recency { links: Vec::new(), newest: NONE, oldest: NONE }
    }
}

impl Recency {
    fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    fn push(&mut self, slot: u32) {
        if self.links.len() <= slot as usize {
            self.links.resize(slot as usize + 1, (NONE, NONE));
        }
        self.links[slot as usize] = (NONE, self.newest);
        match self.newest {
            NONE => self.oldest = slot,
            newest => self.links[newest as usize].0 = slot,
        }
        self.newest = slot;
    }

    fn unlink(&mut self, slot: u32) {
        let (newer, older) = self.links[slot as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.links[newer as usize].1 = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.links[older as usize].0 = newer,
        }
    }

    fn touch(&mut self, slot: u32) {
        if self.newest != slot {
            self.unlink(slot);
            self.push(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(hash: &mut Hash, memory: &GuestMemory, key: &[u8], cpu: u32) -> Option<u64> {
        hash.free_slot(memory).unwrap().map(|slot| hash.fill(memory, slot, key, cpu))
    }

    fn keys(hash: &Hash, memory: &GuestMemory) -> Vec<u32> {
        let mut found = Vec::new();
        let mut from = 0;
        while let Some((slot, key, _)) = hash.next_element(from, 0) {
            found.push(memory.read(key));
            from = slot + 1;
        }
        found
    }

    #[test]
    fn finds_what_was_inserted_and_forgets_what_was_removed() {
        let memory = GuestMemory::new().unwrap();
        let mut map = Hash::new("seen", 4, 8, 3, None, false, Content::Other, &memory).unwrap();
        for key in [5u32, 6, 7] {
            let value = insert(&mut map, &memory, &key.to_le_bytes(), 0).unwrap();
            memory.write(value, u64::from(key) * 10);
        }
        assert_eq!(insert(&mut map, &memory, &8u32.to_le_bytes(), 0), None);
        let value = map.lookup(&memory, &6u32.to_le_bytes(), 0).unwrap();
        assert_eq!(memory.read::<u64>(value), 60);
        assert_eq!(map.element_around(value + 3), Some((value, value - 8)));
        assert_eq!(map.remove(&memory, &6u32.to_le_bytes()), Some(value));
        assert_eq!(map.lookup(&memory, &6u32.to_le_bytes(), 0), None);
        let again = insert(&mut map, &memory, &9u32.to_le_bytes(), 0).unwrap();
        assert_eq!((again, memory.read::<u64>(again)), (value, 0));
        assert_eq!(keys(&map, &memory), [5, 9, 7]);
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let memory = GuestMemory::new().unwrap();
        let mut map = Hash::new("recent", 4, 4, 2, None, true, Content::Other, &memory).unwrap();
        insert(&mut map, &memory, &1u32.to_le_bytes(), 0).unwrap();
        insert(&mut map, &memory, &2u32.to_le_bytes(), 0).unwrap();
        assert!(map.lookup(&memory, &1u32.to_le_bytes(), 0).is_some());
        insert(&mut map, &memory, &3u32.to_le_bytes(), 0).unwrap();
        assert_eq!(keys(&map, &memory), [1, 3]);
    }

    #[test]
    fn each_cpu_has_its_value() {
        let memory = GuestMemory::new().unwrap();
        let mut map = Hash::new("per cpu", 3, 12, 4, Some(3), false, Content::Other, &memory).unwrap();
        let first = insert(&mut map, &memory, b"abc", 1).unwrap();
        assert_eq!(map.lookup(&memory, b"abc", 2), Some(first + 16));
        assert_eq!(map.lookup(&memory, b"abc", 3), None);
    }
}
