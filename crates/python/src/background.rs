//! Long calls: away from the interpreter, with an ear for Ctrl-C.

use crate::error::failed;
use crate::raised::Raised;
use pyo3::prelude::*;
use schedlab_venue::Monitor;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// How often the interpreter is asked for Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(50);

/// Does the work on a thread of its own while other threads of Python continue. Ctrl-C stops it and is raised when it has ended.
pub fn interruptible<T: Send>(py: Python<'_>, work: impl FnOnce(&Monitor) -> T + Send) -> PyResult<T> {
    with_policies(py, &Raised::default(), work)
}

/// The same for work that calls policies in Python: what one of them raises that is no error stops it as Ctrl-C does.
pub fn with_policies<T: Send>(py: Python<'_>, raised: &Raised, work: impl FnOnce(&Monitor) -> T + Send) -> PyResult<T> {
    let monitor = Monitor::default();
    py.detach(|| {
        thread::scope(|scope| {
            let (done, wait) = channel::<()>();
            let monitor = &monitor;
            let worker = scope.spawn(move || {
                let _done = done;
                work(monitor)
            });
            let mut interrupt = None;
            while wait.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                if interrupt.is_none() {
                    interrupt = Python::attach(|py| py.check_signals().and_then(|()| raised.check(py))).err();
                    interrupt.iter().for_each(|_| monitor.stop());
                }
            }
            let outcome = worker.join();
            let interrupt = interrupt.or_else(|| Python::attach(|py| raised.check(py)).err());
            match (interrupt, outcome) {
                (Some(interrupt), _) => Err(interrupt),
                (None, Ok(value)) => Ok(value),
                (None, Err(panic)) => Err(failed(format!("a defect of schedlab: {}", words(&*panic)))),
            }
        })
    })
}

fn words(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}
