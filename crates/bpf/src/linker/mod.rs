//! Links an object against a kernel: makes its maps and globals in guest memory, answers what it asks of the kernel,
//! and turns its code into a [`Program`].

mod data;
mod functions;
mod symbols;

use std::collections::BTreeMap;

use crate::btf::{Btf, Kind, TypeId};
use crate::context::CallContext;
use crate::heap::Heap;
use crate::kernel::Kernel;
use crate::machine::MachineCode;
use crate::maps::Map;
use crate::memory::{Access, GuestMemory, Region};
use crate::object::{LoadError, MapDefinition, Object};
use crate::options::{Executor, LoadOptions, Value};
use crate::program::{LinkedMap, Program};
use crate::timers::Timers;
use crate::vm::{KernelPointer, MAP_POINTER_STRIDE, STACK_SIZE, TaskFields, Vm};
use data::Data;
use functions::Functions;
use symbols::Symbols;

/// Loads an object.
pub fn load(
    object: &Object,
    kernel: &Kernel,
    settings: &[(String, Value)],
    options: &LoadOptions,
    memory: GuestMemory,
) -> Result<Vm, LoadError> {
    let (mut maps, pointers) = make_maps(object, options, &memory)?;
    fill_maps_of_maps(object, &mut maps, &pointers, &memory);
    let data = Data::place(object, kernel, settings, options.cpus, &mut maps, &memory)?;
    let symbols = Symbols::resolve(object, kernel, &memory)?;
    let functions = Functions::link(object, kernel, &data, &symbols, &pointers)?;
    let linked = maps.iter().zip(&pointers);
    let mut program = Program {
        constants: data.constants(object, &memory),
        maps: linked
            .map(|(map, &address)| LinkedMap { name: map.name.clone(), address, layout: map.layout() })
            .collect(),
        counts_all: options.counts_instructions,
        ..functions.program
    };
    program.needs = functions::needs(&program)?;
    let machine = match options.executor {
        Executor::Interpreter => None,
        Executor::Machine => Some(MachineCode::obtain(&program)?),
    };
    let entry_code = machine.as_ref().map(|code| code.of_entries(&program)).unwrap_or_default();
    let stack = memory.alloc(STACK_SIZE, 16, Region::whole("the stack", Access::ReadWrite))?;
    let field = |name| kernel.types.offset("task_struct", name);
    let config = |name: &str| kernel.configs.iter().find(|(config, _)| *config == name).map(|&(_, value)| value);
    Ok(Vm {
        context: context(&memory, stack),
        kernel_pointers: object.maps.iter().map(|map| kernel_pointers(&object.btf, map)).collect::<Result<_, _>>()?,
        program,
        instruction_limit: options.instruction_limit,
        printed: Vec::new(),
        released: Vec::new(),
        checked: options.executor == Executor::Interpreter,
        maps,
        timers: Timers::default(),
        heap: Heap::default(),
        per_cpu: kernel.variables.iter().filter_map(|found| Some((found.address, found.per_cpu_stride?))).collect(),
        local_types: functions.local_types,
        globals: data.globals,
        task_fields: TaskFields { pid: field("pid"), tgid: field("tgid"), comm: field("comm") },
        cpus: options.cpus,
        cpu_nodes: options.cpu_nodes.clone(),
        random: options.seed,
        ticks_per_second: config("CONFIG_HZ").unwrap_or(1000),
        machine,
        entry_code,
        executed: 0,
        memory,
    })
}

fn context(memory: &GuestMemory, stack: u64) -> CallContext {
    CallContext {
        memory_base: memory.base(),
        budget: 0,
        now_ns: 0,
        cpu: 0,
        depth: 0,
        frames: 1,
        current: 0,
        stack_top: stack + STACK_SIZE,
        stack_start: stack,
        position: 0,
        host: std::ptr::null_mut(),
        vm: std::ptr::null_mut(),
        fault: None,
    }
}

/// The maps and the values of pointers to them, which are places in guest memory that hold nothing.
fn make_maps(object: &Object, options: &LoadOptions, memory: &GuestMemory) -> Result<(Vec<Map>, Vec<u64>), LoadError> {
    let stride = MAP_POINTER_STRIDE as u32;
    let region = Region::array("maps", stride, stride, Access::ReadOnly);
    let first = memory.alloc(MAP_POINTER_STRIDE * object.maps.len() as u64, 8, region)?;
    let mut maps = Vec::new();
    for definition in &object.maps {
        maps.push(Map::new(definition, options, memory)?);
    }
    Ok((maps, (0..object.maps.len() as u64).map(|index| first + index * MAP_POINTER_STRIDE).collect()))
}

/// Puts the initial elements into maps of maps.
fn fill_maps_of_maps(object: &Object, maps: &mut [Map], pointers: &[u64], memory: &GuestMemory) {
    for (map, definition) in maps.iter_mut().zip(&object.maps) {
        for value in &definition.values {
            let key = value.index.to_le_bytes();
            if let Some(address) = map.lookup(memory, &key, 0) {
                memory.write(address, pointers[value.map]);
            }
        }
    }
}

/// How deep structures inside values are searched for pointers to kernel objects.
const DEPTH_MAX: u32 = 8;
/// How many elements of an array are searched.
const ELEMENTS_MAX: u32 = 4096;

/// The pointers to kernel objects in a map's values: members tagged `__kptr`.
fn kernel_pointers(btf: &Btf, map: &MapDefinition) -> Result<Vec<KernelPointer>, LoadError> {
    let mut found = Vec::new();
    if map.value_type != 0 {
        find_pointers(btf, map.value_type, 0, DEPTH_MAX, &mut found)?;
    }
    let fits = |pointer: &KernelPointer| pointer.offset.saturating_add(8) <= map.value_size;
    found.retain(fits);
    Ok(found)
}

fn find_pointers(
    btf: &Btf,
    ty: TypeId,
    offset: u32,
    depth: u32,
    found: &mut Vec<KernelPointer>,
) -> Result<(), LoadError> {
    let Some(depth) = depth.checked_sub(1) else { return Ok(()) };
    match &btf.resolve(ty).map_err(crate::object::ObjectError::from)?.1.kind {
        Kind::Composite { members, .. } => {
            for member in members.iter().filter(|member| member.bits == 0) {
                find_pointers(btf, member.ty, offset.saturating_add(member.bit_offset / 8), depth, found)?;
            }
        }
        Kind::Array { element, count } => {
            let size =
                u32::try_from(btf.size_of(*element).map_err(crate::object::ObjectError::from)?).unwrap_or(u32::MAX);
            for index in 0..(*count).min(ELEMENTS_MAX) {
                let before = found.len();
                find_pointers(btf, *element, offset.saturating_add(size.saturating_mul(index)), depth, found)?;
                if found.len() == before {
                    break;
                }
            }
        }
        Kind::Pointer(to) => {
            let tag = btf.get(*to).map_err(crate::object::ObjectError::from)?;
            if matches!(tag.kind, Kind::TypeTag(_)) && (tag.name == "kptr" || tag.name == "percpu_kptr") {
                let type_name = btf.resolve(*to).map_err(crate::object::ObjectError::from)?.1.name.clone();
                found.push(KernelPointer { offset, type_name });
            }
        }
        _ => {}
    }
    Ok(())
}

/// By section index, where things are; used by all parts of the linker.
type Addresses = BTreeMap<usize, u64>;
