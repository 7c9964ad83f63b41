//! Helpers on ring buffers.

use crate::arguments::{Readable, host_functions};
use crate::check::Check;
use crate::maps::{Ring, Storage, errno};
use crate::memory::GuestMemory;
use crate::program::MapId;
use crate::references::Held;

host_functions! {
    /// `bpf_ringbuf_output(map, data, size, flags)`.
    fn output(call, map: MapId, data: Readable) {
        let (ring, memory) = ring(call, map)?;
        let Some(at) = ring.reserve(data.len) else { return Some(errno::ENOMEM as u64) };
        memory.copy(data.address, at, data.len as usize);
        finish(call, map, at, true)
    }

    /// `bpf_ringbuf_reserve(map, size, flags)`: a place for a record, or NULL.
    fn reserve(call, map: MapId, len: u64) {
        match ring(call, map)?.0.reserve(len) {
            Some(at) => call.hold(at, Held::Record(map)),
            None => Some(0),
        }
    }

    /// `bpf_ringbuf_submit(record, flags)`.
    fn submit(call, record: u64) {
        give_back(call, record, true)
    }

    /// `bpf_ringbuf_discard(record, flags)`.
    fn discard(call, record: u64) {
        give_back(call, record, false)
    }

    /// `bpf_ringbuf_query(map, flags)`: the reader always keeps up, so that nothing is waiting.
    fn query(call, map: MapId, what: u64) {
        let (ring, _) = ring(call, map)?;
        Some(if what == 1 { ring.size() } else { 0 })
    }
}

fn ring<'a>(call: &'a mut Check<'_>, map: MapId) -> Option<(&'a mut Ring, &'a GuestMemory)> {
    call.storage(map, "a ring buffer", |storage| match storage {
        Storage::Ring(ring) => Some(ring),
        _ => None,
    })
}

fn give_back(call: &mut Check<'_>, record: u64, submit: bool) -> Option<u64> {
    match call.give_up(record, "record of a ring buffer", |held| matches!(held, Held::Record(_)))? {
        Held::Record(map) => finish(call, map, record, submit),
        _ => None,
    }
}

fn finish(call: &mut Check<'_>, map: MapId, record: u64, submit: bool) -> Option<u64> {
    let (ring, memory) = ring(call, map)?;
    match ring.finish(memory, record, submit) {
        Ok(_) => Some(0),
        Err(error) => call.out_of_memory(&error),
    }
}
