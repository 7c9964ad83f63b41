//! A policy at work: its loaded object, its operations, and the core that it is in charge of.

use super::core::{Core, DirectTask, Full, MAX_TASKS};
use super::cpu::NONE;
use super::kfuncs::{OWN_MASK, TASK};
use super::layout::GuestMm;
use super::loaded::Companion;
use super::ops::{Op, Operations};
use super::policy_timers::PolicyTimers;
use super::restless::Restless;
use super::throttling::Throttling;
use super::together::Together;
use crate::error::RunError;
use crate::world::World;
use schedlab_bpf::{Access, Fault, MapId, MemoryError, Moment, Region, Vm};
use schedlab_model::control_group::Bandwidth;
use schedlab_model::{ids::ControlGroupId, ids::RoleId, time::Time, trace::*, workload::Kind};

/// Name of the task-storage map into which a policy writes a word about a task.
pub const STATUS_MAP: &str = "schedlab_status";
/// Name of the task-storage map in which a policy finds what a task had waited for.
pub const WAKE_MAP: &str = "schedlab_wake";

/// That many printed lines are kept.
pub const PRINTED_LINES: usize = 1000;

/// Bytes for the structures that operations get as arguments.
pub const SCRATCH_BYTES: u64 = 1024;

/// Why a scenario cannot continue, whatever the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// The tasks of this role let no time go by.
    Stuck(RoleId),
    /// A task of this role finds no place.
    Full(RoleId, Full),
    /// A task of this role writes what a control group cannot have.
    Refused(RoleId, ControlGroupId, Bandwidth),
}

impl Halt {
    /// What the run ends with.
    pub fn error(self, world: &World) -> RunError {
        let name = |role: RoleId| world.workload.roles[role.index()].name.clone();
        let time = Time(world.now_ns);
        match self {
            Halt::Stuck(role) => RunError::Stuck { role: name(role), steps: world.done_now().steps, time },
            Halt::Refused(role, id, bandwidth) => RunError::Refused {
                role: name(role),
                path: world.workload.control_groups[id].path.clone(),
                why: bandwidth.refusal().unwrap_or_default(),
                time,
            },
            Halt::Full(role, Full) => RunError::TooManyTasks { role: name(role), limit: MAX_TASKS, time },
        }
    }
}

/// The machine under a policy.
pub struct Sim {
    /// The policy's program.
    pub vm: Vm<Core>,
    /// Its operations.
    pub ops: Operations,
    /// Everything else.
    pub core: Core,
    /// Guest address of the table of the status words of all tasks by slot, if the policy speaks of its tasks.
    status_table: Option<u64>,
    wake_map: Option<MapId>,
    /// What the policy says about limits.
    pub throttling: Throttling,
    /// Whether the instructions of a call cost time.
    pays_for_instructions: bool,
    /// Whether each tick has to happen by itself: it costs something, or the policy is called. Otherwise only those
    /// happen at which a slice ends.
    pub ticks_are_felt: bool,
    /// That many instructions of the policy have been paid for, if they cost anything.
    instructions_paid: u64,
    timers: PolicyTimers,
    /// What the policy printed, with the simulated time.
    pub printed: Vec<(Time, String)>,
    /// Lines that it printed beyond [`PRINTED_LINES`].
    pub printed_dropped: u64,
    /// CPUs whose task may have used its slice up.
    pub slices_over: Vec<u32>,
    /// CPUs that choose at one instant.
    pub(super) together: Together,
    /// Whether a release of the held tasks is set for this instant.
    pub release_is_set: bool,
    /// Whether no task causes what happens: `current` is none then, though a CPU may be running one.
    pub from_outside: bool,
    /// Tasks held on the CPU on which they started.
    pub held: Vec<u32>,
    /// Set when the scenario cannot continue.
    pub halt: Option<Halt>,
    /// The count of policy instructions at which the run next checks for a stop.
    pub interrupt_at: u64,
    /// Whether what follows at this instant was interrupted for that.
    pub is_interrupted: bool,
    /// Whether more tasks wake by interrupts at this instant: an interrupt wakes all whose time has come before its CPU chooses
    /// (`hrtimer_interrupt`).
    pub(super) gathers: bool,
    /// Finds a policy that lets no time go by.
    pub restless: Restless,
    /// For each role the process number and the address of its first task.
    pub leaders: Vec<Option<(i32, u64)>>,
    memory_maps: u64,
    /// Events of a kernel that the policy's programs watch and that never happen here.
    pub(super) unseen: Vec<String>,
    /// The program in addition to its scheduler, and when it works next.
    pub(super) companion: Option<Box<Companion>>,
    pub(super) companion_at: u64,
    /// Scratch in guest memory for the structures that operations get as arguments.
    pub scratch: u64,
}

impl Sim {
    /// Puts a loaded program in charge of a machine.
    pub fn new(vm: Vm<Core>, ops: Operations, mut core: Core) -> Result<Sim, MemoryError> {
        let status_table = vm.map(STATUS_MAP).and_then(|map| vm.storage_table(map, core.address_of(0)));
        let wake_map = vm.map(WAKE_MAP);
        let throttling = Throttling::of(&vm, &core);
        core.notes_moved = throttling.is_told();
        let (tick, costs) = (core.machine.tick, core.machine.costs);
        let ticks_are_felt = tick > Time::ZERO && (ops.has(Op::Tick) || costs.tick > Time::ZERO);
        let together = Together::new(&core.machine);
        let roles = core.world.workload.roles.len();
        let scratch = core.memory.alloc(SCRATCH_BYTES, 8, Region::whole("arguments", Access::ReadWrite))?;
        let size = size_of::<GuestMm>() as u32;
        let region = Region::array("mm_struct", size, size, Access::ReadOnly);
        let memory_maps = core.memory.alloc((roles as u64 + MAX_TASKS as u64) * size as u64, 8, region)?;
        Ok(Sim {
            vm,
            ops,
            core,
            status_table,
            wake_map,
            throttling,
            pays_for_instructions: costs.policy_instruction_ps > 0,
            ticks_are_felt,
            instructions_paid: 0,
            timers: PolicyTimers::default(),
            printed: Vec::new(),
            printed_dropped: 0,
            slices_over: Vec::new(),
            together,
            release_is_set: false,
            from_outside: false,
            held: Vec::new(),
            halt: None,
            interrupt_at: 0,
            is_interrupted: false,
            gathers: false,
            restless: Restless::default(),
            leaders: vec![None; roles],
            memory_maps,
            unseen: Vec::new(),
            companion: None,
            companion_at: u64::MAX,
            scratch,
        })
    }

    /// Writes the argument structure of the next operation.
    pub fn write_scratch<T>(&mut self, value: T) {
        assert!(size_of::<T>() as u64 <= SCRATCH_BYTES);
        // SAFETY: the scratch region is guest memory of that size, aligned for any plain structure.
        unsafe { self.core.memory.host(self.scratch).cast::<T>().write(value) };
    }

    /// The address space of a task: its role's, or its own if it is a process.
    pub fn memory_map(&self, slot: u32, kind: Kind, role: RoleId) -> u64 {
        let index = match kind {
            Kind::Thread => role.0 as u64,
            Kind::Process => self.leaders.len() as u64 + slot as u64,
        };
        self.memory_maps + index * size_of::<GuestMm>() as u64
    }

    /// Whether the policy has failed.
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.core.exit.is_some()
    }

    /// Whether the run cannot continue.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.core.world.has_to_end
    }

    /// The scenario cannot continue.
    pub fn stop(&mut self, halt: Halt) {
        self.halt = Some(halt);
        self.core.world.has_to_end = true;
    }

    /// Calls an operation on a CPU, about a task if it is about one. An operation that the policy does not have, and
    /// any after the policy has failed, does nothing and gives zero.
    #[inline(always)]
    pub fn call<const N: usize>(&mut self, op: Op, cpu: u32, slot: u32, args: [u64; N]) -> u64 {
        self.call_for(op, cpu, cpu, slot, args)
    }

    /// The same with the run queue of another CPU locked: where a CPU wakes a task for another.
    #[inline(always)]
    pub fn call_for<const N: usize>(&mut self, op: Op, cpu: u32, locked: u32, slot: u32, args: [u64; N]) -> u64 {
        if self.ops.has(op) { self.call_elsewhere(op, cpu, locked, slot, args) } else { 0 }
    }

    /// There is one of it for each number of arguments.
    #[inline(never)]
    fn call_elsewhere<const N: usize>(&mut self, op: Op, cpu: u32, locked: u32, slot: u32, args: [u64; N]) -> u64 {
        self.call_here_for(op, cpu, locked, slot, args)
    }

    /// As [`Sim::call`], compiled into its caller: for what nearly every policy has and every switch calls.
    #[inline(always)]
    pub fn call_here<const N: usize>(&mut self, op: Op, cpu: u32, slot: u32, args: [u64; N]) -> u64 {
        self.call_here_for(op, cpu, cpu, slot, args)
    }

    /// As [`Sim::call_for`], compiled into its caller.
    #[inline(always)]
    fn call_here_for<const N: usize>(&mut self, op: Op, cpu: u32, locked: u32, slot: u32, args: [u64; N]) -> u64 {
        let Some(program) = self.ops.program(op) else { return 0 };
        if self.core.exit.is_some() && op != Op::Exit {
            return 0;
        }
        self.enter(op, cpu, locked, slot);
        match self.vm.call(program, args, &mut self.core) {
            Ok(value) if !self.pays_for_instructions && !self.vm.has_leftovers() => {
                self.core.running_op = None;
                self.record_status(cpu, slot);
                value
            }
            result => self.leave(op, cpu, slot, result),
        }
    }

    #[inline]
    fn enter(&mut self, op: Op, cpu: u32, locked: u32, slot: u32) {
        self.core.running_op = Some(op);
        self.core.running_slot = slot;
        (self.core.this_cpu, self.core.locked_cpu) = (cpu, locked);
        self.core.update_clocks(locked);
        let current = self.core.cpu(cpu).current_address;
        let current = if self.from_outside { 0 } else { current };
        *self.vm.moment() = Moment { now_ns: self.core.world.now_ns, current, cpu };
    }

    /// What follows a call that failed, left something, or has to be paid for.
    #[inline(never)]
    fn leave(&mut self, op: Op, cpu: u32, slot: u32, result: Result<u64, Box<Fault>>) -> u64 {
        self.core.running_op = None;
        if self.vm.has_leftovers() {
            self.take_leftovers(cpu);
        }
        let ps = self.core.machine.costs.policy_instruction_ps;
        if ps > 0 {
            let executed = self.vm.instructions();
            let unpaid = executed - std::mem::replace(&mut self.instructions_paid, executed);
            self.pay_for(cpu, unpaid * ps);
        }
        self.record_status(cpu, slot);
        match result {
            Ok(value) => value,
            Err(fault) => {
                self.fault(op, &fault);
                0
            }
        }
    }

    #[cold]
    fn fault(&mut self, op: Op, fault: &Fault) {
        // No kernel would have loaded the program.
        self.core.is_leaving = false;
        self.core.running_op = Some(op);
        self.core.error(fault.to_string());
        self.core.running_op = None;
    }

    /// A policy's instructions are paid for in whole nanoseconds; the rest is kept.
    fn pay_for(&mut self, cpu: u32, picoseconds: u64) {
        let unpaid = &mut self.core.cpu_mut(cpu).unpaid_ps;
        *unpaid += picoseconds;
        let ns = *unpaid / 1000;
        *unpaid %= 1000;
        self.core.pay(cpu, Overhead::Policy, ns);
    }

    /// Tells what the policy says about a task, if it says something else than before.
    #[inline(always)]
    fn record_status(&mut self, cpu: u32, slot: u32) {
        if self.throttling.is_told() {
            self.record_throttling(cpu, slot);
        }
        let Some(table) = self.status_table.filter(|_| slot != NONE) else { return };
        let address: u32 = self.core.memory.read(table + u64::from(slot) * 4);
        let word: u64 = self.core.memory.read(u64::from(address));
        if address != 0 && self.core.entity(slot).status != word {
            self.record_new_status(cpu, slot, word);
        }
    }

    fn record_new_status(&mut self, cpu: u32, slot: u32, word: u64) {
        let entity = self.core.entity_mut(slot);
        entity.status = word;
        let task = entity.id;
        self.core.world.emit_of(cpu, task, EventKind::Status { task, word });
    }

    /// Tells the policy what a task had waited for.
    #[inline(always)]
    pub fn publish_wake_source(&mut self, slot: u32, source: WakeSource) {
        if let Some(map) = self.wake_map {
            self.publish_in(map, slot, source);
        }
    }

    fn publish_in(&mut self, map: MapId, slot: u32, source: WakeSource) {
        let address = self.core.address_of(slot);
        match self.vm.storage_value_or_create(map, address) {
            Ok(Some(value)) => self.core.memory.write(value, source as u32),
            Ok(None) => {}
            Err(error) => self.core.error(format!("it takes too much memory: {error}")),
        }
    }

    /// Takes what programs left that ran for something other than the machine.
    pub fn take_what_is_left(&mut self, cpu: u32) {
        if self.vm.has_leftovers() {
            self.take_leftovers(cpu);
        }
    }

    /// Timers that the policy set, lines that it printed, and kernel objects that it let go of.
    #[cold]
    fn take_leftovers(&mut self, cpu: u32) {
        self.take_timer_requests(cpu);
        let now = Time(self.core.world.now_ns);
        for line in self.vm.take_printed() {
            match self.printed.len() < PRINTED_LINES {
                true => self.printed.push((now, line)),
                false => self.printed_dropped += 1,
            }
        }
        for released in self.vm.take_released() {
            match released.type_name {
                OWN_MASK => self.core.masks.put(released.object),
                TASK => self.core.drop_task(released.object),
                _ => {}
            }
        }
    }

    fn take_timer_requests(&mut self, cpu: u32) {
        for request in self.vm.take_timer_requests() {
            self.timers.ask(&mut self.core.world.timers, request.timer, request.action, cpu);
        }
    }

    /// A timer of the policy is due, unless it was set again or stopped since.
    pub fn fire_timer(&mut self, index: u32, generation: u32) {
        let Some((address, cpu)) = self.timers.due(index, generation) else { return };
        if self.has_failed() {
            return;
        }
        self.enter(Op::Timer, cpu, cpu, NONE);
        let result = self.vm.fire_timer(address, &mut self.core);
        self.leave(Op::Timer, cpu, NONE, result.map(|()| 0));
        self.tell_left_custody();
        if self.status_table.is_some() {
            // A timer may speak of any task.
            let alive: Vec<u32> = self.core.world.tasks.alive_slots().collect();
            alive.into_iter().for_each(|slot| self.record_status(cpu, slot));
        }
    }

    /// Runs `op` on a CPU, for another one or itself, while exactly one task may be put straight into a queue.
    #[inline(always)]
    pub fn call_direct<const N: usize>(&mut self, op: Op, cpu: u32, locked: u32, slot: u32, args: [u64; N]) -> u64 {
        self.core.direct_task = DirectTask::Expected(slot);
        let result = self.call_here_for(op, cpu, locked, slot, args);
        self.core.direct_task = DirectTask::None;
        result
    }
}
