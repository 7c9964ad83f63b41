//! The state of a running call, shared by executors, machine code and host functions.

use std::ffi::c_void;

use crate::fault::{Fault, FaultKind};
use crate::memory::GuestMemory;
use crate::program::{FRAME_SIZE, FunctionId};
use crate::sections::Sections;
use crate::vm::{STACK_SIZE, VmState};

/// When and where a program runs. The host sets it before a call.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Simulated time in nanoseconds: what the clocks of a program show.
    pub now_ns: u64,
    /// Guest address of the task that the CPU is running.
    pub current: u64,
    /// The CPU that the program runs on.
    pub cpu: u32,
}

/// What every host function and all machine code gets as its first argument. The layout is fixed (`repr(C)`) because
/// generated code reads it by offset.
#[repr(C)]
#[derive(Debug)]
pub struct CallContext {
    /// Host address of guest address 0.
    pub(crate) memory_base: *mut u8,
    /// Instructions that the call may still execute; below zero it has to stop.
    pub(crate) budget: i64,
    /// When and where.
    pub(crate) moment: Moment,
    /// Calls into the virtual machine that are on the way, one inside the other.
    pub(crate) depth: u32,
    /// Frames of the running call: the entry's is the first, callbacks continue counting. Up to date where a host function
    /// may call back.
    pub(crate) frames: u32,
    /// Guest address of the last byte of the stack that is in use; what is below is free. It is r10 of a function with
    /// a frame, which moves it down by [`FRAME_SIZE`] and back before it returns.
    pub(crate) stack_top: u64,
    /// Guest address of the stack's first byte, and behind its last one.
    pub(crate) stack_start: u64,
    pub(crate) stack_end: u64,
    /// Where the program is: function number << 32 | instruction in it. Kept up to date at calls of host functions.
    pub(crate) position: u64,
    /// Sections in which the call is, and the position at which it entered the last one.
    pub(crate) sections: Sections,
    pub(crate) section_at: u64,
    /// Locks that the call holds.
    pub(crate) locks: u32,
    /// The caller's own state, handed through to host functions.
    pub(crate) host: *mut c_void,
    /// The virtual machine.
    pub(crate) vm: *mut VmState,
    /// The error that ends the call. Set it through [`CallContext::raise`].
    pub(crate) fault: Option<Box<Fault>>,
}

impl CallContext {
    /// The context of a machine whose stack is at `stack`, while no call is on the way.
    pub(crate) fn new(memory: &GuestMemory, stack: u64) -> CallContext {
        CallContext {
            memory_base: memory.base(),
            budget: 0,
            moment: Moment::default(),
            depth: 0,
            frames: 1,
            stack_top: stack + STACK_SIZE,
            stack_start: stack,
            stack_end: stack + STACK_SIZE,
            position: 0,
            sections: Sections::default(),
            section_at: 0,
            locks: 0,
            host: std::ptr::null_mut(),
            vm: std::ptr::null_mut(),
            fault: None,
        }
    }

    /// Ends the call with an error of the program at its present position. The first error stays.
    #[cold]
    pub(crate) fn raise(&mut self, kind: FaultKind) {
        self.raise_from(self.position, kind);
    }

    /// Ends the call with an error of the program at another position.
    #[cold]
    pub(crate) fn raise_from(&mut self, position: u64, kind: FaultKind) {
        self.raise_at(FunctionId((position >> 32) as u32), position as u32, kind);
    }

    /// Ends the call with an error of the program at a given instruction.
    #[cold]
    pub(crate) fn raise_at(&mut self, function: FunctionId, instruction: u32, kind: FaultKind) {
        if self.fault.is_none() {
            // SAFETY: a context is only used while its machine is alive; the program is not changed after loading.
            let program = unsafe { &(*self.vm).program };
            self.fault = Some(Box::new(program.fault(function, instruction, kind)));
        }
        self.budget = -1;
    }

    /// Whether `frames` frames fit on the stack.
    pub(crate) fn has_frames(&self, frames: u32) -> bool {
        u64::from(frames) * FRAME_SIZE <= self.stack_top - self.stack_start
    }
}
