//! Machine code compared with known answers and against the interpreter.

mod assembler;
mod calls;
mod generated;
mod generator;
mod hosts;
mod instructions;
mod speed;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::MachineCode;
use crate::constants::Constants;
use crate::context::{CallContext, Moment};
use crate::heap::Heap;
use crate::local_types::LocalTypes;
use crate::memory::{Access, GuestMemory, Region};
use crate::needs::needs_of;
use crate::options::Executor;
use crate::program::{Entry, Function, FunctionId, LinkedMap, MapLayout, Program, ProgramId};
use crate::references::References;
use crate::stored::Stored;
use crate::timers::Timers;
use crate::vm::{STACK_SIZE, TaskFields, VmState};
use crate::{Fault, FaultKind};

/// Bytes of the memory that programs of the tests may use next to their stack.
const DATA_LEN: u64 = 1024;
const ENTRIES: u32 = 5;
const STRIDE: u32 = 24;
const CPUS: u32 = 3;
const OWNERS: u32 = 4;
const OWNER_STRIDE: u32 = 96;

/// What programs find among their constants.
const CONSTANTS: [u64; 4] = [0, 1, 0x8182_8384_8586_8788, u64::MAX];

/// Memory, maps and owners of a test, at the same guest addresses in every one.
struct World {
    memory: GuestMemory,
    data: u64,
    constants: u64,
    owners: u64,
    table: u64,
    maps: Vec<LinkedMap>,
    /// Whether its programs count every instruction.
    counts_all: bool,
}

impl World {
    fn new(counts_all: bool) -> World {
        let memory = GuestMemory::new().unwrap();
        let alloc = |name, len| memory.alloc(len, 8, Region::whole(name, Access::ReadWrite)).unwrap();
        let (data, array, per_cpu, owners) =
            (alloc("data", DATA_LEN), alloc("a", 4096), alloc("p", 4096), alloc("o", 4096));
        let (table, values) = (alloc("table", 4096), alloc("values", 4096));
        // Owner 1 has no value yet.
        for owner in [0, 2, 3] {
            memory.write(table + 4 * owner, (values + 64 * owner) as u32);
        }
        let cpu_stride = 512;
        let layouts = [
            MapLayout::Array { base: array, stride: STRIDE, entries: ENTRIES },
            MapLayout::PerCpuArray { base: per_cpu, stride: STRIDE, entries: ENTRIES, cpu_stride, cpus: CPUS },
            MapLayout::Storage { table, owners, owner_stride: OWNER_STRIDE, count: OWNERS },
            MapLayout::Opaque,
        ];
        let maps = layouts.into_iter().map(|layout| {
            let address = alloc("map", 8);
            LinkedMap { name: format!("map{address}"), address, layout }
        });
        let maps = maps.collect();
        let region = Region::whole("constants", Access::ReadOnly);
        let constants = memory.alloc(size_of_val(&CONSTANTS) as u64, 8, region).unwrap();
        (0..).zip(CONSTANTS).for_each(|(index, word)| memory.write(constants + 8 * index, word));
        World { memory, data, constants, owners, table, maps, counts_all }
    }

    fn known_constants(&self) -> Constants {
        let mut constants = Constants::default();
        constants.add(self.constants, CONSTANTS.iter().flat_map(|word| word.to_le_bytes()).collect());
        constants
    }

    fn program(&self, functions: Vec<Function>) -> Program {
        let entry = Entry { name: "f0".into(), section: "syscall".into(), function: FunctionId(0) };
        let unresolved = vec!["the missing function".to_string()];
        let (hosts, maps, counts_all) = (hosts::hosts(), self.maps.clone(), self.counts_all);
        let needs = needs_of(&functions, &hosts, counts_all).unwrap();
        let (constants, entries) = (self.known_constants(), vec![entry]);
        Program { constants, functions, needs, hosts, entries, maps, unresolved, counts_all }
    }
}

/// What a run leaves behind.
struct Outcome {
    result: Result<u64, Fault>,
    instructions: u64,
    memory: Vec<u8>,
}

impl Outcome {
    /// Fails unless the other run left the same behind.
    fn assert_same(&self, other: &Outcome) {
        assert_eq!((&self.result, self.instructions), (&other.result, other.instructions));
        assert!(self.memory == other.memory, "memory differs");
    }
}

/// Runs the functions that `build` makes for a world in a fresh world, and counts.
fn run(executor: Executor, limit: i64, build: &dyn Fn(&World) -> Vec<Function>) -> Outcome {
    run_in(World::new(true), executor, limit, build)
}

fn run_in(world: World, executor: Executor, limit: i64, build: &dyn Fn(&World) -> Vec<Function>) -> Outcome {
    let program = world.program(build(&world));
    let memory = world.memory.clone();
    let mut vm = new_vm(program, memory.clone(), executor, limit);
    let stack = vm.context.stack_top;
    let result = call(&mut vm).map_err(|fault| *fault);
    assert_eq!(vm.context.stack_top, stack, "the stack is as it was");
    let mut bytes = vec![0; 16 * 4096];
    memory.read_bytes(world.data, &mut bytes);
    Outcome { result, instructions: vm.instructions(), memory: bytes }
}

/// Calls the first program.
fn call(vm: &mut VmState) -> Result<u64, Box<Fault>> {
    // SAFETY: the host functions of the tests look at no host.
    unsafe { vm.call(ProgramId(0), [], std::ptr::null_mut()) }
}

/// A machine without anything of an object file.
fn new_vm(program: Program, memory: GuestMemory, executor: Executor, instruction_limit: i64) -> VmState {
    let stack = memory.alloc(STACK_SIZE, 16, Region::whole("the stack", Access::ReadWrite)).unwrap();
    let machine = (executor == Executor::Machine).then(|| Arc::new(MachineCode::compile(&program).unwrap()));
    let entry_code = machine.as_ref().map(|code| code.of_entries(&program)).unwrap_or_default();
    let mut context = CallContext::new(&memory, stack);
    context.moment = Moment { now_ns: 123_456_789_012, current: 0x5000, cpu: 2 };
    VmState {
        context,
        memory,
        program,
        instruction_limit,
        printed: Vec::new(),
        released: Vec::new(),
        checked: executor == Executor::Interpreter,
        maps: Vec::new(),
        map_fields: Vec::new(),
        section_fields: BTreeMap::new(),
        stored: Stored::default(),
        references: References::default(),
        timers: Timers::default(),
        heap: Heap::default(),
        per_cpu: BTreeMap::new(),
        local_types: LocalTypes::default(),
        globals: BTreeMap::new(),
        task_fields: TaskFields::default(),
        cpus: CPUS,
        cpu_nodes: Vec::new(),
        random: 1,
        ticks_per_second: 1000,
        machine,
        entry_code,
        executed: 0,
        marks: None,
    }
}

/// Runs a single function in both executors and gives what they agree on.
fn agreed(limit: i64, build: &dyn Fn(&World) -> Vec<Function>) -> Outcome {
    let machine = run(Executor::Machine, limit, build);
    machine.assert_same(&run(Executor::Interpreter, limit, build));
    machine
}

/// Result and executed instructions of functions that do not fail.
fn value(build: &dyn Fn(&World) -> Vec<Function>) -> (u64, u64) {
    let outcome = agreed(1 << 40, build);
    (outcome.result.unwrap(), outcome.instructions)
}

/// The fault of functions that fail.
fn fault(limit: i64, build: &dyn Fn(&World) -> Vec<Function>) -> FaultKind {
    agreed(limit, build).result.unwrap_err().kind
}
