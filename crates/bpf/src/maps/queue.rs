//! Queues and stacks.

use super::errno;
use crate::memory::{Access, GuestMemory, MemoryError, Region};

#[derive(Clone, Debug)]
pub struct Queue {
    base: u64,
    value_size: u32,
    entries: u32,
    /// Slot of the oldest value.
    first: u32,
    len: u32,
    /// Gives the newest value first.
    stack: bool,
}

impl Queue {
    pub fn new(
        name: &str,
        value_size: u32,
        entries: u32,
        stack: bool,
        memory: &GuestMemory,
    ) -> Result<Queue, MemoryError> {
        let region = Region::whole(format!("map {name}"), Access::Hidden);
        let len = u64::from(value_size) * u64::from(entries);
        memory.charge(&format!("map {name}"), len)?;
        let base = memory.alloc(len, 8, region)?;
        Ok(Queue { base, value_size, entries, first: 0, len: 0, stack })
    }

    fn slot(&self, position: u32) -> u64 {
        let slot = (u64::from(self.first) + u64::from(position)) % u64::from(self.entries);
        self.base + slot * u64::from(self.value_size)
    }

    /// Adds a value; when full, `replace` drops the oldest one for it.
    pub fn push(&mut self, memory: &GuestMemory, value: u64, replace: bool) -> i64 {
        if self.len == self.entries {
            if !replace {
                return errno::E2BIG;
            }
            self.first = (self.first + 1) % self.entries;
            self.len -= 1;
        }
        memory.copy(value, self.slot(self.len), self.value_size as usize);
        self.len += 1;
        0
    }

    /// Copies the next value out, and drops it if `remove`. An empty queue clears the place.
    pub fn take(&mut self, memory: &GuestMemory, into: u64, remove: bool) -> i64 {
        let Some(last) = self.len.checked_sub(1) else {
            memory.zero(into, self.value_size as usize);
            return errno::ENOENT;
        };
        let position = if self.stack { last } else { 0 };
        memory.copy(self.slot(position), into, self.value_size as usize);
        if remove {
            self.len = last;
            if !self.stack {
                self.first = (self.first + 1) % self.entries;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(stack: bool) -> Vec<u64> {
        let memory = GuestMemory::new().unwrap();
        let mut queue = Queue::new("q", 8, 3, stack, &memory).unwrap();
        let place = memory.alloc(8, 8, Region::whole("place", Access::ReadWrite)).unwrap();
        let push = |queue: &mut Queue, value: u64, replace| {
            memory.write(place, value);
            queue.push(&memory, place, replace)
        };
        for value in 1..=3 {
            assert_eq!(push(&mut queue, value, false), 0);
        }
        assert_eq!(push(&mut queue, 4, false), errno::E2BIG);
        assert_eq!(push(&mut queue, 5, true), 0);
        let mut taken = Vec::new();
        assert_eq!(queue.take(&memory, place, false), 0);
        while queue.take(&memory, place, true) == 0 {
            taken.push(memory.read(place));
        }
        assert_eq!(memory.read::<u64>(place), 0);
        taken
    }

    #[test]
    fn queues_give_the_oldest_stacks_the_newest() {
        assert_eq!(run(false), [2, 3, 5]);
        assert_eq!(run(true), [5, 3, 2]);
    }
}
