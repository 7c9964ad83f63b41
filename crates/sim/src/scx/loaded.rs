//! Schedulers whose own program loads them: an empty machine that the program fills by bpf(2).

use super::consts::SCX_EXIT_UNREG;
use super::core::Core;
use super::cpu::NONE;
use super::kfuncs::DECLARATIONS;
use super::ops::{NEVER_CALLED, Op};
use super::policy::Sim;
use super::{configuration, layout};
use crate::error::RunError;
use crate::{Control, CpuTime};
use schedlab_bpf::{
    Attached, Caller, GuestMemory, Kernel, KernelBtf, LoadOptions, Moment, OperationMember, Reply, StructOps, Syscalls,
    Vm,
};
use schedlab_model::time::Time;
use std::rc::Rc;

/// The table that schedulers implement.
const TABLE: &str = "sched_ext_ops";
/// The members of the table that are no operations (`struct sched_ext_ops` in `kernel/sched/ext/internal.h`).
const DATA: [(&str, OperationMember); 8] = [
    ("dispatch_max_batch", OperationMember::U32),
    ("flags", OperationMember::U64),
    ("timeout_ms", OperationMember::U32),
    ("exit_dump_len", OperationMember::U32),
    ("hotplug_seq", OperationMember::U64),
    ("sub_cgroup_id", OperationMember::U64),
    ("name", OperationMember::Text(128)),
    ("priv", OperationMember::Pointer),
];

/// What of a kernel schedulers watch that nothing can happen to here but the first, which is entered when a table is
/// registered: interrupts, moves between control groups, new names of tasks, power states of idle CPUs.
const WATCHED: [&str; 8] = [
    REGISTRATION,
    "tp:cgroup_attach_task",
    "tp:task_rename",
    "tp:cpu_idle",
    "tp:irq_handler_entry",
    "tp:irq_handler_exit",
    "tp:softirq_entry",
    "tp:softirq_exit",
];
/// Upstream's library learns by it whether the entry of a program forbids the running task to migrate. Here it does not,
/// which is what the library assumes where it learns nothing.
const REGISTRATION: &str = "bpf_scx_reg";

/// The types of the simulated kernel, as a loader reads them.
pub fn kernel_btf() -> KernelBtf {
    let operations =
        Op::ALL.iter().filter(|op| **op != Op::Timer).map(|op| op.name()).chain(NEVER_CALLED.iter().copied());
    let operations = operations.map(|name| (name, OperationMember::Function));
    let members: Vec<_> = operations.chain(DATA).collect();
    KernelBtf::new(&layout::type_table(), &[DECLARATIONS], &WATCHED, (TABLE, &members))
}

/// The configuration of the simulated kernel on a machine that ticks so often.
pub fn kernel_configuration(tick: Time) -> Vec<(&'static str, u64)> {
    configuration(tick)
}

/// A program that loads a scheduler.
pub trait Loads {
    /// Lets it fill the machine until it puts its operations in charge.
    ///
    /// # Errors
    ///
    /// It does not get there.
    fn load(&mut self, machine: &mut Machine<'_>) -> Result<Box<Attached>, RunError>;

    /// Whether it continues working while its scheduler is in charge.
    fn goes_on(&self) -> bool;

    /// Lets it work up to this time of the run; gives when it has more to do.
    ///
    /// # Errors
    ///
    /// It has ended.
    fn work(&mut self, machine: &mut Machine<'_>, now_ns: u64) -> Result<Option<u64>, String>;
}

/// A simulated machine as a program sees it.
pub struct Machine<'a> {
    syscalls: &'a mut Syscalls<Core>,
    vm: &'a mut Vm<Core>,
    core: &'a mut Core,
    control: &'a mut dyn Control,
}

impl Machine<'_> {
    /// Answers a call of bpf(2).
    pub fn bpf(&mut self, caller: &dyn Caller, command: u32, attributes: (u64, u32)) -> Reply {
        *self.vm.moment() = Moment { now_ns: self.core.world.now_ns, ..Moment::default() };
        self.syscalls.call(self.vm, self.core, caller, command, attributes)
    }

    /// Whether the run is to stop.
    pub fn is_to_stop(&mut self) -> bool {
        !self.control.go_on(Time(self.core.world.now_ns))
    }

    /// What the loader asked for and was refused because it is not simulated, and why programs that ran for it failed.
    pub fn faults(&self) -> &[String] {
        self.syscalls.faults()
    }

    /// Where the time of each CPU has gone.
    pub fn cpu_times(&self) -> Vec<CpuTime> {
        (0..self.core.cpus.len()).map(|cpu| self.core.time_so_far(cpu)).collect()
    }
}

/// The program in addition to its scheduler.
pub(super) struct Companion {
    loads: Box<dyn Loads>,
    syscalls: Syscalls<Core>,
}

/// Lets a program load its scheduler; gives the machine with it, its operations, and the program.
pub(super) fn load(
    mut loads: Box<dyn Loads>,
    kernel: Kernel<Core>,
    options: &LoadOptions,
    memory: GuestMemory,
    (core, control): (&mut Core, &mut dyn Control),
) -> Result<(Vm<Core>, StructOps, Companion), RunError> {
    let (mut syscalls, mut vm) = Syscalls::new(kernel, Rc::new(kernel_btf()), options, memory)?;
    let attached = loads.load(&mut Machine { syscalls: &mut syscalls, vm: &mut vm, core, control })?;
    syscalls.complete(&mut vm)?;
    Ok((vm, attached.operations, Companion { loads, syscalls }))
}

impl Sim {
    /// Puts a program in addition to its scheduler. One that continues has its first turn when the scheduler has begun.
    pub(super) fn accompany(&mut self, companion: Companion) {
        let watched = companion.syscalls.watched().filter(|event| *event != REGISTRATION);
        self.unseen = watched.map(String::from).collect();
        if companion.loads.goes_on() {
            (self.companion_at, self.companion) = (0, Some(Box::new(companion)));
        }
    }

    /// Lets the program work at this instant.
    #[cold]
    pub(super) fn companion_works(&mut self, control: &mut dyn Control) {
        self.companion_at = u64::MAX;
        let Some(mut companion) = self.companion.take().filter(|_| !self.has_failed()) else { return };
        let Companion { loads, syscalls } = &mut *companion;
        let mut machine = Machine { syscalls, vm: &mut self.vm, core: &mut self.core, control };
        let now = machine.core.world.now_ns;
        match loads.work(&mut machine, now) {
            Ok(next) => self.companion_at = next.map_or(u64::MAX, |next| next.max(now + 1)),
            // The run looks up now, and ends.
            Err(_) if machine.is_to_stop() => self.interrupt_at = 0,
            Err(message) => self.core.fail(SCX_EXIT_UNREG, 0, NONE, &message),
        }
        self.companion = Some(companion);
        self.take_what_is_left(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_declared_and_no_other() {
        let btf = kernel_btf();
        let generic = KernelBtf::new(&Default::default(), &[], &[], ("ops", &[]));
        let is_own = |found: &(&str, usize)| generic.functions().all(|other| other != *found);
        let mut declared: Vec<(&str, usize)> = btf.functions().filter(is_own).collect();
        let functions = super::super::kfuncs::all();
        let mut there: Vec<(&str, usize)> =
            functions.iter().map(|function| (function.name(), usize::from(function.arguments()))).collect();
        declared.sort_unstable();
        there.sort_unstable();
        assert_eq!(declared, there);
    }
}
