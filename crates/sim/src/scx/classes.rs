//! A task changes its class: by itself (`__sched_setscheduler`), or because it inherits a priority (`rt_mutex_setprio`). A policy
//! sees its tasks come and go by that (`switching_to_scx`, `switched_from_scx`).

use super::consts::*;
use super::cpu::NONE;
use super::entity::State;
use super::life::{fill_class, realtime_priority};
use super::ops::Op;
use super::policy::Sim;
use schedlab_model::workload::Class;

impl Sim {
    /// Tasks have inherited priorities, or have them no longer.
    pub fn follow_inheritance(&mut self) {
        for slot in std::mem::take(&mut self.core.world.inherits) {
            self.follow_class(slot);
        }
    }

    fn follow_class(&mut self, slot: u32) {
        let class = self.core.world.class_for_now(slot);
        if class != self.core.entity(slot).class {
            self.set_class(slot, class, false);
        }
    }

    /// The task gives itself a class. It keeps a priority that it has inherited.
    pub fn set_own_class(&mut self, slot: u32, class: Class) {
        if self.core.world.tasks[slot].class == class {
            return;
        }
        self.core.world.set_own_class(slot, class);
        let now = self.core.world.class_for_now(slot);
        if now == self.core.entity(slot).class {
            self.note_class(slot, now, true)
        } else {
            self.set_class(slot, now, true)
        }
    }

    /// The task leaves the queue of its class, changes, and enters that of the other. `is_own`: it has chosen the class and
    /// not inherited it.
    fn set_class(&mut self, slot: u32, class: Class, is_own: bool) {
        let entity = self.core.entity(slot);
        let (cpu, state, before) = (entity.cpu, entity.state, entity.class);
        if state == State::Running {
            self.core.account(cpu);
        }
        match (before.is_realtime(), class.is_realtime()) {
            (true, _) => self.core.cpu_mut(cpu).realtime.retain(|&waiting| waiting != slot),
            (false, true) => self.leave_policy(slot, state),
            (false, false) => return self.while_dequeued(slot, |sim| sim.note_class(slot, class, is_own)),
        }
        self.core.end_reservation(slot);
        self.note_class(slot, class, is_own);
        if !class.is_realtime() {
            return self.enter_policy(slot, state);
        }
        match state {
            State::Sleeping => {}
            State::Runnable => self.enqueue_realtime(slot),
            State::Running => self.stay_as_realtime(slot, before),
        }
    }

    /// With a class of its own a task gets the weight of it, of which a policy hears that keeps the task (`reweight_task_scx`).
    fn note_class(&mut self, slot: u32, class: Class, is_own: bool) {
        let own = self.core.world.tasks[slot].class;
        let entity = self.core.entity_mut(slot);
        let hears = is_own && !entity.is_realtime() && !class.is_realtime();
        entity.class = class;
        let (cpu, address) = (entity.cpu, entity.address);
        let task = entity.task_mut();
        if is_own {
            fill_class(task, own, (task.static_prio - 120) as i8);
        }
        task.prio = if class.is_realtime() { realtime_priority(class) } else { task.static_prio };
        let weight = u64::from(task.scx.weight);
        if hears {
            self.call(Op::SetWeight, cpu, slot, [address, weight]);
        }
    }

    pub(super) fn leave_policy(&mut self, slot: u32, state: State) {
        if state != State::Sleeping {
            self.dequeue_task(slot, SCX_DEQ_SCHED_CHANGE);
        }
        let (cpu, address) = (self.core.entity(slot).cpu, self.core.entity(slot).address);
        self.call(Op::Disable, cpu, slot, [address]);
    }

    fn enter_policy(&mut self, slot: u32, state: State) {
        let (cpu, address) = (self.core.entity(slot).cpu, self.core.entity(slot).address);
        self.enable(slot, cpu);
        // It has not heard of changes meanwhile (`switching_to_scx`).
        self.call(Op::SetCpumask, cpu, slot, [address, self.core.allowed(slot).address]);
        match state {
            State::Sleeping => {}
            State::Runnable => {
                self.enqueue_task(slot, cpu, 0);
                if self.core.cpu(cpu).current == NONE {
                    self.core.request_resched(cpu);
                }
            }
            State::Running => {
                self.begin_runnable(slot, cpu, 0);
                self.set_next(cpu, slot, 0);
                self.core.request_resched(cpu);
            }
        }
        // What waits elsewhere may come to this CPU.
        let others = (0..self.core.cpus.len()).filter(|&other| !self.core.cpu(other).realtime.is_empty());
        others.collect::<Vec<_>>().into_iter().for_each(|other| self.core.push_realtime(other));
    }

    /// It has its CPU already. Those of a higher priority that wait there come first.
    fn stay_as_realtime(&mut self, slot: u32, before: Class) {
        let cpu = self.core.entity(slot).cpu;
        match self.core.entity(slot).class.reservation() {
            Some(reservation) => _ = self.core.begin_reservation(slot, reservation),
            None => self.core.begin_periods(),
        }
        self.core.entity_mut(slot).realtime_slice_ns = 0;
        self.refill(slot);
        if !before.is_realtime() {
            // The policy does not hear that it has lost the CPU: no other task comes (`put_prev_task_scx` without a next one).
            self.core.take_cpu(cpu);
        }
        self.core.mark_stale(cpu);
        if !self.core.cpu(cpu).realtime.is_empty() {
            self.core.request_resched(cpu);
        }
    }
}
