//! Iterators over numbers and bits. Their state is in the program's own memory.

use crate::call::host_functions;
use crate::maps::errno;

/// The most numbers of one iteration.
const NUMBERS_MAX: i64 = 1 << 23;
/// The most words of a bitmap.
const WORDS_MAX: u64 = 511;

host_functions! {
    /// `bpf_iter_num_new(it, start, end)`. State: the present number (`i32` at 0) and the end (`i32` at 4).
    fn num_new(call, it, start, end) {
        if !call.check(it, 8, true) {
            return 0;
        }
        let (start, end) = (start as i32, end as i32);
        let count = i64::from(end) - i64::from(start);
        let (present, end, result) = match count {
            i64::MIN..0 => (0, 0, errno::EINVAL),
            count if count > NUMBERS_MAX => (0, 0, errno::E2BIG),
            _ => (start.wrapping_sub(1), end, 0),
        };
        call.memory().write(it, present);
        call.memory().write(it + 4, end);
        result as u64
    }

    /// `bpf_iter_num_next(it)`: the address of the next number, or NULL.
    fn num_next(call, it) {
        if !call.check(it, 8, true) {
            return 0;
        }
        let (present, end): (i32, i32) = (call.memory().read(it), call.memory().read(it + 4));
        let next = present.wrapping_add(1);
        if next >= end {
            call.memory().write(it, 0u64);
            return 0;
        }
        call.memory().write(it, next);
        it
    }

    /// `bpf_iter_bits_new(it, words, count)`. State: the bits, or the address of a copy of them (`u64` at 0), the
    /// number of bits (`u32` at 8), the present bit (`i32` at 12).
    fn bits_new(call, it, source, words) {
        if !call.check(it, 16, true) {
            return 0;
        }
        let words = u64::from(words as u32);
        call.memory().write(it, 0u64);
        call.memory().write(it + 8, 0u32);
        call.memory().write(it + 12, -1i32);
        if source == 0 || words == 0 {
            return errno::EINVAL as u64;
        }
        if words > WORDS_MAX {
            return errno::E2BIG as u64;
        }
        if !call.memory().readable(source, words * 8) {
            return errno::EFAULT as u64;
        }
        match words {
            1 => call.memory().copy(source, it, 8),
            _ => {
                let vm = call.vm();
                let Ok(copy) = vm.heap.create(&vm.memory, words as u32 * 8, None) else { return errno::ENOMEM as u64 };
                call.memory().copy(source, copy, words as usize * 8);
                call.memory().write(it, copy);
            }
        }
        call.memory().write(it + 8, words as u32 * 64);
        0
    }

    /// `bpf_iter_bits_next(it)`: the address of the number of the next set bit, or NULL.
    fn bits_next(call, it) {
        if !call.check(it, 16, true) {
            return 0;
        }
        let memory = call.memory();
        let (bits, present): (u32, i32) = (memory.read(it + 8), memory.read(it + 12));
        let words = if bits == 64 { it } else { memory.read(it) };
        let mut bit = present.wrapping_add(1) as u32;
        while bit < bits {
            let word: u64 = memory.read(words + u64::from(bit / 64) * 8);
            let rest = word >> (bit % 64);
            if rest != 0 {
                memory.write(it + 12, bit + rest.trailing_zeros());
                return it + 12;
            }
            bit = (bit / 64 + 1) * 64;
        }
        memory.write(it + 12, bits);
        0
    }

    /// `bpf_iter_bits_destroy(it)`.
    fn bits_destroy(call, it) {
        if !call.check(it, 16, true) {
            return 0;
        }
        let bits: u32 = call.memory().read(it + 8);
        if bits > 64 {
            let vm = call.vm();
            vm.heap.release(&vm.memory, vm.memory.read(it));
            vm.memory.write(it + 8, 0u32);
        }
        0
    }
}
