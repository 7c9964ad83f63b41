//! What control groups used over time, against their limits, and how many of their tasks were throttled.
//!
//! Pieces are whole periods of the longest limit, so that a group that uses its whole quota in each period has it in each piece.

use schedlab_model::control_group::{ControlGroups, DEFAULT_PERIOD};
use schedlab_model::ids::{ControlGroupId, CpuId, RoleId, TaskId};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Sink};
use schedlab_model::workload::Workload;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most groups that are kept, those with a limit first.
pub const MOST_GROUPS: usize = 12;

/// Gathers what control groups used.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Usage {
    step: Time,
    /// The most pieces.
    most: u32,
    end: Time,
    groups: Vec<Group>,
    #[serde(skip)]
    live: Live,
}

/// What one group used, with those below it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Group {
    path: String,
    /// The CPUs that its quota is worth, as the scenario has it.
    limit_cpus: Option<f64>,
    /// CPU time in each piece, in nanoseconds.
    used: Vec<u64>,
    /// Tasks × nanoseconds in which they were held back.
    throttled: Vec<u64>,
}

/// Where tasks are: of no use when the run is over.
#[derive(Clone, Debug, Default)]
struct Live {
    /// For each control group of the scenario the kept ones that it counts for.
    counts_for: Vec<Vec<usize>>,
    /// For each role where its tasks begin, and whether that is where their parents are.
    begins: Vec<(ControlGroupId, bool)>,
    tasks: BTreeMap<TaskId, Task>,
    cpus: BTreeMap<CpuId, TaskId>,
}

#[derive(Clone, Copy, Debug)]
struct Task {
    group: ControlGroupId,
    running_since: Option<Time>,
    held_since: Option<Time>,
}

/// A group over time, one number for each piece.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupUsage<'a> {
    /// Its path.
    pub path: &'a str,
    /// The CPUs that its quota is worth; none without a limit.
    pub limit_cpus: Option<f64>,
    /// The CPUs that it used on average.
    pub used_cpus: Vec<f64>,
    /// The number of its tasks that were throttled, on average.
    pub throttled_tasks: Vec<f64>,
}

impl Usage {
    /// For runs of a workload, in at most this number of pieces; none where it has no control groups.
    pub fn new(workload: &Workload, pieces: u32) -> Option<Usage> {
        let tree = &workload.control_groups;
        if tree.is_empty() {
            return None;
        }
        let kept = kept(tree);
        let of = |id: &ControlGroupId| Group {
            path: tree[*id].path.clone(),
            limit_cpus: tree[*id].knobs.bandwidth.cpus(),
            used: Vec::new(),
            throttled: Vec::new(),
        };
        let above = |id| tree.upward(id).filter_map(|above| kept.iter().position(|known| *known == above)).collect();
        let limited = tree.iter().map(|(_, group)| group.knobs.bandwidth).filter(|limit| limit.quota.is_some());
        Some(Usage {
            step: limited.map(|limit| limit.period).max().unwrap_or(DEFAULT_PERIOD),
            most: pieces,
            end: Time::ZERO,
            groups: kept.iter().map(of).collect(),
            live: Live {
                counts_for: tree.iter().map(|(id, _)| above(id)).collect(),
                begins: workload.roles.iter().map(|role| (role.control.begin, role.control.inherits)).collect(),
                ..Live::default()
            },
        })
    }

    /// The length of a piece.
    pub fn step(&self) -> Time {
        self.step
    }

    /// The end of the run.
    pub fn end(&self) -> Time {
        self.end
    }

    /// The groups, parents first.
    pub fn groups(&self) -> impl Iterator<Item = GroupUsage<'_>> {
        self.groups.iter().map(|group| GroupUsage {
            path: &group.path,
            limit_cpus: group.limit_cpus,
            used_cpus: self.means(&group.used),
            throttled_tasks: self.means(&group.throttled),
        })
    }

    fn means(&self, pieces: &[u64]) -> Vec<f64> {
        let (end, step) = (self.end.ns(), self.step.ns());
        let mean = |index: u64| {
            let length = end.min((index + 1) * step) - index * step;
            pieces.get(index as usize).copied().unwrap_or(0) as f64 / length as f64
        };
        (0..end.div_ceil(step)).map(mean).collect()
    }

    /// Makes one piece of two.
    fn join_pieces(&mut self) {
        let halve = |pieces: &mut Vec<u64>| *pieces = pieces.chunks(2).map(|some| some.iter().sum()).collect();
        for group in &mut self.groups {
            halve(&mut group.used);
            halve(&mut group.throttled);
        }
        self.step = Time(2 * self.step.ns());
    }

    fn fork(&mut self, task: TaskId, role: RoleId, parent: Option<TaskId>) {
        let Some(&(begin, inherits)) = self.live.begins.get(role.index()) else { return };
        let parent = parent.filter(|_| inherits).and_then(|parent| self.live.tasks.get(&parent));
        let group = parent.map_or(begin, |parent| parent.group);
        self.live.tasks.insert(task, Task { group, running_since: None, held_since: None });
    }

    /// Counts for a task what it has not been counted for, up to now; its state stays.
    fn settle(&mut self, task: TaskId, now: Time) {
        let Some(state) = self.live.tasks.get_mut(&task) else { return };
        for group in &self.live.counts_for[state.group.index()] {
            let group = &mut self.groups[*group];
            if let Some(since) = state.running_since {
                add(&mut group.used, since, now, self.step);
            }
            if let Some(since) = state.held_since {
                add(&mut group.throttled, since, now, self.step);
            }
        }
        state.running_since = state.running_since.map(|_| now);
        state.held_since = state.held_since.map(|_| now);
    }

    fn change(&mut self, task: TaskId, now: Time, change: impl FnOnce(&mut Task)) {
        self.settle(task, now);
        if let Some(task) = self.live.tasks.get_mut(&task) {
            change(task);
        }
    }

    fn switch(&mut self, cpu: CpuId, next: Option<TaskId>, now: Time) {
        if let Some(previous) = self.live.cpus.remove(&cpu) {
            self.change(previous, now, |task| task.running_since = None);
        }
        if let Some(next) = next {
            self.live.cpus.insert(cpu, next);
            self.change(next, now, |task| (task.running_since, task.held_since) = (Some(now), None));
        }
    }
}

/// The groups that are kept: with a limit first, else as the scenario has them; in the order of the scenario.
fn kept(tree: &ControlGroups) -> Vec<ControlGroupId> {
    let mut all: Vec<ControlGroupId> = tree.iter().skip(1).map(|(id, _)| id).collect();
    all.sort_by_key(|id| tree[*id].knobs.bandwidth.quota.is_none());
    all.truncate(MOST_GROUPS);
    all.sort();
    all
}

/// Adds the nanoseconds from `from` to `until` to the pieces in which they lie.
fn add(pieces: &mut Vec<u64>, from: Time, until: Time, step: Time) {
    let mut here = from.ns();
    while here < until.ns() {
        let index = here / step.ns();
        let next = until.ns().min((index + 1) * step.ns());
        if pieces.len() <= index as usize {
            pieces.resize(index as usize + 1, 0);
        }
        pieces[index as usize] += next - here;
        here = next;
    }
}

impl Sink for Usage {
    fn event(&mut self, event: &Event) {
        let now = event.time;
        while now.ns() / self.step.ns() >= 2 * u64::from(self.most) {
            self.join_pieces();
        }
        match event.kind {
            EventKind::Fork { task, role, parent } => self.fork(task, role, parent),
            EventKind::Switch { next, .. } => self.switch(event.cpu, next, now),
            EventKind::Join { task, control_group } if control_group.index() < self.live.counts_for.len() => {
                self.change(task, now, |task| task.group = control_group);
            }
            EventKind::Throttle { task, on } => {
                self.change(task, now, |task| task.held_since = if on { task.held_since.or(Some(now)) } else { None });
            }
            EventKind::Exit { task } => {
                self.settle(task, now);
                self.live.tasks.remove(&task);
            }
            _ => {}
        }
    }

    fn finish(&mut self, end: Time) {
        let tasks: Vec<TaskId> = self.live.tasks.keys().copied().collect();
        tasks.into_iter().for_each(|task| self.settle(task, end));
        self.end = end;
        while end.ns().div_ceil(self.step.ns()) > u64::from(self.most) {
            self.join_pieces();
        }
        self.live = Live::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_helpers::{exit, fork, switch};
    use schedlab_model::scenario::Scenario;
    use schedlab_model::trace::Reason::{Blocked, Exited, Idle, Preempted};

    /// A workload with a limited group and one in it, and a free one.
    fn workload(limit: &str) -> Workload {
        let task = |name: &str, path: &str| {
            format!("[[task]]\nname = \"{name}\"\ncontrol_group = \"{path}\"\nloop = [{{ compute = \"1ms\" }}]\n")
        };
        let text = format!(
            "name = \"groups\"\n[machine]\ncpus = 2\n[run]\nduration = \"1s\"\n[[control_group]]\npath = \"pod\"\nmax = \"{limit}\"\n\
             [[control_group]]\npath = \"pod/web\"\n[[control_group]]\npath = \"free\"\n{}{}",
            task("worker", "pod/web"),
            task("timer", "free")
        );
        Scenario::parse(&text, "test").unwrap().compile().unwrap()
    }

    fn throttle(time: u64, task: u32, on: bool) -> Event {
        let kind = EventKind::Throttle { task: TaskId(task), on };
        Event { time: Time(time), cpu: CpuId(0), kind }
    }

    fn usage(limit: &str, pieces: u32, events: &[Event], end: u64) -> Usage {
        let mut usage = Usage::new(&workload(limit), pieces).unwrap();
        usage.events(events);
        usage.finish(Time(end));
        usage
    }

    const MS: u64 = 1_000_000;

    fn story() -> Vec<Event> {
        vec![
            fork(0, 0, 0),
            fork(0, 1, 1),
            switch(0, 0, None, Idle, Some(0)),
            switch(0, 1, None, Idle, Some(1)),
            // It runs dry after half of a period, and waits to the end of it.
            switch(50 * MS, 0, Some(0), Preempted, None),
            throttle(50 * MS, 0, true),
            throttle(100 * MS, 0, false),
            switch(100 * MS, 0, None, Idle, Some(0)),
            exit(150 * MS, 1, 1),
            switch(150 * MS, 1, Some(1), Exited, None),
            // It is moved out of the limit.
            Event {
                time: Time(180 * MS),
                cpu: CpuId(0),
                kind: EventKind::Join { task: TaskId(0), control_group: ControlGroupId(1) },
            },
            switch(250 * MS, 0, Some(0), Blocked, None),
        ]
    }

    #[test]
    fn groups_use_time_against_their_limits() {
        let usage = usage("50ms/100ms", 10, &story(), 300 * MS);
        assert_eq!((usage.step(), usage.end()), (Time::from_ms(100), Time(300 * MS)));
        let groups: Vec<GroupUsage> = usage.groups().collect();
        assert_eq!(groups.iter().map(|group| group.path).collect::<Vec<_>>(), ["free", "pod", "pod/web"]);
        assert_eq!((groups[1].limit_cpus, groups[2].limit_cpus), (Some(0.5), None));
        assert_eq!(groups[1].used_cpus, [0.5, 0.8, 0.0]);
        assert_eq!(groups[2].used_cpus, [0.5, 0.8, 0.0]);
        assert_eq!(groups[1].throttled_tasks, [0.5, 0.0, 0.0]);
        // The time of a task that exits counts up to its exit, and what the other uses after the move counts here.
        assert_eq!(groups[0].used_cpus, [1.0, 0.7, 0.5]);
    }

    #[test]
    fn pieces_are_whole_periods_whatever_the_length() {
        let usage = usage("5ms/20ms", 4, &story(), 300 * MS);
        assert_eq!(usage.step(), Time::from_ms(80));
        let used = usage.groups().nth(1).unwrap().used_cpus;
        assert_eq!((used.len(), used[0]), (4, 50.0 / 80.0));
    }

    #[test]
    fn without_control_groups_there_is_nothing_to_keep() {
        let plain = "name = \"plain\"\n[machine]\ncpus = 1\n[run]\nduration = \"1s\"\n[[task]]\nname = \"a\"\nloop = [{ compute = \"1ms\" }]\n";
        assert!(Usage::new(&Scenario::parse(plain, "test").unwrap().compile().unwrap(), 10).is_none());
        let tree = workload("max").control_groups;
        assert_eq!(kept(&tree).len(), 3);
    }
}
