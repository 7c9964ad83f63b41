//! Storage that belongs to tasks or cgroups: one value for each owner, found by the owner's address.

use crate::memory::{Access, Content, GuestMemory, MemoryError, Region};
use crate::options::OwnerTable;
use crate::pool::Pool;
use crate::program::MapLayout;

#[derive(Clone, Debug)]
pub struct Owner {
    owners: OwnerTable,
    /// Guest address of the table: a `u32` for each owner, the address of its value or 0. It lies in guest memory so
    /// that machine code reaches it, where no program may.
    table: u64,
    pool: Pool,
}

impl Owner {
    pub fn new(
        name: &str,
        value_size: u32,
        owners: OwnerTable,
        content: Content,
        memory: &GuestMemory,
    ) -> Result<Owner, MemoryError> {
        let region = Region::whole(format!("index of {name}"), Access::Hidden);
        let table = memory.alloc(u64::from(owners.count) * 4, 8, region)?;
        Ok(Owner { owners, table, pool: Pool::new(format!("map {name}"), value_size, content) })
    }

    pub fn layout(&self) -> MapLayout {
        let OwnerTable { base, stride, count } = self.owners;
        MapLayout::Storage { table: self.table, owners: base, owner_stride: stride, count }
    }

    /// Guest address of the table, if its first entry is that of this owner.
    pub fn table_from(&self, first_owner: u64) -> Option<u64> {
        (self.owners.base == first_owner).then_some(self.table)
    }

    /// Guest address of an owner's value.
    #[inline]
    pub fn lookup(&self, memory: &GuestMemory, owner: u64) -> Option<u64> {
        let value: u32 = memory.read(self.entry(owner)?);
        (value != 0).then_some(u64::from(value))
    }

    /// Whether something at this address may have a value.
    pub fn is_owner(&self, address: u64) -> bool {
        self.owners.index(address).is_some()
    }

    /// As `lookup`; a missing value is made, zeroed. `None` for what is no owner.
    pub fn lookup_or_create(&mut self, memory: &GuestMemory, owner: u64) -> Result<Option<u64>, MemoryError> {
        if let Some(value) = self.lookup(memory, owner) {
            return Ok(Some(value));
        }
        let Some(entry) = self.entry(owner) else { return Ok(None) };
        let value = self.pool.take(memory)?;
        memory.write(entry, value as u32);
        Ok(Some(value))
    }

    /// Takes an owner's value out of the table; it is to be given back with `free`.
    pub fn detach(&mut self, memory: &GuestMemory, owner: u64) -> Option<u64> {
        let value = self.lookup(memory, owner)?;
        memory.write(self.entry(owner)?, 0u32);
        Some(value)
    }

    /// Lets a value be used for another owner.
    pub fn free(&mut self, memory: &GuestMemory, value: u64) {
        self.pool.give(memory, value);
    }

    fn entry(&self, owner: u64) -> Option<u64> {
        Some(self.table + u64::from(self.owners.index(owner)?) * 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_made_once_and_comes_back_zeroed() {
        let memory = GuestMemory::new().unwrap();
        let owners = OwnerTable { base: 0x10_0000, stride: 256, count: 4 };
        let mut map = Owner::new("task_ctx", 16, owners, Content::Other, &memory).unwrap();
        let (a, b) = (0x10_0000, 0x10_0300);
        assert_eq!(map.lookup(&memory, a), None);
        let value = map.lookup_or_create(&memory, a).unwrap().unwrap();
        memory.write(value, 7u64);
        assert_eq!(map.lookup_or_create(&memory, a), Ok(Some(value)));
        assert_eq!(map.detach(&memory, a), Some(value));
        map.free(&memory, value);
        assert_eq!(map.lookup(&memory, a), None);
        assert_eq!(map.lookup_or_create(&memory, b), Ok(Some(value)));
        assert_eq!(memory.read::<u64>(value), 0);
        for nobody in [0, 0xF_FFFF, 0x10_0400, u64::MAX] {
            assert_eq!(map.lookup_or_create(&memory, nobody), Ok(None));
        }
    }
}
