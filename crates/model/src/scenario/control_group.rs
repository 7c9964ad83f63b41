//! `[[control_group]]` and the steps about them: what is written, what it is checked for, what a venue gets.

use super::runtimes::{Given, Kubernetes, Systemd};
use super::{At, Fault, Notation, Task, Text, error::Path, step::unknown_name};
use crate::control_group::*;
use crate::workload::{self, Program, Role};
use crate::{cpuset::CpuSet, ids::ControlGroupId, time::Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The most control groups of a scenario.
pub const MAX_CONTROL_GROUPS: usize = 4096;

/// One `[[control_group]]`: a part of the tree of control groups. A path that is only the start of another's is there too.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ControlGroup {
    /// Its path below the root, as `web` or `kube/pod1`: letters, digits, `_`, `-` and `/`.
    pub path: String,
    /// Its part among its siblings, 1 to 10000 (`cpu.weight`); 100 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    pub weight: Option<u32>,
    /// The same as a nice value, -20 to 19 (`cpu.weight.nice`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -20, max = 19))]
    pub nice: Option<i64>,
    /// Whether it runs when its siblings do not (`cpu.idle`).
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub idle: bool,
    /// CPU time in each period, and the period (`cpu.max`): `"50ms/100ms"`; `"50ms"` is per 100 ms. `"max"`, or absent, is no
    /// limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Text<Max>>,
    /// What it may save up of unused quota (`cpu.max.burst`), at most the quota; 0 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<Text<Time>>,
    /// Weight and limit as a Kubernetes container's `resources`, instead of the keys above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<Kubernetes>,
    /// Weight and limit as a systemd unit's settings, instead of the keys above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub systemd: Option<Systemd>,
    /// The CPUs of its tasks (`cpuset.cpus`), among those of its parent; all of these when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<Text<CpuSet>>,
    /// Whether its CPUs are its own (`cpuset.cpus.partition`): member (when absent), root or isolated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<PartitionName>,
}

/// Whether a control group's CPUs are its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PartitionName {
    /// They are its parent's, too.
    Member,
    /// They are its own, and load is balanced among them.
    Root,
    /// They are its own, and load is not balanced.
    Isolated,
}

/// What a step writes to the knobs of a control group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Adjustment {
    /// The control group's path.
    pub control_group: String,
    /// Its `cpu.weight` from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    pub weight: Option<u32>,
    /// Its `cpu.weight.nice` from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -20, max = 19))]
    pub nice: Option<i64>,
    /// Whether it is `cpu.idle` from now on. `false` makes its weight 100, as a kernel does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<bool>,
    /// Its `cpu.max` from now on. A quota alone keeps the period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Text<Max>>,
    /// Its `cpu.max.burst` from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<Text<Time>>,
}

impl Notation for Max {
    const NAME: &'static str = "Max";
    const ABOUT: &'static str = "a quota and its period, as \"50ms/100ms\", a quota, as \"50ms\", or \"max\"";
    const PATTERN: &'static str =
        r"^\s*(max|[0-9]+(\.[0-9]+)?\s*(us|µs|μs|ms|s|min))\s*(/\s*[0-9]+(\.[0-9]+)?\s*(us|µs|μs|ms|s))?\s*$";

    fn read(text: &str) -> Result<Max, String> {
        let (quota, period) = match text.split_once('/') {
            Some((quota, period)) => (quota, Some(Time::read(period)?)),
            None => (text, None),
        };
        let quota = match quota.trim() {
            "max" => None,
            quota => Some(Time::read(quota)?),
        };
        Ok(Max { quota, period })
    }

    fn write(&self) -> String {
        let quota = self.quota.map_or_else(|| "max".into(), |quota| quota.to_string());
        self.period.map_or_else(|| quota.clone(), |period| format!("{quota}/{period}"))
    }

    fn number(number: &dyn std::fmt::Display) -> String {
        format!("{number} has no unit: write \"{number}ms\", \"{number}ms/100ms\" or \"max\"")
    }
}

impl Notation for PeriodPhase {
    const NAME: &'static str = "PeriodPhase";
    const ABOUT: &'static str = "a time with its unit, as \"20ms\", or \"random\"";
    const PATTERN: &'static str = r"^\s*(random|[0-9]+(\.[0-9]+)?\s*(ns|us|µs|μs|ms|s|min))\s*$";

    fn read(text: &str) -> Result<PeriodPhase, String> {
        match text.trim() {
            "random" => Ok(PeriodPhase::Random),
            time => Time::read(time).map(PeriodPhase::At),
        }
    }

    fn write(&self) -> String {
        match self {
            PeriodPhase::At(time) => time.to_string(),
            PeriodPhase::Random => "random".into(),
        }
    }
}

/// The tree that a scenario's control groups make on a machine with these CPUs.
pub(super) fn tree(written: &[ControlGroup], machine_cpus: u32, at: &At) -> Result<ControlGroups, Fault> {
    let mut tree = ControlGroups::root_alone(machine_cpus);
    let mut places = BTreeMap::new();
    for (index, group) in written.iter().enumerate() {
        let here = at.index(index);
        path(&group.path).map_err(|message| here.key("path").fault(message))?;
        if places.insert(group.path.as_str(), index).is_some() {
            let message = format!("there are two control groups `{}`: keep one", group.path);
            return Err(here.key("path").fault(message));
        }
    }
    // By path, so that a parent comes before its children.
    for (&path, &index) in &places {
        let id = reach(&mut tree, path);
        if tree.len() > MAX_CONTROL_GROUPS {
            let message = format!("the control groups are too many: at most {MAX_CONTROL_GROUPS} fit");
            return Err(at.index(index).fault(message));
        }
        fill(&mut tree, id, &written[index], &at.index(index))?;
    }
    take_exclusive_cpus(&mut tree, &places, at)?;
    Ok(tree)
}

/// A path of names.
fn path(path: &str) -> Result<(), String> {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
            && name.len() < 128
    };
    if path.is_empty() {
        return Err("the root has no knobs: write a path, as \"web\" or \"kube/pod1\"".into());
    }
    if !path.split('/').all(is_name) {
        let shown = path.chars().take(80).collect::<String>();
        return Err(format!("`{shown}` is not a path: write names of letters, digits, _ and -, with / between them"));
    }
    match path.split('/').count() as u32 {
        depth if depth > MAX_DEPTH => Err(format!("{depth} levels are too many: at most {MAX_DEPTH}")),
        _ => Ok(()),
    }
}

/// The group of a path, made with those above it where they are not there.
fn reach(tree: &mut ControlGroups, path: &str) -> ControlGroupId {
    if let Some(known) = tree.find(path) {
        return known;
    }
    let parent = path.rsplit_once('/').map_or(ControlGroupId::ROOT, |(above, _)| reach(tree, above));
    let (level, effective_cpus) = (tree[parent].level + 1, tree[parent].effective_cpus.clone());
    tree.add(crate::control_group::ControlGroup {
        path: path.into(),
        parent: Some(parent),
        level,
        knobs: Knobs::default(),
        cpus: None,
        effective_cpus,
        partition: Partition::Member,
    })
}

/// As a file says it.
impl From<&crate::control_group::ControlGroup> for ControlGroup {
    fn from(group: &crate::control_group::ControlGroup) -> ControlGroup {
        let Knobs { weight, bandwidth } = group.knobs;
        let (weight, nice) = match weight {
            Weight::Weight(weight) => (Some(weight).filter(|weight| *weight != DEFAULT_WEIGHT), None),
            Weight::Nice(nice) => (None, Some(i64::from(nice))),
            Weight::Idle => (None, None),
        };
        let max = bandwidth.quota.map(|quota| Text(Max { quota: Some(quota), period: Some(bandwidth.period) }));
        ControlGroup {
            path: group.path.clone(),
            weight,
            nice,
            idle: group.knobs.weight == Weight::Idle,
            max,
            burst: Some(Text(bandwidth.burst)).filter(|burst| burst.0 > Time::ZERO),
            kubernetes: None,
            systemd: None,
            cpus: group.cpus.clone().map(Text),
            partition: match group.partition {
                Partition::Member => None,
                Partition::Root => Some(PartitionName::Root),
                Partition::Isolated => Some(PartitionName::Isolated),
            },
        }
    }
}

fn fill(tree: &mut ControlGroups, id: ControlGroupId, written: &ControlGroup, at: &At) -> Result<(), Fault> {
    let key = if written.weight.is_some() { "weight" } else { "nice" };
    let weight = weight(written.weight, written.nice, written.idle.then_some(true))
        .map_err(|message| at.key(key).fault(message))?;
    let max = written.max.as_ref().map(|max| max.0);
    let (weight, max) = given(written, (weight, max), at)?;
    let change = KnobChange { weight, max, burst: written.burst.as_ref().map(|burst| burst.0) };
    let knobs = Knobs::default().after(&change);
    let key = if written.max.is_some() { "max" } else { "burst" };
    knobs.bandwidth.complaint().map_or(Ok(()), |message| Err(at.key(key).fault(message)))?;
    let parent = tree[id].parent.expect("no path is the root's");
    let above = tree[parent].effective_cpus.clone();
    let cpus = written.cpus.as_ref().map(|cpus| cpus.0.clone());
    if let Some(beyond) = cpus.iter().flat_map(CpuSet::iter).find(|cpu| !above.contains(*cpu)) {
        let message = format!("CPU {beyond} is none of those of the control group above, which are {above}");
        return Err(at.key("cpus").fault(message));
    }
    let group = tree.get_mut(id);
    group.effective_cpus = cpus.clone().unwrap_or(above);
    (group.knobs, group.cpus) = (knobs, cpus);
    group.partition = match written.partition {
        None | Some(PartitionName::Member) => Partition::Member,
        Some(PartitionName::Root) => Partition::Root,
        Some(PartitionName::Isolated) => Partition::Isolated,
    };
    Ok(())
}

/// Writes the knobs into a table instead of what a runtime says, so that one of them can be changed.
pub(super) fn without_runtime(table: &mut toml::Table) -> Result<(), String> {
    if !["kubernetes", "systemd"].iter().any(|key| table.contains_key(*key)) {
        return Ok(());
    }
    let group: ControlGroup =
        toml::Value::Table(table.clone()).try_into().map_err(|error: toml::de::Error| error.message().to_string())?;
    let (weight, max) = by_runtime(&group)?.unwrap_or_default();
    table.remove("kubernetes");
    table.remove("systemd");
    match weight {
        Some(Weight::Idle) => _ = table.insert("idle".into(), true.into()),
        Some(weight) => _ = table.insert("weight".into(), i64::from(weight.as_weight()).into()),
        None => {}
    }
    if let Some(max) = max {
        table.insert("max".into(), max.write().into());
    }
    Ok(())
}

/// Weight and limit as a runtime says them; none where there is none.
fn by_runtime(written: &ControlGroup) -> Result<Option<Given>, String> {
    match (&written.kubernetes, &written.systemd) {
        (None, None) => Ok(None),
        (Some(pod), None) => Ok(Some(pod.given())),
        (None, Some(unit)) => unit.given().map(Some),
        (Some(_), Some(_)) => Err("`kubernetes` and `systemd` say the same: keep one".into()),
    }
}

/// Weight and limit, from the knobs or from what stands for them.
fn given(written: &ControlGroup, knobs: Given, at: &At) -> Result<Given, Fault> {
    let Some(others) = by_runtime(written).map_err(|message| at.key("systemd").fault(message))? else {
        return Ok(knobs);
    };
    match knobs {
        (None, None) => Ok(others),
        _ => Err(at.fault("`kubernetes` and `systemd` say what `weight`, `nice`, `idle` and `max` say: keep one")),
    }
}

/// One of three, or none.
fn weight(weight: Option<u32>, nice: Option<i64>, idle: Option<bool>) -> Result<Option<Weight>, String> {
    match (weight, nice, idle) {
        (None, None, None) => Ok(None),
        (Some(weight @ 1..=10_000), None, None) => Ok(Some(Weight::Weight(weight))),
        (Some(weight), None, None) => Err(format!("a weight of {weight} does not exist: write 1 to 10000")),
        (None, Some(nice @ -20..=19), None) => Ok(Some(Weight::Nice(nice as i8))),
        (None, Some(nice), None) => Err(format!("nice {nice} does not exist: write from -20 (most) to 19 (least)")),
        (None, None, Some(true)) => Ok(Some(Weight::Idle)),
        (None, None, Some(false)) => Ok(Some(Weight::Weight(DEFAULT_WEIGHT))),
        _ => Err("`weight`, `nice` and `idle` say the same: keep one".into()),
    }
}

/// The CPUs of a partition are exclusive (`cpuset.cpus.partition`).
fn take_exclusive_cpus(tree: &mut ControlGroups, places: &BTreeMap<&str, usize>, at: &At) -> Result<(), Fault> {
    let partitions: Vec<ControlGroupId> = tree
        .iter()
        .filter(|(id, group)| *id != ControlGroupId::ROOT && group.partition != Partition::Member)
        .map(|(id, _)| id)
        .collect();
    for id in partitions.iter().copied() {
        let table = at.index(places[tree[id].path.as_str()]);
        let here = table.key("partition");
        let parent = tree[id].parent.expect("not the root");
        if tree[id].cpus.is_none() {
            return Err(here.fault("a partition needs CPUs of its own: write `cpus`"));
        }
        if tree[parent].partition == Partition::Member {
            return Err(here.fault("the control group above is no partition: make it one, too"));
        }
        let is_related =
            |other: ControlGroupId| [(id, other), (other, id)].iter().any(|(a, b)| tree.upward(*a).any(|up| up == *b));
        for other in partitions.iter().copied().filter(|other| !is_related(*other)) {
            let theirs = tree[other].cpus.clone().unwrap_or_default();
            if let Some(cpu) = tree[id].cpus.iter().flat_map(CpuSet::iter).find(|cpu| theirs.contains(*cpu)) {
                let message = format!("CPU {cpu} would be in two partitions, here and in `{}`", tree[other].path);
                return Err(here.fault(message));
            }
        }
        let own = tree[id].effective_cpus.clone();
        let others: Vec<ControlGroupId> =
            tree.iter().map(|(other, _)| other).filter(|other| !tree.upward(*other).any(|above| above == id)).collect();
        for other in others {
            let rest: CpuSet = tree[other].effective_cpus.iter().filter(|cpu| !own.contains(*cpu)).collect();
            if rest.is_empty() {
                let path = &tree[other].path;
                let whose = if path.is_empty() { "the root".into() } else { format!("`{path}`") };
                return Err(here.fault(format!("this leaves no CPU to {whose}: give the partition fewer")));
            }
            tree.get_mut(other).effective_cpus = rest;
        }
    }
    Ok(())
}

/// The control group that a task names, in which it may be: no other is below it.
pub(super) fn leaf(tree: &ControlGroups, name: &str, at: &Path) -> Result<ControlGroupId, Fault> {
    if name == "/" {
        return Ok(ControlGroupId::ROOT);
    }
    let id = find(tree, name, at)?;
    match tree.children(id).next() {
        None => Ok(id),
        Some(child) => Err(at.fault(format!(
            "tasks live in control groups without others below them, and `{}` is below `{name}`: name that one, or one more \
             beside it",
            tree[child].path
        ))),
    }
}

fn find(tree: &ControlGroups, name: &str, at: &Path) -> Result<ControlGroupId, Fault> {
    let known = tree.iter().map(|(_, group)| group.path.as_str()).filter(|path| !path.is_empty());
    match tree.find(name).filter(|id| *id != ControlGroupId::ROOT) {
        Some(id) => Ok(id),
        None => Err(at.fault(unknown_name("control group", name, known))),
    }
}

/// What a step `adjust` changes, and of which control group.
pub(super) fn adjustment(
    tree: &ControlGroups,
    written: &Adjustment,
    at: &Path,
) -> Result<(ControlGroupId, KnobChange), Fault> {
    let id = find(tree, &written.control_group, at)?;
    let weight = weight(written.weight, written.nice, written.idle).map_err(|message| at.fault(message))?;
    let (max, burst) = (written.max.as_ref().map(|max| max.0), written.burst.as_ref().map(|burst| burst.0));
    let change = KnobChange { weight, max, burst };
    if change == (KnobChange { weight: None, max: None, burst: None }) {
        return Err(at.fault("this changes nothing: write `weight`, `nice`, `idle`, `max` or `burst`"));
    }
    // Steps before it decide what is there then, so that only what no state makes right is wrong.
    match Knobs::default().after(&change).bandwidth.refusal() {
        Some(message) => Err(at.fault(message)),
        None => Ok((id, change)),
    }
}

/// In which control groups a task may be, and the CPUs with which it begins. Where it stays in one, the CPUs that it chooses
/// later are cut to those of that group here; else the venue does that.
pub(super) fn membership(
    task: &Task,
    chosen_cpus: Option<CpuSet>,
    program: &mut Program,
    tree: &ControlGroups,
    at: &At,
) -> Result<(Membership, CpuSet), Fault> {
    let here = at.key("control_group");
    let begin = task.control_group.as_ref().map_or(Ok(ControlGroupId::ROOT), |name| leaf(tree, name, &here.path()))?;
    let key = if task.cpus.is_some() { at.key("cpus") } else { here };
    let in_group =
        |id: ControlGroupId, chosen: Option<&CpuSet>| cpus_in(&tree[id], chosen).map_err(|message| key.fault(message));
    let cpus = in_group(begin, chosen_cpus.as_ref())?;
    let joined: Vec<ControlGroupId> = program.steps.iter().filter_map(joins).collect();
    let chosen_later: Vec<CpuSet> = program.steps.iter_mut().filter_map(chooses).map(|cpus| cpus.clone()).collect();
    let mut later_cpus = Vec::new();
    for id in &joined {
        for chosen in std::iter::once(chosen_cpus.as_ref()).chain(chosen_later.iter().map(Some)) {
            later_cpus.push(in_group(*id, chosen)?);
        }
    }
    for chosen in program.steps.iter_mut().filter_map(chooses) {
        let left = in_group(begin, Some(chosen))?;
        match joined.is_empty() {
            true => *chosen = left,
            false => later_cpus.push(left),
        }
    }
    let inherits = task.spawned && task.control_group.is_none();
    Ok((Membership { begin, inherits, chosen_cpus, later_cpus }, cpus))
}

/// Notes the CPUs that may be left to tasks which begin where their parents are.
pub(super) fn inherit(roles: &mut [Role], tree: &ControlGroups, at: &At) -> Result<(), Fault> {
    if tree.is_empty() {
        return Ok(());
    }
    let mut reach: Vec<BTreeSet<ControlGroupId>> = roles.iter().map(|role| role.control_groups().collect()).collect();
    let mut grows = true;
    while std::mem::take(&mut grows) {
        for (spawner, child) in
            roles.iter().enumerate().flat_map(|(index, role)| spawned(role).map(move |c| (index, c)))
        {
            if roles[child].control.inherits {
                let (from, before) = (reach[spawner].clone(), reach[child].len());
                reach[child].extend(from);
                grows |= reach[child].len() > before;
            }
        }
    }
    for (index, role) in roles.iter_mut().enumerate().filter(|(_, role)| role.control.inherits) {
        let table = at.index(index);
        let chosen: Vec<CpuSet> = role.program.steps.iter_mut().filter_map(chooses).map(|cpus| cpus.clone()).collect();
        for id in &reach[index] {
            for chosen in std::iter::once(role.control.chosen_cpus.as_ref()).chain(chosen.iter().map(Some)) {
                let left = cpus_in(&tree[*id], chosen).map_err(|message| table.key("cpus").fault(message))?;
                role.control.later_cpus.push(left);
            }
        }
    }
    Ok(())
}

/// The roles that a role's tasks spawn.
fn spawned(role: &Role) -> impl Iterator<Item = usize> {
    role.program.steps.iter().filter_map(|step| match step {
        workload::Step::Spawn(child, _) => Some(child.index()),
        _ => None,
    })
}

fn joins(step: &workload::Step) -> Option<ControlGroupId> {
    match step {
        workload::Step::Join(id) => Some(*id),
        _ => None,
    }
}

fn chooses(step: &mut workload::Step) -> Option<&mut CpuSet> {
    match step {
        workload::Step::Set(change) => change.cpus.as_mut(),
        _ => None,
    }
}

/// The CPUs of a task in a control group, of those that it chose.
fn cpus_in(group: &crate::control_group::ControlGroup, chosen: Option<&CpuSet>) -> Result<CpuSet, String> {
    let left = group.cpus_of(chosen);
    if left.is_empty() {
        let whose = match group.path.as_str() {
            "" => "the root control group".into(),
            path => format!("the control group `{path}`"),
        };
        let chosen = chosen.expect("a control group has CPUs");
        return Err(format!("of the CPUs {chosen} none is left: those of {whose} are {}", group.effective_cpus));
    }
    Ok(left)
}

#[cfg(test)]
#[path = "control_group_tests.rs"]
mod tests;
