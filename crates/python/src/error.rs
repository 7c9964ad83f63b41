//! Errors as exceptions, each with the line that the command line prints.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use schedlab_boundary::Shown;
use schedlab_catalogue::CatalogueError;
use schedlab_model::scenario::ScenarioError;
use schedlab_policy::{CompileError, FindError};
use schedlab_sweep::DatasetError;
use schedlab_venue::{ErrorClass, VenueError};
use std::io;
use std::path::Path;

/// Input that cannot be used: `schedlab.InputError`.
pub fn input(line: impl ToString) -> PyErr {
    raise("InputError", line.to_string(), None)
}

/// The input was good, and yet it did not work: `schedlab.RunError`.
pub fn failed(line: impl ToString) -> PyErr {
    raise("RunError", line.to_string(), None)
}

/// A name that is not there: `schedlab.NotFoundError`.
pub fn missing(line: impl ToString) -> PyErr {
    raise("NotFoundError", line.to_string(), None)
}

/// A file that is not there: the same with its path.
fn missing_file(line: impl ToString, path: &Path) -> PyErr {
    raise("NotFoundError", line.to_string(), Some(path))
}

/// A file that cannot be read.
pub fn unreadable(path: &Path, error: &io::Error) -> PyErr {
    unread(format!("{}: the file cannot be read: {error}", path.display()), path, error)
}

/// The same in other words.
fn unread(line: impl ToString, path: &Path, error: &io::Error) -> PyErr {
    if error.kind() == io::ErrorKind::NotFound { missing_file(line, path) } else { input(line) }
}

/// Why what a text names, a file or something that ships, cannot be had.
pub fn not_found(text: &str, error: CatalogueError) -> PyErr {
    let path = Path::new(text);
    match error {
        CatalogueError::Unknown(line) if path.exists() => input(line),
        CatalogueError::Unknown(line) if text.contains('/') || path.extension().is_some() => missing_file(line, path),
        CatalogueError::Unknown(line) => missing(line),
        error @ CatalogueError::Trace(_) => input(error),
        CatalogueError::Scenario(error) => error.into_python(),
    }
}

fn raise(class: &str, line: String, file: Option<&Path>) -> PyErr {
    let line = Shown::message(&line).into_string();
    Python::attach(|py| match py.import("schedlab.errors").and_then(|errors| errors.getattr(class)) {
        Ok(class) => {
            let error = match file {
                Some(file) => class.call1((line, file.as_os_str())),
                None => class.call1((line,)),
            };
            error.map_or_else(|error| error, PyErr::from_value)
        }
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
        match &self {
            VenueError::Find(FindError::Unknown(_)) => missing(self),
            VenueError::Find(
                FindError::Object { path, error } | FindError::Compile(CompileError::Source { path, error }),
            ) => unread(&self, path, error),
            _ => match self.class() {
                ErrorClass::WrongInput => input(self),
                ErrorClass::Failed => failed(self),
            },
        }
    }
}

impl IntoPython for ScenarioError {
    fn into_python(self) -> PyErr {
        VenueError::from(self).into_python()
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
            schedlab_trace::Error::Read { path, source } => unread(&self, path, source),
            _ => VenueError::from(self).into_python(),
        }
    }
}
