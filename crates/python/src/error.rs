//! Errors as exceptions, each with the line that the command line prints.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use schedlab_boundary::Shown;
use schedlab_catalogue::CatalogueError;
use schedlab_model::scenario::ScenarioError;
use schedlab_sweep::DatasetError;
use schedlab_venue::{ErrorClass, VenueError};
use std::io;
use std::path::Path;

/// Input that cannot be used: `schedlab.InputError`.
pub fn input(line: impl ToString) -> PyErr {
    raise("InputError", line.to_string())
}

/// The input was good, and yet it did not work: `schedlab.RunError`.
pub fn failed(line: impl ToString) -> PyErr {
    raise("RunError", line.to_string())
}

/// A name or a file that is not there: `schedlab.NotFoundError`.
pub fn missing(line: impl ToString) -> PyErr {
    raise("NotFoundError", line.to_string())
}

/// A file that cannot be read.
pub fn unreadable(path: &Path, error: &io::Error) -> PyErr {
    let line = format!("{}: the file cannot be read: {error}", path.display());
    if error.kind() == io::ErrorKind::NotFound { missing(line) } else { input(line) }
}

fn raise(class: &str, line: String) -> PyErr {
    let line = Shown::message(&line).into_string();
    Python::attach(|py| match py.import("schedlab.errors").and_then(|errors| errors.getattr(class)) {
        Ok(class) => match class.call1((line,)) {
            Ok(error) => PyErr::from_value(error),
            Err(error) => error,
        },
        // The module is used without its package.
        Err(_) => PyRuntimeError::new_err(line),
    })
}

/// What the library says, as an exception.
pub trait IntoPython {
    /// The exception.
    fn into_python(self) -> PyErr;
}

impl IntoPython for VenueError {
    fn into_python(self) -> PyErr {
        match self.class() {
            ErrorClass::WrongInput => input(self),
            ErrorClass::Failed => failed(self),
        }
    }
}

impl IntoPython for ScenarioError {
    fn into_python(self) -> PyErr {
        VenueError::from(self).into_python()
    }
}

impl IntoPython for CatalogueError {
    fn into_python(self) -> PyErr {
        match self {
            CatalogueError::Unknown(line) => missing(line),
            CatalogueError::Scenario(error) => error.into_python(),
        }
    }
}

impl IntoPython for DatasetError {
    fn into_python(self) -> PyErr {
        match self {
            DatasetError::Part { .. } => input(self),
            DatasetError::File { .. } => failed(self),
        }
    }
}

impl IntoPython for schedlab_trace::Error {
    fn into_python(self) -> PyErr {
        match &self {
            schedlab_trace::Error::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => missing(self),
            _ => VenueError::from(self).into_python(),
        }
    }
}
