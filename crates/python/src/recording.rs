//! Recordings, models of them, and predictions.

use crate::background::interruptible;
use crate::convert;
use crate::error::{IntoPython, failed, input, unreadable};
use crate::frame::Frame;
use crate::job::text;
use crate::rows::{Kind, Row, flatten, table};
use crate::scenario::Scenario;
use pyo3::prelude::*;
use schedlab_boundary::touched::Touched;
use schedlab_campaign::Runner;
use schedlab_charts::Look;
use schedlab_html::Provenance;
use schedlab_infer::{InferError, Price, steps_file};
use schedlab_job::predict::{PredictError, Prediction, Question, predict as predict_with};
use schedlab_policy::PolicySpec;
use schedlab_report::Style;
use schedlab_trace::Partial;
use schedlab_venue::{Order, Place, Policy, Recording, Ring, RoleBy, TraceOf, VenueError};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The columns of the table of a model's roles.
const ROLES: [(&str, Kind); 9] = [
    ("name", Kind::Word),
    ("tasks", Kind::Whole),
    ("items", Kind::Whole),
    ("kept", Kind::Word),
    ("constant", Kind::Truth),
    ("work_p50_ns", Kind::Whole),
    ("work_p99_ns", Kind::Whole),
    ("cpu_frac", Kind::Number),
    ("waits_for", Kind::Word),
];

/// The columns of the table of predicted figures.
const FIGURES: [(&str, Kind); 9] = [
    ("policy", Kind::Word),
    ("cpus", Kind::Whole),
    ("role", Kind::Word),
    ("figure", Kind::Word),
    ("value", Kind::Number),
    ("low", Kind::Number),
    ("high", Kind::Number),
    ("level", Kind::Number),
    ("bias", Kind::Number),
];

/// The columns of the table of a self-check.
const SELF_CHECK: [(&str, Kind); 5] = [
    ("role", Kind::Word),
    ("figure", Kind::Word),
    ("recorded", Kind::Number),
    ("modelled", Kind::Number),
    ("error", Kind::Number),
];

/// What is read, in refusals.
const RECORDING: &str = "the recording";

/// The most CPUs, and the most resamples, of a prediction.
const MOST_CPUS: u32 = 4096;
const MOST_RESAMPLES: u32 = 10_000;

/// A trace that was made of a recording, and what it says.
#[pyclass(frozen, module = "schedlab._schedlab")]
pub struct Recorded {
    recording: Recording,
}

/// Records a command, or the whole machine where there is none.
#[pyfunction]
#[pyo3(signature = (command, output, *, seconds, ring))]
pub fn record(
    py: Python<'_>,
    command: Vec<OsString>,
    output: PathBuf,
    seconds: Option<f64>,
    ring: &str,
) -> PyResult<Recorded> {
    let length = seconds.map(Duration::try_from_secs_f64).transpose();
    let length = length.map_err(|_| input("seconds: a number above 0 is needed"))?;
    if length.is_some_and(|length| length.is_zero()) || (length.is_none() && command.is_empty()) {
        return Err(input("seconds: a number above 0 is needed, or a command to wait for"));
    }
    let ring: Ring = ring.parse().map_err(|wrong| input(format!("ring: {wrong}")))?;
    let order = Order { command: &command, length, ring, trace: &output };
    let recording = interruptible(py, |monitor| schedlab_venue::record(&order, monitor))?;
    whole(recording)
}

/// Makes a trace of what another tool recorded.
#[pyfunction]
#[pyo3(signature = (recording, output, *, by_thread))]
pub fn import_recording(py: Python<'_>, recording: PathBuf, output: PathBuf, by_thread: bool) -> PyResult<Recorded> {
    is_there(&recording)?;
    Touched::default().reads(RECORDING, [&recording]).writes([&output]).check().map_err(input)?;
    let role_by = if by_thread { RoleBy::Thread } else { RoleBy::Program };
    let imported = interruptible(py, |_| schedlab_venue::import(&Place::File(recording), &output, role_by))?;
    whole(imported)
}

/// A file that is not there has an exception of its own.
fn is_there(recording: &Path) -> PyResult<()> {
    std::fs::metadata(recording).map(|_| ()).map_err(|error| unreadable(recording, &error))
}

fn whole(recording: Result<Recording, VenueError>) -> PyResult<Recorded> {
    let mut recording = recording.map_err(IntoPython::into_python)?;
    match recording.unwritten.take() {
        Some(error) => Err(error.into_python()),
        None => Ok(Recorded { recording }),
    }
}

#[pymethods]
impl Recorded {
    /// The result, as JSON.
    fn data(&self) -> PyResult<String> {
        text(&self.recording.result)
    }

    /// As the command line prints it.
    fn show(&self) -> String {
        schedlab_job::recording::page(&self.recording, Style::PLAIN)
    }

    /// How many events the recording lost, by kind.
    fn lost(&self) -> Vec<(String, u64)> {
        self.recording.wholeness.lost.clone()
    }

    /// The exit code of the command, as a shell gives it; none where there was no command, or it had not ended.
    fn exit_code(&self) -> Option<i32> {
        let ended = self.recording.ended?;
        ended.code().or_else(|| ended.signal().map(|signal| 128 + signal))
    }
}

/// A model of a recording.
#[pyclass(frozen, module = "schedlab._schedlab")]
pub struct Modelled {
    model: schedlab_infer::Model,
}

/// Models a recording, and writes the scenario and its steps.
#[pyfunction]
pub fn model(py: Python<'_>, recording: PathBuf, output: PathBuf) -> PyResult<Modelled> {
    is_there(&recording)?;
    if output.extension().is_none_or(|ending| ending != "toml") {
        return Err(input(format!("{}: name a file that ends in .toml", output.display())));
    }
    let written = [output.clone(), steps_file(&output)];
    Touched::default().reads(RECORDING, [&recording]).writes(written).check().map_err(input)?;
    let model = interruptible(py, |_| -> PyResult<_> {
        let trace = TraceOf::recording(&recording).map_err(IntoPython::into_python)?;
        let model = schedlab_infer::model(trace.path(), &steps_file(&output), Price::default());
        let model = model.map_err(IntoPython::into_python)?;
        write(&output, &model.to_toml())?;
        Ok(model)
    })??;
    Ok(Modelled { model })
}

fn write(file: &Path, text: &str) -> PyResult<()> {
    let written = Partial::write(file, text.as_bytes());
    written.map_err(|error| failed(format!("cannot write {}: {error}", file.display())))
}

#[pymethods]
impl Modelled {
    /// What the model knows of itself, as JSON.
    fn data(&self) -> String {
        self.model.report.to_json().to_string()
    }

    /// As the command line prints it.
    fn show(&self) -> String {
        self.model.report.show(Style::PLAIN)
    }

    /// The scenario, with its steps.
    fn scenario(&self) -> Scenario {
        Scenario { model: self.model.scenario.clone() }
    }

    /// A row for each role.
    fn roles(&self) -> Frame {
        let data = self.model.report.to_json();
        let rows = data["roles"].as_array().into_iter().flatten().map(|role| {
            let mut row = flatten(role);
            row.insert("waits_for".into(), json!(words(&role["waits_for"])));
            row
        });
        table(&rows.collect::<Vec<_>>(), &ROLES).into()
    }
}

fn words(list: &Value) -> String {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
}

/// What other schedulers would do.
#[pyclass(frozen, module = "schedlab._schedlab")]
pub struct Predicted {
    prediction: Prediction,
}

/// Predicts what other schedulers would do to what was recorded.
#[pyfunction]
#[pyo3(signature = (recording, policies, *, cpus, recorded, resamples, threads))]
pub fn predict(
    py: Python<'_>,
    recording: PathBuf,
    policies: Vec<String>,
    cpus: Vec<Bound<'_, PyAny>>,
    recorded: Option<&str>,
    resamples: &Bound<'_, PyAny>,
    threads: Option<&Bound<'_, PyAny>>,
) -> PyResult<Predicted> {
    is_there(&recording)?;
    let parsed: Result<Vec<_>, _> = policies.iter().map(|text| PolicySpec::parse_list(text)).collect();
    let policies: Vec<PolicySpec> = parsed.map_err(input)?.into_iter().flatten().collect();
    if policies.is_empty() {
        return Err(input("policy: at least one is needed"));
    }
    // Before the work that needs none of them.
    policies.iter().try_for_each(|spec| Policy::find(spec).map(drop)).map_err(IntoPython::into_python)?;
    let cpus =
        cpus.iter().map(|number| convert::whole(number, "cpus", 1, MOST_CPUS)).collect::<PyResult<Vec<u32>>>()?;
    let resamples = convert::whole(resamples, "resamples", 0, MOST_RESAMPLES)?;
    let recorded = recorded.map(PolicySpec::parse).transpose().map_err(input)?;
    let threads = convert::threads(threads)?;
    let prediction = interruptible(py, |monitor| -> PyResult<_> {
        let trace = TraceOf::recording(&recording).map_err(IntoPython::into_python)?;
        let folder = tempfile::tempdir().map_err(failed)?;
        let steps = &steps_file(&folder.path().join("model.toml"));
        let question = Question { trace: trace.path(), steps, policies, cpus, recorded, resamples };
        predict_with(&question, &Runner::new(None, threads, monitor)).map_err(IntoPython::into_python)
    })??;
    Ok(Predicted { prediction })
}

#[pymethods]
impl Predicted {
    /// All of it as JSON.
    fn data(&self) -> String {
        self.prediction.to_json().to_string()
    }

    /// As the command line prints it.
    fn show(&self) -> String {
        self.prediction.show(Style::PLAIN)
    }

    /// Why nothing is predicted, if nothing is.
    fn refusal(&self) -> Option<String> {
        self.prediction.refusal()
    }

    /// The charts of the page: name, title, caption and specification of each.
    fn charts(&self) -> Vec<(String, String, String, String)> {
        crate::job::charts(&self.prediction.page("RECORDING", Provenance::default()), Look::Light)
    }

    /// The page.
    fn html(&self, recording: &str, command: String) -> String {
        let facts = vec![("schedlab".to_string(), env!("CARGO_PKG_VERSION").to_string())];
        self.prediction.page(recording, Provenance { facts, commands: vec![command], ..Provenance::default() }).html()
    }

    /// A row for each policy, number of CPUs, role and figure.
    fn figures(&self) -> Frame {
        let data = self.prediction.to_json();
        let cells = data["cells"].as_array().into_iter().flatten();
        let rows = cells.flat_map(|cell| {
            let figures = cell["figures"].as_array().into_iter().flatten();
            figures.map(move |figure| {
                let mut row: Row = flatten(&json!({ "policy": cell["policy"], "cpus": cell["cpus"] }));
                row.extend(flatten(figure));
                row
            })
        });
        table(&rows.collect::<Vec<_>>(), &FIGURES).into()
    }

    /// A row for each figure of the self-check.
    fn self_check(&self) -> Frame {
        let data = self.prediction.to_json();
        let rows: Vec<Row> = data["self_check"].as_array().into_iter().flatten().map(flatten).collect();
        table(&rows, &SELF_CHECK).into()
    }
}

impl IntoPython for InferError {
    fn into_python(self) -> PyErr {
        match self {
            InferError::Trace(error) => error.into_python(),
            InferError::Disk(_) => failed(self),
            InferError::Empty | InferError::Fluid | InferError::TooLong { .. } => input(self),
        }
    }
}

impl IntoPython for PredictError {
    fn into_python(self) -> PyErr {
        match self {
            PredictError::Model(error) => error.into_python(),
            PredictError::Venue(error) => error.into_python(),
            PredictError::Trace(error) => error.into_python(),
            PredictError::Baseline(_) | PredictError::Twice(_) => input(self),
            PredictError::Stopped => failed(self),
        }
    }
}
