//! Sweeps: their plan, their table, and parts of one for the other made elsewhere.

use crate::background::interruptible;
use crate::convert;
use crate::error::{IntoPython, unreadable};
use crate::frame::Frame;
use crate::scenario::Scenario;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use schedlab_boundary::file;
use schedlab_campaign::Runner;
use schedlab_catalogue::load_beside;
use schedlab_charts::Look;
use schedlab_html::{Document, Listing, Provenance, of_sweep};
use schedlab_sweep::{Dataset, Plan as Model, Sweep, carry_out, make};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The runs of a sweep, in their order.
#[pyclass(frozen, module = "schedlab._schedlab")]
pub struct Plan {
    model: Model,
    title: String,
    source: Source,
}

/// Where a plan comes from.
enum Source {
    /// A file, by its folder.
    File(PathBuf),
    /// A dictionary, and the scenario in it if that is an object.
    Table { table: toml::Table, scenario: Option<Box<Scenario>> },
}

#[pymethods]
impl Plan {
    /// Of a sweep's file, or of a dictionary with its keys.
    #[new]
    #[pyo3(signature = (spec, threads=None))]
    fn new(py: Python<'_>, spec: &Bound<'_, PyAny>, threads: Option<&Bound<'_, PyAny>>) -> PyResult<Plan> {
        let (sweep, source) = sweep(spec)?;
        let threads = convert::threads(threads)?;
        let model = interruptible(py, |_| {
            let folder = source.folder();
            let scenario = |name: &str| match &source {
                Source::Table { scenario: Some(scenario), .. } => Ok(scenario.model.clone()),
                _ => load_beside(folder, name).map_err(|error| error.to_string()),
            };
            Model::new(&sweep, &scenario, folder, threads)
        })?;
        Ok(Plan { model: model.map_err(IntoPython::into_python)?, title: sweep.title(), source })
    }

    /// The dictionary as JSON, for another process; none of a file.
    fn text(&self) -> PyResult<Option<String>> {
        let Source::Table { table, scenario } = &self.source else { return Ok(None) };
        let mut table = table.clone();
        if let Some(scenario) = scenario {
            table.insert("scenario".into(), scenario.value("sweep.scenario")?);
        }
        crate::job::text(&table).map(Some)
    }

    /// The sweep's name and what it is for.
    #[getter]
    fn title(&self) -> &str {
        &self.title
    }

    /// The name of each run, made of all that goes into it.
    fn names(&self) -> Vec<&str> {
        self.model.runs.iter().map(|run| run.name.as_str()).collect()
    }

    fn __len__(&self) -> usize {
        self.model.runs.len()
    }

    /// Makes some of the runs, by their places; a part that a table takes.
    fn make<'py>(&self, py: Python<'py>, runs: Vec<usize>) -> PyResult<Bound<'py, PyBytes>> {
        if let Some(run) = runs.iter().find(|run| **run >= self.model.runs.len()) {
            return Err(PyIndexError::new_err(format!("there is no run {run}")));
        }
        let part = interruptible(py, |monitor| make(&self.model, &runs, monitor))?;
        Ok(PyBytes::new(py, &part))
    }
}

/// The sweep that a user means, and where it comes from.
fn sweep(spec: &Bound<'_, PyAny>) -> PyResult<(Sweep, Source)> {
    if let Ok(spec) = spec.cast::<PyDict>() {
        let (spec, scenario) = without_scenario(spec)?;
        let table = convert::table(spec.as_any(), "sweep")?;
        let sweep = Sweep::from_table(table.clone(), "sweep").map_err(IntoPython::into_python)?;
        return Ok((sweep, Source::Table { table, scenario }));
    }
    let wrong = || PyTypeError::new_err("spec: a path or a dictionary is needed");
    let path = convert::path(spec).ok_or_else(wrong)?;
    let text = file::text(&path).map_err(|error| unreadable(&path, &error))?;
    let sweep = Sweep::parse(&text, &path.display().to_string()).map_err(IntoPython::into_python)?;
    Ok((sweep, Source::File(path.parent().map_or_else(PathBuf::new, Path::to_path_buf))))
}

/// The dictionary with the name of its scenario, and the scenario, where that is an object.
fn without_scenario<'py>(spec: &Bound<'py, PyDict>) -> PyResult<(Bound<'py, PyDict>, Option<Box<Scenario>>)> {
    let found = spec.get_item("scenario")?;
    let Some(scenario) = found.as_ref().and_then(|scenario| scenario.cast::<Scenario>().ok()) else {
        return Ok((spec.clone(), None));
    };
    let spec = spec.copy()?;
    spec.set_item("scenario", &scenario.get().model.name)?;
    Ok((spec, Some(Box::new(scenario.get().clone()))))
}

impl Source {
    /// From where names of files count.
    fn folder(&self) -> &Path {
        match self {
            Source::File(folder) => folder,
            Source::Table { .. } => Path::new(""),
        }
    }
}

/// A sweep's table on disk.
#[pyclass(frozen, module = "schedlab._schedlab")]
pub struct Table {
    model: Mutex<Dataset>,
}

#[pymethods]
impl Table {
    /// The table in a folder, which is made where it is not there.
    #[new]
    fn new(folder: PathBuf, plan: &Bound<'_, Plan>) -> PyResult<Table> {
        let dataset = Dataset::open(&folder, &plan.get().model).map_err(IntoPython::into_python)?;
        Ok(Table { model: Mutex::new(dataset) })
    }

    /// The places of the runs that are not there.
    fn missing(&self) -> Vec<usize> {
        self.locked().missing().collect()
    }

    /// How many runs that are there failed.
    fn failed(&self) -> usize {
        self.locked().failed()
    }

    /// Makes what is missing, on this machine.
    fn carry_out(&self, py: Python<'_>, plan: &Bound<'_, Plan>, threads: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let (plan, threads) = (&plan.get().model, convert::threads(threads)?);
        let cache = convert::cache(false);
        let summary = interruptible(py, |monitor| {
            carry_out(plan, &mut self.locked(), &Runner::new(cache.as_ref(), threads, monitor))
        })?;
        summary.map(|_| ()).map_err(IntoPython::into_python)
    }

    /// Takes in a part that `Plan.make` made, here or elsewhere.
    fn add(&self, plan: &Bound<'_, Plan>, part: &Bound<'_, PyBytes>) -> PyResult<()> {
        self.locked().take(&plan.get().model, part.as_bytes()).map_err(IntoPython::into_python)
    }

    /// All rows.
    fn frame(&self, py: Python<'_>, plan: &Bound<'_, Plan>) -> PyResult<Frame> {
        let plan = &plan.get().model;
        let read = interruptible(py, |_| self.locked().batches(plan))?;
        let (schema, batches) = read.map_err(IntoPython::into_python)?;
        Ok(Frame::new(schema, batches))
    }

    /// The charts of the page: name, title, caption and specification of each.
    fn charts(&self, py: Python<'_>, plan: &Bound<'_, Plan>) -> PyResult<Vec<(String, String, String, String)>> {
        Ok(crate::job::charts(&self.page(py, plan, Provenance::default())?, Look::Light))
    }

    /// The page. The listings are scenarios that no file has: the name and the text of each.
    fn html(
        &self,
        py: Python<'_>,
        plan: &Bound<'_, Plan>,
        command: String,
        listings: Vec<(String, String)>,
    ) -> PyResult<String> {
        let files = listings.iter().map(|(name, text)| Listing::file(name, text)).collect();
        Ok(self.page(py, plan, Provenance { commands: vec![command], files, ..Provenance::default() })?.html())
    }
}

impl Table {
    fn page(&self, py: Python<'_>, plan: &Bound<'_, Plan>, provenance: Provenance) -> PyResult<Document> {
        let Plan { model, title, .. } = plan.get();
        let measured = interruptible(py, |_| self.locked().measured(model))?;
        Ok(of_sweep(title, &measured.map_err(IntoPython::into_python)?, provenance))
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Dataset> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
