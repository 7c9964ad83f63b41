//! Calls with a structure of bytes, as loaders make them.

use std::ffi::c_void;

use super::VmState;
use crate::fault::{Fault, FaultKind};
use crate::program::ProgramId;

impl VmState {
    /// Calls an entry with a copy of `bytes`, which is given back as the entry leaves it, in r1.
    ///
    /// # Safety
    /// As for [`call`](Self::call).
    pub(crate) unsafe fn call_with_bytes(
        &mut self,
        program: ProgramId,
        bytes: &mut [u8],
        host: *mut c_void,
    ) -> Result<u64, Box<Fault>> {
        let function = self.program.entries[program.index()].function;
        let len = (bytes.len() as u64).next_multiple_of(8);
        let mut at = 0;
        let result = self.enter(host, |ctx, memory| {
            if len > ctx.stack_top - ctx.stack_start {
                ctx.raise_at(function, 0, FaultKind::StackOverflow);
                return (function, [0; 5]);
            }
            at = ctx.stack_top - len;
            memory.write_bytes(at, bytes);
            ctx.stack_top = at;
            (function, [at, 0, 0, 0, 0])
        });
        if at != 0 {
            self.memory.read_bytes(at, bytes);
        }
        result
    }
}
