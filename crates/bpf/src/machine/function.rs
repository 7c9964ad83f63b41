//! A function: its entry, its frame, its blocks.

use std::mem::offset_of;

use cranelift_codegen::Context;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{InstBuilder, Value};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Module};

use super::known::{self, Registers};
use super::translator::{Frame, Translator, signature};
use crate::context::{CallContext, raise_stack_overflow, raise_unresolved};
use crate::program::{BlockId, FRAME_SIZE, FunctionId, Insn, MAY_GOTO_LIMIT, Program};

/// Writes a function in the code generator's terms into `context`.
pub(super) fn translate(
    program: &Program,
    id: FunctionId,
    module: &mut JITModule,
    ids: &[FuncId],
    context: &mut Context,
    scratch: &mut FunctionBuilderContext,
) {
    let known = known::analyse(&program.functions[id.index()], &program.constants);
    let frontend = module.isa().frontend_config();
    context.func.signature = signature(module.isa().default_call_conv(), 5);
    let builder = FunctionBuilder::new(&mut context.func, scratch);
    let mut translator = Translator::new(program, id, module, ids, builder);
    translator.write_all(&known);
    translator.builder.seal_all_blocks();
    translator.builder.finalize(frontend);
}

impl Translator<'_> {
    /// Writes everything; `known` says of each block what is known at its start.
    fn write_all(&mut self, known: &[Option<Registers>]) {
        self.blocks = known.iter().map(|known| known.is_some().then(|| self.builder.create_block())).collect();
        self.enter();
        for (index, known) in known.iter().enumerate() {
            if let Some(known) = known {
                self.block(index, *known);
            }
        }
        self.write_stops();
    }

    /// Before the first instruction: budget, frame, registers.
    fn enter(&mut self) {
        let entry = self.builder.current_block().expect("the function is started");
        let words: [Value; 5] = std::array::from_fn(|index| self.builder.block_params(entry)[1 + index]);
        self.reload_budget();
        if self.function.uses_stack {
            self.push_frame();
        }
        let zero = self.builder.ins().iconst(I64, 0);
        for register in 0..10 {
            let value = if let 1..=5 = register { words[usize::from(register) - 1] } else { zero };
            self.set(register, value);
        }
        let passes = self.builder.ins().iconst(I32, i64::from(MAY_GOTO_LIMIT));
        self.builder.def_var(self.passes, passes);
        self.test_budget_then(BlockId(0));
    }

    fn push_frame(&mut self) {
        let start = self.load_context(I64, offset_of!(CallContext, stack_top));
        let limit = self.load_context(I64, offset_of!(CallContext, stack_end));
        let end = self.builder.ins().iadd_imm_s(start, FRAME_SIZE as i64);
        let over = self.builder.ins().icmp(IntCC::UnsignedGreaterThan, end, limit);
        let (overflow, go_on) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(overflow);
        self.builder.ins().brif(over, overflow, &[], go_on, &[]);
        self.builder.switch_to_block(overflow);
        self.raise(raise_stack_overflow, None);
        self.return_after_fault();
        self.builder.switch_to_block(go_on);
        self.store_context(end, offset_of!(CallContext, stack_top));
        let host = self.builder.ins().iadd(self.memory_base, end);
        self.frame = Some(Frame { start, end, host });
    }

    /// Gives the frame back, if there is one.
    pub(super) fn pop_frame(&mut self) {
        if let Some(frame) = self.frame {
            self.store_context(frame.start, offset_of!(CallContext, stack_top));
        }
    }

    /// Writes a basic block.
    fn block(&mut self, index: usize, known: Registers) {
        let block = self.function.blocks[index];
        (self.block, self.known) = (index, known);
        self.builder.switch_to_block(self.blocks[index].expect("reached"));
        let budget = self.builder.use_var(self.budget);
        let left = self.builder.ins().iadd_imm_s(budget, -i64::from(block.len()));
        self.builder.def_var(self.budget, left);
        let function = self.function;
        for instruction in block.start..block.end {
            self.instruction = instruction;
            let insn = &function.insns[instruction as usize];
            self.insn(insn);
            self.known.step(insn, &self.program.constants);
        }
        let last = &function.insns[block.end as usize - 1];
        if !last.ends_flow() && last.target().is_none() {
            let next = self.next();
            self.builder.ins().jump(next, &[]);
        }
    }

    /// Writes an instruction.
    fn insn(&mut self, insn: &Insn) {
        match *insn {
            Insn::Alu { op, width, dst, operand } => self.alu(op, width, dst, operand),
            Insn::Negate { width, dst } => self.negate(width, dst),
            Insn::MoveSigned { width, from, dst, src } => self.move_signed(width, from, dst, src),
            Insn::SwapBytes { size, dst } => self.swap_bytes(size, dst),
            Insn::Truncate { size, dst } => self.truncate(size, dst),
            Insn::Constant { dst, value } => self.set_constant(dst, value),
            // A probing load is an ordinary one: page 0 and everything untouched read as zero.
            Insn::Load { size, signed, probe: _, dst, base, offset } => self.load(size, signed, dst, base, offset),
            Insn::Store { size, base, offset, operand } => self.store(size, base, offset, operand),
            Insn::Atomic { op, width, fetch, base, offset, src } => self.atomic(op, width, fetch, base, offset, src),
            Insn::Jump { target } => self.jump(target),
            Insn::Branch { condition, width, dst, operand, target } => {
                self.branch(condition, width, dst, operand, target);
            }
            Insn::MayGoto { target } => self.may_goto(target),
            Insn::CallFunction { function } => self.call_function(function),
            Insn::CallHost { host } => self.call_host(host),
            Insn::CallHandle { src } => self.call_through_handle(src),
            Insn::Exit => self.exit(),
            Insn::Unresolved { .. } => {
                self.raise(raise_unresolved, Some(i64::from(self.instruction)));
                self.builder.ins().jump(self.stop, &[]);
            }
        }
    }
}
