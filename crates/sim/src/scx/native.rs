//! Schedulers that are part of the simulating program: the operations of sched_ext without BPF.
//!
//! They are called through an object whose operations all call [`FUNCTION`], so the core, its rules and its order are those
//! of any other policy. What such a scheduler does costs no simulated time.

use super::consts::SCX_TASK_QUEUED;
use super::core::Core;
use super::kfuncs;
use schedlab_bpf::{CallContext, KernelFunction};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A scheduler that is no BPF object.
pub trait Native {
    /// Whether it has an operation, by the name in `struct sched_ext_ops`.
    fn has(&self, operation: &str) -> bool;

    /// `ops.flags`.
    fn flags(&self) -> u64;

    /// An operation with its arguments as words: pointers are guest addresses.
    ///
    /// # Errors
    ///
    /// What went wrong; it ends the run as an error of the policy.
    fn call(&mut self, operation: &'static str, args: [u64; 3], kernel: &mut KernelCalls) -> Result<u64, String>;
}

/// What a scheduler may ask of the kernel while one of its operations runs.
pub struct KernelCalls {
    context: *mut CallContext,
}

/// What a scheduler sees of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskView {
    /// Its number.
    pub pid: i32,
    /// Its name: group and number in it.
    pub name: String,
    /// `scx.weight`: 100 for nice 0.
    pub weight: u32,
    /// `scx.slice`, in nanoseconds.
    pub slice_ns: u64,
    /// `scx.dsq_vtime`.
    pub vtime: u64,
    /// Whether it wants a CPU (`SCX_TASK_QUEUED`).
    pub runnable: bool,
    /// The CPU that it is on, or was on last.
    pub cpu: u32,
    /// CPU time received, in nanoseconds.
    pub runtime_ns: u64,
    /// The CPUs on which it may run.
    pub cpus: Vec<u32>,
}

/// What a scheduler may write of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writable {
    /// `scx.slice`, in nanoseconds.
    Slice,
    /// `scx.dsq_vtime`.
    Vtime,
}

/// The kernel function through which all operations of the object go.
pub const FUNCTION: KernelFunction =
    KernelFunction { name: "schedlab_native", arguments: 3, call: hand_on, intrinsic: None, calls_back: false };

/// All kernel functions by name.
static FUNCTIONS: LazyLock<BTreeMap<&str, KernelFunction>> =
    LazyLock::new(|| kfuncs::all().into_iter().map(|function| (function.name, function)).collect());

unsafe extern "C" fn hand_on(ctx: *mut CallContext, a1: u64, a2: u64, a3: u64, _: u64, _: u64) -> u64 {
    // SAFETY: the simulator calls programs with its core as the host. No reference to it lives while the scheduler runs,
    // since the functions that it calls make their own.
    let core = || unsafe { &mut *(*ctx).host.cast::<Core>() };
    let (operation, native) = (core().running_op, core().native.take());
    let (Some(operation), Some(mut native)) = (operation, native) else {
        core().error("there is no scheduler behind this object");
        return 0;
    };
    let result = native.call(operation.name(), [a1, a2, a3], &mut KernelCalls { context: ctx });
    core().native = Some(native);
    result.unwrap_or_else(|message| {
        core().error(message);
        0
    })
}

impl KernelCalls {
    /// Calls a kernel function by its upstream name, as `scx_bpf_dsq_insert`; its result as a word.
    ///
    /// # Errors
    ///
    /// There is no such function, it takes another number of arguments, or it refuses these.
    pub fn function(&mut self, name: &str, args: &[u64]) -> Result<u64, String> {
        let function = FUNCTIONS.get(name).ok_or_else(|| format!("there is no kernel function {name}"))?;
        if args.len() != usize::from(function.arguments) {
            return Err(format!("{name} takes {} arguments, not {}", function.arguments, args.len()));
        }
        let word = |index: usize| args.get(index).copied().unwrap_or(0);
        // SAFETY: the context is that of the running call.
        let result = unsafe { (function.call)(self.context, word(0), word(1), word(2), word(3), word(4)) };
        // SAFETY: as above.
        let fault = unsafe { (*self.context).fault.as_ref() };
        match (fault, &self.core().exit) {
            (Some(fault), _) => Err(fault.to_string()),
            (None, Some(exit)) => Err(exit.failure.message.clone()),
            (None, None) => Ok(result),
        }
    }

    /// `scx_bpf_select_cpu_dfl`: the CPU that the kernel would choose for a waking task, and whether it idles.
    ///
    /// # Errors
    ///
    /// As those of [`KernelCalls::function`].
    pub fn select_cpu_dfl(&mut self, task: u64, prev_cpu: u64, wake_flags: u64) -> Result<(i32, bool), String> {
        // What is below the stack's top belongs to nobody while a kernel function runs.
        // SAFETY: the context is that of the running call.
        let is_idle = unsafe { (*self.context).stack_top - 8 };
        self.core().memory.write(is_idle, 0_u8);
        let cpu = self.function("scx_bpf_select_cpu_dfl", &[task, prev_cpu, wake_flags, is_idle])?;
        Ok((cpu as i32, self.core().memory.read::<u8>(is_idle) != 0))
    }

    /// Simulated time.
    pub fn now_ns(&mut self) -> u64 {
        self.core().world.now_ns
    }

    /// The CPU on which the operation runs.
    pub fn cpu(&mut self) -> u32 {
        self.core().this_cpu
    }

    /// How many CPUs there are.
    pub fn cpus(&mut self) -> u32 {
        self.core().machine.cpus()
    }

    /// A task by its address; none where there is none.
    pub fn task(&mut self, address: u64) -> Option<TaskView> {
        let core = self.core();
        let slot = core.slot_of(address)?;
        let entity = core.entity(slot);
        let task = entity.task();
        Some(TaskView {
            pid: task.pid,
            name: core.world.name(slot),
            weight: task.scx.weight,
            slice_ns: task.scx.slice,
            vtime: task.scx.dsq_vtime,
            runnable: u64::from(task.scx.flags) & SCX_TASK_QUEUED != 0,
            cpu: entity.cpu,
            runtime_ns: task.se.sum_exec_runtime,
            cpus: core.world.workload.groups[core.world.tasks[slot].group.index()]
                .cpus
                .iter()
                .map(|cpu| cpu.0)
                .collect(),
        })
    }

    /// Writes what a scheduler may write of a task; false where there is no such task.
    pub fn write(&mut self, address: u64, what: Writable, value: u64) -> bool {
        let core = self.core();
        let Some(slot) = core.slot_of(address) else { return false };
        let scx = &mut core.entity_mut(slot).task_mut().scx;
        match what {
            Writable::Slice => scx.slice = value,
            Writable::Vtime => scx.dsq_vtime = value,
        }
        true
    }

    fn core(&mut self) -> &mut Core {
        // SAFETY: as in `hand_on`; the reference ends before anything else looks at the core.
        unsafe { &mut *(*self.context).host.cast::<Core>() }
    }
}
