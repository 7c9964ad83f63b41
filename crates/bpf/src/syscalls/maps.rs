//! Maps: made in guest memory, read and written from outside.

use super::attributes::{Attributes, read_vec};
use super::{Caller, Item, MAPS_MOST, Reply, Syscalls, errno};
use crate::btf::{Btf, Kind};
use crate::descriptor::{AsFd, OwnedFd};
use crate::fields::Fields;
use crate::hosted::Vm;
use crate::maps::{Map, Place, Storage, kind};
use crate::memory::{Access, GuestMemory, PAGE_SIZE, Region};
use crate::object::{LoadError, MapDefinition};
use crate::program::{LinkedMap, MapId};
use crate::vm::{MAP_POINTER_STRIDE, VmState};

/// Tables of operations are maps too.
pub const STRUCT_OPS: u32 = 26;
/// The most bytes of a table of operations.
const MOST_OPERATIONS: u32 = 1 << 16;
/// Flags of a map.
mod flag {
    /// Programs only read it.
    pub const READ_ONLY: u32 = 1 << 7;
    /// Loaders can map it.
    pub const MAPPABLE: u32 = 1 << 10;
}
/// Addresses that loaders choose for variables of an arena: they lie at its end, where guest memory has handles.
const ARENA_TOP: u64 = 0xff00_0000;
/// Bytes of an arena as loaders map it.
const ARENA_BYTES: u64 = 1 << 32;
/// The first entries of a ring buffer's file are two pages of positions; the data follow twice.
const RING_PAGES: u64 = 2;

/// A map that a loader made.
#[derive(Clone, Debug)]
pub struct MapObject {
    pub definition: MapDefinition,
    /// Its place in the machine; a table of operations has none.
    pub id: Option<MapId>,
    /// The value of a table of operations.
    pub value: Vec<u8>,
    /// The kernel's type of that value.
    pub value_type: u32,
    /// The address of the first value, where loaders name values by their place.
    pub base: Option<u64>,
    pub is_frozen: bool,
}

impl<H> Syscalls<H> {
    pub(super) fn create_map(&mut self, vm: &mut Vm<H>, caller: &dyn Caller, at: &Attributes) -> Result<Reply, i32> {
        let definition = MapDefinition {
            name: at.name(28),
            kind: at.u32(0),
            key_size: at.u32(4),
            value_size: at.u32(8),
            max_entries: at.u32(12),
            flags: at.u32(16),
            value_type: at.u32(56),
            ..MapDefinition::default()
        };
        let mut map =
            MapObject { definition, id: None, value: Vec::new(), value_type: at.u32(60), base: None, is_frozen: false };
        if map.definition.kind == STRUCT_OPS {
            if map.definition.value_size > MOST_OPERATIONS {
                return Err(errno::E2BIG);
            }
            self.charge(vm, u64::from(map.definition.value_size))?;
            map.value = vec![0; map.definition.value_size as usize];
            return Ok(self.add(Item::Map(map), None));
        }
        if map.definition.kind == kind::USER_RINGBUF {
            self.note(format!("a ring buffer from the program to its policy ({}) is not simulated", at.name(28)));
            return Err(errno::EOPNOTSUPP);
        }
        let btf = self.btf(caller, at.u32(48))?;
        let number = self.items.len() as u32;
        self.charge(vm, 0)?;
        if map.definition.kind == kind::ARENA {
            // Its file has 4 GiB, and a program can have one.
            let is_arena = |item: &Item| matches!(item, Item::Map(map) if map.definition.kind == kind::ARENA);
            if self.items.iter().any(is_arena) {
                self.note(format!("a second arena ({}) is not simulated", at.name(28)));
                return Err(errno::ENOMEM);
            }
            self.user_half = (at.u64(64) >> 32) as u32;
        }
        let file = self.place_map(vm, caller, &mut map, btf.as_deref(), number)?;
        Ok(self.add(Item::Map(map), file))
    }

    fn place_map(
        &mut self,
        vm: &mut Vm<H>,
        caller: &dyn Caller,
        map: &mut MapObject,
        btf: Option<&Btf>,
        number: u32,
    ) -> Result<Option<OwnedFd>, i32> {
        let id = self.pointers.len();
        if id == MAPS_MOST || map.definition.max_entries == 0 && !has_no_entries(map.definition.kind) {
            return Err(errno::EINVAL);
        }
        let state = vm.state_mut();
        let fields = fields_of(btf, &map.definition).map_err(|_| errno::EINVAL)?;
        let refused = |error: LoadError| match error {
            LoadError::Memory(_) => errno::ENOMEM,
            _ => errno::EINVAL,
        };
        let mut made = Map::new(&map.definition, id as u32, &self.options, &state.memory).map_err(refused)?;
        if let Storage::Arena(arena) = &mut made.storage {
            arena.user_base = u64::from(self.user_half) << 32;
        }
        let file = share(&state.memory, caller, &map.definition, &made, number)?;
        map.base = match &made.storage {
            Storage::Array(array) => Some(array.base),
            Storage::Arena(arena) => Some(arena.user_base),
            _ => None,
        };
        map.id = Some(MapId(id as u32));
        let address = self.first_pointer + id as u64 * MAP_POINTER_STRIDE;
        state.program.maps.push(LinkedMap { name: made.name.clone(), address, layout: made.layout() });
        state.maps.push(made);
        state.map_fields.push(fields);
        self.pointers.push(address);
        self.is_stale = true;
        Ok(file)
    }

    /// A map with its place in the machine.
    fn placed(&self, caller: &dyn Caller, at: &Attributes) -> Result<(&MapObject, MapId), i32> {
        let (_, map) = self.map(caller, at.u32(0))?;
        Ok((map, map.id.ok_or(errno::EOPNOTSUPP)?))
    }

    pub(super) fn lookup(&mut self, vm: &mut Vm<H>, caller: &dyn Caller, at: &Attributes) -> Result<Reply, i32> {
        let (map, id) = self.placed(caller, at)?;
        let key = read_vec(caller, at.u64(8), map.definition.key_size as usize)?;
        let kind = map.definition.kind;
        let state = vm.state_mut();
        let bytes = read_value(state, id, kind, &key)?;
        caller.write(at.u64(16), &bytes)?;
        Ok(Reply::Value(0))
    }

    pub(super) fn update(&mut self, vm: &mut Vm<H>, caller: &dyn Caller, at: &Attributes) -> Result<Reply, i32> {
        let (number, map) = self.map(caller, at.u32(0))?;
        let (key_at, value_at, flags) = (at.u64(8), at.u64(16), at.u64(24));
        let Some(id) = map.id else {
            let value = read_vec(caller, value_at, map.value.len())?;
            if let Item::Map(map) = &mut self.items[number as usize] {
                map.value = value;
            }
            return Ok(Reply::Value(0));
        };
        let definition = &map.definition;
        let key = read_vec(caller, key_at, definition.key_size as usize)?;
        let is_of_maps = matches!(definition.kind, kind::ARRAY_OF_MAPS | kind::HASH_OF_MAPS);
        let state = vm.state_mut();
        if is_of_maps {
            let fd = u32::from_le_bytes(read_vec(caller, value_at, 4)?.try_into().expect("four bytes"));
            let inner = self.map(caller, fd)?.1.id.ok_or(errno::EINVAL)?;
            let pointer = self.pointers[inner.index()];
            return write_value(state, id, &key, flags, |_| Some(pointer.to_le_bytes().to_vec()));
        }
        let size = state.maps[id.index()].value_size as usize;
        let copies = copies(state, definition.kind);
        let stride = if copies > 1 { size.next_multiple_of(8) } else { size };
        let is_per_cpu = is_per_cpu(definition.kind);
        let bytes = read_vec(caller, value_at, if is_per_cpu { stride * copies as usize } else { size })?;
        write_value(state, id, &key, flags, |cpu| {
            let from = cpu as usize * size.next_multiple_of(8);
            bytes.get(from..from + size).map(<[u8]>::to_vec)
        })
    }

    pub(super) fn delete(&mut self, vm: &mut Vm<H>, caller: &dyn Caller, at: &Attributes) -> Result<Reply, i32> {
        let (map, id) = self.placed(caller, at)?;
        let key = read_vec(caller, at.u64(8), map.definition.key_size as usize)?;
        let state = vm.state_mut();
        let VmState { maps, memory, .. } = state;
        let Storage::Hash(hash) = &mut maps[id.index()].storage else { return Err(errno::EINVAL) };
        let value = hash.remove(memory, &key).ok_or(errno::ENOENT)?;
        state.drop_element(id, value);
        Ok(Reply::Value(0))
    }

    pub(super) fn next_key(&mut self, vm: &mut Vm<H>, caller: &dyn Caller, at: &Attributes) -> Result<Reply, i32> {
        let (map, id) = self.placed(caller, at)?;
        let size = map.definition.key_size as usize;
        let key = match at.u64(8) {
            0 => None,
            address => Some(read_vec(caller, address, size)?),
        };
        let state = vm.state_mut();
        let next = match &state.maps[id.index()].storage {
            Storage::Array(array) => {
                let index = |key: Vec<u8>| u32::from_le_bytes(key[..4].try_into().expect("four bytes"));
                let next = key.map_or(0, |key| index(key).wrapping_add(1));
                // One that is not there begins again, as in a kernel.
                (next < array.entries).then(|| next.to_le_bytes().to_vec())
            }
            Storage::Hash(hash) => {
                let from = key.and_then(|key| hash.slot_of(&state.memory, &key)).map_or(0, |slot| slot + 1);
                hash.next_element(from, 0).map(|(_, at, _)| {
                    let mut bytes = vec![0; size];
                    state.memory.read_bytes(at, &mut bytes);
                    bytes
                })
            }
            _ => return Err(errno::EOPNOTSUPP),
        };
        caller.write(at.u64(16), &next.ok_or(errno::ENOENT)?)?;
        Ok(Reply::Value(0))
    }

    /// What is frozen and not written by programs is constant from here on.
    pub(super) fn freeze(&mut self, vm: &mut Vm<H>, caller: &dyn Caller, at: &Attributes) -> Result<Reply, i32> {
        let (number, _) = self.map(caller, at.u32(0))?;
        let Item::Map(map) = &mut self.items[number as usize] else { return Err(errno::EINVAL) };
        if std::mem::replace(&mut map.is_frozen, true) {
            return Ok(Reply::Value(0));
        }
        if let Some(base) = map.base.filter(|_| map.definition.flags & flag::READ_ONLY != 0) {
            let state = vm.state_mut();
            let mut bytes = vec![0; map.definition.value_size as usize];
            state.memory.read_bytes(base, &mut bytes);
            state.program.constants.add(base, bytes);
        }
        Ok(Reply::Value(0))
    }
}

/// Kinds whose number of entries a loader leaves open.
fn has_no_entries(kind: u32) -> bool {
    matches!(kind, kind::TASK_STORAGE | kind::CGRP_STORAGE)
}

fn is_per_cpu(kind: u32) -> bool {
    matches!(kind, kind::PERCPU_ARRAY | kind::PERCPU_HASH | kind::LRU_PERCPU_HASH)
}

fn copies(state: &VmState, kind: u32) -> u32 {
    if is_per_cpu(kind) { state.cpus } else { 1 }
}

/// What only host functions may touch in a map's values. The value of a map of globals is a section.
fn fields_of(btf: Option<&Btf>, definition: &MapDefinition) -> Result<Fields, LoadError> {
    let Some(btf) = btf.filter(|_| definition.value_type != 0) else { return Ok(Fields::default()) };
    let found = btf.get(definition.value_type).map_err(crate::object::ObjectError::from)?;
    let Kind::DataSection(variables) = &found.kind else {
        return Fields::of(btf, definition.value_type, definition.value_size, &definition.name);
    };
    let mut fields = Fields::default();
    for variable in variables {
        if let Ok(Kind::Variable { ty, .. }) = btf.get(variable.ty).map(|variable| variable.kind.clone()) {
            fields.add(btf, ty, variable.offset, &definition.name)?;
        }
    }
    Ok(fields)
}

/// The file by which a loader maps a map, if it can.
fn share(
    memory: &GuestMemory,
    caller: &dyn Caller,
    definition: &MapDefinition,
    map: &Map,
    number: u32,
) -> Result<Option<OwnedFd>, i32> {
    let refused = |_| errno::ENOMEM;
    match &map.storage {
        Storage::Array(array) if definition.flags & flag::MAPPABLE != 0 => {
            let stride = u64::from(definition.value_size).next_multiple_of(8);
            let len = (stride * u64::from(array.entries)).next_multiple_of(PAGE_SIZE);
            let file = caller.file(number, len).map_err(refused)?;
            memory.share(array.base, len, file.as_fd(), 0).map_err(refused)?;
            Ok(Some(file))
        }
        Storage::Arena(arena) => {
            // The place of a page in the file is its address, so that 32 bits of a loader's pointer are the program's.
            let file = caller.file(number, ARENA_BYTES).map_err(refused)?;
            let len = arena.taken.len() as u64 * PAGE_SIZE;
            memory.share(arena.base, len, file.as_fd(), arena.base).map_err(refused)?;
            if u64::from(definition.max_entries) * PAGE_SIZE > ARENA_TOP {
                let top = ARENA_BYTES - ARENA_TOP;
                memory.place_above(ARENA_TOP, top, Region::whole("variables of the arena", Access::ReadWrite));
                memory.share(ARENA_TOP, top, file.as_fd(), ARENA_TOP).map_err(refused)?;
            }
            Ok(Some(file))
        }
        Storage::Ring(ring) => {
            let len = RING_PAGES * PAGE_SIZE + 2 * ring.size();
            caller.file(number, len).map(Some).map_err(refused)
        }
        _ => Ok(None),
    }
}

/// The values of a key one after the other, without what only host functions may touch.
fn read_value(state: &mut VmState, id: MapId, kind: u32, key: &[u8]) -> Result<Vec<u8>, i32> {
    let cpus = copies(state, kind);
    let size = state.maps[id.index()].value_size as usize;
    let mut all = Vec::new();
    for cpu in 0..cpus {
        let VmState { maps, memory, .. } = &mut *state;
        let value = maps[id.index()].lookup(memory, key, cpu).ok_or(errno::ENOENT)?;
        let mut bytes = vec![0; size];
        memory.read_bytes(value, &mut bytes);
        state.map_fields[id.index()].each(|offset, len| {
            let range = offset as usize..(offset + len) as usize;
            bytes.get_mut(range).into_iter().for_each(|bytes| bytes.fill(0));
        });
        if is_per_cpu(kind) {
            bytes.resize(size.next_multiple_of(8), 0);
        }
        all.extend(bytes);
    }
    Ok(all)
}

/// Writes what `value` gives for each CPU, of which there is one where values are not per CPU.
fn write_value(
    state: &mut VmState,
    id: MapId,
    key: &[u8],
    flags: u64,
    value: impl Fn(u32) -> Option<Vec<u8>>,
) -> Result<Reply, i32> {
    let mut cpu = 0;
    while let Some(bytes) = value(cpu) {
        let VmState { maps, memory, .. } = &mut *state;
        let flags = if cpu == 0 { flags } else { 0 };
        let to = match maps[id.index()].place(memory, key, flags, cpu).map_err(|_| errno::ENOMEM)? {
            Ok(Place::At(to)) => {
                state.drop_value(id, to);
                to
            }
            Ok(Place::New(slot)) => {
                let Storage::Hash(hash) = &maps[id.index()].storage else { return Err(errno::EINVAL) };
                let old = hash.value_address(slot, 0);
                state.drop_element(id, old);
                let VmState { maps, memory, .. } = &mut *state;
                let Storage::Hash(hash) = &mut maps[id.index()].storage else { return Err(errno::EINVAL) };
                hash.fill(memory, slot, key, cpu)
            }
            Ok(Place::Nowhere) => return Ok(Reply::Value(0)),
            Err(error) => return Err(-error as i32),
        };
        state.memory.write_bytes(to, &bytes);
        state.clear_fields(id, to);
        cpu += 1;
        if cpu == state.cpus {
            break;
        }
    }
    Ok(Reply::Value(0))
}
