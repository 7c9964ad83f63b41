//! A CPU chooses: which task leaves, which comes (`__schedule`, `balance_one`, `put_prev_task_scx`, `pick_task_scx`,
//! `set_next_task_scx`).

use super::consts::*;
use super::cpu::NONE;
use super::entity::{Custody, Entity, State};
use super::ops::Op;
use super::policy::Sim;
use crate::world::UNSEEN;
use schedlab_model::time::Time;
use schedlab_model::trace::*;

/// A CPU that has searched and will switch.
pub(super) struct Searched {
    pub(super) cpu: u32,
    /// The slot of the task that leaves it.
    previous: u32,
    left: Option<Reason>,
}

/// What the search for a task found.
#[derive(PartialEq, Eq)]
enum Found {
    /// The running task continues.
    Keep,
    /// The local queue has a task.
    Local,
    /// Nothing.
    Nothing,
}

impl Sim {
    /// The CPU chooses again. `left` says why the running task leaves it, if it cannot continue.
    pub fn schedule(&mut self, cpu: u32, left: Option<Reason>) {
        if let Some(searched) = self.search(cpu, left) {
            self.put_back_and_switch(searched);
        }
        self.do_deferred();
        if !self.core.is_online(cpu) {
            self.push_off(cpu);
        }
    }

    /// Moves that other CPUs have to make for a policy.
    pub(super) fn do_deferred(&mut self) {
        if !self.core.deferred.is_empty() {
            self.core.carry_deferred_out();
            self.tell_left_custody();
        }
    }

    /// The first half of a choice. The second is left unless the running task continues or a real-time task came.
    pub(super) fn search(&mut self, cpu: u32, left: Option<Reason>) -> Option<Searched> {
        self.core.account(cpu);
        self.core.this_cpu = cpu;
        let c = self.core.cpu_mut(cpu);
        (c.need_resched, c.told_ns) = (false, 0);
        let previous = c.current;
        if self.core.realtime.exists && self.schedule_realtime(cpu, previous, left) {
            return None;
        }
        let found = self.balance(cpu, previous);
        if found == Found::Nothing && self.core.stop_serving(cpu) && self.choose_realtime(cpu, previous, left) {
            return None;
        }
        if found == Found::Keep {
            // The task that took the rest of its slice did not get the CPU.
            self.core.cpu_mut(cpu).preempted = false;
            self.core.refill_slice(previous);
            self.core.mark_stale(cpu);
            self.continue_steps(cpu);
            return None;
        }
        Some(Searched { cpu, previous, left })
    }

    /// The second half of a choice.
    pub(super) fn put_back_and_switch(&mut self, Searched { cpu, previous, left }: Searched) {
        self.core.this_cpu = cpu;
        let preempted = std::mem::take(&mut self.core.cpu_mut(cpu).preempted);
        let reason = left.unwrap_or(if preempted { Reason::Preempted } else { Reason::SliceEnd });
        // Which task is next is known before the policy is asked where the previous task is to go (`put_prev_set_next_task`).
        let next = self.core.queues.first(cpu).unwrap_or(NONE);
        if previous != NONE && self.core.entity(previous).state == State::Running {
            self.put_previous(cpu, previous, next == NONE);
        }
        self.switch(cpu, previous, next, reason);
        if next == NONE && !self.core.queues.is_empty(cpu) {
            // The policy put the last task back into the local queue. The CPU has been idle in between, as in a kernel.
            self.core.request_resched(cpu);
        }
    }

    /// Finds the CPU something to run (`balance_one`).
    #[inline(always)]
    fn balance(&mut self, cpu: u32, previous: u32) -> Found {
        self.core.balancing = cpu;
        let found = self.find_task(cpu, previous);
        self.core.balancing = NONE;
        if self.core.immediate.is_used && found != Found::Nothing && self.core.queues.get(cpu).length > 1 {
            self.core.ask_for_immediate(cpu);
        }
        found
    }

    #[inline(always)]
    fn find_task(&mut self, cpu: u32, previous: u32) -> Found {
        let c = self.core.cpu_mut(cpu);
        c.taken_by_realtime = false;
        if std::mem::take(&mut c.is_released) {
            self.call(Op::CpuAcquire, cpu, NONE, [cpu as u64, 0]);
        }
        let mut runs_on = false;
        if previous != NONE {
            let entity = self.core.entity(previous);
            runs_on = entity.state == State::Running && !entity.is_realtime();
            if runs_on && entity.task().scx.slice > 0 {
                return Found::Keep;
            }
        }
        let global = self.core.cpus.len();
        if !self.core.queues.is_empty(cpu) || self.core.move_to_local(cpu, global, 0).is_moved {
            return Found::Local;
        }
        if self.ops.has(Op::Dispatch)
            && self.core.is_online(cpu)
            && let Some(found) = self.dispatch(cpu, previous, runs_on)
        {
            return found;
        }
        if runs_on && (!self.ops.flag(SCX_OPS_ENQ_LAST) || self.core.exit.is_some()) {
            self.core.events.dispatch_keep_last();
            return Found::Keep;
        }
        Found::Nothing
    }

    /// Asks the policy for tasks until one is there or it has none.
    #[inline(always)]
    fn dispatch(&mut self, cpu: u32, previous: u32, runs_on: bool) -> Option<Found> {
        let global = self.core.cpus.len();
        // A task that was driven off is not the previous one: the CPU's own thread is, which took it off.
        let was_driven_off = |entity: &Entity| entity.state == State::Runnable;
        let seen = |entity: &Entity| if entity.is_realtime() || was_driven_off(entity) { 0 } else { entity.address };
        let argument = if previous == NONE { 0 } else { seen(self.core.entity(previous)) };
        for _ in 0..SCX_DSP_MAX_LOOPS {
            self.core.dispatched = false;
            self.call_here(Op::Dispatch, cpu, previous, [cpu as u64, argument]);
            self.core.finish_dispatches(cpu);
            self.tell_left_custody();
            if runs_on && self.core.entity(previous).task().scx.slice > 0 {
                return Some(Found::Keep);
            }
            if !self.core.queues.is_empty(cpu) || self.core.move_to_local(cpu, global, 0).is_moved {
                return Some(Found::Local);
            }
            if !self.core.dispatched || self.core.exit.is_some() {
                return None;
            }
        }
        // The policy dispatches elsewhere all the time: let others continue and come back.
        self.core.kicks.push_back((cpu, 0));
        None
    }

    /// The running task stays runnable but has to leave its CPU; `is_last` if the CPU idles next.
    #[inline(always)]
    pub fn put_previous(&mut self, cpu: u32, slot: u32, is_last: bool) {
        let address = self.core.entity(slot).address;
        self.call(Op::Stopping, cpu, slot, [address, 1]);
        let entity = self.core.entity_mut(slot);
        entity.state = State::Runnable;
        let has_slice = entity.task().scx.slice > 0;
        self.core.begin_waiting(slot);
        // Only a higher class takes a task off its CPU before its slice is over: it continues when that is done.
        if has_slice {
            return match self.core.entity(slot).is_immediate {
                true => self.enqueue_again(slot, SCX_TASK_REENQ_PREEMPTED),
                false => self.core.enqueue_in(cpu, slot, SCX_ENQ_HEAD),
            };
        }
        self.enqueue(slot, cpu, if is_last { SCX_ENQ_LAST } else { 0 });
    }

    /// From one task to another, either of which may be none.
    #[inline(always)]
    pub fn switch(&mut self, cpu: u32, previous: u32, next: u32, reason: Reason) {
        if previous == next {
            // Idle and still idle: the CPU is free to be chosen again.
            debug_assert_eq!(next, NONE, "a task that leaves its CPU is not the next one");
            if self.core.keeps_idle {
                self.core.idle.set(cpu);
            }
            return;
        }
        let reason = if previous == NONE { Reason::Idle } else { reason };
        self.tell_switch(cpu, previous, next, reason);
        self.leave_cpu(previous, reason);
        self.core.set_current(cpu, next);
        self.core.mark_stale(cpu);
        if (previous == NONE) != (next == NONE) {
            self.update_idle(cpu, next == NONE);
        }
        if next != NONE {
            self.core.refill_slice(next);
            let idle_exit = if previous == NONE { self.core.idle_exit(cpu) } else { Time::ZERO };
            self.set_next(cpu, next, (self.core.machine.costs.switch + idle_exit).ns());
            self.continue_steps(cpu);
        }
    }

    /// The CPU has no task in the trace while an unseen one has it.
    #[inline(always)]
    fn tell_switch(&mut self, cpu: u32, previous: u32, next: u32, reason: Reason) {
        let seen = |slot: u32| (slot != NONE).then(|| self.core.entity(slot).id).filter(|id| *id != UNSEEN);
        let (previous, next) = (seen(previous), seen(next));
        if previous.is_some() || next.is_some() {
            let reason = if previous.is_none() { Reason::Idle } else { reason };
            self.core.world.emit(cpu, EventKind::Switch { previous, reason, next });
        }
    }

    fn leave_cpu(&mut self, previous: u32, reason: Reason) {
        if previous == NONE {
            return;
        }
        let entity = self.core.entity_mut(previous);
        let task = entity.task_mut();
        task.on_cpu = 0;
        match reason {
            Reason::SliceEnd | Reason::Preempted | Reason::Idle => task.nivcsw += 1,
            Reason::Blocked | Reason::Yielded | Reason::Exited => task.nvcsw += 1,
        }
    }

    /// A task gets a CPU (`set_next_task_scx`), after a switch that costs something. What the switch leaves of a short
    /// slice is what the task has, at least a nanosecond: in a kernel `running` comes before the switch.
    #[inline(always)]
    pub fn set_next(&mut self, cpu: u32, slot: u32, switch_ns: u64) {
        let now = self.core.world.now_ns;
        let entity = self.core.entity_mut(slot);
        let moved = std::mem::take(&mut entity.moved);
        let least_slice = entity.task().scx.slice.min(1);
        if !entity.has_run {
            self.begin_life(slot);
        }
        self.core.pay(cpu, Overhead::Switch, switch_ns);
        if moved {
            self.core.pay(cpu, Overhead::Migration, self.core.machine.costs.migration.ns());
        }
        self.core.queues.remove(slot);
        let entity = self.core.entity_mut(slot);
        let slice = &mut entity.task_mut().scx.slice;
        *slice = (*slice).max(least_slice);
        (entity.state, entity.has_run, entity.custody) = (State::Running, true, Custody::Kernel);
        let address = entity.address;
        let realtime = entity.is_realtime();
        let task = entity.task_mut();
        (task.on_cpu, task.se.exec_start) = (1, now);
        if realtime {
            return;
        }
        self.core.has_scheduled = true;
        self.core.end_waiting(slot);
        self.core.entity_mut(slot).task_mut().sched_info.pcount += 1;
        self.call(Op::Running, cpu, slot, [address]);
        self.core.mark_stale(cpu);
    }

    /// A task has a CPU for the first time.
    #[cold]
    fn begin_life(&mut self, slot: u32) {
        let creator = self.core.world.owing_creator(slot);
        if let Some(creator) = creator.filter(|&creator| self.core.entity(creator).state != State::Running) {
            self.core.world.copy_first(slot, creator);
        }
    }

    fn update_idle(&mut self, cpu: u32, idle: bool) {
        if idle {
            self.core.cpu_mut(cpu).idle_since_ns = self.core.world.now_ns;
        }
        if self.core.keeps_idle {
            if idle {
                self.core.idle.set(cpu);
            } else {
                self.core.idle.clear(cpu);
            }
        }
        self.call(Op::UpdateIdle, cpu, NONE, [cpu as u64, idle as u64]);
    }

    /// The CPU's task continues; if it has no work left, with its next step.
    pub fn continue_steps(&mut self, cpu: u32) {
        if self.core.current(cpu).is_some_and(|slot| self.core.world.tasks[slot].work_ns == 0) {
            self.core.active.push_back(cpu);
        }
    }

    /// A kick that a policy asked for.
    pub fn kick(&mut self, cpu: u32, flags: u64) {
        if !self.core.is_online(cpu) {
            return;
        }
        match self.core.current(cpu) {
            None => self.core.request_resched(cpu),
            Some(_) if flags & SCX_KICK_IDLE != 0 => {}
            Some(slot) if self.core.entity(slot).is_realtime() => {}
            Some(slot) => {
                if flags & SCX_KICK_PREEMPT != 0 {
                    self.core.take_slice(cpu, slot);
                }
                self.core.pay_preemption(cpu);
                self.core.request_resched(cpu);
            }
        }
    }
}
