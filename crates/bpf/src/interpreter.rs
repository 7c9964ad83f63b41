//! The checked interpreter: the reference of what a program does.
//!
//! Every access to memory is compared with the regions of guest memory and the present stack. Instructions are counted
//! by basic block, the budget is looked at on entry of functions that call others and on jumps backwards, exactly as
//! machine code does it.

use crate::alu::{alu32, alu64, atomic, holds, sign_extend, swap_bytes, truncate};
use crate::context::CallContext;
use crate::coverage::mark;
use crate::fault::FaultKind;
use crate::memory::{AccessError, GuestMemory, PAGE_SIZE};
use crate::program::{
    AluOp, AtomicOp, BlockId, FRAME_SIZE, Function, FunctionId, Insn, MAY_GOTO_LIMIT, Operand, Program, Register, Size,
    Width,
};
use crate::vm::VmState;
use std::cell::Cell;

/// Runs a function with r1 to r5 and gives r0. After an error, which is in the context, the result means nothing.
///
/// # Safety
/// `ctx` is the context of the running call.
pub unsafe fn run(ctx: *mut CallContext, function: FunctionId, args: [u64; 5]) -> u64 {
    // SAFETY: program and memory of a loaded machine are never replaced while it runs.
    let (program, memory) = unsafe { (&(*(*ctx).vm).program, &(*(*ctx).vm).memory) };
    let code = &program.functions[function.index()];
    // SAFETY: as above: marks are made before a run, and set through cells.
    let marks = unsafe { &(*(*ctx).vm).marks }.as_ref().map(|marks| marks.of_function(function));
    let mut registers = [0; 16];
    registers[1..6].copy_from_slice(&args);
    let mut run = Run { ctx, program, memory, code, function, registers, may_goto: MAY_GOTO_LIMIT, pc: 0, marks };
    // SAFETY: the caller's promise; references to the context never outlive a statement.
    unsafe {
        let frame = (*ctx).stack_top;
        if code.uses_stack {
            (*ctx).stack_top = frame - FRAME_SIZE;
            run.registers[10] = frame;
        }
        let result = run.blocks();
        (*ctx).stack_top = frame;
        result.unwrap_or(0)
    }
}

/// One call of a function.
struct Run<'a> {
    ctx: *mut CallContext,
    program: &'a Program,
    memory: &'a GuestMemory,
    code: &'a Function,
    function: FunctionId,
    /// r0 to r10; the others only make the number a power of two, for cheap indexing.
    registers: [u64; 16],
    may_goto: u32,
    /// The present instruction, where it may be needed: at accesses to memory and calls.
    pc: u32,
    /// Where executed blocks are marked, if they are observed.
    marks: Option<&'a [Cell<bool>]>,
}

/// How a block went.
enum Flow {
    Next,
    To(BlockId),
    Return,
}

/// An error is in the context.
struct Stopped;

impl Run<'_> {
    #[cold]
    fn raise(&mut self, kind: FaultKind) -> Stopped {
        // SAFETY: the promise of `run`.
        unsafe { (*self.ctx).raise_at(self.function, self.pc, kind) };
        Stopped
    }

    fn blocks(&mut self) -> Result<u64, Stopped> {
        let mut at = BlockId(0);
        let mut check = self.program.needs[self.function.index()].tests_budget;
        loop {
            let block = self.code.blocks[at.index()];
            self.pc = block.start;
            mark(self.marks, at);
            self.charge(block.len(), check)?;
            match self.block(block.start, block.end)? {
                Flow::Next => (at, check) = (BlockId(at.0 + 1), false),
                Flow::To(target) => (at, check) = (target, target <= at),
                Flow::Return => return Ok(self.registers[0]),
            }
        }
    }

    /// Takes a block's instructions from the budget.
    #[inline(always)]
    fn charge(&mut self, instructions: u32, check: bool) -> Result<(), Stopped> {
        // SAFETY: the promise of `run`.
        let left = unsafe {
            (*self.ctx).budget -= i64::from(instructions);
            (*self.ctx).budget
        };
        if check && left < 0 {
            // SAFETY: as above.
            let limit = unsafe { (*(*self.ctx).vm).instruction_limit };
            return Err(self.raise(FaultKind::Endless { limit }));
        }
        Ok(())
    }

    #[inline(always)]
    fn block(&mut self, start: u32, end: u32) -> Result<Flow, Stopped> {
        let code = self.code;
        for (pc, insn) in (start..).zip(&code.insns[start as usize..end as usize]) {
            match *insn {
                Insn::Alu { op, width, dst, operand } => self.alu(op, width, dst, operand),
                Insn::Negate { width: Width::W64, dst } => self.set(dst, self.get(dst).wrapping_neg()),
                Insn::Negate { width: Width::W32, dst } => {
                    self.set(dst, u64::from((self.get(dst) as u32).wrapping_neg()));
                }
                Insn::MoveSigned { width, from, dst, src } => {
                    let value = sign_extend(from, self.get(src));
                    self.set(dst, if width == Width::W32 { u64::from(value as u32) } else { value });
                }
                Insn::ToUser { dst, src, high } => {
                    let low = u64::from(self.get(src) as u32);
                    self.set(dst, if low == 0 { 0 } else { low | u64::from(high) << 32 });
                }
                Insn::SwapBytes { size, dst } => self.set(dst, swap_bytes(size, self.get(dst))),
                Insn::Truncate { size, dst } => self.set(dst, truncate(size, self.get(dst))),
                Insn::Constant { dst, value } => self.set(dst, value),
                Insn::Load { size, signed, probe, dst, base, offset } => {
                    self.pc = pc;
                    let value = self.load(size, probe, base, offset)?;
                    self.set(dst, if signed { sign_extend(size, value) } else { value });
                }
                Insn::Store { size, base, offset, operand } => {
                    self.pc = pc;
                    let value = self.operand(operand);
                    self.store(size, base, offset, value)?;
                }
                Insn::Atomic { op, width, fetch, base, offset, src } => {
                    self.pc = pc;
                    self.atomic(op, width, fetch, base, offset, src)?;
                }
                Insn::Jump { target } => return Ok(Flow::To(target)),
                Insn::Branch { condition, width, dst, operand, target } => {
                    if holds(condition, width, self.get(dst), self.operand(operand)) {
                        return Ok(Flow::To(target));
                    }
                }
                Insn::MayGoto { target } => {
                    if self.may_goto == 0 {
                        return Ok(Flow::To(target));
                    }
                    self.may_goto -= 1;
                }
                Insn::CallFunction { .. } | Insn::CallHost { .. } | Insn::CallHandle { .. } => {
                    self.pc = pc;
                    self.call(*insn)?;
                }
                Insn::Exit => return Ok(Flow::Return),
                Insn::Unresolved { what } => {
                    self.pc = pc;
                    let what = self.program.unresolved[what as usize].clone();
                    return Err(self.raise(FaultKind::Unresolved(what)));
                }
            }
        }
        Ok(Flow::Next)
    }

    #[inline(always)]
    fn get(&self, register: Register) -> u64 {
        self.registers[usize::from(register & 15)]
    }

    #[inline(always)]
    fn set(&mut self, register: Register, value: u64) {
        self.registers[usize::from(register & 15)] = value;
    }

    #[inline(always)]
    fn operand(&self, operand: Operand) -> u64 {
        match operand {
            Operand::Register(register) => self.get(register),
            Operand::Immediate(value) => value as u64,
        }
    }

    #[inline(always)]
    fn alu(&mut self, op: AluOp, width: Width, dst: Register, operand: Operand) {
        let (a, b) = (self.get(dst), self.operand(operand));
        let result = match width {
            Width::W64 => alu64(op, a, b),
            Width::W32 => u64::from(alu32(op, a as u32, b as u32)),
        };
        self.set(dst, result);
    }

    fn call(&mut self, insn: Insn) -> Result<(), Stopped> {
        let [_, r1, r2, r3, r4, r5, ..] = self.registers;
        // SAFETY: the promise of `run`; a host function gets the context that it is promised.
        let result = unsafe {
            match insn {
                Insn::CallFunction { function } => {
                    (*self.ctx).frames += 1;
                    let result = run(self.ctx, function, [r1, r2, r3, r4, r5]);
                    (*self.ctx).frames -= 1;
                    result
                }
                Insn::CallHost { host } => {
                    let host = &self.program.hosts[host.index()];
                    if host.needs_no_lock && (*self.ctx).locks > 0 {
                        return Err(self.raise(FaultKind::Locked(host.name.clone())));
                    }
                    (*self.ctx).position = u64::from(self.function.0) << 32 | u64::from(self.pc);
                    (host.call)(self.ctx, r1, r2, r3, r4, r5)
                }
                Insn::CallHandle { src } => {
                    (*self.ctx).position = u64::from(self.function.0) << 32 | u64::from(self.pc);
                    VmState::call_back(self.ctx, self.get(src), [r1, r2, r3, r4, r5])
                }
                _ => unreachable!("only calls are called"),
            }
        };
        // A call leaves r1 to r5 without a value: zeros, as in machine code.
        self.registers[..6].copy_from_slice(&[result, 0, 0, 0, 0, 0]);
        // SAFETY: as above.
        if unsafe { (*self.ctx).fault.is_some() } { Err(Stopped) } else { Ok(()) }
    }

    /// The address of an access, once it is allowed.
    #[inline(always)]
    fn address(&mut self, size: Size, base: Register, offset: i16, write: bool) -> Result<u64, Stopped> {
        let address = self.get(base).wrapping_add(offset as u64);
        // SAFETY: the promise of `run`.
        let (top, start) = unsafe { ((*self.ctx).stack_top, (*self.ctx).stack_start) };
        let is_free = address.wrapping_sub(start) < top - start;
        if !self.memory.allows(address, size.bytes(), write) || is_free {
            return Err(self.refuse(address, size, write));
        }
        Ok(address)
    }

    #[cold]
    fn refuse(&mut self, address: u64, size: Size, write: bool) -> Stopped {
        let len = size.bytes();
        self.raise(match self.memory.check(address, len, write) {
            Err(AccessError::Outside) => FaultKind::Outside { write, len, address },
            Err(AccessError::ReadOnly(what)) => FaultKind::ReadOnly { len, what },
            Err(AccessError::Overrun(what)) => FaultKind::Overrun { write, len, what },
            Ok(()) => FaultKind::Overrun { write, len, what: "the stack frame".to_string() },
        })
    }

    #[inline(always)]
    fn load(&mut self, size: Size, probe: bool, base: Register, offset: i16) -> Result<u64, Stopped> {
        if probe && self.get(base) < PAGE_SIZE {
            return Ok(0);
        }
        let address = self.address(size, base, offset, false)?;
        Ok(match size {
            Size::B1 => u64::from(self.memory.read::<u8>(address)),
            Size::B2 => u64::from(self.memory.read::<u16>(address)),
            Size::B4 => u64::from(self.memory.read::<u32>(address)),
            Size::B8 => self.memory.read(address),
        })
    }

    #[inline(always)]
    fn store(&mut self, size: Size, base: Register, offset: i16, value: u64) -> Result<(), Stopped> {
        let address = self.address(size, base, offset, true)?;
        match size {
            Size::B1 => self.memory.write(address, value as u8),
            Size::B2 => self.memory.write(address, value as u16),
            Size::B4 => self.memory.write(address, value as u32),
            Size::B8 => self.memory.write(address, value),
        }
        Ok(())
    }

    fn atomic(
        &mut self,
        op: AtomicOp,
        width: Width,
        fetch: bool,
        base: Register,
        offset: i16,
        src: Register,
    ) -> Result<(), Stopped> {
        let size = if width == Width::W64 { Size::B8 } else { Size::B4 };
        let address = self.address(size, base, offset, true)?;
        let (operand, expected) = (self.get(src), truncate(size, self.get(0)));
        let old = match width {
            Width::W64 => self.memory.read::<u64>(address),
            Width::W32 => u64::from(self.memory.read::<u32>(address)),
        };
        let new = atomic(op, old, operand, expected);
        match width {
            Width::W64 => self.memory.write(address, new),
            Width::W32 => self.memory.write(address, new as u32),
        }
        match op {
            AtomicOp::CompareExchange => self.set(0, old),
            _ if fetch => self.set(src, old),
            _ => {}
        }
        Ok(())
    }
}
