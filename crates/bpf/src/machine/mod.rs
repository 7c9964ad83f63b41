//! Machine code: every function of a program, compiled for the processor that this runs on.
//!
//! The code does what the interpreter does, without its checks of memory accesses. A pointer is cut to 32 bits and
//! added to the host address of guest memory, so that no access leaves the guest's range and its guards. Registers are
//! values of the code generator; what the rest of the world may look at (budget, stack, position) is in the
//! [`CallContext`](crate::CallContext) at every call.
//!
//! A simulation is single-threaded, so the atomic instructions of a program are ordinary ones here.

mod access;
mod arithmetic;
mod calls;
mod flow;
mod function;
mod intrinsics;
mod kept;
mod known;
mod outside;
#[cfg(test)]
mod tests;
mod translator;

use std::fmt;
use std::mem::ManuallyDrop;

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{ArenaMemoryProvider, JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};

use crate::object::MachineError;
use crate::program::{Function, FunctionId, Program};
use crate::vm::EntryFn;

/// Address space reserved for each instruction; 20 to 40 bytes are what one takes, in-line lookups more.
const CODE_BYTES_PER_INSTRUCTION: usize = 512;
/// Address space reserved for each function: prologue, exits, and the page that its code may start on.
const CODE_BYTES_PER_FUNCTION: usize = 8192;

/// The machine code of a program. It holds guest addresses and addresses of host functions, nothing that changes: any
/// simulation whose program was linked to the same addresses may run it.
pub struct MachineCode {
    entries: Vec<EntryFn>,
    module: ManuallyDrop<JITModule>,
}

// SAFETY: the code is never changed after `compile`; the module is only kept to free its memory.
unsafe impl Sync for MachineCode {}

impl MachineCode {
    /// Compiles all functions of a program.
    pub fn compile(program: &Program) -> Result<MachineCode, MachineError> {
        let failed = |function: &str, reason: String| MachineError { function: function.to_string(), reason };
        let mut module = new_module(program).map_err(|reason| failed("the program", reason))?;
        let ids = declare(&mut module, program).map_err(|reason| failed("the program", reason))?;
        let (mut context, mut scratch) = (module.make_context(), FunctionBuilderContext::new());
        for (index, function) in program.functions.iter().enumerate() {
            let id = FunctionId(index as u32);
            function::translate(program, id, &mut module, &ids, &mut context, &mut scratch);
            define(&mut module, ids[index], &mut context).map_err(|reason| failed(&function.name, reason))?;
        }
        module.finalize_definitions().map_err(|error| failed("the program", error.to_string()))?;
        // SAFETY: every function was declared with the first parameters of `EntryFn`, all of which are in registers.
        let entry = |id| unsafe { std::mem::transmute::<*const u8, EntryFn>(module.get_finalized_function(id)) };
        let entries = ids.into_iter().map(entry).collect();
        Ok(MachineCode { entries, module: ManuallyDrop::new(module) })
    }

    /// The entry of a function. The code lives as long as `self`.
    #[inline]
    pub fn entry(&self, function: FunctionId) -> EntryFn {
        self.entries[function.index()]
    }

    /// The code of each entry of the program that this was made of.
    pub fn of_entries(&self, program: &Program) -> Vec<EntryFn> {
        program.entries.iter().map(|entry| self.entry(entry.function)).collect()
    }
}

impl Drop for MachineCode {
    fn drop(&mut self) {
        // SAFETY: the module is taken once, here; `entry` says that its code must not be used any more.
        unsafe { ManuallyDrop::take(&mut self.module).free_memory() };
    }
}

impl fmt::Debug for MachineCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MachineCode of {} functions", self.entries.len())
    }
}

/// The processor that this runs on, with all it can do.
fn host() -> Result<OwnedTargetIsa, String> {
    let mut flags = settings::builder();
    let choices = [
        ("opt_level", "speed"),
        // Our own tests check the code; the generator's check of its input costs a tenth of the time.
        ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
        ("unwind_info", "false"),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        ("enable_probestack", "false"),
    ];
    for (name, value) in choices {
        flags.set(name, value).map_err(|error| format!("{name}: {error}"))?;
    }
    let flags = settings::Flags::new(flags);
    cranelift_native::builder()?.finish(flags).map_err(|error| error.to_string())
}

/// A module whose code lies in one piece, so that direct calls reach.
fn new_module(program: &Program) -> Result<JITModule, String> {
    let instructions: usize = program.functions.iter().map(|function| function.insns.len()).sum();
    let size = instructions * CODE_BYTES_PER_INSTRUCTION + (program.functions.len() + 1) * CODE_BYTES_PER_FUNCTION;
    let memory = ArenaMemoryProvider::new_with_size(size)
        .map_err(|error| format!("no address space for {size} bytes of code: {error}"))?;
    let mut builder = JITBuilder::with_isa(host()?, default_libcall_names());
    builder.memory_provider(Box::new(memory));
    Ok(JITModule::new(builder))
}

fn declare(module: &mut JITModule, program: &Program) -> Result<Vec<FuncId>, String> {
    let convention = module.isa().default_call_conv();
    // Static functions of several files may share a name, so the number is part of the symbol.
    let declare = |(index, function): (usize, &Function)| {
        let name = format!("{index}:{}", function.name);
        let signature = translator::signature(convention, usize::from(program.needs[index].arguments));
        module.declare_function(&name, Linkage::Local, &signature).map_err(|error| error.to_string())
    };
    program.functions.iter().enumerate().map(declare).collect()
}

fn define(module: &mut JITModule, id: FuncId, context: &mut Context) -> Result<(), String> {
    let defined = module.define_function_with_control_plane(id, context, &mut ControlPlane::default());
    module.clear_context(context);
    defined.map_err(|error| format!("{error:?}"))
}
