//! Makes the events of a run of the kernel's records. Pure: no kernel is asked here.
//!
//! The kernel reports facts about threads; a trace describes the lives of tasks, by laws that
//! `schedlab_metrics::validator` states. Three things lie between. A recording begins when threads already run, wait
//! and sleep: what comes before its start only builds up that state, which is then told as events at time zero. The
//! kernel says more than happened: it wakes threads that have not gone to sleep; such wakeups are left out. And when
//! records were lost, what is known contradicts what is reported: the missing step is put in at the time at which it is
//! missed, and counted as repaired. What is not known is credited to no task: a CPU of which records are missing has no
//! task meanwhile ([`Untraced::Unknown`]), and a task whose wake-up is missing has no latency ([`WakeSource::Untold`]).

mod accounts;

use crate::gaps::Gaps;
use crate::record::{Comm, Departure, Record, RecordKind, Thread, Waker};
use accounts::Account;
use schedlab_model::ids::{CpuId, RoleId, TaskId};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Reason, Sink, Untraced, WakeSource};
use std::collections::{BTreeMap, BTreeSet};

/// A task of the trace; its place in [`Summary::tasks`] is its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its thread, as first seen.
    pub thread: Thread,
    /// Its name, as last seen; empty when it was never told.
    pub comm: Comm,
    /// Its role.
    pub role: RoleId,
}

/// What came of the records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The tasks, in the order of their first appearance.
    pub tasks: Vec<Known>,
    /// Tasks that were there with neither a fork nor the start to explain it: threads that the kernel makes without
    /// telling, as for `io_uring`, or after a loss.
    pub adopted: u64,
    /// Missing steps that were put in. Zero when nothing was lost, except for a program that another than the first
    /// thread of its process started: the kernel swaps the two threads' numbers.
    pub repaired: u64,
    /// Time of CPUs of which switches are missing that the kernel's accounts give to a task, in nanoseconds.
    pub mended_ns: u64,
    /// Wakeups left out, of threads that ran or were runnable.
    pub redundant_wakeups: u64,
}

/// Turns records, in the order of time, into events.
pub struct Converter<G> {
    start_ns: u64,
    begun: bool,
    /// A policy publishes words about tasks; else a task's status is the kernel's priority.
    publishing: bool,
    role_of: G,
    /// Threads by number; none stands for one that the caller does not want.
    numbers: BTreeMap<i32, Option<usize>>,
    tasks: Vec<Task>,
    cpus: Vec<Cpu>,
    /// Whether the recorder says when a CPU turns from others to idle. Otherwise time of others counts as idle.
    tells_of_others: bool,
    /// What a CPU does of which no record has spoken.
    unheard: Untraced,
    /// Where records are missing.
    gaps: Gaps,
    /// Switches so far.
    switches: usize,
    /// Accounts of CPU time so far.
    accounts: usize,
    /// When the account of a CPU ends.
    ends: BTreeSet<(u64, u32)>,
    events: Vec<Event>,
    summary: Summary,
}

#[derive(Clone, Copy, Default)]
struct Cpu {
    task: Option<usize>,
    /// What it does without one.
    untraced: Untraced,
    /// When the CPU's task was last unknown.
    unknown_until_ns: u64,
    /// What the kernel last accounted for here.
    account: Option<Account>,
    /// Since when its task is there by an account alone.
    mended_since_ns: Option<u64>,
}

struct Task {
    thread: Thread,
    comm: Comm,
    role: RoleId,
    state: State,
    /// The CPU where it runs or would.
    home: u32,
    /// Since when it is runnable.
    runnable_ns: u64,
    status: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Just seen for the first time, what it does is not known.
    New,
    Off,
    Runnable,
    Running(u32),
    Ended,
}

impl<G: FnMut(&Thread, &Comm) -> Option<RoleId>> Converter<G> {
    /// For a recording that began at `start_ns` (`Recorder::started_ns` of `schedlab_kernel`), which becomes the time zero.
    /// `role_of` is asked once for each thread of interest; none leaves the thread out, as if it were idle.
    pub fn new(start_ns: u64, role_of: G) -> Converter<G> {
        Converter {
            start_ns,
            begun: false,
            publishing: false,
            role_of,
            numbers: BTreeMap::new(),
            tasks: Vec::new(),
            cpus: Vec::new(),
            tells_of_others: true,
            unheard: Untraced::Idle,
            gaps: Gaps::default(),
            switches: 0,
            accounts: 0,
            ends: BTreeSet::new(),
            events: Vec::new(),
            summary: Summary::default(),
        }
    }

    /// Where records are missing, by a look at all of them before. Without it, a task that came to a CPU counts as being there
    /// until the next switch.
    pub fn with_gaps(self, gaps: Gaps) -> Converter<G> {
        Converter { gaps, ..self }
    }

    /// For a recording that does not begin with a look at each CPU: what one of this many CPUs did is not known until a record
    /// proves it.
    pub fn with_unheard_cpus(mut self, count: u32) -> Converter<G> {
        self.unheard = Untraced::Unknown;
        self.cpus.resize(count as usize, Cpu { untraced: Untraced::Unknown, ..Cpu::default() });
        self
    }

    /// For a recorder that was not asked for the turns of others: it would not be seen when a CPU idles again.
    pub fn without_others(self) -> Converter<G> {
        Converter { tells_of_others: false, ..self }
    }

    /// Takes the next record.
    pub fn record(&mut self, record: &Record, sink: &mut impl Sink) {
        if record.time_ns >= self.start_ns && !self.begun {
            self.begin();
        }
        self.end_accounts(record.time_ns);
        self.take(record);
        sink.events(&self.events);
        self.events.clear();
    }

    /// The recording ended at `end_ns`.
    pub fn finish(mut self, end_ns: u64, sink: &mut impl Sink) -> Summary {
        if !self.begun {
            self.begin();
        }
        self.end_accounts(end_ns);
        self.doubt_waits(end_ns);
        (0..self.cpus.len() as u32).for_each(|cpu| self.count_mended(end_ns, cpu));
        sink.events(&self.events);
        sink.finish(Time(end_ns.saturating_sub(self.start_ns)));
        let known = |task: Task| Known { thread: task.thread, comm: task.comm, role: task.role };
        self.summary.tasks = self.tasks.into_iter().map(known).collect();
        self.summary
    }

    fn take(&mut self, record: &Record) {
        let (now, cpu) = (record.time_ns, record.cpu);
        match record.kind {
            RecordKind::Switch { previous, how, next } => self.switch(now, cpu, &previous, how, &next),
            RecordKind::Running { thread, .. } => {
                let task = self.seen(now, cpu, &thread);
                self.vacate(now, cpu, task);
                match task {
                    None => self.turn_to(now, cpu, self.untraced(&thread)),
                    Some(task) if self.on(cpu) != Some(task) => self.put_on(now, cpu, task),
                    Some(_) => {}
                }
            }
            RecordKind::Wakeup { thread, target, waker, new } => {
                if let Some(task) = self.seen(now, target, &thread) {
                    self.wakeup(now, cpu, task, target, waker, new);
                }
            }
            RecordKind::Migrate { thread, from, to } => self.migrate(now, cpu, &thread, from, to),
            RecordKind::Fork { parent, child, comm } => self.fork(now, cpu, parent, &child, comm),
            RecordKind::Present { thread, comm, runnable, cpu } => self.present(now, cpu, &thread, comm, runnable),
            RecordKind::Exec { thread, former, comm } => self.exec(now, cpu, &thread, former, comm),
            RecordKind::Rename { thread, comm } => {
                if let Some(task) = self.seen(now, cpu, &thread) {
                    self.tasks[task].comm = comm;
                }
            }
            RecordKind::Publishing => self.publishing = true,
            RecordKind::Status { thread, word } => {
                if let Some(task) = self.seen(now, cpu, &thread) {
                    self.say(now, cpu, task, word);
                }
            }
            RecordKind::Ran { thread, runtime_ns } => self.account(now, cpu, thread, runtime_ns),
            RecordKind::Lost => self.lose_sight(now, cpu),
            RecordKind::Tick => self.emit(now, cpu, EventKind::Tick),
            // A thread's end is the switch by which it leaves; for soft interrupts a trace has no event.
            RecordKind::Exit { .. } | RecordKind::SoftirqEntry | RecordKind::SoftirqExit => {}
        }
    }

    fn emit(&mut self, now_ns: u64, cpu: u32, kind: EventKind) {
        if self.begun {
            self.events.push(Event { time: Time(now_ns.saturating_sub(self.start_ns)), cpu: CpuId(cpu), kind });
        }
    }

    fn cpu(&mut self, cpu: u32) -> &mut Cpu {
        let cpu = cpu as usize;
        if self.cpus.len() <= cpu {
            self.cpus.resize(cpu + 1, Cpu { untraced: self.unheard, ..Cpu::default() });
        }
        &mut self.cpus[cpu]
    }

    fn on(&mut self, cpu: u32) -> Option<usize> {
        self.cpu(cpu).task
    }

    /// A CPU without a task does this from now on.
    fn turn_to(&mut self, now: u64, cpu: u32, what: Untraced) {
        if std::mem::replace(&mut self.cpu(cpu).untraced, what) != what {
            self.emit(now, cpu, EventKind::Untraced { what });
        }
    }

    /// Tells the state that the records before the start have built up, with the tasks numbered again without gaps.
    fn begin(&mut self) {
        self.begun = true;
        self.summary = Summary::default();
        let mut places = vec![None; self.tasks.len()];
        for (old, mut task) in std::mem::take(&mut self.tasks).into_iter().enumerate() {
            let role = if task.state == State::Ended { None } else { (self.role_of)(&task.thread, &task.comm) };
            if let Some(role) = role {
                task.role = role;
                places[old] = Some(self.tasks.len());
                self.tasks.push(task);
            }
        }
        self.numbers.values_mut().for_each(|place| *place = place.and_then(|old| places[old]));
        // A trace begins with idle CPUs.
        let anew = |cpu: &Cpu| Cpu { account: cpu.account, ..Cpu::default() };
        let idle = self.cpus.iter().map(anew).collect();
        let before: Vec<Cpu> = std::mem::replace(&mut self.cpus, idle);
        for (cpu, before) in before.into_iter().enumerate() {
            self.turn_to(self.start_ns, cpu as u32, before.untraced);
        }
        for task in 0..self.tasks.len() {
            let (state, cpu) = (self.tasks[task].state, self.tasks[task].home);
            self.tell_fork(self.start_ns, cpu, task, None);
            self.tasks[task].state = State::Off;
            if let Some(word) = self.tasks[task].status.take() {
                self.say(self.start_ns, cpu, task, word);
            }
            match state {
                State::Runnable => self.tell_wakeup(self.start_ns, cpu, task, cpu, None, WakeSource::Untold),
                State::Running(cpu) => self.put_on(self.start_ns, cpu, task),
                State::New | State::Off | State::Ended => {}
            }
        }
        (0..self.cpus.len() as u32).for_each(|cpu| self.mend(self.start_ns, cpu));
    }

    /// Tells what a task's status is, if it was another before.
    fn say(&mut self, now: u64, cpu: u32, task: usize, word: u64) {
        if self.tasks[task].status != Some(word) {
            self.tasks[task].status = Some(word);
            self.emit(now, cpu, EventKind::Status { task: id(task), word });
        }
    }

    /// A switch has the priorities of both. The deadline class has -1, which is above 0 and is reported as such.
    fn say_priority(&mut self, now: u64, cpu: u32, task: Option<usize>, thread: &Thread) {
        if let Some(task) = task.filter(|_| !self.publishing) {
            self.say(now, cpu, task, u64::try_from(thread.priority).unwrap_or(0));
        }
    }

    /// The task of a thread, which may be seen for the first time; none for the idle task and what is not wanted.
    fn seen(&mut self, now: u64, cpu: u32, thread: &Thread) -> Option<usize> {
        if !thread.followed {
            return None;
        }
        match self.numbers.get(&thread.tid) {
            Some(&task) => task,
            None => {
                let task = self.add(now, cpu, thread, Comm::default(), None);
                self.summary.adopted += u64::from(task.is_some());
                task
            }
        }
    }

    /// A new task.
    fn add(&mut self, now: u64, cpu: u32, thread: &Thread, comm: Comm, parent: Option<usize>) -> Option<usize> {
        // Before the start no roles are asked for, since names may come later.
        let role = if self.begun { (self.role_of)(thread, &comm) } else { Some(RoleId(0)) };
        let task = role.map(|role| {
            self.tasks.push(Task {
                thread: *thread,
                comm,
                role,
                state: State::New,
                home: cpu,
                runnable_ns: now,
                status: None,
            });
            self.tasks.len() - 1
        });
        self.numbers.insert(thread.tid, task);
        if let Some(task) = task {
            self.tell_fork(now, cpu, task, parent);
        }
        task
    }

    fn tell_fork(&mut self, now: u64, cpu: u32, task: usize, parent: Option<usize>) {
        let (role, parent) = (self.tasks[task].role, parent.map(id));
        self.emit(now, cpu, EventKind::Fork { task: id(task), role, parent });
    }

    fn tell_wakeup(&mut self, now: u64, cpu: u32, task: usize, target: u32, waker: Option<usize>, source: WakeSource) {
        (self.tasks[task].state, self.tasks[task].home) = (State::Runnable, target);
        self.tasks[task].runnable_ns = now;
        let (target, waker) = (CpuId(target), waker.map(id));
        self.emit(now, cpu, EventKind::Wakeup { task: id(task), target, waker, source });
    }

    /// Emits a switch of a CPU from its task to `next`.
    fn tell_switch(&mut self, now: u64, cpu: u32, reason: Reason, next: Option<usize>) {
        let previous = self.on(cpu);
        self.count_mended(now, cpu);
        let former = self.cpu(cpu);
        *former = Cpu { task: next, untraced: Untraced::Idle, ..*former };
        if let Some(task) = previous {
            self.tasks[task].state = match reason {
                Reason::Preempted | Reason::Yielded | Reason::SliceEnd => State::Runnable,
                Reason::Blocked | Reason::Idle => State::Off,
                Reason::Exited => State::Ended,
            };
            self.tasks[task].runnable_ns = now;
        }
        if let Some(task) = next {
            (self.tasks[task].state, self.tasks[task].home) = (State::Running(cpu), cpu);
        }
        let (previous, next) = (previous.map(id), next.map(id));
        self.emit(now, cpu, EventKind::Switch { previous, reason, next });
    }

    /// Takes off the CPU its thread, unless it is `but`.
    fn vacate(&mut self, now: u64, cpu: u32, but: Option<usize>) {
        if self.on(cpu).is_some() && self.on(cpu) != but {
            self.summary.repaired += 1;
            self.tell_switch(now, cpu, Reason::Blocked, None);
        }
    }

    /// Makes a task runnable that is about to be on `cpu`, from whatever state.
    fn rouse(&mut self, now: u64, cpu: u32, task: usize) {
        if let State::Running(elsewhere) = self.tasks[task].state {
            self.vacate(now, elsewhere, None);
        }
        if self.tasks[task].state != State::Runnable {
            self.tell_wakeup(now, cpu, task, cpu, None, WakeSource::Untold);
        }
    }

    /// A task that waited for a CPU while it is unknown what ran there may have run: its wait so far is unknown.
    fn doubt(&mut self, now: u64, task: usize) {
        let home = self.tasks[task].home;
        let is_runnable = self.tasks[task].state == State::Runnable;
        let cpu = *self.cpu(home);
        let is_unknown = cpu.task.is_none() && cpu.untraced == Untraced::Unknown;
        let unknown_until_ns = if is_unknown { now } else { cpu.unknown_until_ns };
        if is_runnable && self.tasks[task].runnable_ns < unknown_until_ns {
            self.tell_wakeup(now, home, task, home, None, WakeSource::Untold);
        }
    }

    /// The same of all tasks, at the end.
    fn doubt_waits(&mut self, now: u64) {
        (0..self.tasks.len()).for_each(|task| self.doubt(now, task));
    }

    /// Puts a task on an empty CPU.
    fn put_on(&mut self, now: u64, cpu: u32, task: usize) {
        match self.tasks[task].state {
            // When it came is not known, and so is not how long it waited.
            State::Runnable => self.tell_wakeup(now, cpu, task, cpu, None, WakeSource::Untold),
            _ => self.rouse(now, cpu, task),
        }
        self.tell_switch(now, cpu, Reason::Idle, Some(task));
    }

    fn switch(&mut self, now: u64, cpu: u32, previous: &Thread, how: Departure, next: &Thread) {
        let (from, to) = (self.seen(now, cpu, previous), self.seen(now, cpu, next));
        self.say_priority(now, cpu, from, previous);
        self.say_priority(now, cpu, to, next);
        if self.cpu(cpu).untraced == Untraced::Unknown {
            self.cpu(cpu).unknown_until_ns = now;
        }
        self.vacate(now, cpu, from);
        if let Some(task) = from.filter(|_| self.on(cpu) != from) {
            self.miss(task);
            self.put_on(now, cpu, task);
        }
        if let Some(task) = to {
            self.doubt(now, task);
            if self.tasks[task].state != State::Runnable {
                self.miss(task);
                self.rouse(now, cpu, task);
            }
        }
        let reason = match how {
            _ if from.is_none() => Reason::Idle,
            Departure::Preempted => Reason::Preempted,
            Departure::Yielded => Reason::Yielded,
            Departure::Blocked => Reason::Blocked,
            Departure::Exited => Reason::Exited,
        };
        if how == Departure::Exited {
            // The number may be given to another now.
            self.numbers.remove(&previous.tid);
            from.into_iter().for_each(|task| self.emit(now, cpu, EventKind::Exit { task: id(task) }));
        }
        if from.is_some() || to.is_some() {
            self.tell_switch(now, cpu, reason, to);
        }
        let stayed = self.gaps.stayed(self.switches);
        self.switches += 1;
        if !stayed {
            self.lose_sight(now, cpu);
        } else if to.is_none() {
            self.turn_to(now, cpu, self.untraced(next));
        }
    }

    /// What a CPU does that runs a thread without a task.
    fn untraced(&self, thread: &Thread) -> Untraced {
        if self.tells_of_others && thread.tid != 0 { Untraced::Others } else { Untraced::Idle }
    }

    /// It is not known what has the CPU from now on: the thread that just came counts for an instant only.
    fn lose_sight(&mut self, now: u64, cpu: u32) {
        if self.on(cpu).is_some() {
            self.tell_switch(now, cpu, Reason::Blocked, None);
        }
        self.turn_to(now, cpu, Untraced::Unknown);
        self.mend(now, cpu);
    }

    /// A step of this task was not told. That of one just adopted cannot have been.
    fn miss(&mut self, task: usize) {
        if self.tasks[task].state != State::New {
            self.summary.repaired += 1;
        }
    }

    fn wakeup(&mut self, now: u64, cpu: u32, task: usize, target: u32, waker: Waker, new: bool) {
        if !matches!(self.tasks[task].state, State::New | State::Off) {
            self.summary.redundant_wakeups += 1;
            return;
        }
        let waker = match waker {
            Waker::Task(tid) => self.numbers.get(&tid).copied().flatten(),
            Waker::Interrupt | Waker::Unknown => None,
        };
        let source = if new { WakeSource::Fork } else { WakeSource::Unknown };
        self.tell_wakeup(now, cpu, task, target, waker, source);
    }

    fn migrate(&mut self, now: u64, cpu: u32, thread: &Thread, from: u32, to: u32) {
        let Some(task) = self.seen(now, from, thread) else { return };
        if from == to {
            return;
        }
        if let State::Running(on) = self.tasks[task].state {
            // It must have left its CPU, or it could not be moved.
            self.summary.repaired += 1;
            self.tell_switch(now, on, Reason::Preempted, None);
        }
        self.doubt(now, task);
        self.tasks[task].home = to;
        let (from, to) = (CpuId(from), CpuId(to));
        self.emit(now, cpu, EventKind::Migrate { task: id(task), from, to });
    }

    fn fork(&mut self, now: u64, cpu: u32, parent: i32, child: &Thread, comm: Comm) {
        self.end(now, child.tid);
        let parent = self.numbers.get(&parent).copied().flatten();
        self.add(now, cpu, child, comm, parent);
    }

    fn present(&mut self, now: u64, cpu: u32, thread: &Thread, comm: Comm, runnable: bool) {
        let known = self.numbers.get(&thread.tid).copied();
        let Some(task) = known.unwrap_or_else(|| self.add(now, cpu, thread, comm, None)) else { return };
        self.tasks[task].comm = comm;
        if runnable && matches!(self.tasks[task].state, State::New | State::Off) {
            self.tell_wakeup(now, cpu, task, cpu, None, WakeSource::Untold);
        }
    }

    /// The thread that calls for another program takes over its process's number.
    fn exec(&mut self, now: u64, cpu: u32, thread: &Thread, former: i32, comm: Comm) {
        if former != thread.tid && self.numbers.contains_key(&thread.tid) {
            self.end(now, former);
        } else if former != thread.tid
            && let Some(task) = self.numbers.remove(&former)
        {
            self.numbers.insert(thread.tid, task);
        }
        if let Some(task) = self.seen(now, cpu, thread) {
            self.tasks[task].comm = comm;
        }
    }

    /// Ends the task of a thread, if there is one, when its own end was not recorded.
    fn end(&mut self, now: u64, tid: i32) {
        let Some(Some(task)) = self.numbers.remove(&tid) else { return };
        self.summary.repaired += 1;
        if let State::Running(cpu) = self.tasks[task].state {
            self.tell_switch(now, cpu, Reason::Blocked, None);
        }
        self.tasks[task].state = State::Ended;
        let cpu = self.tasks[task].home;
        self.emit(now, cpu, EventKind::Exit { task: id(task) });
    }
}

fn id(task: usize) -> TaskId {
    TaskId(u32::try_from(task).expect("fewer tasks than numbers"))
}

#[cfg(test)]
mod tests;
