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
    /// The threads seen since the start.
    seen: BTreeSet<i32>,
    /// The task on a CPU before its first switch.
    first: Vec<(u32, Thread, Comm)>,
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
            seen: BTreeSet::new(),
            first: Vec::new(),
        }
    }

    /// What came so far is of a time of which not all CPUs tell: it shows only how things are now that the recording begins.
    pub fn start(&mut self) {
        self.seen.clear();
        self.first.clear();
    }

    /// Events of a CPU are missing here.
    pub fn lose(&mut self, time_ns: u64, cpu: u32) {
        self.settled.insert(cpu);
        self.on.remove(&cpu);
        (self.each)(&Record { time_ns, cpu, kind: RecordKind::Lost });
    }

    /// The next event.
    pub fn tell(&mut self, head: &Head, event: &Event) {
        match *event {
            Event::Switch { previous, how, next } => self.switch(head, &previous, how, &next),
            Event::SwitchTo { how, next } => {
                // Without a record of a task there, the CPU is not known to have had one.
                let previous = self.on.get(&head.cpu).copied().unwrap_or(IDLE);
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
                self.put(head, RecordKind::Migrate { thread, from, to });
            }
            Event::Fork { parent, child, comm } => {
                self.ended.remove(&child);
                self.names.insert(child, comm);
                self.seen.insert(child);
                self.put(head, RecordKind::Fork { parent, child: self.thread(child, NICE_0), comm });
            }
            Event::Exec { tid, former, program } => {
                self.names.remove(&former);
                self.names.insert(tid, program);
                self.seen.insert(tid);
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
                let thread = self.thread(tid, NICE_0);
                self.put(head, RecordKind::Ran { thread, runtime_ns });
            }
        }
    }

    /// Records of the time before `start_ns`, at which the text begins, and whether there were wakeups.
    pub fn end(self, start_ns: u64) -> (Vec<Record>, bool) {
        let time_ns = start_ns.saturating_sub(1);
        let records = self.first.into_iter().flat_map(|(cpu, thread, comm)| {
            let present = RecordKind::Present { thread, comm, runnable: true, cpu };
            let running = RecordKind::Running { thread, in_interrupt: false };
            [present, running].map(|kind| Record { time_ns, cpu, kind })
        });
        (records.collect(), self.has_wakeups)
    }

    fn switch(&mut self, head: &Head, previous: &Task, how: Departure, next: &Task) {
        self.on.insert(head.cpu, *next);
        let is_first = self.settled.insert(head.cpu);
        let was_there = is_first && previous.tid > 0 && !self.seen.contains(&previous.tid);
        if was_there && !self.ended.contains(&previous.tid) {
            self.first.push((head.cpu, self.thread(previous.tid, previous.priority), previous.comm));
        }
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
        let told = self.wakers.remove(&task.tid);
        // A new task is woken by its parent, which runs.
        let waker = told.unwrap_or(if new { self.waker(head) } else { Waker::Unknown });
        self.put(head, RecordKind::Wakeup { thread, target, waker, new });
    }

    /// The thread of a task; a new name is announced first.
    fn named(&mut self, head: &Head, task: &Task) -> Thread {
        let (thread, comm) = (self.thread(task.tid, task.priority), task.comm);
        self.seen.insert(task.tid);
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
