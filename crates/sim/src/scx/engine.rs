//! The run: takes what happens next, lets it have all its consequences, continues.

use super::consts::SCX_EXIT_ERROR_STALL;
use super::cpu::{Cpu, NONE};
use super::ops::Op;
use super::policy::{Halt, Sim};
use super::restless::Unrest;
use crate::error::{PolicyFailure, RunError};
use crate::world::{Wake, timers::Due};
use crate::{Control, Outcome};
use schedlab_model::{time::Time, trace::*, workload::Class};

/// How many turns, or policy instructions, pass between two checks for a stop. It makes no difference to what
/// happens.
const TURNS: u64 = 1 << 14;
const INSTRUCTIONS: u64 = 1 << 24;

impl Sim {
    /// Runs to the end of the workload, handing events to `sink`.
    pub fn run(&mut self, sink: &mut dyn Sink, control: &mut dyn Control) -> Result<Outcome, RunError> {
        let end = self.core.world.workload.run.duration.ns();
        self.interrupt_at = INSTRUCTIONS;
        self.start();
        let mut partial = false;
        let mut turns: u64 = 0;
        while !self.is_over() {
            turns += 1;
            let has_worked = self.vm.instructions() >= self.interrupt_at;
            if (has_worked || turns.is_multiple_of(TURNS)) && !self.look_up(control) {
                partial = true;
                break;
            }
            if self.is_interrupted {
                self.is_interrupted = false;
                self.settle();
            } else if !self.turn(end, control) {
                break;
            }
            self.core.world.hand_on(sink, false);
        }
        self.core.world.hand_on(sink, true);
        if !partial {
            self.refuse_idleness();
        }
        let world = &self.core.world;
        self.outcome(sink, if partial { world.now_ns } else { world.end_ns() }, partial)
    }

    /// Ends in an error if the policy had tasks that wanted a CPU and never ran one. A scenario may let tasks starve for longer
    /// than the run (`watchdog`), but a policy that schedules nothing at all is a mistake. What real-time tasks do says
    /// nothing about it: they do not meet the policy.
    fn refuse_idleness(&mut self) {
        if self.is_over() || self.core.has_scheduled {
            return;
        }
        let end_ns = self.core.world.end_ns();
        let Some((slot, since_ns)) = self.core.never_scheduled(end_ns) else { return };
        self.core.world.now_ns = end_ns.max(self.core.world.now_ns);
        let message = format!(
            "it has been ready since {}, and no task of the policy has run until the end: the policy never dispatches",
            Time(since_ns)
        );
        self.core.fail(SCX_EXIT_ERROR_STALL, 0, slot, message);
    }

    /// Whether the run is to continue; it is asked again after some work of the policy.
    fn look_up(&mut self, control: &mut dyn Control) -> bool {
        self.interrupt_at = self.vm.instructions() + INSTRUCTIONS;
        control.go_on(Time(self.core.world.now_ns))
    }

    /// Takes the next thing that happens before `end`. False: there is none.
    #[inline(always)]
    fn turn(&mut self, end: u64, control: &mut dyn Control) -> bool {
        let timer_at = self.core.world.timers.next_ns();
        let (cpu_at, cpu) = self.core.cpu_timers.next();
        let at = timer_at.min(cpu_at);
        // What is simulated at an instant comes before what the policy's program does then.
        let is_over = cpu_at == u64::MAX && self.core.world.is_over();
        if self.companion_at < at.min(end) && !is_over {
            self.core.world.now_ns = self.core.world.now_ns.max(self.companion_at);
            self.companion_works(control);
            self.settle();
            return true;
        }
        if at >= end || is_over {
            return false;
        }
        if at >= self.throttling.warm_at_ns {
            self.end_limits_warmup();
        }
        debug_assert!(at >= self.core.world.now_ns, "time goes back from {} to {at}", self.core.world.now_ns);
        self.core.world.now_ns = at;
        if timer_at <= cpu_at {
            let due = self.core.world.timers.pop().expect("a timer is due");
            self.gathers = due.is_interrupt() && self.core.world.timers.interrupts_at(at);
            if let Some(wake) = Wake::by(due) {
                self.wake(wake);
            } else if let Some(due) = self.core.world.due(due) {
                self.scheduler_timer(due);
            }
        } else {
            self.gathers = false;
            self.cpu_event(cpu);
        }
        self.settle();
        true
    }

    fn start(&mut self) {
        self.core.keeps_idle = !self.ops.has(Op::UpdateIdle) || self.ops.flag(super::consts::SCX_OPS_KEEP_BUILTIN_IDLE);
        self.core.max_batch = self.ops.max_batch;
        self.core.tells_custody = self.ops.has(Op::Dequeue);
        self.core.immediate.always = self.ops.flag(super::consts::SCX_OPS_ALWAYS_ENQ_IMMED);
        if self.ops.flag(super::consts::SCX_OPS_BUILTIN_IDLE_PER_NODE)
            && let Err(error) = self.core.idle.split(&mut self.core.masks)
        {
            self.core.error(format!("it takes too much memory: {error}"));
        }
        self.call_init();
        for cpu in 0..self.core.cpus.len() {
            if self.core.keeps_idle {
                self.core.idle.set(cpu);
            }
            self.call(Op::UpdateIdle, cpu, NONE, [cpu as u64, 1]);
        }
        self.begin_unseen();
        let workload = self.core.world.workload.clone();
        for (index, event) in workload.hotplug.iter().enumerate() {
            self.core.world.timers.push(event.at.ns(), Due::Hotplug(index as u32));
        }
        self.core.world.timers.push(self.patience_ns(), Due::Watchdog);
        self.settle();
    }

    fn scheduler_timer(&mut self, due: Due) {
        match due {
            Due::Release => self.release_held(),
            Due::RealtimePeriod => self.begin_realtime_period(),
            Due::Replenish(slot) => self.replenish(slot),
            Due::Policy(..) if self.restless.goes_on(&self.core.world) == Some(Unrest::Policy) => {
                let message =
                    "its timer is due again and again and no time goes by: each time asks for the next at once";
                self.core.fail(SCX_EXIT_ERROR_STALL, 0, NONE, message);
            }
            Due::Policy(index, generation) => self.fire_timer(index, generation),
            Due::Watchdog => self.watch(),
            Due::Hotplug(index) => self.plug(index),
            Due::Statistics(cpu) => {
                let is_busy = self.core.current(cpu.0).is_some();
                self.core.world.keep_statistics(cpu, is_busy);
            }
            Due::Birth(_) | Due::Arrival(_) | Due::Messages(_) | Due::Timer(_) | Due::Device(_) | Due::GracePeriod => {
                unreachable!("the world's own")
            }
        }
    }

    /// Something ended on a CPU: work, slice, or a payment.
    #[inline(always)]
    pub(super) fn cpu_event(&mut self, cpu: u32) {
        self.core.account(cpu);
        self.core.mark_stale(cpu);
        if self.core.realtime.exists {
            self.core.look_at_limit(cpu);
        }
        let Some(slot) = self.core.current(cpu) else {
            self.choose(cpu);
            return;
        };
        let ticks = self.ticks_are_felt && self.core.machine.ticks_at(self.core.world.now_ns);
        if ticks {
            self.tick(cpu, slot);
        }
        let works = self.core.world.tasks[slot].work_ns > 0;
        let slice_is_over = self.slice_is_over(slot);
        if ticks {
            // What it takes belongs to the next tick's time: this one has looked at the slice before it.
            self.core.pay(cpu, Overhead::Tick, self.core.machine.costs.tick.ns());
        }
        if self.choose_with_others(cpu) {
            return;
        }
        if slice_is_over {
            if works && !self.has_more_to_do() {
                return self.end_slice(cpu);
            }
            // A slice that ends with the work is looked at after it: what the task does next may be to sleep.
            self.slices_over.push(cpu);
        }
        if !works {
            self.do_steps(cpu);
        }
    }

    /// The timer tick, for policies that have `ops.tick`, and for traces.
    fn tick(&mut self, cpu: u32, slot: u32) {
        self.core.cpu_mut(cpu).ticks += 1;
        self.core.world.emit(cpu, EventKind::Tick);
        if !self.core.entity(slot).is_realtime() {
            let address = self.core.entity(slot).address;
            self.call(Op::Tick, cpu, slot, [address]);
        }
    }

    /// Lets everything happen that follows at this instant, or as much of it as can be without being interrupted.
    #[inline(always)]
    fn settle(&mut self) {
        if self.has_more_to_do() {
            self.do_what_follows();
            if self.is_interrupted {
                return;
            }
        }
        if !self.held.is_empty() && !self.release_is_set {
            // Everything that starts at this instant starts before anything is set free.
            self.release_is_set = true;
            self.core.world.timers.push(self.core.world.now_ns, Due::Release);
        }
        while let Some(cpu) = self.core.stale.pop() {
            self.set_timer(cpu);
        }
    }

    /// Sets a CPU's timer again.
    #[inline(always)]
    fn set_timer(&mut self, cpu: u32) {
        self.core.cpu_mut(cpu).stale_timer = false;
        let at = self.next_end(cpu);
        self.core.cpu_timers.set(cpu, at);
    }

    /// Whether something is left to do at this instant.
    #[inline]
    fn has_more_to_do(&self) -> bool {
        self.core.active.len() | self.slices_over.len() != 0 || self.has_to_arrive() || self.is_asked_to_choose()
    }

    /// Whether tasks are left that are to be runnable.
    #[inline]
    fn has_to_arrive(&self) -> bool {
        self.core.world.wakes.len() | self.core.world.births.len() != 0
    }

    /// Whether CPUs are asked for something that comes before the next step of a task.
    #[inline]
    fn is_asked_to_choose(&self) -> bool {
        self.core.resched.len() | self.core.kicks.len() | self.core.reenqueue.len() != 0
    }

    #[inline(always)]
    fn do_what_follows(&mut self) {
        loop {
            if self.is_over() {
                return;
            }
            if self.vm.instructions() >= self.interrupt_at {
                self.is_interrupted = true;
                return;
            }
            if let Some(unrest) = self.restless.goes_on(&self.core.world) {
                return self.end_restlessness(unrest);
            }
            if self.has_to_arrive() {
                self.do_arrival();
            } else if self.gathers {
                return;
            } else if self.is_asked_to_choose() {
                self.do_as_asked();
            } else if let Some(cpu) = self.core.active.pop_front() {
                self.do_steps(cpu);
            } else if let Some(cpu) = self.slices_over.pop() {
                // After all else: tasks that became ready now queue first.
                if self.core.current(cpu).is_some_and(|slot| self.slice_is_over(slot)) {
                    self.end_slice(cpu);
                }
            } else {
                return;
            }
        }
    }

    /// No time goes by, for a while, for too long or for ever.
    #[cold]
    fn end_restlessness(&mut self, unrest: Unrest) {
        let running = (0..self.core.cpus.len()).find_map(|cpu| self.core.current(cpu));
        match (unrest, running) {
            (Unrest::Pause, _) => (self.is_interrupted, self.interrupt_at) = (true, 0),
            (Unrest::Scenario, Some(slot)) => self.stop(Halt::Stuck(self.core.world.tasks[slot].role)),
            _ => {
                let message = "its CPUs choose again and again, no task does a step and no time goes by: each choice \
                               asks for the next";
                self.core.fail(SCX_EXIT_ERROR_STALL, 0, NONE, message);
            }
        }
    }

    /// The next task that is to be runnable is.
    fn do_arrival(&mut self) {
        if let Some(wake) = self.core.world.wakes.pop_front() {
            self.wake(wake);
        } else if let Some(birth) = self.core.world.births.pop_front() {
            self.give_birth(birth);
        }
    }

    /// Does the first of what CPUs are asked for.
    fn do_as_asked(&mut self) {
        if let Some(cpu) = self.core.resched.pop_front() {
            self.choose(cpu);
        } else if let Some(asked) = self.core.reenqueue.pop_front() {
            self.reenqueue(asked);
        } else if let Some((cpu, flags)) = self.core.kicks.pop_front() {
            self.kick(cpu, flags);
        }
    }

    /// A CPU that has to choose does, or will when it can. Whether it did.
    fn choose(&mut self, cpu: u32) -> bool {
        let chooses = self.chooses_now(cpu);
        if chooses {
            self.schedule(cpu, None);
        }
        chooses
    }

    /// The same, with all others that choose at this instant.
    fn choose_with_others(&mut self, cpu: u32) -> bool {
        let chooses = self.chooses_now(cpu);
        if chooses {
            self.choose_together(cpu);
        }
        chooses
    }

    /// Whether a CPU has to choose, and can at this instant.
    fn chooses_now(&mut self, cpu: u32) -> bool {
        if !self.core.cpu(cpu).need_resched {
            return false;
        }
        let can = self.core.cpu(cpu).chooses_at_ns() <= self.core.world.now_ns && !self.is_kept_by_call(cpu);
        if !can {
            self.core.mark_stale(cpu);
        }
        can
    }

    /// Whether the CPU's task is in a call, and the CPU chooses only at its end.
    #[inline]
    fn is_kept_by_call(&self, cpu: u32) -> bool {
        let world = &self.core.world;
        !self.core.machine.mechanisms.preempt_in_calls
            && self.core.current(cpu).is_some_and(|slot| world.is_in_call(slot))
    }

    /// When something ends on a CPU if nothing else happens before.
    fn next_end(&self, cpu: u32) -> u64 {
        let c = self.core.cpu(cpu);
        let now_ns = self.core.world.now_ns;
        let work_end = self.next_end_of_work(c);
        // The ends of a slice and of a limit have it choose, which it is about to do.
        let chooses_at = if c.need_resched { c.chooses_at_ns().max(now_ns) } else { self.next_end_of_right(cpu, c) };
        work_end.min(chooses_at)
    }

    /// When the CPU's task runs out of work, or the next tick if the policy has `ops.tick`.
    fn next_end_of_work(&self, c: &Cpu) -> u64 {
        if c.current == NONE {
            return u64::MAX;
        }
        let (now_ns, machine) = (self.core.world.now_ns, &self.core.machine);
        // From when it was last accounted: what it has done since is not yet taken off.
        let work_end = c.accounted_ns.saturating_add(self.core.world.tasks[c.current].work_ns).max(now_ns);
        if self.ticks_are_felt { work_end.min(machine.next_tick(now_ns + 1)) } else { work_end }
    }

    /// When the CPU's task loses its right to run: its slice ends, or the limit of its class.
    fn next_end_of_right(&self, cpu: u32, c: &Cpu) -> u64 {
        let from = c.accounted_ns.max(self.core.world.now_ns);
        let limit_due = if self.core.realtime.exists { self.core.limit_due_ns(cpu, from) } else { u64::MAX };
        if c.current == NONE {
            return limit_due;
        }
        let entity = self.core.entity(c.current);
        let slice = match entity.class {
            Class::Deadline(_) => self.core.reserved_ns(c.current),
            Class::RoundRobin(_) => entity.realtime_slice_ns,
            Class::Fifo(_) => u64::MAX,
            Class::Other | Class::Batch | Class::Idle => entity.task().scx.slice,
        };
        let slice_end = c.accounted_ns.saturating_add(slice).max(self.core.world.now_ns);
        let ends_at_ticks = slice != u64::MAX && self.core.ends_at_ticks(entity.class);
        limit_due.min(if ends_at_ticks { self.core.machine.next_tick(slice_end) } else { slice_end })
    }

    /// A slice that is used up ends, unless that waits for a tick.
    #[inline]
    fn end_slice(&mut self, cpu: u32) {
        let class = self.core.current(cpu).map_or(Class::Other, |slot| self.core.entity(slot).class);
        if !self.core.ends_at_ticks(class) || self.core.machine.ticks_at(self.core.world.now_ns) {
            self.core.cpu_mut(cpu).need_resched = true;
            self.choose_with_others(cpu);
        }
    }

    #[inline]
    fn slice_is_over(&self, slot: u32) -> bool {
        let entity = self.core.entity(slot);
        match entity.class {
            Class::Deadline(_) => self.core.reserved_ns(slot) == 0,
            Class::RoundRobin(_) => entity.realtime_slice_ns == 0,
            Class::Fifo(_) => false,
            Class::Other | Class::Batch | Class::Idle => entity.task().scx.slice == 0,
        }
    }

    /// How long a runnable task may wait.
    fn patience_ns(&self) -> u64 {
        let machine = self.core.machine.watchdog.ns();
        self.ops.timeout_ns.map_or(machine, |policy| policy.min(machine))
    }

    /// Finds a task that has waited too long (`check_rq_for_timeouts`).
    fn watch(&mut self) {
        let timeout = self.patience_ns();
        let now = self.core.world.now_ns;
        let oldest = self.core.longest_waiting();
        if let Some(slot) = oldest {
            let since = self.core.entity(slot).waiting_since_ns;
            if now - since >= timeout {
                let why = match self.core.is_kept_by_realtime(slot, since) {
                    true => {
                        "real-time tasks of the scenario hold every CPU on which it may run; a kernel, too, removes the \
                         policy then; let them sleep, or write a longer `watchdog`"
                    }
                    false => "the policy has lost it or starves it",
                };
                let message = format!("it wants a CPU and got none for {}: {why}", Time(now - since));
                return self.core.fail(SCX_EXIT_ERROR_STALL, 0, slot, message);
            }
        }
        // Without a waiting task, none begins to wait before something happens: a long idle time needs no looks.
        let happens = || self.core.world.timers.next_ns().min(self.core.cpu_timers.next().0).max(now);
        let from = oldest.map_or_else(happens, |slot| self.core.entity(slot).waiting_since_ns);
        self.core.world.timers.push(from.saturating_add(timeout), Due::Watchdog);
    }
}

impl Sim {
    /// Accounts for all time up to `end`, informs the policy that it is over, and says how it went.
    fn outcome(&mut self, sink: &mut dyn Sink, end: u64, partial: bool) -> Result<Outcome, RunError> {
        // A run that something ended did not get further.
        if !self.is_over() && self.core.world.check_room().is_ok() {
            self.core.world.now_ns = end.max(self.core.world.now_ns);
        }
        self.dismiss();
        if let Some(exit) = &self.core.exit {
            let printed = std::mem::take(&mut self.printed);
            return Err(RunError::Policy(PolicyFailure { printed, ..exit.failure.clone() }));
        }
        if let Some(halt) = self.halt {
            return Err(halt.error(&self.core.world));
        }
        self.core.world.check_room()?;
        if !partial {
            self.core.world.check_end()?;
        }
        self.core.world.now_ns = end;
        sink.finish(Time(end));
        let cpus = (0..self.core.cpus.len()).map(|cpu| self.core.final_time(cpu, end)).collect();
        let ticks = self.core.cpus.iter().map(|c| c.ticks).sum();
        Ok(Outcome {
            end: Time(end),
            partial,
            cpus,
            tasks: self.core.world.tasks.created(),
            ticks,
            printed: std::mem::take(&mut self.printed),
            printed_dropped: self.printed_dropped,
            limits: self.counted_limits(),
            unseen: std::mem::take(&mut self.unseen),
        })
    }
}
