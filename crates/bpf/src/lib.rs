//! Runs Linux BPF objects in this process.
//!
//! [`Object::parse`] reads an object file, [`Object::load`] links it against a [`Kernel`] (types, functions, variables)
//! and gives a [`Vm`] whose programs can be called. The crate knows BPF and nothing about schedulers.

mod alu;
mod btf;
mod call;
mod constants;
mod context;
mod core_relocation;
mod decode;
mod fault;
mod heap;
mod helpers;
mod interpreter;
mod kernel;
mod kfuncs;
mod linker;
pub mod machine;
mod maps;
mod memory;
mod needs;
mod object;
mod options;
mod pool;
pub mod program;
mod text;
mod timers;
mod type_table;
mod vm;

pub use call::Call;
pub use context::{CallContext, call_handle, raise_endless, raise_unresolved};
pub use fault::{Fault, FaultKind, SourceLine};
pub use kernel::{HostFn, Kernel, KernelFunction, KernelVariable};
pub use memory::{Access, AccessError, GuestMemory, HANDLE_BASE, MEMORY_SIZE, MemoryError, PAGE_SIZE, Region};
pub use object::{
    ConstantInfo, ConstantValue, DataPlace, Difference, EnumeratorInfo, ExternInfo, LoadError, MapInfo, Member, Object,
    ObjectError, ProgramInfo, StructOps,
};
pub use options::{Executor, LoadOptions, OwnerTable, Value};
pub use pool::Pool;
pub use program::{Intrinsic, MapId, ProgramId};
pub use text::format;
pub use timers::{TimerAction, TimerRequest};
pub use type_table::{Enumeration, Field, Structure, Type, TypeTable};
pub use vm::{EntryFn, Released, Vm};
