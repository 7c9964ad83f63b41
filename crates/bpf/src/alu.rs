//! Arithmetic of BPF, as the kernel defines it where C does not.

use crate::program::{AluOp, AtomicOp, Condition, Size, Width};

/// `a op b` in 64 bits.
#[inline(always)]
pub fn alu64(op: AluOp, a: u64, b: u64) -> u64 {
    match op {
        AluOp::Add => a.wrapping_add(b),
        AluOp::Sub => a.wrapping_sub(b),
        AluOp::Mul => a.wrapping_mul(b),
        AluOp::Div => a.checked_div(b).unwrap_or(0),
        AluOp::SignedDiv if b == 0 => 0,
        AluOp::SignedDiv => (a as i64).wrapping_div(b as i64) as u64,
        AluOp::Mod => a.checked_rem(b).unwrap_or(a),
        AluOp::SignedMod if b == 0 => a,
        AluOp::SignedMod => (a as i64).wrapping_rem(b as i64) as u64,
        AluOp::Or => a | b,
        AluOp::And => a & b,
        AluOp::Xor => a ^ b,
        AluOp::ShiftLeft => a.wrapping_shl(b as u32),
        AluOp::ShiftRight => a.wrapping_shr(b as u32),
        AluOp::ShiftRightSigned => (a as i64).wrapping_shr(b as u32) as u64,
        AluOp::Move => b,
    }
}

/// `a op b` in 32 bits.
#[inline(always)]
pub fn alu32(op: AluOp, a: u32, b: u32) -> u32 {
    match op {
        AluOp::SignedDiv if b == 0 => 0,
        AluOp::SignedDiv => (a as i32).wrapping_div(b as i32) as u32,
        AluOp::SignedMod if b == 0 => a,
        AluOp::SignedMod => (a as i32).wrapping_rem(b as i32) as u32,
        AluOp::ShiftLeft => a.wrapping_shl(b),
        AluOp::ShiftRight => a.wrapping_shr(b),
        AluOp::ShiftRightSigned => (a as i32).wrapping_shr(b) as u32,
        op => alu64(op, u64::from(a), u64::from(b)) as u32,
    }
}

/// Whether `a condition b`.
#[inline(always)]
pub fn holds(condition: Condition, width: Width, a: u64, b: u64) -> bool {
    // Signed numbers of 32 bits are compared with their sign extended, unsigned ones with zeros.
    let (a, b, signed_a, signed_b) = match width {
        Width::W64 => (a, b, a as i64, b as i64),
        Width::W32 => (u64::from(a as u32), u64::from(b as u32), i64::from(a as i32), i64::from(b as i32)),
    };
    match condition {
        Condition::Equal => a == b,
        Condition::NotEqual => a != b,
        Condition::Greater => a > b,
        Condition::GreaterEqual => a >= b,
        Condition::Less => a < b,
        Condition::LessEqual => a <= b,
        Condition::SignedGreater => signed_a > signed_b,
        Condition::SignedGreaterEqual => signed_a >= signed_b,
        Condition::SignedLess => signed_a < signed_b,
        Condition::SignedLessEqual => signed_a <= signed_b,
        Condition::Set => a & b != 0,
    }
}

/// The low bytes of a word with their sign extended to 64 bits.
#[inline(always)]
pub fn sign_extend(size: Size, value: u64) -> u64 {
    match size {
        Size::B1 => value as i8 as u64,
        Size::B2 => value as i16 as u64,
        Size::B4 => value as i32 as u64,
        Size::B8 => value,
    }
}

/// The low bytes of a word, the others zero.
#[inline(always)]
pub fn truncate(size: Size, value: u64) -> u64 {
    match size {
        Size::B1 => u64::from(value as u8),
        Size::B2 => u64::from(value as u16),
        Size::B4 => u64::from(value as u32),
        Size::B8 => value,
    }
}

/// The low bytes of a word in reverse order, the others zero.
#[inline(always)]
pub fn swap_bytes(size: Size, value: u64) -> u64 {
    value.swap_bytes() >> (64 - 8 * size.bytes())
}

/// What an atomic operation leaves in memory: `old` was there, `expected` is r0.
#[inline(always)]
pub fn atomic(op: AtomicOp, old: u64, src: u64, expected: u64) -> u64 {
    match op {
        AtomicOp::Add => old.wrapping_add(src),
        AtomicOp::Or => old | src,
        AtomicOp::And => old & src,
        AtomicOp::Xor => old ^ src,
        AtomicOp::Exchange => src,
        AtomicOp::CompareExchange if old == expected => src,
        AtomicOp::CompareExchange => old,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_by_zero_and_overflow_are_the_kernels() {
        assert_eq!(alu64(AluOp::Div, 7, 0), 0);
        assert_eq!(alu64(AluOp::Mod, 7, 0), 7);
        assert_eq!(alu64(AluOp::SignedDiv, i64::MIN as u64, -1i64 as u64), i64::MIN as u64);
        assert_eq!(alu64(AluOp::SignedMod, i64::MIN as u64, -1i64 as u64), 0);
        assert_eq!(alu32(AluOp::SignedDiv, -7i32 as u32, 2), -3i32 as u32);
        assert_eq!(alu32(AluOp::SignedMod, -7i32 as u32, 2), -1i32 as u32);
        assert_eq!(alu32(AluOp::SignedDiv, i32::MIN as u32, -1i32 as u32), i32::MIN as u32);
        assert_eq!(alu32(AluOp::Mod, 9, 0), 9);
    }

    #[test]
    fn shifts_are_masked() {
        assert_eq!(alu64(AluOp::ShiftLeft, 1, 65), 2);
        assert_eq!(alu32(AluOp::ShiftLeft, 1, 33), 2);
        assert_eq!(alu32(AluOp::ShiftRightSigned, 0x8000_0000, 31), u32::MAX);
        assert_eq!(alu32(AluOp::ShiftRight, 0x8000_0000, 31), 1);
    }

    #[test]
    fn conditions_by_width_and_sign() {
        let minus = u64::from(u32::MAX);
        assert!(
            holds(Condition::SignedLess, Width::W32, minus, 0) && !holds(Condition::SignedLess, Width::W64, minus, 0)
        );
        assert!(holds(Condition::Equal, Width::W32, 1 << 32, 0) && !holds(Condition::Equal, Width::W64, 1 << 32, 0));
        assert!(holds(Condition::Set, Width::W64, 6, 2) && !holds(Condition::Set, Width::W64, 4, 2));
    }

    #[test]
    fn bytes_turn_around() {
        assert_eq!(swap_bytes(Size::B2, 0xAABB_1234), 0x3412);
        assert_eq!(swap_bytes(Size::B8, 0x0102_0304_0506_0708), 0x0807_0605_0403_0201);
        assert_eq!(sign_extend(Size::B1, 0x80), 0xFFFF_FFFF_FFFF_FF80);
    }
}
