//! Policies that are classes of Python: slow, and for the simulator alone.

use crate::convert;
use crate::error::failed;
use crate::raised::Raised;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyTuple};
use schedlab_venue::{KernelCalls, Native, NativeMaker, Policy, TaskView, VenueError, Writable};
use std::collections::BTreeSet;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread::{self, ThreadId};

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
    let flags: u64 =
        class.getattr("flags")?.extract().map_err(|_| PyTypeError::new_err("flags: a number is needed"))?;
    let base = class.py().import("schedlab.policy")?.getattr("Policy")?;
    class.py().import("schedlab._operations")?.call_method1("check", (class, &base))?;
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
                let kernel = Py::new(py, Kernel { calls: AtomicPtr::new(null_mut()), owner: thread::current().id() })?;
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
            self.kernel.get().calls.store((&raw mut *kernel).cast(), Ordering::Relaxed);
            let result = self.call_method(py, method(operation), arguments, args);
            self.kernel.get().calls.store(null_mut(), Ordering::Relaxed);
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
                ATask => Py::new(py, Task { address: word, kernel: self.kernel.clone_ref(py) })?.into_any(),
                Signed => (word as i32).into_pyobject(py)?.into_any().unbind(),
                Unsigned => word.into_pyobject(py)?.into_any().unbind(),
                Flag => PyBool::new(py, word as u8 != 0).to_owned().into_any().unbind(),
            })
        };
        let given = arguments.iter().zip(words).map(argument).collect::<PyResult<Vec<_>>>()?;
        let result = self.object.bind(py).call_method1(method, PyTuple::new(py, given)?)?;
        result_word(&result, method)
    }
}

/// None is zero.
fn result_word(result: &Bound<'_, PyAny>, what: &str) -> PyResult<u64> {
    if result.is_none() {
        return Ok(0);
    }
    word(result).map_err(|_| PyTypeError::new_err(format!("{what} gives {result}, which is not a number")))
}

/// A number or a task as a word.
fn word(object: &Bound<'_, PyAny>) -> PyResult<u64> {
    if let Ok(task) = object.cast::<Task>() {
        return Ok(task.get().address);
    }
    if !object.is_instance_of::<PyInt>() {
        return Err(PyTypeError::new_err("a number or a task is needed"));
    }
    let word = object.extract::<u64>().or_else(|_| object.extract::<i64>().map(|number| number as u64));
    word.map_err(|_| PyValueError::new_err(format!("{object} does not fit into 64 bits")))
}

/// The kernel as a policy sees it while one of its methods runs. Every kernel function is there under its upstream name:
/// `kernel.call("scx_bpf_dsq_insert", task, dsq, slice_ns, flags)`.
#[pyclass(frozen, module = "schedlab._schedlab")]
pub struct Kernel {
    calls: AtomicPtr<KernelCalls<'static, 'static>>,
    owner: ThreadId,
}

impl Kernel {
    fn with<T>(&self, what: impl FnOnce(&mut KernelCalls<'static, 'static>) -> T) -> PyResult<T> {
        let calls = self.calls.load(Ordering::Relaxed);
        if calls.is_null() || thread::current().id() != self.owner {
            return Err(PyRuntimeError::new_err(
                "the kernel is there only while a method of the policy runs, on its thread",
            ));
        }
        // SAFETY: the pointer is set while `Scheduler::call` holds the exclusive reference and waits for Python, on this
        // very thread; no kernel function calls Python.
        Ok(what(unsafe { &mut *calls }))
    }
}

#[pymethods]
impl Kernel {
    /// Calls a kernel function by its upstream name, with numbers and tasks; its result is a word of 64 bits.
    #[pyo3(signature = (name, *args))]
    fn call(&self, name: &str, args: &Bound<'_, PyTuple>) -> PyResult<u64> {
        let words = args.iter().map(|arg| word(&arg)).collect::<PyResult<Vec<_>>>()?;
        self.with(|calls| calls.function(name, &words))?.map_err(PyValueError::new_err)
    }

    /// `scx_bpf_select_cpu_dfl`.
    fn select_cpu_dfl(
        &self,
        task: &Bound<'_, Task>,
        prev_cpu: i32,
        wake_flags: &Bound<'_, PyAny>,
    ) -> PyResult<(i32, bool)> {
        let (address, wake_flags) = (task.get().address, convert::whole(wake_flags, "wake_flags", 0, u64::MAX)?);
        self.with(|calls| calls.select_cpu_dfl(address, prev_cpu as u32 as u64, wake_flags))?
            .map_err(PyValueError::new_err)
    }

    /// Simulated time in nanoseconds.
    #[getter]
    fn now_ns(&self) -> PyResult<u64> {
        self.with(KernelCalls::now_ns)
    }

    /// The CPU on which the method runs.
    #[getter]
    fn cpu(&self) -> PyResult<u32> {
        self.with(KernelCalls::cpu)
    }

    /// How many CPUs there are.
    #[getter]
    fn cpus(&self) -> PyResult<u32> {
        self.with(KernelCalls::cpus)
    }
}

/// A task, as a policy sees it while one of its methods runs.
#[pyclass(frozen, module = "schedlab.policy")]
pub struct Task {
    address: u64,
    kernel: Py<Kernel>,
}

impl Task {
    fn view(&self) -> PyResult<TaskView> {
        let gone = || PyRuntimeError::new_err("this task has ended");
        self.kernel.get().with(|calls| calls.task(self.address))?.ok_or_else(gone)
    }

    fn write(&self, what: Writable, value: u64) -> PyResult<()> {
        self.kernel.get().with(|calls| calls.write(self.address, what, value)).map(|_| ())
    }
}

#[pymethods]
impl Task {
    /// Its number, which no other task has.
    #[getter]
    fn pid(&self) -> PyResult<i32> {
        Ok(self.view()?.pid)
    }

    /// Its name: role and number in it.
    #[getter]
    fn name(&self) -> PyResult<String> {
        Ok(self.view()?.name)
    }

    /// Its weight: 100 for nice 0.
    #[getter]
    fn weight(&self) -> PyResult<u32> {
        Ok(self.view()?.weight)
    }

    /// What is left of its slice, in nanoseconds.
    #[getter]
    fn slice_ns(&self) -> PyResult<u64> {
        Ok(self.view()?.slice_ns)
    }

    #[setter]
    fn set_slice_ns(&self, slice_ns: &Bound<'_, PyAny>) -> PyResult<()> {
        self.write(Writable::Slice, convert::whole(slice_ns, "slice_ns", 0, u64::MAX)?)
    }

    /// Its virtual time, by which queues can be ordered.
    #[getter]
    fn vtime(&self) -> PyResult<u64> {
        Ok(self.view()?.vtime)
    }

    #[setter]
    fn set_vtime(&self, vtime: &Bound<'_, PyAny>) -> PyResult<()> {
        self.write(Writable::Vtime, convert::whole(vtime, "vtime", 0, u64::MAX)?)
    }

    /// Whether it wants a CPU.
    #[getter]
    fn runnable(&self) -> PyResult<bool> {
        Ok(self.view()?.runnable)
    }

    /// The CPU that it is on, or was on last.
    #[getter]
    fn cpu(&self) -> PyResult<u32> {
        Ok(self.view()?.cpu)
    }

    /// CPU time that it has received, in nanoseconds.
    #[getter]
    fn runtime_ns(&self) -> PyResult<u64> {
        Ok(self.view()?.runtime_ns)
    }

    /// The CPUs on which it may run.
    #[getter]
    fn cpus(&self) -> PyResult<Vec<u32>> {
        Ok(self.view()?.cpus)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Task>().is_ok_and(|other| other.get().address == self.address)
    }

    fn __hash__(&self) -> u64 {
        self.address
    }

    fn __repr__(&self) -> String {
        self.view().map_or_else(|_| "Task".into(), |view| format!("Task({}, pid={})", view.name, view.pid))
    }
}
