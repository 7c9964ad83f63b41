//! How long after its wake-up each task ran.

use crate::{Roster, Wait, WaitEnd, buckets::Buckets, waits::Waits};
use schedlab_metrics::{collector::MAX_TASKS_IN_DETAIL, histogram::Histogram};
use schedlab_model::{
    ids::{RoleId, TaskId},
    names::Label,
    time::Time,
    trace::{Event, Sink},
};
use std::collections::BTreeMap;

/// The waits of a role or a task.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    /// Those after which the task ran, in ns.
    pub ran: Histogram,
    /// The same, for a picture.
    pub buckets: Buckets,
    /// Those that lasted until the end of the trace.
    pub open: u64,
    /// The longest of these, so far.
    pub longest_open: Time,
    /// Those of tasks that ended without having run.
    pub exited: u64,
    /// Those of which events are missing, so that their end is not known.
    pub untold: u64,
}

impl Latencies {
    fn record(&mut self, wait: &Wait) {
        match wait.end {
            WaitEnd::Ran { .. } => {
                self.ran.record(wait.length().ns());
                self.buckets.record(wait.length());
            }
            WaitEnd::Exited { .. } => self.exited += 1,
            WaitEnd::Untold { .. } => self.untold += 1,
            WaitEnd::Open { .. } => {
                self.open += 1;
                self.longest_open = self.longest_open.max(wait.length());
            }
        }
    }
}

/// Collects the waits of which the wake-up is selected.
#[derive(Clone, Debug)]
pub struct Latency {
    roster: Roster,
    waits: Waits,
    /// None for tasks of unknown role.
    roles: BTreeMap<Option<RoleId>, Latencies>,
    /// None once there were too many tasks to tell them apart.
    tasks: Option<BTreeMap<TaskId, (Label, Latencies)>>,
    /// The selected waits that lasted until the end.
    open: Vec<Wait>,
}

impl Latency {
    /// For the tasks and the time that the roster's selection says.
    pub fn new(roster: Roster) -> Latency {
        let (roles, tasks) = (BTreeMap::new(), Some(BTreeMap::new()));
        Latency { roster, waits: Waits::default(), roles, tasks, open: Vec::new() }
    }

    /// Takes an event, and gives the selected wait that ended with it.
    pub fn take(&mut self, event: &Event) -> Option<Wait> {
        self.roster.observe(event);
        let wait = self.waits.take(event, self.roster.names())?;
        self.record(wait)
    }

    fn record(&mut self, wait: Wait) -> Option<Wait> {
        let label = wait.task;
        if !self.roster.selection().covers(wait.woken) || !self.roster.wants(label.task) {
            return None;
        }
        self.roles.entry(label.place.map(|(role, _)| role)).or_default().record(&wait);
        if let Some(tasks) = &mut self.tasks {
            tasks.entry(label.task).or_insert_with(|| (label, Latencies::default())).1.record(&wait);
            if tasks.len() > MAX_TASKS_IN_DETAIL {
                self.tasks = None;
            }
        }
        Some(wait)
    }

    /// The tasks of the trace.
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// The roles with a wait, those without a name first.
    pub fn roles(&self) -> impl Iterator<Item = (Option<RoleId>, &Latencies)> {
        self.roles.iter().map(|(&role, latencies)| (role, latencies))
    }

    /// The tasks with a wait, in the order of their numbers; none when they were too many.
    pub fn tasks(&self) -> Option<impl Iterator<Item = &(Label, Latencies)>> {
        Some(self.tasks.as_ref()?.values())
    }

    /// After the end: the selected waits that lasted until then, in the order of their wake-ups.
    pub fn open(&self) -> &[Wait] {
        &self.open
    }
}

impl Sink for Latency {
    fn event(&mut self, event: &Event) {
        self.take(event);
    }

    fn finish(&mut self, end: Time) {
        for wait in self.waits.finish(end) {
            let selected = self.record(wait);
            self.open.extend(selected);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Selection, Who,
        test_helpers::{exit, fork, roles, switch, wakeup},
    };
    use schedlab_model::trace::Reason::*;

    fn events() -> Vec<Event> {
        vec![
            fork(0, 0, 0),
            fork(0, 1, 1),
            fork(0, 2, 0),
            wakeup(0, 0, 0),
            wakeup(0, 1, 0),
            switch(0, 0, None, Idle, Some(0)),
            switch(30, 0, Some(0), SliceEnd, Some(1)),
            switch(40, 0, Some(1), Blocked, Some(0)),
            wakeup(50, 1, 0),
            switch(60, 0, Some(0), Preempted, Some(1)),
            wakeup(70, 2, 0),
            exit(75, 0, 1),
            switch(75, 0, Some(1), Exited, None),
        ]
    }

    fn view(selection: Selection) -> Latency {
        let mut view = Latency::new(Roster::new(roles(), selection));
        view.events(&events());
        view.finish(Time(100));
        view
    }

    #[test]
    fn roles_and_tasks_get_their_waits() {
        let view = view(Selection::ALL);
        let of = |l: &Latencies| (l.ran.count(), l.ran.sum(), l.open, l.longest_open.ns());
        let roles: Vec<_> = view.roles().map(|(role, l)| (role.unwrap().0, of(l))).collect();
        assert_eq!(roles, [(0, (1, 0, 1, 30)), (1, (2, 40, 0, 0))]);
        let tasks: Vec<_> = view.tasks().unwrap().map(|(label, l)| (label.task.0, of(l))).collect();
        assert_eq!(tasks, [(0, (1, 0, 0, 0)), (1, (2, 40, 0, 0)), (2, (0, 0, 1, 30))]);
        assert_eq!(view.open().iter().map(|wait| wait.task.task.0).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn a_wait_belongs_to_the_instant_of_its_wake_up() {
        let selection = Selection { who: Who::Role(RoleId(1)), from: Time(1), until: Time(51) };
        let mut view = Latency::new(Roster::new(roles(), selection));
        let waits: Vec<_> = events().iter().filter_map(|event| view.take(event)).collect();
        assert_eq!(waits.iter().map(|w| (w.woken.ns(), w.length().ns())).collect::<Vec<_>>(), [(50, 10)]);
    }

    #[test]
    fn too_many_tasks_are_not_told_apart() {
        let mut view = Latency::new(Roster::new(roles(), Selection::ALL));
        for task in 0..=MAX_TASKS_IN_DETAIL as u32 {
            assert!(view.tasks().is_some());
            view.events(&[fork(0, task, 0), wakeup(0, task, 0), switch(0, 0, None, Idle, Some(task))]);
        }
        assert!(view.tasks().is_none());
        assert_eq!(view.roles().map(|(_, l)| l.ran.count()).collect::<Vec<_>>(), [MAX_TASKS_IN_DETAIL as u64 + 1]);
    }
}
