//! What is at hand while a function is written: its place in the program, its registers, the call context.

use std::mem::offset_of;

use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{self, AbiParam, AliasRegionData, InstBuilder, MemFlagsData, Signature, Type, Value};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, Variable};
use cranelift_jit::JITModule;
use cranelift_module::FuncId;

use super::known::Registers;
use crate::context::CallContext;
use crate::needs::Needs;
use crate::program::{Function, FunctionId, Operand, Program, Register, Width};

/// Signature of all routines between BPF and the host: the context and some words in, one word out.
pub(super) fn signature(convention: CallConv, words: usize) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params.resize(1 + words, AbiParam::new(I64));
    signature.returns.push(AbiParam::new(I64));
    signature
}

/// A function's part of the guest stack.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    /// r10: what the top of the stack was before, and is again at the end.
    pub(super) end: Value,
    /// The host address of r10.
    pub(super) host: Value,
}

/// How memory is accessed. Guest memory and the call context never overlap, and no access can fail.
#[derive(Clone, Copy)]
pub(super) struct Flags {
    pub(super) guest: MemFlagsData,
    pub(super) context: MemFlagsData,
    /// Fields of the context that stay the same during a call.
    fixed: MemFlagsData,
}

impl Flags {
    fn new(function: &mut ir::Function) -> Flags {
        let mut region = |user_id, description: &'static str| {
            function.dfg.alias_regions.insert(AliasRegionData { user_id, description: description.into() })
        };
        let (guest, context) = (region(0, "guest memory"), region(1, "call context"));
        Flags {
            guest: MemFlagsData::new().with_notrap().with_alias_region(Some(guest)),
            context: MemFlagsData::trusted().with_alias_region(Some(context)),
            fixed: MemFlagsData::trusted().with_readonly().with_can_move().with_alias_region(Some(context)),
        }
    }
}

/// Writes one function.
pub(super) struct Translator<'a> {
    pub(super) program: &'a Program,
    pub(super) id: FunctionId,
    pub(super) function: &'a Function,
    pub(super) needs: Needs,
    pub(super) builder: FunctionBuilder<'a>,
    pub(super) module: &'a mut JITModule,
    pub(super) ids: &'a [FuncId],
    pub(super) flags: Flags,
    pub(super) ctx: Value,
    pub(super) memory_base: Value,
    /// Set when the function has one.
    pub(super) frame: Option<Frame>,
    /// What is known at the instruction that is being written.
    pub(super) known: Registers,
    /// Index of that instruction and of its block.
    pub(super) instruction: u32,
    pub(super) block: usize,
    /// r0 to r9.
    registers: [Variable; 10],
    /// Passes of `may_goto` that are left.
    pub(super) passes: Variable,
    /// The blocks of the function; `None` where control never comes.
    pub(super) blocks: Vec<Option<ir::Block>>,
    /// Instructions that were executed, or will be before the block ends, and are not yet taken from the budget.
    pub(super) pending: i64,
    /// The same at the start of each block, once it is decided.
    pub(super) owed: Vec<Option<i64>>,
    /// Leaves the function after a fault.
    pub(super) stop: ir::Block,
    /// Raises the fault of an endless loop: its parameter is the first instruction that the budget does not cover.
    pub(super) endless: ir::Block,
}

impl<'a> Translator<'a> {
    /// Starts a function, whose entry block is empty and whose other blocks do not exist yet.
    pub(super) fn new(
        program: &'a Program,
        id: FunctionId,
        module: &'a mut JITModule,
        ids: &'a [FuncId],
        mut builder: FunctionBuilder<'a>,
    ) -> Translator<'a> {
        let flags = Flags::new(builder.func);
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let ctx = builder.block_params(entry)[0];
        let memory_base = builder.ins().load(I64, flags.fixed, ctx, offset_of!(CallContext, memory_base) as i32);
        let (stop, endless) = (builder.create_block(), builder.create_block());
        builder.append_block_param(endless, I64);
        builder.set_cold_block(stop);
        builder.set_cold_block(endless);
        Translator {
            program,
            id,
            function: &program.functions[id.index()],
            needs: program.needs[id.index()],
            module,
            ids,
            flags,
            ctx,
            memory_base,
            frame: None,
            known: Registers::at_entry(program.needs[id.index()].arguments),
            instruction: 0,
            block: 0,
            registers: std::array::from_fn(|_| builder.declare_var(I64)),
            passes: builder.declare_var(I32),
            blocks: Vec::new(),
            pending: 0,
            owed: Vec::new(),
            stop,
            endless,
            builder,
        }
    }

    /// Reads a field of the call context.
    pub(super) fn load_context(&mut self, ty: Type, offset: usize) -> Value {
        self.builder.ins().load(ty, self.flags.context, self.ctx, offset as i32)
    }

    /// Writes a field of the call context.
    pub(super) fn store_context(&mut self, value: Value, offset: usize) {
        self.builder.ins().store(self.flags.context, value, self.ctx, offset as i32);
    }

    /// The value of a register.
    pub(super) fn get(&mut self, register: Register) -> Value {
        match self.registers.get(usize::from(register)) {
            Some(&variable) => self.builder.use_var(variable),
            None => self.frame.expect("a function that mentions r10 has a frame").end,
        }
    }

    /// The value of a register, cut to a type.
    pub(super) fn get_as(&mut self, register: Register, ty: Type) -> Value {
        let value = self.get(register);
        if ty == I64 { value } else { self.builder.ins().ireduce(ty, value) }
    }

    /// Sets a register to 64 bits.
    pub(super) fn set(&mut self, register: Register, value: Value) {
        self.builder.def_var(self.registers[usize::from(register)], value);
    }

    /// Sets a register to a number.
    pub(super) fn set_constant(&mut self, register: Register, value: u64) {
        let value = self.builder.ins().iconst(I64, value as i64);
        self.set(register, value);
    }

    /// Sets a register to a value of any type, zero-extended.
    pub(super) fn set_zero_extended(&mut self, register: Register, value: Value) {
        let narrow = self.builder.func.dfg.value_type(value) != I64;
        let value = if narrow { self.builder.ins().uextend(I64, value) } else { value };
        self.set(register, value);
    }

    /// The second operand of an instruction.
    pub(super) fn operand(&mut self, operand: Operand, ty: Type) -> Value {
        match operand {
            Operand::Register(register) => self.get_as(register, ty),
            Operand::Immediate(value) => self.constant(ty, i64::from(value)),
        }
    }

    /// A constant, cut to a type.
    pub(super) fn constant(&mut self, ty: Type, value: i64) -> Value {
        let bits = if ty == I32 { i64::from(value as u32) } else { value };
        self.builder.ins().iconst(ty, bits)
    }
}

/// The type of an operation.
pub(super) fn type_of(width: Width) -> Type {
    match width {
        Width::W32 => I32,
        Width::W64 => I64,
    }
}
