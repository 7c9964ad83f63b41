//! The object through which a scheduler that is part of the simulating program takes part in a simulation.

/// A sched_ext object whose operations are all handed on to `schedlab_native`.
pub const NATIVE_OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/native.bpf.o"));
