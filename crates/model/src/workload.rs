//! A workload: a scenario after it was read, checked and compiled. What a venue takes.
//!
//! Everything here is known to be right: sets are not empty, objects exist, times are positive, spawns do not form a
//! cycle. [`crate::scenario`] is the only room that makes one from a file.

mod hotplug;
mod objects;
mod pace;

pub use crate::recorded::{ItemOrder, Items};
pub use hotplug::Hotplug;
pub use objects::{Channel, ChannelKind, Mutex, Objects, Preference, Protocol, SPIN_PIECE, Semaphore, Work};
pub use pace::{Origin, Overrun, Pace, Release};

use crate::control_group::{ControlGroups, KnobChange, Membership, PeriodPhase};
use crate::{
    cpuset::CpuSet, distribution::Distribution, ids::*, machine::Machine, reservation::Reservation, rng::Rng,
    time::Time,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most roles of a workload or a trace: results, tables and pages compare each with each.
pub const MAX_ROLES: usize = 4096;

/// The most tasks that there may be at once: a simulation takes a kilobyte of memory for each.
pub const MAX_TASKS_AT_ONCE: u64 = 1 << 20;

/// The work of a busy task between two looks at the clock: as much as rt-app's `runtime` does.
pub const BUSY_PIECE: Time = Time::from_us(32);

/// What the tasks do, and on what machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Workload {
    /// The scenario's name.
    pub name: String,
    /// What it shows, in a sentence.
    pub about: String,
    /// Where it runs.
    pub machine: Machine,
    /// The roles, in file order. Indexed by [`RoleId`].
    pub roles: Vec<Role>,
    /// The control groups in which tasks may be.
    pub control_groups: ControlGroups,
    /// Semaphores, locks, channels, barriers, devices.
    pub objects: Objects,
    /// Messages that come from outside of the machine.
    pub sources: Vec<Source>,
    /// CPUs that go offline and come back, in the order of time.
    pub hotplug: Vec<Hotplug>,
    /// How long, from which seed.
    pub run: Run,
}

/// How long a run is and where its random numbers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The end of the run; [`Time::NEVER`] for one that ends with its last task. The run ends earlier when no task is left
    /// and none can arrive.
    pub duration: Time,
    /// Nothing before this instant is measured.
    pub warmup: Time,
    /// When the periods of control groups' limits begin.
    pub period_phase: PeriodPhase,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Whether events tell what tasks do with shared objects, so that a trace can be modelled.
    pub calls: bool,
}

impl Run {
    /// The end of the run, where it is known before; without one it ends with its last task.
    pub fn end(&self) -> Option<Time> {
        (self.duration < Time::NEVER).then_some(self.duration)
    }
}

/// One `[[task]]` table: `count` like tasks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Role {
    /// The name, unique in the workload.
    pub name: String,
    /// Tasks created at `start`; with `arrivals`, the most that ever arrive (or no bound).
    pub count: Option<u32>,
    /// When the tasks are created. A role without a birth of its own waits for a `spawn`.
    pub birth: Birth,
    /// The CPU on which the tasks are first placed, before they are free to move.
    pub start_on: Option<CpuId>,
    /// Nice value, -20 to 19.
    pub nice: i8,
    /// Scheduling class.
    pub class: Class,
    /// The slice that the tasks ask for; the scheduler's own when absent.
    pub slice: Option<Time>,
    /// The CPUs on which the tasks may run.
    pub cpus: CpuSet,
    /// Its control groups.
    pub control: Membership,
    /// Thread or process.
    pub kind: Kind,
    /// What each task does.
    pub program: Program,
}

impl Role {
    /// What its tasks change about themselves, in the order of their program.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.program.steps.iter().filter_map(|step| match step {
            Step::Set(change) => Some(change),
            _ => None,
        })
    }

    /// Each class in which its tasks may be at some time, the first one first. One may inherit the priority of another.
    pub fn classes(&self) -> impl Iterator<Item = Class> {
        std::iter::once(self.class).chain(self.changes().filter_map(|change| change.class))
    }

    /// Whether its tasks join control groups or write their knobs.
    pub fn touches_control_groups(&self) -> bool {
        self.program.steps.iter().any(|step| matches!(step, Step::Join(_) | Step::Adjust(..)))
    }

    /// The control groups in which one of its tasks may be at some time, the first one first.
    pub fn control_groups(&self) -> impl Iterator<Item = ControlGroupId> {
        std::iter::once(self.control.begin).chain(self.program.steps.iter().filter_map(|step| match step {
            Step::Join(id) => Some(*id),
            _ => None,
        }))
    }

    /// Each set of CPUs on which its tasks may run at some time, the first one first.
    pub fn all_cpus(&self) -> impl Iterator<Item = &CpuSet> {
        let chosen = self.changes().filter_map(|change| change.cpus.as_ref());
        std::iter::once(&self.cpus).chain(chosen).chain(&self.control.later_cpus)
    }

    /// The CPUs on which one of its tasks may be at some time.
    pub fn possible_cpus(&self) -> CpuSet {
        self.all_cpus().flat_map(CpuSet::iter).collect()
    }

    /// The CPUs on which its tasks may run at all times.
    pub fn certain_cpus(&self) -> CpuSet {
        self.cpus.iter().filter(|cpu| self.all_cpus().all(|cpus| cpus.contains(*cpu))).collect()
    }
}

/// When the tasks of a role are created.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Birth {
    /// All at one instant, in order.
    At(Time),
    /// One by one from `first` on; the time between two is drawn. An *open* workload: each arrival is one request.
    Arrivals {
        /// No arrival before this instant.
        first: Time,
        /// Time from one arrival to the next.
        gap: Distribution,
    },
    /// One by one at these instants, in ascending order. An open workload, too.
    Listed(Vec<Time>),
    /// Only by the `spawn` step of another task.
    Spawned,
}

impl Birth {
    /// Whether tasks arrive one by one, each with its request.
    pub fn arrives(&self) -> bool {
        matches!(self, Birth::Arrivals { .. } | Birth::Listed(_))
    }
}

/// The scheduling class of a task, under the kernel's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Class {
    /// `SCHED_OTHER`, the default: what a policy schedules.
    Other,
    /// `SCHED_BATCH`.
    Batch,
    /// `SCHED_IDLE`: the smallest weight.
    Idle,
    /// `SCHED_FIFO` with its priority, 1 to 99: runs before every policy, by the kernel's real-time class.
    Fifo(u8),
    /// `SCHED_RR` with its priority: as FIFO, sharing by slices of 100 ms.
    RoundRobin(u8),
    /// `SCHED_DEADLINE` with what it reserves: runs before all others until that is used up.
    Deadline(Reservation),
}

impl Class {
    /// The real-time priority, 0 for the classes without one.
    #[inline]
    pub fn priority(self) -> u8 {
        match self {
            Class::Fifo(priority) | Class::RoundRobin(priority) => priority,
            Class::Other | Class::Batch | Class::Idle | Class::Deadline(_) => 0,
        }
    }

    /// What a task of the class deadline reserves.
    #[inline]
    pub fn reservation(self) -> Option<Reservation> {
        match self {
            Class::Deadline(reservation) => Some(reservation),
            _ => None,
        }
    }

    /// Whether tasks of the class go before all that are not, and before every policy: fifo, rr and deadline.
    #[inline]
    pub fn is_realtime(self) -> bool {
        matches!(self, Class::Fifo(_) | Class::RoundRobin(_) | Class::Deadline(_))
    }
}

/// Thread or process; a switch between processes also changes the address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A thread of the role's process, or of its parent's if it is spawned.
    Thread,
    /// A process of its own.
    Process,
}

/// A task's program as straight code with jumps for `repeat`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Program {
    /// The steps. Running past the last one starts again at the first when `repeats`, and exits otherwise.
    pub steps: Vec<Step>,
    /// `loop` (true) or `once` (false).
    pub repeats: bool,
    /// The deepest nesting of `repeat`.
    pub repeat_depth: usize,
    /// The recorded items of which the steps are made, if they are: then the first step is [`Step::Item`].
    pub items: Option<Items>,
}

/// One step. The compiler sets [`Step::RequestBegin`] and [`Step::RequestEnd`] around a pass of a `loop`, or the whole of a
/// `once`, that is a request of its own, and [`Step::Answer`] where a task ends the requests that it has taken from
/// channels and semaphores that carry them (see [`Work`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Step {
    /// CPU work, as long as the task takes when it runs alone.
    Compute(Distribution),
    /// CPU work until this much time has passed, looked at after each [`BUSY_PIECE`] of it.
    Busy(Distribution),
    /// Sleep from now for this long.
    Sleep(Distribution),
    /// Sleep until the next release.
    Period(Pace),
    /// `sched_yield`.
    Yield,
    /// Take one from a semaphore, sleep while it is zero. Waiters are served in order.
    Wait(ObjectId),
    /// Give to a semaphore, waking as many waiters.
    Post(ObjectId, u32),
    /// Take a mutex, or a reader-writer lock to write; waiters are woken in order.
    Lock(ObjectId),
    /// Take a reader-writer lock to read.
    ReadLock(ObjectId),
    /// Release a lock that this task holds.
    Unlock(ObjectId),
    /// Release a mutex that this task holds, and sleep until the condition variable is signalled. [`Step::Relock`]
    /// follows.
    CondWait(ObjectId, ObjectId),
    /// Take a mutex after a sleep: its release looks for further waiters.
    Relock(ObjectId),
    /// Wake the first that waits for a condition variable.
    Signal(ObjectId),
    /// Wake all that wait for a condition variable.
    Broadcast(ObjectId),
    /// Put messages into a channel; sleeps while it is full.
    Send(ObjectId, u32),
    /// Take messages from a channel; sleeps while it is empty.
    Recv(ObjectId, u32),
    /// Wait until all parties of a barrier are here.
    Barrier(ObjectId),
    /// Use a device for this long: requests queue in order, the task sleeps until its own is served.
    Io(ObjectId, Distribution),
    /// Change something about this task itself.
    Set(Change),
    /// Move the task into a control group.
    Join(ControlGroupId),
    /// Write knobs of a control group.
    Adjust(ControlGroupId, KnobChange),
    /// Create this many tasks of a role.
    Spawn(RoleId, u32),
    /// Run a real program, given as its words, and wait for its end. Not to be simulated.
    Command(Vec<String>),
    /// End this task.
    Exit,
    /// Repeat the steps up to the matching end this many times (at least once); `end` is the index after the end.
    RepeatBegin {
        /// Passes.
        times: u32,
    },
    /// Back to `begin` (the index after the matching begin) until all passes are done.
    RepeatEnd {
        /// Where a pass begins.
        begin: usize,
    },
    /// A request begins.
    RequestBegin,
    /// A request ends.
    RequestEnd,
    /// All requests that the task has end: its own and those that it took.
    Answer,
    /// Sleep until an instant of the run.
    Until(Time),
    /// Go to the next recorded item.
    Item,
    /// An item is over: back to [`Step::Item`] where the program repeats, else the end of the task.
    ItemEnd,
}

impl Step {
    /// Whether a task that was woken still begins with what follows this step: a task that was signalled takes the mutex first,
    /// and may release it.
    pub fn keeps_fresh(&self) -> bool {
        matches!(
            self,
            Step::RequestBegin
                | Step::Item
                | Step::RepeatBegin { .. }
                | Step::RepeatEnd { .. }
                | Step::Relock(_)
                | Step::Unlock(_)
        )
    }
}

/// What a task changes about itself; what is absent stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The CPUs on which it may run from now on.
    pub cpus: Option<CpuSet>,
    /// Its nice value from now on.
    pub nice: Option<i8>,
    /// Its scheduling class from now on.
    pub class: Option<Class>,
    /// The slice that it asks for from now on.
    pub slice: Option<Time>,
}

/// Messages that come from outside of the machine, straight into a channel: no task sends them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// The name, unique among the sources.
    pub name: String,
    /// Where they go.
    pub channel: ObjectId,
    /// How many come at each instant.
    pub messages: u32,
    /// When they come.
    pub schedule: Schedule,
}

/// When the messages of a source come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Schedule {
    /// One time after the other is drawn.
    Drawn {
        /// None before this instant.
        first: Time,
        /// Time from one to the next.
        gap: Distribution,
        /// How many instants there are at most.
        limit: Option<u32>,
    },
    /// At these instants, in ascending order.
    Listed(Vec<Time>),
}

impl Source {
    /// The instants at which messages come, the same in every venue for a seed.
    pub fn times(&self, seed: u64) -> SourceTimes {
        let now = match &self.schedule {
            Schedule::Drawn { first, .. } => *first,
            Schedule::Listed(_) => Time::ZERO,
        };
        SourceTimes {
            schedule: self.schedule.clone(),
            rng: Rng::split(seed, &format!("source/{}", self.name)),
            now,
            count: 0,
        }
    }
}

/// See [`Source::times`].
#[derive(Clone, Debug)]
pub struct SourceTimes {
    schedule: Schedule,
    rng: Rng,
    now: Time,
    count: u32,
}

impl Iterator for SourceTimes {
    type Item = Time;

    fn next(&mut self) -> Option<Time> {
        let index = self.count;
        self.count = self.count.saturating_add(1);
        match &self.schedule {
            Schedule::Listed(times) => times.get(index as usize).copied(),
            Schedule::Drawn { limit: Some(limit), .. } if index >= *limit => None,
            Schedule::Drawn { gap, .. } => {
                self.now = Time(self.now.ns().saturating_add(gap.sample(&mut self.rng).ns()));
                Some(self.now)
            }
        }
    }
}

impl Workload {
    /// Whether a task is of a real-time class at some time.
    pub fn has_realtime(&self) -> bool {
        self.roles.iter().flat_map(Role::classes).any(Class::is_realtime)
    }

    /// The CPUs on which one of a role's tasks may be at some time: all, where none of those that it may use is there at some time.
    pub fn possible_cpus(&self, role: &Role) -> CpuSet {
        let is_gone = |set: &CpuSet, before: &[Hotplug]| set.iter().all(|cpu| !Hotplug::is_online(before, cpu));
        let mut moments = (1..=self.hotplug.len()).map(|count| &self.hotplug[..count]);
        match moments.any(|before| role.all_cpus().any(|set| is_gone(set, before))) {
            true => CpuSet::first(self.machine.cpus()),
            false => role.possible_cpus(),
        }
    }

    /// Says that tasks of these roles, which are all that is left, wait at these steps for what no task gives any more.
    pub fn standstill<'a>(&self, waiting: impl IntoIterator<Item = (RoleId, &'a Step)>) -> String {
        let mut counts: BTreeMap<(RoleId, String), u64> = BTreeMap::new();
        for (role, step) in waiting {
            *counts.entry((role, self.objects.awaited(step))).or_default() += 1;
        }
        let one = |((role, object), count): (&(RoleId, String), &u64)| {
            let name = &self.roles[role.index()].name;
            let (tasks, wait) = if *count == 1 { ("a task", "waits") } else { ("tasks", "wait") };
            let count = if *count == 1 { String::new() } else { format!("{count} ") };
            format!("{count}{tasks} of `{name}` {wait} for {object}")
        };
        let who = counts.iter().map(one).collect::<Vec<_>>().join(", ");
        format!(
            "the run stands still before its end: {who}, and no task is left that would give it; add the step that does, or \
             say how long the run is, as duration = \"60s\""
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_has_a_power_of_two_of_places() {
        let slots = |kind, capacity| Channel { name: "c".into(), capacity, kind, work: None }.slots();
        assert_eq!([1, 4, 5, 64].map(|capacity| slots(ChannelKind::Pipe, capacity)), [1, 4, 8, 64]);
        assert_eq!(slots(ChannelKind::Pipe, u32::MAX), 1 << 32);
        assert_eq!([5, u32::MAX].map(|capacity| slots(ChannelKind::Socket, capacity)), [5, u64::from(u32::MAX)]);
    }
}
