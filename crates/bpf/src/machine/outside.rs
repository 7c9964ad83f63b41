//! What machine code calls that is no host function of the program.

use crate::context::CallContext;
use crate::fault::FaultKind;
use crate::program::FunctionId;
use crate::vm::VmState;

/// The budget is used up at an instruction.
///
/// # Safety
/// `ctx` is the context of the running call.
pub(crate) unsafe extern "C" fn raise_endless(ctx: *mut CallContext, function: u64, instruction: u64) {
    // SAFETY: the caller's promise. A budget that a fault set below zero keeps that fault.
    let ctx = unsafe { &mut *ctx };
    // SAFETY: as above.
    let limit = unsafe { (*ctx.vm).instruction_limit };
    ctx.raise_at(FunctionId(function as u32), instruction as u32, FaultKind::Endless { limit });
}

/// An instruction that could not be resolved is executed.
///
/// # Safety
/// `ctx` is the context of the running call.
pub(crate) unsafe extern "C" fn raise_unresolved(ctx: *mut CallContext, function: u64, instruction: u64) {
    // SAFETY: the caller's promise.
    let ctx = unsafe { &mut *ctx };
    let function = FunctionId(function as u32);
    // SAFETY: as above.
    let what = unsafe { (*ctx.vm).program.unresolved_at(function, instruction as u32) };
    ctx.raise_at(function, instruction as u32, FaultKind::Unresolved(what));
}

/// A host function is to be called that a kernel does not let be called while a lock is held.
///
/// # Safety
/// `ctx` is the context of the running call.
pub(crate) unsafe extern "C" fn raise_locked(ctx: *mut CallContext, function: u64, instruction: u64) {
    let function = FunctionId(function as u32);
    // SAFETY: the caller's promise.
    unsafe {
        let name = (*(*ctx).vm).program.host_name_at(function, instruction as u32);
        (*ctx).raise_at(function, instruction as u32, FaultKind::Locked(name));
    }
}

/// Calls through a register (`callx`): runs the function behind a handle.
///
/// # Safety
/// `ctx` is the context of the running call, whose position is up to date.
pub(crate) unsafe extern "C" fn call_handle(ctx: *mut CallContext, handle: u64, arguments: *const [u64; 5]) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { VmState::call_back(ctx, handle, *arguments) }
}
