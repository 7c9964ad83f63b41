//! What control groups are entitled to: at each instant the CPUs are divided by weight, from the root down.
//!
//! A group's part is shared by the groups below it and its own tasks. None gets more than it can use: a task one CPU, a
//! group what those below it can use, its CPUs and its quota. What one leaves goes to the others by their weights (weighted
//! max-min fairness).

use crate::fairness::{changes_weight, nice_weight};
use schedlab_model::control_group::{ControlGroups as Tree, Weight};
use schedlab_model::ids::ControlGroupId;
use schedlab_model::workload::{Step, Workload};
use std::collections::{BTreeMap, BTreeSet};

/// `cpu.idle` in the unit of task weights.
const IDLE_WEIGHT: f64 = 3.0;

#[derive(Debug)]
pub(super) struct Entitled {
    cpus: f64,
    groups: Vec<State>,
    /// How much time has passed.
    now_ns: u64,
    /// Groups whose own tasks have changed since it last passed.
    stale: Vec<usize>,
}

#[derive(Debug, Default)]
struct State {
    parent: Option<usize>,
    /// Those below it that can use something now, in the order of their numbers.
    active: BTreeSet<usize>,
    weight: f64,
    most: f64,
    /// Its own tasks that want a CPU, by weight.
    own: BTreeMap<u32, u32>,
    /// CPUs that it can use now.
    usable: f64,
    /// Whether something in it or below it has changed.
    is_stale: bool,
    /// CPUs that it is entitled to now, and all that share with it.
    rate: f64,
    below_rate: f64,
    /// CPU time that these two were up to `settled_ns`.
    entitled_ns: f64,
    below_ns: f64,
    settled_ns: u64,
}

impl State {
    /// What it was entitled to up to an instant, and what those below it were.
    fn sums_at(&self, now_ns: u64) -> (f64, f64) {
        let length = (now_ns - self.settled_ns) as f64;
        (self.entitled_ns + self.rate * length, self.below_ns + self.below_rate * length)
    }

    fn settle(&mut self, now_ns: u64) {
        (self.entitled_ns, self.below_ns) = self.sums_at(now_ns);
        self.settled_ns = now_ns;
    }

    /// Its own tasks as those that take a part of what it has.
    fn tasks(&self) -> impl Iterator<Item = Claim> + '_ {
        let claim = |(weight, count): (&u32, &u32)| Claim {
            weight: f64::from(*weight) * f64::from(*count),
            most: f64::from(*count),
        };
        self.own.iter().map(claim)
    }
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
        (!changes).then(|| Entitled::new(&workload.control_groups, workload.machine.cpus()))
    }

    fn new(tree: &Tree, cpus: u32) -> Entitled {
        let state = |(_, group): (ControlGroupId, &schedlab_model::control_group::ControlGroup)| State {
            parent: group.parent.map(ControlGroupId::index),
            weight: weight(group.knobs.weight),
            most: group.knobs.bandwidth.cpus().unwrap_or(f64::INFINITY).min(f64::from(group.effective_cpus.len())),
            ..State::default()
        };
        Entitled { cpus: f64::from(cpus), groups: tree.iter().map(state).collect(), now_ns: 0, stale: Vec::new() }
    }

    /// A task of a group begins or ceases to want a CPU. Those of the real-time classes have no weight and stand apart.
    pub fn wants(&mut self, group: ControlGroupId, weight: Option<u32>, on: bool) {
        let Some(weight) = weight else { return };
        let own = self.groups[group.index()].own.entry(weight).or_default();
        *own = own.wrapping_add_signed(if on { 1 } else { -1 });
        self.stale.push(group.index());
    }

    /// Time passes with everything as it is.
    pub fn pass(&mut self, length: u64) {
        if length > 0 && !self.stale.is_empty() {
            self.refresh();
        }
        self.now_ns += length;
    }

    /// Divides again what something has changed of.
    fn refresh(&mut self) {
        for group in std::mem::take(&mut self.stale) {
            self.find_usable(group);
        }
        let root = &self.groups[0];
        let rate = self.cpus.min(root.usable);
        if root.rate != rate || root.is_stale {
            self.set_rate(0, rate);
        }
    }

    /// What a group and those above it can use.
    fn find_usable(&mut self, group: usize) {
        let mut at = Some(group);
        while let Some(index) = at {
            let state = &self.groups[index];
            let own: f64 = state.own.values().map(|count| f64::from(*count)).sum();
            let below: f64 = state.active.iter().map(|&child| self.groups[child].usable).sum();
            let state = &mut self.groups[index];
            (state.usable, state.is_stale) = ((own + below).min(state.most), true);
            at = state.parent;
            let (can_use, has_some) = (state.usable > 0.0, state.rate > 0.0);
            if let Some(parent) = at {
                let active = &mut self.groups[parent].active;
                if can_use {
                    active.insert(index)
                } else {
                    active.remove(&index)
                };
            }
            if !can_use && has_some {
                self.set_rate(index, 0.0);
            }
        }
    }

    /// A group has other CPUs from now on, or something in it has changed.
    fn set_rate(&mut self, index: usize, rate: f64) {
        let now_ns = self.now_ns;
        self.groups[index].settle(now_ns);
        let state = &self.groups[index];
        let children: Vec<usize> = state.active.iter().copied().collect();
        let groups = children.iter().map(|&child| {
            let child = &self.groups[child];
            Claim { weight: child.weight, most: child.usable }
        });
        let claims: Vec<Claim> = groups.chain(state.tasks()).collect();
        let parts = divide(rate, &claims);
        let state = &mut self.groups[index];
        (state.rate, state.below_rate, state.is_stale) = (rate, parts.iter().sum(), false);
        for (child, part) in children.into_iter().zip(parts) {
            if self.groups[child].is_stale || self.groups[child].rate != part {
                self.set_rate(child, part);
            }
        }
    }

    /// Its part of what its parent's tasks are entitled to.
    pub fn share(&self, id: ControlGroupId) -> Option<f64> {
        let state = &self.groups[id.index()];
        let (_, all) = self.groups[state.parent?].sums_at(self.now_ns);
        (all > 0.0).then(|| state.sums_at(self.now_ns).0 / all)
    }

    pub fn clear(&mut self) {
        for state in &mut self.groups {
            (state.entitled_ns, state.below_ns, state.settled_ns) = (0.0, 0.0, self.now_ns);
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
