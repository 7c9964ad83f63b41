//! What a task does next. Steps that take no time are done one at a time, so that a scheduler can take the CPU away
//! after each that woke a task.

use super::World;
use super::objects::Attempt;
use super::requests::Place;
use super::timers::Due;
use schedlab_model::workload::{Program, Step};
use schedlab_model::{ids::*, time::Time, trace::*};

/// What follows a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The task has CPU work to do: `Task::work_ns` is not zero.
    Work,
    /// Done in no time; ask again.
    Again,
    /// The task waits; a [`Wake`] will come.
    Block,
    /// The CPU pays for what the task does; ask again.
    Pay(Time),
    /// The task gives the CPU to others and continues later.
    Yield,
    /// The task changes something about itself ([`World::change_of`]); ask again.
    Change,
    /// The task has done its last step, and has CPU work to do until it has ended.
    Leave,
    /// The CPU chooses again before the task has ended; ask again.
    Move,
    /// The task has ended.
    Exit,
    /// The tasks did more steps at one instant than any program needs: they would go on forever.
    Stuck,
}

/// More passes of `loop`s than this at one instant are taken for an endless loop: no burst of messages needs as many.
const PASSES_AT_ONCE: u64 = 10_000_000;
/// A program whose end is certain may do more steps, but not for hours of the simulating machine.
const STEPS_AT_ONCE: u64 = 10_000_000_000;

/// What tasks have done of their programs at one instant.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    /// Steps.
    pub steps: u64,
    /// Passes of a `loop` that came to their end. Only these can continue for ever: every `repeat` and every `once` ends.
    pub passes: u64,
}

impl Done {
    /// Whether the tasks would continue for ever, or for too long to wait for.
    fn is_endless(self) -> bool {
        self.passes > PASSES_AT_ONCE || self.steps > STEPS_AT_ONCE
    }
}

impl World {
    /// Does one step of the task in `slot`, which runs on `cpu`.
    pub fn step(&mut self, slot: u32, cpu: u32) -> Next {
        let mut done = Done::default();
        let next = self.one_step(slot, cpu, &mut done);
        self.count_steps(done, next)
    }

    /// Does steps of the task in `slot` up to one that lets time go by or that concerns others: [`Next::Again`] means
    /// that wakes or births are to be seen to before it continues.
    #[inline(always)]
    pub fn steps(&mut self, slot: u32, cpu: u32) -> Next {
        let mut done = Done::default();
        match self.own_steps(slot, cpu, &mut done) {
            Some(next) => self.count_steps(done, next),
            None => self.all_steps(slot, cpu, done),
        }
    }

    /// As [`World::steps`], when the next step is not one of the usual ones. `done` counts the steps before.
    #[inline(never)]
    fn all_steps(&mut self, slot: u32, cpu: u32, mut done: Done) -> Next {
        let next = loop {
            let next = self.one_step(slot, cpu, &mut done);
            let nobody_else = self.wakes.is_empty() && self.births.is_empty() && self.inherits.is_empty();
            let goes_on = next == Next::Again && nobody_else;
            if !goes_on || done.is_endless() {
                break next;
            }
        };
        self.count_steps(done, next)
    }

    /// Does the usual steps that concern the task alone, one after the other, and counts them. Returns nothing when the
    /// next one is of another kind, or when they are too many.
    #[inline(always)]
    fn own_steps(&mut self, slot: u32, cpu: u32, done: &mut Done) -> Option<Next> {
        let (time, cpu) = (Time(self.now_ns), CpuId(cpu));
        let task = &mut self.tasks[slot];
        if (self.has_calls && task.asleep_at_ns.is_some()) || !self.waking.is_empty() || !self.socket_locks.is_empty() {
            return None;
        }
        let program = &self.workload.roles[task.role.index()].program;
        while task.work_ns == 0 {
            match program.steps.get(task.step as usize) {
                Some(Step::Compute(length)) => task.compute(length),
                Some(Step::RequestBegin) => {
                    let kind = task.begin_request(self.now_ns, self.costs.request);
                    self.events.push(Event { time, cpu, kind });
                }
                Some(Step::RequestEnd) => {
                    let kind = task.end_request();
                    self.events.push(Event { time, cpu, kind });
                }
                Some(Step::Sleep(_)) if self.has_calls || self.tells => return None,
                Some(Step::Sleep(length)) => {
                    let until_ns = self.now_ns.saturating_add(task.draw(length));
                    if until_ns > self.now_ns {
                        self.timers.push(until_ns, Due::Timer(slot));
                        return Some(Next::Block);
                    }
                }
                Some(_) => return None,
                None if program.repeats => {
                    task.begin_anew();
                    done.passes += 1;
                    if done.is_endless() {
                        return None;
                    }
                }
                None => return None,
            }
            done.steps += 1;
        }
        Some(Next::Work)
    }

    /// Does one step, whatever it is.
    fn one_step(&mut self, slot: u32, cpu: u32, done: &mut Done) -> Next {
        done.steps += 1;
        let workload = self.workload.clone();
        let program = &workload.roles[self.tasks[slot].role.index()].program;
        self.step_of(program, slot, cpu, done)
    }

    /// Counts steps at the present instant; what follows is [`Next::Stuck`] when they are too many.
    #[inline]
    fn count_steps(&mut self, done: Done, next: Next) -> Next {
        if self.done_at_ns != self.now_ns {
            (self.done_at_ns, self.done_at_once) = (self.now_ns, Done::default());
        }
        self.done_at_once.steps += done.steps;
        self.done_at_once.passes += done.passes;
        if self.done_at_once.is_endless() { Next::Stuck } else { next }
    }

    /// What tasks have done of their programs at the present instant.
    pub fn done_now(&self) -> Done {
        if self.done_at_ns == self.now_ns { self.done_at_once } else { Done::default() }
    }

    #[inline]
    fn step_of(&mut self, program: &Program, slot: u32, cpu: u32, done: &mut Done) -> Next {
        let task = &mut self.tasks[slot];
        if task.work_ns > 0 {
            return Next::Work;
        }
        if self.wakes_next(slot) || self.leaves_socket(slot) {
            return Next::Again;
        }
        if let Some(next) = self.fall_asleep(slot) {
            return next;
        }
        let task = &mut self.tasks[slot];
        let Some(step) = program.steps.get(task.step as usize) else {
            if program.repeats {
                task.begin_anew();
                done.passes += 1;
                return Next::Again;
            }
            return self.leave(slot);
        };
        let event = match step {
            Step::Compute(length) => {
                task.compute(length);
                return if task.work_ns > 0 { Next::Work } else { Next::Again };
            }
            Step::RequestBegin => task.begin_request(self.now_ns, self.costs.request),
            Step::RequestEnd => task.end_request(),
            Step::Answer => {
                let events = task.answer();
                self.tell(slot, cpu, Call::Answer, None, 0);
                events.into_iter().for_each(|event| self.emit(cpu, event));
                return Next::Again;
            }
            Step::Period(pace) => return self.pace(slot, pace, cpu),
            Step::Until(at) => return self.until(slot, *at, cpu),
            Step::Item => return self.next_item(slot, program),
            Step::ItemEnd if program.repeats => {
                task.begin_anew();
                done.passes += 1;
                return Next::Again;
            }
            Step::ItemEnd => return self.leave(slot),
            Step::Busy(length) => {
                return if task.be_busy(length, self.now_ns) { Next::Work } else { Next::Again };
            }
            Step::Spawn(role, count) => return self.spawn(slot, *role, *count),
            Step::Exit => return self.leave(slot),
            step => {
                if self.spins(slot, step) {
                    return Next::Work;
                }
                if self.is_locked_out(slot, step, cpu) {
                    return Next::Block;
                }
                if !self.has_calls {
                    self.give_with(slot, step, cpu);
                } else if self.works_for_call(slot, step, cpu) {
                    return Next::Work;
                }
                let task = &mut self.tasks[slot];
                task.step += 1;
                task.fresh &= step.keeps_fresh();
                return self.do_step(slot, step, cpu);
            }
        };
        self.emit(cpu, event);
        Next::Again
    }

    /// Does the steps that concern the task alone, up to its next work, for a scheduler that goes by sizes:
    /// [`Next::Work`], or [`Next::Again`] if the task does something else before, or [`Next::Stuck`].
    pub fn foresee(&mut self, slot: u32, cpu: u32) -> Next {
        while self.concerns_nobody_else(slot) {
            match self.step(slot, cpu) {
                Next::Again => {}
                other => return other,
            }
        }
        Next::Again
    }

    /// The step that a task has just done, which changes how tasks are scheduled.
    pub fn change_of(&self, slot: u32) -> Step {
        let task = &self.tasks[slot];
        let done = task
            .step
            .checked_sub(1)
            .and_then(|step| self.workload.roles[task.role.index()].program.steps.get(step as usize));
        done.expect("asked after such a step alone").clone()
    }

    fn concerns_nobody_else(&self, slot: u32) -> bool {
        let task = &self.tasks[slot];
        let program = &self.workload.roles[task.role.index()].program;
        match program.steps.get(task.step as usize) {
            Some(step) => match step {
                Step::Compute(_)
                | Step::RequestBegin
                | Step::RepeatBegin { .. }
                | Step::RepeatEnd { .. }
                | Step::Item => true,
                Step::ItemEnd => program.repeats,
                Step::Busy(_)
                | Step::Sleep(_)
                | Step::Period(_)
                | Step::Yield
                | Step::Wait(_)
                | Step::Post(..)
                | Step::Lock(_)
                | Step::ReadLock(_)
                | Step::Unlock(_)
                | Step::CondWait(..)
                | Step::Relock(_)
                | Step::Signal(_)
                | Step::Broadcast(_)
                | Step::Send(..)
                | Step::Recv(..)
                | Step::Barrier(_)
                | Step::Io(..)
                | Step::Set(_)
                | Step::Join(_)
                | Step::Adjust(..)
                | Step::Spawn(..)
                | Step::Command(_)
                | Step::Exit
                | Step::RequestEnd
                | Step::Answer
                | Step::Until(_) => false,
            },
            None => program.repeats,
        }
    }

    fn do_step(&mut self, slot: u32, step: &Step, cpu: u32) -> Next {
        if self.tells {
            self.tell_step(slot, step, cpu);
        }
        match step {
            Step::Sleep(length) => {
                let length = length.sample(&mut self.tasks[slot].rng);
                self.tell(slot, cpu, Call::Sleep, None, length.ns());
                self.call_sleep(slot, self.now_ns.saturating_add(length.ns()), Due::Timer(slot), self.costs.sleep)
            }
            Step::Io(device, service) => {
                let service = service.sample(&mut self.tasks[slot].rng);
                self.tell(slot, cpu, Call::Device, Some(*device), service.ns());
                let free_at = &mut self.objects.devices[device.index()];
                *free_at = (*free_at).max(self.now_ns).saturating_add(service.ns());
                let served_at = *free_at;
                self.call_sleep(slot, served_at, Due::Device(slot), self.costs.io)
            }
            Step::Yield => Next::Yield,
            Step::Wait(s) => {
                let attempt = self.objects.semaphores[s.index()].wait(slot);
                match attempt {
                    Attempt::Done => self.obtain(Place::Semaphore(*s), slot, 1, cpu),
                    Attempt::Wait => self.miss(Place::Semaphore(*s), slot, cpu),
                }
                self.after_attempt(slot, attempt)
            }
            Step::Lock(l) | Step::ReadLock(l) => {
                let (to_read, has_waited) = (matches!(step, Step::ReadLock(_)), self.tasks[slot].waits);
                let attempt = self.take_lock(slot, l.index(), to_read, has_waited);
                self.after_attempt(slot, attempt)
            }
            Step::Post(s, count) => {
                self.objects.semaphores[s.index()].post(*count, &mut self.woken);
                self.promise_to_woken(Place::Semaphore(*s), cpu);
                self.wake_all(slot, WakeSource::Semaphore, true)
            }
            Step::Unlock(l) => {
                self.release_lock(slot, l.index());
                self.wake_all(slot, WakeSource::Semaphore, true)
            }
            Step::CondWait(c, l) => {
                self.release_lock(slot, l.index());
                self.objects.conditions[c.index()].wait(slot);
                self.wake_all(slot, WakeSource::Semaphore, false)
            }
            Step::Relock(l) => {
                let attempt = self.take_lock(slot, l.index(), false, true);
                self.after_attempt(slot, attempt)
            }
            Step::Signal(c) => {
                self.objects.conditions[c.index()].signal(&mut self.woken);
                self.wake_all(slot, WakeSource::Semaphore, true)
            }
            Step::Broadcast(c) => {
                self.objects.conditions[c.index()].broadcast(&mut self.woken);
                self.wake_all(slot, WakeSource::Semaphore, true)
            }
            Step::Barrier(b) => {
                let last = self.objects.barriers[b.index()].arrive(slot, &mut self.woken);
                self.wake_all(slot, WakeSource::Semaphore, last)
            }
            Step::Send(c, n) => self.send(slot, *c, *n, cpu),
            Step::Recv(c, n) => self.receive(slot, *c, *n, cpu),
            Step::Set(_) | Step::Join(_) | Step::Adjust(..) => Next::Change,
            Step::Command(_) => unreachable!("refused before the run"),
            Step::RepeatBegin { times } => {
                self.tasks[slot].repeats.push(*times);
                Next::Again
            }
            Step::RepeatEnd { begin } => self.repeat(slot, *begin),
            Step::Compute(_)
            | Step::Busy(_)
            | Step::Period(_)
            | Step::RequestBegin
            | Step::RequestEnd
            | Step::Answer
            | Step::Spawn(..)
            | Step::Until(_)
            | Step::Item
            | Step::ItemEnd
            | Step::Exit => unreachable!("done by step_of"),
        }
    }

    /// A task that has to wait is at the same step when it wakes up, and tries again.
    pub(super) fn after_attempt(&mut self, slot: u32, attempt: Attempt) -> Next {
        let task = &mut self.tasks[slot];
        task.waits = attempt == Attempt::Wait;
        match attempt {
            Attempt::Done => Next::Again,
            Attempt::Wait => {
                task.step -= 1;
                Next::Block
            }
        }
    }

    pub(super) fn sleep_until(&mut self, at_ns: u64, due: Due) -> Next {
        if at_ns == self.now_ns {
            return Next::Again;
        }
        self.timers.push(at_ns, due);
        Next::Block
    }

    /// Turns the slots in `woken` into wakes by `waker`; `goes_on` says whether the task itself may continue.
    pub(super) fn wake_all(&mut self, waker: u32, source: WakeSource, goes_on: bool) -> Next {
        if goes_on {
            self.waking.keep_rest(waker, source, &mut self.woken);
        }
        self.wake_woken(Some(waker), source);
        go_or_block(goes_on)
    }

    fn repeat(&mut self, slot: u32, begin: usize) -> Next {
        let task = &mut self.tasks[slot];
        let left = task.repeats.last_mut().expect("a repeat was begun");
        *left -= 1;
        if *left > 0 {
            task.step = begin as u32;
        } else {
            task.repeats.pop();
        }
        Next::Again
    }
}

fn go_or_block(goes: bool) -> Next {
    if goes { Next::Again } else { Next::Block }
}
