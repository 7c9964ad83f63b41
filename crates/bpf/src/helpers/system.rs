//! Helpers about time, CPU and the running task.

use crate::arguments::{Writable, host_functions};
use crate::check::Check;
use crate::maps::errno;

host_functions! {
    /// `bpf_ktime_get_ns()` and the other clocks: all show simulated time.
    fn ktime_ns(call) {
        Some(call.now_ns())
    }

    /// `bpf_jiffies64()`.
    fn jiffies(call) {
        let ticks = u128::from(call.vm().ticks_per_second);
        Some((u128::from(call.now_ns()) * ticks / 1_000_000_000) as u64)
    }

    /// `bpf_get_smp_processor_id()`.
    fn processor_id(call) {
        Some(u64::from(call.cpu()))
    }

    /// `bpf_get_numa_node_id()`.
    fn numa_node(call) {
        let cpu = call.cpu() as usize;
        Some(u64::from(call.vm().cpu_nodes.get(cpu).copied().unwrap_or(0)))
    }

    /// `bpf_get_current_task()` and `bpf_get_current_task_btf()`.
    fn current_task(call) {
        Some(call.current())
    }

    /// `bpf_get_current_pid_tgid()`.
    fn current_pid_tgid(call) {
        let fields = call.vm().task_fields;
        Some(u64::from(current_field(call, fields.tgid)) << 32 | u64::from(current_field(call, fields.pid)))
    }

    /// `bpf_get_current_comm(buffer, size)`.
    fn current_comm(call, buffer: Writable) {
        buffer.clear(call);
        let comm = call.vm().task_fields.comm;
        if let Some(offset) = comm.filter(|_| call.current() != 0) {
            let len = buffer.len.saturating_sub(1).min(15);
            call.memory().copy(call.current() + u64::from(offset), buffer.address, len as usize);
        }
        Some(0)
    }

    /// `bpf_get_prandom_u32()`: a sequence of its own for each machine, from its seed (SplitMix64).
    fn random(call) {
        let state = &mut call.vm().random;
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Some((mixed ^ (mixed >> 31)) >> 32)
    }

    /// Helpers that do nothing here and succeed.
    fn zero(call) {
        Some(0)
    }

    /// Helpers about hardware that a simulated machine does not have.
    fn not_supported(call) {
        Some(errno::EOPNOTSUPP as u64)
    }

    /// `bpf_tail_call`: program arrays are filled by loaders, which are not here, so that the call fails as it does on
    /// an empty entry.
    fn tail_call(call) {
        Some(errno::ENOENT as u64)
    }
}

fn current_field(call: &Check<'_>, offset: Option<u32>) -> u32 {
    match offset {
        Some(offset) if call.current() != 0 => call.memory().read(call.current() + u64::from(offset)),
        _ => 0,
    }
}
