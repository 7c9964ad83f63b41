//! Processor sharing: n tasks on c CPUs, each served at the rate min(1, c/n).
//!
//! Virtual time V is the work done on each task that was there all the time, dV = min(1, c/n)·dt. A task that comes at
//! V with work s ends when V + s is reached, regardless of other tasks; so the tasks stay in the order of those ends.

use super::fixed::{Fixed, ceil_ns, divide, from_ns};
use super::fluid::Sharing;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Tasks that share all CPUs evenly.
pub struct ProcessorSharing {
    cpus: Fixed,
    now_ns: u64,
    virtual_time: Fixed,
    /// Virtual end, sequence and slot of each task.
    tasks: BinaryHeap<Reverse<(Fixed, u64, u32)>>,
    sequence: u64,
    idle: Fixed,
    spare: Fixed,
}

impl ProcessorSharing {
    /// Whether there is CPU time that no task can use.
    fn has_idle_cpus(&self) -> bool {
        (self.tasks.len() as Fixed) < self.cpus
    }
}

impl Sharing for ProcessorSharing {
    fn new(cpus: u32) -> ProcessorSharing {
        ProcessorSharing {
            cpus: cpus.into(),
            now_ns: 0,
            virtual_time: 0,
            tasks: BinaryHeap::new(),
            sequence: 0,
            idle: 0,
            spare: 0,
        }
    }

    fn advance(&mut self, now_ns: u64, done: &mut Vec<u32>) {
        let elapsed = from_ns(now_ns - self.now_ns);
        self.now_ns = now_ns;
        if elapsed > 0 {
            let count = self.tasks.len() as Fixed;
            if self.has_idle_cpus() {
                self.virtual_time += elapsed;
                self.idle += (self.cpus - count) * elapsed;
            } else {
                let (part, rest) = divide(self.cpus * elapsed + self.spare, count);
                self.virtual_time += part;
                self.spare = rest;
            }
        }
        while let Some(&Reverse((end, _, slot))) = self.tasks.peek().filter(|task| task.0.0 <= self.virtual_time) {
            self.tasks.pop();
            self.spare += self.virtual_time - end;
            done.push(slot);
        }
        if self.has_idle_cpus() {
            self.idle += std::mem::take(&mut self.spare);
        }
    }

    fn add(&mut self, slot: u32, _attained_ns: u64, work_ns: u64) {
        self.sequence += 1;
        self.tasks.push(Reverse((self.virtual_time + from_ns(work_ns), self.sequence, slot)));
    }

    fn next_ns(&self) -> u64 {
        let Some(&Reverse((end, ..))) = self.tasks.peek() else { return u64::MAX };
        let rest = end - self.virtual_time;
        let wait_ns = if self.has_idle_cpus() {
            ceil_ns(rest, 1)
        } else {
            ceil_ns(rest * self.tasks.len() as Fixed - self.spare, self.cpus)
        };
        self.now_ns.saturating_add(wait_ns)
    }

    fn remaining(&self) -> Vec<Vec<(u32, Fixed)>> {
        vec![self.tasks.iter().map(|Reverse((end, _, slot))| (*slot, end - self.virtual_time)).collect()]
    }

    fn spare(&self) -> Fixed {
        self.spare
    }

    fn idle(&self) -> Fixed {
        self.idle
    }
}
