//! The queue of the tasks that wait for a CPU: one heap for each set of allowed CPUs, so that the best task for a CPU is
//! found by looking at one task of each set. Nearly all workloads have one set.

use schedlab_model::{cpuset::CpuSet, workload::Workload};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Rank, sequence and slot of a waiting task.
pub type Entry = (u64, u64, u32);

/// All tasks that wait.
pub struct Waiting {
    sets: Vec<CpuSet>,
    heaps: Vec<BinaryHeap<Reverse<Entry>>>,
    /// The set of each role.
    set_of: Vec<u32>,
    len: usize,
}

impl Waiting {
    /// No task waits.
    pub fn new(workload: &Workload) -> Waiting {
        let mut sets: Vec<CpuSet> = Vec::new();
        let mut set_of = Vec::new();
        for role in &workload.roles {
            let known = sets.iter().position(|set| *set == role.cpus);
            set_of.push(known.unwrap_or(sets.len()) as u32);
            if known.is_none() {
                sets.push(role.cpus.clone());
            }
        }
        Waiting { heaps: vec![BinaryHeap::new(); sets.len()], sets, set_of, len: 0 }
    }

    /// The CPUs of a set.
    pub fn set(&self, index: usize) -> &CpuSet {
        &self.sets[index]
    }

    /// Adds a task of a role.
    pub fn push(&mut self, role: usize, entry: Entry) {
        self.heaps[self.set_of[role] as usize].push(Reverse(entry));
        self.len += 1;
    }

    /// Takes the first task of a set.
    pub fn pop(&mut self, set: usize) -> Option<Entry> {
        let entry = self.heaps[set].pop()?;
        self.len -= 1;
        Some(entry.0)
    }

    /// Whether no task waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first task of each set that has one, with the set's index.
    pub fn heads(&self) -> impl Iterator<Item = (usize, Entry)> + '_ {
        self.heaps.iter().enumerate().filter_map(|(set, heap)| heap.peek().map(|head| (set, head.0)))
    }
}
