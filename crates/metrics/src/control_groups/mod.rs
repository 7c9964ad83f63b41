//! What is measured of control groups, next to the collector, which knows of CPU time.
//!
//! * *CPU time* of a group: that of its tasks while they were in it, and of the groups below it.
//! * *Entitled share*: see [`entitled`]. *Pressure*: see [`pressure`].
//! * *Throttled waits*: from the instant at which a task is held back by a limit until it is not any more, or the run ends.

mod entitled;
mod pressure;

use crate::collector::Samples;
use entitled::Entitled;
use pressure::Pressure;
use schedlab_model::control_group::{ControlGroup, ControlGroups as Tree};
use schedlab_model::ids::{ControlGroupId, CpuId, RequestId, RoleId, TaskId};
use schedlab_model::result::{ControlGroupKnobs, ControlGroupResult};
use schedlab_model::trace::{Event, EventKind, Reason};
use schedlab_model::workload::Workload;
use std::collections::BTreeMap;

/// What is known of the control groups of a run so far.
#[derive(Debug)]
pub(crate) struct ControlGroups {
    tree: Tree,
    now: u64,
    window_from: u64,
    groups: Vec<State>,
    members: BTreeMap<TaskId, Member>,
    /// Of each request that a task took: what its holder had been held back when it took it.
    marks: BTreeMap<RequestId, u64>,
    /// For each task group where its tasks begin, and whether that is where their parents are.
    begins: Vec<(ControlGroupId, bool)>,
    weights: Vec<Option<u32>>,
    pressure: Pressure,
    entitled: Option<Entitled>,
    /// Whether an event has said that a task was throttled.
    is_told: bool,
}

#[derive(Debug, Default)]
struct State {
    tasks: u64,
    cpu_ns: u64,
    waits: Samples,
    responses: Samples,
}

/// A living task.
#[derive(Clone, Debug)]
struct Member {
    group: ControlGroupId,
    /// Where it was before, since the last [`ControlGroups::clear`].
    left: Vec<ControlGroupId>,
    role: RoleId,
    /// Of its CPU time, what belongs to where it was before.
    cpu_mark: u64,
    place: Place,
    cpu: CpuId,
    held_since: Option<u64>,
    /// How long it has been held back in all.
    held_ns: u64,
    /// The same when its own request began.
    held_mark: u64,
}

/// Where a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Off,
    Waiting,
    Running,
}

impl Member {
    fn held_until(&self, now: u64) -> u64 {
        self.held_ns + self.held_since.map_or(0, |since| now - since)
    }
}

impl ControlGroups {
    /// For a run of this workload; none where it has no control groups.
    pub fn new(workload: &Workload) -> Option<ControlGroups> {
        let tree = workload.control_groups.clone();
        if tree.is_empty() {
            return None;
        }
        let cpus = workload.machine.cpus();
        Some(ControlGroups {
            now: 0,
            window_from: 0,
            groups: tree.iter().map(|_| State::default()).collect(),
            members: BTreeMap::new(),
            marks: BTreeMap::new(),
            begins: workload.roles.iter().map(|role| (role.control.begin, role.control.inherits)).collect(),
            weights: workload.roles.iter().map(crate::fairness::weight).collect(),
            pressure: Pressure::new(tree.len(), cpus),
            entitled: Entitled::of(workload),
            is_told: false,
            tree,
        })
    }

    /// Takes an event; the collector reports joins and ends itself, since it knows the CPU time.
    pub fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Fork { task, role, parent } => self.fork(task, role, parent),
            EventKind::Wakeup { task, target, .. } => self.go(task, target, Place::Waiting),
            EventKind::Migrate { task, to, .. } => {
                if let Some(place) = self.members.get(&task).map(|member| member.place) {
                    self.go(task, to, place);
                }
            }
            EventKind::Switch { previous, reason, next } if previous != next => {
                let stays = matches!(reason, Reason::SliceEnd | Reason::Preempted | Reason::Yielded);
                if let Some(previous) = previous {
                    self.go(previous, event.cpu, if stays { Place::Waiting } else { Place::Off });
                }
                if let Some(next) = next {
                    self.hold(next, false);
                    self.go(next, event.cpu, Place::Running);
                }
            }
            EventKind::Throttle { task, on } => {
                self.is_told = true;
                self.hold(task, on);
            }
            EventKind::RequestBegin { task, request, .. } => self.begin_request(task, request),
            EventKind::RequestEnd { task, request, .. } => self.end_request(task, request),
            _ => {}
        }
    }

    /// Time has come to this instant.
    pub fn pass(&mut self, now: u64) {
        if now > self.now {
            let length = now - self.now;
            self.pressure.pass(self.now, now);
            self.entitled.iter_mut().for_each(|entitled| entitled.pass(length));
            self.now = now;
        }
    }

    fn fork(&mut self, task: TaskId, role: RoleId, parent: Option<TaskId>) {
        let Some(&(begin, inherits)) = self.begins.get(role.index()) else { return };
        let parent = parent.filter(|_| inherits).and_then(|parent| self.members.get(&parent));
        let group = parent.map_or(begin, |parent| parent.group);
        let member = Member {
            group,
            left: Vec::new(),
            role,
            cpu_mark: 0,
            place: Place::Off,
            cpu: CpuId(0),
            held_since: None,
            held_ns: 0,
            held_mark: 0,
        };
        self.members.insert(task, member);
        self.count(group);
    }

    fn count(&mut self, group: ControlGroupId) {
        for above in self.tree.upward(group) {
            self.groups[above.index()].tasks += 1;
        }
    }

    fn go(&mut self, task: TaskId, cpu: CpuId, place: Place) {
        let Some(member) = self.members.get_mut(&task) else { return };
        let before = (member.place, member.cpu);
        (member.place, member.cpu) = (place, cpu);
        let (group, weight) = (member.group, self.weights[member.role.index()]);
        self.pressure.moves(self.tree.upward(group), before, (place, cpu));
        if let Some(entitled) = &mut self.entitled
            && (before.0 == Place::Off) != (place == Place::Off)
        {
            entitled.wants(group, weight, place != Place::Off);
        }
    }

    /// Whether a task is held back.
    pub fn is_held(&self, task: TaskId) -> bool {
        self.members.get(&task).is_some_and(|member| member.held_since.is_some())
    }

    fn hold(&mut self, task: TaskId, on: bool) {
        let Some(member) = self.members.get_mut(&task) else { return };
        match (on, member.held_since) {
            (true, None) => member.held_since = Some(self.now),
            (false, Some(since)) => {
                (member.held_since, member.held_ns) = (None, member.held_ns + (self.now - since));
                let (group, length) = (member.group, self.now - since);
                for above in self.tree.upward(group) {
                    self.groups[above.index()].waits.record(length);
                }
            }
            _ => {}
        }
    }

    fn begin_request(&mut self, task: TaskId, request: Option<RequestId>) {
        let Some(member) = self.members.get_mut(&task) else { return };
        let held = member.held_until(self.now);
        match request {
            None => member.held_mark = held,
            Some(request) => _ = self.marks.insert(request, held),
        }
    }

    fn end_request(&mut self, task: TaskId, request: Option<RequestId>) {
        let Some(member) = self.members.get(&task) else { return };
        let mark = match request {
            None => Some(member.held_mark),
            Some(request) => self.marks.remove(&request),
        };
        let (group, held) = (member.group, member.held_until(self.now));
        let Some(mark) = mark else { return };
        for above in self.tree.upward(group) {
            self.groups[above.index()].responses.record(held.saturating_sub(mark));
        }
    }

    /// A task that has got that much CPU time since the last [`ControlGroups::clear`] is in another group from now on.
    pub fn join(&mut self, task: TaskId, cpu_ns: u64, to: ControlGroupId) {
        let Some(member) = self.members.get(&task).cloned() else { return };
        self.charge(member.group, cpu_ns - member.cpu_mark);
        self.go(task, member.cpu, Place::Off);
        let moved = self.members.get_mut(&task).expect("it was there");
        (moved.group, moved.cpu_mark) = (to, cpu_ns);
        moved.left.push(member.group);
        self.go(task, member.cpu, member.place);
        let before: Vec<ControlGroupId> = member.left.iter().copied().chain([member.group]).collect();
        let been = |group: &ControlGroupId| before.iter().any(|left| self.tree.upward(*left).any(|up| up == *group));
        let new: Vec<ControlGroupId> = self.tree.upward(to).filter(|group| !been(group)).collect();
        new.into_iter().for_each(|group| self.groups[group.index()].tasks += 1);
    }

    /// A task has ended, or the run has, after that much CPU time.
    pub fn leave(&mut self, task: TaskId, cpu_ns: u64) {
        let Some(member) = self.members.get(&task).cloned() else { return };
        self.charge(member.group, cpu_ns - member.cpu_mark);
        self.hold(task, false);
        self.go(task, member.cpu, Place::Off);
        self.members.remove(&task);
    }

    fn charge(&mut self, group: ControlGroupId, cpu_ns: u64) {
        for above in self.tree.upward(group) {
            self.groups[above.index()].cpu_ns += cpu_ns;
        }
    }

    /// Forgets what was measured up to now.
    pub fn clear(&mut self, now: u64) {
        self.pass(now);
        self.window_from = now;
        for group in &mut self.groups {
            (group.tasks, group.cpu_ns) = (0, 0);
            group.waits.clear();
            group.responses.clear();
        }
        self.pressure.clear();
        self.entitled.iter_mut().for_each(Entitled::clear);
        let living: Vec<ControlGroupId> = self.members.values().map(|member| member.group).collect();
        living.into_iter().for_each(|group| self.count(group));
        for member in self.members.values_mut() {
            member.cpu_mark = 0;
            member.left.clear();
        }
    }

    /// The numbers, parents first.
    pub fn results(mut self, cpus: u32) -> Vec<ControlGroupResult> {
        let capacity_ns = (self.now - self.window_from) * u64::from(cpus);
        let pressure = self.pressure.totals();
        let root_ns: Vec<u64> = self.groups.iter().map(|group| group.cpu_ns).collect();
        let mut results = Vec::new();
        for (id, group) in self.tree.iter().skip(1) {
            let parent_ns = group.parent.map_or(0, |parent| root_ns[parent.index()]);
            let state = &mut self.groups[id.index()];
            let fraction = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
            results.push(ControlGroupResult {
                path: group.path.clone(),
                knobs: knobs(group),
                tasks: state.tasks,
                usage_ns: state.cpu_ns,
                usage_share: fraction(state.cpu_ns, capacity_ns).unwrap_or(0.0),
                sibling_share: fraction(state.cpu_ns, parent_ns),
                entitled_share: self.entitled.as_ref().and_then(|entitled| entitled.share(id)),
                throttled_wait_ns: crate::collector::times(state.waits.histogram()),
                response_throttled_ns: crate::collector::times(state.responses.histogram()).filter(|_| self.is_told),
                pressure_some_ns: Some(pressure[id.index()].0),
                pressure_full_ns: Some(pressure[id.index()].1),
                ..ControlGroupResult::default()
            });
        }
        results
    }
}

fn knobs(group: &ControlGroup) -> ControlGroupKnobs {
    let bandwidth = group.knobs.bandwidth;
    ControlGroupKnobs {
        weight: group.knobs.weight.as_weight(),
        idle: group.knobs.weight.is_idle(),
        quota_ns: bandwidth.quota.map(|quota| quota.ns()),
        period_ns: bandwidth.period.ns(),
        burst_ns: bandwidth.burst.ns(),
        cpus: group.effective_cpus.to_string(),
    }
}

#[cfg(test)]
mod tests;
