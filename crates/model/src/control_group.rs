//! Control groups: version 2 of the kernel's `cpu` and `cpuset` controllers, as a venue takes them.
//!
//! A [`ControlGroups`] always holds the root, and each parent before its children. Values are checked: `scenario` is the only
//! room that makes one from a file. Names, ranges and defaults are those of `Documentation/admin-guide/cgroup-v2.rst` of
//! Linux.

use crate::{cpuset::CpuSet, ids::ControlGroupId, time::Time};
use serde::{Deserialize, Serialize};

/// The default of `cpu.weight`.
pub const DEFAULT_WEIGHT: u32 = 100;

/// The default period of `cpu.max`.
pub const DEFAULT_PERIOD: Time = Time::from_ms(100);

/// The most that a quota and its burst may be together (`max_bw_runtime_us`), which no period allows to be used.
const LONGEST_QUOTA: Time = Time::from_us((1 << 44) - 1);
/// The shortest quota and period that a kernel takes (`min_cfs_quota_period` in `kernel/sched/core.c`).
pub const MIN_QUOTA: Time = Time::from_ms(1);

/// The longest period (`max_cfs_quota_period`).
pub const MAX_PERIOD: Time = Time::from_s(1);

/// The most levels below the root.
pub const MAX_DEPTH: u32 = 8;

/// The weights of `cpu.weight` by nice value, -20 first (`sched_prio_to_weight`, rounded by `sched_weight_to_cgroup`).
pub const NICE_WEIGHTS: [u32; 40] = [
    8668, 7007, 5516, 4519, 3544, 2847, 2271, 1827, 1460, 1164, 932, 744, 596, 479, 381, 305, 244, 194, 155, 125, 100,
    80, 64, 51, 41, 33, 27, 21, 17, 13, 11, 8, 7, 5, 4, 4, 3, 2, 2, 1,
];

/// All control groups of a workload. The root is the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlGroups {
    machine_cpus: u32,
    groups: Vec<ControlGroup>,
}

/// One control group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlGroup {
    /// Its path below the root without a slash at its start; empty for the root.
    pub path: String,
    /// Its parent; none for the root.
    pub parent: Option<ControlGroupId>,
    /// How far below the root it is.
    pub level: u32,
    /// What it is given.
    pub knobs: Knobs,
    /// `cpuset.cpus`, where it is written.
    pub cpus: Option<CpuSet>,
    /// `cpuset.cpus.effective`: the CPUs on which its tasks may run.
    pub effective_cpus: CpuSet,
    /// Whether its CPUs are its own.
    pub partition: Partition,
}

/// What a control group is given of CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Knobs {
    /// Its part among its siblings.
    pub weight: Weight,
    /// Its limit.
    pub bandwidth: Bandwidth,
}

/// A control group's part among its siblings: one of three files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Weight {
    /// `cpu.weight`, 1 to 10000.
    Weight(u32),
    /// `cpu.weight.nice`, -20 to 19.
    Nice(i8),
    /// `cpu.idle`: runs when its siblings do not.
    Idle,
}

/// `cpu.max` and `cpu.max.burst`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// CPU time in each period; none for no limit.
    pub quota: Option<Time>,
    /// How long a period is.
    pub period: Time,
    /// What may be saved up from periods in which less was used.
    pub burst: Time,
}

/// `cpuset.cpus.partition`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Partition {
    /// Its CPUs are its parent's, too.
    #[default]
    Member,
    /// Its CPUs are its own, and load is balanced among them.
    Root,
    /// Its CPUs are its own, and load is not balanced.
    Isolated,
}

/// When the first period of a limit begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PeriodPhase {
    /// So long after the start of the run.
    At(Time),
    /// Anywhere in a period, for each group by the seed (`init_cfs_bandwidth` since 6.12).
    Random,
}

impl Default for PeriodPhase {
    fn default() -> PeriodPhase {
        PeriodPhase::At(Time::ZERO)
    }
}

/// In which control groups a task of a group may be, and on which CPUs that leaves it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// Where it begins.
    pub begin: ControlGroupId,
    /// Whether it begins where its parent is then, and `begin` means nothing.
    pub inherits: bool,
    /// The CPUs that it chose itself; of them those of its control group are left. None where it chose none.
    pub chosen_cpus: Option<CpuSet>,
    /// Other sets of CPUs that may be left to it later, when it joins another control group.
    pub later_cpus: Vec<CpuSet>,
}

/// What a step changes of a control group's knobs; what is absent stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnobChange {
    /// Its weight.
    pub weight: Option<Weight>,
    /// Its quota and, if said, the period.
    pub max: Option<Max>,
    /// Its burst.
    pub burst: Option<Time>,
}

/// What is written to `cpu.max`: a word for the quota, and one for the period that may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Max {
    /// CPU time in each period; none for no limit.
    pub quota: Option<Time>,
    /// The period; as it is when absent.
    pub period: Option<Time>,
}

impl Weight {
    /// As `cpu.weight` reads it back; an idle group has the weight that it had before, here the default.
    pub fn as_weight(self) -> u32 {
        match self {
            Weight::Weight(weight) => weight,
            Weight::Nice(nice) => NICE_WEIGHTS[(i32::from(nice) + 20) as usize],
            Weight::Idle => DEFAULT_WEIGHT,
        }
    }

    /// Whether it is `cpu.idle`.
    pub fn is_idle(self) -> bool {
        self == Weight::Idle
    }
}

impl Default for Bandwidth {
    fn default() -> Bandwidth {
        Bandwidth { quota: None, period: DEFAULT_PERIOD, burst: Time::ZERO }
    }
}

impl Default for Knobs {
    fn default() -> Knobs {
        Knobs { weight: Weight::Weight(DEFAULT_WEIGHT), bandwidth: Bandwidth::default() }
    }
}

impl Bandwidth {
    /// CPUs that the quota is worth; none without one.
    pub fn cpus(self) -> Option<f64> {
        self.quota.map(|quota| quota.ns() as f64 / self.period.ns() as f64)
    }

    /// What cannot be meant, in a sentence: what a kernel refuses, and a burst without a quota.
    pub fn complaint(self) -> Option<String> {
        match self.quota {
            None if self.burst > Time::ZERO => {
                Some("a burst saves up a quota, and there is none: write `max`, too".into())
            }
            _ => self.refusal(),
        }
    }

    /// What a kernel refuses (`tg_set_cfs_bandwidth`), in a sentence.
    pub fn refusal(self) -> Option<String> {
        let Bandwidth { quota, period, burst } = self;
        if !(MIN_QUOTA..=MAX_PERIOD).contains(&period) {
            return Some(format!("a period of {period} cannot be: write {MIN_QUOTA} to {MAX_PERIOD}"));
        }
        if let Some(quota) = quota.filter(|quota| *quota < MIN_QUOTA) {
            return Some(format!("a quota of {quota} is too short: write {MIN_QUOTA} or more"));
        }
        if [quota.unwrap_or_default(), period, burst].iter().any(|time| !time.ns().is_multiple_of(1_000)) {
            return Some("a kernel counts quota, period and burst in whole microseconds".into());
        }
        if quota.is_some_and(|quota| quota.ns().saturating_add(burst.ns()) > LONGEST_QUOTA.ns()) {
            return Some(format!("a quota and a burst are at most {LONGEST_QUOTA} together"));
        }
        match quota {
            Some(quota) if burst > quota => {
                Some(format!("a burst of {burst} is more than the quota of {quota}: write {quota} or less"))
            }
            _ => None,
        }
    }
}

impl Knobs {
    /// The knobs after a change.
    pub fn after(mut self, change: &KnobChange) -> Knobs {
        self.weight = change.weight.unwrap_or(self.weight);
        if let Some(max) = change.max {
            self.bandwidth.quota = max.quota;
            self.bandwidth.period = max.period.unwrap_or(self.bandwidth.period);
        }
        self.bandwidth.burst = change.burst.unwrap_or(self.bandwidth.burst);
        self
    }
}

impl ControlGroups {
    /// Only the root of a machine with this many CPUs.
    pub fn root_alone(machine_cpus: u32) -> ControlGroups {
        let root = ControlGroup {
            path: String::new(),
            parent: None,
            level: 0,
            knobs: Knobs::default(),
            cpus: None,
            effective_cpus: CpuSet::first(machine_cpus),
            partition: Partition::Root,
        };
        ControlGroups { machine_cpus, groups: vec![root] }
    }

    /// Adds a group, whose parent exists already, and gives its number.
    pub(crate) fn add(&mut self, group: ControlGroup) -> ControlGroupId {
        assert!(group.parent.is_some_and(|parent| parent.index() < self.groups.len()), "a parent comes first");
        self.groups.push(group);
        ControlGroupId(self.groups.len() as u32 - 1)
    }

    /// One of them, to be changed.
    pub(crate) fn get_mut(&mut self, id: ControlGroupId) -> &mut ControlGroup {
        &mut self.groups[id.index()]
    }

    /// All with their numbers, the root first, each parent before its children.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (ControlGroupId, &ControlGroup)> {
        self.groups.iter().enumerate().map(|(index, group)| (ControlGroupId(index as u32), group))
    }

    /// How many there are, the root included.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whether the root is alone.
    pub fn is_empty(&self) -> bool {
        self.groups.len() == 1
    }

    /// How many CPUs the machine has.
    pub fn machine_cpus(&self) -> u32 {
        self.machine_cpus
    }

    /// A group by its path.
    pub fn find(&self, path: &str) -> Option<ControlGroupId> {
        self.iter().find(|(_, group)| group.path == path).map(|(id, _)| id)
    }

    /// A group and those above it, the root last.
    pub fn upward(&self, id: ControlGroupId) -> impl Iterator<Item = ControlGroupId> {
        std::iter::successors(Some(id), |id| self[*id].parent)
    }

    /// What a kernel takes and a reader may not expect, in a sentence each: a limit above one that holds for it, too.
    pub fn remarks(&self) -> Vec<String> {
        let beyond = |(id, group): (ControlGroupId, &ControlGroup)| {
            let own = group.knobs.bandwidth.cpus()?;
            let above = self.upward(id).skip(1).filter_map(|above| Some((above, self[above].knobs.bandwidth.cpus()?)));
            let (above, least) = above.min_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, least)| *least < own)?;
            let (path, above) = (&group.path, &self[above].path);
            Some(format!(
                "the control group {path} may use {own:.3} CPUs and {above} above it {least:.3}: both limits hold"
            ))
        };
        self.iter().filter_map(beyond).collect()
    }

    /// The groups right below one.
    pub fn children(&self, id: ControlGroupId) -> impl Iterator<Item = ControlGroupId> {
        self.iter().filter(move |(_, group)| group.parent == Some(id)).map(|(id, _)| id)
    }
}

impl ControlGroup {
    /// The CPUs of a task in it that chose these: what both have in common (`cpuset_cpus_allowed`).
    pub fn cpus_of(&self, chosen: Option<&CpuSet>) -> CpuSet {
        match chosen {
            None => self.effective_cpus.clone(),
            Some(chosen) => chosen.iter().filter(|cpu| self.effective_cpus.contains(*cpu)).collect(),
        }
    }
}

impl std::ops::Index<ControlGroupId> for ControlGroups {
    type Output = ControlGroup;

    fn index(&self, id: ControlGroupId) -> &ControlGroup {
        &self.groups[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_quota_keeps_the_period() {
        let knobs = Knobs::default();
        let max = |quota, period| KnobChange { weight: None, max: Some(Max { quota, period }), burst: None };
        let limited = knobs.after(&max(Some(Time::from_ms(5)), Some(Time::from_ms(20))));
        assert_eq!(limited.bandwidth.cpus(), Some(0.25));
        let more = limited.after(&max(Some(Time::from_ms(10)), None));
        assert_eq!((more.bandwidth.period, more.bandwidth.cpus()), (Time::from_ms(20), Some(0.5)));
        assert_eq!(more.after(&max(None, None)).bandwidth.cpus(), None);
    }

    #[test]
    fn what_a_kernel_refuses() {
        let bandwidth = |quota: u64, period: u64, burst: u64| Bandwidth {
            quota: Some(Time::from_us(quota)),
            period: Time::from_us(period),
            burst: Time::from_us(burst),
        };
        for (right, quota, period, burst) in [
            (true, 1_000, 1_000, 1_000),
            (true, 10_000_000, 1_000_000, 0),
            (false, 999, 1_000, 0),
            (false, 1_000, 999, 0),
            (false, 1_000, 1_000_001, 0),
            (false, 1_000, 1_000, 1_001),
        ] {
            assert_eq!(bandwidth(quota, period, burst).complaint().is_none(), right, "{quota} {period} {burst}");
        }
        assert!(Bandwidth { burst: Time::from_ms(1), ..Bandwidth::default() }.complaint().is_some());
        assert!(Bandwidth { period: Time(1_000_001), ..Bandwidth::default() }.complaint().is_some());
    }
}
