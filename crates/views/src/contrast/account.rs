//! How long the tasks of each role waited for a CPU, where, and what had it.

use schedlab_model::ids::{CpuId, RoleId, TaskId};
use schedlab_model::names::{Label, Names};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Reason, Sink, Untraced, WakeSource};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// How many of the longest waits are kept.
const WORST: usize = 3;

/// What had a CPU while a task waited for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Had {
    /// A task of this role; none for a task whose fork was not seen.
    Role(Option<RoleId>),
    /// Nothing: it idled.
    Idle,
    /// Something that was not recorded.
    Untraced,
}

/// What a role's tasks waited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// Waits whose begin and end are known, by the block in which they ended, and how long they were.
    pub blocks: Vec<(u64, u64)>,
    /// All time that a task of it is known to have been runnable and not to have run, in nanoseconds.
    pub total_ns: u64,
    /// That time by CPU.
    pub by_cpu: BTreeMap<CpuId, u64>,
    /// That time by what had the CPU.
    pub by_had: BTreeMap<Had, u64>,
    /// That time as far as another CPU idled.
    pub beside_idle_ns: u64,
}

impl Waited {
    /// How many waits there were.
    pub fn count(&self) -> u64 {
        self.blocks.iter().map(|(count, _)| count).sum()
    }
}

/// One of the longest waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worst {
    /// The task that waited.
    pub task: Label,
    /// From then on.
    pub from: Time,
    /// Until then.
    pub until: Time,
    /// The CPU of the run queue on which it began.
    pub cpu: CpuId,
    /// The task that woke it; none where none did, or it was preempted.
    pub waker: Option<Label>,
    /// What it had waited for before it became runnable; not known of one that was preempted.
    pub source: WakeSource,
    /// It had run, and another was preferred.
    pub was_preempted: bool,
}

impl Worst {
    /// How long it was.
    pub fn length(&self) -> Time {
        self.until.since(self.from)
    }
}

/// Goes over a trace.
pub struct Account {
    names: Names,
    block: Time,
    end: Time,
    now: Time,
    tasks: HashMap<TaskId, Task>,
    cpus: Vec<Cpu>,
    /// The roles that had a task.
    present: BTreeSet<RoleId>,
    idle: usize,
    roles: BTreeMap<Option<RoleId>, Waited>,
    worst: Vec<Worst>,
}

#[derive(Clone, Copy, Debug)]
struct Task {
    role: Option<RoleId>,
    /// The run queue on which it waits.
    waits_on: CpuId,
    /// The number of that CPU's stretch of known time.
    stretch: u64,
    /// The wait.
    since: Worst,
}

#[derive(Clone, Debug, Default)]
struct Cpu {
    on: Option<TaskId>,
    untraced: Untraced,
    /// How often its state became unknown: a wait from before is not known to go on.
    stretch: u64,
    /// How many tasks of each role are known to wait here.
    waiting: BTreeMap<Option<RoleId>, u64>,
    /// Up to when the waiting here is accounted for.
    settled: Time,
}

impl Account {
    /// For a trace with these roles, that ends then, in blocks of this length.
    pub fn new(roles: impl IntoIterator<Item = String>, cpus: u32, end: Time, block: Time) -> Account {
        Account {
            names: Names::new(roles),
            block: block.max(Time(1)),
            end,
            now: Time::ZERO,
            tasks: HashMap::new(),
            cpus: vec![Cpu::default(); cpus as usize],
            present: BTreeSet::new(),
            idle: cpus as usize,
            roles: BTreeMap::new(),
            worst: Vec::new(),
        }
    }

    /// The names of roles and tasks.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// How long the trace is.
    pub fn end(&self) -> Time {
        self.end
    }

    /// How many whole blocks it has.
    pub fn blocks(&self) -> usize {
        (self.end.ns() / self.block.ns()) as usize
    }

    /// What each role waited, by its name.
    pub fn roles(&self) -> impl Iterator<Item = (String, &Waited)> {
        self.roles.iter().map(|(role, waited)| (self.name(*role), waited))
    }

    /// The name of a role, or a placeholder for tasks without one.
    pub fn name(&self, role: Option<RoleId>) -> String {
        role.map_or("(unknown)".into(), |role| self.names.role(role))
    }

    /// The names of the roles that had a task.
    pub fn present(&self) -> BTreeSet<String> {
        self.present.iter().map(|role| self.names.role(*role)).collect()
    }

    /// The longest waits, the longest first.
    pub fn worst(&self) -> &[Worst] {
        &self.worst
    }

    fn cpu(&mut self, cpu: CpuId) -> Option<&mut Cpu> {
        self.cpus.get_mut(cpu.0 as usize)
    }

    /// Accounts for the waiting on a CPU since it was last asked for.
    fn settle(&mut self, place: usize) {
        let (now, idle) = (self.now, self.idle);
        let Some(cpu) = self.cpus.get_mut(place) else { return };
        let passed = now.since(cpu.settled).ns();
        cpu.settled = now;
        if passed == 0 || cpu.waiting.is_empty() {
            return;
        }
        let idles = cpu.is_idle();
        let had = match cpu.on {
            Some(task) => Had::Role(self.names.get(task).map(|(role, _)| role)),
            None if idles => Had::Idle,
            None => Had::Untraced,
        };
        let is_beside_idle = idle > usize::from(idles);
        for (role, count) in &cpu.waiting {
            let waited = self.roles.entry(*role).or_default();
            let waited_ns = passed.saturating_mul(*count);
            let add = |sum: &mut u64| *sum = sum.saturating_add(waited_ns);
            add(&mut waited.total_ns);
            add(waited.by_cpu.entry(CpuId(place as u32)).or_default());
            add(waited.by_had.entry(had).or_default());
            if is_beside_idle {
                add(&mut waited.beside_idle_ns);
            }
        }
    }

    /// Before a CPU turns from idle to something else or back: what all others' tasks waited next to it.
    fn settle_all(&mut self) {
        (0..self.cpus.len())
            .filter(|&place| !self.cpus[place].waiting.is_empty())
            .collect::<Vec<_>>()
            .into_iter()
            .for_each(|place| self.settle(place));
    }

    /// A CPU has this task from now on, or none and does this.
    fn turn(&mut self, cpu: CpuId, on: Option<TaskId>, untraced: Untraced) {
        let place = cpu.0 as usize;
        let Some(before) = self.cpus.get(place).map(Cpu::is_idle) else { return };
        let is_idle = on.is_none() && untraced == Untraced::Idle;
        if before == is_idle {
            self.settle(place);
        } else {
            self.settle(place);
            self.settle_all();
            self.idle = if is_idle { self.idle + 1 } else { self.idle - 1 };
        }
        let cpu = &mut self.cpus[place];
        (cpu.on, cpu.untraced) = (on, untraced);
        if cpu.is_unknown() {
            cpu.stretch += 1;
            cpu.waiting.clear();
        }
    }

    /// A task waits on this CPU's run queue from now on. Of a CPU of which nothing is known this is no wait: it may run.
    fn enqueue(&mut self, task: TaskId, cpu: CpuId, since: Worst) {
        self.dequeue(task);
        self.settle(cpu.0 as usize);
        let role = self.names.get(task).map(|(role, _)| role);
        let Some(place) = self.cpu(cpu).filter(|cpu| !cpu.is_unknown()) else { return };
        *place.waiting.entry(role).or_default() += 1;
        let stretch = place.stretch;
        self.tasks.insert(task, Task { role, waits_on: cpu, stretch, since });
    }

    /// It does not wait any more. Gives the wait that it was in, if all of it is known.
    fn dequeue(&mut self, task: TaskId) -> Option<Worst> {
        let Task { role, waits_on, stretch, since } = self.tasks.remove(&task)?;
        if self.cpu(waits_on)?.stretch != stretch {
            return None;
        }
        self.settle(waits_on.0 as usize);
        let waiting = &mut self.cpu(waits_on)?.waiting;
        if let Some(count) = waiting.get_mut(&role) {
            *count -= 1;
            if *count == 0 {
                waiting.remove(&role);
            }
        }
        Some(since)
    }

    /// A wait that begins now: of a task that was woken with its waker and source, of any other that was preempted.
    fn wait(&self, task: TaskId, cpu: CpuId, woken: Option<(Option<TaskId>, WakeSource)>) -> Worst {
        let (waker, source) = woken.unwrap_or((None, WakeSource::Unknown));
        let waker = waker.map(|waker| self.names.label(waker));
        let (task, now) = (self.names.label(task), self.now);
        Worst { task, from: now, until: now, cpu, waker, source, was_preempted: woken.is_none() }
    }

    /// A wait came to its end.
    fn ended(&mut self, wait: Worst) {
        let wait = Worst { until: self.now, ..wait };
        let block = (self.now.ns() / self.block.ns()) as usize;
        if block < self.blocks() {
            let blocks = self.blocks();
            let role = wait.task.place.map(|(role, _)| role);
            let waited = self.roles.entry(role).or_default();
            waited.blocks.resize(blocks, (0, 0));
            let (count, sum) = &mut waited.blocks[block];
            (*count, *sum) = (*count + 1, sum.saturating_add(wait.length().ns()));
        }
        let place = self.worst.partition_point(|other| other.length() >= wait.length());
        if place < WORST {
            self.worst.insert(place, wait);
            self.worst.truncate(WORST);
        }
    }

    fn switch(&mut self, cpu: CpuId, previous: Option<TaskId>, reason: Reason, next: Option<TaskId>) {
        if let Some(task) = next
            && let Some(wait) = self.dequeue(task)
        {
            self.ended(wait);
        }
        self.turn(cpu, next, Untraced::Idle);
        if let Some(task) = previous
            && matches!(reason, Reason::SliceEnd | Reason::Preempted | Reason::Yielded)
        {
            let wait = self.wait(task, cpu, None);
            self.enqueue(task, cpu, wait);
        }
    }
}

impl Cpu {
    fn is_idle(&self) -> bool {
        self.on.is_none() && self.untraced == Untraced::Idle
    }

    fn is_unknown(&self) -> bool {
        self.on.is_none() && self.untraced == Untraced::Unknown
    }
}

impl Sink for Account {
    fn event(&mut self, event: &Event) {
        self.now = event.time;
        self.names.observe(event);
        match event.kind {
            EventKind::Wakeup { task, target, waker, source } => {
                // Since when it waits is not known where that was not told.
                if source == WakeSource::Untold {
                    self.dequeue(task);
                } else {
                    let wait = self.wait(task, target, Some((waker, source)));
                    self.enqueue(task, target, wait);
                }
            }
            EventKind::Migrate { task, to, .. } => {
                if let Some(since) = self.dequeue(task) {
                    self.enqueue(task, to, since);
                }
            }
            EventKind::Fork { role, .. } => _ = self.present.insert(role),
            EventKind::Switch { previous, reason, next } => self.switch(event.cpu, previous, reason, next),
            EventKind::Untraced { what } if self.cpu(event.cpu).is_some_and(|cpu| cpu.on.is_none()) => {
                self.turn(event.cpu, None, what);
            }
            EventKind::Exit { task } => drop(self.dequeue(task)),
            _ => {}
        }
    }

    fn finish(&mut self, end: Time) {
        self.now = end;
        self.settle_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_helpers::{fork, roles, switch, wakeup};

    #[test]
    fn a_wait_that_nobody_saw_end_counts_only_as_far_as_it_is_known() {
        let turn = |at: u64, what| Event { time: Time(at), cpu: CpuId(0), kind: EventKind::Untraced { what } };
        let untold = |at: u64, task: u32| Event {
            time: Time(at),
            cpu: CpuId(0),
            kind: EventKind::Wakeup { task: TaskId(task), target: CpuId(0), waker: None, source: WakeSource::Untold },
        };
        let mut account = Account::new(roles(), 1, Time(1000), Time(1000));
        for event in [
            fork(0, 0, 0),
            fork(0, 1, 1),
            wakeup(0, 1, 0),
            // What follows until 100 is lost, and task 1 is never seen again.
            turn(10, Untraced::Unknown),
            wakeup(20, 0, 0),
            untold(100, 0),
            switch(100, 0, None, Reason::Idle, Some(0)),
            switch(900, 0, Some(0), Reason::Blocked, None),
            untold(1000, 1),
        ] {
            account.event(&event);
        }
        account.finish(Time(1000));
        let waited: BTreeMap<String, Waited> = account.roles().map(|(name, waited)| (name, waited.clone())).collect();
        assert_eq!((waited["timer"].total_ns, waited["timer"].count()), (10, 0));
        assert!(!waited.contains_key("worker") && account.worst().is_empty(), "{waited:?}");
        assert_eq!(account.present().into_iter().collect::<Vec<_>>(), ["timer", "worker"]);
    }

    #[test]
    fn waits_are_accounted_to_blocks_cpus_and_who_had_them() {
        let mut account = Account::new(roles(), 2, Time(100), Time(50));
        for event in [
            fork(0, 0, 0),
            fork(0, 1, 1),
            wakeup(0, 0, 0),
            switch(0, 0, None, Reason::Idle, Some(0)),
            wakeup(10, 1, 0),
            switch(20, 0, Some(0), Reason::Preempted, Some(1)),
            switch(70, 0, Some(1), Reason::Blocked, Some(0)),
            switch(80, 0, Some(0), Reason::Blocked, None),
            wakeup(90, 1, 0),
        ] {
            account.event(&event);
        }
        account.finish(Time(100));
        let waited: BTreeMap<String, Waited> = account.roles().map(|(name, waited)| (name, waited.clone())).collect();
        let timer = &waited["timer"];
        assert_eq!(timer.blocks, [(1, 10), (0, 0)]);
        // The last one waits still, for a CPU that idles.
        assert_eq!((timer.total_ns, timer.by_had[&Had::Idle]), (20, 10));
        assert_eq!(timer.by_had[&Had::Role(Some(RoleId(0)))], 10);
        // The other CPU idled all the time.
        assert_eq!(timer.beside_idle_ns, 20);
        let worker = &waited["worker"];
        assert_eq!((worker.blocks.as_slice(), worker.by_cpu[&CpuId(0)]), (&[(1, 0), (1, 50)][..], 50));
        assert_eq!(account.worst().iter().map(|wait| wait.length().ns()).collect::<Vec<_>>(), [50, 10, 0]);
        assert!(account.worst()[0].was_preempted);
    }
}
