//! Maps: where a program keeps its data. Values lie in guest memory, the indexes over them on the host's side.

mod array;
mod hash;
mod owner;
mod queue;
mod ring;

pub use array::Array;
pub use hash::Hash;
pub use owner::Owner;
pub use queue::Queue;
pub use ring::Ring;

use crate::memory::{Access, GuestMemory, MemoryError, PAGE_SIZE, Region};
use crate::object::{LoadError, MapDefinition};
use crate::options::LoadOptions;
use crate::program::MapLayout;

/// `enum bpf_map_type`, the kinds that are simulated.
pub mod kind {
    pub const HASH: u32 = 1;
    pub const ARRAY: u32 = 2;
    pub const PROG_ARRAY: u32 = 3;
    pub const PERF_EVENT_ARRAY: u32 = 4;
    pub const PERCPU_HASH: u32 = 5;
    pub const PERCPU_ARRAY: u32 = 6;
    pub const LRU_HASH: u32 = 9;
    pub const LRU_PERCPU_HASH: u32 = 10;
    pub const ARRAY_OF_MAPS: u32 = 12;
    pub const HASH_OF_MAPS: u32 = 13;
    pub const QUEUE: u32 = 22;
    pub const STACK: u32 = 23;
    pub const RINGBUF: u32 = 27;
    pub const TASK_STORAGE: u32 = 29;
    pub const USER_RINGBUF: u32 = 31;
    pub const CGRP_STORAGE: u32 = 32;
    pub const ARENA: u32 = 33;
}

/// Error numbers as programs see them, negative.
pub mod errno {
    pub const ENOENT: i64 = -2;
    pub const E2BIG: i64 = -7;
    pub const ENOMEM: i64 = -12;
    pub const EFAULT: i64 = -14;
    pub const EBUSY: i64 = -16;
    pub const EEXIST: i64 = -17;
    pub const EINVAL: i64 = -22;
    pub const EOPNOTSUPP: i64 = -95;
}

/// Flags of an update.
mod flag {
    pub const NOEXIST: u64 = 1;
    pub const EXIST: u64 = 2;
    /// Takes the value's spin lock, which is always free here.
    pub const LOCK: u64 = 4;
}

/// What a map is made of.
#[derive(Clone, Debug)]
pub enum Storage {
    Array(Array),
    Hash(Hash),
    Owner(Owner),
    Queue(Queue),
    Ring(Ring),
    Arena(Arena),
    /// Kinds that take what is put in and never give anything: program arrays, perf events, ring buffers from users.
    Sink,
}

/// An arena: pages that a program allocates for itself. Its pointers are guest addresses.
#[derive(Clone, Debug)]
pub struct Arena {
    pub base: u64,
    /// Which pages are taken.
    pub taken: Vec<bool>,
    /// No free page is before this one.
    pub first_free: usize,
}

/// A map.
#[derive(Clone, Debug)]
pub struct Map {
    pub name: String,
    pub key_size: u32,
    pub value_size: u32,
    pub storage: Storage,
    /// Whether its values are maps: a lookup gives the map itself.
    pub of_maps: bool,
}

/// Bytes of an arena whose size is not given.
const ARENA_PAGES_MAX: u32 = 1 << 18;

impl Map {
    /// Makes a map. One whose size is left to its loader gets an entry for each CPU.
    pub fn new(definition: &MapDefinition, options: &LoadOptions, memory: &GuestMemory) -> Result<Map, LoadError> {
        let MapDefinition { name, kind, key_size, value_size, .. } = definition;
        let refuse = |reason: &str| LoadError::Map { name: name.clone(), reason: reason.to_string() };
        let entries = if definition.max_entries == 0 { options.cpus } else { definition.max_entries };
        let value_size = if matches!(*kind, kind::ARRAY_OF_MAPS | kind::HASH_OF_MAPS) { 8 } else { *value_size };
        let cpus = match *kind {
            kind::PERCPU_ARRAY | kind::PERCPU_HASH | kind::LRU_PERCPU_HASH => Some(options.cpus),
            _ => None,
        };
        let storage = match *kind {
            kind::ARRAY | kind::PERCPU_ARRAY | kind::ARRAY_OF_MAPS => {
                if *key_size != 4 || value_size == 0 {
                    return Err(refuse("an array has keys of 4 bytes and values of at least 1"));
                }
                Storage::Array(Array::new(name, value_size, entries, cpus, memory)?)
            }
            kind::HASH | kind::PERCPU_HASH | kind::LRU_HASH | kind::LRU_PERCPU_HASH | kind::HASH_OF_MAPS => {
                if *key_size == 0 || *key_size > 512 || value_size == 0 {
                    return Err(refuse("a hash has keys of 1 to 512 bytes and values of at least 1"));
                }
                let lru = matches!(*kind, kind::LRU_HASH | kind::LRU_PERCPU_HASH);
                Storage::Hash(Hash::new(name, *key_size, value_size, entries, cpus, lru, memory)?)
            }
            kind::TASK_STORAGE => Storage::Owner(Owner::new(name, value_size, options.task_owners, memory)?),
            kind::CGRP_STORAGE => Storage::Owner(Owner::new(name, value_size, options.cgroup_owners, memory)?),
            kind::QUEUE | kind::STACK => {
                if value_size == 0 {
                    return Err(refuse("a queue has values of at least 1 byte"));
                }
                Storage::Queue(Queue::new(name, value_size, entries, *kind == kind::STACK, memory)?)
            }
            kind::RINGBUF => Storage::Ring(Ring::new(name, entries, memory)?),
            kind::ARENA => Storage::Arena(Arena::new(name, entries.min(ARENA_PAGES_MAX), memory)?),
            kind::USER_RINGBUF | kind::PERF_EVENT_ARRAY | kind::PROG_ARRAY => Storage::Sink,
            _ => return Err(refuse(&format!("maps of kind {} are not simulated", definition.info().kind))),
        };
        let of_maps = matches!(*kind, kind::ARRAY_OF_MAPS | kind::HASH_OF_MAPS);
        Ok(Map { name: name.clone(), key_size: *key_size, value_size, storage, of_maps })
    }

    /// Where values lie, for code generators.
    pub fn layout(&self) -> MapLayout {
        match &self.storage {
            Storage::Array(array) if !self.of_maps => array.layout(),
            Storage::Owner(owner) => owner.layout(),
            _ => MapLayout::Opaque,
        }
    }

    /// Guest address of the value of a key, on a CPU if there is one for each.
    #[inline]
    pub fn lookup(&mut self, memory: &GuestMemory, key: &[u8], cpu: u32) -> Option<u64> {
        match &mut self.storage {
            Storage::Array(array) => array.address(index(key)?, cpu),
            Storage::Hash(hash) => hash.lookup(memory, key, cpu),
            _ => None,
        }
    }

    /// Stores a value, which lies in guest memory, under a key; 0 or a negative error number. `drop_old` lets go of what
    /// a value holds before it is written over.
    pub fn update(
        &mut self,
        memory: &GuestMemory,
        key: &[u8],
        value: u64,
        flags: u64,
        cpu: u32,
        drop_old: impl FnOnce(u64),
    ) -> i64 {
        let size = self.value_size as usize;
        let flags = flags & !flag::LOCK;
        if flags > flag::EXIST {
            return errno::EINVAL;
        }
        let found = match &mut self.storage {
            Storage::Array(array) => match index(key).and_then(|index| array.address(index, cpu)) {
                Some(_) if flags == flag::NOEXIST => Err(errno::EEXIST),
                Some(found) => {
                    drop_old(found);
                    Ok(found)
                }
                None => Err(errno::E2BIG),
            },
            Storage::Hash(hash) => match hash.lookup(memory, key, cpu) {
                Some(_) if flags == flag::NOEXIST => Err(errno::EEXIST),
                Some(found) => {
                    drop_old(found);
                    Ok(found)
                }
                None if flags == flag::EXIST => Err(errno::ENOENT),
                None => hash.insert(memory, key, cpu).ok_or(errno::E2BIG),
            },
            Storage::Sink => return 0,
            _ => Err(errno::EINVAL),
        };
        match found {
            Ok(address) => {
                memory.copy(value, address, size);
                0
            }
            Err(error) => error,
        }
    }

    /// Whether `address` is inside a value, and if so the value's address and its key: an index or a guest address.
    pub fn element_around(&self, address: u64) -> Option<(u64, ElementKey)> {
        match &self.storage {
            Storage::Array(array) => {
                array.element_around(address).map(|(value, index)| (value, ElementKey::Index(index)))
            }
            Storage::Hash(hash) => hash.element_around(address).map(|(value, key)| (value, ElementKey::At(key))),
            _ => None,
        }
    }
}

/// The key of an element for a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementKey {
    /// An array's index.
    Index(u32),
    /// A key in guest memory.
    At(u64),
}

/// The index in a key of an array.
fn index(key: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(key.get(..4)?.try_into().ok()?))
}

impl Arena {
    fn new(name: &str, pages: u32, memory: &GuestMemory) -> Result<Arena, MemoryError> {
        let region = Region::whole(format!("arena {name}"), Access::ReadWrite);
        let base = memory.alloc_sparse(u64::from(pages) * PAGE_SIZE, PAGE_SIZE, region)?;
        Ok(Arena { base, taken: vec![false; pages as usize], first_free: 0 })
    }

    /// Takes `count` pages next to one another, at `wanted` if that is not 0; gives their address, 0 when none are left.
    pub fn take(&mut self, memory: &GuestMemory, wanted: u64, count: u32) -> u64 {
        let (count, pages) = (count as usize, self.taken.len());
        let is_free = |taken: &[bool], at: usize| taken.get(at..at + count).is_some_and(|run| run.iter().all(|t| !t));
        if count == 0 || count > pages {
            return 0;
        }
        let at = match wanted {
            0 => (self.first_free..=pages - count).find(|&at| is_free(&self.taken, at)),
            wanted => {
                let at = (wanted.wrapping_sub(self.base) / PAGE_SIZE) as usize;
                (at < pages && is_free(&self.taken, at)).then_some(at)
            }
        };
        let Some(at) = at else { return 0 };
        self.taken[at..at + count].fill(true);
        while self.taken.get(self.first_free) == Some(&true) {
            self.first_free += 1;
        }
        let address = self.base + at as u64 * PAGE_SIZE;
        memory.open_pages(address, count as u64 * PAGE_SIZE);
        address
    }

    /// Gives pages back; they are cleared.
    pub fn give(&mut self, memory: &GuestMemory, address: u64, count: u32) {
        let at = (address.wrapping_sub(self.base) / PAGE_SIZE) as usize;
        let end = at.saturating_add(count as usize).min(self.taken.len());
        for page in at..end {
            let address = self.base + page as u64 * PAGE_SIZE;
            memory.zero(address, PAGE_SIZE as usize);
            memory.close_pages(address, PAGE_SIZE);
            self.taken[page] = false;
        }
        self.first_free = self.first_free.min(at);
    }
}
