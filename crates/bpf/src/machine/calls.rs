//! Calls of the program's own functions, of host functions, and of the routines that raise faults.

use std::mem::offset_of;

use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{InstBuilder, StackSlotData, StackSlotKind, Value};
use cranelift_module::Module;

use super::outside::{call_handle, raise_locked};
use super::translator::{Translator, signature};
use crate::context::CallContext;
use crate::program::{FunctionId, HostFunction, HostId, Register};

/// A routine that raises a fault of a function at an instruction.
type RaiseFn = unsafe extern "C" fn(ctx: *mut CallContext, function: u64, instruction: u64);

impl Translator<'_> {
    /// Calls a function of the program. Its own entry tests the budget.
    pub(super) fn call_function(&mut self, function: FunctionId) {
        let callee = self.module.declare_func_in_func(self.ids[function.index()], self.builder.func);
        let mut arguments = vec![self.ctx];
        let needs = self.program.needs[function.index()];
        arguments.extend((1..=needs.arguments).map(|register| self.get(register)));
        self.pay(0);
        let frames = needs.calls_back.then(|| self.push_call());
        let call = self.builder.ins().call(callee, &arguments);
        let result = self.builder.inst_results(call)[0];
        if let Some(frames) = frames {
            self.store_context(frames, offset_of!(CallContext, frames));
        }
        if needs.can_fail {
            self.stop_on_fault();
        }
        self.forget_arguments();
        self.set(0, result);
    }

    /// Counts a call that may come to a callback, and gives the number from before it.
    fn push_call(&mut self) -> Value {
        let frames = self.load_context(I32, offset_of!(CallContext, frames));
        let more = self.builder.ins().iadd_imm_s(frames, 1);
        self.store_context(more, offset_of!(CallContext, frames));
        frames
    }

    /// Calls a host function, or writes what it does.
    pub(super) fn call_host(&mut self, host: HostId) {
        let host = &self.program.hosts[host.index()];
        if host.needs_no_lock {
            self.stop_where_locked();
        }
        let result = match host.intrinsic.and_then(|intrinsic| self.intrinsic(intrinsic, host)) {
            Some(result) => result,
            None => self.call_routine(host),
        };
        self.forget_arguments();
        self.set(0, result);
    }

    /// Raises a fault if the call holds a lock.
    fn stop_where_locked(&mut self) {
        let locks = self.load_context(I32, offset_of!(CallContext, locks));
        let [locked, go_on] = std::array::from_fn(|_| self.builder.create_block());
        self.builder.set_cold_block(locked);
        self.builder.ins().brif(locks, locked, &[], go_on, &[]);
        self.builder.switch_to_block(locked);
        self.raise(raise_locked, Some(i64::from(self.instruction)));
        self.builder.ins().jump(self.stop, &[]);
        self.builder.switch_to_block(go_on);
    }

    /// Calls a host function with r1 to r5, and stops on a fault.
    pub(super) fn call_routine(&mut self, host: &HostFunction) -> Value {
        let words = host.arguments;
        let mut arguments = vec![self.ctx];
        arguments.extend((1..=words).map(|register| self.get(register)));
        self.pay(0);
        self.store_position();
        let result = self.call_address(host.call as *const () as usize, &arguments);
        self.stop_on_fault();
        result
    }

    /// Calls the function whose handle is in a register.
    pub(super) fn call_through_handle(&mut self, src: Register) {
        let slot = self.builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, 40, 3));
        for register in 1..=5 {
            let value = self.get(register);
            self.builder.ins().stack_store(I64, value, slot, 8 * (i32::from(register) - 1));
        }
        let (handle, words) = (self.get(src), self.builder.ins().stack_addr(I64, slot, 0));
        self.pay(0);
        self.store_position();
        let result = self.call_address(call_handle as *const () as usize, &[self.ctx, handle, words]);
        self.stop_on_fault();
        self.forget_arguments();
        self.set(0, result);
    }

    /// A call leaves r1 to r5 without a value; keeping the old ones would cost registers.
    fn forget_arguments(&mut self) {
        let zero = self.builder.ins().iconst(I64, 0);
        (1..=5).for_each(|register| self.set(register, zero));
    }

    /// Says where the program is, for the message of a fault.
    fn store_position(&mut self) {
        let position = self.position();
        self.store_context(position, offset_of!(CallContext, position));
    }

    /// Where the program is.
    pub(super) fn position(&mut self) -> Value {
        let position = u64::from(self.id.0) << 32 | u64::from(self.instruction);
        self.builder.ins().iconst(I64, position as i64)
    }

    /// Raises a fault of this function, at an instruction or at its entry.
    pub(super) fn raise(&mut self, routine: RaiseFn, instruction: Option<i64>) {
        let instruction = self.builder.ins().iconst(I64, instruction.unwrap_or(0));
        self.raise_at(routine, instruction);
    }

    /// Raises a fault of this function.
    pub(super) fn raise_at(&mut self, routine: RaiseFn, instruction: Value) {
        let function = self.builder.ins().iconst(I64, i64::from(self.id.0));
        self.call_address(routine as *const () as usize, &[self.ctx, function, instruction]);
    }

    fn call_address(&mut self, address: usize, arguments: &[Value]) -> Value {
        let convention = self.module.isa().default_call_conv();
        let signature = self.builder.import_signature(signature(convention, arguments.len() - 1));
        let address = self.builder.ins().iconst(I64, address as i64);
        let call = self.builder.ins().call_indirect(signature, address, arguments);
        self.builder.inst_results(call)[0]
    }
}
