//! All CPUs, with what depends on several of them.

use super::balance::Balance;
use super::cpu::Cpu;
use super::imbalance::Imbalance;
use schedlab_model::ids::{CpuId, RoleId};
use std::ops::{Deref, DerefMut};

/// The CPUs by number, and the balance of their run queues.
#[derive(Debug)]
pub(super) struct Cpus {
    list: Vec<Cpu>,
    /// Absent where balance has no meaning: one CPU, tasks that may not go everywhere, fluid disciplines.
    pub balance: Option<Balance>,
    /// Absent with one CPU, and for fluid disciplines.
    pub imbalance: Option<Imbalance>,
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
    /// Idle CPUs. If the balance is watched, it has to hold for this long.
    pub fn new(count: u32, balance_hold_ns: Option<u64>) -> Cpus {
        let list = (0..count).map(|_| Cpu::new()).collect();
        Cpus { list, balance: balance_hold_ns.map(|hold_ns| Balance::new(count, hold_ns)), imbalance: None }
    }

    /// A task of this role joins a CPU's run queue.
    #[inline(always)]
    pub fn joins(&mut self, cpu: CpuId, role: RoleId, now: u64) {
        if let Some(imbalance) = &mut self.imbalance {
            imbalance.joins(cpu.index(), role);
        }
        let length = self.list[cpu.index()].joins(now);
        if let Some(balance) = &mut self.balance {
            balance.joins(length);
        }
    }

    /// A task of this role leaves a CPU's run queue.
    #[inline(always)]
    pub fn leaves(&mut self, cpu: CpuId, role: RoleId, now: u64) {
        if let Some(imbalance) = &mut self.imbalance {
            imbalance.leaves(cpu.index(), role);
        }
        let length = self.list[cpu.index()].leaves(now);
        if let Some(balance) = &mut self.balance {
            balance.leaves(length);
        }
    }

    /// A task of this role goes from one CPU's run queue to another's.
    #[inline(always)]
    pub fn moves(&mut self, from: CpuId, to: CpuId, role: RoleId, now: u64) {
        if from != to {
            if let Some(imbalance) = &mut self.imbalance {
                imbalance.leaves(from.index(), role);
                imbalance.joins(to.index(), role);
            }
            let (left, joined) = (self.list[from.index()].leaves(now), self.list[to.index()].joins(now));
            if let Some(balance) = &mut self.balance {
                balance.moves(left, joined);
            }
        }
    }
}
