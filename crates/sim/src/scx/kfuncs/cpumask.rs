//! CPU masks (`kernel/bpf/cpumask.c`).

use super::arguments::{AnyMask, OwnMask};
use super::{OWN_MASK, kernel_functions};
use crate::scx::mask::Mask;
use schedlab_bpf::Readable;

/// Combines two masks word by word into a third; whether any bit is left.
fn combine(into: &Mask, a: &Mask, b: &Mask, operation: fn(u64, u64) -> u64) -> bool {
    let words = (0..into.words()).map(|i| {
        into.set_word(i, operation(a.word(i), b.word(i)));
        into.word(i)
    });
    words.fold(0, |any, word| any | word) != 0
}

fn first(mask: &Mask, otherwise: u32) -> u32 {
    mask.first_from(0, None).unwrap_or(otherwise)
}

kernel_functions! {
    fn bpf_cpumask_create(call) -> u64 {
        let made = call.core.masks.make();
        let mask = call.had(made)?;
        call.check.acquire(mask, OWN_MASK)?
    }

    fn bpf_cpumask_acquire(call, mask: OwnMask) -> u64 {
        if call.core.masks.get_own(mask.0.address).is_none() {
            let text = format!("acquires the cpumask at {:#x}, which is memory of its own", mask.0.address);
            return call.check.fail(text);
        }
        call.core.masks.acquire(&mask.0);
        call.check.acquire(mask.0.address, OWN_MASK)?
    }

    fn bpf_cpumask_release(call, mask: u64) {
        call.check.release(mask, OWN_MASK)?;
        call.core.masks.put(mask);
    }

    fn bpf_cpumask_first(call, mask: AnyMask) -> u32 {
        first(&mask.0, call.core.cpus.len())
    }

    fn bpf_cpumask_first_zero(call, mask: AnyMask) -> u32 {
        let cpus = call.core.cpus.len();
        mask.0.first_missing(cpus).unwrap_or(cpus)
    }

    fn bpf_cpumask_first_and(call, a: AnyMask, b: AnyMask) -> u32 {
        a.0.first_common(&b.0, None).unwrap_or(call.core.cpus.len())
    }

    fn bpf_cpumask_set_cpu(call, cpu: u32, mask: OwnMask) {
        if cpu < call.core.cpus.len() {
            mask.0.insert(cpu);
        }
    }

    fn bpf_cpumask_clear_cpu(call, cpu: u32, mask: OwnMask) {
        if cpu < call.core.cpus.len() {
            mask.0.remove(cpu);
        }
    }

    fn bpf_cpumask_test_cpu(call, cpu: u32, mask: AnyMask) -> bool {
        mask.0.contains(cpu)
    }

    fn bpf_cpumask_test_and_set_cpu(call, cpu: u32, mask: OwnMask) -> bool {
        let was = mask.0.contains(cpu);
        if cpu < call.core.cpus.len() {
            mask.0.insert(cpu);
        }
        was
    }

    fn bpf_cpumask_test_and_clear_cpu(call, cpu: u32, mask: OwnMask) -> bool {
        cpu < call.core.cpus.len() && mask.0.remove(cpu)
    }

    fn bpf_cpumask_setall(call, mask: OwnMask) {
        let all = &call.core.all_cpus;
        combine(&mask.0, all, all, |a, _| a);
    }

    fn bpf_cpumask_clear(call, mask: OwnMask) {
        combine(&mask.0, &mask.0, &mask.0, |_, _| 0);
    }

    fn bpf_cpumask_and(call, into: OwnMask, a: AnyMask, b: AnyMask) -> bool {
        combine(&into.0, &a.0, &b.0, |a, b| a & b)
    }

    fn bpf_cpumask_or(call, into: OwnMask, a: AnyMask, b: AnyMask) {
        combine(&into.0, &a.0, &b.0, |a, b| a | b);
    }

    fn bpf_cpumask_xor(call, into: OwnMask, a: AnyMask, b: AnyMask) {
        combine(&into.0, &a.0, &b.0, |a, b| a ^ b);
    }

    fn bpf_cpumask_copy(call, into: OwnMask, from: AnyMask) {
        combine(&into.0, &from.0, &from.0, |a, _| a);
    }

    fn bpf_cpumask_equal(call, a: AnyMask, b: AnyMask) -> bool {
        a.0.is_same(&b.0)
    }

    fn bpf_cpumask_intersects(call, a: AnyMask, b: AnyMask) -> bool {
        a.0.first_common(&b.0, None).is_some()
    }

    fn bpf_cpumask_subset(call, a: AnyMask, b: AnyMask) -> bool {
        a.0.is_within(&b.0)
    }

    fn bpf_cpumask_empty(call, mask: AnyMask) -> bool {
        mask.0.len() == 0
    }

    fn bpf_cpumask_full(call, mask: AnyMask) -> bool {
        mask.0.len() == call.core.cpus.len()
    }

    fn bpf_cpumask_weight(call, mask: AnyMask) -> u32 {
        mask.0.len()
    }

    fn bpf_cpumask_any_distribute(call, mask: AnyMask) -> u32 {
        call.core.any_cpu(&mask.0).unwrap_or(call.core.cpus.len())
    }

    fn bpf_cpumask_any_and_distribute(call, a: AnyMask, b: AnyMask) -> u32 {
        let from = call.core.rotor;
        let cpus = call.core.cpus.len();
        let found = a.0.first_from(from, Some(&b.0)).or_else(|| a.0.first_from(0, Some(&b.0))).unwrap_or(cpus);
        call.core.rotor = (found + 1) % cpus;
        found
    }

    /// Fills a mask from bytes; bits that stand for no CPU are left out.
    fn bpf_cpumask_populate(call, mask: OwnMask, source: Readable) -> i32 {
        if source.len() < u64::from(mask.0.words()) * 8 {
            return Some(super::EINVAL);
        }
        (0..).zip(source.words(call.check)).take(mask.0.words() as usize).for_each(|(i, word)| mask.0.set_word(i, word));
        0
    }
}
