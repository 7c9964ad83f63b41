//! Helpers on maps.

use crate::arguments::{Key, Pointer, host_functions};
use crate::check::Check;
use crate::maps::{Place, Storage, errno, flag};
use crate::program::MapId;
use crate::vm::VmState;

/// About what it takes to let go of something.
const STEPS_PER_DROP: u64 = 32;

host_functions! {
    /// `bpf_map_lookup_elem(map, key)`: the value, or NULL.
    fn lookup(call, map: MapId, key: Pointer) {
        find(call, map, key, call.cpu())
    }

    /// `bpf_map_lookup_percpu_elem(map, key, cpu)`.
    fn lookup_per_cpu(call, map: MapId, key: Pointer, cpu: u64) {
        match u32::try_from(cpu) {
            Ok(cpu) if cpu < call.vm().cpus => find(call, map, key, cpu),
            _ => Some(0),
        }
    }

    /// `bpf_map_update_elem(map, key, value, flags)`.
    fn update(call, map: MapId, key: Pointer, value: Pointer, flags: u64) {
        let key = call.key(map, key)?;
        let size = call.vm().maps[map.index()].value_size;
        let from = call.readable(value.0, u64::from(size))?.address;
        let to = match place(call, map, &key, flags)? {
            Ok(Some(to)) => to,
            Ok(None) => return Some(0),
            Err(error) => return Some(error as u64),
        };
        call.memory().copy(from, to, size as usize);
        call.vm().clear_fields(map, to);
        Some(0)
    }

    /// `bpf_map_delete_elem(map, key)`.
    fn delete(call, map: MapId, key: Pointer) {
        let key = call.key(map, key)?;
        let VmState { maps, memory, .. } = call.vm();
        let Storage::Hash(hash) = &mut maps[map.index()].storage else { return Some(errno::EINVAL as u64) };
        match hash.remove(memory, key.bytes()) {
            Some(first) => {
                drop_element(call, map, first)?;
                Some(0)
            }
            None => Some(errno::ENOENT as u64),
        }
    }

    /// `bpf_map_push_elem(map, value, flags)`: flag `BPF_EXIST` drops the oldest value of a full queue, and there is no other.
    fn push(call, map: MapId, value: Pointer, flags: u64) {
        if flags & !flag::EXIST != 0 {
            return Some(errno::EINVAL as u64);
        }
        let size = call.vm().maps[map.index()].value_size;
        let value = call.readable(value.0, u64::from(size))?.address;
        let VmState { maps, memory, .. } = call.vm();
        let Storage::Queue(queue) = &mut maps[map.index()].storage else { return Some(errno::EINVAL as u64) };
        Some(queue.push(memory, value, flags == flag::EXIST) as u64)
    }

    /// `bpf_map_pop_elem(map, value)`.
    fn pop(call, map: MapId, value: Pointer) {
        take(call, map, value, true)
    }

    /// `bpf_map_peek_elem(map, value)`.
    fn peek(call, map: MapId, value: Pointer) {
        take(call, map, value, false)
    }
}

#[inline]
fn find(call: &mut Check<'_>, map: MapId, key: Pointer, cpu: u32) -> Option<u64> {
    let key = call.key(map, key)?;
    let VmState { maps, memory, .. } = call.vm();
    let map = &mut maps[map.index()];
    Some(match map.lookup(memory, key.bytes(), cpu) {
        Some(value) if map.of_maps => memory.read(value),
        found => found.unwrap_or(0),
    })
}

/// Where the value of a key is to be stored, with nothing in it that would have to be let go of; `None` if nowhere, or
/// an error number.
fn place(call: &mut Check<'_>, map: MapId, key: &Key, flags: u64) -> Option<Result<Option<u64>, i64>> {
    let cpu = call.cpu();
    let VmState { maps, memory, .. } = call.vm();
    let found = match maps[map.index()].place(memory, key.bytes(), flags, cpu) {
        Ok(found) => found,
        Err(error) => return call.out_of_memory(&error),
    };
    Some(Ok(match found {
        Ok(Place::At(value)) => {
            drop_value(call, map, value)?;
            Some(value)
        }
        Ok(Place::New(slot)) => {
            if let Storage::Hash(hash) = &call.vm().maps[map.index()].storage {
                let (old, len) = (hash.value_address(slot, 0), hash.element_bytes());
                call.charge_bytes(len)?;
                drop_element(call, map, old)?;
            }
            let VmState { maps, memory, .. } = call.vm();
            let Storage::Hash(hash) = &mut maps[map.index()].storage else { return Some(Ok(None)) };
            Some(hash.fill(memory, slot, key.bytes(), cpu))
        }
        Ok(Place::Nowhere) => None,
        Err(error) => return Some(Err(error)),
    }))
}

/// Lets go of what a value holds, each thing for about what an allocation takes.
pub fn drop_value(call: &mut Check<'_>, map: MapId, value: u64) -> Option<()> {
    let dropped = call.vm().drop_value(map, value);
    call.charge(STEPS_PER_DROP * dropped)
}

/// The same of an element of a hash, which may have a value for each CPU.
fn drop_element(call: &mut Check<'_>, map: MapId, first: u64) -> Option<()> {
    let dropped = call.vm().drop_element(map, first);
    call.charge(STEPS_PER_DROP * dropped)
}

fn take(call: &mut Check<'_>, map: MapId, value: Pointer, remove: bool) -> Option<u64> {
    let size = call.vm().maps[map.index()].value_size;
    let value = call.writable(value.0, u64::from(size))?.address;
    let VmState { maps, memory, .. } = call.vm();
    let Storage::Queue(queue) = &mut maps[map.index()].storage else { return Some(errno::EINVAL as u64) };
    Some(queue.take(memory, value, remove) as u64)
}
