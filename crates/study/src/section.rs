//! How fast equal tasks compute together, seen from outside: by the instants at which their computations end.

use schedlab_campaign::{Ear, Hearing};
use schedlab_model::ids::{RoleId, TaskId};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Sink};
use schedlab_model::workload::Workload;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What is heard of a role is kept under this name.
pub fn name(role: &str) -> String {
    format!("rate of {role}")
}

/// Hears how fast a role computes; its requests are the computations.
pub struct SectionEar {
    /// The role.
    pub role: String,
}

impl Ear for SectionEar {
    fn name(&self) -> String {
        name(&self.role)
    }

    fn listen<'a>(&self, workload: &'a Workload) -> Box<dyn Hearing + 'a> {
        let number = workload.roles.iter().position(|known| known.name == self.role);
        let role = number.map(|number| RoleId(number as u32));
        Box::new(Section { role, warmup: workload.run.warmup, tasks: BTreeMap::new() })
    }
}

/// What was heard of it.
struct Section {
    role: Option<RoleId>,
    warmup: Time,
    tasks: BTreeMap<TaskId, Computations>,
}

#[derive(Default)]
struct Computations {
    /// When the first began and the others ended; each but the last is when the next one began.
    bounds: Vec<Time>,
}

impl Section {
    /// Computations per second of all tasks together in the estimation section: from the start of the task that began last
    /// to the last end of the task that ended first. A computation that lies on its edge counts by the part of its time
    /// that lies within. None where a task has ended none.
    fn rate_per_s(&self) -> Option<f64> {
        let begins = self.tasks.values().map(|task| task.bounds.first());
        let from = begins.collect::<Option<Vec<_>>>()?.into_iter().max()?.max(&self.warmup);
        let ends = self.tasks.values().map(|task| task.bounds.get(1).and(task.bounds.last()));
        let to = ends.collect::<Option<Vec<_>>>()?.into_iter().min()?;
        let seconds = to.ns().checked_sub(from.ns()).filter(|&ns| ns > 0)? as f64 / 1e9;
        let all = self.tasks.values().flat_map(|task| task.bounds.windows(2));
        Some(all.map(|bounds| part_within(bounds, (from, to))).sum::<f64>() / seconds)
    }
}

fn part_within(bounds: &[Time], (from, to): (&Time, &Time)) -> f64 {
    let whole = bounds[1].ns() - bounds[0].ns();
    let within = bounds[1].min(*to).ns().saturating_sub(bounds[0].max(*from).ns());
    if whole == 0 { 0.0 } else { within as f64 / whole as f64 }
}

impl Hearing for Section {
    fn end(self: Box<Self>) -> Value {
        json!(self.rate_per_s())
    }
}

impl Sink for Section {
    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Fork { task, role, .. } if Some(role) == self.role => {
                self.tasks.insert(task, Computations::default());
            }
            EventKind::RequestBegin { task, .. } => {
                if let Some(task) = self.tasks.get_mut(&task).filter(|task| task.bounds.is_empty()) {
                    task.bounds.push(event.time);
                }
            }
            EventKind::RequestEnd { task, .. } => {
                if let Some(task) = self.tasks.get_mut(&task).filter(|task| !task.bounds.is_empty()) {
                    task.bounds.push(event.time);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(tasks: &[&[u64]], warmup: u64) -> Section {
        let computations = |bounds: &&[u64]| Computations { bounds: bounds.iter().map(|&s| Time::from_s(s)).collect() };
        let tasks = tasks.iter().map(computations).enumerate().map(|(id, task)| (TaskId(id as u32), task));
        Section { role: None, warmup: Time::from_s(warmup), tasks: tasks.collect() }
    }

    #[test]
    fn computations_on_the_edge_count_in_part() {
        assert_eq!(section(&[&[0, 1, 2, 3, 4]], 0).rate_per_s(), Some(1.0));
        assert_eq!(section(&[&[0, 2, 4]], 1).rate_per_s(), Some(0.5));
        // From 1 to 4: a half and one of the first, one and a half of the second.
        assert_eq!(section(&[&[0, 2, 4], &[1, 3, 5]], 0).rate_per_s(), Some(3.0 / 3.0));
    }

    #[test]
    fn without_computations_there_is_no_rate() {
        assert_eq!(section(&[], 0).rate_per_s(), None);
        assert_eq!(section(&[&[0, 1], &[0]], 0).rate_per_s(), None);
        assert_eq!(section(&[&[0, 1]], 2).rate_per_s(), None);
    }
}
