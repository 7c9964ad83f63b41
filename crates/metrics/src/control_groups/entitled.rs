//! What control groups are entitled to: at each instant the CPUs are divided by weight, from the root down.
//!
//! A group's part is shared by the groups below it and its own tasks. None gets more than it can use: a task one CPU, a
//! group what those below it can use, its CPUs and its quota. What one leaves goes to the others by their weights (weighted
//! max-min fairness).

use crate::fairness::{changes_weight, nice_weight};
use schedlab_model::control_group::{ControlGroups as Tree, Weight};
use schedlab_model::ids::ControlGroupId;
use schedlab_model::workload::{Step, Workload};
use std::collections::BTreeMap;

/// With more groups than this there is no entitled share: it is computed whenever a task begins or ceases to want a CPU.
const MAX_GROUPS: usize = 256;

/// `cpu.idle` in the unit of task weights.
const IDLE_WEIGHT: f64 = 3.0;

#[derive(Debug)]
pub(super) struct Entitled {
    cpus: f64,
    groups: Vec<State>,
    is_stale: bool,
}

#[derive(Debug, Default)]
struct State {
    weight: f64,
    most: f64,
    /// Its own tasks that want a CPU, by weight.
    own: BTreeMap<u32, u32>,
    /// CPUs that it can use now.
    usable: f64,
    /// CPUs that it is entitled to now.
    rate: f64,
    /// CPU time that it was entitled to, and that of all that share with it.
    entitled_ns: f64,
    below_ns: f64,
    /// What is divided among those below it now.
    below_rate: f64,
}

/// A group or a task that takes a part.
struct Claim {
    weight: f64,
    most: f64,
}

impl Entitled {
    /// None where weights or limits change while the run lasts: the trace does not say when.
    pub fn of(workload: &Workload) -> Option<Entitled> {
        let adjusts = |step: &Step| matches!(step, Step::Adjust(..));
        let changes = workload.roles.iter().any(|role| changes_weight(role) || role.program.steps.iter().any(adjusts));
        if changes || workload.control_groups.len() > MAX_GROUPS {
            return None;
        }
        Some(Entitled::new(&workload.control_groups, workload.machine.cpus()))
    }

    fn new(tree: &Tree, cpus: u32) -> Entitled {
        let state = |(_, group): (ControlGroupId, &schedlab_model::control_group::ControlGroup)| State {
            weight: weight(group.knobs.weight),
            most: group.knobs.bandwidth.cpus().unwrap_or(f64::INFINITY).min(f64::from(group.effective_cpus.len())),
            ..State::default()
        };
        Entitled { cpus: f64::from(cpus), groups: tree.iter().map(state).collect(), is_stale: false }
    }

    /// A task of a group begins or ceases to want a CPU. Those of the real-time classes have no weight and stand apart.
    pub fn wants(&mut self, tree: &Tree, group: ControlGroupId, weight: Option<u32>, on: bool) {
        let Some(weight) = weight else { return };
        let own = self.groups[group.index()].own.entry(weight).or_default();
        *own = own.wrapping_add_signed(if on { 1 } else { -1 });
        self.is_stale = true;
        self.tree_changed(tree);
    }

    /// What each group can use, from the leaves up: parents come before their children in a tree.
    fn find_usable(&mut self, tree: &Tree) {
        for state in &mut self.groups {
            state.usable = state.own.values().map(|count| f64::from(*count)).sum();
        }
        for (id, group) in tree.iter().rev() {
            let state = &mut self.groups[id.index()];
            state.usable = state.usable.min(state.most);
            let usable = state.usable;
            if let Some(parent) = group.parent {
                self.groups[parent.index()].usable += usable;
            }
        }
    }

    fn tree_changed(&mut self, tree: &Tree) {
        self.find_usable(tree);
        self.groups[0].rate = self.cpus.min(self.groups[0].usable);
        for (id, _) in tree.iter() {
            let children: Vec<ControlGroupId> = tree.children(id).collect();
            let state = &self.groups[id.index()];
            let capacity = state.rate;
            let groups = children.iter().map(|child| {
                let child = &self.groups[child.index()];
                Claim { weight: child.weight, most: child.usable }
            });
            let own = state.own.iter().map(|(weight, count)| Claim {
                weight: f64::from(*weight) * f64::from(*count),
                most: f64::from(*count),
            });
            let claims: Vec<Claim> = groups.chain(own).collect();
            let parts = divide(capacity, &claims);
            self.groups[id.index()].below_rate = parts.iter().sum();
            for (child, part) in children.iter().zip(parts) {
                self.groups[child.index()].rate = part;
            }
        }
        self.is_stale = false;
    }

    pub fn pass(&mut self, length: u64) {
        debug_assert!(!self.is_stale);
        for state in &mut self.groups {
            state.entitled_ns += state.rate * length as f64;
            state.below_ns += state.below_rate * length as f64;
        }
    }

    /// Its part of what its parent's tasks are entitled to.
    pub fn share(&self, tree: &Tree, id: ControlGroupId) -> Option<f64> {
        let all = self.groups[tree[id].parent?.index()].below_ns;
        (all > 0.0).then(|| self.groups[id.index()].entitled_ns / all)
    }

    pub fn clear(&mut self) {
        for state in &mut self.groups {
            (state.entitled_ns, state.below_ns) = (0.0, 0.0);
        }
    }
}

/// In the unit of task weights, 1024 for nice 0 (`sched_weight_from_cgroup`). A nice value is that of a task, exactly
/// (`cpu_weight_nice_write_s64`).
fn weight(weight: Weight) -> f64 {
    match weight {
        Weight::Idle => IDLE_WEIGHT,
        Weight::Nice(nice) => f64::from(nice_weight(nice)),
        other => (f64::from(other.as_weight()) * 1024.0 / 100.0).round(),
    }
}

/// Divides by weight, and gives none more than it can use.
fn divide(capacity: f64, claims: &[Claim]) -> Vec<f64> {
    let mut parts = vec![0.0; claims.len()];
    let mut open: Vec<usize> = (0..claims.len()).filter(|&index| claims[index].most > 0.0).collect();
    let mut left = capacity;
    while !open.is_empty() {
        let weights: f64 = open.iter().map(|&index| claims[index].weight).sum();
        let level = left / weights;
        let (full, rest): (Vec<usize>, Vec<usize>) =
            open.iter().partition(|&&index| claims[index].most <= level * claims[index].weight);
        if full.is_empty() {
            rest.iter().for_each(|&index| parts[index] = level * claims[index].weight);
            break;
        }
        for index in full {
            parts[index] = claims[index].most;
            left -= claims[index].most;
        }
        open = rest;
        left = left.max(0.0);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_leaves_goes_to_the_others() {
        let claim = |weight, most| Claim { weight, most };
        assert_eq!(divide(2.0, &[claim(1.0, 1.0), claim(3.0, 1.0)]), [1.0, 1.0]);
        assert_eq!(divide(1.0, &[claim(1.0, 4.0), claim(3.0, 4.0)]), [0.25, 0.75]);
        assert_eq!(divide(1.0, &[claim(1.0, 0.1), claim(1.0, 4.0), claim(2.0, 4.0)]), [0.1, 0.3, 0.6]);
        assert_eq!(divide(1.0, &[claim(1.0, 0.0)]), [0.0]);
    }
}
