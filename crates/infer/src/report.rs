//! What a model says about itself.

use crate::cause::Cause;
use std::collections::BTreeMap;

/// How much of a role the model keeps, and what it leaves free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// R1: each task's steps, each wake-up by the task that gave it.
    Tasks,
    /// R2: items in their recorded order, objects with their meaning.
    Items,
}

impl Level {
    /// As written.
    pub fn word(self) -> &'static str {
        match self {
            Level::Tasks => "tasks",
            Level::Items => "items",
        }
    }
}

/// One role of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleReport {
    /// Its name.
    pub name: String,
    /// The name of the recorded role. One whose tasks were created in different ways is several in the model.
    pub recorded: String,
    /// Its tasks.
    pub tasks: u64,
    /// Its items; where a task's life is one, its requests if it has some.
    pub items: u64,
    /// Its tasks that came to no item.
    pub idle: u64,
    /// How it is modelled.
    pub level: Level,
    /// Whether all items are the same.
    pub constant: bool,
    /// Work of an item: median, 99th percentile.
    pub work_ns: Option<[u64; 2]>,
    /// Its part of the CPU work.
    pub share: f64,
    /// What its steps wait for, the commonest first.
    pub waits_for: Vec<String>,
}

/// Wake-ups from one role to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The role that wakes.
    pub from: String,
    /// The role that is woken.
    pub to: String,
    /// How often.
    pub wakes: u64,
}

/// What a condition of the trust in a model does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Printed with the numbers.
    Note,
    /// Nothing is predicted.
    Refusal,
}

/// Why a model may not be believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// What it is called.
    pub code: &'static str,
    /// What it does.
    pub weight: Weight,
    /// A sentence with its remedy.
    pub what: String,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The recorded scenario or command.
    pub name: String,
    /// How long, in nanoseconds.
    pub length_ns: u64,
    /// CPUs.
    pub cpus: u32,
    /// The scheduler of the recording.
    pub policy: String,
    /// Events, and wake-ups that are no births.
    pub events: u64,
    /// Wake-ups that are no births.
    pub wakeups: u64,
    /// Events that are missing.
    pub lost: u64,
    /// The roles.
    pub roles: Vec<RoleReport>,
    /// Wake-ups between roles.
    pub edges: Vec<Edge>,
    /// For how long tasks slept, by what ended it.
    pub slept_ns: BTreeMap<Cause, u64>,
    /// Whether the recording tells the calls in which tasks sleep.
    pub calls: bool,
    /// Yields.
    pub yields: u64,
    /// Whether tasks spin for a lock before they wait for it.
    pub spins: bool,
    /// Moves of tasks between control groups.
    pub joins: u64,
    /// The part of the items that is kept: of long recordings the beginning.
    pub kept: f64,
    /// CPU time of others while a recorded task waited, in parts of all CPU time.
    pub others: f64,
    /// What lessens the trust.
    pub doubts: Vec<Doubt>,
}

impl Report {
    /// The part of the time slept without a known cause.
    pub fn unexplained(&self) -> f64 {
        let all: u64 = self.slept_ns.values().sum();
        let unexplained = self.slept_ns.get(&Cause::Unexplained).copied().unwrap_or(0);
        if all == 0 { 0.0 } else { unexplained as f64 / all as f64 }
    }

    /// Whole items of all roles.
    pub fn items(&self) -> u64 {
        self.roles.iter().map(|role| role.items).sum()
    }

    /// Whether nothing is to be predicted from it.
    pub fn is_refused(&self) -> bool {
        self.doubts.iter().any(|doubt| doubt.weight == Weight::Refusal)
    }
}
