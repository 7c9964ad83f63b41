//! Schedulers that are part of the simulating program: the operations of sched_ext without BPF.
//!
//! They are called through an object whose operations all call [`FUNCTION`], so the core, its rules and its order are those
//! of any other policy. What such a scheduler does costs no simulated time.

use super::consts::SCX_TASK_QUEUED;
use super::core::Core;
use super::kfuncs;
pub use super::kfuncs::signature::{Signature, Word};
use super::ops;
use schedlab_bpf::{Call, KernelFunction, KernelRoutine};
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
    fn call(
        &mut self,
        operation: &'static str,
        args: [u64; 3],
        kernel: &mut KernelCalls<'_, '_>,
    ) -> Result<u64, String>;
}

/// What a scheduler may ask of the kernel while one of its operations runs.
pub struct KernelCalls<'c, 'a> {
    call: &'c mut Call<'a, Core>,
}

/// What a scheduler sees of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskView {
    /// Its number.
    pub pid: i32,
    /// Its name: role and number in it.
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

/// Why no kernel takes these `ops.flags`, or the simulator does not, if that is so.
pub fn refused_flags(flags: u64) -> Option<String> {
    let not_simulated = || ops::flags_not_simulated(flags).next().map(|what| format!("{what}: it is not simulated"));
    ops::unknown_flags(flags).or_else(not_simulated)
}

/// The kernel function through which all operations of the object go.
pub const FUNCTION: KernelFunction<Core> = KernelFunction::of::<HandOn>();

/// All kernel functions by name.
static FUNCTIONS: LazyLock<BTreeMap<&str, KernelFunction<Core>>> =
    LazyLock::new(|| kfuncs::all().into_iter().map(|function| (function.name(), function)).collect());

/// Hands an operation on to the scheduler.
struct HandOn;

impl KernelRoutine<Core> for HandOn {
    const NAME: &'static str = "schedlab_native";
    const ARGUMENTS: u8 = 3;

    fn run(call: &mut Call<'_, Core>, [a1, a2, a3, ..]: [u64; 5]) -> Option<u64> {
        let core = call.host();
        let (operation, native) = (core.running_op, core.native.take());
        let (Some(operation), Some(mut native)) = (operation, native) else {
            call.host().error("there is no scheduler behind this object");
            return Some(0);
        };
        let held = call.check().held();
        let result = native.call(operation.name(), [a1, a2, a3], &mut KernelCalls { call });
        // No verifier asks it to give back what it got.
        call.check().forget_held(held);
        let core = call.host();
        core.native = Some(native);
        Some(result.unwrap_or_else(|message| {
            // A mistake of its code, also while it leaves.
            core.is_leaving = false;
            core.error(message);
            0
        }))
    }
}

impl KernelCalls<'_, '_> {
    /// Calls a kernel function by its upstream name, as `scx_bpf_dsq_insert`; its result as a word.
    ///
    /// # Errors
    ///
    /// There is no such function, it takes another number of arguments, or it refuses these.
    pub fn function(&mut self, name: &str, args: &[u64]) -> Result<u64, String> {
        call_function(self.call, name, args)
    }

    /// `scx_bpf_select_cpu_dfl`: the CPU that the kernel would choose for a waking task, and whether it idles.
    ///
    /// # Errors
    ///
    /// As those of [`KernelCalls::function`].
    pub fn select_cpu_dfl(&mut self, task: u64, prev_cpu: u64, wake_flags: u64) -> Result<(i32, bool), String> {
        let select = |call: &mut Call<'_, Core>, is_idle: u64| {
            let cpu = call_function(call, "scx_bpf_select_cpu_dfl", &[task, prev_cpu, wake_flags, is_idle])?;
            Ok((cpu as i32, call.host().memory.read::<u8>(is_idle) != 0))
        };
        self.call.with_scratch(8, select).unwrap_or_else(|| Err("the stack is used up".to_string()))
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
            cpus: core.world.workload.roles[core.world.tasks[slot].role.index()].cpus.iter().map(|cpu| cpu.0).collect(),
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
        self.call.host()
    }
}

fn call_function(call: &mut Call<'_, Core>, name: &str, args: &[u64]) -> Result<u64, String> {
    let function = FUNCTIONS.get(name).ok_or_else(|| format!("there is no kernel function {name}"))?;
    if args.len() != usize::from(function.arguments()) {
        return Err(format!("{name} takes {} arguments, not {}", function.arguments(), args.len()));
    }
    let mut words = [0; 5];
    words[..args.len()].copy_from_slice(args);
    let result = call.kernel_function(function, words);
    if let Some(fault) = call.fault() {
        return Err(fault.to_string());
    }
    match &call.host().exit {
        Some(exit) => Err(exit.failure.message.clone()),
        None => Ok(result),
    }
}
