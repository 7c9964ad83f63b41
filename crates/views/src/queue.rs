//! Why a task waited: which tasks were on the run queue when it was woken, and which ran until it did.
//!
//! The run queue of a CPU are the runnable tasks that were placed there: where they woke up, ran last, or were moved to.
//! Schedulers with one queue for all CPUs place tasks too, but may take them from any CPU; then a task that waits is
//! often moved at the very end.
//!
//! Two passes over the trace: [`Choice`] finds the wake-up, [`Queue`] looks at what followed it.

mod choice;

pub use choice::Choice;

use crate::{Roster, Wait, WaitEnd};
use schedlab_model::{
    ids::{CpuId, TaskId},
    names::Label,
    time::Time,
    trace::{Event, EventKind, Reason, Sink, Untraced},
};
use std::collections::BTreeMap;

/// How another task came to be on the run queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// It was on the CPU.
    Running,
    /// It waited there.
    Waiting,
    /// It came after the wake-up.
    Later,
}

/// Another task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rival {
    /// The task.
    pub task: Label,
    /// How it was there.
    pub came: Came,
    /// Since when it ran, waited, or was there.
    pub since: Time,
    /// Its status at the wake-up or when it came, if the policy had said any.
    pub status: Option<u64>,
    /// Its runs on the CPU of the run queue while the task waited.
    pub runs: u64,
    /// Their length.
    pub ran: Time,
}

/// Something that happened while the task waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// When it happened or began.
    pub time: Time,
    /// The CPU of the run queue.
    pub cpu: CpuId,
    /// What.
    pub what: What,
}

/// What happened while the task waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A task was on the CPU.
    Ran {
        /// Which.
        task: Label,
        /// For how long.
        length: Time,
        /// Why it left; none when it continued.
        reason: Option<Reason>,
    },
    /// No task of the trace was on the CPU.
    Untraced {
        /// What the CPU did.
        what: Untraced,
        /// For how long.
        length: Time,
    },
    /// Another task was woken, and placed on the run queue.
    Woke {
        /// The task.
        task: Label,
    },
    /// Another task was moved to the run queue.
    Came {
        /// The task.
        task: Label,
        /// From there.
        from: CpuId,
    },
    /// Another task was moved away.
    Left {
        /// The task.
        task: Label,
        /// There.
        to: CpuId,
    },
    /// The task itself was moved; from now on the other CPU's run queue counts.
    Moved {
        /// There.
        to: CpuId,
    },
}

/// The other CPUs when the task was woken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Elsewhere {
    /// Tasks that ran there.
    pub running: usize,
    /// Tasks that waited there.
    pub waiting: usize,
    /// CPUs that idled.
    pub idle: usize,
    /// CPUs that ran what was not recorded, or of which nothing is known.
    pub untraced: usize,
}

/// A runnable task.
#[derive(Clone, Copy, Debug)]
struct Runnable {
    label: Label,
    cpu: CpuId,
    running: bool,
    since: Time,
}

/// How far the view is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Before,
    Waiting,
    After,
}

/// Looks at one wake-up.
#[derive(Clone, Debug)]
pub struct Queue {
    roster: Roster,
    wait: Wait,
    cpus: usize,
    /// That many rivals and steps are kept.
    limit: usize,
    events: u64,
    phase: Phase,
    tasks: BTreeMap<TaskId, Runnable>,
    statuses: BTreeMap<TaskId, u64>,
    occupants: BTreeMap<CpuId, TaskId>,
    /// The CPU on whose run queue the task is, and since when the tasks there count.
    home: CpuId,
    since: Time,
    rivals: Vec<Rival>,
    more_rivals: usize,
    elsewhere: Elsewhere,
    status: Option<u64>,
    steps: Vec<Step>,
    more_steps: u64,
    /// Time on the CPU of tasks beyond the limit.
    ran_more: Time,
    /// What CPUs without a task do, where the trace says it.
    untraced: BTreeMap<CpuId, Untraced>,
    /// How long the CPU did what, while no task of the trace was on it.
    without_task: BTreeMap<Untraced, Time>,
    overhead: Time,
}

impl Queue {
    /// For this wake-up, which a [`Choice`] found, on a machine of that many CPUs. At most `limit` other tasks and `limit`
    /// steps are kept.
    pub fn new(roster: Roster, wait: Wait, cpus: u32, limit: usize) -> Queue {
        Queue {
            roster,
            wait,
            cpus: cpus as usize,
            limit,
            events: 0,
            phase: Phase::Before,
            tasks: BTreeMap::new(),
            statuses: BTreeMap::new(),
            occupants: BTreeMap::new(),
            home: wait.target,
            since: wait.woken,
            rivals: Vec::new(),
            more_rivals: 0,
            elsewhere: Elsewhere::default(),
            status: None,
            steps: Vec::new(),
            more_steps: 0,
            ran_more: Time::ZERO,
            untraced: BTreeMap::new(),
            without_task: BTreeMap::new(),
            overhead: Time::ZERO,
        }
    }

    /// The tasks of the trace.
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// The wake-up.
    pub fn wait(&self) -> &Wait {
        &self.wait
    }

    /// The task's own status at the wake-up, if the policy had said any.
    pub fn status(&self) -> Option<u64> {
        self.status
    }

    /// The other tasks: those that ran, those that waited, in order of arrival, and those that came later or ran first.
    pub fn rivals(&self) -> &[Rival] {
        &self.rivals
    }

    /// How many more tasks ran or waited there at the wake-up.
    pub fn more_rivals(&self) -> usize {
        self.more_rivals
    }

    /// The other CPUs at the wake-up.
    pub fn elsewhere(&self) -> Elsewhere {
        self.elsewhere
    }

    /// After the end: what happened until the task ran, in the order of its start.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// How many more steps there were.
    pub fn more_steps(&self) -> u64 {
        self.more_steps
    }

    /// For how long tasks ran that are not among the rivals.
    pub fn ran_more(&self) -> Time {
        self.ran_more
    }

    /// For how long the CPU had no task of the trace while this one waited for it, and did this.
    pub fn without_task(&self, what: Untraced) -> Time {
        self.without_task.get(&what).copied().unwrap_or_default()
    }

    /// What the CPU spent for the system meanwhile; it is part of the others' time.
    pub fn overhead(&self) -> Time {
        self.overhead
    }

    /// Takes the picture of the instant of the wake-up.
    fn begin(&mut self) {
        self.phase = Phase::Waiting;
        self.status = self.statuses.get(&self.wait.task.task).copied();
        let mut here: Vec<&Runnable> = self.tasks.values().filter(|other| other.cpu == self.home).collect();
        here.sort_by_key(|other| (!other.running, other.since, other.label.task));
        self.more_rivals = here.len().saturating_sub(self.limit);
        let rivals = here.iter().take(self.limit).map(|other| Rival {
            task: other.label,
            came: if other.running { Came::Running } else { Came::Waiting },
            since: other.since,
            status: self.statuses.get(&other.label.task).copied(),
            runs: 0,
            ran: Time::ZERO,
        });
        self.rivals = rivals.collect();
        let others = || self.tasks.values().filter(|other| other.cpu != self.home);
        let running = others().filter(|other| other.running).count();
        let waiting = others().count() - running;
        let is_untraced = |(cpu, what): &(&CpuId, &Untraced)| **cpu != self.home && **what != Untraced::Idle;
        let untraced = self.untraced.iter().filter(is_untraced).count();
        let idle = self.cpus.saturating_sub(1 + running + untraced);
        self.elsewhere = Elsewhere { running, waiting, idle, untraced };
    }

    fn step(&mut self, time: Time, what: What) {
        match self.steps.len() < self.limit {
            true => self.steps.push(Step { time, cpu: self.home, what }),
            false => self.more_steps += 1,
        }
    }

    /// The task on the CPU of the run queue has been there until now.
    fn settle(&mut self, now: Time, reason: Option<Reason>) {
        let (since, length) = (self.since, now.since(self.since));
        self.since = now;
        if length == Time::ZERO {
            return;
        }
        match self.occupants.get(&self.home).copied() {
            Some(task) => {
                self.charge(task, since, length);
                self.step(since, What::Ran { task: self.label_of(task), length, reason });
            }
            None => {
                let what = self.untraced.get(&self.home).copied().unwrap_or_default();
                *self.without_task.entry(what).or_default() += length;
                self.step(since, What::Untraced { what, length });
            }
        }
    }

    /// What the name of a task is made of, also when its end was announced before it left its CPU.
    fn label_of(&self, task: TaskId) -> Label {
        self.tasks.get(&task).map_or_else(|| self.roster.label(task), |runnable| runnable.label)
    }

    fn charge(&mut self, task: TaskId, since: Time, length: Time) {
        self.rival(task, since);
        match self.rivals.iter_mut().find(|rival| rival.task.task == task) {
            Some(rival) => {
                rival.runs += 1;
                rival.ran += length;
            }
            None => self.ran_more += length,
        }
    }

    /// Makes a rival of a task that was not one.
    fn rival(&mut self, task: TaskId, since: Time) {
        let known = self.rivals.iter().any(|rival| rival.task.task == task);
        if !known && self.rivals.len() < self.limit {
            let (task, status) = (self.label_of(task), self.statuses.get(&task).copied());
            self.rivals.push(Rival { task, came: Came::Later, since, status, runs: 0, ran: Time::ZERO });
        }
    }

    /// What an event means for the task that waits. Call it before the event moves tasks.
    fn look(&mut self, event: &Event) {
        let (now, me) = (event.time, self.wait.task.task);
        match event.kind {
            EventKind::Switch { next, .. } if next == Some(me) => {
                let reason = if event.cpu == self.home { leaving(event) } else { None };
                self.settle(now, reason);
                self.phase = Phase::After;
            }
            EventKind::Switch { .. } if event.cpu == self.home => self.settle(now, leaving(event)),
            EventKind::Untraced { .. } if event.cpu == self.home => self.settle(now, None),
            EventKind::Exit { task } if task == me => {
                self.settle(now, None);
                self.phase = Phase::After;
            }
            EventKind::Wakeup { task, target, .. } if target == self.home && !self.tasks.contains_key(&task) => {
                self.rival(task, now);
                let task = self.roster.label(task);
                self.step(now, What::Woke { task });
            }
            EventKind::Migrate { task, to, .. } if task == me => {
                self.settle(now, None);
                self.step(now, What::Moved { to });
                self.home = to;
            }
            EventKind::Migrate { task, from, to } if from == self.home || to == self.home => {
                // A sleeping task that will wake up elsewhere is not on a run queue.
                let Some(label) = self.tasks.get(&task).map(|runnable| runnable.label) else { return };
                let comes = to == self.home;
                if comes {
                    self.rival(task, now);
                }
                self.step(now, if comes { What::Came { task: label, from } } else { What::Left { task: label, to } });
            }
            EventKind::Overhead { length, .. } if event.cpu == self.home => self.overhead += length,
            _ => {}
        }
    }

    /// Which tasks are runnable, where, and which task each CPU runs.
    fn follow(&mut self, event: &Event) {
        let now = event.time;
        match event.kind {
            EventKind::Wakeup { task, target, .. } => {
                let runnable = Runnable { label: self.roster.label(task), cpu: target, running: false, since: now };
                self.tasks.entry(task).or_insert(runnable);
            }
            EventKind::Migrate { task, to, .. } => {
                if let Some(runnable) = self.tasks.get_mut(&task) {
                    runnable.cpu = to;
                }
            }
            EventKind::Untraced { what } => drop(self.untraced.insert(event.cpu, what)),
            EventKind::Status { task, word } => drop(self.statuses.insert(task, word)),
            EventKind::Switch { previous, reason, next } => {
                if let Some(task) = previous {
                    self.leave(task, event, reason);
                }
                self.occupants.remove(&event.cpu);
                self.untraced.remove(&event.cpu);
                if let Some(task) = next {
                    self.occupants.insert(event.cpu, task);
                    let label = self.roster.label(task);
                    self.tasks.insert(task, Runnable { label, cpu: event.cpu, running: true, since: now });
                }
            }
            EventKind::Exit { task } => {
                self.statuses.remove(&task);
                if !self.occupants.values().any(|&occupant| occupant == task) {
                    self.tasks.remove(&task);
                }
            }
            _ => {}
        }
    }

    fn leave(&mut self, task: TaskId, event: &Event, reason: Reason) {
        match reason {
            Reason::Blocked | Reason::Exited | Reason::Idle => drop(self.tasks.remove(&task)),
            Reason::SliceEnd | Reason::Preempted | Reason::Yielded => {
                let label = self.roster.label(task);
                self.tasks.insert(task, Runnable { label, cpu: event.cpu, running: false, since: event.time });
            }
        }
    }
}

fn leaving(event: &Event) -> Option<Reason> {
    match event.kind {
        EventKind::Switch { previous: Some(_), reason, .. } => Some(reason),
        _ => None,
    }
}

impl Sink for Queue {
    fn event(&mut self, event: &Event) {
        self.roster.observe(event);
        match self.phase {
            Phase::Before if self.events == self.wait.number => self.begin(),
            Phase::Waiting => self.look(event),
            Phase::Before | Phase::After => {}
        }
        if self.phase != Phase::After {
            self.follow(event);
        }
        self.events += 1;
    }

    fn finish(&mut self, end: Time) {
        if self.phase == Phase::Waiting && matches!(self.wait.end, WaitEnd::Open { .. }) {
            self.settle(end, None);
        }
        self.phase = Phase::After;
        // Runs are known when they end, and told where they begin.
        self.steps.sort_by_key(|step| step.time);
    }
}

#[cfg(test)]
mod tests;
