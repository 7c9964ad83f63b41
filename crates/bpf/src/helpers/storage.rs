//! Helpers on storage that belongs to tasks and cgroups.

use super::map_access::drop_value;
use crate::arguments::{Pointer, host_functions};
use crate::check::Check;
use crate::maps::{Storage, errno};
use crate::program::MapId;
use crate::vm::VmState;

/// Flag of a lookup: make the value if it is missing.
const CREATE: u64 = 1;

host_functions! {
    /// `bpf_task_storage_get(map, task, value, flags)`: the value, or NULL; `value` is what a new one begins with.
    fn task_get(call, map: MapId, owner: u64, value: Pointer, flags: u64) {
        get(call, map, owner, value, flags)
    }

    /// `bpf_cgrp_storage_get(map, cgroup, value, flags)`.
    fn cgroup_get(call, map: MapId, owner: u64, value: Pointer, flags: u64) {
        get(call, map, owner, value, flags)
    }

    /// `bpf_task_storage_delete(map, task)` and `bpf_cgrp_storage_delete(map, cgroup)`.
    fn delete(call, map: MapId, owner: u64) {
        let Some(value) = call.vm().detach_storage(map, owner) else { return Some(errno::ENOENT as u64) };
        let size = call.vm().maps[map.index()].value_size;
        call.charge_bytes(u64::from(size))?;
        drop_value(call, map, value)?;
        call.vm().free_storage(map, value);
        Some(0)
    }
}

#[inline]
fn get(call: &mut Check<'_>, map: MapId, owner: u64, initial: Pointer, flags: u64) -> Option<u64> {
    let VmState { maps, memory, .. } = call.vm();
    let found = &mut maps[map.index()];
    let Storage::Owner(storage) = &mut found.storage else {
        let name = found.name.clone();
        return call.fail(format!("asks for the storage of an owner in `{name}`, which is not a storage map"));
    };
    if let Some(value) = storage.lookup(memory, owner) {
        return Some(value);
    }
    // A pointer that may be NULL may be passed.
    if owner != 0 && !storage.is_owner(owner) {
        return call.fail(format!("passes {owner:#x} as what storage belongs to, which it is not"));
    }
    if flags & CREATE == 0 { Some(0) } else { create(call, map, owner, initial) }
}

fn create(call: &mut Check<'_>, map: MapId, owner: u64, initial: Pointer) -> Option<u64> {
    let size = call.vm().maps[map.index()].value_size;
    if !initial.is_null() {
        call.range(initial.0, u64::from(size), false)?;
    }
    call.charge_bytes(u64::from(size))?;
    let VmState { maps, memory, .. } = call.vm();
    let Storage::Owner(storage) = &mut maps[map.index()].storage else { return Some(0) };
    let value = match storage.lookup_or_create(memory, owner) {
        Ok(Some(value)) => value,
        Ok(None) => return Some(0),
        Err(error) => return call.out_of_memory(&error),
    };
    if !initial.is_null() {
        memory.copy(initial.0, value, size as usize);
        call.vm().clear_fields(map, value);
    }
    Some(value)
}
