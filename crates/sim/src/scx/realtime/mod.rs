//! Real-time tasks: the kernel's own classes above every policy, fifo and rr (`SCHED_FIFO`, `SCHED_RR`: `kernel/sched/rt.c`), and
//! above these deadline (`SCHED_DEADLINE`: `kernel/sched/deadline.c`).
//!
//! Each CPU keeps its waiting real-time tasks by [`rank`]; [`place`] says where one that wakes goes, [`push`] where those
//! that wait go. So that the tasks of the policy do not starve, a kernel limits fifo and rr: [`limit`] keeps the account, by
//! [`throttle`] or by a [`server`], as [`release`] says. What a task of the class deadline has left of what it reserved is its
//! [`budget`], and [`deadline`] has it rest when that is nothing.
//!
//! What differs from a kernel's:
//!
//! - CPUs that are to push when another one has room do so at the same instant, in the order of their number.
//! - What the class or a server has used is seen to the nanosecond, or at the machine's ticks, and a period of throttling
//!   ends with all that was used in it.
//! - Each CPU has one server: that of the class for which the policy stands. While tasks with earlier deadlines keep it waiting, its
//!   own deadline does not move.
//! - A reservation ends with its task, and not at its 0-lag time.

mod budget;
mod deadline;
mod limit;
mod place;
mod push;
mod rank;
mod release;
mod server;
mod throttle;

pub use limit::Limit;
pub use rank::Rank;
pub use release::{Releases, Rules, SIMULATED, admit, release_of};

use self::budget::Budget;
use super::consts::SCX_CPU_PREEMPT_RT;
use super::core::Core;
use super::cpu::NONE;
use super::entity::State;
use super::layout::{GuestCpuRelease, Pointer, PreemptReason};
use super::ops::Op;
use super::policy::Sim;
use schedlab_model::{trace::*, workload::Class};
use std::collections::BTreeMap;

/// Slice of `SCHED_RR` (`RR_TIMESLICE`).
const ROUND_ROBIN_SLICE_NS: u64 = 100_000_000;

/// The real-time class of the machine.
#[derive(Debug)]
pub struct Realtime {
    /// Whether the workload has real-time tasks; without any, none is looked for.
    pub exists: bool,
    /// The rules of the release.
    rules: Rules,
    /// What tasks of the class deadline have left, by slot.
    budgets: BTreeMap<u32, Budget>,
    /// By CPU, which one was chosen there last of several that are equally good.
    chosen: BTreeMap<u32, u32>,
    /// Whether periods of throttling go by.
    has_periods: bool,
    /// Counts tasks that began to wait.
    queued: u64,
}

impl Realtime {
    /// Under rules, with real-time tasks or without.
    pub fn new(exists: bool, rules: Rules) -> Realtime {
        Realtime { exists, rules, budgets: BTreeMap::new(), chosen: BTreeMap::new(), has_periods: false, queued: 0 }
    }
}

impl Core {
    /// Puts a real-time task behind those of its rank, or before them.
    fn queue_realtime(&mut self, slot: u32, first: bool) {
        self.realtime.queued += 1;
        self.entity_mut(slot).queued = self.realtime.queued;
        let (cpu, rank) = (self.entity(slot).cpu, self.rank(slot));
        let at = self.cpus[cpu].realtime.partition_point(|&s| {
            let other = self.rank(s);
            other > rank || (other == rank && !first)
        });
        self.cpus[cpu].realtime.insert(at, slot);
    }

    /// Whether real-time tasks have had all CPUs of a task since then, without a break.
    pub fn is_kept_by_realtime(&self, slot: u32, since_ns: u64) -> bool {
        self.allowed(slot).iter().all(|cpu| self.cpu(cpu).taken_by_realtime && self.cpu(cpu).taken_since_ns <= since_ns)
    }

    /// The task of the policy that has waited longest up to the end, and since when, though it could have had a CPU. A
    /// policy that acts at ticks gets one tick to do so, and a CPU the time to pay for what wakes tasks.
    pub fn never_scheduled(&self, end_ns: u64) -> Option<(u32, u64)> {
        const LEAST_PATIENCE_NS: u64 = 1_000_000;
        let patience_ns = self.machine.tick.ns().max(LEAST_PATIENCE_NS);
        let waiting = self.all_waiting().filter(|&slot| !self.entity(slot).is_realtime());
        let since = |slot| (slot, self.entity(slot).waiting_since_ns);
        let could_run = |&(slot, since_ns): &(u32, u64)| {
            let served_ns = since_ns + patience_ns;
            served_ns < end_ns && !self.is_kept_by_realtime(slot, served_ns)
        };
        waiting.map(since).find(could_run)
    }

    /// The CPU is a real-time task's.
    pub fn take_cpu(&mut self, cpu: u32) {
        let now_ns = self.world.now_ns;
        let c = self.cpu_mut(cpu);
        if !c.taken_by_realtime {
            (c.taken_by_realtime, c.taken_since_ns) = (true, now_ns);
        }
    }

    /// Whether a task has blocked or ended, or rests.
    fn has_left(&self, slot: u32) -> bool {
        self.entity(slot).state == State::Sleeping || self.rests(slot)
    }

    /// Whether a real-time task goes before the tasks of the policy, whose turn it may be.
    fn precedes(&self, cpu: u32, rank: Rank) -> bool {
        rank > self.cpu(cpu).limit.rank()
    }
}

impl Sim {
    /// A real-time task begins to want its CPU.
    pub fn enqueue_realtime(&mut self, slot: u32) {
        match self.core.entity(slot).class.reservation() {
            Some(reservation) if !self.core.begin_reservation(slot, reservation) => return,
            Some(_) => {}
            None => self.core.begin_periods(),
        }
        self.queue_and_preempt(slot);
    }

    fn queue_and_preempt(&mut self, slot: u32) {
        self.core.queue_realtime(slot, false);
        if self.core.immediate.is_used {
            self.core.ask_for_immediate(self.core.entity(slot).cpu);
        }
        self.core.preempt_realtime(slot);
    }

    /// The real-time class chooses before the policy, unless it has used up what it may have. Whether it did.
    pub fn schedule_realtime(&mut self, cpu: u32, previous: u32, left: Option<Reason>) -> bool {
        let rests = self.look_at_reservation(previous, left);
        self.pull_realtime(cpu, previous);
        let runs = self.runs_realtime(previous);
        let running = if runs { self.core.rank(previous) } else { Rank::Policy };
        if self.core.precedes(cpu, running.max(self.core.first_waiting(cpu))) {
            let left = if rests { left.or(Some(Reason::SliceEnd)) } else { left };
            return self.choose_realtime(cpu, previous, left);
        }
        if runs {
            let is_over = self.turn_is_over(previous, left);
            self.put_realtime(previous, is_over);
            self.core.cpu_mut(cpu).preempted = true;
        }
        false
    }

    fn runs_realtime(&self, slot: u32) -> bool {
        slot != NONE && self.core.entity(slot).is_realtime() && self.core.entity(slot).state == State::Running
    }

    /// A running real-time task waits again.
    fn put_realtime(&mut self, slot: u32, turn_is_over: bool) {
        self.core.entity_mut(slot).state = State::Runnable;
        self.core.queue_realtime(slot, !turn_is_over);
    }

    /// The CPU goes to the best real-time task, if there is one. Whether there is.
    pub fn choose_realtime(&mut self, cpu: u32, previous: u32, left: Option<Reason>) -> bool {
        let runs = self.runs_realtime(previous);
        let makes_room = std::mem::take(&mut self.core.cpu_mut(cpu).makes_room);
        if runs && self.goes_on(cpu, previous, left, makes_room) {
            self.refill(previous);
            self.core.mark_stale(cpu);
            self.continue_steps(cpu);
            return true;
        }
        if self.core.cpu(cpu).realtime.is_empty() {
            return false;
        }
        let next = self.core.cpu_mut(cpu).realtime.remove(0);
        let was_realtime = previous != NONE && self.core.entity(previous).is_realtime();
        let is_over = runs && self.turn_is_over(previous, left);
        if runs {
            self.put_realtime(previous, is_over);
        } else if !was_realtime {
            self.take_from_policy(cpu, previous, next);
        }
        self.refill(next);
        let reason = if is_over { Reason::SliceEnd } else { Reason::Preempted };
        self.switch(cpu, previous, next, left.unwrap_or(reason));
        self.core.push_realtime(cpu);
        true
    }

    /// A task whose turn begins again has a whole slice.
    pub fn refill(&mut self, slot: u32) {
        let entity = self.core.entity_mut(slot);
        if entity.class_has_slice() && entity.realtime_slice_ns == 0 {
            entity.realtime_slice_ns = ROUND_ROBIN_SLICE_NS;
        }
    }

    /// Whether others of its priority go before a running task now: it has yielded, or used up its slice.
    fn turn_is_over(&self, slot: u32, left: Option<Reason>) -> bool {
        let entity = self.core.entity(slot);
        left.is_some() || (entity.class_has_slice() && entity.realtime_slice_ns == 0)
    }

    /// Whether a running real-time task keeps its CPU.
    fn goes_on(&self, cpu: u32, slot: u32, left: Option<Reason>, makes_room: bool) -> bool {
        let Some(&best) = self.core.cpu(cpu).realtime.first() else { return true };
        let (own, other) = (self.core.rank(slot), self.core.rank(best));
        other < own || (other == own && !makes_room && !self.turn_is_over(slot, left))
    }

    /// A real-time task takes a CPU from the policy, or an idle one, of which the policy does not hear: it had no task there
    /// to be put back (`put_prev_task_scx`).
    fn take_from_policy(&mut self, cpu: u32, previous: u32, next: u32) {
        if previous != NONE {
            if self.core.entity(previous).state == State::Running {
                self.put_previous(cpu, previous, false);
            }
            self.release(cpu, SCX_CPU_PREEMPT_RT, self.core.entity(next).address);
        }
        self.core.take_cpu(cpu);
    }

    /// The policy hears that a task of a higher class takes a CPU from it, once until it has the CPU again (`switch_class`).
    pub fn release(&mut self, cpu: u32, reason: u64, task: u64) {
        if !std::mem::replace(&mut self.core.cpu_mut(cpu).is_released, true) {
            self.write_scratch(GuestCpuRelease { reason: PreemptReason(reason as u32), task: Pointer(task) });
            self.call(Op::CpuRelease, cpu, NONE, [cpu as u64, self.scratch]);
        }
    }
}

impl super::entity::Entity {
    /// Whether the real-time task has a slice.
    pub fn class_has_slice(&self) -> bool {
        matches!(self.class, Class::RoundRobin(_))
    }
}
