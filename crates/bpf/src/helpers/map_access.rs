//! Helpers on maps.

use crate::call::{Call, host_functions};
use crate::maps::{Storage, errno};

host_functions! {
    /// `bpf_map_lookup_elem(map, key)`: the value, or NULL.
    fn lookup(call, map, key) {
        find(call, map, key, call.cpu())
    }

    /// `bpf_map_lookup_percpu_elem(map, key, cpu)`.
    fn lookup_per_cpu(call, map, key, cpu) {
        if cpu >= u64::from(call.vm().cpus) {
            return 0;
        }
        find(call, map, key, cpu as u32)
    }

    /// `bpf_map_update_elem(map, key, value, flags)`.
    fn update(call, map, key, value, flags) {
        let Some((id, map)) = call.map(map) else { return 0 };
        let Some(key) = call.bytes(key, u64::from(map.key_size)) else { return 0 };
        if !call.check(value, u64::from(map.value_size), false) {
            return 0;
        }
        let result = map.update(call.memory(), key, value, flags, call.cpu(), |old| call.vm().drop_value(id, old));
        if result == 0 && let Some(new) = map.lookup(call.memory(), key, call.cpu()) {
            call.vm().clear_kernel_pointers(id, new);
        }
        result as u64
    }

    /// `bpf_map_delete_elem(map, key)`.
    fn delete(call, map, key) {
        let Some((id, map)) = call.map(map) else { return 0 };
        let Some(key) = call.bytes(key, u64::from(map.key_size)) else { return 0 };
        let Storage::Hash(hash) = &mut map.storage else { return errno::EINVAL as u64 };
        match hash.remove(call.memory(), key) {
            Some(value) => {
                call.vm().drop_value(id, value);
                0
            }
            None => errno::ENOENT as u64,
        }
    }

    /// `bpf_map_push_elem(map, value, flags)`: flag `BPF_EXIST` drops the oldest value of a full queue.
    fn push(call, map, value, flags) {
        let Some((_, map)) = call.map(map) else { return 0 };
        if !call.check(value, u64::from(map.value_size), false) {
            return 0;
        }
        let Storage::Queue(queue) = &mut map.storage else { return errno::EINVAL as u64 };
        queue.push(call.memory(), value, flags == 2) as u64
    }

    /// `bpf_map_pop_elem(map, value)`.
    fn pop(call, map, value) {
        take(call, map, value, true)
    }

    /// `bpf_map_peek_elem(map, value)`.
    fn peek(call, map, value) {
        take(call, map, value, false)
    }
}

#[inline]
fn find(call: Call, map: u64, key: u64, cpu: u32) -> u64 {
    let Some((_, map)) = call.map(map) else { return 0 };
    let Some(key) = call.bytes(key, u64::from(map.key_size)) else { return 0 };
    match map.lookup(call.memory(), key, cpu) {
        Some(value) if map.of_maps => call.memory().read(value),
        found => found.unwrap_or(0),
    }
}

fn take(call: Call, map: u64, value: u64, remove: bool) -> u64 {
    let Some((_, map)) = call.map(map) else { return 0 };
    if !call.check(value, u64::from(map.value_size), true) {
        return 0;
    }
    let Storage::Queue(queue) = &mut map.storage else { return errno::EINVAL as u64 };
    queue.take(call.memory(), value, remove) as u64
}
