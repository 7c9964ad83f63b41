//! All CPUs, with what depends on several of them.

use super::balance::Balance;
use super::cpu::Cpu;
use schedlab_model::ids::CpuId;
use std::ops::{Deref, DerefMut};

/// The CPUs by number, and the balance of their run queues.
#[derive(Debug)]
pub(super) struct Cpus {
    list: Vec<Cpu>,
    /// Absent where balance has no meaning: one CPU, tasks that may not go everywhere, fluid disciplines.
    pub balance: Option<Balance>,
}

impl Deref for Cpus {
    type Target = [Cpu];
    fn deref(&self) -> &[Cpu] {
        &self.list
    }
}

impl DerefMut for Cpus {
    fn deref_mut(&mut self) -> &mut [Cpu] {
        &mut self.list
    }
}

impl Cpus {
    /// Idle CPUs, whose balance is to hold for so long if it is watched.
    pub fn new(count: u32, balance_hold_ns: Option<u64>) -> Cpus {
        let list = (0..count).map(|_| Cpu::new()).collect();
        Cpus { list, balance: balance_hold_ns.map(|hold_ns| Balance::new(count, hold_ns)) }
    }

    /// A task joins a CPU's run queue.
    #[inline(always)]
    pub fn joins(&mut self, cpu: CpuId, now: u64) {
        let length = self.list[cpu.index()].joins(now);
        if let Some(balance) = &mut self.balance {
            balance.joins(length);
        }
    }

    /// A task leaves a CPU's run queue.
    #[inline(always)]
    pub fn leaves(&mut self, cpu: CpuId, now: u64) {
        let length = self.list[cpu.index()].leaves(now);
        if let Some(balance) = &mut self.balance {
            balance.leaves(length);
        }
    }

    /// A task goes from one CPU's run queue to another's.
    #[inline(always)]
    pub fn moves(&mut self, from: CpuId, to: CpuId, now: u64) {
        if from != to {
            let (left, joined) = (self.list[from.index()].leaves(now), self.list[to.index()].joins(now));
            if let Some(balance) = &mut self.balance {
                balance.moves(left, joined);
            }
        }
    }
}
