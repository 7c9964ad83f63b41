//! The tasks in a trace, and whether the question is about them.

use crate::{Selection, TaskChoice, Who};
use schedlab_model::{
    ids::TaskId,
    names::{Label, Names},
    trace::{Event, EventKind},
};

/// Knows the tasks that are alive by name, and which of them are asked for.
#[derive(Clone, Debug)]
pub struct Roster {
    names: Names,
    selection: Selection,
    /// The one task that is asked for, once it is known.
    chosen: Option<TaskId>,
    found: bool,
    /// The lowest and the highest number of a task.
    range: Option<(TaskId, TaskId)>,
    switched: bool,
    shared: bool,
}

impl Roster {
    /// For a trace with these roles, by [`schedlab_model::ids::RoleId`].
    pub fn new(roles: impl IntoIterator<Item = String>, selection: Selection) -> Roster {
        let chosen = match selection.who {
            Who::Task(TaskChoice::Number(task)) => Some(task),
            _ => None,
        };
        let names = Names::new(roles);
        Roster { names, selection, chosen, found: false, range: None, switched: false, shared: false }
    }

    /// Takes notice of an event. Must see all of them, each before anything is asked about it.
    pub fn observe(&mut self, event: &Event) {
        self.names.observe(event);
        match event.kind {
            EventKind::Fork { task, .. } => {
                if let Who::Task(TaskChoice::Name(name)) = &self.selection.who
                    && self.names.task(task) == *name
                {
                    self.chosen = Some(task);
                }
                self.meet(task);
            }
            EventKind::Switch { previous, next, .. } => {
                self.switched = true;
                previous.into_iter().chain(next).for_each(|task| self.meet(task));
            }
            EventKind::Wakeup { task, .. } | EventKind::Status { task, .. } | EventKind::Exit { task } => {
                self.meet(task);
            }
            EventKind::Share { .. } => self.shared = true,
            _ => {}
        }
    }

    fn meet(&mut self, task: TaskId) {
        self.found |= self.chosen == Some(task);
        let (low, high) = self.range.unwrap_or((task, task));
        self.range = Some((low.min(task), high.max(task)));
    }

    /// Whether the question is about this task.
    pub fn wants(&self, task: TaskId) -> bool {
        match self.selection.who {
            Who::Everybody => true,
            Who::Task(_) => self.chosen == Some(task),
            Who::Role(role) => self.names.get(task).is_some_and(|(of, _)| of == role),
        }
    }

    /// What is asked for.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// The names of tasks and roles.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// What the name of a task is made of.
    pub fn label(&self, task: TaskId) -> Label {
        self.names.label(task)
    }

    /// After the last event: the task that was asked for and is not in the trace, and which are.
    pub fn missing(&self) -> Option<String> {
        let Who::Task(choice) = &self.selection.who else { return None };
        if self.found {
            return None;
        }
        Some(match self.range {
            Some((low, high)) if low == high => format!("there is no task {choice}; the only one is {low}"),
            Some((low, high)) => format!("there is no task {choice}; the tasks are {low} to {high}"),
            None => format!("there is no task {choice}, nor any other"),
        })
    }

    /// After the last event: whether tasks got CPU time, but it was not told when and where, so that there is nothing to
    /// say about waits or places.
    pub fn is_without_switches(&self) -> bool {
        self.shared && !self.switched
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_helpers::{fork, roles};
    use schedlab_model::{ids::RoleId, time::Time};

    fn roster(who: Who) -> Roster {
        let mut roster = Roster::new(roles(), Selection { who, ..Selection::ALL });
        [fork(0, 0, 0), fork(0, 1, 1), fork(0, 2, 0)].iter().for_each(|event| roster.observe(event));
        roster
    }

    fn wanted(roster: &Roster) -> Vec<u32> {
        (0..3).filter(|&task| roster.wants(TaskId(task))).collect()
    }

    #[test]
    fn tasks_are_chosen_by_number_name_and_role() {
        let task = |text: &str| roster(Who::Task(text.parse().unwrap()));
        assert_eq!(wanted(&roster(Who::Everybody)), [0, 1, 2]);
        assert_eq!(wanted(&task("1")), [1]);
        assert_eq!(wanted(&task("worker/1")), [2]);
        assert_eq!(wanted(&roster(Who::Role(RoleId(0)))), [0, 2]);
        assert_eq!(task("worker/1").missing(), None);
        assert_eq!(task("3").missing().unwrap(), "there is no task 3; the tasks are 0 to 2");
        assert_eq!(task("worker/2").missing().unwrap(), "there is no task `worker/2`; the tasks are 0 to 2");
        let nobody = Roster::new(roles(), Selection { who: Who::Task("3".parse().unwrap()), ..Selection::ALL });
        assert_eq!(nobody.missing().unwrap(), "there is no task 3, nor any other");
    }

    #[test]
    fn the_end_of_a_selection_does_not_belong_to_it() {
        let selection = Selection { from: Time(5), until: Time(7), ..Selection::ALL };
        assert_eq!([4, 5, 6, 7].map(|ns| selection.covers(Time(ns))), [false, true, true, false]);
    }
}
