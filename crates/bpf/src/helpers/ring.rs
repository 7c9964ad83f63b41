//! Helpers on ring buffers.

use crate::call::{Call, host_functions};
use crate::maps::{Ring, Storage, errno};

host_functions! {
    /// `bpf_ringbuf_output(map, data, size, flags)`.
    fn output(call, map, data, len) {
        if !call.check(data, len, false) {
            return 0;
        }
        let Some(ring) = ring(&call, map) else { return 0 };
        let Some(at) = ring.reserve(len) else { return errno::ENOMEM as u64 };
        call.memory().copy(data, at, len as usize);
        ring.finish(call.memory(), at, true);
        0
    }

    /// `bpf_ringbuf_reserve(map, size, flags)`: a place for a record, or NULL.
    fn reserve(call, map, len) {
        ring(&call, map).and_then(|ring| ring.reserve(len)).unwrap_or(0)
    }

    /// `bpf_ringbuf_submit(record, flags)`.
    fn submit(call, record) {
        finish(call, record, true)
    }

    /// `bpf_ringbuf_discard(record, flags)`.
    fn discard(call, record) {
        finish(call, record, false)
    }

    /// `bpf_ringbuf_query(map, flags)`: the reader always keeps up, so that nothing is waiting.
    fn query(call, map, what) {
        match (ring(&call, map), what) {
            (Some(ring), 1) => ring.size(),
            _ => 0,
        }
    }
}

fn ring(call: &Call, map: u64) -> Option<&mut Ring> {
    let (_, map) = call.map(map)?;
    match &mut map.storage {
        Storage::Ring(ring) => Some(ring),
        _ => {
            call.fail(format!("uses `{}` as a ring buffer, which it is not", map.name));
            None
        }
    }
}

fn finish(call: Call, record: u64, submit: bool) -> u64 {
    let vm = call.vm();
    for map in &mut vm.maps {
        if let Storage::Ring(ring) = &mut map.storage
            && ring.finish(&vm.memory, record, submit)
        {
            return 0;
        }
    }
    call.fail(format!("gives {record:#x} back to a ring buffer, which is no record"))
}
