//! The tables of runs: roles, tasks, CPUs and control groups with their metrics; means, differences, theory.

use crate::error::input;
use crate::frame::Frame;
use crate::rows::{Kind, Row, flatten, table};
use pyo3::prelude::*;
use schedlab_campaign::RunSet;
use schedlab_model::metric::{Found, Level, Metric, Part, Unit, all, find};
use schedlab_model::outcome::Outcome;
use schedlab_model::result::{ControlGroupResult, RunResult, TaskResult};
use schedlab_report::comparison::Comparison;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;

/// The first columns of a table of runs.
const RUN: [(&str, Kind); 3] = [("policy", Kind::Word), ("venue", Kind::Word), ("seed", Kind::Seed)];

/// The columns of a table of means.
const MEANS: [(&str, Kind); 9] = [
    ("policy", Kind::Word),
    ("venue", Kind::Word),
    ("of", Kind::Word),
    ("name", Kind::Word),
    ("metric", Kind::Word),
    ("value", Kind::Number),
    ("low", Kind::Number),
    ("high", Kind::Number),
    ("runs", Kind::Whole),
];

/// The columns of a table of differences.
const DIFFERENCES: [(&str, Kind); 23] = [
    ("baseline", Kind::Word),
    ("policy", Kind::Word),
    ("role", Kind::Word),
    ("metric", Kind::Word),
    ("evidence", Kind::Word),
    ("ratio", Kind::Number),
    ("ratio_interval.low", Kind::Number),
    ("ratio_interval.high", Kind::Number),
    ("difference", Kind::Number),
    ("difference_interval.low", Kind::Number),
    ("difference_interval.high", Kind::Number),
    ("cliffs_delta", Kind::Number),
    ("verdict", Kind::Word),
    ("caution", Kind::Word),
    ("under_changes.copies", Kind::Whole),
    ("under_changes.ratio_low", Kind::Number),
    ("under_changes.ratio_high", Kind::Number),
    ("under_changes.difference_low", Kind::Number),
    ("under_changes.difference_high", Kind::Number),
    ("ratio_interval.estimate", Kind::Number),
    ("ratio_interval.level", Kind::Number),
    ("difference_interval.estimate", Kind::Number),
    ("difference_interval.level", Kind::Number),
];

/// The columns of a table of what theory says.
const THEORY: [(&str, Kind); 11] = [
    ("policy", Kind::Word),
    ("model", Kind::Word),
    ("approximate", Kind::Truth),
    ("expected_ns", Kind::Number),
    ("measured_ns", Kind::Number),
    ("measured_interval.low", Kind::Number),
    ("measured_interval.high", Kind::Number),
    ("measured_interval.estimate", Kind::Number),
    ("measured_interval.level", Kind::Number),
    ("published_ns", Kind::Whole),
    ("published_in", Kind::Word),
];

/// The parts of a run that have a table.
#[derive(Clone, Copy)]
enum Parts {
    Roles,
    Tasks,
    Cpus,
    ControlGroups,
}

impl Parts {
    /// Those of this name.
    fn named(name: &str) -> PyResult<Parts> {
        match name {
            "roles" => Ok(Parts::Roles),
            "tasks" => Ok(Parts::Tasks),
            "cpus" => Ok(Parts::Cpus),
            "control_groups" => Ok(Parts::ControlGroups),
            other => Err(input(format!(
                "there is no table `{other}`; there are roles, tasks, cpus, control_groups, means, differences, theory"
            ))),
        }
    }

    /// The columns of what names a part, and of its settings.
    fn head(self) -> &'static [(&'static str, Kind)] {
        match self {
            Parts::Roles => &[("name", Kind::Word)],
            Parts::Tasks => &[("id", Kind::Whole), ("role", Kind::Word)],
            Parts::Cpus => &[("id", Kind::Whole)],
            Parts::ControlGroups => &[
                ("path", Kind::Word),
                ("weight", Kind::Whole),
                ("idle", Kind::Truth),
                ("quota_ns", Kind::Whole),
                ("period_ns", Kind::Whole),
                ("max_burst_ns", Kind::Whole),
                ("cpus", Kind::Word),
            ],
        }
    }

    /// Where their metrics stand.
    fn levels(self) -> &'static [Level] {
        match self {
            Parts::Roles => &[Level::Task, Level::Role],
            Parts::Tasks => &[Level::Task],
            Parts::Cpus => &[Level::Cpu],
            Parts::ControlGroups => &[Level::ControlGroup],
        }
    }

    /// Those of a result, each with what is in the columns of its head.
    fn of(self, result: &RunResult) -> Vec<(Json, Part<'_>)> {
        match self {
            Parts::Roles => result.roles.iter().map(|role| (json!({ "name": role.name }), Part::Role(role))).collect(),
            Parts::Tasks => {
                let head = |task: &TaskResult| json!({ "id": task.id, "role": task.role });
                result.tasks.iter().map(|task| (head(task), Part::Task(&task.measures))).collect()
            }
            Parts::Cpus => result.cpus.iter().map(|cpu| (json!({ "id": cpu.id }), Part::Cpu(cpu))).collect(),
            Parts::ControlGroups => {
                let part = |group| (settings(group), Part::ControlGroup(group));
                result.control_groups.iter().map(part).collect()
            }
        }
    }

    /// A row for each of them in a result, with the metrics that it has.
    fn rows(self, label: &str, result: &RunResult) -> Vec<Row> {
        let row = |(head, part): (Json, Part)| {
            let mut row = flatten(&json!({ "policy": label, "venue": result.venue, "seed": result.seed }));
            row.extend(flatten(&head));
            let known = Part::all_known(&[part]);
            row.extend(known.into_iter().filter_map(|found| Some((found.path(), number(found, part)?))));
            row
        };
        self.of(result).into_iter().map(row).collect()
    }
}

/// A control group's settings. Its burst has another name than the metric `burst_ns`, the time beyond the quota.
fn settings(group: &ControlGroupResult) -> Json {
    let knobs = &group.knobs;
    json!({
        "path": group.path, "weight": knobs.weight, "idle": knobs.idle, "quota_ns": knobs.quota_ns,
        "period_ns": knobs.period_ns, "max_burst_ns": knobs.burst_ns, "cpus": knobs.cpus,
    })
}

/// A row for each policy, run and one of its `roles`, `tasks`, `cpus` or `control_groups`.
pub fn of_runs(sets: &[(String, RunSet)], name: &str) -> PyResult<Frame> {
    let parts = Parts::named(name)?;
    let runs = sets.iter().flat_map(|(label, set)| set.runs.iter().map(move |run| (label, &run.result)));
    let rows: Vec<Row> = runs.flat_map(|(label, result)| parts.rows(label, result)).collect();
    let head = RUN.iter().chain(parts.head()).map(|(name, kind)| (name.to_string(), *kind));
    let columns: Vec<(String, Kind)> = head.chain(metrics(parts.levels(), &rows)).collect();
    Ok(table(&rows, &columns).into())
}

/// The columns of all metrics at these levels, in the order of their names, and then those of distributions: each number
/// that some row has.
fn metrics(levels: &[Level], rows: &[Row]) -> Vec<(String, Kind)> {
    let is_here = |metric: &Metric| levels.contains(&metric.level);
    let single = all().iter().filter(|metric| is_here(metric) && !metric.is_distribution());
    let mut columns: Vec<(String, Kind)> = single.map(|metric| (metric.path.clone(), kind(metric.unit))).collect();
    columns.sort();
    let names: BTreeSet<&String> = rows.iter().flat_map(Map::keys).collect();
    let key = |name: &String| find(name).ok().filter(|found| is_here(found.metric))?.key;
    let mut numbers: Vec<(u32, &String)> = names.into_iter().filter_map(|name| Some((key(name)?, name))).collect();
    numbers.sort();
    columns.extend(numbers.into_iter().map(|(_, name)| (name.clone(), Kind::Number)));
    columns
}

/// What the column of a metric holds: times and counts are whole numbers.
fn kind(unit: Unit) -> Kind {
    match unit {
        Unit::Ns | Unit::Count => Kind::Whole,
        Unit::Fraction | Unit::Ratio | Unit::PerSecond => Kind::Number,
    }
}

fn number(found: Found, part: Part) -> Option<Json> {
    let value = found.of(part)?;
    Some(if kind(found.metric.unit) == Kind::Whole { json!(value as i64) } else { json!(value) })
}

/// A row for each policy, part of its outcome and metric: over the runs.
pub fn means(sets: &[(String, RunSet)]) -> Frame {
    let rows: Vec<Row> = sets.iter().flat_map(|(label, set)| means_of(label, &set.result)).collect();
    table(&rows, &MEANS).into()
}

fn means_of(label: &str, outcome: &Outcome) -> Vec<Row> {
    let roles = outcome.roles().into_iter().map(|role| ("role", role.name.to_string(), role.metrics));
    let cpus = outcome.cpus().into_iter().map(|cpu| ("cpu", cpu.id.to_string(), cpu.metrics));
    let groups =
        outcome.control_groups().into_iter().map(|group| ("control_group", group.path.to_string(), group.metrics));
    let whole = [("run", String::new(), outcome.whole())];
    let rows = roles.chain(cpus).chain(groups).chain(whole).flat_map(|(of, name, metrics)| {
        metrics.known().into_iter().map(move |(path, value)| {
            let interval = value.interval;
            json!({
                "policy": label, "venue": outcome.venue(), "of": of, "name": name, "metric": path,
                "value": value.number, "low": interval.map(|interval| interval.low),
                "high": interval.map(|interval| interval.high), "runs": value.n,
            })
        })
    });
    rows.map(|row| flatten(&row)).collect()
}

/// A row for each further policy, role and metric: how it differs from the first policy.
pub fn differences(comparison: &Comparison) -> Frame {
    let rows: Vec<Row> = comparison.differences.iter().map(|one| flatten(&json!(one))).collect();
    table(&rows, &DIFFERENCES).into()
}

/// A row for each policy and role for which theory or a publication has a value.
pub fn theory(comparison: &Comparison) -> Frame {
    let rows: Vec<Row> = comparison.theory.iter().map(|one| flatten(&json!(one))).collect();
    table(&rows, &THEORY).into()
}
