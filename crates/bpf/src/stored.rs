//! What the pointers own that a program keeps in maps, globals and its own objects.

use std::collections::BTreeMap;

use crate::memory::{GuestMemory, MemoryError};

/// What the host keeps about a pointer.
const BYTES_KEPT: u64 = 128;

/// What a pointer owns that only host functions may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owned {
    /// A reference to a kernel object of a type.
    Kernel(&'static str),
    /// A reference to an object that the program made.
    Object,
}

/// The pointers by their place, and how many there are to each kernel object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stored {
    places: BTreeMap<u64, (u64, Owned)>,
    counts: BTreeMap<u64, u32>,
}

impl Stored {
    /// Notes the pointer at a place, where there is none.
    pub fn insert(&mut self, memory: &GuestMemory, place: u64, object: u64, owned: Owned) -> Result<(), MemoryError> {
        memory.charge("pointers in maps", BYTES_KEPT)?;
        let before = self.places.insert(place, (object, owned));
        debug_assert!(before.is_none(), "{place:#x} has a pointer");
        if matches!(owned, Owned::Kernel(_)) {
            *self.counts.entry(object).or_default() += 1;
        }
        Ok(())
    }

    /// Forgets the pointer at a place; gives the object and what of it was owned.
    pub fn remove(&mut self, memory: &GuestMemory, place: u64) -> Option<(u64, Owned)> {
        let (object, owned) = self.places.remove(&place)?;
        memory.refund(BYTES_KEPT);
        if let Some(count) = self.counts.get_mut(&object).filter(|_| matches!(owned, Owned::Kernel(_))) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&object);
            }
        }
        Some((object, owned))
    }

    /// The places of the pointers in `len` bytes.
    pub fn places_in(&self, address: u64, len: u64) -> Vec<u64> {
        self.places.range(address..address + len).map(|(&place, _)| place).collect()
    }

    /// Whether a pointer owns a reference to a kernel object.
    pub fn has(&self, object: u64) -> bool {
        self.counts.contains_key(&object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_had_as_long_as_a_pointer_owns_it() {
        let (memory, mut stored) = (GuestMemory::new().unwrap(), Stored::default());
        stored.insert(&memory, 8, 0x100, Owned::Kernel("task_struct")).unwrap();
        stored.insert(&memory, 16, 0x100, Owned::Kernel("task_struct")).unwrap();
        stored.insert(&memory, 24, 0x200, Owned::Object).unwrap();
        assert_eq!((stored.places_in(9, 15), stored.places_in(8, 17)), (vec![16], vec![8, 16, 24]));
        assert_eq!(stored.remove(&memory, 8), Some((0x100, Owned::Kernel("task_struct"))));
        assert!(stored.has(0x100) && !stored.has(0x200));
        assert_eq!(stored.remove(&memory, 8), None);
        assert!(stored.remove(&memory, 16).is_some() && !stored.has(0x100));
    }

    #[test]
    fn pointers_have_an_account() {
        let (memory, mut stored) = (GuestMemory::new().unwrap(), Stored::default());
        let most = (1 << 30) / BYTES_KEPT;
        memory.charge("the rest", (most - 2) * BYTES_KEPT).unwrap();
        (0..2).for_each(|at| stored.insert(&memory, at, 1, Owned::Object).unwrap());
        assert!(stored.insert(&memory, 2, 1, Owned::Object).is_err());
        stored.remove(&memory, 0);
        stored.insert(&memory, 2, 1, Owned::Object).unwrap();
    }
}
