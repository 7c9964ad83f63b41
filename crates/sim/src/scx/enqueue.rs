//! From runnable to queued: waking, choosing a CPU, enqueueing (`select_task_rq_scx`, `enqueue_task_scx`,
//! `do_enqueue_task`).

use super::consts::*;
use super::cpu::NONE;
use super::entity::{Custody, Direct, State};
use super::life::PF_EXITING;
use super::ops::Op;
use super::policy::Sim;
use crate::world::Wake;
use schedlab_model::ids::CpuId;
use schedlab_model::time::Time;
use schedlab_model::trace::*;

impl Sim {
    /// A sleeping task becomes runnable.
    #[inline(always)]
    pub fn wake(&mut self, wake: Wake) {
        let Wake { slot, waker, source } = wake;
        debug_assert_eq!(self.core.entity(slot).state, State::Sleeping);
        let previous = self.core.entity(slot).cpu;
        // A timer or a device interrupts the CPU on which the task went to sleep.
        let here = self.core.present(waker.map_or(previous, |w| self.core.entity(w).cpu));
        self.core.world.ready(slot);
        let mut flags = SCX_WAKE_TTWU;
        // A message from outside has no sender that could go to sleep after it.
        if matches!(source, WakeSource::Pipe | WakeSource::Network) && waker.is_some() {
            flags |= SCX_WAKE_SYNC;
        }
        self.publish_wake_source(slot, source);
        let costs = &self.core.machine.costs;
        // What the tick does is part of the tick.
        let is_interrupt = waker.is_none() && source != WakeSource::Untold;
        let interrupt = if is_interrupt { costs.timer } else { Time::ZERO };
        self.core.pay(here, Overhead::Wakeup, (costs.wakeup + interrupt).ns());
        self.place(slot, here, flags, SCX_ENQ_WAKEUP, waker, source);
    }

    /// Chooses a CPU for a task that is about to be runnable, and enqueues it there.
    #[inline(always)]
    pub fn place(
        &mut self,
        slot: u32,
        here: u32,
        wake_flags: u64,
        enqueue_flags: u64,
        waker: Option<u32>,
        source: WakeSource,
    ) {
        let realtime = self.core.entity(slot).is_realtime();
        self.pay_selection(slot, here);
        (self.core.this_cpu, self.core.told_ns) = (here, self.core.cpu(here).accounted_ns);
        let (cpu, selected) =
            if realtime { (self.core.realtime_cpu(slot), false) } else { self.select_cpu(slot, here, wake_flags) };
        let cpu = self.online_cpu(slot, cpu);
        self.pay_interrupt_of(cpu, here);
        let entity = self.core.entity_mut(slot);
        entity.state = State::Runnable;
        let (task, from, has_run) = (entity.id, entity.cpu, entity.has_run);
        if cpu != from {
            if has_run {
                self.core.migrate_from(from, slot, cpu);
            } else {
                self.core.set_cpu(slot, cpu);
            }
        }
        let waker = waker.map(|w| self.core.entity(w).id);
        self.core.world.emit_of(here, task, EventKind::Wakeup { task, target: CpuId(cpu), waker, source });
        if realtime {
            self.enqueue_realtime(slot);
            return;
        }
        // Not for a new task (`wake_up_new_task`).
        let selected = if selected && wake_flags & SCX_WAKE_FORK == 0 { SCX_ENQ_CPU_SELECTED } else { 0 };
        let from = if self.is_taken_in(cpu, wake_flags) { cpu } else { here };
        self.enqueue_task(slot, from, enqueue_flags | selected);
        // A task of the policy is above the idle class, wherever it was put.
        if self.core.cpu(cpu).current == NONE {
            self.core.request_resched(cpu);
        }
    }

    /// Whether an idle CPU takes a task that wakes into its queues itself, and not the CPU that wakes it (`ttwu_queue_cond`).
    #[inline(always)]
    fn is_taken_in(&self, cpu: u32, wake_flags: u64) -> bool {
        let is_new = wake_flags & SCX_WAKE_FORK != 0;
        !is_new && self.ops.flag(SCX_OPS_ALLOW_QUEUED_WAKEUP) && self.core.cpu(cpu).current == NONE
    }

    /// The CPU that wakes a task pays for the choice of a CPU, if there is one.
    #[inline(always)]
    fn pay_selection(&mut self, slot: u32, here: u32) {
        if self.core.entity(slot).allowed_count > 1 {
            self.core.pay(here, Overhead::Wakeup, self.core.machine.costs.wakeup_select.ns());
        }
    }

    /// The CPU that wakes a task interrupts the one to which the task goes, if that is another one and idle, and was not interrupted
    /// before for another task (`__smp_call_single_queue`). That one reacts when it is interrupted.
    #[inline(always)]
    fn pay_interrupt_of(&mut self, cpu: u32, here: u32) {
        let cost_ns = self.core.machine.costs.wakeup_remote.ns();
        if cost_ns == 0 || cpu == here {
            return;
        }
        let other = self.core.cpu(cpu);
        if other.current == NONE && !other.need_resched {
            self.core.pay(here, Overhead::Wakeup, cost_ns);
            self.core.told_ns = self.core.cpu(here).accounted_ns;
        }
    }

    /// The CPU for a waking task, and whether it was chosen: a task that may run on one CPU only has no choice.
    #[inline(always)]
    fn select_cpu(&mut self, slot: u32, here: u32, flags: u64) -> (u32, bool) {
        let entity = self.core.entity(slot);
        let previous = entity.cpu;
        if entity.allowed_count == 1 {
            return (self.core.allowed(slot).iter().next().unwrap_or(previous), false);
        }
        let address = entity.address;
        if !self.ops.has(Op::SelectCpu) {
            return (self.default_cpu(slot, here, flags), true);
        }
        let chosen = self.call_direct(Op::SelectCpu, here, here, slot, [address, previous as u64, flags]) as i32;
        if chosen < 0 || chosen as u32 >= self.core.cpus.len() {
            if !self.has_failed() {
                let name = self.core.world.name(slot);
                self.core.error(format!("invalid CPU {chosen} from ops.select_cpu() for {name}"));
            }
            return (previous, true);
        }
        self.core.entity_mut(slot).task_mut().scx.selected_cpu = chosen;
        if self.core.allowed(slot).contains(chosen as u32) {
            return (chosen as u32, true);
        }
        if flags & SCX_WAKE_FORK == 0 {
            self.core.events.select_cpu_fallback();
        }
        (self.core.allowed(slot).iter().next().unwrap_or(previous), true)
    }

    /// Without `ops.select_cpu`: the kernel's choice, and straight into the local queue if it is an idle CPU.
    fn default_cpu(&mut self, slot: u32, here: u32, flags: u64) -> u32 {
        let previous = self.core.entity(slot).cpu;
        if !self.core.keeps_idle {
            return previous;
        }
        match self.core.select_idle(slot, previous, here, flags) {
            Some(cpu) => {
                let entity = self.core.entity_mut(slot);
                entity.task_mut().scx.slice = SCX_SLICE_DFL;
                self.core.events.refill_slice_dfl();
                let entity = self.core.entity_mut(slot);
                entity.direct = Some(Direct { queue: SCX_DSQ_LOCAL, flags: 0 });
                cpu
            }
            None if self.core.allowed(slot).contains(previous) => previous,
            None => self.core.allowed(slot).iter().next().unwrap_or(previous),
        }
    }

    /// A task that wants a CPU and holds none meets the policy. What the policy does then runs on the CPU `here`, which wakes the
    /// task.
    #[inline(always)]
    pub fn enqueue_task(&mut self, slot: u32, here: u32, flags: u64) {
        self.begin_runnable(slot, here, flags);
        self.enqueue(slot, here, flags);
    }

    /// The policy hears that a task wants a CPU.
    #[inline(always)]
    pub fn begin_runnable(&mut self, slot: u32, here: u32, flags: u64) {
        let now = self.core.world.now_ns;
        let entity = self.core.entity_mut(slot);
        let (cpu, address) = (entity.cpu, entity.address);
        let task = entity.task_mut();
        task.scx.flags |= SCX_TASK_QUEUED as u32;
        task.scx.runnable_at = now / 1_000_000;
        (task.on_rq, task.se.on_rq, task.__state) = (1, 1, 0);
        self.core.begin_waiting(slot);
        self.core.count_policy_task(cpu, true);
        self.call_for(Op::Runnable, here, cpu, slot, [address, flags]);
    }

    /// Asks the policy where a runnable task is to go (`do_enqueue_task`).
    #[inline(always)]
    pub fn enqueue(&mut self, slot: u32, here: u32, flags: u64) {
        let is_online = self.core.is_online(self.core.entity(slot).cpu);
        let on_its_own = !self.ops.has(Op::Enqueue) || self.core.exit.is_some() || !is_online;
        if self.core.immediate.is_used {
            self.core.entity_mut(slot).is_immediate = false;
        }
        let entity = self.core.entity_mut(slot);
        let (cpu, address) = (entity.cpu, entity.address);
        if let Some(direct) = entity.direct.take().filter(|_| is_online) {
            return self.dispatch_direct(cpu, slot, direct, flags);
        }
        let is_leaving = entity.task().flags & PF_EXITING != 0 && is_online && !self.ops.flag(SCX_OPS_ENQ_EXITING);
        if on_its_own || is_leaving {
            entity.task_mut().scx.slice = SCX_SLICE_DFL;
            let queue = if is_online && !is_leaving { self.core.cpus.len() } else { cpu };
            if is_leaving {
                self.core.events.enq_skip_exiting();
            }
            self.core.events.refill_slice_dfl();
            self.core.enqueue_in(queue, slot, flags);
            return self.tell_left_custody();
        }
        entity.enqueues += 1;
        entity.custody = Custody::Queueing;
        self.call_direct(Op::Enqueue, here, cpu, slot, [address, flags]);
        let tells_custody = self.core.tells_custody;
        let entity = self.core.entity_mut(slot);
        match entity.direct.take() {
            Some(direct) => {
                let cpu = entity.cpu;
                self.dispatch_direct(cpu, slot, direct, flags);
            }
            None => {
                entity.custody = Custody::Policy;
                entity.in_custody = tells_custody;
            }
        }
    }

    /// Carries a direct dispatch of a task of a CPU out.
    #[inline(always)]
    fn dispatch_direct(&mut self, cpu: u32, slot: u32, direct: Direct, flags: u64) {
        let queue = self.core.resolve(cpu, direct.queue, slot);
        self.core.dispatch_from(cpu, queue, slot, direct.flags | flags & SCX_ENQ_WAKEUP);
        self.tell_left_custody();
    }

    /// The policy hears which tasks have left its custody, when the operation that moved them is over.
    #[inline(always)]
    pub fn tell_left_custody(&mut self) {
        if !self.core.left_custody.is_empty() {
            self.tell_each_left();
        }
    }

    #[cold]
    fn tell_each_left(&mut self) {
        for slot in std::mem::take(&mut self.core.left_custody) {
            let (cpu, address) = (self.core.entity(slot).cpu, self.core.entity(slot).address);
            self.call(Op::Dequeue, cpu, slot, [address, 0]);
        }
    }

    /// Takes a task that wants a CPU out of wherever it is, because something about it changes (`dequeue_task_scx`).
    #[inline(always)]
    pub fn dequeue_task(&mut self, slot: u32, flags: u64) {
        let entity = self.core.entity(slot);
        let (cpu, address) = (entity.cpu, entity.address);
        if std::mem::take(&mut self.core.entity_mut(slot).in_custody) {
            self.call(Op::Dequeue, cpu, slot, [address, flags]);
        }
        match self.core.entity(slot).custody {
            Custody::Policy => self.core.entity_mut(slot).custody = Custody::Kernel,
            Custody::Queueing => unreachable!("an enqueue is never interrupted"),
            Custody::Kernel => self.core.queues.remove(slot),
        }
        self.core.end_waiting(slot);
        if self.core.current(cpu) == Some(slot) {
            self.core.account(cpu);
            self.call(Op::Stopping, cpu, slot, [address, 0]);
        }
        self.call(Op::Quiescent, cpu, slot, [address, flags]);
        let task = self.core.entity_mut(slot).task_mut();
        task.scx.flags &= !(SCX_TASK_QUEUED as u32);
        (task.on_rq, task.se.on_rq) = (0, 0);
        self.core.count_policy_task(cpu, false);
    }
}
