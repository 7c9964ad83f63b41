//! The metrics of a run, while its events stream by.
//!
//! Memory follows the number of living tasks, never the length of the run. Definitions:
//!
//! * An observation (a response time, a wait) belongs to the instant at which it *ends*; it counts in full when that is
//!   not before the warm-up's end. So completions ÷ measured time is the throughput (Denning and Buzen, "The operational
//!   analysis of queueing network models", 1978). Times that add up (CPU time, idle time, time at a load) are cut at
//!   the warm-up's end and at the run's end.
//! * *Response time*: intended begin of a request to its end. *From first run*: the first instant on a CPU after the
//!   request began to its end; this is what a program that reads a clock sees (Happe et al.).
//! * The four *parts of a response time* add up to it: waiting for a free worker, from birth to being taken by a task and from
//!   being handed on, or lost to a faster worker, to being taken again; and, while a task has the request, waiting for a CPU (runnable, not on one),
//!   running (on one, with what the system takes there), blocked.
//! * *Slowdown*: response time over the CPU work that the request asked for (Harchol-Balter, ch. 28).
//! * *Wake-up latency*: runnable to first run. *Preempt wait*: off the CPU while runnable (slice over, preempted,
//!   yielded) to on again. *Run delay*: both; the kernel's `run_delay`, as single waits. *Longest wait* also looks at
//!   waits that were not over when the run ended.
//! * A *job* of a periodic task: from one `period` step to the next, or to the task's end. It meets its deadline or misses
//!   it; one that is not done when the run ends has missed it if it is past it.
//! * *CPU time* of a task: its time on a CPU without what that CPU spent for the system in it.
//! * *Jain index*: over all task instances, of the CPU time that a task got in each nanosecond of its life (as far as
//!   measured), divided by its weight. Tasks of the real-time classes, which have no weight, stand apart.
//! * *Load*: runnable tasks on a CPU's run queue, the running one included. *Imbalance*: the standard deviation of the CPUs'
//!   loads, by number and by weight, over the time, in parts of the mean load.

mod balance;
mod cpu;
mod cpus;
mod events;
mod idle_watch;
mod imbalance;
mod jobs;
mod measures;
mod outcome;
mod requests;
mod samples;
mod task;
#[cfg(test)]
mod tests;

pub use balance::DEFAULT_HOLD_NS;
pub(crate) use measures::times;
pub use outcome::{RunIdentity, RunMeasures};
pub(crate) use samples::Samples;

use crate::control_groups::ControlGroups;
use crate::fairness::{self, Jain};
use crate::load::MAX_ESTIMATED_LOAD;
use crate::statistics::BatchMeans;
use balance::Balance;
use cpu::Cpu;
use cpus::Cpus;
use idle_watch::IdleWatch;
use imbalance::Imbalance;
use measures::{Observations, Spread, Totals};
use outcome::Detail;
use requests::Taken;
use schedlab_model::ids::{CpuId, RequestId, TaskId};
use schedlab_model::result::EventCounts;
use schedlab_model::time::Time;
use schedlab_model::workload::Workload;
use std::collections::{BTreeMap, BTreeSet};
use task::{Activity, NOT_YET, Task, TaskTable};

/// With more task instances than this, there are results for roles only.
pub const MAX_TASKS_IN_DETAIL: usize = 256;

/// CPU time did not add up: a fault of the venue, not of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "CPU time is not conserved between {from} and {to}: tasks {charged_ns} ns + idle {idle_ns} ns + overhead \
     {overhead_ns} ns is not {cpus} CPUs × {} ns",
    to.0 - from.0
)]
pub struct Violation {
    /// Start of the time looked at.
    pub from: Time,
    /// Its end.
    pub to: Time,
    /// The number of CPUs.
    pub cpus: u32,
    /// CPU time of all tasks.
    pub charged_ns: u64,
    /// Time of all CPUs without a task; negative when a fluid discipline gave more than there was.
    pub idle_ns: i128,
    /// Overhead of all CPUs.
    pub overhead_ns: u64,
}

/// A role: what those that are gone left behind.
#[derive(Debug)]
struct RoleState {
    name: String,
    /// The kernel's weight; none for real-time tasks.
    weight: Option<u32>,
    count: u64,
    totals: Totals,
    task_means: Spread,
    jain: Jain,
    /// Tasks that waited for a CPU and got no time on one.
    starved: u64,
    response_batches: BatchMeans,
}

/// Turns the events of a run into its metrics.
#[derive(Debug)]
pub struct Collector {
    /// The time up to which everything is known.
    now: u64,
    /// Start of what is measured: zero, and the warm-up's end once it is reached.
    window_from: u64,
    /// The warm-up's end until it is reached, then never.
    warmup_end: u64,
    finished: bool,
    fluid: bool,
    /// CPU time given by [`Collector::charge`].
    fluid_ns: u64,
    tasks: TaskTable,
    /// Open requests that wait, or that tasks took.
    requests: BTreeMap<RequestId, Taken>,
    /// When the jobs of periodic tasks are to be done.
    due: BTreeMap<TaskId, u64>,
    cpus: Cpus,
    roles: Vec<RoleState>,
    /// One for each role, then one for each of `details`.
    observations: Vec<Observations>,
    details: Vec<Detail>,
    /// Whether there were few enough tasks so far to keep them apart.
    in_detail: bool,
    /// Absent for fluid disciplines.
    idle_watch: Option<IdleWatch>,
    jain: Jain,
    estimated_load: Vec<u64>,
    events: EventCounts,
    /// Whether the trace says what CPUs do that have no task.
    tells_of_others: bool,
    conservation: Result<(), Violation>,
    /// Where the workload has control groups.
    control_groups: Option<ControlGroups>,
    /// Tasks that a limit holds back, where there are no control groups to know it.
    held: BTreeSet<TaskId>,
}

impl Collector {
    /// For a run of this workload in which tasks are switched to and from CPUs.
    pub fn new(workload: &Workload) -> Collector {
        let cpus = workload.machine.cpus();
        let all_everywhere = workload.roles.iter().all(|role| role.certain_cpus().len() == cpus);
        let roles: Vec<RoleState> = workload
            .roles
            .iter()
            .map(|role| RoleState {
                name: role.name.clone(),
                weight: fairness::weight(role),
                count: 0,
                totals: Totals::default(),
                task_means: Spread::default(),
                jain: Jain::default(),
                starved: 0,
                response_batches: BatchMeans::default(),
            })
            .collect();
        let mut all_cpus = Cpus::new(cpus, (cpus > 1 && all_everywhere).then_some(DEFAULT_HOLD_NS));
        all_cpus.imbalance = (cpus > 1).then(|| Imbalance::new(cpus, roles.iter().map(|role| role.weight)));
        Collector {
            now: 0,
            window_from: 0,
            warmup_end: if workload.run.warmup == Time::ZERO { NOT_YET } else { workload.run.warmup.0 },
            finished: false,
            fluid: false,
            fluid_ns: 0,
            tasks: TaskTable::default(),
            requests: BTreeMap::new(),
            due: BTreeMap::new(),
            cpus: all_cpus,
            observations: vec![Observations::default(); roles.len()],
            roles,
            details: Vec::new(),
            in_detail: true,
            idle_watch: Some(IdleWatch::new(workload)),
            jain: Jain::default(),
            estimated_load: vec![0; MAX_ESTIMATED_LOAD as usize + 1],
            events: EventCounts::default(),
            tells_of_others: false,
            conservation: Ok(()),
            control_groups: ControlGroups::new(workload),
            held: BTreeSet::new(),
        }
    }

    /// For a *fluid* discipline such as processor sharing, which gives fractions of CPUs to tasks and emits no switches:
    /// CPU time comes by [`Collector::charge`]; waits, loads and balance have no meaning; requests run from their start.
    pub fn new_fluid(workload: &Workload) -> Collector {
        let cpus = Cpus::new(workload.machine.cpus(), None);
        Collector { fluid: true, idle_watch: None, cpus, ..Collector::new(workload) }
    }

    /// Asks that the balance holds for this long instead of [`DEFAULT_HOLD_NS`]; to be called before the first event.
    pub fn with_balance_hold(mut self, hold: Time) -> Collector {
        let cpus = self.cpus.len() as u32;
        self.cpus.balance = self.cpus.balance.map(|_| Balance::new(cpus, hold.0));
        self
    }

    /// A fluid discipline gave `cpu_ns` to the task, in a time that ended at `until`. A charge belongs to the window in
    /// which it ends, so the discipline also charges its tasks at the warm-up's end and at the end of the run (before
    /// `finish`), and each task before its exit.
    pub fn charge(&mut self, until: Time, task: TaskId, cpu_ns: u64) {
        if until.0 > self.now {
            self.advance(until.0);
        }
        if until.0 <= self.window_from && self.window_from > 0 {
            return;
        }
        if let Some(slot) = self.tasks.slot(task) {
            self.tasks.get_mut(slot).cpu_ns += cpu_ns;
            self.fluid_ns += cpu_ns;
        }
    }

    /// Whether charged + idle + overhead time is CPUs × time to the nanosecond, during the warm-up and after it. The
    /// run must be over.
    pub fn conservation(&self) -> Result<(), Violation> {
        assert!(self.finished, "the conservation of a run that is not over");
        self.conservation
    }

    /// Time moves on to `to`.
    #[inline(always)]
    fn advance(&mut self, to: u64) {
        if to >= self.warmup_end {
            self.end_warmup();
        }
        self.pass(to);
    }

    /// Lets time pass with everything as it is, except for CPUs that get through with overhead in between.
    #[inline(always)]
    fn pass(&mut self, to: u64) {
        if let Some(imbalance) = &mut self.cpus.imbalance {
            imbalance.pass(to - self.now);
        }
        if let Some(watch) = &mut self.idle_watch {
            while let Some((until, cpu)) = watch.overhead_over(to) {
                watch.pass(until.saturating_sub(self.now));
                if let Some(balance) = &mut self.cpus.balance {
                    balance.pass(self.now, until.max(self.now));
                }
                self.now = self.now.max(until);
                Self::watch_idle(watch, &mut self.cpus[cpu], cpu, self.now);
            }
            watch.pass(to - self.now);
        }
        if let Some(balance) = &mut self.cpus.balance {
            balance.pass(self.now, to);
        }
        self.now = to;
    }

    /// Counts an unoccupied CPU as idle, now or as soon as its overhead is over.
    fn watch_idle(watch: &mut IdleWatch, cpu: &mut Cpu, number: usize, now: u64) {
        if cpu.occupied || cpu.watched_idle {
            return;
        }
        if cpu.overhead.until() > now {
            watch.overhead_until(number, cpu.overhead.until());
        } else {
            cpu.watched_idle = true;
            watch.idle_begins(number);
        }
    }

    fn unwatch_idle(&mut self, cpu: CpuId) {
        let state = &mut self.cpus[cpu.index()];
        if std::mem::take(&mut state.watched_idle)
            && let Some(watch) = &mut self.idle_watch
        {
            watch.idle_ends(cpu.index());
        }
    }

    /// Brings all sums to the present and compares them with each other.
    fn settle(&mut self) {
        for cpu in self.cpus.iter_mut() {
            cpu.settle(self.now);
        }
        for slot in self.tasks.slots() {
            let task = self.tasks.get_mut(slot);
            if task.activity == Activity::Running {
                let clock = &self.cpus[task.cpu.index()].overhead;
                charge_running(task, self.now, clock.elapsed(self.now));
            }
        }
        if self.conservation.is_ok() {
            self.conservation = self.check_sums();
        }
    }

    fn check_sums(&mut self) -> Result<(), Violation> {
        let living: u64 = self.tasks.slots().into_iter().map(|slot| self.tasks.get_mut(slot).cpu_ns).sum();
        let charged_ns = living + self.roles.iter().map(|role| role.totals.cpu_ns).sum::<u64>();
        let overhead_ns = cpu::total(&self.overhead_times());
        let without_task = |cpu: &Cpu| i128::from(cpu.idle_ns) + i128::from(cpu.others_ns) + i128::from(cpu.unknown_ns);
        let idle_ns = self.cpus.iter().map(without_task).sum::<i128>() - i128::from(self.fluid_ns);
        let cpus = self.cpus.len() as u32;
        let capacity = i128::from(self.now - self.window_from) * i128::from(cpus);
        if idle_ns >= 0 && i128::from(charged_ns) + idle_ns + i128::from(overhead_ns) == capacity {
            return Ok(());
        }
        let (from, to) = (Time(self.window_from), Time(self.now));
        Err(Violation { from, to, cpus, charged_ns, idle_ns, overhead_ns })
    }

    /// Forgets what was measured so far; what tasks and CPUs are doing continues.
    #[cold]
    fn end_warmup(&mut self) {
        self.pass(self.warmup_end);
        self.settle();
        self.window_from = self.now;
        self.warmup_end = NOT_YET;
        for cpu in self.cpus.iter_mut() {
            cpu.clear(self.now);
        }
        for role in &mut self.roles {
            role.count = 0;
            role.totals = Totals::default();
            role.task_means = Spread::default();
            role.jain = Jain::default();
            role.starved = 0;
            role.response_batches = BatchMeans::default();
        }
        self.details.iter_mut().for_each(|detail| detail.measured = false);
        for slot in self.tasks.slots() {
            let task = self.tasks.get_mut(slot);
            task.clear();
            self.roles[task.role.index()].count += 1;
            if let Some(place) = (task.observations as usize).checked_sub(self.roles.len()) {
                self.details[place].measured = true;
            }
        }
        self.observations.iter_mut().for_each(Observations::clear);
        if let Some(watch) = &mut self.idle_watch {
            watch.clear();
        }
        if let Some(imbalance) = &mut self.cpus.imbalance {
            imbalance.clear();
        }
        self.jain = Jain::default();
        self.estimated_load.fill(0);
        self.events = EventCounts::default();
        self.fluid_ns = 0;
        if let Some(groups) = &mut self.control_groups {
            groups.clear(self.now);
        }
    }
}

/// Gives a running task its CPU time since the last time this was done.
#[inline]
fn charge_running(task: &mut Task, now: u64, overhead_clock: u64) {
    task.cpu_ns += (now - task.since) - (overhead_clock - task.overhead_mark);
    task.since = now;
    task.overhead_mark = overhead_clock;
}
