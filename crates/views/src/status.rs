//! What a policy said about tasks: a queue level, a priority, a label.

use crate::Roster;
use schedlab_metrics::collector::MAX_TASKS_IN_DETAIL;
use schedlab_model::{
    ids::{RoleId, TaskId},
    names::Label,
    time::Time,
    trace::{Event, EventKind, Sink},
};
use std::collections::BTreeMap;

/// The most distinct status words kept for a task or a role; a policy may report a new one at every instant.
const MAX_WORDS: usize = 64;

/// That many changes of each task are kept.
const MAX_CHANGES: usize = 12;

/// A task's status became another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// When.
    pub time: Time,
    /// The task.
    pub task: Label,
    /// What it was; none at the first word.
    pub before: Option<u64>,
    /// What it is.
    pub word: u64,
}

/// How long tasks had which status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    times: BTreeMap<u64, u64>,
    rest: u64,
    /// Changes within the selection.
    pub changes: u64,
}

impl Shares {
    fn add(&mut self, word: u64, ns: u64) {
        if ns == 0 {
            return;
        }
        match self.times.len() < MAX_WORDS || self.times.contains_key(&word) {
            true => *self.times.entry(word).or_default() += ns,
            false => self.rest += ns,
        }
    }

    fn total(&self) -> u64 {
        self.times.values().sum::<u64>() + self.rest
    }

    /// The words with the share of time of each, in the order of the words.
    pub fn words(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        let total = self.total() as f64;
        self.times.iter().map(move |(&word, &time)| (word, time as f64 / total))
    }

    /// The share of all words that are not told apart, if there are such.
    pub fn rest(&self) -> Option<f64> {
        (self.rest > 0).then(|| self.rest as f64 / self.total() as f64)
    }
}

/// What is known about a task.
#[derive(Clone, Debug)]
pub struct History {
    /// The task.
    pub task: Label,
    /// Its status when the selection began, if it had one.
    pub at_first: Option<u64>,
    /// The first changes within the selection; the shares know how many there were.
    pub changes: Vec<Change>,
    /// How long it had which status.
    pub shares: Shares,
}

/// A living task: its word, and since when it counts.
#[derive(Clone, Copy, Debug)]
struct Present {
    label: Label,
    word: u64,
    since: Time,
}

/// Collects what was said about the selected tasks in the selected time.
#[derive(Clone, Debug)]
pub struct Status {
    roster: Roster,
    present: BTreeMap<TaskId, Present>,
    roles: BTreeMap<Option<RoleId>, Shares>,
    /// None once there were too many tasks to tell them apart.
    tasks: Option<BTreeMap<TaskId, History>>,
}

impl Status {
    /// For the tasks and the time that the roster's selection says.
    pub fn new(roster: Roster) -> Status {
        Status { roster, present: BTreeMap::new(), roles: BTreeMap::new(), tasks: Some(BTreeMap::new()) }
    }

    /// Takes an event, and gives the selected change that it is.
    pub fn take(&mut self, event: &Event) -> Option<Change> {
        self.roster.observe(event);
        match event.kind {
            EventKind::Status { task, word } if self.roster.wants(task) => self.say(event.time, task, word),
            EventKind::Exit { task } => {
                if let Some(present) = self.present.remove(&task) {
                    self.settle(present, event.time);
                }
                None
            }
            _ => None,
        }
    }

    fn say(&mut self, time: Time, task: TaskId, word: u64) -> Option<Change> {
        let label = self.roster.label(task);
        let before = self.present.insert(task, Present { label, word, since: time });
        if let Some(present) = before {
            self.settle(present, time);
        }
        let before = before.map(|present| present.word);
        if before == Some(word) || !self.roster.selection().covers(time) {
            return None;
        }
        let change = Change { time, task: label, before, word };
        self.shares_of(label).for_each(|shares| shares.changes += 1);
        if let Some(history) = self.tasks.as_mut().and_then(|tasks| tasks.get_mut(&task))
            && history.changes.len() < MAX_CHANGES
        {
            history.changes.push(change);
        }
        Some(change)
    }

    /// A task had its status until now.
    fn settle(&mut self, present: Present, now: Time) {
        let selection = self.roster.selection();
        let (from, until) = (selection.from, selection.until);
        if present.since >= until || now <= from {
            return;
        }
        let time = now.min(until).since(present.since.max(from)).ns();
        let began_before = present.since < from;
        self.shares_of(present.label).for_each(|shares| shares.add(present.word, time));
        if began_before && let Some(history) = self.tasks.as_mut().and_then(|t| t.get_mut(&present.label.task)) {
            history.at_first = Some(present.word);
        }
    }

    /// Where the numbers of a task go: its role's shares, and its own.
    fn shares_of(&mut self, label: Label) -> impl Iterator<Item = &mut Shares> {
        let role = self.roles.entry(label.place.map(|(role, _)| role)).or_default();
        if let Some(tasks) = &mut self.tasks {
            tasks.entry(label.task).or_insert_with(|| History {
                task: label,
                at_first: None,
                changes: Vec::new(),
                shares: Shares::default(),
            });
            if tasks.len() > MAX_TASKS_IN_DETAIL {
                self.tasks = None;
            }
        }
        let task = self.tasks.as_mut().and_then(|tasks| tasks.get_mut(&label.task)).map(|history| &mut history.shares);
        [Some(role), task].into_iter().flatten()
    }

    /// The tasks of the trace.
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// After the end: the roles of which anything was said, those without a name first.
    pub fn roles(&self) -> impl Iterator<Item = (Option<RoleId>, &Shares)> {
        self.roles.iter().map(|(&role, shares)| (role, shares))
    }

    /// After the end: the tasks of which anything was said, by number; none when they were too many.
    pub fn tasks(&self) -> Option<impl Iterator<Item = &History>> {
        Some(self.tasks.as_ref()?.values())
    }
}

impl Sink for Status {
    fn event(&mut self, event: &Event) {
        self.take(event);
    }

    fn finish(&mut self, end: Time) {
        for present in std::mem::take(&mut self.present).into_values() {
            self.settle(present, end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Selection,
        test_helpers::{exit, fork, roles, says},
    };

    fn events() -> Vec<Event> {
        vec![
            fork(0, 0, 0),
            fork(0, 1, 0),
            says(0, 0, 1),
            says(10, 0, 2),
            // The same again is no change.
            says(15, 0, 2),
            says(20, 1, 7),
            says(40, 0, 1),
            exit(60, 0, 1),
        ]
    }

    fn view(selection: Selection) -> Status {
        let mut view = Status::new(Roster::new(roles(), selection));
        view.events(&events());
        view.finish(Time(100));
        view
    }

    fn shares(shares: &Shares) -> Vec<(u64, u32)> {
        shares.words().map(|(word, share)| (word, (1000.0 * share).round() as u32)).collect()
    }

    #[test]
    fn each_task_has_its_changes_and_shares() {
        let view = view(Selection::ALL);
        let tasks: Vec<_> = view.tasks().unwrap().collect();
        let changes =
            |history: &History| history.changes.iter().map(|c| (c.time.ns(), c.before, c.word)).collect::<Vec<_>>();
        assert_eq!(changes(tasks[0]), [(0, None, 1), (10, Some(1), 2), (40, Some(2), 1)]);
        assert_eq!((shares(&tasks[0].shares), tasks[0].shares.changes), (vec![(1, 700), (2, 300)], 3));
        assert_eq!((shares(&tasks[1].shares), changes(tasks[1])), (vec![(7, 1000)], vec![(20, None, 7)]));
        let roles: Vec<_> = view.roles().collect();
        assert_eq!((roles.len(), roles[0].1.changes), (1, 4));
        assert_eq!(shares(roles[0].1), [(1, 500), (2, 214), (7, 286)]);
    }

    #[test]
    fn a_status_from_before_the_selection_counts_within_it() {
        let view = view(Selection { from: Time(30), until: Time(50), ..Selection::ALL });
        let tasks: Vec<_> = view.tasks().unwrap().collect();
        assert_eq!((tasks[0].at_first, tasks[0].changes.len()), (Some(2), 1));
        assert_eq!((shares(&tasks[0].shares), shares(&tasks[1].shares)), (vec![(1, 500), (2, 500)], vec![(7, 1000)]));
        assert_eq!(tasks[1].at_first, Some(7));
    }

    #[test]
    fn words_without_number_take_no_memory() {
        let mut view = Status::new(Roster::new(roles(), Selection::ALL));
        view.event(&fork(0, 0, 0));
        (0..200).for_each(|time| view.event(&says(time, 0, time)));
        view.finish(Time(200));
        let history = view.tasks().unwrap().next().unwrap();
        assert_eq!((history.changes.len(), history.shares.changes), (MAX_CHANGES, 200));
        assert_eq!((history.shares.words().count(), history.shares.rest()), (MAX_WORDS, Some(0.68)));
    }
}
