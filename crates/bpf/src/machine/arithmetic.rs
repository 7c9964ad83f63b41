//! Arithmetic on registers, with the kernel's results where processors disagree.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder, Type, Value};

use super::known::Known;
use super::translator::{Translator, type_of};
use crate::program::{AluOp, Operand, Register, Size, Width};

/// The integer of a size.
pub(super) fn type_of_size(size: Size) -> Type {
    match size {
        Size::B1 => I8,
        Size::B2 => I16,
        Size::B4 => I32,
        Size::B8 => I64,
    }
}

impl Translator<'_> {
    /// `dst = dst op operand`.
    pub(super) fn alu(&mut self, op: AluOp, width: Width, dst: Register, operand: Operand) {
        if let Known::Constant(value) = self.known.alu(op, width, dst, operand) {
            return self.set_constant(dst, value);
        }
        let ty = type_of(width);
        let b = self.operand(operand, ty);
        if op == AluOp::Move {
            self.set_zero_extended(dst, b);
            return;
        }
        let a = self.get_as(dst, ty);
        let constant = self.constant_operand(operand, width);
        let ins = self.builder.ins();
        let result = match op {
            AluOp::Add => ins.iadd(a, b),
            AluOp::Sub => ins.isub(a, b),
            AluOp::Mul => ins.imul(a, b),
            AluOp::Or => ins.bor(a, b),
            AluOp::And => ins.band(a, b),
            AluOp::Xor => ins.bxor(a, b),
            // The generator's shifts take the amount modulo the width, as BPF does.
            AluOp::ShiftLeft => ins.ishl(a, b),
            AluOp::ShiftRight => ins.ushr(a, b),
            AluOp::ShiftRightSigned => ins.sshr(a, b),
            AluOp::Div | AluOp::Mod => self.divide(op, a, b, constant),
            AluOp::SignedDiv | AluOp::SignedMod => self.divide_signed(op, a, b, constant),
            AluOp::Move => unreachable!("done above"),
        };
        self.set_zero_extended(dst, result);
    }

    /// The number that an operand is known to be, cut to the width and sign-extended.
    fn constant_operand(&self, operand: Operand, width: Width) -> Option<i64> {
        let Known::Constant(value) = self.known.operand(operand) else { return None };
        Some(if width == Width::W32 { i64::from(value as i32) } else { value as i64 })
    }

    /// Unsigned quotient or remainder. A zero divisor is replaced before the instruction, which would trap, and the
    /// result after it.
    fn divide(&mut self, op: AluOp, a: Value, b: Value, constant: Option<i64>) -> Value {
        let quotient = op == AluOp::Div;
        let ty = self.builder.func.dfg.value_type(a);
        if constant == Some(0) {
            return if quotient { self.constant(ty, 0) } else { a };
        }
        let divisor = if constant.is_some() { b } else { self.replace(b, 0, 1) };
        let ins = self.builder.ins();
        let result = if quotient { ins.udiv(a, divisor) } else { ins.urem(a, divisor) };
        if constant.is_some() { result } else { self.unless_zero(quotient, a, b, result) }
    }

    /// Signed quotient or remainder. Besides zero, -1 traps for the smallest number: a quotient by -1 is the negated
    /// number, a remainder 0.
    fn divide_signed(&mut self, op: AluOp, a: Value, b: Value, constant: Option<i64>) -> Value {
        let quotient = op == AluOp::SignedDiv;
        let ty = self.builder.func.dfg.value_type(a);
        match constant {
            Some(0) => return if quotient { self.constant(ty, 0) } else { a },
            Some(-1) => return if quotient { self.builder.ins().ineg(a) } else { self.constant(ty, 0) },
            _ => {}
        }
        let divisor = match constant {
            Some(_) => b,
            None => {
                let nonzero = self.replace(b, 0, 1);
                self.replace(nonzero, -1, 1)
            }
        };
        let ins = self.builder.ins();
        let result = if quotient { ins.sdiv(a, divisor) } else { ins.srem(a, divisor) };
        if constant.is_some() {
            return result;
        }
        // A remainder by 1 is 0, which is right for -1 too.
        let result = if quotient {
            let negated = self.builder.ins().ineg(a);
            let minus_one = self.builder.ins().icmp_imm_s(IntCC::Equal, b, -1);
            self.builder.ins().select(minus_one, negated, result)
        } else {
            result
        };
        self.unless_zero(quotient, a, b, result)
    }

    /// `value`, or `by` where it is `what`.
    fn replace(&mut self, value: Value, what: i64, by: i64) -> Value {
        let ty = self.builder.func.dfg.value_type(value);
        let by = self.constant(ty, by);
        let is = self.builder.ins().icmp_imm_s(IntCC::Equal, value, what);
        self.builder.ins().select(is, by, value)
    }

    /// The result of a division by `b`: by zero the quotient is 0 and the remainder `a`.
    fn unless_zero(&mut self, quotient: bool, a: Value, b: Value, result: Value) -> Value {
        let ty = self.builder.func.dfg.value_type(a);
        let otherwise = if quotient { self.constant(ty, 0) } else { a };
        let zero = self.builder.ins().icmp_imm_s(IntCC::Equal, b, 0);
        self.builder.ins().select(zero, otherwise, result)
    }

    /// `dst = -dst`.
    pub(super) fn negate(&mut self, width: Width, dst: Register) {
        let value = self.get_as(dst, type_of(width));
        let value = self.builder.ins().ineg(value);
        self.set_zero_extended(dst, value);
    }

    /// `dst` = the low bytes of `src`, sign-extended to the width.
    pub(super) fn move_signed(&mut self, width: Width, from: Size, dst: Register, src: Register) {
        let (narrow, wide) = (type_of_size(from), type_of(width));
        let value = self.get_as(src, if narrow.bits() < wide.bits() { narrow } else { wide });
        let value = if narrow.bits() < wide.bits() { self.builder.ins().sextend(wide, value) } else { value };
        self.set_zero_extended(dst, value);
    }

    /// The low 32 bits with `high` above them, unless they are zero.
    pub(super) fn make_user_pointer(&mut self, dst: Register, src: Register, high: u32) {
        let low = self.get_as(src, I32);
        let low = self.builder.ins().uextend(I64, low);
        let high = self.constant(I64, (u64::from(high) << 32) as i64);
        let whole = self.builder.ins().bor(low, high);
        let is_null = self.builder.ins().icmp_imm_s(IntCC::Equal, low, 0);
        let value = self.builder.ins().select(is_null, low, whole);
        self.set(dst, value);
    }

    /// Reverses the low bytes of `dst` and clears the others.
    pub(super) fn swap_bytes(&mut self, size: Size, dst: Register) {
        let value = self.get_as(dst, type_of_size(size));
        let value = if size == Size::B1 { value } else { self.builder.ins().bswap(value) };
        self.set_zero_extended(dst, value);
    }

    /// Clears all but the low bytes of `dst`.
    pub(super) fn truncate(&mut self, size: Size, dst: Register) {
        let value = self.get_as(dst, type_of_size(size));
        self.set_zero_extended(dst, value);
    }
}
