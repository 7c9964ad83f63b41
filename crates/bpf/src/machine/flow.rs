//! Where control goes: jumps with the test of the budget, returns, and ways out after a fault.
//!
//! The budget is in the context. What a block takes from it is put off as long as every way to a place owes the same:
//! to the next call, test or end of the function, or to where ways with different debts meet.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{self, InstBuilder, Value};

use super::known::Registers;
use super::outside::raise_endless;
use super::translator::{Translator, type_of};
use crate::context::CallContext;
use crate::program::{BlockId, Condition, Insn, Operand, Register, Width};

impl Translator<'_> {
    /// Returns r0.
    pub(super) fn exit(&mut self) {
        self.pay(0);
        self.pop_frame();
        let result = self.get(0);
        self.builder.ins().return_(&[result]);
    }

    /// The block behind the present one.
    pub(super) fn next(&self) -> BlockId {
        BlockId(self.block as u32 + 1)
    }

    /// Where the budget is tested nothing may be owed: at the entry and where jumps go back to.
    pub(super) fn owe_nothing_after_tests(&mut self, known: &[Option<Registers>]) {
        self.owed = vec![None; known.len()];
        self.owed[0] = Some(0);
        for (index, block) in self.function.blocks.iter().enumerate().filter(|(index, _)| known[*index].is_some()) {
            let last = &self.function.insns[block.end as usize - 1];
            if let Some(target) = last.target().filter(|target| target.index() <= index) {
                self.owed[target.index()] = Some(0);
            }
        }
    }

    /// Takes from the budget what is pending, except for what may still be owed.
    pub(super) fn pay(&mut self, owed: i64) {
        if self.pending != owed {
            let budget = self.load_context(I64, offset_of!(CallContext, budget));
            let left = self.builder.ins().iadd_imm_s(budget, owed - self.pending);
            self.store_context(left, offset_of!(CallContext, budget));
            self.pending = owed;
        }
    }

    /// The block of a target.
    pub(super) fn block_of(&self, target: BlockId) -> ir::Block {
        self.blocks[target.index()].expect("a jump reaches it")
    }

    /// About how long a pass of a loop is that goes back from here.
    fn pass(&self, target: BlockId) -> i64 {
        let blocks = &self.function.blocks;
        let insns = &self.function.insns[blocks[target.index()].start as usize..blocks[self.block].end as usize];
        let length = |insn: &Insn| match *insn {
            Insn::CallFunction { function } => self.program.needs[function.index()].counts_as(),
            _ => 1,
        };
        insns.iter().map(length).sum()
    }

    /// Goes to a block.
    pub(super) fn jump(&mut self, target: BlockId) {
        if target.index() <= self.block {
            self.test_budget_then(target, self.pass(target));
        } else {
            let owed = *self.owed[target.index()].get_or_insert(self.pending);
            self.pay(owed);
            let to = self.block_of(target);
            self.builder.ins().jump(to, &[]);
        }
    }

    /// Goes to `target` when `taken` is not zero, else to the next block.
    fn branch_to(&mut self, taken: Value, target: BlockId) {
        let next = self.next();
        let ([to, go_on], pending) = ([target, next].map(|target| self.edge_to(target)), self.pending);
        self.builder.ins().brif(taken, to, &[], go_on, &[]);
        for (edge, target) in [(to, target), (go_on, next)] {
            if edge != self.block_of(target) {
                self.builder.switch_to_block(edge);
                self.pending = pending;
                self.jump(target);
            }
        }
    }

    /// A block itself if nothing has to be done on the way there; else a new one, to be filled.
    fn edge_to(&mut self, target: BlockId) -> ir::Block {
        let is_forward = target.index() > self.block;
        if is_forward && *self.owed[target.index()].get_or_insert(self.pending) == self.pending {
            self.block_of(target)
        } else {
            self.builder.create_block()
        }
    }

    /// Goes to a block or the next one.
    pub(super) fn branch(
        &mut self,
        condition: Condition,
        width: Width,
        dst: Register,
        operand: Operand,
        target: BlockId,
    ) {
        match self.known.decides(condition, width, dst, operand) {
            Some(true) => return self.jump(target),
            Some(false) => return self.jump(self.next()),
            None => {}
        }
        let ty = type_of(width);
        let (a, b) = (self.get_as(dst, ty), self.operand(operand, ty));
        let taken = match compare(condition) {
            Some(code) => self.builder.ins().icmp(code, a, b),
            None => self.builder.ins().band(a, b),
        };
        self.branch_to(taken, target);
    }

    /// Goes to a block when all passes are used up.
    pub(super) fn may_goto(&mut self, target: BlockId) {
        let left = self.builder.use_var(self.passes);
        let over = self.builder.ins().icmp_imm_s(IntCC::Equal, left, 0);
        let less = self.builder.ins().iadd_imm_s(left, -1);
        // Once it is 0 it stays 0: every later one jumps too.
        let less = self.builder.ins().select(over, left, less);
        self.builder.def_var(self.passes, less);
        self.branch_to(over, target);
    }

    /// Goes to `target` if the budget covers it; `length` is about what else was executed if not all is counted.
    pub(super) fn test_budget_then(&mut self, target: BlockId, length: i64) {
        let (to, block) = (self.block_of(target), self.function.blocks[target.index()]);
        let (spent, covered) = match self.program.counts_all {
            true => (self.pending, block.len()),
            false => (length, 0),
        };
        self.pending = spent;
        self.pay(0);
        let budget = self.load_context(I64, offset_of!(CallContext, budget));
        let over = self.builder.ins().icmp_imm_s(IntCC::SignedLessThan, budget, i64::from(covered));
        let instruction = self.builder.ins().iconst(I64, i64::from(block.start));
        self.builder.ins().brif(over, self.endless, &[instruction.into()], to, &[]);
    }

    /// Writes the blocks that end a call after a fault.
    pub(super) fn write_stops(&mut self) {
        self.builder.switch_to_block(self.endless);
        let instruction = self.builder.block_params(self.endless)[0];
        self.raise_at(raise_endless, instruction);
        self.builder.ins().jump(self.stop, &[]);
        self.builder.switch_to_block(self.stop);
        self.pop_frame();
        self.return_after_fault();
    }

    /// Returns from a failed call, whose result is not read. Any value will do that is the same on every host and,
    /// unlike a constant, takes no register on the way here.
    pub(super) fn return_after_fault(&mut self) {
        let result = self.load_context(I64, offset_of!(CallContext, budget));
        self.builder.ins().return_(&[result]);
    }

    /// Leaves the function if a call that has just returned raised a fault.
    pub(super) fn stop_on_fault(&mut self) {
        let fault = self.load_context(I64, offset_of!(CallContext, fault));
        let go_on = self.builder.create_block();
        self.builder.ins().brif(fault, self.stop, &[], go_on, &[]);
        self.builder.switch_to_block(go_on);
    }
}

/// The comparison of a condition; `None` for the test of bits.
fn compare(condition: Condition) -> Option<IntCC> {
    Some(match condition {
        Condition::Equal => IntCC::Equal,
        Condition::NotEqual => IntCC::NotEqual,
        Condition::Greater => IntCC::UnsignedGreaterThan,
        Condition::GreaterEqual => IntCC::UnsignedGreaterThanOrEqual,
        Condition::Less => IntCC::UnsignedLessThan,
        Condition::LessEqual => IntCC::UnsignedLessThanOrEqual,
        Condition::SignedGreater => IntCC::SignedGreaterThan,
        Condition::SignedGreaterEqual => IntCC::SignedGreaterThanOrEqual,
        Condition::SignedLess => IntCC::SignedLessThan,
        Condition::SignedLessEqual => IntCC::SignedLessThanOrEqual,
        Condition::Set => return None,
    })
}
