//! The costs of the life of a task that does nothing: its creation, its start, and its end with what it writes down
//! then. Measured on tasks of runs, in a process with a run's memory.
//!
//! The more threads a process has, the more of its memory a new one gets and gives back. So processes are created next to a
//! few threads and next to many, and what is said of them is for a creator without others.
//!
//! Threads are created by parents that come one at a time: what one takes for more of them than another is what each
//! takes ([`super::creations`] measures processes). The end of an exit cannot be seen from outside, so exits are what
//! is left of all CPU time when everything else is subtracted. Without other tasks that is the time of the CPU; else it
//! is the kernel's count for the tasks, which lacks the last part of a thread's exit.

use super::creations::creations;
use super::kernel_threads::Threads;
use super::steps::workload;
use super::{Cost, settings};
use crate::calibration::quantile;
use crate::clock::thread_cpu_ns;
use crate::run::{LoadError, Report, Settings, TaskReport, Watcher, run};
use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::CpuId;
use schedlab_model::time::Time;
use std::time::Duration;

/// The parts of lives, each next to the wakeups and switches in it.
#[derive(Debug, Default)]
pub struct Life {
    /// CPU time of the parent for creating it.
    pub fork: Option<Cost>,
    /// CPU time of the parent of processes, from the wake-up of one to its next step.
    pub return_of_fork: Option<Cost>,
    /// CPU time of the parent of processes, once after all that it creates at a time.
    pub copy: Option<Cost>,
    /// CPU time of the task for its start and a step in which it does nothing.
    pub start: Option<Cost>,
    /// From its last step on.
    pub exit: Option<Cost>,
    /// What the creation, the start and the end of a process take more for each other thread of its parent's process.
    pub fork_thread: Option<Cost>,
    pub start_thread: Option<Cost>,
    /// What the start of a process takes more while others that are created after it have the same memory.
    pub start_shared: Option<Cost>,
    /// What it takes more, and what follows its creation takes less of its parent, where it runs before that continues.
    pub start_first: Option<Cost>,
    pub exit_thread: Option<Cost>,
    /// How many tasks have ended meanwhile.
    pub ended: u32,
}

/// What else a parent takes, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Beside {
    /// Waking the new task.
    pub wakeup: f64,
    /// Its sleep.
    pub sleep: f64,
    /// The end of a parent, where that is another end than those of its children.
    pub exit: f64,
    /// A system call that does next to nothing.
    pub call: f64,
}

/// A machine on which such a call takes longer than this gets as much more time for lives.
const QUICK_CALL_NS: f64 = 1500.0;

impl Beside {
    /// How much more time everything gets than on a processor.
    pub(super) fn pace(self) -> u32 {
        ((self.call / QUICK_CALL_NS).ceil() as u32).clamp(1, 100)
    }
}

/// How many parents there are.
const PARENTS: u32 = 12;
/// How many tasks each of them creates, in one run and in another.
pub(super) const CHILDREN: [u32; 2] = [1, 3];

/// How many threads live next to the parents until the end, at least one: a run ends with its last task.
const BYSTANDERS: u32 = 1;
/// How many there are where the measurement is about them.
pub(super) const CROWD: u32 = 17;

/// Families of which a run has some, each after the one before.
#[derive(Clone, Copy, Debug)]
struct Families {
    /// What the children are.
    kind: Kind,
    /// How many children each has.
    children: u32,
    /// How many threads live next to the parents.
    bystanders: u32,
}

/// Measures the lives of threads or processes; where they are alone on the machine, its CPUs are given.
pub fn lives(kind: Kind, beside: Beside, alone_on: Option<&CpuSet>) -> Result<Life, LoadError> {
    let [few, many] = CHILDREN;
    let usual = Families { kind, children: few, bystanders: BYSTANDERS };
    let watch = |families| watch(families, beside, alone_on);
    let (first, second) = (watch(usual)?, watch(Families { children: many, ..usual })?);
    let exit_ns = (first.exits_ns + second.exits_ns) / (first.exits + second.exits);
    let mut life = Life { exit: Cost::positive(exit_ns), ended: PARENTS * (2 + few + many), ..Life::default() };
    if kind == Kind::Thread {
        life.start = Cost::of(&[first.starts, second.starts].concat());
        life.fork = Cost::positive((second.parent_ns - first.parent_ns) / f64::from(many - few));
        return Ok(life);
    }
    let crowded = watch(Families { children: many, bystanders: CROWD, ..usual })?;
    let exit_more = ((crowded.exits_ns / crowded.exits - exit_ns) / f64::from(CROWD - BYSTANDERS)).max(0.0);
    life.exit = Cost::positive(exit_ns - exit_more * f64::from(BYSTANDERS));
    life.exit_thread = Cost::positive(exit_more);
    life.ended += PARENTS * (1 + many);
    creations(&mut life, beside)?;
    Ok(life)
}

/// Watches families live.
fn watch(families: Families, beside: Beside, alone_on: Option<&CpuSet>) -> Result<Seen, LoadError> {
    let pace = beside.pace();
    let (mut busy, settings) = (Busy::of(alone_on, pace), Settings { look: LOOK, ..settings() });
    let report = run(&workload(&families.scenario(pace)), &settings, &mut busy)?;
    let mut seen = Seen::of(&report, families.kind, busy.beside_tasks(&report), beside.exit);
    seen.parent_ns -= f64::from(families.children) * beside.wakeup + beside.sleep;
    Ok(seen)
}

/// What the children are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Threads, as their parents are.
    Thread,
    /// Processes.
    Process,
}

impl Kind {
    /// The role of children that do nothing.
    pub(super) fn child(self) -> String {
        let kind = match self {
            Kind::Thread => "thread",
            Kind::Process => "process",
        };
        format!("[[task]]\nname = \"child\"\nkind = \"{kind}\"\nspawned = true\nonce = [{{ compute = \"1ns\" }}]\n")
    }
}

impl Families {
    /// These, and bystanders that are there until all others are over.
    fn scenario(self, pace: u32) -> String {
        let Families { children, bystanders, .. } = self;
        format!(
            "name = \"costs\"\n[machine]\ncpus = 1\n[run]\nduration = \"100s\"\n\
             [[task]]\nname = \"parent\"\narrivals = \"{}ms\"\nlimit = {PARENTS}\n\
             once = [{{ spawn = \"child\", count = {children} }}, {{ sleep = \"{}ms\" }}]\n\
             {}\
             [[task]]\nname = \"last\"\ncount = {bystanders}\nonce = [{{ sleep = \"{}ms\" }}]\n",
            APART_MS * pace,
            ASLEEP_MS * pace,
            self.kind.child(),
            over_ms(pace) + 20 * pace
        )
    }
}

/// From one parent to the next, and how long each sleeps after it has created its children, so that they end before it.
const APART_MS: u32 = 8;
pub(super) const ASLEEP_MS: u32 = 6;

/// When all parents and children have ended.
pub(super) fn over_ms(pace: u32) -> u32 {
    (APART_MS * PARENTS + 20) * pace
}

/// The numbers of the roles.
pub(super) const PARENT: u32 = 0;
pub(super) const CHILD: u32 = 1;
const LAST: u32 = 2;

/// What a run has shown.
struct Seen {
    /// CPU time of a parent from its start to its end, the median, without wakeups and its sleep.
    parent_ns: f64,
    /// CPU time of each child up to its end.
    starts: Vec<f64>,
    /// CPU time of all ends of tasks of the kind.
    exits_ns: f64,
    /// How many they are.
    exits: f64,
}

impl Seen {
    fn of(report: &Report, kind: Kind, tasks_ns: Option<f64>, parent_exit_ns: f64) -> Seen {
        let of_role = |role| report.tasks.iter().filter(move |task: &&TaskReport| task.role == role);
        let parents: Vec<f64> =
            of_role(PARENT).map(|parent| (parent.done_cpu_ns - parent.start_cpu_ns) as f64).collect();
        let done = |role| of_role(role).map(|task| task.done_cpu_ns as f64);
        let sum = |role| done(role).sum::<f64>();
        let [parents_count, children] = [PARENT, CHILD].map(|role| done(role).count() as f64);
        let (exits_ns, exits) = match (tasks_ns, kind) {
            (Some(all_ns), Kind::Thread) => (all_ns - sum(CHILD) - sum(PARENT), children + parents_count),
            (Some(all_ns), Kind::Process) => {
                let parents_ns = sum(PARENT) + parent_exit_ns * parents_count;
                (all_ns - parents_ns - sum(CHILD), children)
            }
            (None, Kind::Process) => (report.cpu_ns.processes as f64 - sum(CHILD), children),
            // The last one has not ended yet when they are counted.
            (None, Kind::Thread) => {
                let last_ns: u64 = of_role(LAST).map(|task| task.cpu_ns).sum();
                let threads_ns = report.cpu_ns.threads.saturating_sub(last_ns) as f64;
                (threads_ns - sum(CHILD) - sum(PARENT), children + parents_count)
            }
        };
        Seen { parent_ns: quantile(&parents, 0.5), starts: done(CHILD).collect(), exits_ns, exits }
    }
}

/// How often to look whether it is time.
const LOOK: Duration = Duration::from_millis(5);

/// How busy the machine's CPUs were from the start of a run until its families were over.
struct Busy<'a> {
    cpus: Option<&'a CpuSet>,
    over: Time,
    looks: Vec<Look>,
}

#[derive(Clone, Copy)]
struct Look {
    /// CPU time of everything on the CPUs.
    all_ns: u64,
    /// CPU time of what looks.
    own_ns: u64,
    threads: Threads,
}

impl<'a> Busy<'a> {
    fn of(cpus: Option<&'a CpuSet>, pace: u32) -> Busy<'a> {
        Busy { cpus, over: Time::from_ms(over_ms(pace).into()), looks: Vec::with_capacity(2) }
    }

    /// CPU time of the tasks: all but that of kernel threads, the master and this process.
    fn beside_tasks(&self, report: &Report) -> Option<f64> {
        let [before, after] = self.looks[..] else { return None };
        let others_ns = after.threads.ran_ns(before.threads) + (after.own_ns - before.own_ns) + report.arrivals_cpu_ns;
        (after.all_ns - before.all_ns).checked_sub(others_ns).map(|ns| ns as f64)
    }
}

impl Watcher for Busy<'_> {
    fn go_on(&mut self, now: Time) -> bool {
        let is_time = match self.looks.len() {
            0 => now > Time::ZERO,
            1 => now >= self.over,
            _ => false,
        };
        if let Some(cpus) = self.cpus.filter(|_| is_time) {
            let look = || Some(Look { all_ns: busy_ns(cpus)?, own_ns: thread_cpu_ns(), threads: Threads::look()? });
            self.looks.extend(look());
        }
        true
    }
}

/// CPU time of everything that has run on some CPUs, as their schedulers have counted it (`rq_cpu_time`).
fn busy_ns(cpus: &CpuSet) -> Option<u64> {
    let schedstat = std::fs::read_to_string("/proc/schedstat").ok()?;
    cpus.iter().map(|cpu| busy_of(&schedstat, cpu)).sum()
}

fn busy_of(schedstat: &str, cpu: CpuId) -> Option<u64> {
    let name = format!("cpu{}", cpu.0);
    let mut words =
        schedstat.lines().map(str::split_whitespace).find_map(|mut words| (words.next()? == name).then_some(words))?;
    words.nth(6)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::{cpus, set_cpus};
    use crate::costs::bind;

    #[test]
    fn threads_live_on_the_cpu_of_what_measures_them() {
        let before = cpus().unwrap();
        let beside = Beside { wakeup: 0.0, sleep: 0.0, exit: 0.0, call: 1.0 };
        for cpu in before.iter() {
            bind(cpu).unwrap();
            let life = lives(Kind::Thread, beside, None);
            set_cpus(0, &before).unwrap();
            assert!(life.unwrap().start.is_some(), "{cpu:?}");
        }
    }

    #[test]
    fn the_seventh_number_of_a_cpu_is_its_time() {
        let text = "version 17\ntimestamp 42\ncpu0 1 2 3 4 5 6 7000 8 9\ndomain0 MC 3 1 2\ncpu1 1 2 3 4 5 6 7100 8 9\n";
        assert_eq!([0, 1, 2].map(|cpu| busy_of(text, CpuId(cpu))), [Some(7000), Some(7100), None]);
    }
}
