//! Scenarios.

use crate::convert;
use crate::error::{IntoPython, failed, input, not_found, unreadable};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use schedlab_catalogue as catalogue;
use schedlab_model::scenario::Scenario as Model;
use std::path::{Path, PathBuf};
use toml::Value;

/// What the tasks do, and on what machine: the contents of a scenario file.
///
/// `Scenario(name=…, machine={…}, task=[{…}], run={…})` takes the names of the file's keys; times are texts with a unit
/// (`"5ms"`). Scenarios do not change: `replace` gives another one.
#[pyclass(frozen, eq, from_py_object, module = "schedlab")]
#[derive(Clone, PartialEq)]
pub struct Scenario {
    pub model: Model,
}

#[pymethods]
impl Scenario {
    #[new]
    #[pyo3(signature = (**keys))]
    fn new(keys: Option<Bound<'_, PyDict>>) -> PyResult<Scenario> {
        let Some(keys) = keys else { return Err(input("scenario: the key `name` is missing")) };
        Scenario::from_dict(keys.as_any())
    }

    /// Reads a scenario file.
    #[staticmethod]
    fn from_file(path: PathBuf) -> PyResult<Scenario> {
        std::fs::metadata(&path).map_err(|error| unreadable(&path, &error))?;
        // With a folder no name of a shipped scenario is meant.
        let path = if path.is_relative() { Path::new(".").join(path) } else { path };
        Scenario::load(path.to_str().ok_or_else(|| input("scenario: this path is no Unicode"))?)
    }

    /// Reads the text of a scenario file.
    #[staticmethod]
    fn from_toml(text: &str) -> PyResult<Scenario> {
        Ok(Scenario { model: Model::parse(text, "scenario").map_err(IntoPython::into_python)? })
    }

    /// Reads a dictionary with the keys of a scenario file.
    #[staticmethod]
    fn from_dict(keys: &Bound<'_, PyAny>) -> PyResult<Scenario> {
        let table = convert::table(keys, "scenario")?;
        Ok(Scenario { model: Model::from_table(table, "scenario").map_err(IntoPython::into_python)? })
    }

    /// A shipped scenario, or a file.
    #[staticmethod]
    fn load(name: &str) -> PyResult<Scenario> {
        Ok(Scenario { model: catalogue::load(name).map_err(|error| not_found(name, error))? })
    }

    /// The scenario with other values, by their paths: `replace({"task.worker.count": 3, "run.duration": "5s"})`.
    fn replace(&self, values: &Bound<'_, PyAny>) -> PyResult<Scenario> {
        let mut model = self.model.clone();
        for (path, value) in convert::table(values, "values")? {
            model = model.with(&path, &value).map_err(IntoPython::into_python)?;
        }
        Ok(Scenario { model })
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.model.name
    }

    /// What it is for.
    #[getter]
    fn about(&self) -> &str {
        &self.model.about
    }

    /// As the text of a scenario file.
    fn to_toml(&self) -> String {
        self.model.to_toml()
    }

    fn __repr__(&self) -> String {
        format!("Scenario({:?})", self.model.name)
    }

    /// How another process has it back.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let model = &slf.get().model;
        if !model.step_files().is_empty() {
            let line = "a scenario with recorded steps cannot be copied to another process: read its file there";
            return Err(PyTypeError::new_err(line));
        }
        Ok((slf.get_type().getattr("from_toml")?, (model.to_toml(),)))
    }

    fn __hash__(&self) -> u64 {
        u64::from_str_radix(&self.model.hash()[..16], 16).unwrap_or_default()
    }
}

impl Scenario {
    /// As a value of another file's language; `path` names it in errors.
    pub fn value(&self, path: &str) -> PyResult<Value> {
        if !self.model.step_files().is_empty() {
            return Err(input(format!("{path}: a scenario with recorded steps is in a file: write the file's path")));
        }
        Value::try_from(&self.model).map_err(failed)
    }
}

/// The scenario that a user means: one that is there, a dictionary, a file, or a shipped one by name.
pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Scenario> {
    if let Ok(scenario) = object.cast::<Scenario>() {
        return Ok(scenario.get().clone());
    }
    if object.is_instance_of::<PyDict>() {
        return Scenario::from_dict(object);
    }
    let wrong = || PyTypeError::new_err("scenario: a Scenario, a name, a path or a dictionary is needed");
    let path = convert::path(object).ok_or_else(wrong)?;
    let text = path.to_str().ok_or_else(|| input("scenario: this path is no Unicode"))?;
    Scenario::load(text)
}
