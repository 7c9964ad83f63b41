//! Host functions that are called all the time, written in line.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{InstBuilder, Value};

use super::translator::Translator;
use crate::context::CallContext;
use crate::program::{HostFunction, Intrinsic, MapLayout, Section, Size};

/// The most numbers of one iteration.
const NUMBERS_MAX: i64 = 1 << 23;

/// Values of an array: value `i` is at `base + i * stride`.
struct Values {
    base: Value,
    stride: u32,
    entries: u32,
}

/// What is needed to find the number of an owner from its address with one multiplication: the inverse of the odd part
/// of the stride modulo 2^64, and the exponent of the even part. For a multiple of the stride the product, rotated
/// right by the exponent, is the quotient; for anything else it is larger than any quotient can be.
/// See H. S. Warren, Hacker's Delight, 2nd edition, chapter 10 (exact division by constants).
fn exact_division(stride: u32) -> (u64, u32) {
    let shift = stride.trailing_zeros();
    let odd = u64::from(stride >> shift);
    // Newton's iteration; each step doubles the number of right bits, of which an odd number has three.
    let inverse = (0..5).fold(odd, |x, _| x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x))));
    (inverse, shift)
}

impl Translator<'_> {
    /// Writes what a host function does; `None` if it has to be called.
    pub(super) fn intrinsic(&mut self, intrinsic: Intrinsic, host: &HostFunction) -> Option<Value> {
        match intrinsic {
            Intrinsic::NowNs => Some(self.load_context(I64, offset_of!(CallContext, moment.now_ns))),
            Intrinsic::ProcessorId => Some(self.cpu()),
            Intrinsic::CurrentTask => Some(self.load_context(I64, offset_of!(CallContext, moment.current))),
            Intrinsic::Nothing => Some(self.builder.ins().iconst(I64, 0)),
            Intrinsic::Enter(section) => Some(self.enter_section(section)),
            Intrinsic::Leave(section) => Some(self.leave_section(section, host)),
            Intrinsic::Identity => Some(self.get(1)),
            Intrinsic::Field(offset) => {
                let place = self.place(1, offset);
                Some(self.read(Size::B4, false, place))
            }
            Intrinsic::MapLookup => self.map_lookup(),
            Intrinsic::MapLookupPerCpu => self.map_lookup_per_cpu(),
            Intrinsic::TaskStorageGet => self.task_storage_get(host),
            Intrinsic::IterNumNew => Some(self.iter_num_new()),
            Intrinsic::IterNumNext => Some(self.iter_num_next()),
        }
    }

    /// Counts one more section.
    fn enter_section(&mut self, section: Section) -> Value {
        let position = self.position();
        self.store_context(position, offset_of!(CallContext, section_at));
        let sections = self.load_context(I64, offset_of!(CallContext, sections));
        let more = self.builder.ins().iadd_imm_s(sections, section.one() as i64);
        self.store_context(more, offset_of!(CallContext, sections));
        self.builder.ins().iconst(I64, 0)
    }

    /// Counts one section less; where there is none, the host function says so.
    fn leave_section(&mut self, section: Section, host: &HostFunction) -> Value {
        let [inside, outside, done] = std::array::from_fn(|_| self.builder.create_block());
        self.builder.set_cold_block(outside);
        let sections = self.load_context(I64, offset_of!(CallContext, sections));
        let bits = self.builder.ins().iconst(I64, section.bits() as i64);
        let counted = self.builder.ins().band(sections, bits);
        self.builder.ins().brif(counted, inside, &[], outside, &[]);

        self.builder.switch_to_block(outside);
        let owed = self.pending;
        self.call_routine(host);
        // As on the other way.
        self.pay(owed);
        self.builder.ins().jump(done, &[]);

        self.builder.switch_to_block(inside);
        self.pending = owed;
        let less = self.builder.ins().iadd_imm_s(sections, (section.one() as i64).wrapping_neg());
        self.store_context(less, offset_of!(CallContext, sections));
        self.builder.ins().jump(done, &[]);

        self.builder.switch_to_block(done);
        self.builder.ins().iconst(I64, 0)
    }

    /// The CPU that the program runs on.
    fn cpu(&mut self) -> Value {
        let cpu = self.load_context(I32, offset_of!(CallContext, moment.cpu));
        self.builder.ins().uextend(I64, cpu)
    }

    /// Where the values of the map in r1 lie, if that is known.
    fn layout(&self) -> Option<&MapLayout> {
        let map = self.program.map_at(self.known.constant(1)?)?;
        Some(&self.program.maps[map.index()].layout)
    }

    fn map_lookup(&mut self) -> Option<Value> {
        match *self.layout()? {
            MapLayout::Array { base, stride, entries } => {
                let base = self.builder.ins().iconst(I64, base as i64);
                Some(self.value_of_key(Values { base, stride, entries }))
            }
            MapLayout::PerCpuArray { base, stride, entries, cpu_stride, .. } => {
                let cpu = self.cpu();
                let base = self.of_cpu(base, cpu_stride, cpu);
                Some(self.value_of_key(Values { base, stride, entries }))
            }
            MapLayout::Storage { .. } | MapLayout::Opaque => None,
        }
    }

    fn map_lookup_per_cpu(&mut self) -> Option<Value> {
        let MapLayout::PerCpuArray { base, stride, entries, cpu_stride, cpus } = *self.layout()? else { return None };
        let cpu = self.get(3);
        let exists = self.builder.ins().icmp_imm_u(IntCC::UnsignedLessThan, cpu, i64::from(cpus));
        let base = self.of_cpu(base, cpu_stride, cpu);
        let value = self.value_of_key(Values { base, stride, entries });
        let nothing = self.builder.ins().iconst(I64, 0);
        Some(self.builder.ins().select(exists, value, nothing))
    }

    /// Guest address of value 0 of a CPU.
    fn of_cpu(&mut self, base: u64, cpu_stride: u64, cpu: Value) -> Value {
        let offset = self.builder.ins().imul_imm_u(cpu, cpu_stride as i64);
        self.builder.ins().iadd_imm_u(offset, base as i64)
    }

    /// Guest address of the value whose key r2 points at; 0 if there is none.
    fn value_of_key(&mut self, Values { base, stride, entries }: Values) -> Value {
        let place = self.place(2, 0);
        let key = self.read_i32(place);
        let key = self.builder.ins().uextend(I64, key);
        let exists = self.builder.ins().icmp_imm_u(IntCC::UnsignedLessThan, key, i64::from(entries));
        let offset = self.builder.ins().imul_imm_u(key, i64::from(stride));
        let value = self.builder.ins().iadd(base, offset);
        let nothing = self.builder.ins().iconst(I64, 0);
        self.builder.ins().select(exists, value, nothing)
    }

    /// An owner that has a value is found in the table; creating one and everything odd is left to the host function.
    fn task_storage_get(&mut self, host: &HostFunction) -> Option<Value> {
        let MapLayout::Storage { table, owners, owner_stride, count } = *self.layout()? else { return None };
        if owner_stride == 0 {
            return None;
        }
        let [found, call, done] = std::array::from_fn(|_| self.builder.create_block());
        self.builder.append_block_param(done, I64);
        self.builder.set_cold_block(call);
        let owner = self.get(2);
        let index = self.owner_index(owner, owners, owner_stride);
        let exists = self.builder.ins().icmp_imm_u(IntCC::UnsignedLessThan, index, i64::from(count));
        self.builder.ins().brif(exists, found, &[], call, &[]);

        self.builder.switch_to_block(found);
        let offset = self.builder.ins().imul_imm_u(index, 4);
        let place = self.place_at(offset, table);
        let value = self.read(Size::B4, false, place);
        self.builder.ins().brif(value, done, &[value.into()], call, &[]);

        self.builder.switch_to_block(call);
        let owed = self.pending;
        let value = self.call_routine(host);
        // As on the other way.
        self.pay(owed);
        self.builder.ins().jump(done, &[value.into()]);

        self.builder.switch_to_block(done);
        Some(self.builder.block_params(done)[0])
    }

    /// The number of an owner; something huge for an address that is not the start of an owner.
    fn owner_index(&mut self, owner: Value, owners: u64, stride: u32) -> Value {
        let (inverse, shift) = exact_division(stride);
        let offset = self.builder.ins().iadd_imm_s(owner, (owners as i64).wrapping_neg());
        let product = self.builder.ins().imul_imm_s(offset, inverse as i64);
        self.builder.ins().rotr_imm_u(product, i64::from(shift))
    }

    /// `bpf_iter_num_new(it, start, end)`: the iterator is two 32-bit numbers, the one before the next and the end.
    fn iter_num_new(&mut self) -> Value {
        let (start, end) = (self.get_as(2, I32), self.get_as(3, I32));
        let (wide_start, wide_end) = (self.builder.ins().sextend(I64, start), self.builder.ins().sextend(I64, end));
        let count = self.builder.ins().isub(wide_end, wide_start);
        // A negative count is a huge one here.
        let good = self.builder.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, count, NUMBERS_MAX);
        let before = self.builder.ins().iadd_imm_s(start, -1);
        let nothing = self.builder.ins().iconst(I32, 0);
        for (value, offset) in [(before, 0), (end, 4)] {
            let value = self.builder.ins().select(good, value, nothing);
            let place = self.place(1, offset);
            self.write(value, place);
        }
        let (zero, too_big, invalid) = (0, -i64::from(libc::E2BIG), -i64::from(libc::EINVAL));
        let [zero, too_big, invalid] = [zero, too_big, invalid].map(|value| self.builder.ins().iconst(I64, value));
        let negative = self.builder.ins().icmp_imm_s(IntCC::SignedLessThan, count, 0);
        let bad = self.builder.ins().select(negative, invalid, too_big);
        self.builder.ins().select(good, zero, bad)
    }

    /// `bpf_iter_num_next(it)`: the address of the next number, which is the iterator's own; 0 at the end.
    fn iter_num_next(&mut self) -> Value {
        let [over, more, done] = std::array::from_fn(|_| self.builder.create_block());
        self.builder.append_block_param(done, I64);
        let (at_current, at_end) = (self.place(1, 0), self.place(1, 4));
        let (current, end) = (self.read_i32(at_current), self.read_i32(at_end));
        let next = self.builder.ins().iadd_imm_s(current, 1);
        let ended = self.builder.ins().icmp(IntCC::SignedGreaterThanOrEqual, next, end);
        self.builder.ins().brif(ended, over, &[], more, &[]);

        self.builder.switch_to_block(more);
        self.write(next, at_current);
        let iterator = self.get(1);
        self.builder.ins().jump(done, &[iterator.into()]);

        self.builder.switch_to_block(over);
        let zero = self.builder.ins().iconst(I32, 0);
        self.write(zero, at_current);
        self.write(zero, at_end);
        let nothing = self.builder.ins().iconst(I64, 0);
        self.builder.ins().jump(done, &[nothing.into()]);

        self.builder.switch_to_block(done);
        self.builder.block_params(done)[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_division_tells_multiples_from_the_rest() {
        for stride in [1u32, 2, 3, 7, 8, 24, 96, 120, 4096, 12_345, 1 << 31, u32::MAX] {
            let (inverse, shift) = exact_division(stride);
            let index = |offset: u64| offset.wrapping_mul(inverse).rotate_right(shift);
            for i in [0u64, 1, 2, 99, 1_000_000] {
                assert_eq!(index(i * u64::from(stride)), i, "{stride}");
            }
            let limit = u64::MAX / u64::from(stride);
            for offset in [1, u64::from(stride) + 1, u64::from(stride) - 1, 12_345_679, u64::MAX] {
                let exact = offset % u64::from(stride) == 0;
                assert_eq!(index(offset) <= limit, exact, "{stride} {offset}");
            }
        }
    }
}
