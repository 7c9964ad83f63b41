//! Tasks that want a CPU and have none, the one that has waited longest first: what the watchdog looks at.

use super::core::Core;
use super::cpu::NONE;

impl Core {
    /// A task begins to wait for a CPU.
    #[inline(always)]
    pub fn begin_waiting(&mut self, slot: u32) {
        let (oldest, youngest) = self.waiting;
        let now = self.world.now_ns;
        let entity = self.entity_mut(slot);
        if entity.waiting_since_ns != u64::MAX {
            return;
        }
        (entity.waiting_since_ns, entity.older, entity.younger) = (now, youngest, NONE);
        entity.task_mut().sched_info.last_queued = now;
        match youngest {
            NONE => self.waiting = (slot, slot),
            last => {
                self.entity_mut(last).younger = slot;
                self.waiting = (oldest, slot);
            }
        }
    }

    /// A task has a CPU, or wants none any more.
    #[inline(always)]
    pub fn end_waiting(&mut self, slot: u32) {
        let now = self.world.now_ns;
        let entity = self.entity_mut(slot);
        if entity.waiting_since_ns == u64::MAX {
            return;
        }
        let waited_ns = now - std::mem::replace(&mut entity.waiting_since_ns, u64::MAX);
        let info = &mut entity.task_mut().sched_info;
        (info.run_delay, info.last_queued) = (info.run_delay + waited_ns, 0);
        let (older, younger) = (entity.older, entity.younger);
        match older {
            NONE => self.waiting.0 = younger,
            o => self.entity_mut(o).younger = younger,
        }
        match younger {
            NONE => self.waiting.1 = older,
            y => self.entity_mut(y).older = older,
        }
    }

    /// The task that has waited longest for a CPU.
    pub fn longest_waiting(&self) -> Option<u32> {
        self.all_waiting().next()
    }

    /// The tasks that wait for a CPU, the one that has waited longest first.
    pub fn all_waiting(&self) -> impl Iterator<Item = u32> {
        let is_task = |slot: &u32| *slot != NONE;
        let first = Some(self.waiting.0).filter(is_task);
        std::iter::successors(first, move |&slot| Some(self.entity(slot).younger).filter(is_task))
    }
}
