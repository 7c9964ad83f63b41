//! In the place of machine code where the processor is that of a page: programs run in the interpreter alone.

use std::sync::Arc;

use crate::object::MachineError;
use crate::program::{FunctionId, Program};
use crate::vm::EntryFn;

/// There is none.
#[derive(Debug)]
pub enum MachineCode {}

impl MachineCode {
    /// Says that there is none.
    pub fn obtain(program: &Program) -> Result<Arc<MachineCode>, MachineError> {
        let function = program.functions.first().map_or("the program", |function| &function.name).to_string();
        Err(MachineError { function, reason: "WebAssembly cannot make code while it runs".to_string() })
    }

    /// The entry of a function.
    pub fn entry(&self, _function: FunctionId) -> EntryFn {
        match *self {}
    }

    /// The code of each entry of a program.
    pub fn of_entries(&self, _program: &Program) -> Vec<EntryFn> {
        match *self {}
    }
}
