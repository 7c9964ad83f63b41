//! A task changes its class: by itself (`__sched_setscheduler`), or because it inherits a priority (`rt_mutex_setprio`). A policy
//! sees its tasks come and go by that (`switching_to_scx`, `switched_from_scx`).

use super::consts::*;
use super::cpu::NONE;
use super::entity::State;
use super::life::fill_weight;
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

    /// The task's class is what the world says.
    pub fn follow_class(&mut self, slot: u32) {
        let class = self.core.world.class_for_now(slot);
        if class != self.core.entity(slot).class {
            self.set_class(slot, class);
        }
    }

    /// The task leaves the queue of its class, changes, and enters that of the other.
    fn set_class(&mut self, slot: u32, class: Class) {
        let entity = self.core.entity(slot);
        let (cpu, state, before) = (entity.cpu, entity.state, entity.class);
        if state == State::Running {
            self.core.account(cpu);
        }
        match (before.is_realtime(), class.is_realtime()) {
            (true, _) => self.core.cpu_mut(cpu).realtime.retain(|&waiting| waiting != slot),
            (false, true) => self.leave_policy(slot, state),
            (false, false) => return self.while_dequeued(slot, |sim| sim.note_class(slot, class)),
        }
        self.note_class(slot, class);
        if !class.is_realtime() {
            return self.enter_policy(slot, state);
        }
        match state {
            State::Sleeping => {}
            State::Runnable => self.enqueue_realtime(slot),
            State::Running => self.stay_as_realtime(slot, before),
        }
    }

    fn note_class(&mut self, slot: u32, class: Class) {
        let entity = self.core.entity_mut(slot);
        entity.class = class;
        let priority = entity.priority();
        let task = entity.task_mut();
        fill_weight(task, class, (task.static_prio - 120) as i8);
        task.prio = if priority > 0 { 99 - i32::from(priority) } else { task.static_prio };
    }

    fn leave_policy(&mut self, slot: u32, state: State) {
        if state != State::Sleeping {
            self.dequeue_task(slot, SCX_DEQ_SCHED_CHANGE);
        }
        let (cpu, address) = (self.core.entity(slot).cpu, self.core.entity(slot).address);
        self.call(Op::Disable, cpu, slot, [address]);
    }

    fn enter_policy(&mut self, slot: u32, state: State) {
        let cpu = self.core.entity(slot).cpu;
        if self.core.entity(slot).is_shown {
            self.enable(slot, cpu);
        } else {
            self.show_to_policy(slot, cpu, false);
        }
        match state {
            State::Sleeping => {}
            State::Runnable => {
                self.enqueue_task(slot, 0);
                if self.core.cpu(cpu).current == NONE {
                    self.core.request_resched(cpu);
                }
            }
            State::Running => {
                self.begin_runnable(slot, 0);
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
        self.core.begin_periods();
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
