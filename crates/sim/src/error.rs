//! What can end a run early.

use schedlab_bpf::{LoadError, MemoryError, ObjectError};
use schedlab_model::time::Time;
use std::fmt;

/// A policy failed: it made an error, let tasks starve, or asked to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFailure {
    /// The operation that was running.
    pub operation: Option<&'static str>,
    /// The task it was about.
    pub task: Option<String>,
    /// The simulated time.
    pub time: Time,
    /// Whether a task waited for a CPU for too long.
    pub is_stall: bool,
    /// What happened.
    pub message: String,
    /// Lines that it had printed, each with the simulated time.
    pub printed: Vec<(Time, String)>,
}

impl PolicyFailure {
    /// One at the start of the run, about no task.
    pub fn at_start(message: String) -> PolicyFailure {
        PolicyFailure { operation: None, task: None, time: Time::ZERO, is_stall: false, message, printed: Vec::new() }
    }
}

impl fmt::Display for PolicyFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the policy failed at {}", self.time)?;
        if let Some(operation) = self.operation {
            write!(f, " in ops.{operation}")?;
        }
        if let Some(task) = &self.task {
            write!(f, " for {task}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Why a run could not start or did not end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The object cannot be used. The input is wrong.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The object cannot be loaded. The input is wrong.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Memory is used up.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The program that is to load the policy did not get there.
    #[error("{0}")]
    Program(String),
    /// A stop was requested before the policy was in charge.
    #[error("stopped")]
    Stopped,
    /// The policy failed. The run ends here.
    #[error("{0}")]
    Policy(PolicyFailure),
    /// A program of the scenario never lets time go by.
    #[error(
        "the tasks of role '{role}' do endless steps at {time} without any time going by ({steps} so far); add a \
         compute or sleep step"
    )]
    Stuck {
        /// The role of the task that did the last step.
        role: String,
        /// Steps of all tasks at that instant.
        steps: u64,
        /// The simulated time.
        time: Time,
    },
    /// A step writes a limit that a control group cannot have with what is there.
    #[error(
        "a step `adjust` of role '{role}' changes the control group `{path}` at {time} to what no kernel takes: {why}"
    )]
    Refused {
        /// The role of the task.
        role: String,
        /// The control group.
        path: String,
        /// Why not.
        why: String,
        /// The simulated time.
        time: Time,
    },
    /// The scenario has more tasks alive at once than guest memory has places for.
    #[error(
        "role '{role}' begins one more task at {time} while {limit} are alive, and no more fit; spread arrivals over \
         time or let tasks end"
    )]
    TooManyTasks {
        /// The role of the task that found no place.
        role: String,
        /// The most tasks alive at once.
        limit: u32,
        /// The simulated time.
        time: Time,
    },
    /// There is too much of something that the scenario makes.
    #[error("there are more than {most} {what} at {time}, which take the memory of this machine: {remedy}")]
    Full {
        /// The most that fit.
        most: u64,
        /// What they are.
        what: &'static str,
        /// What helps.
        remedy: &'static str,
        /// The simulated time.
        time: Time,
    },
    /// All tasks that are left wait for one another.
    #[error("{0}")]
    Standstill(String),
    /// The workload asks for something that this place does not have.
    #[error("{0}")]
    Unsupported(String),
}

impl RunError {
    /// Whether this machine has not enough for any simulation.
    pub fn is_lack_of_machine(&self) -> bool {
        matches!(self, RunError::Memory(MemoryError::Reserve(_)))
    }
}
