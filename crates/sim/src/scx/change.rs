//! Something about a task changes: its nice value, the CPUs on which it may run, its control group (`set_user_nice`,
//! `__set_cpus_allowed_ptr`).

use super::consts::*;
use super::cpu::NONE;
use super::entity::State;
use super::layout::{OwnMask, Pointer};
use super::life::{fill_weight, nice_priority};
use super::ops::Op;
use super::policy::Sim;
use schedlab_model::workload::{Change, Step};
use schedlab_model::{cpuset::CpuSet, trace::*};

impl Sim {
    /// The task that runs on a CPU changes itself, as its step says, and continues.
    pub fn change(&mut self, cpu: u32, slot: u32) {
        let step = self.core.world.change_of(slot);
        self.core.active.push_front(cpu);
        self.core.this_cpu = cpu;
        let cpus = match step {
            Step::Set(change) => self.change_itself(slot, change),
            Step::Join(id) => self.join(slot, id),
            Step::Adjust(id, change) => {
                self.adjust(id, &change, cpu);
                None
            }
            _ => unreachable!("no other step changes how tasks are scheduled"),
        };
        if let Some(cpus) = cpus.filter(|cpus| self.must_leave(slot, cpus)) {
            self.drive_off(cpu, slot, &cpus);
        }
    }

    /// What a task changes about itself; gives the CPUs that it may use from now on if it chooses some.
    fn change_itself(&mut self, slot: u32, change: Change) -> Option<CpuSet> {
        if let Some(class) = change.class {
            self.set_own_class(slot, class);
        }
        let entity = &self.core.entity(slot).task().se;
        let own_slice = (entity.custom_slice == 1).then_some(entity.slice);
        if let Some(slice) = change.slice.filter(|slice| own_slice != Some(slice.ns())) {
            self.while_dequeued(slot, |sim| {
                let task = sim.core.entity_mut(slot).task_mut();
                (task.se.custom_slice, task.se.slice) = (1, slice.ns());
            });
        }
        // Scenarios do not say it of real-time tasks, for which it means nothing.
        if let Some(nice) = change.nice.filter(|_| !self.core.entity(slot).is_realtime()) {
            self.set_nice(slot, nice);
        }
        let chosen = change.cpus?;
        if self.core.offline > 0 && self.core.online_of(&chosen).is_empty() {
            // Refused (`__set_cpus_allowed_ptr`: EINVAL).
            return None;
        }
        self.core.cgroups.chosen.insert(slot, chosen);
        let cpus = self.cpus_in(slot, self.core.entity(slot).control_group);
        self.set_cpus(slot, self.core.set_number(&cpus));
        Some(cpus)
    }

    /// Sets the CPUs on which a task may run, by the index of the mask.
    pub fn set_allowed(&mut self, slot: u32, mask: u32) {
        let (shared, count, first) = {
            let mask = &self.core.allowed[mask as usize];
            (mask.address, mask.len(), mask.word(0))
        };
        let own = self.core.keeps_details.then(|| self.core.own_mask_of(slot));
        let entity = self.core.entity_mut(slot);
        (entity.allowed, entity.allowed_count) = (mask, count);
        let task = entity.task_mut();
        task.cpus_mask = OwnMask(first);
        (task.cpus_ptr, task.nr_cpus_allowed) = (Pointer(own.unwrap_or(shared)), count as i32);
    }

    /// Sets the tasks free that were held on the CPU on which they started.
    pub fn release_held(&mut self) {
        self.release_is_set = false;
        for slot in std::mem::take(&mut self.held) {
            let Some(task) = self.core.world.tasks.get(slot) else { continue };
            let role = task.role.0;
            self.core.this_cpu = self.core.entity(slot).cpu;
            self.set_cpus(slot, role);
        }
    }

    /// The policy hears of it after the task has left its queue and before it comes back (`set_cpus_allowed_scx`), and
    /// not at all if these are the CPUs that the task has (`__set_cpus_allowed_ptr_locked`).
    pub fn set_cpus(&mut self, slot: u32, mask: u32) {
        if self.core.allowed(slot).is_same(&self.core.allowed[mask as usize]) {
            return;
        }
        self.while_dequeued(slot, |sim| {
            sim.set_allowed(slot, mask);
            let (address, mask) = (sim.core.entity(slot).address, sim.core.allowed(slot).address);
            if !sim.core.entity(slot).is_realtime() {
                sim.call(Op::SetCpumask, sim.core.entity(slot).cpu, slot, [address, mask]);
            }
        });
    }

    /// The same (`reweight_task_scx`); the nice value that a task has is no news either (`set_user_nice`).
    fn set_nice(&mut self, slot: u32, nice: i8) {
        if self.core.entity(slot).task().static_prio == nice_priority(nice) {
            return;
        }
        self.while_dequeued(slot, |sim| {
            let entity = sim.core.entity_mut(slot);
            let (class, address, cpu) = (entity.class, entity.address, entity.cpu);
            fill_weight(entity.task_mut(), class, nice);
            let weight = u64::from(sim.core.entity(slot).task().scx.weight);
            sim.call(Op::SetWeight, cpu, slot, [address, weight]);
        });
    }

    /// Takes a task out of its queue for a change (`sched_change_begin`, `sched_change_end`).
    pub fn while_dequeued(&mut self, slot: u32, change: impl FnOnce(&mut Sim)) {
        let entity = self.core.entity(slot);
        let (cpu, state, realtime) = (entity.cpu, entity.state, entity.is_realtime());
        let requeue = state != State::Sleeping && !realtime;
        if requeue {
            self.dequeue_task(slot, SCX_DEQ_SCHED_CHANGE);
        }
        change(self);
        match state {
            State::Runnable if requeue => self.enqueue_task(slot, cpu, 0),
            // It never leaves its CPU, and so the policy is not asked where it is to go. If its slice is over the CPU chooses
            // (`task_tick_scx`).
            State::Running if requeue => {
                self.begin_runnable(slot, cpu, 0);
                self.set_next(cpu, slot, 0);
            }
            _ => {}
        }
    }

    /// The policy hears that the CPU's own thread takes it.
    fn release_to_stopper(&mut self, cpu: u32) {
        if self.ops.has(Op::CpuRelease) || self.ops.has(Op::CpuAcquire) {
            match self.core.stopper() {
                Ok(stopper) => self.release(cpu, SCX_CPU_PREEMPT_STOP, stopper),
                Err(error) => self.core.error(format!("it takes too much memory: {error}")),
            }
        }
    }

    /// A running task may not stay: the CPU's own thread takes it off and puts it into the queue of another CPU
    /// (`migration_cpu_stop`, `move_queued_task`), while it is runnable all the time.
    fn drive_off(&mut self, cpu: u32, slot: u32, cpus: &CpuSet) {
        self.leave_to_stopper(cpu, slot);
        // From the task to that thread. The CPU pays for the switch to the next task when it chooses.
        self.core.pay(cpu, Overhead::Switch, self.core.machine.costs.switch.ns());
        self.schedule(cpu, Some(Reason::Preempted));
        let present = self.core.online_of(cpus);
        let to = self.core.distribute(cpu, &present);
        self.send_to(slot, to);
    }

    /// The CPU's own thread takes a running task off its CPU, which has not chosen another one yet.
    pub(super) fn leave_to_stopper(&mut self, cpu: u32, slot: u32) {
        self.core.account(cpu);
        let (realtime, address) = (self.core.entity(slot).is_realtime(), self.core.entity(slot).address);
        if !realtime {
            self.call(Op::Stopping, cpu, slot, [address, 1]);
            self.core.begin_waiting(slot);
            self.release_to_stopper(cpu);
        }
        self.core.entity_mut(slot).state = State::Runnable;
    }

    /// A task that has left its CPU comes to another one's queue.
    pub(super) fn send_to(&mut self, slot: u32, to: u32) {
        self.core.migrate(slot, to);
        if self.core.entity(slot).is_realtime() {
            return self.enqueue_realtime(slot);
        }
        self.enqueue(slot, to, 0);
        if self.core.cpu(to).current == NONE {
            self.core.request_resched(to);
        }
    }
}
