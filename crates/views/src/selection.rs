//! Which part of a trace is asked for.

use schedlab_model::{
    ids::{RoleId, TaskId},
    time::Time,
};
use std::{convert::Infallible, fmt, str::FromStr};

/// The tasks and the time that the question is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The tasks.
    pub who: Who,
    /// From this instant on.
    pub from: Time,
    /// Up to this one, which does not belong to it.
    pub until: Time,
}

impl Selection {
    /// All tasks, all the time.
    pub const ALL: Selection = Selection { who: Who::Everybody, from: Time::ZERO, until: Time::NEVER };

    /// Whether what happens at this instant is asked for.
    pub fn covers(&self, time: Time) -> bool {
        self.from <= time && time < self.until
    }
}

/// The tasks that a question is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// All tasks.
    Everybody,
    /// One task.
    Task(TaskChoice),
    /// The tasks of one role.
    Role(RoleId),
}

/// How a user says which task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskChoice {
    /// By its number in the trace: `3`.
    Number(TaskId),
    /// By its name: `worker/0`.
    Name(String),
}

impl FromStr for TaskChoice {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<TaskChoice, Infallible> {
        Ok(match text.parse() {
            Ok(number) => TaskChoice::Number(TaskId(number)),
            Err(_) => TaskChoice::Name(text.into()),
        })
    }
}

impl fmt::Display for TaskChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TaskChoice::Number(task) => write!(f, "{task}"),
            TaskChoice::Name(name) => write!(f, "`{name}`"),
        }
    }
}
