//! What policies in Python raise.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most exceptions that are kept: each holds on to the frames that it came through.
const MOST: usize = 64;

/// The exceptions that the policies of one call raised. The error of a run tells of one in a line; here it is whole.
#[derive(Clone, Default)]
pub struct Raised(Arc<Kept>);

#[derive(Default)]
struct Kept {
    all: Mutex<Vec<Exception>>,
    /// Whether one of them ends everything.
    is_over: AtomicBool,
}

struct Exception {
    /// The name of the policy.
    policy: String,
    /// What it says.
    says: String,
    error: PyErr,
}

impl Raised {
    /// Keeps an exception of a policy, and gives it in a line. `called` is the method or the class that was called.
    pub fn keep(&self, policy: &str, called: &Bound<'_, PyAny>, error: PyErr) -> String {
        let (says, line) = told(called, &error);
        let ends_all = ends_all(called.py(), &error);
        let mut all = self.locked();
        if all.len() < MOST || ends_all {
            all.push(Exception { policy: policy.into(), says, error });
        }
        self.0.is_over.fetch_or(ends_all, Ordering::Relaxed);
        line
    }

    /// Whether a policy raised what ends the whole call, so that no run needs to go on.
    pub fn is_over(&self) -> bool {
        self.0.is_over.load(Ordering::Relaxed)
    }

    /// Fails with what is no error of a policy and ends the whole call: `KeyboardInterrupt`, `SystemExit`.
    pub fn check(&self, py: Python<'_>) -> PyResult<()> {
        if !self.is_over() {
            return Ok(());
        }
        let all = self.locked();
        let found = all.iter().find(|one| ends_all(py, &one.error));
        found.map_or(Ok(()), |one| Err(one.error.clone_ref(py)))
    }

    /// The exception that a message about a policy tells of.
    pub fn behind(&self, py: Python<'_>, message: &str) -> Option<PyErr> {
        let all = self.locked();
        let of_policy = |one: &&Exception| message.starts_with(&format!("policy {}: ", one.policy));
        let found = all.iter().filter(of_policy).find(|one| message.contains(&one.says));
        found.or_else(|| all.iter().find(of_policy)).map(|one| one.error.clone_ref(py))
    }

    /// The error, with the exception that it tells of as its cause.
    pub fn explain(&self, py: Python<'_>, error: PyErr) -> PyErr {
        if let Some(cause) = self.behind(py, &error.value(py).to_string()) {
            error.set_cause(py, Some(cause));
        }
        error
    }

    fn locked(&self) -> MutexGuard<'_, Vec<Exception>> {
        self.0.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether it is no error of the policy, as Ctrl-C.
fn ends_all(py: Python<'_>, error: &PyErr) -> bool {
    !error.is_instance_of::<PyException>(py)
}

/// What an exception says, and a line with the user's code that raised it.
fn told(called: &Bound<'_, PyAny>, error: &PyErr) -> (String, String) {
    let py = called.py();
    // Only this puts the traceback into the object, where Python looks for it.
    let value = error.clone_ref(py).into_value(py);
    let told = py.import("schedlab._raised").and_then(|module| module.call_method1("told", (value, called)));
    told.and_then(|told| told.extract()).unwrap_or_else(|_| (error.to_string(), error.to_string()))
}
