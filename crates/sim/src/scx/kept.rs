//! Tasks that have ended while the policy keeps references to them (`bpf_task_acquire`, `bpf_kptr_xchg`). As in a kernel,
//! where a `task_struct` lives until the last reference to it is dropped (`put_task_struct`), no other task comes to
//! their place and the policy's storage of them stays (`bpf_task_storage_free` is called at the very end).

use super::core::Core;
use super::policy::Sim;
use std::collections::BTreeSet;

/// The places of such tasks.
#[derive(Debug, Default)]
pub struct Kept {
    slots: BTreeSet<u32>,
    /// Those to which a reference was dropped, to be looked at.
    dropped: BTreeSet<u32>,
}

impl Core {
    /// The slot of a task that a policy points to: one that lives, or one that has ended and is kept.
    #[inline]
    pub fn task_at(&self, address: u64) -> Option<u32> {
        self.slot_of(address).or_else(|| self.kept_at(address))
    }

    #[cold]
    fn kept_at(&self, address: u64) -> Option<u32> {
        self.place_of(address).filter(|slot| self.kept.slots.contains(slot))
    }

    /// The policy dropped a reference to a task.
    pub fn drop_task(&mut self, address: u64) {
        if let Some(slot) = self.place_of(address).filter(|slot| self.kept.slots.contains(slot)) {
            self.kept.dropped.insert(slot);
        }
    }
}

impl Sim {
    /// A task has ended, and nothing but the policy knows of it any more.
    pub(super) fn leave_place(&mut self, slot: u32) {
        self.core.world.tasks.end(slot);
        if self.vm.keeps(self.core.address_of(slot)) {
            self.core.kept.slots.insert(slot);
        } else {
            self.free_place(slot);
        }
    }

    /// Frees the places of tasks to which the last reference was dropped.
    #[inline]
    pub(super) fn free_places(&mut self) {
        for slot in std::mem::take(&mut self.core.kept.dropped) {
            if !self.vm.keeps(self.core.address_of(slot)) && self.core.kept.slots.remove(&slot) {
                self.free_place(slot);
            }
        }
    }

    fn free_place(&mut self, slot: u32) {
        self.vm.release_owner(self.core.address_of(slot));
        self.core.cgroups.chosen.remove(&slot);
        self.core.world.tasks.give_back(slot);
    }
}
