//! What others than a run took of the CPUs on which it ran, and how far that can have moved its numbers.
//!
//! A CPU is *held* while a thread that is not of the run is on it. It is *wanted* while it is held and a task of the run
//! that is allowed there waits for a CPU; one waiting task wants one CPU. What the tasks got of the CPUs and what was wanted
//! of them is what they could have had. With a part τ of that taken by others, the same work takes 1 / (1 − τ) times as long:
//! the bound of [`bound`]. In a closed system of equal tasks that never sleep it is reached, since each of n tasks gets
//! (1 − τ) of its n-th part; for a task that runs alone and waits behind others it is the response time over the time that it
//! ran. Tasks that sleep while others run lose nothing by them.

use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::{CpuId, RoleId, TaskId};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Reason, Sink, Untraced};
use schedlab_model::workload::Workload;

/// CPU time of a run, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// What its tasks got.
    pub got_ns: u64,
    /// What others held.
    pub held_ns: u64,
    /// What they held while it was wanted.
    pub wanted_ns: u64,
    /// What a hypervisor took of both. It takes a CPU whatever runs there: from each task in proportion to its time.
    pub stolen_ns: u64,
    /// All that the CPUs had, where requests come from outside whether or not others are answered: CPUs × time.
    pub open_ns: Option<u64>,
}

impl Shares {
    /// The part τ of what the tasks could have had that others took; none where there was nothing.
    ///
    /// In an open system what others took leaves a queue behind. In M/M/1 a part s of the server's time less makes the mean
    /// response (1 − ρ) / (1 − ρ − s) times as long, which is 1 / (1 − τ) with τ = s / (1 − ρ).
    pub fn part_taken(&self) -> Option<f64> {
        let [got, held, wanted] = [self.got_ns, self.held_ns, self.wanted_ns].map(|ns| ns as f64);
        let stolen = if got > 0.0 { self.stolen_ns as f64 * got / (got + held) } else { 0.0 };
        let taken = wanted + stolen;
        let part = |of: f64| if taken < of { taken / of } else { f64::from(taken > 0.0) };
        let open = self.open_ns.map_or(0.0, |all| part(all as f64 - (got - stolen)));
        (got + wanted > 0.0).then(|| part(got + wanted).max(open))
    }
}

/// How much longer times of the run may be by the part that others took, as a factor; infinite where they took all.
pub fn bound(part_taken: f64) -> f64 {
    1.0 / (1.0 - part_taken.min(1.0))
}

/// Adds up how long CPUs were wanted, while the events of a run stream by. How long others held them, the collector knows.
#[derive(Debug)]
pub struct OthersWatch {
    now: Time,
    from: Time,
    tasks: Vec<Task>,
    set_of_role: Vec<usize>,
    sets: Vec<Allowed>,
    /// Whether others hold each CPU.
    held: Vec<bool>,
    wanted_ns: u64,
}

/// The CPUs on which the tasks of one or more roles are allowed.
#[derive(Debug)]
struct Allowed {
    cpus: CpuSet,
    waiting: u64,
    held: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Task {
    set: usize,
    activity: Activity,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Activity {
    #[default]
    Off,
    Waiting,
    Running,
}

impl OthersWatch {
    /// For a run of this workload, whose events report CPUs that run others.
    pub fn new(workload: &Workload) -> OthersWatch {
        let mut sets: Vec<Allowed> = Vec::new();
        let mut set_of_role = Vec::new();
        for role in &workload.roles {
            // Where tasks change their CPUs, others may have been in the way on any of them.
            let cpus = role.possible_cpus();
            let known = sets.iter().position(|set| set.cpus == cpus);
            set_of_role.push(known.unwrap_or(sets.len()));
            if known.is_none() {
                sets.push(Allowed { cpus, waiting: 0, held: 0 });
            }
        }
        let cpus = workload.machine.cpus() as usize;
        OthersWatch {
            now: Time::ZERO,
            from: workload.run.warmup,
            tasks: Vec::new(),
            set_of_role,
            sets,
            held: vec![false; cpus],
            wanted_ns: 0,
        }
    }

    /// How long CPUs were wanted, summed over them, in nanoseconds of what was measured. The run must be over.
    pub fn wanted_ns(&self) -> u64 {
        self.wanted_ns
    }

    fn pass(&mut self, to: Time) {
        let length = to.ns().saturating_sub(self.now.max(self.from).ns());
        self.wanted_ns += self.wanted() * length;
        self.now = self.now.max(to);
    }

    /// How many CPUs are wanted. A task wants one of those on which it is allowed, and no two want the same: exact for sets
    /// that are equal or have no CPU in common, and at most that where they overlap.
    fn wanted(&self) -> u64 {
        let in_sets: u64 = self.sets.iter().map(|set| set.waiting.min(set.held)).sum();
        in_sets.min(self.held.iter().filter(|held| **held).count() as u64)
    }

    /// A CPU comes into the hands of others, or leaves them.
    fn turn(&mut self, cpu: CpuId, is_others: bool) {
        let Some(held) = self.held.get_mut(cpu.index()) else { return };
        if std::mem::replace(held, is_others) == is_others {
            return;
        }
        for set in self.sets.iter_mut().filter(|set| set.cpus.contains(cpu)) {
            set.held = if is_others { set.held + 1 } else { set.held - 1 };
        }
    }

    fn fork(&mut self, task: TaskId, role: RoleId) {
        self.tasks.resize(self.tasks.len().max(task.index() + 1), Task::default());
        self.tasks[task.index()].set = self.set_of_role.get(role.index()).copied().unwrap_or(0);
    }

    fn becomes(&mut self, task: TaskId, activity: Activity) {
        let Some(task) = self.tasks.get_mut(task.index()) else { return };
        let before = std::mem::replace(&mut task.activity, activity);
        let waiting = &mut self.sets[task.set].waiting;
        *waiting -= u64::from(before == Activity::Waiting);
        *waiting += u64::from(activity == Activity::Waiting);
    }

    fn is(&self, task: TaskId, activity: Activity) -> bool {
        self.tasks.get(task.index()).is_some_and(|task| task.activity == activity)
    }
}

impl Sink for OthersWatch {
    fn event(&mut self, event: &Event) {
        self.pass(event.time);
        match event.kind {
            EventKind::Fork { task, role, .. } => self.fork(task, role),
            EventKind::Wakeup { task, .. } if self.is(task, Activity::Off) => self.becomes(task, Activity::Waiting),
            EventKind::Exit { task } if self.is(task, Activity::Waiting) => self.becomes(task, Activity::Off),
            EventKind::Untraced { what } => self.turn(event.cpu, what == Untraced::Others),
            EventKind::Switch { previous, reason, next } => {
                self.turn(event.cpu, false);
                let stays = matches!(reason, Reason::SliceEnd | Reason::Preempted | Reason::Yielded);
                if let Some(task) = previous {
                    self.becomes(task, if stays { Activity::Waiting } else { Activity::Off });
                }
                if let Some(task) = next {
                    self.becomes(task, Activity::Running);
                }
            }
            _ => {}
        }
    }

    fn events(&mut self, events: &[Event]) {
        events.iter().for_each(|event| self.event(event));
    }

    fn finish(&mut self, end: Time) {
        self.pass(end);
    }
}

#[cfg(test)]
mod tests;
