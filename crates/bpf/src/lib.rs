//! Runs Linux BPF objects in this process.
//!
//! [`Object::parse`] reads an object file, [`Object::load`] links it against a [`Kernel`] (types, functions, variables)
//! and gives a [`Vm`] whose programs can be called. The crate knows BPF and nothing about schedulers.

mod account;
mod alu;
mod arguments;
mod btf;
mod check;
mod constants;
mod context;
mod core_match;
mod core_relocation;
mod coverage;
mod decode;
mod descriptor;
mod fault;
mod fields;
mod heap;
mod helpers;
mod hosted;
mod interpreter;
mod kernel;
mod kernel_btf;
mod kfuncs;
mod linker;
mod local_types;
#[cfg_attr(target_arch = "wasm32", path = "no_machine.rs")]
mod machine;
mod mapping;
mod maps;
mod memory;
mod needs;
mod object;
mod options;
mod pool;
mod program;
mod references;
mod sections;
mod stored;
mod syscalls;
mod text;
mod timers;
mod type_table;
mod vm;

pub use arguments::{Argument, In, OnStack, Out, Pointer, Readable, Writable};
pub use check::Check;
pub use context::Moment;
pub use coverage::Coverage;
pub use fault::{Fault, FaultKind, SourceLine};
pub use hosted::Vm;
pub use kernel::{Call, Kernel, KernelFunction, KernelRoutine, KernelVariable};
pub use kernel_btf::{KernelBtf, OperationMember};
pub use memory::{Access, AccessError, GuestMemory, HANDLE_BASE, MEMORY_SIZE, MemoryError, PAGE_SIZE, Region, Word};
pub use object::{
    ConstantInfo, ConstantValue, DataPlace, Difference, EnumeratorInfo, ExternInfo, LoadError, MapInfo, Member, Object,
    ObjectError, ProgramInfo, RoomForGroups, StructOps,
};
pub use options::{Executor, LoadOptions, OwnerTable, Value};
pub use program::{Intrinsic, MapId, Program, ProgramId};
pub use syscalls::{Attached, Caller, Reply, Syscalls};
pub use text::format;
pub use timers::{TimerAction, TimerRequest};
pub use type_table::{Enumeration, Field, Structure, Type, TypeTable};
pub use vm::{Released, VmState};
