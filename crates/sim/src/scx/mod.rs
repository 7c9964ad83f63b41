//! The sched_ext core: what `kernel/sched/ext` does between a policy and a machine.
//!
//! Where the simulated core differs from the kernel's:
//!
//! - Operations never run at the same time; the CPUs of one instant take turns in the order of their number.
//! - A kick, a dispatch to a remote CPU and a re-enqueue take effect at the same instant, after the operation, and `ops.dequeue`
//!   comes then for tasks that the operation moved out of the policy's custody.
//! - Without a tick (`machine.tick = "0s"`) a slice ends to the nanosecond. A policy that shortens the slice of a task
//!   that runs elsewhere by writing to it, without a kick, is felt when that CPU looks next.
//! - Among equal idle CPUs the lowest number is taken (see [`idle`]).
//! - Control groups are there from the start to the end. There is no hot plugging, no core scheduling, no second scheduler.

mod accounting;
mod cgroups;
mod change;
mod classes;
pub mod consts;
mod core;
mod cpu;
mod dispatching;
mod dsq;
mod engine;
mod enqueue;
mod entity;
mod events;
mod hotplug;
mod idle;
mod immediate;
mod iter;
mod kept;
mod kfuncs;
mod layout;
mod life;
pub mod loaded;
mod mask;
mod membership;
pub mod native;
pub mod ops;
pub mod policy;
mod policy_timers;
mod realtime;
mod restless;
mod schedule;
mod terms;
mod throttling;
mod together;
mod waiting;

use crate::error::RunError;
use crate::world::World;
use crate::{Control, Options, Outcome};
use layout::GuestRq;
use native::Native;
pub use realtime::Releases;
use schedlab_bpf::{
    Access, Coverage, Executor, GuestMemory, Kernel, KernelVariable, LoadError, LoadOptions, MemoryError, Object,
    OwnerTable, Region, StructOps, Vm,
};
use schedlab_model::{cpuset::CpuSet, ids::CpuId, machine::MAX_CPUS, time::Time, trace::Sink, workload::Workload};
use std::rc::Rc;

/// The kernel whose sched_ext is simulated.
const KERNEL_VERSION: u32 = 7 << 16 | 2 << 8;

/// The variables of the simulated kernel: each CPU's run queue and driver of its frequency, of which there is none.
const VARIABLES: [&str; 2] = ["runqueues", "cpufreq_cpu_data"];

/// What a simulated kernel offers to an object: types, functions, variables, configuration. Enough to say what an
/// object needs that is not there; the variables get their places with a machine.
pub fn kernel() -> Kernel<core::Core> {
    let mut kernel = Kernel::new(layout::type_table());
    kernel.functions = kfuncs::all();
    kernel.configs = configuration(Time::ZERO);
    kernel.variables = VARIABLES.map(|name| KernelVariable { name, address: 0, per_cpu_stride: None }).into();
    kernel.version = KERNEL_VERSION;
    kernel
}

/// How the simulated kernel is configured on a machine that ticks so often. Without a tick jiffies are milliseconds.
fn configuration(tick: Time) -> Vec<(&'static str, u64)> {
    let hz = if tick > Time::ZERO { ((1_000_000_000 + tick.ns() / 2) / tick.ns()).max(1) } else { 1000 };
    vec![("CONFIG_HZ", hz), ("CONFIG_SMP", 1), ("CONFIG_PREEMPT_RCU", 1), ("CONFIG_NR_CPUS", MAX_CPUS.into())]
}

/// Simulates a workload under a policy.
pub fn run(
    workload: &Workload,
    object: &Object,
    options: &Options,
    sink: &mut dyn Sink,
    control: &mut dyn Control,
) -> Result<Outcome, RunError> {
    let mut sim = prepare(&Rc::new(workload.clone()), Source::Object(object, None), options)?;
    sim.run(sink, control)
}

/// Which source lines of an object a run executes, however it ends. It takes the interpreter.
///
/// # Errors
///
/// The run does not begin.
pub fn coverage(
    workload: &Workload,
    object: &Object,
    options: &Options,
    control: &mut dyn Control,
) -> Result<Coverage, RunError> {
    let options = Options { executor: Executor::Interpreter, ..options.clone() };
    let mut sim = prepare(&Rc::new(workload.clone()), Source::Object(object, None), &options)?;
    sim.vm.observe_lines();
    // A policy that fails has executed lines all the same.
    let _ = sim.run(&mut (), control);
    Ok(sim.vm.coverage())
}

/// The same under a scheduler that a program of its own loads.
pub fn run_loaded(
    workload: &Workload,
    program: Box<dyn loaded::Loads>,
    options: &Options,
    sink: &mut dyn Sink,
    control: &mut dyn Control,
) -> Result<Outcome, RunError> {
    let mut sim = prepare(&Rc::new(workload.clone()), Source::Program(program, control), options)?;
    sim.run(sink, control)
}

/// The same under a scheduler that is part of this program. `object` is the one whose operations call it.
pub fn run_native(
    workload: &Workload,
    (object, native): (&Object, Box<dyn Native>),
    options: &Options,
    sink: &mut dyn Sink,
    control: &mut dyn Control,
) -> Result<Outcome, RunError> {
    let mut sim = prepare(&Rc::new(workload.clone()), Source::Object(object, Some(native)), options)?;
    sim.run(sink, control)
}

/// Where a policy comes from.
enum Source<'a> {
    /// An object, which may call a scheduler of this program.
    Object(&'a Object, Option<Box<dyn Native>>),
    /// A program that loads it, and what may stop that.
    Program(Box<dyn loaded::Loads>, &'a mut dyn Control),
}

/// Builds the machine and puts the policy in charge.
fn prepare(workload: &Rc<Workload>, source: Source<'_>, options: &Options) -> Result<policy::Sim, RunError> {
    let release = match &source {
        Source::Object(object, _) => {
            object.check_licence()?;
            refuse_not_simulated(object.ops()?)?;
            realtime::release_of(object, &options.settings)
        }
        Source::Program(..) => realtime::SIMULATED,
    };
    realtime::admit(workload, release)?;
    let memory = GuestMemory::new()?;
    let world = World::new(workload, &workload.machine.costs, options.seed);
    let mut core = core::Core::new(world, memory.clone(), release)?;
    let mut kernel = kernel();
    kernel.configs = configuration(core.machine.tick);
    kernel.variables = vec![add_run_queues(&mut core)?, add_frequency_drivers(&core)?];
    let (base, stride, count) = core.task_table();
    let topology = core.machine.topology;
    let load = LoadOptions {
        executor: options.executor,
        cpus: core.machine.cpus(),
        cpu_nodes: (0..core.machine.cpus()).map(|c| topology.node_of(CpuId(c))).collect(),
        seed: options.seed,
        counts_instructions: core.machine.costs.policy_instruction_ps > 0,
        task_owners: OwnerTable { base, stride, count },
        cgroup_owners: core.cgroups.owners(),
        ..LoadOptions::default()
    };
    let (vm, mut ops, native, companion): (Vm<core::Core>, _, _, _) = match source {
        Source::Object(object, native) => {
            kernel.functions.extend(native.as_ref().map(|_| native::FUNCTION));
            let vm = object.load(&kernel, &options.settings, &load, memory)?;
            let ops = ops::Operations::new(object.ops()?, &vm)?;
            (vm, ops, native, None)
        }
        Source::Program(program, control) => {
            core.keeps_details = true;
            let (vm, table, companion) = loaded::load(program, kernel, &load, memory, (&mut core, control))?;
            refuse_not_simulated(&table)?;
            let ops = ops::Operations::new(&table, &vm)?;
            (vm, ops, None, Some(companion))
        }
    };
    // After the policy, which then lies at the same place whatever the roles are, and need not be compiled again.
    let workload = core.world.workload.clone();
    add_masks(&mut core, &workload)?;
    if let Some(native) = &native {
        ops.restrict(|operation| native.has(operation), native.flags());
    }
    core.sleepable = ops.sleepable;
    core.native = native;
    let mut sim = policy::Sim::new(vm, ops, core)?;
    companion.into_iter().for_each(|companion| sim.accompany(companion));
    Ok(sim)
}

fn refuse_not_simulated(ops: &StructOps) -> Result<(), LoadError> {
    let not_simulated = ops::not_simulated(ops);
    if not_simulated.is_empty() { Ok(()) } else { Err(LoadError::Missing(not_simulated)) }
}

/// One mask for each role, then one for each other set in which its tasks may be, at their start or later.
fn add_masks(core: &mut core::Core, workload: &Workload) -> Result<(), MemoryError> {
    for role in &workload.roles {
        let exists = |cpu: CpuId| cpu.0 < core.cpus.len();
        assert!(role.cpus.iter().chain(role.start_on).all(exists), "{} is on a CPU that is not there", role.name);
        let mask = core.masks.create(&role.cpus)?;
        core.allowed.push(mask);
    }
    for role in &workload.roles {
        let first = role.start_on.map(|cpu| [cpu].into_iter().collect::<CpuSet>());
        for set in first.iter().chain(role.all_cpus()) {
            add_mask(core, set)?;
        }
    }
    // A task that finds none of its CPUs there may run on all.
    if workload.hotplug.is_empty() { Ok(()) } else { add_mask(core, &CpuSet::first(core.machine.cpus())) }
}

fn add_mask(core: &mut core::Core, set: &CpuSet) -> Result<(), MemoryError> {
    if core.other_sets.iter().all(|(known, _)| known != set) {
        core.other_sets.push((set.clone(), core.allowed.len() as u32));
        let mask = core.masks.create(set)?;
        core.allowed.push(mask);
    }
    Ok(())
}

fn add_run_queues(core: &mut core::Core) -> Result<KernelVariable, MemoryError> {
    let stride = (size_of::<GuestRq>() as u32).next_multiple_of(64);
    let cpus = core.machine.cpus();
    let region = Region::array("rq", stride, size_of::<GuestRq>() as u32, Access::ReadOnly);
    let base = core.memory.alloc(stride as u64 * cpus as u64, 64, region)?;
    for cpu in 0..cpus {
        let at = base + (stride * cpu) as u64 + std::mem::offset_of!(GuestRq, cpu) as u64;
        core.memory.write(at, cpu as i32);
    }
    core.run_queues = (base, stride as u64);
    Ok(KernelVariable { name: VARIABLES[0], address: base, per_cpu_stride: Some(stride) })
}

/// For each CPU a NULL pointer: nothing drives its frequency.
fn add_frequency_drivers(core: &core::Core) -> Result<KernelVariable, MemoryError> {
    let stride = size_of::<u64>() as u32;
    let region = Region::array("cpufreq_cpu_data", stride, stride, Access::ReadOnly);
    let address = core.memory.alloc(stride as u64 * core.machine.cpus() as u64, 8, region)?;
    Ok(KernelVariable { name: VARIABLES[1], address, per_cpu_stride: Some(stride) })
}
