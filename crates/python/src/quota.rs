//! The search for the smallest limit, weight or burst of a control group.

use crate::background::with_policies;
use crate::convert;
use crate::error::{IntoPython, failed, input};
use crate::frame::Frame;
use crate::job::{policies, text, venue_name};
use crate::raised::Raised;
use crate::rows::{Kind, Row, flatten, table};
use crate::scenario;
use pyo3::prelude::*;
use schedlab_campaign::{Place, Runner};
use schedlab_charts::Look;
use schedlab_html::{Listing, Provenance, of_quota};
use schedlab_job::Options;
use schedlab_job::quota::{Question, QuotaError, Target, Wanted};
use schedlab_model::scenario::Notation;
use schedlab_model::time::Time;
use schedlab_report::Style;
use schedlab_report::quota::{Answer, Knob};
use schedlab_venue::{Algorithm, EngineSpec};
use serde_json::json;

/// The columns of the table of points.
const POINTS: [(&str, Kind); 12] = [
    ("policy", Kind::Word),
    ("weight", Kind::Whole),
    ("quota_ns", Kind::Whole),
    ("period_ns", Kind::Whole),
    ("burst_ns", Kind::Whole),
    ("value_ns", Kind::Number),
    ("low_ns", Kind::Number),
    ("high_ns", Kind::Number),
    ("throttled_frac", Kind::Number),
    ("used_cpus", Kind::Number),
    ("overloaded", Kind::Truth),
    ("meets", Kind::Truth),
];

/// What came of a call of `quota`.
#[pyclass(frozen, module = "schedlab._schedlab")]
pub struct Limits {
    answer: Answer,
    /// The scenario's file.
    source: (String, String),
}

/// Searches. What is not given is as on the command line.
#[pyfunction]
#[pyo3(signature = (scenario, policies, venue, *, target, search, control_group, role, period, burst, limit, seed, runs, threads, kernel, engine, load))]
#[allow(clippy::too_many_arguments, reason = "the flags of the command line; Python's side names each")]
pub fn quota(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    policies: &Bound<'_, PyAny>,
    venue: &str,
    target: &str,
    search: &str,
    control_group: Option<String>,
    role: Option<String>,
    period: Option<&str>,
    burst: Option<f64>,
    limit: Option<String>,
    seed: Option<&Bound<'_, PyAny>>,
    runs: &Bound<'_, PyAny>,
    threads: Option<&Bound<'_, PyAny>>,
    kernel: Option<String>,
    engine: Option<String>,
    load: String,
) -> PyResult<Limits> {
    let scenario = scenario::of(scenario)?.model;
    let raised = Raised::default();
    let policies = self::policies(policies, &raised)?;
    let target: Target = target.parse().map_err(|wrong| input(format!("target: {wrong}")))?;
    let found = Knob::ALL.into_iter().find(|knob| knob.name() == search);
    let search = found.ok_or_else(|| input(format!("search: `{search}` is none of limit, weight, burst")))?;
    let period = period.map(Time::read).transpose().map_err(|wrong| input(format!("period: {wrong}")))?;
    let engine = engine.map(|engine| engine.parse::<EngineSpec>()).transpose().map_err(input)?;
    let load: Algorithm = load.parse().map_err(input)?;
    let place = Place::new(venue_name(venue)?, kernel.as_deref(), engine).computing(load);
    let options = Options {
        places: vec![place],
        seed: seed.map(convert::seed).transpose()?,
        runs: convert::runs(runs)?,
        executor: None,
        check: false,
        costs: false,
        traces: Vec::new(),
        listens: false,
        perturb: 0,
    };
    let threads = convert::threads(threads)?;
    let source = (format!("{}.toml", scenario.name), scenario.to_toml());
    let question = Question::new(scenario, Wanted { search, target, control_group, role, period, burst, limit });
    let question = question.map_err(into_python)?;
    let answer = with_policies(py, &raised, |monitor| {
        question.answer(&policies, &options, &Runner::new(None, threads, monitor))
    })?;
    Ok(Limits { answer: answer.map_err(|error| raised.explain(py, into_python(error)))?, source })
}

fn into_python(error: QuotaError) -> PyErr {
    match error {
        QuotaError::Input(message) => input(message),
        QuotaError::Unfit(_) => input(error),
        QuotaError::Venue(error) => error.into_python(),
        QuotaError::Failed(_) | QuotaError::Policies(_) | QuotaError::Stopped => failed(error),
    }
}

#[pymethods]
impl Limits {
    /// The whole answer as JSON.
    fn data(&self) -> PyResult<String> {
        text(&self.answer)
    }

    /// The answer as the command line prints it.
    fn show(&self) -> String {
        self.answer.show(Style::PLAIN)
    }

    /// A row for each policy and setting; the loosest is the last of its policy.
    fn points(&self) -> Frame {
        let rows = self.answer.policies.iter().flat_map(|curve| {
            let points = curve.points.iter().chain([&curve.loosest]);
            points.map(|point| {
                let mut row: Row = flatten(&json!({ "policy": curve.policy }));
                row.extend(flatten(&json!(point)));
                row
            })
        });
        table(&rows.collect::<Vec<_>>(), &POINTS).into()
    }

    /// The charts of the page: name, title, caption and specification of each.
    fn charts(&self) -> Vec<(String, String, String, String)> {
        let page = of_quota(&self.answer, Provenance::default());
        crate::job::charts(&page, Look::Light)
    }

    /// The page. The listings are policies in Python: the name and the source of each.
    fn html(&self, command: String, listings: Vec<(String, String)>) -> String {
        let facts = vec![("schedlab".to_string(), env!("CARGO_PKG_VERSION").to_string())];
        let files = std::iter::once(&self.source).chain(&listings).map(|(name, text)| Listing::file(name, text));
        let files = files.collect();
        of_quota(&self.answer, Provenance { facts, commands: vec![command], files, ..Provenance::default() }).html()
    }
}
