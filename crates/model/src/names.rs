//! What people call a task: the name of its role and its number in it, `worker/3`.

use crate::{
    ids::{RoleId, TaskId},
    time::Time,
    trace::{Event, EventKind},
};
use serde::{Deserialize, Serialize};
use std::{collections::HashMap, mem};

/// What a task's name is made of, for code that needs it after the task is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Label {
    /// The task.
    pub task: TaskId,
    /// Its role and its number in it; none when its fork was not seen.
    pub place: Option<(RoleId, u32)>,
}

/// Gives tasks their names as the events stream by. The instances of a role are numbered from 0 in the order of
/// their forks. A task is forgotten after the instant of its exit, so memory follows the tasks that are alive.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Names {
    roles: Vec<String>,
    instances: HashMap<RoleId, u32>,
    tasks: HashMap<TaskId, (RoleId, u32)>,
    /// Tasks that ended at `now`: the switch away from them may still come.
    ended: Vec<TaskId>,
    now: Time,
}

impl Names {
    /// No tasks yet; the names of the roles, by [`RoleId`].
    pub fn new(roles: impl IntoIterator<Item = String>) -> Names {
        let roles = roles.into_iter().collect();
        Names { roles, instances: HashMap::new(), tasks: HashMap::new(), ended: Vec::new(), now: Time::ZERO }
    }

    /// Takes notice of an event, and gives the tasks that are forgotten with it. Must see all events, before names of
    /// the tasks in them are asked for.
    pub fn observe(&mut self, event: &Event) -> Vec<TaskId> {
        let mut forgotten = Vec::new();
        if event.time > self.now {
            self.now = event.time;
            forgotten = mem::take(&mut self.ended);
            for task in &forgotten {
                self.tasks.remove(task);
            }
        }
        match event.kind {
            EventKind::Fork { task, role, .. } => {
                let next = self.instances.entry(role).or_default();
                self.tasks.insert(task, (role, *next));
                *next += 1;
            }
            EventKind::Exit { task } => self.ended.push(task),
            _ => {}
        }
        forgotten
    }

    /// The role of a task and its number in it, if its fork was seen.
    pub fn get(&self, task: TaskId) -> Option<(RoleId, u32)> {
        self.tasks.get(&task).copied()
    }

    /// The name of a role; `role4` when it has none.
    pub fn role(&self, role: RoleId) -> String {
        self.roles.get(role.index()).cloned().unwrap_or_else(|| format!("role{role}"))
    }

    /// What the name of a task is made of.
    pub fn label(&self, task: TaskId) -> Label {
        Label { task, place: self.get(task) }
    }

    /// The name that a label stands for; `task17` for a task whose fork was not seen.
    pub fn show(&self, label: Label) -> String {
        match label.place {
            Some((role, instance)) => format!("{}/{instance}", self.role(role)),
            None => format!("task{}", label.task),
        }
    }

    /// The name of a task; `task17` when its fork was not seen.
    pub fn task(&self, task: TaskId) -> String {
        self.show(self.label(task))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::CpuId;

    fn at(ms: u64, kind: EventKind) -> Event {
        Event { time: Time::from_ms(ms), cpu: CpuId(0), kind }
    }

    #[test]
    fn instances_are_numbered_in_their_role_and_forgotten_after_their_end() {
        let mut names = Names::new(["worker".into(), "timer".into()]);
        for (task, role) in [(0, 0), (1, 1), (2, 0), (3, 7)] {
            let (task, role) = (TaskId(task), RoleId(role));
            names.observe(&at(0, EventKind::Fork { task, role, parent: None }));
        }
        let shown = [0, 1, 2, 3, 4].map(|task| names.task(TaskId(task)));
        assert_eq!(shown, ["worker/0", "timer/0", "worker/1", "role7/0", "task4"]);
        let before = names.label(TaskId(0));
        names.observe(&at(1, EventKind::Exit { task: TaskId(0) }));
        assert_eq!(names.get(TaskId(0)), Some((RoleId(0), 0)));
        assert_eq!(names.observe(&at(2, EventKind::Tick)), [TaskId(0)]);
        assert_eq!((names.get(TaskId(0)), names.show(before)), (None, "worker/0".into()));
        names.observe(&at(2, EventKind::Fork { task: TaskId(9), role: RoleId(0), parent: None }));
        assert_eq!(names.task(TaskId(9)), "worker/2");
    }
}
