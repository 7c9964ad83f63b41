//! Runs of one scenario under several policies in several venues.

use crate::background::interruptible;
use crate::convert;
use crate::error::{IntoPython, failed, input};
use crate::frame::Frame;
use crate::native;
use crate::rows::{Row, flatten, table};
use crate::scenario;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyType;
use schedlab_campaign::{Axis, Place, RunSet, Runner};
use schedlab_charts::{Chart, Look};
use schedlab_html::{Document, Provenance, of_comparison};
use schedlab_job::{Job, Options};
use schedlab_model::metric::{Found, Part, Unit};
use schedlab_model::outcome::Outcome;
use schedlab_model::result::{ControlGroupResult, RunResult, TaskResult};
use schedlab_policy::PolicySpec;
use schedlab_report::{Style, comparison::Comparison, result};
use schedlab_venue::{Algorithm, EngineSpec, Executor, Policy, VenueName};
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use toml::Value;

/// The first columns of a table of runs.
const HEAD: [&str; 8] = ["policy", "venue", "seed", "name", "path", "id", "role", "count"];

/// The columns of a table of means.
const MEANS: [&str; 9] = ["policy", "venue", "of", "name", "metric", "value", "low", "high", "runs"];

/// The first columns of a table of differences.
const DIFFERENCE: [&str; 5] = ["baseline", "policy", "role", "metric", "evidence"];

/// What came of a call of `run` or `compare`.
#[pyclass(frozen, module = "schedlab._schedlab")]
pub struct Done {
    job: Job,
    done: schedlab_job::Done,
    comparison: Comparison,
}

/// Makes runs. What is not given is as on the command line.
#[pyfunction]
#[pyo3(signature = (scenario, policies, venues, *, seed, runs, threads, kernel, engine, load, unchecked, check, costs, traces, calls, listens, keeps, fresh, vary, perturb))]
#[allow(clippy::too_many_arguments, reason = "the flags of the command line; Python's side names each")]
pub fn run(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    policies: &Bound<'_, PyAny>,
    venues: Vec<String>,
    seed: Option<&Bound<'_, PyAny>>,
    runs: &Bound<'_, PyAny>,
    threads: Option<&Bound<'_, PyAny>>,
    kernel: Option<String>,
    engine: Option<String>,
    load: String,
    unchecked: bool,
    check: bool,
    costs: bool,
    traces: Vec<PathBuf>,
    calls: bool,
    listens: bool,
    keeps: bool,
    fresh: bool,
    vary: Option<&Bound<'_, PyAny>>,
    perturb: u32,
) -> PyResult<Done> {
    let mut scenario = scenario::of(scenario)?.model;
    scenario.run.calls |= calls;
    let policies = self::policies(policies)?;
    let engine = engine.map(|engine| engine.parse::<EngineSpec>()).transpose().map_err(input)?;
    let load: Algorithm = load.parse().map_err(input)?;
    let place = |name: &String| Ok(Place::new(venue_name(name)?, kernel.as_deref(), engine).computing(load));
    let places = venues.iter().map(place).collect::<PyResult<Vec<_>>>()?;
    let executor = unchecked.then_some(Executor::Machine);
    let threads = convert::threads(threads)?;
    let (seed, runs) = (seed.map(convert::seed).transpose()?, convert::runs(runs)?);
    let options = Options { places, seed, runs, executor, check, costs, traces, listens, perturb };
    let vary = vary.map_or_else(|| Ok(Vec::new()), axes)?;
    let cache = if keeps { convert::cache(fresh) } else { None };
    let job = Job::new(scenario, &vary, policies, options).map_err(IntoPython::into_python)?;
    let done = interruptible(py, |monitor| {
        let shares = job.shares()?;
        job.run(&shares, &Runner::new(cache.as_ref(), threads, monitor))
    })?;
    let done = done.map_err(IntoPython::into_python)?;
    let comparison = job.comparison(&done);
    Ok(Done { job, done, comparison })
}

/// What is varied: a dictionary of paths with lists of values.
fn axes(vary: &Bound<'_, PyAny>) -> PyResult<Vec<Axis>> {
    let axis = |(path, values): (String, Value)| match values {
        Value::Array(values) => Axis::new(&path, values).map_err(|wrong| input(format!("vary: {wrong}"))),
        _ => Err(input(format!("vary: `{path}` needs a list of values"))),
    };
    convert::table(vary, "vary")?.into_iter().map(axis).collect()
}

/// The venue of this name.
pub fn venue_name(name: &str) -> PyResult<VenueName> {
    let found = VenueName::ALL.into_iter().find(|venue| venue.name() == name);
    let names = VenueName::ALL.map(VenueName::name).join(", ");
    found.ok_or_else(|| input(format!("there is no venue `{name}`; there are {names}")))
}

/// The policies that a user means: a text as on the command line, a path, a class, or a list of these.
pub fn policies(object: &Bound<'_, PyAny>) -> PyResult<Vec<Policy>> {
    let found = match object.extract::<String>() {
        Ok(text) => PolicySpec::parse_list(&text).map_err(input)?.iter().map(found).collect::<PyResult<Vec<_>>>()?,
        Err(_) if is_one(object)? => vec![policy(object)?],
        Err(_) => object.try_iter()?.map(|item| policy(&item?)).collect::<PyResult<_>>()?,
    };
    if found.is_empty() {
        return Err(input("policy: at least one is needed"));
    }
    Ok(found)
}

fn is_one(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.is_instance_of::<PyType>() || object.hasattr("__fspath__")?)
}

/// A policy: a name, a path, or a class.
pub(crate) fn policy(object: &Bound<'_, PyAny>) -> PyResult<Policy> {
    if convert::is_policy_class(object) {
        return native::policy(object);
    }
    let wrong = || PyTypeError::new_err("policy: a name, a path or a class of schedlab.policy.Policy is needed");
    let path = convert::path(object).ok_or_else(wrong)?;
    let text = path.to_str().ok_or_else(|| input("policy: this path is no Unicode"))?;
    found(&PolicySpec::parse(text).map_err(input)?)
}

fn found(spec: &PolicySpec) -> PyResult<Policy> {
    Policy::find(spec).map_err(IntoPython::into_python)
}

#[pymethods]
impl Done {
    /// The policies that ran, as they were written; with their venues where there are several.
    fn labels(&self) -> Vec<&str> {
        self.done.sets.iter().map(|(label, _)| label.as_str()).collect()
    }

    /// A line for each policy that failed.
    fn failures(&self) -> Vec<String> {
        self.done.failures.iter().map(ToString::to_string).collect()
    }

    /// The result of a policy as JSON; its schema is `schema("result")`.
    fn result(&self, index: usize) -> PyResult<String> {
        text(&self.set(index)?.1.result)
    }

    /// The comparison as JSON; its schema is `schema("comparison")`.
    fn comparison(&self) -> PyResult<String> {
        text(&self.comparison)
    }

    /// A result as the command line prints it.
    fn show_result(&self, index: usize) -> PyResult<String> {
        let (label, set) = self.set(index)?;
        Ok(result::show(&set.result, label, Style::PLAIN))
    }

    /// The comparison as the command line prints it.
    fn show_comparison(&self) -> String {
        self.comparison.show(Style::PLAIN)
    }

    /// A row for each run and one of its `roles`, `tasks`, `cpus` or `control_groups`; for each metric over the runs (`means`); or for each of the comparison's `differences` or
    /// of what its `theory` says.
    fn frame(&self, of: &str) -> PyResult<Frame> {
        let plain = |list: Json| list.as_array().into_iter().flatten().map(flatten).collect::<Vec<_>>();
        match of {
            "differences" => return Ok(table(&plain(json!(self.comparison.differences)), &DIFFERENCE).into()),
            "theory" => return Ok(table(&plain(json!(self.comparison.theory)), &["policy", "model"]).into()),
            _ => {}
        }
        if of == "means" {
            let rows: Vec<Row> = self.done.sets.iter().flat_map(|(label, set)| means(label, &set.result)).collect();
            return Ok(table(&rows, &MEANS).into());
        }
        let mut rows = Vec::new();
        for (label, set) in &self.done.sets {
            for run in &set.runs {
                rows.extend(rows_of(label, &run.result, of)?);
            }
        }
        Ok(table(&rows, &HEAD).into())
    }

    /// The charts of the page: name, title, caption and specification of each.
    fn charts(&self) -> Vec<(String, String, String, String)> {
        charts(&of_comparison(&self.comparison, &self.done.heard, Provenance::default()), Look::Light)
    }

    /// The page.
    fn html(&self, command: String) -> String {
        of_comparison(&self.comparison, &self.done.heard, self.job.provenance(&self.comparison, command)).html()
    }
}

impl Done {
    fn set(&self, index: usize) -> PyResult<&(String, RunSet)> {
        self.done.sets.get(index).ok_or_else(|| failed("nothing was run"))
    }
}

/// The charts of a page: name, title, caption and specification of each.
pub fn charts(page: &Document, look: Look) -> Vec<(String, String, String, String)> {
    let parts = |chart: &Chart| {
        let specification = chart.specification(look).to_string();
        (chart.id.clone(), chart.title.clone(), chart.caption.clone(), specification)
    };
    page.charts().map(parts).collect()
}

/// A row for each part of a run, with the metrics that it has.
fn rows_of(label: &str, result: &RunResult, of: &str) -> PyResult<Vec<Row>> {
    let parts: Vec<(Json, Part)> = match of {
        "roles" => result.roles.iter().map(|role| (json!({ "name": role.name }), Part::Role(role))).collect(),
        "tasks" => {
            let head = |task: &TaskResult| json!({ "id": task.id, "role": task.role });
            result.tasks.iter().map(|task| (head(task), Part::Task(&task.measures))).collect()
        }
        "control_groups" => {
            let head = |group: &ControlGroupResult| {
                let knobs = &group.knobs;
                json!({
                    "path": group.path, "weight": knobs.weight, "idle": knobs.idle, "quota_ns": knobs.quota_ns,
                    "period_ns": knobs.period_ns, "burst_ns": knobs.burst_ns, "cpus": knobs.cpus,
                })
            };
            result.control_groups.iter().map(|group| (head(group), Part::ControlGroup(group))).collect()
        }
        "cpus" => result.cpus.iter().map(|cpu| (json!({ "id": cpu.id }), Part::Cpu(cpu))).collect(),
        other => {
            return Err(input(format!(
                "there is no table `{other}`; there are roles, tasks, cpus, control_groups and means"
            )));
        }
    };
    let row = |(head, part): (Json, Part)| {
        let mut row = flatten(&json!({ "policy": label, "venue": result.venue, "seed": result.seed }));
        row.extend(flatten(&head));
        row.extend(Part::all_known(&[part]).into_iter().filter_map(|found| Some((found.path(), number(found, part)?))));
        row
    };
    Ok(parts.into_iter().map(row).collect())
}

/// A metric; times and counts are whole numbers.
fn number(found: Found, part: Part) -> Option<Json> {
    let value = found.of(part)?;
    Some(match found.metric.unit {
        Unit::Ns | Unit::Count => json!(value as u64),
        _ => json!(value),
    })
}

/// A row for each part of an outcome and each of its metrics: over the runs.
fn means(label: &str, outcome: &Outcome) -> Vec<Row> {
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

/// As JSON.
pub fn text(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(failed)
}
