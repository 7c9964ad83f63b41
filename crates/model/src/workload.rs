//! A workload: a scenario after it was read, checked and compiled. What a venue takes.
//!
//! Everything here is known to be right: sets are not empty, objects exist, times are positive, spawns do not form a
//! cycle. [`crate::scenario`] is the only room that makes one from a file.

use crate::control_group::{ControlGroups, KnobChange, Membership, PeriodPhase};
use crate::{cpuset::CpuSet, distribution::Distribution, ids::*, machine::Machine, rng::Rng, time::Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

mod objects;

pub use objects::{Channel, ChannelKind, Mutex, Objects, Preference, Protocol, SPIN_PIECE, Semaphore, Work};

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
    /// When the tasks come to be. A role without a birth of its own waits for a `spawn`.
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

/// When the tasks of a role come to be.
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
    /// Only by the `spawn` step of another task.
    Spawned,
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
}

impl Class {
    /// The real-time priority, 0 for the classes without one.
    #[inline]
    pub fn priority(self) -> u8 {
        match self {
            Class::Fifo(priority) | Class::RoundRobin(priority) => priority,
            Class::Other | Class::Batch | Class::Idle => 0,
        }
    }

    /// Whether tasks of the class go before all that are not.
    #[inline]
    pub fn is_realtime(self) -> bool {
        matches!(self, Class::Fifo(_) | Class::RoundRobin(_))
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
    /// Release a mutex that this task holds, and sleep until somebody signals the condition variable. [`Step::Relock`]
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
}

impl Step {
    /// Whether a task that was woken still begins with what follows this step: a task that was signalled takes the mutex first,
    /// and may release it.
    pub fn keeps_fresh(&self) -> bool {
        matches!(
            self,
            Step::RequestBegin | Step::RepeatBegin { .. } | Step::RepeatEnd { .. } | Step::Relock(_) | Step::Unlock(_)
        )
    }
}

/// When the jobs of a periodic task are released: at its start, and from `offset` after it on each `period`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// The number of the timer among those of the program.
    pub timer: u32,
    /// From one release to the next.
    pub period: Time,
    /// From the task's start to the first release.
    pub offset: Time,
    /// From a release to when its job is to be done.
    pub deadline: Time,
    /// What follows when the next release is over already.
    pub overrun: Overrun,
}

/// What a periodic task does whose next release is over already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Overrun {
    /// It waits for the first release to come, and those in between have no job (`hrtimer_forward`, which is what a timer
    /// with an interval does).
    #[default]
    Skip,
    /// It continues with the job of that release at once, until it has caught up (`clock_nanosleep` with `TIMER_ABSTIME`, which
    /// returns at once).
    CatchUp,
    /// It continues at once, and releases count from now on: the grid moves.
    Restart,
}

/// A release of a periodic task. Times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// When it is; not later than now if the task has not to wait.
    pub at_ns: u64,
    /// When its job is to be done.
    pub deadline_ns: u64,
    /// Releases before it that get no job.
    pub skipped: u32,
}

impl Pace {
    /// The job with which a task begins that was born at this instant and works before its first release.
    pub fn first_job(&self, born_ns: u64) -> Release {
        let first = self.offset.min(self.deadline);
        Release { at_ns: born_ns, deadline_ns: born_ns.saturating_add(first.ns()), skipped: 0 }
    }

    /// The release that follows the `last` one.
    pub fn next(&self, last_ns: Option<u64>, born_ns: u64, now_ns: u64) -> Release {
        let (from_ns, gap) = last_ns.map_or((born_ns, self.offset), |last| (last, self.period));
        let due_ns = from_ns.saturating_add(gap.ns());
        let behind_ns = now_ns.saturating_sub(due_ns);
        let (at_ns, skipped) = match self.overrun {
            _ if behind_ns == 0 => (due_ns, 0),
            Overrun::Skip => {
                let skipped = behind_ns.div_ceil(self.period.ns());
                (due_ns.saturating_add(skipped * self.period.ns()), skipped)
            }
            Overrun::CatchUp => (due_ns, 0),
            Overrun::Restart => (now_ns, 0),
        };
        let skipped = u32::try_from(skipped).unwrap_or(u32::MAX);
        Release { at_ns, deadline_ns: at_ns.saturating_add(self.deadline.ns()), skipped }
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

    /// Says that tasks of these roles, which are all that is left, wait at these steps for what nobody gives any more.
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
            "the run stands still before its end: {who}, and nobody is left who would give it; add the step that does, or \
             say how long the run is, as duration = \"60s\""
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_a_multiple_of_the_period_whatever_came_between() {
        let pace = |overrun| Pace { timer: 0, period: Time(10), offset: Time(4), deadline: Time(7), overrun };
        let at = |overrun, last, now| {
            let Release { at_ns, deadline_ns, skipped } = pace(overrun).next(last, 100, now);
            (at_ns, deadline_ns, skipped)
        };
        for overrun in [Overrun::Skip, Overrun::CatchUp, Overrun::Restart] {
            assert_eq!(at(overrun, None, 101), (104, 111, 0));
            assert_eq!(at(overrun, Some(104), 114), (114, 121, 0), "just in time");
        }
        assert_eq!(at(Overrun::Skip, Some(104), 115), (124, 131, 1));
        assert_eq!(at(Overrun::Skip, Some(104), 134), (134, 141, 2));
        assert_eq!(at(Overrun::CatchUp, Some(104), 134), (114, 121, 0));
        assert_eq!(at(Overrun::Restart, Some(104), 135), (135, 142, 0));
        assert_eq!(pace(Overrun::Skip).first_job(100).deadline_ns, 104);
    }

    #[test]
    fn a_pipe_has_a_power_of_two_of_places() {
        let slots = |kind, capacity| Channel { name: "c".into(), capacity, kind, work: None }.slots();
        assert_eq!([1, 4, 5, 64].map(|capacity| slots(ChannelKind::Pipe, capacity)), [1, 4, 8, 64]);
        assert_eq!(slots(ChannelKind::Pipe, u32::MAX), 1 << 32);
        assert_eq!([5, u32::MAX].map(|capacity| slots(ChannelKind::Socket, capacity)), [5, u64::from(u32::MAX)]);
    }
}
