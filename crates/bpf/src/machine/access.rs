//! Accesses to guest memory.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{InstBuilder, Value};

use super::arithmetic::type_of_size;
use super::known::Known;
use super::translator::{Translator, type_of};
use crate::program::{AtomicOp, FRAME_SIZE, Operand, Register, Size, Width};

/// A host address: a value and a constant that is added to it.
#[derive(Clone, Copy)]
pub(super) struct Place {
    base: Value,
    offset: i32,
}

impl Translator<'_> {
    /// The host address of `base + offset`: the pointer is cut to 32 bits, and the guards around guest memory take up
    /// whatever the offset adds.
    pub(super) fn place(&mut self, base: Register, offset: i16) -> Place {
        let offset = i32::from(offset);
        match (self.known.of(base), self.frame) {
            (Known::Frame(at), Some(frame)) if in_frame(at) && in_frame(at + i64::from(offset)) => {
                Place { base: frame.host, offset: at as i32 + offset }
            }
            (Known::Constant(address), _) if (address as u32) <= (i32::MAX - (1 << 16)) as u32 => {
                Place { base: self.memory_base, offset: address as i32 + offset }
            }
            _ => {
                let pointer = self.get(base);
                let low = self.builder.ins().ireduce(I32, pointer);
                let low = self.builder.ins().uextend(I64, low);
                Place { base: self.builder.ins().iadd(self.memory_base, low), offset }
            }
        }
    }

    /// The host address of a guest address that is added to `index` bytes.
    pub(super) fn place_at(&mut self, index: Value, address: u64) -> Place {
        let base = self.builder.ins().iadd(self.memory_base, index);
        match i32::try_from(address) {
            Ok(offset) => Place { base, offset },
            Err(_) => Place { base: self.builder.ins().iadd_imm_s(base, address as i64), offset: 0 },
        }
    }

    /// Reads a value, extended to 64 bits.
    pub(super) fn read(&mut self, size: Size, signed: bool, place: Place) -> Value {
        let (flags, Place { base, offset }) = (self.flags.guest, place);
        let ins = self.builder.ins();
        match (size, signed) {
            (Size::B1, false) => ins.uload8(I64, flags, base, offset),
            (Size::B1, true) => ins.sload8(I64, flags, base, offset),
            (Size::B2, false) => ins.uload16(I64, flags, base, offset),
            (Size::B2, true) => ins.sload16(I64, flags, base, offset),
            (Size::B4, false) => ins.uload32(flags, base, offset),
            (Size::B4, true) => ins.sload32(flags, base, offset),
            (Size::B8, _) => ins.load(I64, flags, base, offset),
        }
    }

    /// Reads a 32-bit number as such. If it was stored just before, the code generator takes what was stored.
    pub(super) fn read_i32(&mut self, place: Place) -> Value {
        self.builder.ins().load(I32, self.flags.guest, place.base, place.offset)
    }

    /// Writes a value of its type's size.
    pub(super) fn write(&mut self, value: Value, place: Place) {
        self.builder.ins().store(self.flags.guest, value, place.base, place.offset);
    }

    /// `dst = *(base + offset)`.
    pub(super) fn load(&mut self, size: Size, signed: bool, dst: Register, base: Register, offset: i16) {
        if let Some(value) = self.known.load(&self.program.constants, size, signed, base, offset) {
            return self.set_constant(dst, value);
        }
        let place = self.place(base, offset);
        let value = self.read(size, signed, place);
        self.set(dst, value);
    }

    /// `*(base + offset) = operand`.
    pub(super) fn store(&mut self, size: Size, base: Register, offset: i16, operand: Operand) {
        let place = self.place(base, offset);
        let ty = type_of_size(size);
        let value = match operand {
            Operand::Register(register) => self.get_as(register, ty),
            Operand::Immediate(value) => {
                let mask = u64::MAX >> (64 - ty.bits());
                self.builder.ins().iconst(ty, (i64::from(value) as u64 & mask) as i64)
            }
        };
        self.write(value, place);
    }

    /// An atomic operation. Nothing else runs in a simulation, so a load and a store are one.
    pub(super) fn atomic(
        &mut self,
        op: AtomicOp,
        width: Width,
        fetch: bool,
        base: Register,
        offset: i16,
        src: Register,
    ) {
        let ty = type_of(width);
        let place = self.place(base, offset);
        let operand = self.get_as(src, ty);
        let old = self.builder.ins().load(ty, self.flags.guest, place.base, place.offset);
        let new = match op {
            AtomicOp::Add => self.builder.ins().iadd(old, operand),
            AtomicOp::Or => self.builder.ins().bor(old, operand),
            AtomicOp::And => self.builder.ins().band(old, operand),
            AtomicOp::Xor => self.builder.ins().bxor(old, operand),
            AtomicOp::Exchange => operand,
            AtomicOp::CompareExchange => {
                let expected = self.get_as(0, ty);
                let equal = self.builder.ins().icmp(IntCC::Equal, old, expected);
                self.builder.ins().select(equal, operand, old)
            }
        };
        self.write(new, place);
        match op {
            AtomicOp::CompareExchange => self.set_zero_extended(0, old),
            AtomicOp::Exchange => self.set_zero_extended(src, old),
            _ if fetch => self.set_zero_extended(src, old),
            _ => {}
        }
    }
}

/// Whether a place relative to r10 is inside the frame.
fn in_frame(at: i64) -> bool {
    (-(FRAME_SIZE as i64)..=0).contains(&at)
}
