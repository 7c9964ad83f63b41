//! From events to what each task did: one pass in the order of time, with memory for tasks and objects and not for length.

use crate::cause::{Cause, Shape};
use crate::objects::{Names, Uses};
use crate::raw::{Raw, Slept};
use crate::spool::Spool;
use crate::work::Price;
use schedlab_metrics::served::ServedClock;
use schedlab_model::ids::{CpuId, ObjectId, RoleId, TaskId};
use schedlab_model::recorded::{Act, Op};
use schedlab_model::trace::{Call, Event, EventKind, Reason, Untraced, WakeSource};
use std::collections::BTreeMap;
use std::io;

/// How a task came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Birth {
    /// Its role.
    pub role: RoleId,
    /// Its parent.
    pub parent: Option<TaskId>,
    /// When.
    pub at_ns: u64,
}

/// What is known of a task.
#[derive(Clone, Debug)]
pub struct Task {
    /// How it came to be.
    pub birth: Birth,
    /// Whether it has ended.
    pub ended: bool,
    /// CPU work in all.
    pub work_ns: u64,
    /// Work not yet written down.
    open_ns: u64,
    /// Where it runs, since when, and what the CPU's clock of overhead showed then.
    on_cpu: Option<(CpuId, u64, u64)>,
    /// What the machine took of its time that no event tells, and that is to be subtracted.
    debt_ns: u64,
    asleep_since: Option<u64>,
    woken: Option<(u64, Option<TaskId>, WakeSource)>,
    /// The call that it is in.
    call: Option<(Call, ObjectId)>,
    /// Whether its call says what it sleeps for.
    told: bool,
    /// Whether it came to a sleep whose end had passed.
    pub catches_up: bool,
}

impl Task {
    /// Whether it had work to do when the recording ended.
    pub fn is_at_work(&self) -> bool {
        !self.ended && self.asleep_since.is_none()
    }
}

/// What was seen of the whole.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Events.
    pub events: u64,
    /// Wake-ups that are no births.
    pub wakeups: u64,
    /// Work that would have been negative when what the machine takes is subtracted.
    pub clamped_ns: u64,
    /// CPU work of all tasks.
    pub work_ns: u64,
    /// Time in which CPUs ran what was not recorded while a recorded task waited.
    pub others_ns: u64,
    /// Yields.
    pub yields: u64,
    /// Ticks, and the time from the first to the last one of a CPU.
    pub ticks: u64,
    /// Changes of control group, which no model has.
    pub joins: u64,
    /// Whether the trace is of a discipline that divides CPUs.
    pub shares: bool,
}

/// Messages that came from outside: when, and how many.
pub type Arrivals = BTreeMap<(Call, ObjectId), Vec<(u64, u64)>>;

/// Takes the events.
pub struct Tracker {
    /// All tasks, in the order of their numbers.
    pub tasks: BTreeMap<TaskId, Task>,
    /// What they did.
    pub spool: Spool,
    /// The names of objects.
    pub names: Names,
    /// How objects were used.
    pub uses: Uses,
    /// What came from outside.
    pub arrivals: Arrivals,
    /// How often tasks of a role woke tasks of another.
    pub wakes: BTreeMap<(RoleId, RoleId), u64>,
    /// For how long tasks slept in recorded calls, by cause.
    pub told_ns: BTreeMap<Cause, u64>,
    /// Sums.
    pub totals: Totals,
    /// When the recording ends.
    pub end_ns: u64,
    role_names: Vec<String>,
    cpus: Vec<ServedClock>,
    others_since: Vec<Option<u64>>,
    /// Tasks that can run and have no CPU.
    waiting: u32,
    price: Price,
    /// Whether the trace has calls.
    calls: bool,
    failed: Option<io::Error>,
}

impl Tracker {
    /// For a trace whose roles have these names; `price` is the overhead that no event reports.
    pub fn new(role_names: Vec<String>, cpus: u32, calls: bool, price: Price, spool: Spool) -> Tracker {
        Tracker {
            tasks: BTreeMap::new(),
            spool,
            names: Names::default(),
            uses: Uses::default(),
            arrivals: Arrivals::new(),
            wakes: BTreeMap::new(),
            told_ns: BTreeMap::new(),
            totals: Totals::default(),
            end_ns: 0,
            role_names,
            cpus: vec![ServedClock::default(); cpus as usize],
            others_since: vec![None; cpus as usize],
            waiting: 0,
            price,
            calls,
            failed: None,
        }
    }

    /// Takes one event.
    pub fn event(&mut self, event: &Event) {
        self.totals.events += 1;
        let now = event.time.ns();
        match event.kind {
            EventKind::Fork { task, role, parent } => self.fork(task, Birth { role, parent, at_ns: now }),
            EventKind::Exit { task } => {
                self.settle(task, now);
                self.task(task, |task| task.ended = true);
            }
            EventKind::Wakeup { task, waker, source, .. } => self.wake(task, waker, source, now),
            EventKind::Switch { previous, reason, next } => {
                self.others(event.cpu, None, now);
                previous.into_iter().for_each(|task| self.leaves(task, reason, now));
                next.into_iter().for_each(|task| self.comes(task, event.cpu, now));
            }
            EventKind::Call { task: Some(task), call, object, amount } => self.call(task, call, object, amount, now),
            EventKind::Call { task: None, call, object: Some(object), amount } => {
                self.uses.comes(None, call, object, amount);
                self.arrivals.entry((call, object)).or_default().push((now, amount));
            }
            EventKind::RequestBegin { task, request, .. } => {
                let mark = if request.is_some() { Raw::Took } else { Raw::Act(Act::new(Op::Begin, 0)) };
                self.mark(task, mark, now);
            }
            EventKind::RequestEnd { task, request, .. } => {
                let mark = if request.is_some() { Raw::Answered } else { Raw::Act(Act::new(Op::End, 0)) };
                self.mark(task, mark, now);
            }
            EventKind::Overhead { length, .. } => _ = self.cpus[event.cpu.index()].announce(now, length.ns()),
            EventKind::Untraced { what } => self.others(event.cpu, Some(what), now),
            EventKind::Tick => self.totals.ticks += 1,
            EventKind::Join { .. } => self.totals.joins += 1,
            EventKind::Share { .. } => self.totals.shares = true,
            EventKind::Migrate { .. }
            | EventKind::RequestQueue { .. }
            | EventKind::Release { .. }
            | EventKind::Status { .. }
            | EventKind::Throttle { .. }
            | EventKind::Call { task: None, object: None, .. } => {}
        }
    }

    /// What came of all events.
    ///
    /// # Errors
    ///
    /// The disk failed.
    pub fn finish(mut self, end_ns: u64) -> io::Result<Tracker> {
        let ids: Vec<TaskId> = self.tasks.keys().copied().collect();
        ids.into_iter().for_each(|task| self.settle(task, end_ns));
        (0..self.cpus.len() as u32).for_each(|cpu| self.others(CpuId(cpu), None, end_ns));
        self.end_ns = end_ns;
        self.totals.work_ns = self.tasks.values().map(|task| task.work_ns).sum();
        match self.failed.take() {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }

    fn task(&mut self, id: TaskId, change: impl FnOnce(&mut Task)) {
        if let Some(task) = self.tasks.get_mut(&id) {
            change(task);
        }
    }

    fn keep(&mut self, id: TaskId, raw: Raw) {
        if let Err(error) = self.spool.push(id.0 as usize, raw) {
            self.failed.get_or_insert(error);
        }
    }

    fn fork(&mut self, id: TaskId, birth: Birth) {
        if let Some(parent) = birth.parent {
            self.settle(parent, birth.at_ns);
            let name = self.role_names.get(birth.role.index()).cloned().unwrap_or_default();
            let role = self.names.other(&name);
            self.keep(parent, Raw::Act(Act::with(Op::Spawn, role, 1)));
        }
        let task = Task {
            birth,
            ended: false,
            work_ns: 0,
            open_ns: 0,
            on_cpu: None,
            debt_ns: 0,
            asleep_since: None,
            woken: None,
            call: None,
            told: false,
            catches_up: false,
        };
        self.tasks.insert(id, task);
    }

    fn wake(&mut self, id: TaskId, waker: Option<TaskId>, source: WakeSource, now: u64) {
        self.waiting += 1;
        if source == WakeSource::Fork {
            return;
        }
        self.totals.wakeups += 1;
        self.task(id, |task| task.woken = Some((now, waker, source)));
        let role = |id: TaskId| self.tasks.get(&id).map(|task| task.birth.role);
        if let Some(pair) = waker.and_then(role).zip(role(id)) {
            *self.wakes.entry(pair).or_default() += 1;
        }
        if self.calls {
            return;
        }
        if let Some(waker) = waker {
            self.settle(waker, now);
            let wakeup_ns = self.price.wakeup_ns;
            self.task(waker, |task| task.debt_ns += wakeup_ns);
            self.keep(waker, Raw::Woke(id));
        }
    }

    fn leaves(&mut self, id: TaskId, reason: Reason, now: u64) {
        self.run_to(id, now);
        let half = self.price.switch_ns - self.price.switch_ns / 2;
        let Some(task) = self.tasks.get_mut(&id) else { return };
        task.on_cpu = None;
        // What a stay took that was shorter than that is lost, and not owed by the next one.
        let owed_ns = std::mem::take(&mut task.debt_ns) + half;
        self.totals.clamped_ns += owed_ns.saturating_sub(task.open_ns);
        task.open_ns = task.open_ns.saturating_sub(owed_ns);
        match reason {
            Reason::Blocked => {
                self.write_work(id);
                let Some(task) = self.tasks.get_mut(&id) else { return };
                task.asleep_since = Some(now);
                if let Some((call, object)) = task.call {
                    self.uses.sleeps(id, call, object);
                }
            }
            Reason::Yielded => {
                self.waiting += 1;
                self.write_work(id);
                if !self.calls {
                    self.totals.yields += 1;
                    self.keep(id, Raw::Act(Act::new(Op::Yield, 0)));
                }
            }
            Reason::SliceEnd | Reason::Preempted => self.waiting += 1,
            Reason::Exited | Reason::Idle => self.write_work(id),
        }
    }

    fn comes(&mut self, id: TaskId, cpu: CpuId, now: u64) {
        self.waiting = self.waiting.saturating_sub(1);
        let mark = self.cpus[cpu.index()].elapsed(now);
        let half = self.price.switch_ns / 2;
        let Some(task) = self.tasks.get_mut(&id) else { return };
        task.on_cpu = Some((cpu, now, mark));
        task.debt_ns += half;
        let slept = task.asleep_since.take().zip(task.woken.take());
        let Some((from_ns, (to_ns, waker, source))) = slept else { return };
        let slept = Slept { from_ns, to_ns, waker, source };
        if task.told {
            *self.told_ns.entry(Cause::of(&slept, Shape::Unknown)).or_default() += to_ns - from_ns;
        } else {
            self.keep(id, Raw::Slept(slept));
        }
    }

    fn call(&mut self, id: TaskId, call: Call, object: Option<ObjectId>, amount: u64, now: u64) {
        let (before_ns, after_ns) = self.way_in(call, object);
        self.task(id, |task| task.debt_ns += before_ns);
        self.settle(id, now);
        if let Some(object) = object {
            self.uses.comes(Some(id), call, object, amount);
        }
        self.task(id, |task| {
            task.debt_ns += after_ns;
            task.told = true;
            task.call = object.map(|object| (call, object));
            task.catches_up |= call == Call::SleepUntil && amount < now;
        });
        if call == Call::Yield {
            self.totals.yields += 1;
        }
        let act = self.act(call, object, amount);
        if matches!(act.op, Op::Recv | Op::Wait) {
            self.keep(id, Raw::At(now));
        }
        self.keep(id, Raw::Act(act));
    }

    /// What the way into a call took of the task's time before the call is seen, and takes afterwards.
    fn way_in(&self, call: Call, object: Option<ObjectId>) -> (u64, u64) {
        let is_fed = |by: Call| object.is_some_and(|object| self.arrivals.contains_key(&(by, object)));
        match call {
            Call::Sleep | Call::SleepUntil => (0, self.price.sleep_ns),
            Call::Device => (0, self.price.io_ns),
            Call::PipeRecv if is_fed(Call::PipeSend) => (self.price.sleep_ns, 0),
            Call::SocketRecv if is_fed(Call::SocketSend) => (self.price.sleep_ns, 0),
            _ => (0, 0),
        }
    }

    fn act(&mut self, call: Call, object: Option<ObjectId>, amount: u64) -> Act {
        use crate::objects::Kind;
        let number = match (Kind::of(call), object) {
            (Some(kind), Some(object)) => self.names.object(kind, object),
            _ => 0,
        };
        match call {
            Call::Sleep => Act::new(Op::Sleep, amount),
            Call::SleepUntil => Act::new(Op::Until, amount),
            Call::Yield => Act::new(Op::Yield, 0),
            Call::Answer => Act::new(Op::Answer, 0),
            Call::Wait => Act::with(Op::Wait, number, 1),
            Call::Post => Act::with(Op::Post, number, amount),
            Call::Lock => Act::with(Op::Lock, number, 1),
            Call::ReadLock => Act::with(Op::ReadLock, number, 1),
            Call::Unlock => Act::with(Op::Unlock, number, 1),
            Call::CondWait => {
                let mutex = self.names.object(Kind::Lock, ObjectId(amount as u32));
                Act { more: mutex.into(), ..Act::with(Op::CondWait, number, 1) }
            }
            Call::Signal => Act::with(Op::Signal, number, 1),
            Call::Broadcast => Act::with(Op::Broadcast, number, 1),
            Call::PipeSend | Call::SocketSend => Act::with(Op::Send, number, amount),
            Call::PipeRecv | Call::SocketRecv => Act::with(Op::Recv, number, amount),
            Call::Barrier => Act::with(Op::Barrier, number, 1),
            Call::Device => Act::with(Op::Io, number, amount),
        }
    }

    fn mark(&mut self, id: TaskId, mark: Raw, now: u64) {
        // One that is woken for a request has it before it runs.
        if self.tasks.get(&id).is_some_and(|task| task.on_cpu.is_some()) {
            self.settle(id, now);
        }
        self.keep(id, mark);
    }

    /// Counts the work of a task up to now, and writes it down: what comes next is another step.
    fn settle(&mut self, id: TaskId, now: u64) {
        self.run_to(id, now);
        self.write_work(id);
        let Some(task) = self.tasks.get_mut(&id) else { return };
        if let Some((call, object)) = task.call.take_if(|_| task.on_cpu.is_some()) {
            self.uses.goes_on(id, call, object);
        }
    }

    fn run_to(&mut self, id: TaskId, now: u64) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        if let Some((cpu, since, mark)) = task.on_cpu {
            let shown = self.cpus[cpu.index()].elapsed(now);
            task.open_ns += (now - since).saturating_sub(shown - mark);
            task.on_cpu = Some((cpu, now, shown));
        }
    }

    fn write_work(&mut self, id: TaskId) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        if task.open_ns == 0 {
            return;
        }
        let paid = task.debt_ns.min(task.open_ns);
        let work_ns = std::mem::take(&mut task.open_ns) - paid;
        task.debt_ns -= paid;
        task.work_ns += work_ns;
        if work_ns > 0 {
            self.keep(id, Raw::Act(Act::new(Op::Compute, work_ns)));
        }
    }

    /// A CPU turns to what was not recorded, or from it.
    fn others(&mut self, cpu: CpuId, what: Option<Untraced>, now: u64) {
        let since = &mut self.others_since[cpu.index()];
        if let Some(since) = since.take()
            && self.waiting > 0
        {
            self.totals.others_ns += now - since;
        }
        *since = (what == Some(Untraced::Others)).then_some(now);
    }
}
