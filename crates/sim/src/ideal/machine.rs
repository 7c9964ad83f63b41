//! Disciplines that give whole CPUs: every CPU has one task or none, and a queue serves them all.

use super::drive::{Scheduler, Stuck};
use super::order::Order;
use super::vacancy::Vacancy;
use super::waiting::{Entry, Waiting};
use crate::CpuTime;
use crate::world::cpu_timers::CpuTimers;
use crate::world::{Birth, Next, Wake, World};
use schedlab_model::{ids::*, time::Time, trace::*};
use std::collections::{BTreeSet, VecDeque};

/// No task.
const NONE: u32 = u32::MAX;

/// A CPU.
struct Cpu {
    /// The slot of the task that runs, [`NONE`] if there is none.
    current: u32,
    /// The task that left the CPU at this instant and why, until the next one is known.
    left: Option<(TaskId, Reason)>,
    /// The CPU's time is accounted for up to here.
    accounted_ns: u64,
    task_ns: u64,
    idle_ns: u64,
}

/// What the discipline knows of a task.
#[derive(Clone, Copy, Default)]
struct Entity {
    /// Where it runs, ran last, or was placed.
    cpu: u32,
    /// Whether it ran before.
    has_run: bool,
    /// The work that its current `compute` asked for, if the order goes by it.
    size_ns: u64,
    /// Counts the tasks that became runnable.
    sequence: u64,
    /// Its rank among the running tasks.
    running_rank: u64,
}

/// The machine under one order.
pub struct Machine {
    world: World,
    order: Order,
    cpus: Vec<Cpu>,
    /// When the work of each CPU's task ends.
    ends: CpuTimers,
    vacancy: Vacancy,
    waiting: Waiting,
    /// Rank, sequence and CPU of all running tasks, to find the worst; kept only with preemption.
    running: BTreeSet<(u64, u64, u32)>,
    /// By slot.
    entities: Vec<Entity>,
    /// CPUs whose tasks have no work left and do their next step.
    active: VecDeque<u32>,
    /// The CPU that a task has just left.
    vacated: Option<u32>,
    sequence: u64,
}

impl Machine {
    /// An idle machine at time zero.
    pub fn new(world: World, order: Order) -> Machine {
        let cpus = world.workload.machine.cpus();
        let idle = || Cpu { current: NONE, left: None, accounted_ns: 0, task_ns: 0, idle_ns: 0 };
        Machine {
            order,
            cpus: (0..cpus).map(|_| idle()).collect(),
            ends: CpuTimers::new(cpus),
            vacancy: Vacancy::new(cpus),
            waiting: Waiting::new(&world.workload),
            running: BTreeSet::new(),
            entities: Vec::new(),
            active: VecDeque::new(),
            vacated: None,
            sequence: 0,
            world,
        }
    }

    fn give_birth(&mut self, birth: Birth) -> Result<(), Stuck> {
        let role = &self.world.workload.roles[birth.role.index()];
        let first = role.start_on.or_else(|| role.cpus.iter().next()).unwrap_or(CpuId(0)).0;
        let here = birth.parent.map_or(first, |p| self.entities[p as usize].cpu);
        let slot = self.world.create(birth, here);
        if self.entities.len() <= slot as usize {
            self.entities.resize(slot as usize + 1, Entity::default());
        }
        self.entities[slot as usize] = Entity { cpu: first, ..Entity::default() };
        self.make_runnable(slot, here, birth.parent, WakeSource::Fork);
        self.queue(slot)
    }

    fn wake(&mut self, wake: Wake) -> Result<(), Stuck> {
        // A timer or a device interrupts the CPU on which the task went to sleep.
        let here = self.entities[wake.waker.unwrap_or(wake.slot) as usize].cpu;
        self.world.ready(wake.slot);
        self.make_runnable(wake.slot, here, wake.waker, wake.source);
        self.queue(wake.slot)
    }

    /// Places a task on a CPU that it could have, or where it was, and reports it.
    fn make_runnable(&mut self, slot: u32, here: u32, waker: Option<u32>, source: WakeSource) {
        let entity = &mut self.entities[slot as usize];
        let task = self.world.tasks[slot].id;
        let from = entity.cpu;
        if let Some(cpu) = self.vacancy.claim(&self.world.role(slot).cpus, from) {
            entity.cpu = cpu;
        }
        let (to, has_run) = (entity.cpu, entity.has_run);
        if to != from && has_run {
            self.world.emit(here, EventKind::Migrate { task, from: CpuId(from), to: CpuId(to) });
        }
        let waker = waker.and_then(|w| self.world.tasks.get(w)).map(|w| w.id);
        self.world.emit(here, EventKind::Wakeup { task, target: CpuId(to), waker, source });
    }

    /// A task that became runnable, or yielded, joins the queue behind its equals.
    fn queue(&mut self, slot: u32) -> Result<(), Stuck> {
        if self.order.foresees() {
            let cpu = self.entities[slot as usize].cpu;
            if self.world.foresee(slot, cpu) == Next::Stuck {
                return Err(Stuck(self.world.tasks[slot].role));
            }
        }
        self.sequence += 1;
        let entity = &mut self.entities[slot as usize];
        entity.sequence = self.sequence;
        entity.size_ns = self.world.tasks[slot].work_ns;
        self.wait(slot);
        Ok(())
    }

    /// Puts a task where its rank and its turn say.
    fn wait(&mut self, slot: u32) {
        let entity = &self.entities[slot as usize];
        let task = &self.world.tasks[slot];
        let rank = self.order.rank(self.world.role(slot), entity.size_ns, task.work_ns);
        self.waiting.push(task.role.index(), (rank, entity.sequence, slot));
    }

    /// Gives CPUs to the tasks that are to have them.
    fn assign(&mut self) {
        while let Some((set, cpu)) = self.next_assignment() {
            let (.., slot) = self.waiting.pop(set).expect("somebody waits");
            if self.cpus[cpu as usize].current != NONE {
                self.take(cpu, Reason::Preempted);
            }
            self.give(cpu, slot);
        }
        self.vacancy.forget_claims();
        let Some(cpu) = self.vacated.take() else { return };
        if let Some((previous, reason)) = self.cpus[cpu as usize].left.take() {
            // No task came for the CPU that was left.
            self.world.emit(cpu, EventKind::Switch { previous: Some(previous), reason, next: None });
        }
    }

    /// The best waiting task that can have a CPU, by its set, and that CPU.
    fn next_assignment(&self) -> Option<(usize, u32)> {
        if self.waiting.is_empty() || !(self.vacancy.any() || self.order.preemptive) {
            return None;
        }
        let place = |(set, entry)| Some((entry, set, self.cpu_for(set, entry)?));
        self.waiting.heads().filter_map(place).min().map(|(_, set, cpu)| (set, cpu))
    }

    /// The CPU for the first task of a set: a free one, or that of the worst running task if that is worse.
    fn cpu_for(&self, set: usize, (rank, _, slot): Entry) -> Option<u32> {
        let allowed = self.waiting.set(set);
        let free = self.vacancy.find(allowed, self.entities[slot as usize].cpu);
        if free.is_some() || !self.order.preemptive {
            return free;
        }
        let rank = self.order.running_rank(rank, self.world.now_ns);
        let worse = self.running.iter().rev().take_while(|running| rank < running.0).map(|running| running.2);
        worse.into_iter().find(|&cpu| allowed.contains(CpuId(cpu)) && self.has_work_left(cpu))
    }

    /// Whether the task of a CPU continues computing.
    fn has_work_left(&self, cpu: u32) -> bool {
        let c = &self.cpus[cpu as usize];
        self.world.tasks[c.current].work_ns > self.world.now_ns - c.accounted_ns
    }

    /// Brings the CPU's time, and its task's work, up to the present.
    fn account(&mut self, cpu: u32) {
        let c = &mut self.cpus[cpu as usize];
        let elapsed = self.world.now_ns - c.accounted_ns;
        c.accounted_ns = self.world.now_ns;
        if c.current == NONE {
            c.idle_ns += elapsed;
        } else {
            c.task_ns += elapsed;
            self.world.tasks[c.current].work_ns -= elapsed;
        }
    }

    /// Takes the CPU from its task, which waits again if it was preempted.
    fn take(&mut self, cpu: u32, reason: Reason) {
        self.account(cpu);
        let slot = std::mem::replace(&mut self.cpus[cpu as usize].current, NONE);
        self.cpus[cpu as usize].left = Some((self.world.tasks[slot].id, reason));
        self.ends.set(cpu, u64::MAX);
        self.vacancy.vacate(cpu);
        let entity = &self.entities[slot as usize];
        self.running.remove(&(entity.running_rank, entity.sequence, cpu));
        if reason == Reason::Preempted {
            self.wait(slot);
        }
    }

    /// Gives a free CPU to a task.
    fn give(&mut self, cpu: u32, slot: u32) {
        self.account(cpu);
        let next = self.world.tasks[slot].id;
        let entity = &mut self.entities[slot as usize];
        let from = std::mem::replace(&mut entity.cpu, cpu);
        entity.has_run = true;
        if from != cpu {
            self.world.emit(cpu, EventKind::Migrate { task: next, from: CpuId(from), to: CpuId(cpu) });
        }
        let (previous, reason) = self.cpus[cpu as usize].left.take().unzip();
        if previous != Some(next) {
            let reason = reason.unwrap_or(Reason::Idle);
            self.world.emit(cpu, EventKind::Switch { previous, reason, next: Some(next) });
        }
        self.cpus[cpu as usize].current = slot;
        self.vacancy.occupy(cpu);
        self.begin_work(cpu, slot);
    }

    /// The task of a CPU begins or continues with its work; without work, it does its next step.
    fn begin_work(&mut self, cpu: u32, slot: u32) {
        let (now_ns, work_ns) = (self.world.now_ns, self.world.tasks[slot].work_ns);
        if self.order.preemptive {
            let Entity { size_ns, sequence, running_rank: before, .. } = self.entities[slot as usize];
            let rank = self.order.rank(self.world.role(slot), size_ns, work_ns);
            let running_rank = self.order.running_rank(rank, now_ns);
            self.running.remove(&(before, sequence, cpu));
            self.running.insert((running_rank, sequence, cpu));
            self.entities[slot as usize].running_rank = running_rank;
        }
        if work_ns > 0 {
            self.ends.set(cpu, now_ns.saturating_add(work_ns));
        } else {
            self.active.push_back(cpu);
        }
    }

    /// Does the next step of the task that runs on a CPU.
    fn step(&mut self, cpu: u32) -> Result<(), Stuck> {
        let slot = self.cpus[cpu as usize].current;
        let role = self.world.tasks[slot].role;
        match self.world.step(slot, cpu) {
            Next::Pay(_) => unreachable!("nothing costs anything under a discipline"),
            Next::Change => unreachable!("refused before the run"),
            Next::Work | Next::Leave => {
                self.entities[slot as usize].size_ns = self.world.tasks[slot].work_ns;
                self.begin_work(cpu, slot);
            }
            Next::Again | Next::Move => self.active.push_front(cpu),
            Next::Block => self.leave(cpu, Reason::Blocked),
            Next::Yield => {
                self.leave(cpu, Reason::Yielded);
                self.queue(slot)?;
            }
            Next::Exit => {
                let task = self.world.tasks[slot].id;
                self.world.emit(cpu, EventKind::Exit { task });
                self.leave(cpu, Reason::Exited);
                self.world.tasks.remove(slot);
            }
            Next::Stuck => return Err(Stuck(role)),
        }
        Ok(())
    }

    fn leave(&mut self, cpu: u32, reason: Reason) {
        self.take(cpu, reason);
        self.vacated = Some(cpu);
    }
}

impl Scheduler for Machine {
    fn world(&mut self) -> &mut World {
        &mut self.world
    }

    fn next_ns(&mut self) -> u64 {
        self.ends.next().0
    }

    fn end_reached(&mut self) {
        let (_, cpu) = self.ends.next();
        self.account(cpu);
        self.ends.set(cpu, u64::MAX);
        self.active.push_back(cpu);
    }

    fn settle(&mut self) -> Result<(), Stuck> {
        loop {
            if let Some(wake) = self.world.wakes.pop_front() {
                self.wake(wake)?;
            } else if let Some(birth) = self.world.births.pop_front() {
                self.give_birth(birth)?;
            } else {
                self.assign();
                let Some(cpu) = self.active.pop_front() else { return Ok(()) };
                self.step(cpu)?;
            }
        }
    }

    fn finish(&mut self) -> Vec<CpuTime> {
        let end_ns = self.world.now_ns;
        (0..self.cpus.len() as u32).for_each(|cpu| self.account(cpu));
        let time = |(number, c): (usize, &Cpu)| {
            assert_eq!(c.task_ns + c.idle_ns, end_ns, "time of CPU {number}: {} + {} ns", c.task_ns, c.idle_ns);
            CpuTime { task: Time(c.task_ns), idle: Time(c.idle_ns), overhead: Time::ZERO }
        };
        self.cpus.iter().enumerate().map(time).collect()
    }
}
