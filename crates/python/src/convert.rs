//! Python's objects as values of the scenario and sweep languages.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::path::PathBuf;
use toml::{Table, Value};

/// Deeper than this no scenario is; a list that holds itself is.
const DEEPEST: usize = 64;

/// A table. What cannot stand in one is told with its path.
pub fn table(object: &Bound<'_, PyAny>, path: &str) -> PyResult<Table> {
    match value(object, path, 0)? {
        Value::Table(table) => Ok(table),
        _ => Err(PyTypeError::new_err(format!("{path}: a dictionary is needed, not {}", kind(object)))),
    }
}

/// A single value.
pub fn value(object: &Bound<'_, PyAny>, path: &str, depth: usize) -> PyResult<Value> {
    if depth > DEEPEST {
        return Err(PyValueError::new_err(format!("{path}: this is nested too deeply")));
    }
    if object.is_instance_of::<PyBool>() {
        Ok(Value::Boolean(object.extract()?))
    } else if object.is_instance_of::<PyInt>() {
        let number = object.extract::<i64>();
        number.map(Value::Integer).map_err(|_| PyValueError::new_err(format!("{path}: {object} is too large")))
    } else if object.is_instance_of::<PyFloat>() {
        match object.extract::<f64>()? {
            number if number.is_finite() => Ok(Value::Float(number)),
            number => Err(PyValueError::new_err(format!("{path}: {number} is no number"))),
        }
    } else if object.is_instance_of::<PyString>() {
        Ok(Value::String(text(object, path)?))
    } else if let Ok(table) = object.cast::<PyDict>() {
        Ok(Value::Table(entries(table, path, depth)?))
    } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        let item = |(index, item): (usize, PyResult<_>)| value(&item?, &format!("{path}[{index}]"), depth + 1);
        object.try_iter()?.enumerate().map(item).collect::<PyResult<_>>().map(Value::Array)
    } else {
        let wanted = "a number, a text, a truth value, a list or a dictionary";
        Err(PyTypeError::new_err(format!("{path}: {wanted} is needed, not {}", kind(object))))
    }
}

fn entries(table: &Bound<'_, PyDict>, path: &str, depth: usize) -> PyResult<Table> {
    let mut entries = Table::new();
    for (key, item) in table {
        if !key.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err(format!("{path}: a key is a text, not {}", kind(&key))));
        }
        let key = text(&key, path)?;
        let value = value(&item, &format!("{path}.{key}"), depth + 1)?;
        entries.insert(key, value);
    }
    Ok(entries)
}

fn text(object: &Bound<'_, PyAny>, path: &str) -> PyResult<String> {
    // Half a surrogate pair is a Python text and no other's.
    object.extract().map_err(|_| PyValueError::new_err(format!("{path}: this text is no Unicode")))
}

/// The path that a `str` or an `os.PathLike` names; none for anything else.
pub fn path(object: &Bound<'_, PyAny>) -> Option<PathBuf> {
    object.extract().ok()
}

fn kind(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "this".into(), |name| name.to_string())
}
