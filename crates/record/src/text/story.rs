//! From the events of a text to records: what the events leave unsaid is put together here.

use super::event::{Event, Task};
use super::line::Line;
use crate::record::{Comm, Departure, Record, RecordKind, Thread, Waker};
use std::collections::{BTreeMap, BTreeSet};

/// What has been told so far.
pub struct Story<F> {
    each: F,
    /// Whether wakings stand for wakeups, of which there are none.
    only_wakings: bool,
    has_wakeups: bool,
    /// The living threads that were named, as last.
    names: BTreeMap<i32, Comm>,
    /// Threads that ended; their numbers are given away again.
    ended: BTreeSet<i32>,
    /// Who is about to wake a thread.
    wakers: BTreeMap<i32, Waker>,
    /// The CPUs of which it is known, or cannot be known, who was there at the start.
    settled: BTreeSet<u32>,
    /// The threads seen since the start.
    seen: BTreeSet<i32>,
    /// Who was on a CPU before it first switched.
    first: Vec<(u32, Thread, Comm)>,
}

impl<F: FnMut(&Record)> Story<F> {
    /// `only_wakings`: the text has no wakeups.
    pub fn new(only_wakings: bool, each: F) -> Story<F> {
        Story {
            each,
            only_wakings,
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
        (self.each)(&Record { time_ns, cpu, kind: RecordKind::Lost });
    }

    /// The next event.
    pub fn tell(&mut self, line: &Line, event: &Event) {
        match *event {
            Event::Switch { previous, state, next } => self.switch(line, &previous, state, &next),
            Event::Waking { task, target } => {
                self.wakers.insert(task.tid, waker(line));
                if self.only_wakings {
                    self.wakeup(line, &task, target, false);
                }
            }
            Event::Wakeup { task, target, new } => self.wakeup(line, &task, target, new),
            Event::Migrate { task, from, to } => {
                let thread = self.named(line, &task);
                self.put(line, RecordKind::Migrate { thread, from, to });
            }
            Event::Fork { parent, child, comm } => {
                let comm = Comm::new(comm.as_bytes());
                self.ended.remove(&child);
                self.names.insert(child, comm);
                self.seen.insert(child);
                self.put(line, RecordKind::Fork { parent, child: thread(child, NICE_0), comm });
            }
            Event::Exec { tid, former, program } => {
                let comm = Comm::new(program.as_bytes());
                self.names.remove(&former);
                self.names.insert(tid, comm);
                self.seen.insert(tid);
                self.put(line, RecordKind::Exec { thread: thread(tid, NICE_0), former, comm });
            }
            Event::Exit { task } => {
                let thread = self.named(line, &task);
                self.put(line, RecordKind::Exit { thread });
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

    fn switch(&mut self, line: &Line, previous: &Task, state: &str, next: &Task) {
        let is_first = self.settled.insert(line.cpu);
        let was_there = is_first && previous.tid > 0 && !self.seen.contains(&previous.tid);
        if was_there && !self.ended.contains(&previous.tid) {
            let comm = Comm::new(previous.comm.as_bytes());
            self.first.push((line.cpu, thread(previous.tid, previous.priority), comm));
        }
        let (previous, next) = (self.named(line, previous), self.named(line, next));
        self.wakers.remove(&next.tid);
        let how = departure(state);
        if how == Departure::Exited {
            self.names.remove(&previous.tid);
            self.ended.insert(previous.tid);
        }
        self.put(line, RecordKind::Switch { previous, how, next });
    }

    fn wakeup(&mut self, line: &Line, task: &Task, target: u32, new: bool) {
        self.has_wakeups = true;
        let thread = self.named(line, task);
        let told = self.wakers.remove(&task.tid);
        // A new task is woken by its parent, which runs.
        let waker = told.unwrap_or(if new { waker(line) } else { Waker::Unknown });
        self.put(line, RecordKind::Wakeup { thread, target, waker, new });
    }

    /// The thread of a task; a name that is new is told first.
    fn named(&mut self, line: &Line, task: &Task) -> Thread {
        let (thread, comm) = (thread(task.tid, task.priority), Comm::new(task.comm.as_bytes()));
        self.seen.insert(task.tid);
        if thread.followed && self.names.get(&task.tid) != Some(&comm) {
            self.names.insert(task.tid, comm);
            let again = self.ended.remove(&task.tid);
            let kind = if again {
                RecordKind::Fork { parent: 0, child: thread, comm }
            } else {
                RecordKind::Rename { thread, comm }
            };
            self.put(line, kind);
        }
        thread
    }

    fn put(&mut self, line: &Line, kind: RecordKind) {
        (self.each)(&Record { time_ns: line.time_ns, cpu: line.cpu, kind });
    }
}

/// The kernel's priority of a task that has asked for none.
const NICE_0: i16 = 120;

/// The texts do not say which process a thread is of; each is taken for one.
fn thread(tid: i32, priority: i16) -> Thread {
    Thread { tid, tgid: tid, priority, followed: tid > 0 }
}

/// Who wakes when this line's task or its interrupt does.
fn waker(line: &Line) -> Waker {
    match (line.in_interrupt, line.tid) {
        (Some(true), _) | (_, 0) => Waker::Interrupt,
        (Some(false), tid) if tid > 0 => Waker::Task(tid),
        _ => Waker::Unknown,
    }
}

/// The state that a task leaves its CPU in, as the kernel's letters: `R` runnable, `X` and `Z` ended, others asleep.
fn departure(state: &str) -> Departure {
    match state.as_bytes()[0] {
        b'R' => Departure::Preempted,
        b'X' | b'x' | b'Z' => Departure::Exited,
        _ => Departure::Blocked,
    }
}
