//! Helpers that call back into the program.

use crate::arguments::{Callback, host_functions};
use crate::check::Check;
use crate::maps::{Storage, errno};
use crate::program::MapId;

/// The most rounds that `bpf_loop` makes.
const ROUNDS_MAX: u32 = 1 << 23;

host_functions! {
    /// `bpf_loop(rounds, callback, context, flags)`: gives the number of rounds made.
    fn repeat(call, rounds: u32, callback: Callback, context: u64, flags: u64) {
        if flags != 0 {
            return Some(errno::EINVAL as u64);
        }
        if rounds > ROUNDS_MAX {
            return Some(errno::E2BIG as u64);
        }
        for round in 0..u64::from(rounds) {
            if call.call_back(callback, [round, context, 0, 0, 0])? != 0 {
                return Some(round + 1);
            }
        }
        Some(u64::from(rounds))
    }

    /// `bpf_for_each_map_elem(map, callback, context, flags)`: gives the number of elements visited.
    fn for_each_element(call, map: MapId, callback: Callback, context: u64, flags: u64) {
        if flags != 0 {
            return Some(errno::EINVAL as u64);
        }
        let pointer = call.vm().program.maps[map.index()].address;
        let each = |call: &mut Check<'_>, key, value| call.call_back(callback, [pointer, key, value, context, 0]);
        match &call.vm().maps[map.index()].storage {
            Storage::Array(array) => {
                let entries = array.entries;
                call.with_scratch(8, |call, key| each_of_array(call, map, entries, key, each))
            }
            Storage::Hash(_) => each_of_hash(call, map, each),
            _ => Some(errno::EINVAL as u64),
        }
    }
}

/// What is done with an element, given by the addresses of its key and its value; it is the last one unless that gives
/// 0.
trait Each: Fn(&mut Check<'_>, u64, u64) -> Option<u64> {}
impl<F: Fn(&mut Check<'_>, u64, u64) -> Option<u64>> Each for F {}

fn each_of_array(call: &mut Check<'_>, map: MapId, entries: u32, key: u64, each: impl Each) -> Option<u64> {
    for index in 0..entries {
        call.memory().write(key, index);
        let cpu = call.cpu();
        let value = match &call.vm().maps[map.index()].storage {
            Storage::Array(array) => array.address(index, cpu),
            _ => None,
        };
        if each(call, key, value?)? != 0 {
            return Some(u64::from(index) + 1);
        }
    }
    Some(u64::from(entries))
}

/// Elements may come and go while the walk is on the way; it goes in the order of their slots.
fn each_of_hash(call: &mut Check<'_>, map: MapId, each: impl Each) -> Option<u64> {
    let (mut from, mut visited) = (0, 0);
    loop {
        let cpu = call.cpu();
        let Storage::Hash(hash) = &call.vm().maps[map.index()].storage else { return Some(visited) };
        let (next, slots) = (hash.next_element(from, cpu), hash.slots());
        let passed = next.map_or(slots, |(slot, ..)| slot) - from.min(slots);
        call.charge_bytes(u64::from(passed))?;
        let Some((slot, key, value)) = next else { return Some(visited) };
        visited += 1;
        if each(call, key, value)? != 0 {
            return Some(visited);
        }
        from = slot + 1;
    }
}
