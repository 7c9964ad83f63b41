//! Tasks that want a CPU and have none, the one that has waited longest first: what the watchdog looks at.

use super::core::Core;
use super::cpu::NONE;

impl Core {
    /// A task begins to wait for a CPU.
    pub fn begin_waiting(&mut self, slot: u32) {
        let (oldest, youngest) = self.waiting;
        let now = self.world.now_ns;
        let entity = &mut self.entities[slot as usize];
        if entity.waiting_since_ns != u64::MAX {
            return;
        }
        (entity.waiting_since_ns, entity.older, entity.younger) = (now, youngest, NONE);
        match youngest {
            NONE => self.waiting = (slot, slot),
            last => {
                self.entities[last as usize].younger = slot;
                self.waiting = (oldest, slot);
            }
        }
    }

    /// A task has a CPU, or wants none any more.
    pub fn end_waiting(&mut self, slot: u32) {
        let entity = &mut self.entities[slot as usize];
        if entity.waiting_since_ns == u64::MAX {
            return;
        }
        entity.waiting_since_ns = u64::MAX;
        let (older, younger) = (entity.older, entity.younger);
        match older {
            NONE => self.waiting.0 = younger,
            o => self.entities[o as usize].younger = younger,
        }
        match younger {
            NONE => self.waiting.1 = older,
            y => self.entities[y as usize].older = older,
        }
    }

    /// The task that has waited longest for a CPU.
    pub fn longest_waiting(&self) -> Option<u32> {
        Some(self.waiting.0).filter(|&s| s != NONE)
    }
}
