//! A function: its entry, its frame, its blocks.

use std::mem::offset_of;

use cranelift_codegen::Context;
use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Module};

use super::known::{self, Registers};
use super::outside::raise_unresolved;
use super::translator::{Frame, Translator, signature};
use crate::context::CallContext;
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
    let arguments = program.needs[id.index()].arguments;
    let known = known::analyse(&program.functions[id.index()], arguments, &program.constants);
    let frontend = module.isa().frontend_config();
    context.func.signature = signature(module.isa().default_call_conv(), usize::from(arguments));
    let builder = FunctionBuilder::new(&mut context.func, scratch);
    let mut translator = Translator::new(program, id, module, ids, builder);
    translator.write_all(&known);
    translator.builder.seal_all_blocks();
    translator.builder.finalize(frontend);
}

impl Translator<'_> {
    /// Writes everything; `known` says about each block what is known at its start.
    fn write_all(&mut self, known: &[Option<Registers>]) {
        self.blocks = known.iter().map(|known| known.is_some().then(|| self.builder.create_block())).collect();
        self.owe_nothing_after_tests(known);
        self.enter();
        for (index, known) in known.iter().enumerate() {
            if let Some(known) = known {
                self.block(index, *known);
            }
        }
        self.write_stops();
    }

    /// Before the first instruction: frame, registers, budget.
    fn enter(&mut self) {
        let entry = self.builder.current_block().expect("the function is started");
        if self.function.uses_stack {
            self.push_frame();
        }
        let zero = self.builder.ins().iconst(I64, 0);
        for register in 0..10 {
            let is_argument = (1..=self.needs.arguments).contains(&register);
            let value = if is_argument { self.builder.block_params(entry)[usize::from(register)] } else { zero };
            self.set(register, value);
        }
        let passes = self.builder.ins().iconst(I32, i64::from(MAY_GOTO_LIMIT));
        self.builder.def_var(self.passes, passes);
        if self.needs.tests_budget {
            return self.test_budget_then(BlockId(0), self.function.insns.len() as i64);
        }
        let first = self.block_of(BlockId(0));
        self.builder.ins().jump(first, &[]);
    }

    /// That it fits was seen when the program was entered.
    fn push_frame(&mut self) {
        let end = self.load_context(I64, offset_of!(CallContext, stack_top));
        let start = self.builder.ins().iadd_imm_s(end, -(FRAME_SIZE as i64));
        self.store_context(start, offset_of!(CallContext, stack_top));
        let host = self.builder.ins().iadd(self.memory_base, end);
        self.frame = Some(Frame { end, host });
    }

    /// Gives the frame back, if there is one.
    pub(super) fn pop_frame(&mut self) {
        if let Some(frame) = self.frame {
            self.store_context(frame.end, offset_of!(CallContext, stack_top));
        }
    }

    /// Writes a basic block.
    fn block(&mut self, index: usize, known: Registers) {
        let block = self.function.blocks[index];
        (self.block, self.known) = (index, known);
        self.builder.switch_to_block(self.blocks[index].expect("reached"));
        let counted = if self.program.counts_all { i64::from(block.len()) } else { 0 };
        self.pending = self.owed[index].expect("reached") + counted;
        let function = self.function;
        for instruction in block.start..block.end {
            self.instruction = instruction;
            let insn = &function.insns[instruction as usize];
            self.insn(insn);
            self.known.step(insn, &self.program.constants);
        }
        let last = &function.insns[block.end as usize - 1];
        if !last.ends_flow() && last.target().is_none() {
            self.jump(self.next());
        }
    }

    /// Writes an instruction.
    fn insn(&mut self, insn: &Insn) {
        match *insn {
            Insn::Alu { op, width, dst, operand } => self.alu(op, width, dst, operand),
            Insn::Negate { width, dst } => self.negate(width, dst),
            Insn::MoveSigned { width, from, dst, src } => self.move_signed(width, from, dst, src),
            Insn::ToUser { dst, src, high } => self.make_user_pointer(dst, src, high),
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
