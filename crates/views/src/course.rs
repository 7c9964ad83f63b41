//! How a run went over time: tasks on each CPU, shares of roles, what the policy said, in pieces of equal length.

use crate::timeline::round_step;
use schedlab_model::{
    ids::{CpuId, RoleId, TaskId},
    names::{Label, Names},
    time::Time,
    trace::{Event, EventKind, Reason, Sink},
};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// That many tasks have their statuses kept: the first that have one.
pub const MOST_TASKS: usize = 24;

/// That many words of each of them are kept.
pub const MOST_WORDS: usize = 500;

/// While the end is not known, there are up to that many times as many pieces, each of a power of ten of nanoseconds.
const FINER: u64 = 10;
/// How many of them become one at the end, the least that does: their lengths are round.
const JOINS: [u64; 6] = [1, 2, 4, 5, 8, FINER];

/// The mean of something in each piece of the run.
type Means = Vec<f64>;

/// Gathers how a run went.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Course {
    names: Names,
    step: Time,
    /// The most pieces.
    most: u32,
    end: Time,
    cpus: Vec<Cpu>,
    /// CPU time of each role in each piece, in nanoseconds.
    roles: Vec<Vec<u64>>,
    /// Where the tasks are now: of no use when the run is over.
    #[serde(skip)]
    tasks: HashMap<TaskId, Task>,
    statuses: Vec<Words>,
}

/// One CPU.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Cpu {
    runnable: u64,
    /// Up to here all is in the pieces.
    settled: Time,
    /// Tasks × nanoseconds in each piece.
    pieces: Vec<u64>,
    /// The running task, and since when that is in no piece of its role yet.
    running: Option<(TaskId, Time)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Task {
    role: Option<RoleId>,
    /// The CPU that it runs on, or whose run queue it is on.
    place: Option<CpuId>,
}

/// What the policy said about a task: each word with its instant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Words {
    /// The task.
    pub task: Label,
    /// What and when, in the order of time.
    pub said: Vec<(Time, u64)>,
    /// Whether more was said than is kept.
    pub is_cut: bool,
}

impl Course {
    /// For a trace with these roles and CPUs that ends at `end`, in at most `pieces` pieces. Where the end is not known
    /// before ([`Time::NEVER`]), pieces grow with the trace.
    pub fn new(roles: impl IntoIterator<Item = String>, cpus: u32, end: Time, pieces: u32) -> Course {
        let roles: Vec<String> = roles.into_iter().collect();
        Course {
            step: if end == Time::NEVER { Time(1) } else { round_step(end, pieces) },
            most: pieces,
            end,
            cpus: vec![Cpu::default(); cpus as usize],
            roles: vec![Vec::new(); roles.len()],
            names: Names::new(roles),
            tasks: HashMap::new(),
            statuses: Vec::new(),
        }
    }

    /// The length of a piece.
    pub fn step(&self) -> Time {
        self.step
    }

    /// The end of the run.
    pub fn end(&self) -> Time {
        self.end
    }

    /// The names of tasks and roles.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// For each CPU the mean number of runnable tasks there, running and queued, in each piece.
    pub fn runnable(&self) -> Vec<Means> {
        self.cpus.iter().map(|cpu| self.means(&cpu.pieces)).collect()
    }

    /// For each role the CPUs that it had, on average, in each piece.
    pub fn shares(&self) -> Vec<Means> {
        self.roles.iter().map(|pieces| self.means(pieces)).collect()
    }

    /// What the policy said about tasks, in the order in which it first spoke of them.
    pub fn statuses(&self) -> &[Words] {
        &self.statuses
    }

    /// Has the pieces reach up to `now`, where the end is not known yet.
    fn reach(&mut self, now: Time) {
        while self.end == Time::NEVER && now.ns() / self.step.ns() >= u64::from(self.most) * FINER {
            self.join(FINER);
        }
    }

    /// Makes one piece of each `count`.
    fn join(&mut self, count: u64) {
        let of_cpus = self.cpus.iter_mut().map(|cpu| &mut cpu.pieces);
        for pieces in of_cpus.chain(&mut self.roles) {
            *pieces = pieces.chunks(count as usize).map(|some| some.iter().sum()).collect();
        }
        self.step = Time(self.step.ns() * count);
    }

    /// Makes as few pieces as there are to be, now that the end is known.
    fn close(&mut self, end: Time) {
        self.reach(end);
        let pieces = end.ns().div_ceil(self.step.ns());
        let count = JOINS.into_iter().find(|count| pieces.div_ceil(*count) <= u64::from(self.most));
        self.join(count.unwrap_or(FINER));
    }

    fn means(&self, pieces: &[u64]) -> Means {
        let length = |index: u64| self.end.ns().min((index + 1) * self.step.ns()) - index * self.step.ns();
        let count = self.end.ns().div_ceil(self.step.ns());
        let sum = |index: u64| pieces.get(index as usize).copied().unwrap_or(0);
        (0..count).map(|index| sum(index) as f64 / length(index) as f64).collect()
    }

    /// A task joins a CPU, leaves it, or both when it moves.
    fn put(&mut self, task: TaskId, place: Option<CpuId>, now: Time) {
        let known = self.tasks.entry(task).or_default();
        let before = std::mem::replace(&mut known.place, place);
        if before == place {
            return;
        }
        for (cpu, joins) in [(before, false), (place, true)] {
            let Some(cpu) = cpu.and_then(|cpu| self.cpus.get_mut(cpu.index())) else { continue };
            cpu.settle(now, self.step);
            cpu.runnable = if joins { cpu.runnable + 1 } else { cpu.runnable.saturating_sub(1) };
        }
    }

    fn switch(&mut self, cpu: CpuId, next: Option<TaskId>, now: Time) {
        let Some(here) = self.cpus.get_mut(cpu.index()) else { return };
        let running = std::mem::replace(&mut here.running, next.map(|task| (task, now)));
        let Some((task, since)) = running else { return };
        let role = self.tasks.get(&task).and_then(|task| task.role);
        if let Some(pieces) = role.and_then(|role| self.roles.get_mut(role.index())) {
            add(pieces, since, now, 1, self.step);
        }
    }

    fn say(&mut self, task: TaskId, word: u64, now: Time) {
        let label = self.names.label(task);
        let known = self.statuses.iter().position(|words| words.task.task == task);
        let index = known.unwrap_or(self.statuses.len());
        if known.is_none() && index < MOST_TASKS {
            self.statuses.push(Words { task: label, said: Vec::new(), is_cut: false });
        }
        let Some(words) = self.statuses.get_mut(index) else { return };
        if words.said.last().is_some_and(|(_, last)| *last == word) {
            return;
        }
        match words.said.len() < MOST_WORDS {
            true => words.said.push((now, word)),
            false => words.is_cut = true,
        }
    }
}

impl Cpu {
    fn settle(&mut self, now: Time, step: Time) {
        add(&mut self.pieces, self.settled, now, self.runnable, step);
        self.settled = now;
    }
}

/// Adds `weight` for each nanosecond from `from` to `until` to the pieces in which it lies.
fn add(pieces: &mut Vec<u64>, from: Time, until: Time, weight: u64, step: Time) {
    let mut here = from.ns();
    while weight > 0 && here < until.ns() {
        let index = here / step.ns();
        let next = until.ns().min((index + 1) * step.ns());
        if pieces.len() <= index as usize {
            pieces.resize(index as usize + 1, 0);
        }
        pieces[index as usize] += weight * (next - here);
        here = next;
    }
}

impl Sink for Course {
    fn event(&mut self, event: &Event) {
        for task in self.names.observe(event) {
            self.tasks.remove(&task);
        }
        let now = event.time;
        self.reach(now);
        match event.kind {
            EventKind::Fork { task, role, .. } => {
                self.tasks.entry(task).or_default().role = Some(role);
            }
            EventKind::Wakeup { task, target, .. } => self.put(task, Some(target), now),
            // One that waits for nothing is on no queue, wherever it will wake up.
            EventKind::Migrate { task, to, .. } if self.tasks.get(&task).is_some_and(|task| task.place.is_some()) => {
                self.put(task, Some(to), now);
            }
            EventKind::Switch { previous, reason, next } => {
                if let Some(task) = previous.filter(|_| matches!(reason, Reason::Blocked | Reason::Exited)) {
                    self.put(task, None, now);
                }
                next.into_iter().for_each(|task| self.put(task, Some(event.cpu), now));
                self.switch(event.cpu, next, now);
            }
            EventKind::Exit { task } => self.put(task, None, now),
            EventKind::Status { task, word } => self.say(task, word, now),
            _ => {}
        }
    }

    fn finish(&mut self, end: Time) {
        if self.end == Time::NEVER {
            self.close(end);
        }
        self.end = end;
        for index in 0..self.cpus.len() {
            self.cpus[index].settle(end, self.step);
            self.switch(CpuId(index as u32), None, end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_helpers::{exit, fork, migrate, roles, says, switch, wakeup};

    fn course(events: &[Event]) -> Course {
        let mut course = Course::new(roles(), 2, Time(100), 10);
        course.events(events);
        course.finish(Time(100));
        course
    }

    #[test]
    fn tasks_on_cpus_and_shares_of_roles() {
        let course = course(&[
            fork(0, 0, 0),
            fork(0, 1, 1),
            wakeup(0, 0, 0),
            wakeup(0, 1, 0),
            switch(0, 0, None, Reason::Idle, Some(0)),
            switch(15, 0, Some(0), Reason::SliceEnd, Some(1)),
            migrate(30, 0, 0, 1),
            switch(30, 1, None, Reason::Idle, Some(0)),
            switch(40, 1, Some(0), Reason::Blocked, None),
            exit(50, 0, 1),
            switch(50, 0, Some(1), Reason::Exited, None),
        ]);
        assert_eq!(course.step(), Time(10));
        assert_eq!(course.runnable()[0], [2.0, 2.0, 2.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(course.runnable()[1], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(course.shares()[0], [1.0, 0.5, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(course.shares()[1], [0.0, 0.5, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn where_the_end_is_not_known_pieces_grow_up_to_it() {
        let open = |end: u64, events: &[Event]| {
            let mut course = Course::new(roles(), 1, Time::NEVER, 10);
            course.events(events);
            course.finish(Time(end));
            course
        };
        let events = [
            fork(0, 0, 0),
            wakeup(0, 0, 0),
            switch(0, 0, None, Reason::Idle, Some(0)),
            switch(350, 0, Some(0), Reason::Blocked, None),
            wakeup(650, 0, 0),
            switch(650, 0, None, Reason::Idle, Some(0)),
        ];
        let course = open(700, &events);
        assert_eq!((course.step(), course.end()), (Time(80), Time(700)));
        let [first, middle, last] = [0, 4, 8].map(|piece| course.shares()[0][piece]);
        assert_eq!((course.shares()[0].len(), first, middle), (9, 1.0, 30.0 / 80.0));
        assert_eq!(last, 50.0 / 60.0);
        for end in [1, 9, 99, 100, 1001, 123_456, 9_999_999] {
            let course = open(end, &[]);
            let pieces = course.shares()[0].len();
            assert!((1..=10).contains(&pieces), "{pieces} pieces of {} up to {end}", course.step());
        }
    }

    #[test]
    fn what_still_runs_at_the_end_counts_to_the_end() {
        let course = course(&[fork(0, 0, 0), wakeup(85, 0, 1), switch(85, 1, None, Reason::Idle, Some(0))]);
        assert_eq!(course.shares()[0][8..], [0.5, 1.0]);
        assert_eq!(course.runnable()[1][8..], [0.5, 1.0]);
    }

    #[test]
    fn words_are_kept_when_they_change() {
        let course = course(&[fork(0, 0, 0), says(1, 0, 5), says(2, 0, 5), says(3, 0, 6), says(4, 1, 1)]);
        let [first, second] = course.statuses() else { panic!("{:?}", course.statuses()) };
        assert_eq!((&first.said[..], first.is_cut), (&[(Time(1), 5), (Time(3), 6)][..], false));
        assert_eq!(second.said, [(Time(4), 1)]);
    }

    #[test]
    fn a_policy_that_says_too_much_is_cut() {
        let events: Vec<Event> = (0..1000).map(|word| says(word, 0, word)).collect();
        let course = course(&events);
        assert_eq!((course.statuses()[0].said.len(), course.statuses()[0].is_cut), (MOST_WORDS, true));
    }
}
