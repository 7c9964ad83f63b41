//! Runs of one scenario under several policies in several venues.

use crate::background::with_policies;
use crate::convert;
use crate::error::{IntoPython, failed, input};
use crate::frame::Frame;
use crate::native;
use crate::raised::Raised;
use crate::scenario;
use crate::tables;
use pyo3::exceptions::{PyBaseException, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyType;
use schedlab_boundary::touched::Touched;
use schedlab_campaign::{Axis, Place, RunSet, Runner};
use schedlab_charts::{Chart, Look};
use schedlab_html::{Document, Listing, of_comparison};
use schedlab_infer::steps_file;
use schedlab_job::{Job, Options};
use schedlab_policy::PolicySpec;
use schedlab_report::{Style, comparison::Comparison, result};
use schedlab_venue::{Algorithm, EngineSpec, Executor, Policy, VenueError, VenueName};
use std::path::PathBuf;
use toml::Value;

/// The most copies with small changes that are run.
const MOST_COPIES: u32 = 1000;

/// What came of a call of `run` or `compare`.
#[pyclass(frozen, module = "schedlab._schedlab")]
pub struct Done {
    job: Job,
    done: schedlab_job::Done,
    comparison: Comparison,
    raised: Raised,
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
    perturb: &Bound<'_, PyAny>,
) -> PyResult<Done> {
    if venues.is_empty() {
        return Err(input("venue: at least one is needed"));
    }
    touched(scenario, policies).writes(&traces).check().map_err(input)?;
    let mut scenario = scenario::of(scenario)?.model;
    scenario.run.calls |= calls;
    let raised = Raised::default();
    let policies = self::policies(policies, &raised)?;
    let engine = engine.map(|engine| engine.parse::<EngineSpec>()).transpose();
    let engine = engine.map_err(|wrong| input(format!("engine: {wrong}")))?;
    let load: Algorithm = load.parse().map_err(|wrong| input(format!("load: {wrong}")))?;
    let place = |name: &String| Ok(Place::new(venue_name(name)?, kernel.as_deref(), engine).computing(load));
    let places = venues.iter().map(place).collect::<PyResult<Vec<_>>>()?;
    let executor = unchecked.then_some(Executor::Machine);
    let threads = convert::threads(threads)?;
    let (seed, runs) = (seed.map(convert::seed).transpose()?, convert::runs(runs)?);
    let perturb = convert::whole(perturb, "perturb", 0, MOST_COPIES)?;
    let options = Options { places, seed, runs, executor, check, costs, traces, listens, perturb };
    let vary = vary.map_or_else(|| Ok(Vec::new()), axes)?;
    let cache = if keeps { convert::cache(fresh) } else { None };
    let job = Job::new(scenario, &vary, policies, options).map_err(IntoPython::into_python)?;
    let done = with_policies(py, &raised, |monitor| {
        let shares = job.shares()?;
        job.run(&shares, &Runner::new(cache.as_ref(), threads, monitor))
    })?;
    let done = done.map_err(|error: VenueError| raised.explain(py, error.into_python()))?;
    let comparison = job.comparison(&done);
    Ok(Done { job, done, comparison, raised })
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

/// The policies that a user means: a text as on the command line, a path, a class, or a list of these. What a class
/// raises in a run is kept.
pub fn policies(object: &Bound<'_, PyAny>, raised: &Raised) -> PyResult<Vec<Policy>> {
    let found = match object.extract::<String>() {
        Ok(text) => PolicySpec::parse_list(&text).map_err(input)?.iter().map(found).collect::<PyResult<Vec<_>>>()?,
        Err(_) if is_one(object)? => vec![policy(object, raised)?],
        Err(_) => object.try_iter()?.map(|item| policy(&item?, raised)).collect::<PyResult<_>>()?,
    };
    if found.is_empty() {
        return Err(input("policy: at least one is needed"));
    }
    Ok(found)
}

/// The files that a scenario and policies name.
fn touched(scenario: &Bound<'_, PyAny>, policies: &Bound<'_, PyAny>) -> Touched {
    let scenario = convert::path(scenario);
    let steps = scenario.as_deref().map(steps_file);
    let one_by_one = || policies.try_iter().into_iter().flatten().filter_map(|one| convert::path(&one.ok()?));
    let named: Vec<PathBuf> = convert::path(policies).map_or_else(|| one_by_one().collect(), |one| vec![one]);
    let specs = named.iter().filter_map(|text| PolicySpec::parse_list(text.to_str()?).ok()).flatten();
    let files: Vec<PathBuf> = specs.filter_map(|spec| spec.file().map(PathBuf::from)).collect();
    let read = Touched::default().reads("the scenario", &scenario).reads("the scenario's steps", &steps);
    read.reads("the policy", files)
}

fn is_one(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.is_instance_of::<PyType>() || object.hasattr("__fspath__")?)
}

/// A policy: a name, a path, or a class. What a class raises in a run is kept.
pub(crate) fn policy(object: &Bound<'_, PyAny>, raised: &Raised) -> PyResult<Policy> {
    if convert::is_policy_class(object) {
        return native::policy(object, raised);
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

    /// For each of these the exception of a policy in Python that it tells of; none where it was something else.
    fn causes(&self, py: Python<'_>) -> Vec<Option<Py<PyBaseException>>> {
        let cause = |failure: &VenueError| Some(self.raised.behind(py, &failure.to_string())?.into_value(py));
        self.done.failures.iter().map(cause).collect()
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

    /// A row for each run and one of its `roles`, `tasks`, `cpus` or `control_groups`; for each metric over the runs
    /// (`means`); or for each of the comparison's `differences` or of what `theory` says.
    fn frame(&self, of: &str) -> PyResult<Frame> {
        match of {
            "means" => Ok(tables::means(&self.done.sets)),
            "differences" => Ok(tables::differences(&self.comparison)),
            "theory" => Ok(tables::theory(&self.comparison)),
            parts => tables::of_runs(&self.done.sets, parts),
        }
    }

    /// The charts of the page: name, title, caption and specification of each.
    fn charts(&self) -> Vec<(String, String, String, String)> {
        let provenance = self.job.provenance(&self.comparison, String::new());
        charts(&of_comparison(&self.comparison, &self.done.heard, provenance), Look::Light)
    }

    /// The page. The listings are policies in Python: the name and the source of each.
    fn html(&self, command: String, listings: Vec<(String, String)>) -> String {
        let mut provenance = self.job.provenance(&self.comparison, command);
        provenance.files.extend(listings.iter().map(|(name, text)| Listing::file(name, text)));
        of_comparison(&self.comparison, &self.done.heard, provenance).html()
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

/// As JSON.
pub fn text(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(failed)
}
