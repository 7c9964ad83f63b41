//! Helpers on storage that belongs to tasks and cgroups.

use crate::call::{Call, host_functions};
use crate::maps::{Storage, errno};

/// Flag of a lookup: make the value if it is missing.
const CREATE: u64 = 1;

host_functions! {
    /// `bpf_task_storage_get(map, task, value, flags)`: the value, or NULL; `value` is what a new one begins with.
    fn task_get(call, map, owner, value, flags) {
        get(call, map, owner, value, flags)
    }

    /// `bpf_cgrp_storage_get(map, cgroup, value, flags)`.
    fn cgroup_get(call, map, owner, value, flags) {
        get(call, map, owner, value, flags)
    }

    /// `bpf_task_storage_delete(map, task)` and `bpf_cgrp_storage_delete(map, cgroup)`.
    fn delete(call, map, owner) {
        let Some((id, _)) = call.map(map) else { return 0 };
        if call.vm().delete_storage(id, owner) { 0 } else { errno::ENOENT as u64 }
    }
}

#[inline]
fn get(call: Call, map: u64, owner: u64, initial: u64, flags: u64) -> u64 {
    let Some((_, map)) = call.map(map) else { return 0 };
    let Storage::Owner(storage) = &mut map.storage else {
        return call.fail(format!("asks for the storage of an owner in `{}`, which is no storage map", map.name));
    };
    if let Some(value) = storage.lookup(call.memory(), owner) {
        return value;
    }
    if flags & CREATE == 0 {
        return 0;
    }
    if initial != 0 && !call.check(initial, u64::from(map.value_size), false) {
        return 0;
    }
    let Some(value) = storage.lookup_or_create(call.memory(), owner) else { return 0 };
    if initial != 0 {
        call.memory().copy(initial, value, map.value_size as usize);
    }
    value
}
