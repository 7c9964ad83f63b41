//! On which CPU a real-time task disturbs least: the lowest rank that runs there decides, then nearness
//! (`select_task_rq_rt` and `find_lowest_rq` of `kernel/sched/rt.c`, `cpupri_find` of `kernel/sched/cpupri.c`; for deadlines
//! `select_task_rq_dl` and `find_later_rq` of `kernel/sched/deadline.c`, `cpudl_find` of `kernel/sched/cpudeadline.c`).
//!
//! An idle CPU and one that runs a task of the policy are the same to this search, as in a kernel. To a task of the class
//! deadline so are CPUs that run fifo and rr.

use super::Rank;
use crate::scx::core::Core;
use schedlab_model::{ids::CpuId, machine::Topology};

impl Core {
    /// The CPUs on which a task may run and that are there.
    fn present_for(&self, slot: u32) -> impl Iterator<Item = u32> + '_ {
        self.allowed(slot).iter().filter(|&cpu| self.is_online(cpu))
    }

    /// What a task of this rank would have to drive away from a CPU.
    fn resistance(&self, cpu: u32, rank: Rank) -> Rank {
        let limit = &self.cpu(cpu).limit;
        let there = if limit.serves() { limit.rank() } else { self.realtime_level(cpu) };
        if rank.is_deadline() && !there.is_deadline() { Rank::Policy } else { there }
    }

    /// The CPU for a real-time task that wakes or is new: its own, unless it would have to wait there or drive away one
    /// that can run nowhere else, and could run elsewhere.
    pub fn realtime_cpu(&mut self, slot: u32) -> u32 {
        let (own, rank) = (self.entity(slot).cpu, self.rank(slot));
        let must_look = self.current(own).is_some_and(|current| {
            let (running, level) = (self.entity(current), self.rank(current));
            let counts = if rank.is_deadline() { level.is_deadline() } else { running.is_realtime() };
            counts && (running.allowed_count < 2 || level >= rank)
        });
        let other = if must_look { self.lowest_cpu(slot) } else { None };
        let chosen = other.filter(|&cpu| self.realtime_level(cpu) < rank).unwrap_or(own);
        if self.allowed(slot).contains(chosen) {
            return chosen;
        }
        self.allowed(slot).iter().next().unwrap_or(own)
    }

    /// The CPU on which the smallest would be driven away for a task, if that is less than the task: its own, then that on
    /// which this happens, then the nearest.
    pub fn lowest_cpu(&mut self, slot: u32) -> Option<u32> {
        let (own, rank) = (self.entity(slot).cpu, self.rank(slot));
        if self.entity(slot).allowed_count == 1 {
            return None;
        }
        let there = |cpu: u32| self.resistance(cpu, rank);
        let lowest = self.present_for(slot).map(there).min().filter(|&low| low < rank)?;
        let candidates: Vec<u32> = self.present_for(slot).filter(|&cpu| there(cpu) == lowest).collect();
        if candidates.contains(&own) {
            return Some(own);
        }
        let this = Some(self.this_cpu).filter(|cpu| candidates.contains(cpu));
        let topology = self.machine.topology;
        let parts: [fn(&Topology, CpuId) -> u32; 4] =
            [Topology::core_of, Topology::llc_of, Topology::node_of, |_, _| 0];
        let near = parts.into_iter().find_map(|part| {
            let is_near = |cpu: u32| part(&topology, CpuId(cpu)) == part(&topology, CpuId(own));
            let near: Vec<u32> = candidates.iter().copied().filter(|&cpu| is_near(cpu)).collect();
            if near.is_empty() { None } else { Some((this.filter(|&cpu| is_near(cpu)), near)) }
        });
        let (this, near) = near?;
        Some(this.unwrap_or_else(|| self.any_of(&near)))
    }

    /// One of several CPUs, in ascending order: the first, or since 5.11 the next after that which was chosen last on this
    /// CPU (`cpumask_any_and_distribute`).
    fn any_of(&mut self, cpus: &[u32]) -> u32 {
        if !self.realtime.rules.takes_turns {
            return cpus[0];
        }
        let last = self.realtime.chosen.entry(self.this_cpu).or_default();
        *last = cpus.iter().copied().find(|cpu| cpu > last).unwrap_or(cpus[0]);
        *last
    }
}
