//! The metrics: every number of a result, defined once for all its readers.
//!
//! A metric has a *path* in its part of a result: `response_ns.p99` in a role, `busy_frac` in a CPU, `jain` in the run.
//! [`all`] lists them, [`find`] looks one up, [`Found::of`] reads its value from a result, [`crate::selector`] names one in
//! a whole result. What a metric means is said where its field is declared, in [`crate::result`]; all else is said in one
//! row of `table.rs`: unit, source, how the values of several runs become one, heads and rounding.
//!
//! To add a metric: declare the field in `result.rs`, give it a row in `table.rs`, and measure it in
//! `schedlab_metrics::collector`.

mod page;
mod statistic;
mod table;
#[cfg(test)]
mod tests;

pub use page::page;
pub use statistic::Statistic;

use crate::result::{
    ControlGroupResult, CpuResult, Measures, Others, RatioSummary, RoleResult, RunResult, SchedulerCosts,
    SchedulerProgram, TimeSummary,
};
use crate::scenario::did_you_mean;
use crate::schema;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

/// What a metric is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// A number of things.
    Count,
    /// A part of a whole, between 0 and 1; shown in percent.
    Fraction,
    /// One number over another of the same unit.
    Ratio,
    /// Per second of measured time.
    PerSecond,
}

/// Where in a result a metric stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// In each task, and in each role for all its tasks together.
    Task,
    /// In each role only.
    Role,
    /// In each control group.
    ControlGroup,
    /// In each CPU.
    Cpu,
    /// In the run as a whole.
    Run,
}

/// How the values of several runs become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// Their mean, with its interval.
    Mean,
    /// Their sum.
    Sum,
}

/// Which way a metric is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// A smaller value is better: times, waits.
    Lower,
    /// A larger value is better: throughput.
    Higher,
    /// It depends.
    Neither,
}

/// How a value is rounded for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// To as many digits as mean something, in a unit that suits the table.
    Digits,
    /// With this number of decimals.
    Decimals(usize),
}

/// A number of a result, or a distribution of such numbers.
#[derive(Debug)]
pub struct Metric {
    /// Its path in its part of a result; the number in a distribution is written `K`.
    pub path: String,
    /// Where it stands.
    pub level: Level,
    /// What it is measured in.
    pub unit: Unit,
    /// How several runs combine.
    pub combine: Combine,
    /// Which way it is good.
    pub better: Better,
    /// Where its formula is from.
    pub source: Option<&'static str>,
    /// What it is called in a sentence: `mean response`.
    pub name: Cow<'static, str>,
    /// What is above its column and those of its neighbours; may be empty.
    pub over: &'static str,
    /// What is above its column.
    pub head: &'static str,
    /// How its values are rounded.
    pub round: Round,
    read: Read,
}

/// How a value is read from a result.
#[derive(Clone, Copy, Debug)]
enum Read {
    Task(fn(&Measures) -> Option<f64>),
    Times(fn(&Measures) -> Option<&TimeSummary>, Statistic),
    Ratios(fn(&Measures) -> Option<&RatioSummary>, Statistic),
    Role(fn(&RoleResult) -> Option<f64>),
    ControlGroup(fn(&ControlGroupResult) -> Option<f64>),
    ControlGroupTimes(fn(&ControlGroupResult) -> Option<&TimeSummary>, Statistic),
    Cpu(fn(&CpuResult) -> Option<f64>),
    CpuLoad(fn(&CpuResult) -> &BTreeMap<u32, f64>),
    Run(fn(&RunResult) -> Option<f64>),
    Cost(fn(&SchedulerCosts) -> Option<f64>),
    Others(fn(&Others) -> Option<f64>),
    Program(fn(&SchedulerProgram) -> u64),
    RunLoad(fn(&RunResult) -> Option<&BTreeMap<u32, f64>>),
}

/// The part of one run's result in which a metric is looked up.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// A task.
    Task(&'a Measures),
    /// A role.
    Role(&'a RoleResult),
    /// A control group.
    ControlGroup(&'a ControlGroupResult),
    /// A CPU.
    Cpu(&'a CpuResult),
    /// The run.
    Run(&'a RunResult),
}

impl Level {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Level::Task => "task, role",
            Level::Role => "role",
            Level::ControlGroup => "control group",
            Level::Cpu => "CPU",
            Level::Run => "run",
        }
    }
}

impl Level {
    /// Where a metric of this level is to be found, which was looked for elsewhere.
    fn elsewhere(self, path: &str) -> String {
        match self {
            Level::Task | Level::Role => format!("here, it is one of a role: `roles.NAME.{path}`"),
            Level::ControlGroup => format!("here, it is one of a control group: `control_groups.PATH.{path}`"),
            Level::Cpu => format!("here, it is one of a CPU: `cpus.NUMBER.{path}`"),
            Level::Run => format!("here, it is one of the whole run: `{path}` alone"),
        }
    }
}

impl Better {
    /// In a word; none where it depends.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Better::Lower => Some("less"),
            Better::Higher => Some("more"),
            Better::Neither => None,
        }
    }
}

impl Unit {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Unit::Ns => "ns",
            Unit::Count => "count",
            Unit::Fraction => "fraction",
            Unit::Ratio => "ratio",
            Unit::PerSecond => "per second",
        }
    }
}

/// What is in the path of a distribution for the number whose fraction it gives.
const KEY: &str = "K";

/// All metrics, those of tasks and roles first.
pub fn all() -> &'static [Metric] {
    static ALL: LazyLock<Vec<Metric>> = LazyLock::new(table::metrics);
    &ALL
}

/// A metric that was looked up, with the number in its distribution where it is one.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// The metric.
    pub metric: &'static Metric,
    /// The number, as 3 in `load_distribution.true.3`.
    pub key: Option<u32>,
}

/// A path that is no metric's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no metric `{path}`{hint}")]
pub struct Unknown {
    /// The path.
    pub path: String,
    hint: String,
}

/// The metric at a path in its part of a result: `response_ns.p99`, `jain`, `load_distribution.true.3`.
///
/// # Errors
///
/// There is none; the error names one that is written alike, or says where all are listed.
pub fn find(path: &str) -> Result<Found, Unknown> {
    look_up(path).ok_or_else(|| {
        Unknown::of_levels(path, &[Level::Task, Level::Role, Level::ControlGroup, Level::Cpu, Level::Run])
    })
}

fn look_up(path: &str) -> Option<Found> {
    static BY_PATH: LazyLock<HashMap<&str, &Metric>> =
        LazyLock::new(|| all().iter().map(|metric| (metric.path.as_str(), metric)).collect());
    if let Some(metric) = BY_PATH.get(path).filter(|metric| !metric.is_distribution()) {
        return Some(Found { metric, key: None });
    }
    let (base, key) = path.rsplit_once('.')?;
    let (key, metric) = (key.parse().ok()?, BY_PATH.get(format!("{base}.{KEY}").as_str())?);
    Some(Found { metric, key: Some(key) })
}

/// The metric at a path that is in our own code.
///
/// # Panics
///
/// There is none.
pub fn known(path: &str) -> Found {
    find(path).unwrap_or_else(|unknown| panic!("{unknown}"))
}

impl Unknown {
    /// Of a path that is no metric's at these levels.
    pub(crate) fn of_levels(path: &str, levels: &[Level]) -> Unknown {
        let metrics = || all().iter().filter(|metric| levels.contains(&metric.level));
        // Of a summary the path continues: its mean is what is most likely meant.
        let mean = metrics().find(|metric| metric.path == format!("{path}.{}", Statistic::Mean.key()));
        let hint = match (look_up(path), mean) {
            (Some(found), _) => format!(" {}", found.metric.level.elsewhere(path)),
            (_, Some(mean)) => format!(": did you mean `{}`?", mean.path),
            _ => did_you_mean(path, metrics().map(|metric| metric.path.as_str())),
        };
        let hint = if hint.is_empty() { ": `schedlab schema metrics` lists them all".to_string() } else { hint };
        Unknown { path: path.into(), hint }
    }
}

impl Metric {
    /// Whether it is a distribution: a fraction for each of several numbers.
    pub fn is_distribution(&self) -> bool {
        matches!(self.read, Read::CpuLoad(_) | Read::RunLoad(_))
    }

    /// Its path without the number of a distribution.
    pub(crate) fn base(&self) -> &str {
        self.path.strip_suffix(KEY).and_then(|base| base.strip_suffix('.')).unwrap_or(&self.path)
    }

    /// Its place in the table.
    pub(crate) fn place(&self) -> usize {
        all().iter().position(|metric| std::ptr::eq(metric, self)).expect("every metric is in the table")
    }

    /// The path of the field in which it stands: of a statistic that of its summary.
    pub(crate) fn property(&self) -> &str {
        match self.read {
            Read::Times(_, statistic) | Read::Ratios(_, statistic) | Read::ControlGroupTimes(_, statistic) => {
                let summary = self.path.strip_suffix(statistic.key());
                summary.and_then(|path| path.strip_suffix('.')).unwrap_or(&self.path)
            }
            _ => self.base(),
        }
    }

    /// What it means, from the declaration of its field, and where its formula is from.
    pub fn meaning(&self) -> String {
        let of = |path| schema::description(self.level, path).unwrap_or_default();
        // A statistic says only what it is of its summary's values.
        let is_statistic = self.property() != self.base();
        let summary = if is_statistic { of(self.property()) + " " } else { String::new() };
        let meaning = summary + &of(self.base());
        match self.source {
            Some(source) => format!("{meaning} ({source})"),
            None => meaning,
        }
    }

    /// Whether it is what a scheduler takes, which a virtual machine measures where it is asked to.
    pub fn is_cost(&self) -> bool {
        matches!(self.read, Read::Cost(_))
    }

    /// The distribution in a part of a result; none where that is not known, or the metric is no distribution.
    fn distribution<'a>(&self, part: Part<'a>) -> Option<&'a BTreeMap<u32, f64>> {
        match (self.read, part) {
            (Read::CpuLoad(read), Part::Cpu(cpu)) => Some(read(cpu)).filter(|loads| !loads.is_empty()),
            (Read::RunLoad(read), Part::Run(run)) => read(run),
            _ => None,
        }
    }

    fn number(&self, part: Part) -> Option<f64> {
        match (self.read, part) {
            (Read::Task(read), Part::Task(measures)) => read(measures),
            (Read::Task(read), Part::Role(role)) => read(&role.measures),
            (Read::Times(read, statistic), Part::Task(measures)) => statistic.of(read(measures)?, |ns| ns as f64),
            (Read::Times(read, statistic), Part::Role(role)) => statistic.of(read(&role.measures)?, |ns| ns as f64),
            (Read::Ratios(read, statistic), Part::Task(measures)) => statistic.of(read(measures)?, |ratio| ratio),
            (Read::Ratios(read, statistic), Part::Role(role)) => statistic.of(read(&role.measures)?, |ratio| ratio),
            (Read::Role(read), Part::Role(role)) => read(role),
            (Read::ControlGroup(read), Part::ControlGroup(group)) => read(group),
            (Read::ControlGroupTimes(read, statistic), Part::ControlGroup(group)) => {
                statistic.of(read(group)?, |ns| ns as f64)
            }
            (Read::Cpu(read), Part::Cpu(cpu)) => read(cpu),
            (Read::Run(read), Part::Run(run)) => read(run),
            (Read::Cost(read), Part::Run(run)) => read(run.costs.as_ref()?),
            (Read::Others(read), Part::Run(run)) => read(run.others.as_ref()?),
            (Read::Program(read), Part::Run(run)) => Some(read(run.scheduler_program.as_ref()?) as f64),
            _ => None,
        }
    }
}

impl Found {
    /// Its path in its part of a result.
    pub fn path(&self) -> String {
        match self.key {
            Some(key) => with_key(self.metric.base(), key),
            None => self.metric.path.clone(),
        }
    }

    /// Its value in a part of one run's result; none where that is not known. What a distribution does not list has no
    /// part of it.
    pub fn of(&self, part: Part) -> Option<f64> {
        match self.key {
            Some(key) => Some(self.metric.distribution(part)?.get(&key).copied().unwrap_or(0.0)),
            None => self.metric.number(part),
        }
    }
}

impl Part<'_> {
    /// The metrics that this part may have.
    fn has(self, level: Level) -> bool {
        match self {
            Part::Task(_) => level == Level::Task,
            Part::Role(_) => matches!(level, Level::Task | Level::Role),
            Part::ControlGroup(_) => level == Level::ControlGroup,
            Part::Cpu(_) => level == Level::Cpu,
            Part::Run(_) => level == Level::Run,
        }
    }

    /// All metrics that some of these parts know, each number of a distribution by itself, in the order of the table.
    pub fn all_known(parts: &[Part]) -> Vec<Found> {
        let Some(&first) = parts.first() else { return Vec::new() };
        let mut known = Vec::new();
        for metric in all().iter().filter(|metric| first.has(metric.level)) {
            if metric.is_distribution() {
                let loads = parts.iter().filter_map(|part| metric.distribution(*part));
                let keys: std::collections::BTreeSet<u32> = loads.flat_map(|loads| loads.keys().copied()).collect();
                known.extend(keys.into_iter().map(|key| Found { metric, key: Some(key) }));
            } else if parts.iter().any(|part| metric.number(*part).is_some()) {
                known.push(Found { metric, key: None });
            }
        }
        known
    }

    /// The distribution at a path such as `load_distribution.true`.
    pub fn distribution_at(self, path: &str) -> Option<BTreeMap<u32, f64>> {
        known(&with_key(path, 0)).metric.distribution(self).cloned()
    }
}

/// The path of a number of a distribution.
fn with_key(base: &str, key: u32) -> String {
    format!("{base}.{key}")
}
