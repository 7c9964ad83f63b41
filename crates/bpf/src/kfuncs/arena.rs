//! Pages of an arena.

use crate::call::{Call, host_functions};
use crate::maps::Storage;
use crate::memory::GuestMemory;

host_functions! {
    /// `bpf_arena_alloc_pages(map, address, count, node, flags)`: pages next to one another, or NULL.
    fn alloc_pages(call, map, address, count) {
        with(call, map, |arena, memory| arena.take(memory, address, count as u32))
    }

    /// `bpf_arena_free_pages(map, address, count)`.
    fn free_pages(call, map, address, count) {
        with(call, map, |arena, memory| {
            arena.give(memory, address, count as u32);
            0
        })
    }
}

fn with(call: Call, map: u64, run: impl FnOnce(&mut crate::maps::Arena, &GuestMemory) -> u64) -> u64 {
    let Some((_, map)) = call.map(map) else { return 0 };
    match &mut map.storage {
        Storage::Arena(arena) => run(arena, call.memory()),
        _ => call.fail(format!("uses `{}` as an arena, which it is not", map.name)),
    }
}
