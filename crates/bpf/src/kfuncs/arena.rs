//! Pages of an arena.

use crate::arguments::host_functions;
use crate::check::Check;
use crate::maps::{Arena, Storage};
use crate::memory::GuestMemory;
use crate::program::MapId;

/// About what it takes to make a page or to take it back.
const STEPS_PER_PAGE: u64 = 64;
/// What of an arena's pointer is a guest address.
const LOW: u64 = u32::MAX as u64;
/// Pages scanned for the price of one instruction.
const PAGES_PER_STEP: u64 = 16;

host_functions! {
    /// `bpf_arena_alloc_pages(map, address, count, node, flags)`: pages next to one another, or NULL.
    fn alloc_pages(call, map: MapId, address: u64, count: u32) {
        let (arena, memory) = with(call, map)?;
        let user_base = arena.user_base;
        let (address, looked_at) = match arena.take(memory, address & LOW, count) {
            Ok((0, looked_at)) => (0, looked_at),
            Ok((address, looked_at)) => (address | user_base, looked_at),
            Err(error) => return call.out_of_memory(&error),
        };
        let taken = if address == 0 { 0 } else { u64::from(count) };
        call.charge(looked_at / PAGES_PER_STEP + taken * STEPS_PER_PAGE)?;
        Some(address)
    }

    /// `bpf_arena_free_pages(map, address, count)`.
    fn free_pages(call, map: MapId, address: u64, count: u32) {
        let (arena, memory) = with(call, map)?;
        let given = arena.give(memory, address & LOW, count);
        call.charge(given * STEPS_PER_PAGE + u64::from(count) / PAGES_PER_STEP)?;
        Some(0)
    }
}

fn with<'a>(call: &'a mut Check<'_>, map: MapId) -> Option<(&'a mut Arena, &'a GuestMemory)> {
    call.storage(map, "an arena", |storage| match storage {
        Storage::Arena(arena) => Some(arena),
        _ => None,
    })
}
