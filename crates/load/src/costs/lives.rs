//! What the life of a task takes that does nothing: its creation, its start, and its end with what it writes down then. Measured
//! on tasks of runs, whose process has the memory that a run has.
//!
//! Parents come one at a time and create some tasks each. What a parent takes for more of them than another is what each of
//! them takes; what it takes once is what its memory takes that it shares with its children. Nobody can tell from outside
//! when an end is over, so ends are what is left of all CPU time when everything else is taken off. Where nobody else is at
//! work that is the time of the CPU; else it is what the kernel has counted for the tasks, which has not the last part of a
//! thread's end in it.

use super::grace::Threads;
use super::steps::workload;
use super::{Cost, settings};
use crate::calibration::quantile;
use crate::clock::thread_cpu_ns;
use crate::run::{LoadError, Report, Settings, TaskReport, Watcher, run};
use schedlab_model::ids::CpuId;
use schedlab_model::time::Time;
use std::time::Duration;

/// The parts of lives, each next to the wakeups and switches in it.
#[derive(Debug)]
pub struct Life {
    /// CPU time of the parent for creating it.
    pub fork: Option<Cost>,
    /// CPU time of the parent, once for all that it creates at a time.
    pub once: Option<Cost>,
    /// CPU time of the task for its start and a step in which it does nothing.
    pub start: Option<Cost>,
    /// From its last step on.
    pub exit: Option<Cost>,
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
}

/// A machine on which a wakeup takes longer than this gets as much more time for lives.
const QUICK_WAKEUP_NS: f64 = 3000.0;

impl Beside {
    /// How much more time everything gets than on a processor.
    fn pace(self) -> u32 {
        ((self.wakeup / QUICK_WAKEUP_NS).ceil() as u32).clamp(1, 100)
    }
}

/// How many parents there are.
const PARENTS: u32 = 12;
/// How many tasks each of them creates, in one run and in another.
const CHILDREN: [u32; 2] = [1, 3];

/// Measures the lives of threads or processes on a CPU on which nobody else is at work, if one is given.
pub fn lives(kind: Kind, beside: Beside, alone_on: Option<CpuId>) -> Result<Life, LoadError> {
    let mut lives = Vec::new();
    for children in CHILDREN {
        let (mut busy, settings) = (Busy::of(alone_on, beside.pace()), Settings { look: LOOK, ..settings() });
        let report = run(&workload(&families(kind, children, beside.pace())), &settings, &mut busy)?;
        lives.push((f64::from(children), Seen::of(&report, kind, busy.beside_tasks(&report), beside.exit)));
    }
    let [(few, first), (many, second)] = &lives[..] else { unreachable!("there are two") };
    let parent_ns = |seen: &Seen, children: f64| seen.parent_ns - beside.sleep - children * beside.wakeup;
    let (first_ns, second_ns) = (parent_ns(first, *few), parent_ns(second, *many));
    let fork_ns = (second_ns - first_ns) / (many - few);
    let starts: Vec<f64> = first.starts.iter().chain(&second.starts).copied().collect();
    Ok(Life {
        fork: Cost::positive(fork_ns),
        once: Cost::positive(first_ns - few * fork_ns),
        start: Cost::of(&starts),
        ended: CHILDREN.iter().map(|children| PARENTS * (1 + children)).sum(),
        exit: Cost::positive((first.exits_ns + second.exits_ns) / (first.exits + second.exits)),
    })
}

/// What the children are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Threads, as their parents are.
    Thread,
    /// Processes.
    Process,
}

/// Families, and one that is there until all others are over: who ends a run looks at its last task.
fn families(kind: Kind, children: u32, pace: u32) -> String {
    let kind = match kind {
        Kind::Thread => "thread",
        Kind::Process => "process",
    };
    format!(
        "name = \"costs\"\n[machine]\ncpus = 1\n[run]\nduration = \"100s\"\n\
         [[task]]\nname = \"parent\"\narrivals = \"{}ms\"\nlimit = {PARENTS}\n\
         once = [{{ spawn = \"child\", count = {children} }}, {{ sleep = \"{}ms\" }}]\n\
         [[task]]\nname = \"child\"\nkind = \"{kind}\"\nspawned = true\nonce = [{{ compute = \"1ns\" }}]\n\
         [[task]]\nname = \"last\"\nonce = [{{ sleep = \"{}ms\" }}]\n",
        APART_MS * pace,
        ASLEEP_MS * pace,
        over_ms(pace) + 20 * pace
    )
}

/// From one parent to the next, and how long each sleeps after it has created its children, so that they end before it.
const APART_MS: u32 = 8;
const ASLEEP_MS: u32 = 6;

/// When all parents and children have ended.
fn over_ms(pace: u32) -> u32 {
    (APART_MS * PARENTS + 20) * pace
}

/// The numbers of the roles.
const PARENT: u32 = 0;
const CHILD: u32 = 1;
const LAST: u32 = 2;

/// What a run has shown.
struct Seen {
    /// CPU time of a parent from its start to its end, the median.
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

/// How busy a CPU was from the start of a run until its families were over.
struct Busy {
    cpu: Option<CpuId>,
    over: Time,
    looks: Vec<Look>,
}

#[derive(Clone, Copy)]
struct Look {
    /// CPU time of everything on the CPU.
    all_ns: u64,
    /// CPU time of what looks.
    own_ns: u64,
    threads: Threads,
}

impl Busy {
    fn of(cpu: Option<CpuId>, pace: u32) -> Busy {
        Busy { cpu, over: Time::from_ms(over_ms(pace).into()), looks: Vec::with_capacity(2) }
    }

    /// CPU time of the tasks: all but that of kernel threads, the master and this process.
    fn beside_tasks(&self, report: &Report) -> Option<f64> {
        let [before, after] = self.looks[..] else { return None };
        let others_ns = after.threads.ran_ns(before.threads) + (after.own_ns - before.own_ns) + report.arrivals_cpu_ns;
        (after.all_ns - before.all_ns).checked_sub(others_ns).map(|ns| ns as f64)
    }
}

impl Watcher for Busy {
    fn go_on(&mut self, now: Time) -> bool {
        let is_time = match self.looks.len() {
            0 => now > Time::ZERO,
            1 => now >= self.over,
            _ => false,
        };
        if let Some(cpu) = self.cpu.filter(|_| is_time) {
            let look = || Some(Look { all_ns: busy_ns(cpu)?, own_ns: thread_cpu_ns(), threads: Threads::look()? });
            self.looks.extend(look());
        }
        true
    }
}

/// CPU time of everything that has run on a CPU, as its scheduler has counted it (`rq_cpu_time`).
fn busy_ns(cpu: CpuId) -> Option<u64> {
    busy_of(&std::fs::read_to_string("/proc/schedstat").ok()?, cpu)
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

    #[test]
    fn the_seventh_number_of_a_cpu_is_its_time() {
        let text = "version 17\ntimestamp 42\ncpu0 1 2 3 4 5 6 7000 8 9\ndomain0 MC 3 1 2\ncpu1 1 2 3 4 5 6 7100 8 9\n";
        assert_eq!([0, 1, 2].map(|cpu| busy_of(text, CpuId(cpu))), [Some(7000), Some(7100), None]);
    }
}
