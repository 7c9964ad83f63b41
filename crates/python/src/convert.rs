//! Python's objects as values of the scenario and sweep languages.

use crate::error::input;
use crate::scenario::Scenario;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyRange, PyString, PyTuple, PyType};
use schedlab_campaign::Cache;
use schedlab_job::MOST_RUNS;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use toml::{Table, Value};

/// Deeper than this no scenario is; a list that holds itself is.
const DEEPEST: usize = 64;

/// A table. What cannot are in one is reported with its path.
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
            number => Err(PyValueError::new_err(format!("{path}: {number} is not a number"))),
        }
    } else if object.is_instance_of::<PyString>() {
        Ok(Value::String(text(object, path)?))
    } else if let Ok(table) = object.cast::<PyDict>() {
        Ok(Value::Table(entries(table, path, depth)?))
    } else if object.is_instance_of::<PyList>()
        || object.is_instance_of::<PyTuple>()
        || object.is_instance_of::<PyRange>()
    {
        let item = |(index, item): (usize, PyResult<_>)| value(&item?, &format!("{path}[{index}]"), depth + 1);
        object.try_iter()?.enumerate().map(item).collect::<PyResult<_>>().map(Value::Array)
    } else if let Ok(scenario) = object.cast::<Scenario>() {
        scenario.get().value(path)
    } else if object.hasattr("__fspath__")? && !object.is_instance_of::<PyType>() {
        value(&object.call_method0("__fspath__")?, path, depth + 1)
    } else if is_policy_class(object) {
        let line = "what a policy in Python decides depends on the program around it, so it is not a value here; \
                    write it in C, or call `run` in a loop";
        Err(input(format!("{path}: {line}")))
    } else if !object.is_instance_of::<PyType>() && object.hasattr("tolist")? {
        // A number or an array of numpy, a column of pandas.
        value(&object.call_method0("tolist")?, path, depth + 1)
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

/// A seed.
pub fn seed(object: &Bound<'_, PyAny>) -> PyResult<u64> {
    whole(object, "seed", 0, u64::MAX)
}

/// How many runs.
pub fn runs(object: &Bound<'_, PyAny>) -> PyResult<u32> {
    whole(object, "runs", 1, MOST_RUNS)
}

/// How many runs at once; one for each core when absent.
pub fn threads(object: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
    object.map(|object| whole(object, "threads", 1, u32::MAX)).transpose().map(schedlab_campaign::threads)
}

/// The cache of the user; with `fresh` it keeps runs and gives none. Nothing where there can be none.
pub fn cache(fresh: bool) -> Option<Cache> {
    let cache = Cache::of_user().ok().flatten()?;
    Some(if fresh { cache.forgetful() } else { cache })
}

/// A whole number of an argument, in its bounds.
pub fn whole<T: TryFrom<u64> + Into<u64>>(object: &Bound<'_, PyAny>, name: &str, least: u64, most: T) -> PyResult<T> {
    let number = within(object, name, least..=most.into())?;
    T::try_from(number).map_err(|_| input(format!("{name}: {number} is too large")))
}

/// A whole number in its bounds, which may be negative: of Python, numpy, or anything with `__index__`.
pub fn within<'py, T>(object: &Bound<'py, PyAny>, name: &str, bounds: RangeInclusive<T>) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py> + PartialOrd + Display,
{
    let wrong = |_| PyTypeError::new_err(format!("{name}: a whole number is needed, not {}", kind(object)));
    let number = object.call_method0("__index__").map_err(wrong)?;
    let fits = number.extract::<T>().ok().filter(|number| bounds.contains(number));
    fits.ok_or_else(|| {
        let (least, most) = (bounds.start(), bounds.end());
        input(format!("{name}: a whole number from {least} to {most} is needed, not {number}"))
    })
}

/// Whether it is a class of `schedlab.policy.Policy`.
pub fn is_policy_class(object: &Bound<'_, PyAny>) -> bool {
    let base = || object.py().import("schedlab.policy")?.getattr("Policy");
    object.cast::<PyType>().is_ok_and(|class| base().and_then(|base| class.is_subclass(&base)).unwrap_or(false))
}

/// The path that a `str` or an `os.PathLike` names; none for anything else.
pub fn path(object: &Bound<'_, PyAny>) -> Option<PathBuf> {
    object.extract().ok()
}

fn kind(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "this".into(), |name| name.to_string())
}
