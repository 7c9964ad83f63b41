//! Python's objects as words of the kernel, and words as objects.

use crate::convert::within;
use crate::kernel::Task;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBool;
use schedlab_venue::Word;

/// An argument of a kernel function; `what` names it in errors.
pub fn argument(object: &Bound<'_, PyAny>, kind: Word, what: &str) -> PyResult<u64> {
    match kind {
        Word::Pointer => address(object, what),
        _ if object.cast::<Task>().is_ok() => {
            Err(PyTypeError::new_err(format!("{what}: a number is needed, not a task")))
        }
        Word::Signed32 => signed(object, what),
        Word::Signed64 => within::<i64>(object, what, i64::MIN..=i64::MAX).map(|number| number as u64),
        Word::Truth => within::<u64>(object, what, 0..=1),
        Word::Unsigned32 => within::<u64>(object, what, 0..=u64::from(u32::MAX)),
        Word::Unsigned64 | Word::Nothing => within::<u64>(object, what, 0..=u64::MAX),
    }
}

/// A task, what a kernel function gave, or nothing.
fn address(object: &Bound<'_, PyAny>, what: &str) -> PyResult<u64> {
    if object.is_none() {
        return Ok(0);
    }
    match object.cast::<Task>() {
        Ok(task) => Ok(task.get().address()),
        Err(_) => within::<u64>(object, what, 0..=u64::MAX),
    }
}

/// A number of 32 bits with a sign.
fn signed(object: &Bound<'_, PyAny>, what: &str) -> PyResult<u64> {
    within::<i64>(object, what, i64::from(i32::MIN)..=i64::from(i32::MAX)).map(|number| number as i32 as u32 as u64)
}

/// What a kernel function gives.
pub fn result(py: Python<'_>, kind: Word, word: u64) -> PyResult<Bound<'_, PyAny>> {
    Ok(match kind {
        Word::Nothing => 0_i32.into_pyobject(py)?.into_any(),
        Word::Truth => PyBool::new(py, word as u8 != 0).to_owned().into_any(),
        Word::Signed32 => (word as i32).into_pyobject(py)?.into_any(),
        Word::Signed64 => (word as i64).into_pyobject(py)?.into_any(),
        Word::Unsigned32 => (word as u32).into_pyobject(py)?.into_any(),
        Word::Unsigned64 | Word::Pointer => word.into_pyobject(py)?.into_any(),
    })
}

/// What an operation returns to the kernel.
pub fn returned(object: &Bound<'_, PyAny>, operation: &str) -> PyResult<u64> {
    match operation {
        "init" | "init_task" if object.is_none() => Ok(0),
        "init" => signed(object, "the result of init"),
        "init_task" => signed(object, "the result of init_task"),
        "select_cpu" if object.is_none() => {
            Err(PyTypeError::new_err("select_cpu returns None: return the number of the CPU for the task"))
        }
        "select_cpu" => signed(object, "the result of select_cpu"),
        "yield_" => object.is_truthy().map(u64::from),
        // A kernel does not look at what the others return.
        _ => Ok(0),
    }
}
