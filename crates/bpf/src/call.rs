//! What a host function sees of the call that it is part of.

use crate::context::CallContext;
use crate::fault::FaultKind;
use crate::maps::Map;
use crate::memory::{AccessError, GuestMemory, MEMORY_SIZE};
use crate::program::MapId;
use crate::vm::Vm;

/// A host function's handle on the running call. References that it gives are to be short-lived: none may be kept over
/// a call back into the program.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The context.
    pub ctx: *mut CallContext,
}

impl Call {
    /// Wraps the context that a host function was given.
    ///
    /// # Safety
    /// `ctx` is the context of the running call, and the value does not outlive the host function.
    pub unsafe fn new(ctx: *mut CallContext) -> Call {
        Call { ctx }
    }

    /// The virtual machine.
    #[allow(clippy::mut_from_ref)]
    pub fn vm(&self) -> &mut Vm {
        // SAFETY: the promise of `new`; host functions run one at a time on one thread.
        unsafe { &mut *(*self.ctx).vm }
    }

    /// Guest memory.
    pub fn memory(&self) -> &GuestMemory {
        // SAFETY: as above; the handle is never replaced.
        unsafe { &(*(*self.ctx).vm).memory }
    }

    /// Simulated time in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        // SAFETY: as above.
        unsafe { (*self.ctx).now_ns }
    }

    /// The CPU of the call.
    pub fn cpu(&self) -> u32 {
        // SAFETY: as above.
        unsafe { (*self.ctx).cpu }
    }

    /// Guest address of the running task.
    pub fn current(&self) -> u64 {
        // SAFETY: as above.
        unsafe { (*self.ctx).current }
    }

    /// Whether an error stands in the context.
    pub fn has_failed(&self) -> bool {
        // SAFETY: as above.
        unsafe { (*self.ctx).fault.is_some() }
    }

    /// Ends the call with an error that says what the program does wrong. Gives 0, to be returned.
    #[cold]
    pub fn fail(&self, text: impl Into<String>) -> u64 {
        self.raise(FaultKind::Refused(text.into()))
    }

    /// Ends the call with an error. Gives 0, to be returned.
    #[cold]
    pub fn raise(&self, kind: FaultKind) -> u64 {
        // SAFETY: as above.
        unsafe { (*self.ctx).raise(kind) };
        0
    }

    /// Whether the host function may read or write `len` bytes at `addr` on the program's behalf. If not, the call ends
    /// with an error. Machine code is only checked for what does not lie in guest memory at all.
    pub fn check(&self, addr: u64, len: u64, write: bool) -> bool {
        let allowed = match self.vm().checked {
            true => self.memory().allows(addr, len, write),
            false => len <= MEMORY_SIZE,
        };
        if !allowed {
            self.refuse(addr, len, write);
        }
        allowed
    }

    #[cold]
    fn refuse(&self, addr: u64, len: u64, write: bool) {
        self.raise(match self.memory().check(addr, len, write) {
            Err(AccessError::ReadOnly(what)) => FaultKind::ReadOnly { len, what },
            Err(AccessError::Overrun(what)) => FaultKind::Overrun { write, len, what },
            _ => FaultKind::Outside { write, len, address: addr },
        });
    }

    /// The bytes of an argument that points at memory; `None`, with the error raised, when it may not be read.
    pub(crate) fn bytes(&self, addr: u64, len: u64) -> Option<&[u8]> {
        if !self.check(addr, len, false) {
            return None;
        }
        let bytes = self.memory().bytes(addr, len as usize);
        if bytes.is_none() {
            self.raise(FaultKind::Outside { write: false, len, address: addr });
        }
        bytes
    }

    /// The text of an argument, of at most `limit` bytes; `None`, with the error raised, when it may not be read.
    pub fn text(&self, addr: u64, limit: u64) -> Option<String> {
        self.check(addr, 1, false).then(|| self.memory().read_text(addr, limit.min(65536) as usize))
    }

    /// The map that an argument points at; `None`, with the error raised, when it is no map.
    pub(crate) fn map(&self, addr: u64) -> Option<(MapId, &mut Map)> {
        let vm = self.vm();
        match vm.map_of(addr) {
            Some(id) => Some((id, &mut vm.maps[id.index()])),
            None => {
                self.fail(format!("passes {addr:#x} as a map, which it is not"));
                None
            }
        }
    }

    /// Calls a function of the program through its handle.
    pub fn call_handle(&self, handle: u64, args: [u64; 5]) -> u64 {
        // SAFETY: the promise of `new`.
        unsafe { Vm::call_back(self.ctx, handle, args) }
    }

    /// Lets `run` use `len` bytes of the stack.
    pub(crate) fn with_scratch<T>(&self, len: u64, run: impl FnOnce(u64) -> T) -> Option<T> {
        // SAFETY: as above.
        unsafe {
            let (top, len) = ((*self.ctx).stack_top, len.next_multiple_of(8));
            if len > top - (*self.ctx).stack_start {
                self.raise(FaultKind::StackOverflow);
                return None;
            }
            (*self.ctx).stack_top = top - len;
            let result = run(top - len);
            (*self.ctx).stack_top = top;
            Some(result)
        }
    }
}

/// Declares host functions, each of which gives its [`Routine`](crate::kernel::Routine): the arguments that are named
/// are taken in order, the result is a word.
macro_rules! host_functions {
    ($($(#[$doc:meta])* fn $name:ident($call:ident $(, $arg:ident)*) $body:block)*) => {$(
        $(#[$doc])*
        pub const fn $name() -> $crate::kernel::Routine {
            unsafe extern "C" fn $name(
                ctx: *mut $crate::context::CallContext, a1: u64, a2: u64, a3: u64, a4: u64, a5: u64,
            ) -> u64 {
                // SAFETY: a host function is given the context of the running call.
                #[allow(unused_variables)]
                let $call = unsafe { $crate::call::Call::new(ctx) };
                #[allow(unused_variables)]
                let [$($arg,)* ..] = [a1, a2, a3, a4, a5];
                $body
            }
            const ARGUMENTS: &[&str] = &[$(stringify!($arg)),*];
            $crate::kernel::Routine { call: $name, arguments: ARGUMENTS.len() as u8, calls_back: false }
        }
    )*};
}

pub(crate) use host_functions;
