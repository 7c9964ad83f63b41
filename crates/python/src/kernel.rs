//! What a policy in Python sees of the kernel: its functions, and tasks.

use crate::convert;
use crate::words::{argument, result};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use schedlab_venue::{KernelCalls, Signature, TaskView, Writable};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread::{self, ThreadId};

/// The kernel as a policy sees it while one of its methods runs. Every kernel function is there under its upstream name:
/// `kernel.call("scx_bpf_dsq_insert", task, dsq, slice_ns, flags)`.
#[pyclass(frozen, module = "schedlab._schedlab")]
pub struct Kernel {
    calls: AtomicPtr<KernelCalls<'static, 'static>>,
    owner: ThreadId,
}

impl Kernel {
    /// One for the thread that makes it. There is nothing behind it yet.
    pub fn of_this_thread() -> Kernel {
        Kernel { calls: AtomicPtr::new(null_mut()), owner: thread::current().id() }
    }

    /// Does something while the kernel's functions can be called through this object.
    pub fn during<T>(&self, calls: &mut KernelCalls<'_, '_>, what: impl FnOnce() -> T) -> T {
        let _ends = Ends(self);
        self.calls.store((&raw mut *calls).cast(), Ordering::Relaxed);
        what()
    }

    fn with<T>(&self, what: impl FnOnce(&mut KernelCalls<'static, 'static>) -> T) -> PyResult<T> {
        let calls = self.calls.load(Ordering::Relaxed);
        if calls.is_null() || thread::current().id() != self.owner {
            return Err(PyRuntimeError::new_err(
                "the kernel is there only while a method of the policy runs, on its thread",
            ));
        }
        // SAFETY: the pointer is set while `Kernel::during` holds the exclusive reference and waits for Python, on this
        // very thread; no kernel function calls Python.
        Ok(what(unsafe { &mut *calls }))
    }
}

/// The end of the time in which the kernel's functions can be called, also by a panic.
struct Ends<'k>(&'k Kernel);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.calls.store(null_mut(), Ordering::Relaxed);
    }
}

#[pymethods]
impl Kernel {
    /// Calls a kernel function by its upstream name, with numbers and tasks as its C types have them. A signed result is
    /// negative where the kernel gives an error; a pointer is a number of 64 bits.
    #[pyo3(signature = (name, *args))]
    fn call<'py>(&self, py: Python<'py>, name: &str, args: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let unknown = || PyValueError::new_err(format!("there is no kernel function {name}"));
        let signature = Signature::of(name).ok_or_else(unknown)?;
        if args.len() != signature.arguments.len() {
            let takes = signature.arguments.len();
            return Err(PyValueError::new_err(format!("{name} takes {takes} arguments, not {}", args.len())));
        }
        let word = |(given, (argument_name, kind)): (Bound<'py, PyAny>, &(&str, _))| {
            argument(&given, *kind, &format!("{name}: {argument_name}"))
        };
        let words = args.iter().zip(&signature.arguments).map(word).collect::<PyResult<Vec<_>>>()?;
        let word = self.with(|calls| calls.function(name, &words))?.map_err(PyValueError::new_err)?;
        result(py, signature.result, word)
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
    /// The task at a guest's address.
    pub fn new(address: u64, kernel: Py<Kernel>) -> Task {
        Task { address, kernel }
    }

    /// Where it lies in the guest.
    pub fn address(&self) -> u64 {
        self.address
    }

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
