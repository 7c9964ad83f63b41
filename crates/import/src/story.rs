//! From the events of a recording to records: what the events leave unsaid is put together here.

use crate::told::{Event, Head, Task};
use schedlab_record::{Comm, Departure, Record, RecordKind, Thread, Waker};
use std::collections::{BTreeMap, BTreeSet};

/// What has been reported so far.
pub struct Story<F> {
    each: F,
    /// Whether wakings stand for wakeups, of which there are none.
    only_wakings: bool,
    has_wakeups: bool,
    /// Which process a thread belongs to, where that was recorded.
    processes: BTreeMap<i32, i32>,
    /// The last task to come to each CPU, as far as switches were reported.
    on: BTreeMap<u32, Task>,
    /// The living threads that were named, as last.
    names: BTreeMap<i32, Comm>,
    /// Threads that ended; their numbers are given away again.
    ended: BTreeSet<i32>,
    /// The wakers of threads that are being woken.
    wakers: BTreeMap<i32, Waker>,
    /// The CPUs whose task at the start is known, or cannot be known.
    settled: BTreeSet<u32>,
    /// The threads that were made, woke, moved or came to a CPU since the start: they were not on one all the time.
    moved: BTreeSet<i32>,
    /// The task on which the events of a CPU were before it first switched; none where they do not agree.
    heads: BTreeMap<u32, Option<i32>>,
    /// The task on a CPU before its first switch.
    first: Vec<(u32, Thread, Comm)>,
    follows: Follows,
}

/// What shows whether the recording follows the machine, or some tasks: then it has the switches by which these leave, and
/// none by which they come, since another has the CPU then.
#[derive(Default)]
struct Follows {
    /// Threads that left a CPU.
    left: BTreeSet<i32>,
    /// Threads that came to one.
    came: BTreeSet<i32>,
    /// How often another left a CPU than had come to it.
    torn: u64,
    has_losses: bool,
}

/// A switch can be missing without a loss; in a recording of some tasks those are that bring them.
const LEAST_TORN: u64 = 2;

impl Follows {
    /// A CPU goes from a thread to another; `came` came to it before.
    fn switch(&mut self, came: Option<i32>, left: i32, next: i32) {
        self.left.insert(left);
        self.came.insert(next);
        self.torn += u64::from(came.is_some_and(|tid| tid != left));
    }

    /// Though nothing was lost, switches are missing, the idle task never leaves, and neither do most tasks that come.
    fn is_of_some_tasks(&self) -> bool {
        let strangers = self.came.difference(&self.left).count();
        !self.has_losses && self.torn >= LEAST_TORN && !self.left.contains(&0) && 2 * strangers > self.came.len()
    }
}

/// What is known of a recording at its end.
pub struct Ending {
    /// The task on each CPU when it began, as records of the time before.
    pub before: Vec<Record>,
    pub has_wakeups: bool,
    /// It follows some tasks, and not the machine.
    pub is_of_some_tasks: bool,
}

impl<F: FnMut(&Record)> Story<F> {
    /// `only_wakings`: the recording has no wakeups.
    pub fn new(only_wakings: bool, processes: BTreeMap<i32, i32>, each: F) -> Story<F> {
        Story {
            each,
            only_wakings,
            processes,
            on: BTreeMap::new(),
            has_wakeups: false,
            names: BTreeMap::new(),
            ended: BTreeSet::new(),
            wakers: BTreeMap::new(),
            settled: BTreeSet::new(),
            moved: BTreeSet::new(),
            heads: BTreeMap::new(),
            first: Vec::new(),
            follows: Follows::default(),
        }
    }

    /// What came so far is of a time of which not all CPUs tell: it shows only how things are now that the recording begins.
    pub fn start(&mut self) {
        self.moved.clear();
        self.heads.clear();
        self.first.clear();
    }

    /// Events of a CPU are missing here.
    pub fn lose(&mut self, time_ns: u64, cpu: u32) {
        self.settled.insert(cpu);
        self.on.remove(&cpu);
        self.follows.has_losses = true;
        (self.each)(&Record { time_ns, cpu, kind: RecordKind::Lost });
    }

    /// The next event.
    pub fn tell(&mut self, head: &Head, event: &Event) {
        self.see_head(head, event);
        match *event {
            Event::Switch { previous, how, next } => self.switch(head, &previous, how, &next),
            Event::SwitchTo { how, next } => {
                // Without a record of a task there, the CPU is not known to have had one.
                let previous = self.on.get(&head.cpu).copied().unwrap_or(IDLE);
                self.settled.insert(head.cpu);
                if previous.tid != next.tid || next.tid == 0 {
                    self.switch(head, &previous, how, &next);
                }
            }
            Event::Waking { task, target } => {
                self.wakers.insert(task.tid, self.waker(head));
                if self.only_wakings {
                    self.wakeup(head, &task, target, false);
                }
            }
            Event::Wakeup { task, target, new } => self.wakeup(head, &task, target, new),
            Event::Migrate { task, from, to } => {
                let thread = self.named(head, &task);
                self.moved.insert(task.tid);
                self.put(head, RecordKind::Migrate { thread, from, to });
            }
            Event::Fork { parent, child, comm } => {
                self.ended.remove(&child);
                self.names.insert(child, comm);
                self.moved.insert(child);
                self.put(head, RecordKind::Fork { parent, child: self.thread(child, NICE_0), comm });
            }
            Event::Exec { tid, former, program } => {
                self.names.remove(&former);
                self.names.insert(tid, program);
                self.on.values_mut().filter(|task| task.tid == former).for_each(|task| task.tid = tid);
                self.put(head, RecordKind::Exec { thread: self.thread(tid, NICE_0), former, comm: program });
            }
            Event::Exit { task } => {
                let thread = self.named(head, &task);
                self.put(head, RecordKind::Exit { thread });
            }
            Event::Rename { tid, comm } => {
                self.named(head, &Task { tid, comm, priority: NICE_0 });
            }
            Event::Ran { tid, comm, runtime_ns } => {
                if !self.names.contains_key(&tid) {
                    self.named(head, &Task { tid, comm, priority: NICE_0 });
                }
                // The kernel also brings the account of a task up to date that another CPU runs.
                if head.tid == tid {
                    let thread = self.thread(tid, NICE_0);
                    self.put(head, RecordKind::Ran { thread, runtime_ns });
                }
            }
        }
    }

    /// Nothing more comes. `of_some_tasks`: the tool says that it followed some. The recording begins at `start_ns`.
    pub fn end(self, start_ns: u64, of_some_tasks: bool) -> Ending {
        let is_of_some_tasks = of_some_tasks || self.follows.is_of_some_tasks();
        let time_ns = start_ns.saturating_sub(1);
        // Of a followed task the first switch does not say since when it was there.
        let first = self.first.into_iter().filter(|_| !is_of_some_tasks);
        let records = first.flat_map(|(cpu, thread, comm)| {
            let present = RecordKind::Present { thread, comm, runnable: true, cpu };
            let running = RecordKind::Running { thread, in_interrupt: false };
            let kinds = [Some(present).filter(|_| thread.followed), Some(running)];
            kinds.into_iter().flatten().map(move |kind| Record { time_ns, cpu, kind })
        });
        Ending { before: records.collect(), has_wakeups: self.has_wakeups, is_of_some_tasks }
    }

    /// Notes which task was running when an event came. The begin of an account comes before the switch by which its task came.
    fn see_head(&mut self, head: &Head, event: &Event) {
        if head.tid >= 0 && !self.settled.contains(&head.cpu) && !matches!(event, Event::Ran { .. }) {
            let known = self.heads.entry(head.cpu).or_insert(Some(head.tid));
            *known = known.filter(|&tid| tid == head.tid);
        }
    }

    /// The task that a CPU's first switch takes away was there all the time, unless it came meanwhile, or another was there.
    fn was_there(&self, cpu: u32, tid: i32) -> bool {
        let is_elsewhere = tid > 0 && (self.moved.contains(&tid) || self.ended.contains(&tid));
        !is_elsewhere && tid >= 0 && self.heads.get(&cpu).is_none_or(|&head| head == Some(tid))
    }

    fn switch(&mut self, head: &Head, previous: &Task, how: Departure, next: &Task) {
        let came = self.on.insert(head.cpu, *next);
        self.follows.switch(came.map(|task| task.tid), previous.tid, next.tid);
        if self.settled.insert(head.cpu) && self.was_there(head.cpu, previous.tid) {
            self.first.push((head.cpu, self.thread(previous.tid, previous.priority), previous.comm));
        }
        self.moved.insert(next.tid);
        let (previous, next) = (self.named(head, previous), self.named(head, next));
        self.wakers.remove(&next.tid);
        if how == Departure::Exited {
            self.names.remove(&previous.tid);
            self.ended.insert(previous.tid);
        }
        self.put(head, RecordKind::Switch { previous, how, next });
    }

    fn wakeup(&mut self, head: &Head, task: &Task, target: u32, new: bool) {
        self.has_wakeups = true;
        let thread = self.named(head, task);
        self.moved.insert(task.tid);
        let told = self.wakers.remove(&task.tid);
        // A new task is woken by its parent, which runs.
        let waker = told.unwrap_or(if new { self.waker(head) } else { Waker::Unknown });
        self.put(head, RecordKind::Wakeup { thread, target, waker, new });
    }

    /// The thread of a task; a new name is announced first.
    fn named(&mut self, head: &Head, task: &Task) -> Thread {
        let (thread, comm) = (self.thread(task.tid, task.priority), task.comm);
        if thread.followed && self.names.get(&task.tid) != Some(&comm) {
            self.names.insert(task.tid, comm);
            let again = self.ended.remove(&task.tid);
            let kind = if again {
                RecordKind::Fork { parent: 0, child: thread, comm }
            } else {
                RecordKind::Rename { thread, comm }
            };
            self.put(head, kind);
        }
        thread
    }

    fn put(&mut self, head: &Head, kind: RecordKind) {
        (self.each)(&Record { time_ns: head.time_ns, cpu: head.cpu, kind });
    }

    /// Where no process was recorded, each thread is taken for one.
    fn thread(&self, tid: i32, priority: i16) -> Thread {
        let tgid = self.processes.get(&tid).copied().unwrap_or(tid);
        Thread { tid, tgid, priority, followed: tid > 0 }
    }

    /// The waker, if this event's task or its interrupt wakes a thread.
    fn waker(&self, head: &Head) -> Waker {
        let tid = if head.tid < 0 { self.on.get(&head.cpu).map_or(-1, |task| task.tid) } else { head.tid };
        match (head.in_interrupt, tid) {
            (Some(true), _) | (_, 0) => Waker::Interrupt,
            (Some(false), tid) if tid > 0 => Waker::Task(tid),
            _ => Waker::Unknown,
        }
    }
}

/// The kernel's priority of a task that has asked for none.
const NICE_0: i16 = 120;

/// The task on a CPU of which nothing is known.
const IDLE: Task = Task { tid: 0, comm: Comm([0; 16]), priority: NICE_0 };
