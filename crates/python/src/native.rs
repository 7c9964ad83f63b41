//! Policies that are classes of Python: slow, and for the simulator alone.

use crate::error::{failed, input};
use crate::kernel::{Kernel, Task};
use crate::raised::Raised;
use crate::words::{argument, returned};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};
use schedlab_venue::{KernelCalls, Native, NativeMaker, Policy, VenueError, Word, refused_flags};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What an operation's words are.
#[derive(Clone, Copy)]
enum Argument {
    Task,
    Signed,
    Unsigned,
    Flag,
}

use Argument::{Flag, Signed, Task as ATask, Unsigned};

/// The operations that a class may have, with their arguments.
const OPERATIONS: &[(&str, &[Argument])] = &[
    ("init", &[]),
    ("exit", &[]),
    ("init_task", &[ATask]),
    ("exit_task", &[ATask]),
    ("enable", &[ATask]),
    ("disable", &[ATask]),
    ("set_weight", &[ATask, Unsigned]),
    ("set_cpumask", &[ATask]),
    ("select_cpu", &[ATask, Signed, Unsigned]),
    ("runnable", &[ATask, Unsigned]),
    ("enqueue", &[ATask, Unsigned]),
    ("dequeue", &[ATask, Unsigned]),
    ("dispatch", &[Signed, ATask]),
    ("running", &[ATask]),
    ("stopping", &[ATask, Flag]),
    ("quiescent", &[ATask, Unsigned]),
    ("tick", &[ATask]),
    ("yield", &[ATask, ATask]),
    ("update_idle", &[Signed, Flag]),
    ("cpu_acquire", &[Signed]),
    ("cpu_release", &[Signed]),
    ("cpu_online", &[Signed]),
    ("cpu_offline", &[Signed]),
];

/// The method that is an operation. `yield` is a word of Python.
fn method(operation: &str) -> &str {
    if operation == "yield" { "yield_" } else { operation }
}

/// The policy of a class, which is checked once more: it may have changed since it was defined. What it raises is kept.
pub fn policy(class: &Bound<'_, PyAny>, raised: &Raised) -> PyResult<Policy> {
    let name: String = class.getattr("__name__")?.extract()?;
    let flags = argument(&class.getattr("flags")?, Word::Unsigned64, &format!("{name}.flags"))?;
    if let Some(why) = refused_flags(flags) {
        return Err(input(format!("{name}: {why}")));
    }
    let base = class.py().import("schedlab.policy")?.getattr("Policy")?;
    class.py().import("schedlab._operations")?.call_method1("check_whole", (class, &base))?;
    let mut operations = BTreeSet::new();
    for (operation, _) in OPERATIONS {
        // What the base class has is not the policy's.
        let own = class.getattr(method(operation))?;
        if !own.is(&base.getattr(method(operation))?) {
            operations.insert(*operation);
        }
    }
    let maker = Maker { name: name.clone(), class: class.clone().unbind(), operations, flags, raised: raised.clone() };
    Policy::native(&name, Arc::new(maker)).map_err(|error: VenueError| failed(error))
}

/// What runs end with after a policy raised what is no error.
const OVER: &str = "the call was ended";

struct Maker {
    name: String,
    class: Py<PyAny>,
    operations: BTreeSet<&'static str>,
    flags: u64,
    raised: Raised,
}

impl NativeMaker for Maker {
    fn make(&self, seed: u64) -> Result<Box<dyn Native>, String> {
        if self.raised.is_over() {
            return Err(OVER.into());
        }
        Python::attach(|py| {
            let class = self.class.bind(py);
            let make = || -> PyResult<Box<dyn Native>> {
                let kernel = Py::new(py, Kernel::of_this_thread())?;
                let object = class.call1((kernel.clone_ref(py), seed))?.unbind();
                let (name, raised) = (self.name.clone(), self.raised.clone());
                let operations = self.operations.clone();
                Ok(Box::new(Scheduler { name, object, kernel, operations, flags: self.flags, raised }))
            };
            make().map_err(|error| self.raised.keep(&self.name, class, error))
        })
    }
}

/// An object of the class at work in one run.
struct Scheduler {
    name: String,
    object: Py<PyAny>,
    kernel: Py<Kernel>,
    operations: BTreeSet<&'static str>,
    flags: u64,
    raised: Raised,
}

impl Native for Scheduler {
    fn has(&self, operation: &str) -> bool {
        self.operations.contains(operation)
    }

    fn flags(&self) -> u64 {
        self.flags
    }

    fn call(
        &mut self,
        operation: &'static str,
        args: [u64; 3],
        kernel: &mut KernelCalls<'_, '_>,
    ) -> Result<u64, String> {
        let Some((_, arguments)) = OPERATIONS.iter().find(|(name, _)| *name == operation) else {
            return Ok(0);
        };
        if self.raised.is_over() {
            return Err(OVER.into());
        }
        Python::attach(|py| {
            let call = || self.call_method(py, method(operation), arguments, args);
            let result = self.kernel.get().during(kernel, call);
            result.map_err(|error| {
                let object = self.object.bind(py);
                let called = object.getattr(method(operation)).unwrap_or_else(|_| object.clone());
                self.raised.keep(&self.name, &called, error)
            })
        })
    }
}

impl Scheduler {
    fn call_method(&self, py: Python<'_>, method: &str, arguments: &[Argument], words: [u64; 3]) -> PyResult<u64> {
        let argument = |(kind, word): (&Argument, u64)| -> PyResult<Py<PyAny>> {
            Ok(match kind {
                ATask if word == 0 => py.None(),
                ATask => Py::new(py, Task::new(word, self.kernel.clone_ref(py)))?.into_any(),
                Signed => (word as i32).into_pyobject(py)?.into_any().unbind(),
                Unsigned => word.into_pyobject(py)?.into_any().unbind(),
                Flag => PyBool::new(py, word as u8 != 0).to_owned().into_any().unbind(),
            })
        };
        let given = arguments.iter().zip(words).map(argument).collect::<PyResult<Vec<_>>>()?;
        let result = self.object.bind(py).call_method1(method, PyTuple::new(py, given)?)?;
        returned(&result, method)
    }
}
