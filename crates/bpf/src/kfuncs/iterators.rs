//! Iterators over numbers and bits. That over numbers has its state in the program's own memory, where machine code
//! reaches it and where a wrong one does no harm; that over bits has it on the host's side.

use crate::arguments::{OnStack, host_functions};
use crate::maps::errno;
use crate::references::{Bits, Held};

/// The most numbers of one iteration.
const NUMBERS_MAX: i64 = 1 << 23;
/// The most words of a bitmap.
const WORDS_MAX: u64 = 511;
/// Bytes of a `struct bpf_iter_bits`, and where in it the number is that the program gets.
const BITS_SIZE: u64 = 16;
const BITS_NUMBER: u64 = 12;

host_functions! {
    /// `bpf_iter_num_new(it, start, end)`. State: the present number (`i32` at 0) and the end (`i32` at 4).
    fn num_new(call, it: u64, start: i32, end: i32) {
        call.writable(it, 8)?;
        let count = i64::from(end) - i64::from(start);
        let (present, end, result) = match count {
            i64::MIN..0 => (0, 0, errno::EINVAL),
            count if count > NUMBERS_MAX => (0, 0, errno::E2BIG),
            _ => (start.wrapping_sub(1), end, 0),
        };
        call.memory().write(it, present);
        call.memory().write(it + 4, end);
        Some(result as u64)
    }

    /// `bpf_iter_num_next(it)`: the address of the next number, or NULL.
    fn num_next(call, it: u64) {
        call.writable(it, 8)?;
        let (present, end): (i32, i32) = (call.memory().read(it), call.memory().read(it + 4));
        let next = present.wrapping_add(1);
        if next >= end {
            call.memory().write(it, 0u64);
            return Some(0);
        }
        call.memory().write(it, next);
        Some(it)
    }

    /// `bpf_iter_bits_new(it, words, count)`.
    fn bits_new(call, it: OnStack<BITS_SIZE>, source: u64, words: u32) {
        let words = u64::from(words);
        let mut bits = Bits::default();
        let result = if source == 0 || words == 0 {
            errno::EINVAL
        } else if words > WORDS_MAX {
            errno::E2BIG
        } else if !call.memory().readable(source, words * 8) {
            errno::EFAULT
        } else {
            bits.words = call.readable(source, words * 8)?.words(call).into();
            0
        };
        call.open(it.address(), Held::Bits(bits))?;
        Some(result as u64)
    }

    /// `bpf_iter_bits_next(it)`: the address of the number of the next set bit, or NULL.
    fn bits_next(call, it: OnStack<BITS_SIZE>) {
        call.charge_references()?;
        let Some(Held::Bits(bits)) = call.vm().references.find(it.address(), |held| matches!(held, Held::Bits(_))) else {
            return call.fail("goes on with a bpf_iter_bits that was not made");
        };
        let before = bits.next;
        let next = bits.advance();
        let passed = next.unwrap_or(bits.words.len() as u32 * 64) - before.min(bits.words.len() as u32 * 64);
        call.charge_bytes(u64::from(passed) / 8)?;
        let Some(bit) = next else { return Some(0) };
        let number = it.address() + BITS_NUMBER;
        call.memory().write(number, bit);
        Some(number)
    }

    /// `bpf_iter_bits_destroy(it)`.
    fn bits_destroy(call, it: OnStack<BITS_SIZE>) {
        call.give_up(it.address(), "bpf_iter_bits", |held| matches!(held, Held::Bits(_)))?;
        Some(0)
    }
}
