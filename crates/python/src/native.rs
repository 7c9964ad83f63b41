//! Policies that are classes of Python: slow, and for the simulator alone.

use crate::error::failed;
use pyo3::exceptions::{PyAttributeError, PyRuntimeError, PyTypeError, PyValueError};
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

/// The policy of a class.
pub fn policy(class: &Bound<'_, PyAny>) -> PyResult<Policy> {
    let name: String = class.getattr("__name__")?.extract()?;
    let flags: u64 =
        class.getattr("flags")?.extract().map_err(|_| PyTypeError::new_err("flags: a number is needed"))?;
    let base = class.py().import("schedlab.policy")?.getattr("Policy")?;
    let mut operations = BTreeSet::new();
    for (operation, _) in OPERATIONS {
        // What the base class has is not the policy's.
        let own = class.getattr(method(operation))?;
        if !own.is(&base.getattr(method(operation))?) {
            operations.insert(*operation);
        }
    }
    let maker = Maker { class: class.clone().unbind(), operations, flags };
    Policy::native(&name, Arc::new(maker)).map_err(|error: VenueError| failed(error))
}

struct Maker {
    class: Py<PyAny>,
    operations: BTreeSet<&'static str>,
    flags: u64,
}

impl NativeMaker for Maker {
    fn make(&self, seed: u64) -> Result<Box<dyn Native>, String> {
        Python::attach(|py| {
            let kernel = Py::new(py, Kernel { calls: AtomicPtr::new(null_mut()), owner: thread::current().id() });
            let make = || -> PyResult<Box<dyn Native>> {
                let kernel = kernel?;
                let object = self.class.bind(py).call1((kernel.clone_ref(py), seed))?.unbind();
                Ok(Box::new(Scheduler { object, kernel, operations: self.operations.clone(), flags: self.flags }))
            };
            make().map_err(|error| told(py, &error))
        })
    }
}

/// An object of the class at work in one run.
struct Scheduler {
    object: Py<PyAny>,
    kernel: Py<Kernel>,
    operations: BTreeSet<&'static str>,
    flags: u64,
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
        Python::attach(|py| {
            self.kernel.get().calls.store((&raw mut *kernel).cast(), Ordering::Relaxed);
            let result = self.call_method(py, method(operation), arguments, args);
            self.kernel.get().calls.store(null_mut(), Ordering::Relaxed);
            result.map_err(|error| told(py, &error))
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
    word(result).map_err(|_| PyTypeError::new_err(format!("{what} gives {result}, which is no number")))
}

/// A number or a task as a word.
fn word(object: &Bound<'_, PyAny>) -> PyResult<u64> {
    if let Ok(task) = object.cast::<Task>() {
        return Ok(task.get().address);
    }
    if !object.is_instance_of::<PyInt>() {
        return Err(PyTypeError::new_err("a number or a task is needed"));
    }
    object.extract::<u64>().or_else(|_| object.extract::<i64>().map(|number| number as u64))
}

/// An exception in a line.
fn told(py: Python<'_>, error: &PyErr) -> String {
    let kind = error.get_type(py).name().map_or_else(|_| "exception".into(), |name| name.to_string());
    let place = error
        .traceback(py)
        .and_then(|traceback| innermost(&traceback))
        .map_or(String::new(), |place| format!(" ({place})"));
    format!("{kind}: {}{place}", error.value(py).to_string().replace('\n', " "))
}

/// The line in which it was raised.
fn innermost(traceback: &Bound<'_, pyo3::types::PyTraceback>) -> Option<String> {
    let mut last = traceback.clone().into_any();
    while let Ok(next) = last
        .getattr("tb_next")
        .and_then(|next| if next.is_none() { Err(PyAttributeError::new_err("")) } else { Ok(next) })
    {
        last = next;
    }
    let line: u32 = last.getattr("tb_lineno").ok()?.extract().ok()?;
    let function: String =
        last.getattr("tb_frame").ok()?.getattr("f_code").ok()?.getattr("co_name").ok()?.extract().ok()?;
    Some(format!("{function}, line {line}"))
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
    fn select_cpu_dfl(&self, task: &Bound<'_, Task>, prev_cpu: i32, wake_flags: u64) -> PyResult<(i32, bool)> {
        let address = task.get().address;
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
    fn set_slice_ns(&self, slice_ns: u64) -> PyResult<()> {
        self.write(Writable::Slice, slice_ns)
    }

    /// Its virtual time, by which queues can be ordered.
    #[getter]
    fn vtime(&self) -> PyResult<u64> {
        Ok(self.view()?.vtime)
    }

    #[setter]
    fn set_vtime(&self, vtime: u64) -> PyResult<()> {
        self.write(Writable::Vtime, vtime)
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
