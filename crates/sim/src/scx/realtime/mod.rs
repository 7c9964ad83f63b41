//! Real-time tasks (`SCHED_FIFO`, `SCHED_RR`): the kernel's own class above every policy, reduced to what a policy can
//! feel of it: they take CPUs away. Each CPU keeps its waiting real-time tasks by priority; a waking one goes to the
//! CPU where it disturbs least, and a CPU that has none left takes a waiting one from elsewhere.

use super::core::Core;
use super::cpu::NONE;
use super::entity::State;
use super::layout::{GuestCpuRelease, Pointer, PreemptReason};
use super::ops::Op;
use super::policy::Sim;
use schedlab_model::{trace::*, workload::Class};

/// Slice of `SCHED_RR` (`RR_TIMESLICE`).
const ROUND_ROBIN_SLICE_NS: u64 = 100_000_000;

impl Core {
    /// How hard it is to take a CPU: 0 idle, 1 a task of the policy, above that the priority of a real-time task.
    fn resistance(&self, cpu: u32) -> u32 {
        match self.current(cpu) {
            None => 0,
            Some(slot) => 1 + self.entity(slot).priority() as u32,
        }
    }

    /// Puts a real-time task behind those of its priority, or before them.
    fn queue_realtime(&mut self, slot: u32, first: bool) {
        let entity = self.entity(slot);
        let (cpu, priority) = (entity.cpu as usize, entity.priority());
        let queue = &self.cpus[cpu].realtime;
        let at = queue.partition_point(|&s| {
            let other = self.entity(s).priority();
            other > priority || (other == priority && !first)
        });
        self.cpus[cpu].realtime.insert(at, slot);
    }
}

impl Sim {
    /// The CPU for a waking real-time task.
    pub fn realtime_cpu(&self, slot: u32) -> u32 {
        let previous = self.core.entity(slot).cpu;
        let allowed = self.core.allowed(slot);
        let least = allowed.iter().min_by_key(|&c| (self.core.resistance(c), c != previous, c));
        least.unwrap_or(previous)
    }

    /// A real-time task begins to want its CPU.
    pub fn enqueue_realtime(&mut self, slot: u32) {
        self.core.queue_realtime(slot, false);
        let cpu = self.core.entity(slot).cpu;
        if self.core.resistance(cpu) < 1 + self.core.entity(slot).priority() as u32 {
            self.core.request_resched(cpu);
        }
    }

    /// The real-time class chooses first. Whether it did.
    pub fn choose_realtime(&mut self, cpu: u32, previous: u32, left: Option<Reason>) -> bool {
        let was_realtime = previous != NONE && self.core.entity(previous).is_realtime();
        if was_realtime && self.core.entity(previous).state == State::Running {
            if self.goes_on(cpu, previous, left) {
                self.refill(previous);
                self.core.mark_stale(cpu);
                self.continue_steps(cpu);
                return true;
            }
            let voluntary = left.is_some() || self.core.entity(previous).realtime_slice_ns == 0;
            self.core.entity_mut(previous).state = State::Runnable;
            self.core.queue_realtime(previous, !voluntary);
        }
        if self.core.cpus[cpu as usize].realtime.is_empty() && !self.pull_realtime(cpu) {
            return false;
        }
        let next = self.core.cpus[cpu as usize].realtime.remove(0);
        if !was_realtime {
            self.take_from_policy(cpu, previous, next);
        }
        self.refill(next);
        self.switch(
            cpu,
            previous,
            next,
            left.unwrap_or(if was_realtime { Reason::SliceEnd } else { Reason::Preempted }),
        );
        true
    }

    /// A task whose turn begins again has a whole slice.
    fn refill(&mut self, slot: u32) {
        let entity = self.core.entity_mut(slot);
        if entity.class_has_slice() && entity.realtime_slice_ns == 0 {
            entity.realtime_slice_ns = ROUND_ROBIN_SLICE_NS;
        }
    }

    /// Whether a running real-time task keeps its CPU.
    fn goes_on(&mut self, cpu: u32, slot: u32, left: Option<Reason>) -> bool {
        let entity = self.core.entity(slot);
        let Some(&best) = self.core.cpus[cpu as usize].realtime.first() else { return true };
        let (own, other) = (entity.priority(), self.core.entity(best).priority());
        let turn_is_over = left.is_some() || (entity.class_has_slice() && entity.realtime_slice_ns == 0);
        other < own || (other == own && !turn_is_over)
    }

    /// A real-time task takes a CPU from the policy.
    fn take_from_policy(&mut self, cpu: u32, previous: u32, next: u32) {
        if previous != NONE && self.core.entity(previous).state == State::Running {
            self.put_previous(cpu, previous);
        }
        if !self.core.cpus[cpu as usize].taken_by_realtime {
            self.core.cpus[cpu as usize].taken_by_realtime = true;
            let task = Pointer(self.core.entity(next).address);
            let args = GuestCpuRelease { reason: PreemptReason(super::consts::SCX_CPU_PREEMPT_RT as u32), task };
            self.write_scratch(args);
            self.call(Op::CpuRelease, cpu, NONE, [cpu as u64, self.scratch]);
        }
    }

    /// Takes a waiting real-time task from another CPU.
    fn pull_realtime(&mut self, cpu: u32) -> bool {
        let waiting = self.core.cpus.iter().flat_map(|c| c.realtime.iter().copied());
        let candidate =
            waiting.filter(|&s| self.core.allowed(s).contains(cpu)).max_by_key(|&s| self.core.entity(s).priority());
        let Some(slot) = candidate else { return false };
        let from = self.core.entity(slot).cpu as usize;
        self.core.cpus[from].realtime.retain(|&s| s != slot);
        self.core.migrate(slot, cpu);
        self.core.queue_realtime(slot, false);
        true
    }
}

impl super::entity::Entity {
    /// Whether the real-time task has a slice.
    pub fn class_has_slice(&self) -> bool {
        matches!(self.class, Class::RoundRobin(_))
    }
}
