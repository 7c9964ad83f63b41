//! CPU masks (`kernel/bpf/cpumask.c`).

use super::kernel_functions;
use crate::scx::mask::Mask;

/// Combines two masks word by word into a third; whether any bit is left.
fn combine(call: &super::Call, into: u64, a: u64, b: u64, operation: fn(u64, u64) -> u64) -> bool {
    let words = call.core.cpus.len().div_ceil(64) as u32;
    let (a, b) = (call.core.mask_at(a), call.core.mask_at(b));
    let mut any = 0;
    for i in 0..words {
        let word = operation(a.word(i), b.word(i));
        any |= word;
        call.core.memory.write(into + 8 * i as u64, word);
    }
    any != 0
}

fn first(mask: &Mask, otherwise: usize) -> u32 {
    mask.iter().next().unwrap_or(otherwise as u32)
}

kernel_functions! {
    fn bpf_cpumask_create(call) -> u64 {
        call.core.masks.allocate().unwrap_or(0)
    }

    fn bpf_cpumask_acquire(call, mask: u64) -> u64 {
        call.core.masks.acquire(mask);
        mask
    }

    fn bpf_cpumask_release(call, mask: u64) {
        call.core.masks.put(mask);
    }

    fn bpf_cpumask_first(call, mask: u64) -> u32 {
        first(&call.core.mask_at(mask), call.core.cpus.len())
    }

    fn bpf_cpumask_first_zero(call, mask: u64) -> u32 {
        let mask = call.core.mask_at(mask);
        let cpus = call.core.cpus.len() as u32;
        (0..cpus).find(|&c| !mask.contains(c)).unwrap_or(cpus)
    }

    fn bpf_cpumask_first_and(call, a: u64, b: u64) -> u32 {
        let (a, b) = (call.core.mask_at(a), call.core.mask_at(b));
        a.first_common(&b, None).unwrap_or(call.core.cpus.len() as u32)
    }

    fn bpf_cpumask_set_cpu(call, cpu: u32, mask: u64) {
        if (cpu as usize) < call.core.cpus.len() {
            call.core.mask_at(mask).insert(cpu);
        }
    }

    fn bpf_cpumask_clear_cpu(call, cpu: u32, mask: u64) {
        if (cpu as usize) < call.core.cpus.len() {
            call.core.mask_at(mask).remove(cpu);
        }
    }

    fn bpf_cpumask_test_cpu(call, cpu: u32, mask: u64) -> bool {
        call.core.mask_at(mask).contains(cpu)
    }

    fn bpf_cpumask_test_and_set_cpu(call, cpu: u32, mask: u64) -> bool {
        let mask = call.core.mask_at(mask);
        let was = mask.contains(cpu);
        if (cpu as usize) < call.core.cpus.len() {
            mask.insert(cpu);
        }
        was
    }

    fn bpf_cpumask_test_and_clear_cpu(call, cpu: u32, mask: u64) -> bool {
        (cpu as usize) < call.core.cpus.len() && call.core.mask_at(mask).remove(cpu)
    }

    fn bpf_cpumask_setall(call, mask: u64) {
        let all = call.core.all_cpus.address;
        combine(&call, mask, all, all, |a, _| a);
    }

    fn bpf_cpumask_clear(call, mask: u64) {
        combine(&call, mask, mask, mask, |_, _| 0);
    }

    fn bpf_cpumask_and(call, into: u64, a: u64, b: u64) -> bool {
        combine(&call, into, a, b, |a, b| a & b)
    }

    fn bpf_cpumask_or(call, into: u64, a: u64, b: u64) {
        combine(&call, into, a, b, |a, b| a | b);
    }

    fn bpf_cpumask_xor(call, into: u64, a: u64, b: u64) {
        combine(&call, into, a, b, |a, b| a ^ b);
    }

    fn bpf_cpumask_copy(call, into: u64, from: u64) {
        combine(&call, into, from, from, |a, _| a);
    }

    fn bpf_cpumask_equal(call, a: u64, b: u64) -> bool {
        let (a, b) = (call.core.mask_at(a), call.core.mask_at(b));
        a.iter().eq(b.iter())
    }

    fn bpf_cpumask_intersects(call, a: u64, b: u64) -> bool {
        let (a, b) = (call.core.mask_at(a), call.core.mask_at(b));
        a.first_common(&b, None).is_some()
    }

    fn bpf_cpumask_subset(call, a: u64, b: u64) -> bool {
        let (a, b) = (call.core.mask_at(a), call.core.mask_at(b));
        a.iter().all(|c| b.contains(c))
    }

    fn bpf_cpumask_empty(call, mask: u64) -> bool {
        call.core.mask_at(mask).len() == 0
    }

    fn bpf_cpumask_full(call, mask: u64) -> bool {
        call.core.mask_at(mask).len() as usize == call.core.cpus.len()
    }

    fn bpf_cpumask_weight(call, mask: u64) -> u32 {
        call.core.mask_at(mask).len()
    }

    fn bpf_cpumask_any_distribute(call, mask: u64) -> u32 {
        let mask = call.core.mask_at(mask);
        call.core.any_cpu(&mask).unwrap_or(call.core.cpus.len() as u32)
    }

    fn bpf_cpumask_any_and_distribute(call, a: u64, b: u64) -> u32 {
        let (a, b) = (call.core.mask_at(a), call.core.mask_at(b));
        let from = call.core.rotor;
        let cpus = call.core.cpus.len() as u32;
        let both: Vec<u32> = a.iter().filter(|&c| b.contains(c)).collect();
        let found = both.iter().copied().find(|&c| c >= from).or(both.first().copied()).unwrap_or(cpus);
        call.core.rotor = (found + 1) % cpus;
        found
    }

    /// Fills a mask from bytes.
    fn bpf_cpumask_populate(call, mask: u64, source: u64, size: u64) -> i32 {
        let bytes = (call.core.cpus.len().div_ceil(64) * 8) as u64;
        if size < bytes {
            return super::EINVAL;
        }
        call.core.memory.copy(source, mask, bytes as usize);
        0
    }
}
