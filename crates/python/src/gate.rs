//! Gates.

use crate::background::interruptible;
use crate::convert;
use crate::error::{IntoPython, failed, input, unreadable};
use crate::frame::Frame;
use crate::job::text;
use crate::rows::{Kind, flatten, table};
use pyo3::prelude::*;
use schedlab_boundary::file;
use schedlab_campaign::Runner;
use schedlab_charts::Look;
use schedlab_html::{Provenance, of_gate};
use schedlab_regression::{Baseline, Gate, GateError, Plan, Report, Sources};
use schedlab_report::Style;
use schedlab_trace::Partial;
use schedlab_venue::Monitor;
use serde_json::json;
use std::path::{Path, PathBuf};

/// The columns of the table of checks.
const CHECKS: [(&str, Kind); 14] = [
    ("scenario", Kind::Word),
    ("policy", Kind::Word),
    ("venue", Kind::Word),
    ("metric", Kind::Word),
    ("unit", Kind::Word),
    ("against", Kind::Word),
    ("from.number", Kind::Number),
    ("to.number", Kind::Number),
    ("verdict", Kind::Word),
    ("allowed.least", Kind::Number),
    ("allowed.most", Kind::Number),
    ("change.low", Kind::Number),
    ("change.high", Kind::Number),
    ("why", Kind::Word),
];

/// What came of a gate.
#[pyclass(frozen, module = "schedlab._schedlab")]
pub struct Gated {
    report: Report,
    /// The baseline's file, if it was written.
    written: Option<String>,
}

/// Runs a gate and judges it, or writes its baseline.
#[pyfunction]
#[pyo3(signature = (path, *, update, build, fresh, threads))]
pub fn gate(
    py: Python<'_>,
    path: PathBuf,
    update: bool,
    build: Option<String>,
    fresh: bool,
    threads: Option<&Bound<'_, PyAny>>,
) -> PyResult<Gated> {
    let content = file::text(&path).map_err(|error| unreadable(&path, &error))?;
    let gate = Gate::parse(&content, &path).map_err(IntoPython::into_python)?;
    let (threads, cache) = (convert::threads(threads)?, convert::cache(fresh));
    let gated = interruptible(py, |monitor| -> Result<Gated, GateError> {
        let mut sources = Sources::beside(&path, build.as_deref());
        let plan = Plan::new(gate, &mut sources)?;
        plan.check(update)?;
        let runner = Runner::new(cache.as_ref(), threads, monitor);
        let outcomes = plan.run(&runner)?;
        let mut report = plan.judge(&outcomes);
        if update {
            let written = write_baseline(&path, &plan.measured(&outcomes)?, &plan.baseline_file, monitor)?;
            return Ok(Gated { report: report.accepted(), written: Some(written) });
        }
        plan.explain(&mut report, &outcomes, &mut sources, &runner);
        Ok(Gated { report, written: None })
    })?;
    gated.map_err(IntoPython::into_python)
}

fn write_baseline(gate: &Path, baseline: &Baseline, file: &Path, monitor: &Monitor) -> Result<String, GateError> {
    if monitor.is_stopped() {
        return Err(GateError::Failed("stopped".into()));
    }
    let name = gate.file_name().unwrap_or_default().to_string_lossy();
    let written = Partial::write(file, baseline.to_toml(&name).as_bytes());
    written.map_err(|error| GateError::Failed(format!("cannot write {}: {error}", file.display())))?;
    Ok(file.display().to_string())
}

#[pymethods]
impl Gated {
    /// All of it as JSON.
    fn data(&self) -> PyResult<String> {
        text(&self.report)
    }

    /// As the command line prints it; `all` also shows what did not change.
    fn show(&self, all: bool) -> String {
        match &self.written {
            Some(file) => self.report.updated(file, Style::PLAIN),
            None => self.report.show(all, Style::PLAIN),
        }
    }

    /// A row for each check.
    fn checks(&self) -> Frame {
        let rows = self.report.checks.iter().map(|check| {
            let mut row = flatten(&json!(check));
            row.insert("why".into(), json!(check.why.join("; ")));
            if let Some((low, high)) = check.change {
                row.insert("change.low".into(), json!(low));
                row.insert("change.high".into(), json!(high));
            }
            row
        });
        table(&rows.collect::<Vec<_>>(), &CHECKS).into()
    }

    /// The charts of the page: name, title, caption and specification of each.
    fn charts(&self) -> Vec<(String, String, String, String)> {
        crate::job::charts(&of_gate(&self.report, Provenance::default()), Look::Light)
    }

    /// The page.
    fn html(&self, command: String) -> String {
        of_gate(&self.report, Provenance { commands: vec![command], ..Provenance::default() }).html()
    }

    /// As JUnit XML.
    fn junit(&self) -> String {
        self.report.junit()
    }

    /// As Markdown.
    fn markdown(&self) -> String {
        self.report.markdown()
    }
}

impl IntoPython for GateError {
    fn into_python(self) -> PyErr {
        match self {
            GateError::Venue(error) => error.into_python(),
            GateError::Git(error) => input(error),
            GateError::Input(what) | GateError::NoBaseline(what) => input(what),
            GateError::Failed(what) => failed(what),
        }
    }
}
