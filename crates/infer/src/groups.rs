//! Roles of the model: the tasks of a recorded role that are created in the same way.

use crate::tracker::{Birth, Tracker};
use schedlab_model::ids::{RoleId, TaskId};
use std::collections::{BTreeMap, BTreeSet};

/// How the tasks of a role are created.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// All at one instant.
    Together(u64),
    /// One by one, from outside.
    Arriving,
    /// Each by a task.
    Spawned,
}

/// Tasks that the model has as one role.
#[derive(Clone, Debug)]
pub struct Group {
    /// The recorded role.
    pub role: RoleId,
    /// How they are created.
    pub origin: Origin,
    /// The tasks, in the order of birth.
    pub tasks: Vec<TaskId>,
    /// The name in the model.
    pub name: String,
}

/// Different instants of birth from which on tasks are said to arrive.
const INSTANTS: usize = 8;

/// All groups, in the order of roles. Which task a step `spawn` means follows from the role alone, so a role has at most one
/// group of spawned tasks.
pub fn groups(tracker: &Tracker, names: &[String]) -> Vec<Group> {
    let mut instants: BTreeMap<RoleId, BTreeSet<u64>> = BTreeMap::new();
    for task in tracker.tasks.values().filter(|task| task.birth.parent.is_none()) {
        instants.entry(task.birth.role).or_default().insert(task.birth.at_ns);
    }
    let mut groups: BTreeMap<(RoleId, Origin), Vec<TaskId>> = BTreeMap::new();
    for (id, task) in &tracker.tasks {
        let origin = match task.birth {
            Birth { parent: Some(_), .. } => Origin::Spawned,
            Birth { role, .. } if instants[&role].len() > INSTANTS => Origin::Arriving,
            Birth { at_ns, .. } => Origin::Together(at_ns),
        };
        groups.entry((task.birth.role, origin)).or_default().push(*id);
    }
    let mut count: BTreeMap<RoleId, u32> = BTreeMap::new();
    groups.keys().for_each(|(role, _)| *count.entry(*role).or_default() += 1);
    let mut numbers: BTreeMap<RoleId, u32> = BTreeMap::new();
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut named = |role: RoleId, origin: &Origin| {
        let number = numbers.entry(role).or_default();
        *number += 1;
        let plain = names.get(role.index()).cloned().unwrap_or_default();
        let mut name = match origin {
            // A step that creates tasks knows the name of their role.
            Origin::Spawned => plain.clone(),
            _ if count[&role] == 1 => plain.clone(),
            _ => format!("{plain}-{number}"),
        };
        while !taken.insert(name.clone()) {
            name.push('\'');
        }
        name
    };
    let spawned_first = |key: &(RoleId, Origin)| (key.0, key.1 != Origin::Spawned);
    let mut keys: Vec<_> = groups.keys().cloned().collect();
    keys.sort_by_key(spawned_first);
    let mut made: Vec<Group> = Vec::new();
    for key in keys {
        let tasks = groups.remove(&key).unwrap_or_default();
        let (role, origin) = key;
        let name = named(role, &origin);
        made.push(Group { role, origin, tasks, name });
    }
    made
}
