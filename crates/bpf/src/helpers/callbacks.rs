//! Helpers that call back into the program.

use crate::call::{Call, host_functions};
use crate::maps::{Storage, errno};

/// The most rounds that `bpf_loop` makes.
const ROUNDS_MAX: u64 = 1 << 23;

host_functions! {
    /// `bpf_loop(rounds, callback, context, flags)`: gives the number of rounds made.
    fn repeat(call, rounds, callback, context, flags) {
        let rounds = u64::from(rounds as u32);
        if flags != 0 {
            return errno::EINVAL as u64;
        }
        if rounds > ROUNDS_MAX {
            return errno::E2BIG as u64;
        }
        for round in 0..rounds {
            let stop = call.call_handle(callback, [round, context, 0, 0, 0]);
            if stop != 0 || call.has_failed() {
                return round + 1;
            }
        }
        rounds
    }

    /// `bpf_for_each_map_elem(map, callback, context, flags)`: gives the number of elements visited.
    fn for_each_element(call, map, callback, context, flags) {
        let Some((id, found)) = call.map(map) else { return 0 };
        if flags != 0 {
            return errno::EINVAL as u64;
        }
        let each = |key, value| {
            let stop = call.call_handle(callback, [map, key, value, context, 0]);
            stop == 0 && !call.has_failed()
        };
        match &found.storage {
            Storage::Array(array) => each_of_array(call, array.entries, |index| array_value(call, id, index), each),
            Storage::Hash(_) => each_of_hash(call, id, each),
            _ => errno::EINVAL as u64,
        }
    }
}

fn array_value(call: Call, id: crate::program::MapId, index: u32) -> Option<u64> {
    match &call.vm().maps[id.index()].storage {
        Storage::Array(array) => array.address(index, call.cpu()),
        _ => None,
    }
}

fn each_of_array(call: Call, entries: u32, value: impl Fn(u32) -> Option<u64>, each: impl Fn(u64, u64) -> bool) -> u64 {
    let visited = call.with_scratch(8, |key| {
        for index in 0..entries {
            call.memory().write(key, index);
            let Some(value) = value(index) else { return index };
            if !each(key, value) {
                return index + 1;
            }
        }
        entries
    });
    u64::from(visited.unwrap_or(0))
}

/// Elements may come and go while the walk is on the way; it goes in the order of their slots.
fn each_of_hash(call: Call, id: crate::program::MapId, each: impl Fn(u64, u64) -> bool) -> u64 {
    let (mut from, mut visited) = (0, 0);
    loop {
        let next = match &call.vm().maps[id.index()].storage {
            Storage::Hash(hash) => hash.next_element(from, call.cpu()),
            _ => None,
        };
        let Some((slot, key, value)) = next else { return visited };
        visited += 1;
        if !each(key, value) {
            return visited;
        }
        from = slot + 1;
    }
}
