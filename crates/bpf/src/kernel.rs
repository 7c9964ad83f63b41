//! What the environment of a program offers: types, functions, variables. The simulator fills it in.

use crate::context::CallContext;
use crate::program::Intrinsic;
use crate::type_table::TypeTable;

/// A routine that a program can call. It gets the call context and five words, and gives one word back.
///
/// # Safety
/// `ctx` points at the context of the running call. A routine reports an error of the program through
/// [`CallContext::fail`] and returns anything.
pub type HostFn = unsafe extern "C" fn(ctx: *mut CallContext, a1: u64, a2: u64, a3: u64, a4: u64, a5: u64) -> u64;

/// A routine of this crate and how many of the words it looks at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Routine {
    pub call: HostFn,
    pub arguments: u8,
    /// Whether it may call back into the program.
    pub calls_back: bool,
}

impl Routine {
    /// The same as one that may call back into the program.
    pub const fn calling_back(self) -> Routine {
        Routine { calls_back: true, ..self }
    }
}

/// A kernel function (`kfunc`) by name.
#[derive(Clone, Copy, Debug)]
pub struct KernelFunction {
    /// The name that the object links against.
    pub name: &'static str,
    /// Number of arguments of the C declaration; a declaration of the object with another number is not this function.
    /// The routine's words beyond it mean nothing.
    pub arguments: u8,
    /// The routine.
    pub call: HostFn,
    /// Set when a code generator may write in line what it does.
    pub intrinsic: Option<Intrinsic>,
    /// Whether it may call back into the program.
    pub calls_back: bool,
}

impl KernelFunction {
    /// Whether a declaration of that name with so many arguments means it.
    pub(crate) fn is(&self, name: &str, arguments: usize) -> bool {
        self.name == name && usize::from(self.arguments) == arguments
    }
}

/// A kernel variable (`extern const int nr_cpus __ksym`) by name.
#[derive(Clone, Debug)]
pub struct KernelVariable {
    /// The name that the object links against.
    pub name: &'static str,
    /// Its guest address; of a per-CPU variable the one of CPU 0.
    pub address: u64,
    /// Bytes from one CPU's copy to the next; `None` when it is not per-CPU.
    pub per_cpu_stride: Option<u32>,
}

/// The environment that an object is linked against.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Types for CO-RE.
    pub types: TypeTable,
    /// Functions beyond the generic ones of this crate.
    pub functions: Vec<KernelFunction>,
    /// Variables.
    pub variables: Vec<KernelVariable>,
    /// Kernel configuration: `CONFIG_HZ` and its value (1 for `y`, 2 for `m` as in libbpf's enumeration).
    pub configs: Vec<(&'static str, u64)>,
    /// `LINUX_KERNEL_VERSION`: major << 16 | minor << 8 | patch.
    pub version: u32,
}

impl Kernel {
    /// An environment of version 6.12 that offers only what every BPF program has.
    pub fn new(types: TypeTable) -> Kernel {
        Kernel { types, functions: Vec::new(), variables: Vec::new(), configs: Vec::new(), version: 6 << 16 | 12 << 8 }
    }
}
