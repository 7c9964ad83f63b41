//! Disciplines that divide CPUs: any number of tasks compute at once, each at its own rate.
//!
//! There are no switches. Steps that take no time are done as soon as the task is runnable, and CPU time is reported by
//! [`EventKind::Share`] when a task blocks or ends, at the end of the warm-up, and at the end of the run.

use super::drive::{Scheduler, Stuck};
use super::fixed::{Fixed, floor_ns, from_ns};
use crate::CpuTime;
use crate::world::{Next, World};
use schedlab_model::{ids::CpuId, time::Time, trace::*};
use std::collections::VecDeque;

/// All events of a fluid discipline are those of this CPU.
const CPU: u32 = 0;

/// How tasks share the CPUs.
pub trait Sharing {
    /// No task computes.
    fn new(cpus: u32) -> Self;
    /// Lets time pass. Those whose work is done by then are added to `done`, in the order in which they ended.
    fn advance(&mut self, now_ns: u64, done: &mut Vec<u32>);
    /// A task begins to compute for `work_ns` > 0, having got `attained_ns` in its request before. Time has advanced to
    /// the present.
    fn add(&mut self, slot: u32, attained_ns: u64, work_ns: u64);
    /// When to advance next unless a task is added before; `u64::MAX` if no task computes.
    fn next_ns(&self) -> u64;
    /// The work left of every task that computes: lists of tasks that are served alike, the best served ones first.
    fn remaining(&self) -> Vec<Vec<(u32, Fixed)>>;
    /// CPU time that tasks will get with the next: rests of divisions, and what tasks whose work ended within the last
    /// nanosecond left of it.
    fn spare(&self) -> Fixed;
    /// CPU time that no task could use. A fraction of a nanosecond is idle too when it is not divided.
    fn idle(&self) -> Fixed;
}

/// CPU time of one task.
#[derive(Clone, Copy, Default)]
struct Account {
    /// What it got in its request by demands that are done.
    attained_ns: u64,
    /// What it got by its present demand and is accounted for.
    accounted_ns: u64,
    /// What is accounted for and was not told yet.
    untold_ns: u64,
    /// How many requests the task has begun with.
    begun: u32,
}

/// The machine under a fluid discipline.
pub struct Fluid<S> {
    world: World,
    sharing: S,
    /// By slot.
    accounts: Vec<Account>,
    /// Tasks that do their next step.
    ready: VecDeque<u32>,
    done: Vec<u32>,
    /// The end of the warm-up until it is reached, then never.
    warmup_ns: u64,
    /// CPU time of all demands that are done.
    done_ns: u128,
    /// CPU time of all accounts.
    accounted_ns: u128,
}

impl<S: Sharing> Fluid<S> {
    /// An idle machine at time zero.
    pub fn new(world: World) -> Fluid<S> {
        let warmup = world.workload.run.warmup;
        Fluid {
            sharing: S::new(world.workload.machine.cpus()),
            accounts: Vec::new(),
            ready: VecDeque::new(),
            done: Vec::new(),
            warmup_ns: if warmup == Time::ZERO { u64::MAX } else { warmup.ns() },
            done_ns: 0,
            accounted_ns: 0,
            world,
        }
    }

    /// Lets the tasks compute up to the present; those whose work is done continue with their next step.
    fn advance(&mut self) {
        self.sharing.advance(self.world.now_ns, &mut self.done);
        for slot in self.done.drain(..) {
            let work_ns = std::mem::take(&mut self.world.tasks[slot].work_ns);
            let account = &mut self.accounts[slot as usize];
            let more_ns = work_ns - std::mem::take(&mut account.accounted_ns);
            account.attained_ns += work_ns;
            account.untold_ns += more_ns;
            self.accounted_ns += u128::from(more_ns);
            self.done_ns += u128::from(work_ns);
            self.ready.push_back(slot);
        }
        if self.world.now_ns >= self.warmup_ns {
            self.warmup_ns = u64::MAX;
            self.tell_all();
        }
    }

    fn make_runnable(&mut self, slot: u32, waker: Option<u32>, source: WakeSource) {
        let task = self.world.tasks[slot].id;
        let waker = waker.and_then(|w| self.world.tasks.get(w)).map(|w| w.id);
        self.world.emit(CPU, EventKind::Wakeup { task, target: CpuId(CPU), waker, source });
        self.ready.push_back(slot);
    }

    fn step(&mut self, slot: u32) -> Result<(), Stuck> {
        let role = self.world.tasks[slot].role;
        let next = self.world.step(slot, CPU);
        let account = &mut self.accounts[slot as usize];
        let begun = self.world.tasks[slot].begun;
        if std::mem::replace(&mut account.begun, begun) != begun {
            account.attained_ns = 0;
        }
        match next {
            Next::Pay(_) => unreachable!("nothing costs anything under a discipline"),
            Next::Change => unreachable!("refused before the run"),
            Next::Work | Next::Leave => self.sharing.add(slot, account.attained_ns, self.world.tasks[slot].work_ns),
            Next::Again | Next::Move => self.ready.push_front(slot),
            Next::Block => self.tell(slot),
            Next::Yield => self.ready.push_back(slot),
            Next::Exit => {
                self.tell(slot);
                let task = self.world.tasks[slot].id;
                self.world.emit(CPU, EventKind::Exit { task });
                self.world.tasks.remove(slot);
            }
            Next::Stuck => return Err(Stuck(role)),
        }
        Ok(())
    }

    /// Tells what CPU time the task got since the last time.
    fn tell(&mut self, slot: u32) {
        let cpu_ns = std::mem::take(&mut self.accounts[slot as usize].untold_ns);
        if cpu_ns > 0 {
            let task = self.world.tasks[slot].id;
            self.world.emit(CPU, EventKind::Share { task, cpu_time: Time(cpu_ns) });
        }
    }

    /// Tells it of all tasks. Returns what those that compute got of their demands.
    fn tell_all(&mut self) -> Fixed {
        let served = self.account_all();
        let alive: Vec<u32> = self.world.tasks.alive_slots().collect();
        alive.into_iter().for_each(|slot| self.tell(slot));
        served
    }

    /// Accounts for what tasks that compute got so far, in whole nanoseconds that add up: the task that lacks least of one
    /// gets it in advance, so that no time before this instant is reported after it.
    fn account_all(&mut self) -> Fixed {
        let mut served = 0;
        let mut order = Vec::new();
        for tasks in self.sharing.remaining() {
            let from = order.len();
            for (slot, remaining) in tasks {
                let got = from_ns(self.world.tasks[slot].work_ns) - remaining;
                served += got;
                let lacks = from_ns(1) - got.rem_euclid(from_ns(1));
                order.push((lacks, slot));
                let accounted_ns = self.accounts[slot as usize].accounted_ns;
                self.account(slot, floor_ns(got).saturating_sub(accounted_ns));
            }
            order[from..].sort_unstable();
        }
        let all_ns = ((self.done() + served + self.sharing.spare()) / from_ns(1)) as u128;
        // Twice, since what is spare may be one nanosecond for each task too.
        for (_, slot) in order.iter().chain(&order) {
            let room_ns = self.world.tasks[*slot].work_ns - self.accounts[*slot as usize].accounted_ns;
            if room_ns > 0 && self.accounted_ns < all_ns {
                self.account(*slot, 1);
            }
        }
        served
    }

    fn account(&mut self, slot: u32, more_ns: u64) {
        let account = &mut self.accounts[slot as usize];
        account.accounted_ns += more_ns;
        account.untold_ns += more_ns;
        self.accounted_ns += u128::from(more_ns);
    }

    /// CPU time of all demands that are done.
    fn done(&self) -> Fixed {
        Fixed::try_from(self.done_ns).expect("less than there was") * from_ns(1)
    }
}

impl<S: Sharing> Scheduler for Fluid<S> {
    fn world(&mut self) -> &mut World {
        &mut self.world
    }

    fn next_ns(&mut self) -> u64 {
        self.sharing.next_ns().min(self.warmup_ns)
    }

    fn end_reached(&mut self) {
        // `settle` looks at all that has ended, whatever the reason for which it is called.
    }

    fn settle(&mut self) -> Result<(), Stuck> {
        self.advance();
        loop {
            if let Some(wake) = self.world.wakes.pop_front() {
                self.world.ready(wake.slot);
                self.make_runnable(wake.slot, wake.waker, wake.source);
            } else if let Some(birth) = self.world.births.pop_front() {
                let slot = self.world.create(birth, CPU);
                if self.accounts.len() <= slot as usize {
                    self.accounts.resize(slot as usize + 1, Account::default());
                }
                self.accounts[slot as usize] = Account::default();
                self.make_runnable(slot, birth.parent, WakeSource::Fork);
            } else {
                let Some(slot) = self.ready.pop_front() else { return Ok(()) };
                self.step(slot)?;
            }
        }
    }

    /// The CPUs bear equal parts. Of a nanosecond that tasks and idleness share, all counts as idle.
    fn finish(&mut self) -> Vec<CpuTime> {
        self.advance();
        let served = self.tell_all();
        let end_ns = self.world.now_ns;
        let cpus = u64::from(self.world.workload.machine.cpus());
        let sum = self.done() + served + self.sharing.spare() + self.sharing.idle();
        assert_eq!(sum, from_ns(end_ns) * Fixed::from(cpus), "2^-32 ns on {cpus} CPUs");
        let (part, rest) = (self.accounted_ns / u128::from(cpus), self.accounted_ns % u128::from(cpus));
        let of_cpu = |cpu: u64| {
            let task_ns = (part + u128::from(u128::from(cpu) < rest)) as u64;
            let idle_ns = end_ns.checked_sub(task_ns).expect("not more time than there was");
            CpuTime { task: Time(task_ns), idle: Time(idle_ns), overhead: Time::ZERO }
        };
        (0..cpus).map(of_cpu).collect()
    }
}
