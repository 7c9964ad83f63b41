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

use crate::memory::{Access, Content, GuestMemory, MemoryError, PAGE_SIZE, Region};
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
pub mod flag {
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

/// An arena: pages that a program allocates for itself. The low 32 bits of its pointers are guest addresses.
#[derive(Clone, Debug)]
pub struct Arena {
    pub base: u64,
    /// Where its loader has it, less the guest address: what is above 32 bits of its pointers.
    pub user_base: u64,
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

/// Bytes of the longest key.
const KEY_BYTES_MAX: u32 = 512;
/// Bytes of an arena whose size is not given.
const ARENA_PAGES_MAX: u32 = 1 << 18;

impl Map {
    /// Makes a map. One whose size is left to its loader gets an entry for each CPU.
    pub fn new(
        definition: &MapDefinition,
        number: u32,
        options: &LoadOptions,
        memory: &GuestMemory,
    ) -> Result<Map, LoadError> {
        let content = Content::Map(number);
        let MapDefinition { name, kind, key_size, value_size, .. } = definition;
        let refuse = |reason: &str| LoadError::Map { name: name.clone(), reason: reason.to_string() };
        let entries = if definition.max_entries == 0 { options.cpus } else { definition.max_entries };
        let value_size = if matches!(*kind, kind::ARRAY_OF_MAPS | kind::HASH_OF_MAPS) { 8 } else { *value_size };
        let cpus = match *kind {
            kind::PERCPU_ARRAY | kind::PERCPU_HASH | kind::LRU_PERCPU_HASH => Some(options.cpus),
            _ => None,
        };
        let is_keyless = matches!(*kind, kind::QUEUE | kind::STACK | kind::RINGBUF | kind::USER_RINGBUF | kind::ARENA);
        if *key_size > if is_keyless { 0 } else { KEY_BYTES_MAX } {
            return Err(refuse(&format!("it has keys of {key_size} bytes")));
        }
        let storage = match *kind {
            kind::ARRAY | kind::PERCPU_ARRAY | kind::ARRAY_OF_MAPS => {
                if *key_size != 4 || value_size == 0 {
                    return Err(refuse("an array has keys of 4 bytes and values of at least 1"));
                }
                Storage::Array(Array::new(name, value_size, entries, cpus, content, memory)?)
            }
            kind::HASH | kind::PERCPU_HASH | kind::LRU_HASH | kind::LRU_PERCPU_HASH | kind::HASH_OF_MAPS => {
                if *key_size == 0 || *key_size > 512 || value_size == 0 {
                    return Err(refuse("a hash has keys of 1 to 512 bytes and values of at least 1"));
                }
                let lru = matches!(*kind, kind::LRU_HASH | kind::LRU_PERCPU_HASH);
                Storage::Hash(Hash::new(name, *key_size, value_size, entries, cpus, lru, content, memory)?)
            }
            kind::TASK_STORAGE => Storage::Owner(Owner::new(name, value_size, options.task_owners, content, memory)?),
            kind::CGRP_STORAGE => Storage::Owner(Owner::new(name, value_size, options.cgroup_owners, content, memory)?),
            kind::QUEUE | kind::STACK => {
                if value_size == 0 {
                    return Err(refuse("a queue has values of at least 1 byte"));
                }
                Storage::Queue(Queue::new(name, value_size, entries, *kind == kind::STACK, memory)?)
            }
            kind::RINGBUF => Storage::Ring(Ring::new(name, entries, memory)?),
            kind::ARENA => Storage::Arena(Arena::new(name, entries.min(ARENA_PAGES_MAX), memory)?),
            kind::USER_RINGBUF | kind::PERF_EVENT_ARRAY | kind::PROG_ARRAY if value_size > 4 => {
                return Err(refuse(&format!("it has values of {value_size} bytes")));
            }
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

    /// Finds the place for a value that is stored under a key; or a negative error number.
    pub fn place(
        &mut self,
        memory: &GuestMemory,
        key: &[u8],
        flags: u64,
        cpu: u32,
    ) -> Result<Result<Place, i64>, MemoryError> {
        let flags = flags & !flag::LOCK;
        if flags > flag::EXIST {
            return Ok(Err(errno::EINVAL));
        }
        Ok(match &mut self.storage {
            Storage::Array(array) => match index(key).and_then(|index| array.address(index, cpu)) {
                Some(_) if flags == flag::NOEXIST => Err(errno::EEXIST),
                Some(found) => Ok(Place::At(found)),
                None => Err(errno::E2BIG),
            },
            Storage::Hash(hash) => match hash.lookup(memory, key, cpu) {
                Some(_) if flags == flag::NOEXIST => Err(errno::EEXIST),
                Some(found) => Ok(Place::At(found)),
                None if flags == flag::EXIST => Err(errno::ENOENT),
                None => hash.free_slot(memory)?.map(Place::New).ok_or(errno::E2BIG),
            },
            Storage::Sink => Ok(Place::Nowhere),
            _ => Err(errno::EINVAL),
        })
    }

    /// The place of the value of a key, made if there is none and it has one; for maps that are loaded with values.
    pub fn insert(&mut self, memory: &GuestMemory, key: &[u8]) -> Result<Option<u64>, MemoryError> {
        Ok(match (self.place(memory, key, 0, 0)?, &mut self.storage) {
            (Ok(Place::At(address)), _) => Some(address),
            (Ok(Place::New(slot)), Storage::Hash(hash)) => Some(hash.fill(memory, slot, key, 0)),
            _ => None,
        })
    }

    /// The value of the element at `start` that an address is in.
    pub fn value_in(&self, start: u64, address: u64) -> Option<u64> {
        match &self.storage {
            Storage::Hash(hash) => hash.value_in(start, address),
            _ => Some(start),
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

/// Where a value goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Over the value at this address.
    At(u64),
    /// Into this slot of a hash, which is free.
    New(u32),
    /// It is taken and never seen again.
    Nowhere,
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
        Ok(Arena { base, user_base: 0, taken: vec![false; pages as usize], first_free: 0 })
    }

    /// Takes `count` pages next to one another, at `wanted` if that is not 0; gives their address, 0 when none are left,
    /// and how many pages it looked at.
    pub fn take(&mut self, memory: &GuestMemory, wanted: u64, count: u32) -> Result<(u64, u64), MemoryError> {
        let (count, pages) = (count as usize, self.taken.len());
        if count == 0 || count > pages {
            return Ok((0, 0));
        }
        let (at, looked_at) = match wanted {
            0 => {
                let at = self.free_run(self.first_free, count);
                (at, at.map_or(pages, |at| at + count) - self.first_free)
            }
            wanted => {
                let at = (wanted.wrapping_sub(self.base) / PAGE_SIZE) as usize;
                let run = self.taken.get(at..at.saturating_add(count)).filter(|run| !run.contains(&true));
                (run.map(|_| at), count)
            }
        };
        let looked_at = looked_at as u64;
        let Some(at) = at else { return Ok((0, looked_at)) };
        memory.charge("pages of arenas", count as u64 * PAGE_SIZE)?;
        self.taken[at..at + count].fill(true);
        while self.taken.get(self.first_free) == Some(&true) {
            self.first_free += 1;
        }
        let address = self.base + at as u64 * PAGE_SIZE;
        memory.open_pages(address, count as u64 * PAGE_SIZE);
        Ok((address, looked_at))
    }

    /// The first of `count` free pages next to one another, found in one pass.
    fn free_run(&self, from: usize, count: usize) -> Option<usize> {
        let mut start = from;
        for (at, &taken) in self.taken.iter().enumerate().skip(from) {
            if taken {
                start = at + 1;
            } else if at + 1 - start == count {
                return Some(start);
            }
        }
        None
    }

    /// Gives pages back; they are cleared. Gives how many were taken.
    pub fn give(&mut self, memory: &GuestMemory, address: u64, count: u32) -> u64 {
        let at = (address.wrapping_sub(self.base) / PAGE_SIZE) as usize;
        let end = at.saturating_add(count as usize).min(self.taken.len());
        let mut given = 0;
        for page in (at..end).filter(|&page| std::mem::take(&mut self.taken[page])).collect::<Vec<_>>() {
            let address = self.base + page as u64 * PAGE_SIZE;
            memory.discard(address, PAGE_SIZE);
            memory.close_pages(address, PAGE_SIZE);
            memory.refund(PAGE_SIZE);
            given += 1;
        }
        self.first_free = self.first_free.min(at);
        given
    }
}
