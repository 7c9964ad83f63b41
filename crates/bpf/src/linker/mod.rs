//! Links an object against a kernel: makes its maps and globals in guest memory, answers what it asks of the kernel,
//! and turns its code into a [`Program`].

mod data;
mod functions;
mod symbols;

use std::collections::BTreeMap;

use crate::context::CallContext;
use crate::fields::Fields;
use crate::heap::Heap;
use crate::kernel::Environment;
use crate::machine::MachineCode;
use crate::maps::Map;
use crate::memory::{Access, GuestMemory, Region};
use crate::object::{LoadError, MapDefinition, Object};
use crate::options::{Executor, LoadOptions, Value};
use crate::program::{LinkedMap, Program};
use crate::references::References;
use crate::stored::Stored;
use crate::timers::Timers;
use crate::vm::{MAP_POINTER_STRIDE, STACK_SIZE, TaskFields, VmState};
use data::Data;
use functions::Functions;
use symbols::Symbols;

/// Loads an object.
pub fn load(
    object: &Object,
    kernel: &Environment<'_>,
    settings: &[(String, Value)],
    options: &LoadOptions,
    memory: GuestMemory,
) -> Result<VmState, LoadError> {
    let (mut maps, pointers) = make_maps(object, settings, options, &memory)?;
    fill_maps_of_maps(object, &mut maps, &pointers, &memory)?;
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
    functions::mark_locks(&mut program.hosts);
    program.needs = functions::needs(&program)?;
    let machine = match options.executor {
        Executor::Interpreter => None,
        Executor::Machine => Some(MachineCode::obtain(&program)?),
    };
    let entry_code = machine.as_ref().map(|code| code.of_entries(&program)).unwrap_or_default();
    let stack = memory.alloc(STACK_SIZE, 16, Region::whole("the stack", Access::ReadWrite))?;
    let field = |name| kernel.types.offset("task_struct", name);
    let config = |name: &str| kernel.configs.iter().find(|(config, _)| *config == name).map(|&(_, value)| value);
    Ok(VmState {
        context: CallContext::new(&memory, stack),
        map_fields: map_fields(object)?,
        section_fields: section_fields(object)?,
        stored: Stored::default(),
        references: References::default(),
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
        marks: None,
        memory,
    })
}

/// Adds the programs of an object to a machine. `user_half` is the upper half of a loader's pointers into an arena.
pub fn add(
    state: &mut VmState,
    object: &Object,
    kernel: &Environment<'_>,
    pointers: &[u64],
    user_half: u32,
) -> Result<(), LoadError> {
    let symbols = Symbols::resolve(object, kernel, &state.memory)?;
    Functions::add(&mut state.program, object, kernel, &symbols, pointers, user_half)
}

/// Makes what was added ready to be called: by the interpreter, or as machine code.
pub fn complete(state: &mut VmState, executor: Executor) -> Result<(), LoadError> {
    functions::mark_locks(&mut state.program.hosts);
    state.program.needs = functions::needs(&state.program)?;
    if executor == Executor::Machine {
        let machine = MachineCode::obtain(&state.program)?;
        state.entry_code = machine.of_entries(&state.program);
        state.machine = Some(machine);
    }
    Ok(())
}

/// The maps and the values of pointers to them, which are places in guest memory that hold nothing.
fn make_maps(
    object: &Object,
    settings: &[(String, Value)],
    options: &LoadOptions,
    memory: &GuestMemory,
) -> Result<(Vec<Map>, Vec<u64>), LoadError> {
    let stride = MAP_POINTER_STRIDE as u32;
    let region = Region::array("maps", stride, stride, Access::ReadOnly);
    let first = memory.alloc(MAP_POINTER_STRIDE * object.maps.len() as u64, 8, region)?;
    let mut maps = Vec::new();
    for (number, definition) in (0..).zip(&object.maps) {
        let entries = entries(object, settings, &definition.name)?;
        maps.push(match entries {
            None => Map::new(definition, number, options, memory)?,
            Some(max_entries) => {
                Map::new(&MapDefinition { max_entries, ..definition.clone() }, number, options, memory)?
            }
        });
    }
    Ok((maps, (0..object.maps.len() as u64).map(|index| first + index * MAP_POINTER_STRIDE).collect()))
}

/// How many entries a map has by a setting, if there is one that says so.
fn entries(object: &Object, settings: &[(String, Value)], map: &str) -> Result<Option<u32>, LoadError> {
    let Some(constant) = object.constants.iter().find(|constant| constant.sizes() == Some(map)) else {
        return Ok(None);
    };
    let Some((_, value)) = settings.iter().find(|(name, _)| *name == constant.info.name) else { return Ok(None) };
    let bytes = constant.encode(value)?;
    Ok(bytes.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)))
}

/// Puts the initial elements into maps of maps.
fn fill_maps_of_maps(
    object: &Object,
    maps: &mut [Map],
    pointers: &[u64],
    memory: &GuestMemory,
) -> Result<(), LoadError> {
    for (map, definition) in maps.iter_mut().zip(&object.maps) {
        for value in &definition.values {
            let address = map.insert(memory, &value.index.to_le_bytes()).map_err(LoadError::Memory)?;
            let no_place = || LoadError::Missing(vec![format!("map `{}` with a value at {}", map.name, value.index)]);
            memory.write(address.ok_or_else(no_place)?, pointers[value.map]);
        }
    }
    Ok(())
}

/// What only host functions may touch in the values of each map.
fn map_fields(object: &Object) -> Result<Vec<Fields>, LoadError> {
    object.maps.iter().map(|map| Fields::of(&object.btf, map.value_type, map.value_size, &map.name)).collect()
}

/// The same in each section of globals.
fn section_fields(object: &Object) -> Result<BTreeMap<u32, Fields>, LoadError> {
    let mut all = BTreeMap::new();
    for (index, section) in object.data.iter().enumerate() {
        let mut fields = Fields::default();
        for (name, offset, _) in &section.variables {
            let ty = object.btf.variable_in(&section.name, name);
            if let (Some(ty), Ok(offset)) = (ty, u32::try_from(*offset)) {
                fields.add(&object.btf, ty, offset, &section.name)?;
            }
        }
        if !fields.is_empty() {
            all.insert(index as u32, fields);
        }
    }
    Ok(all)
}

/// By section index, where things are; used by all parts of the linker.
type Addresses = BTreeMap<usize, u64>;
