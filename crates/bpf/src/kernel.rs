//! What the environment of a program offers: types, functions, variables. The simulator fills it in.

use std::fmt;
use std::marker::PhantomData;

use crate::check::{Check, guard};
use crate::context::CallContext;
use crate::program::Intrinsic;
use crate::type_table::TypeTable;

/// The code behind a host function. It gets the call context and five words, and gives one word back.
///
/// # Safety
/// `ctx` points at the context of the running call, whose host is of the type that the routine was made for.
pub(crate) type HostFn =
    unsafe extern "C" fn(ctx: *mut CallContext, a1: u64, a2: u64, a3: u64, a4: u64, a5: u64) -> u64;

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

/// A kernel function of a host `H`, which is what a program is called with.
pub trait KernelRoutine<H>: 'static {
    /// The name that objects link against.
    const NAME: &'static str;
    /// Number of arguments of the C declaration; a declaration of the object with another number is not this function.
    const ARGUMENTS: u8;
    /// Set when a code generator may write in line what it does.
    const INTRINSIC: Option<Intrinsic> = None;

    /// Does it. `words` are the arguments, zeros behind them. `None` after a fault was raised.
    fn run(call: &mut Call<'_, H>, words: [u64; 5]) -> Option<u64>;
}

/// What a kernel function of a host sees: the host, and the gate to the program.
pub struct Call<'a, H> {
    check: Check<'a>,
    host: PhantomData<fn(&mut H)>,
}

impl<'a, H> Call<'a, H> {
    /// The host.
    #[inline]
    pub fn host(&mut self) -> &mut H {
        self.split().0
    }

    /// The checks.
    #[inline]
    pub fn check(&mut self) -> &mut Check<'a> {
        &mut self.check
    }

    /// The host and the checks, which never call the program back.
    #[inline(always)]
    pub fn split(&mut self) -> (&mut H, &mut Check<'a>) {
        let ctx = self.check.context();
        // SAFETY: the machine was called with a `&mut H` by `Vm<H>`, which is not used before the program returns. No
        // other reference is made of it while this one is alive, because that takes a `&mut Call`, and all those of a
        // program's call come one after the other.
        (unsafe { &mut *(*ctx).host.cast::<H>() }, &mut self.check)
    }

    /// Lets `run` use `len` bytes of the stack.
    pub fn with_scratch<T>(&mut self, len: u64, run: impl FnOnce(&mut Call<'_, H>, u64) -> T) -> Option<T> {
        self.check.with_scratch(len, |check, at| {
            // SAFETY: the context is that of the running call; the outer view is not used before this one is gone.
            let check = unsafe { Check::new(check.context()) };
            Some(run(&mut Call { check, host: PhantomData }, at))
        })
    }

    /// The fault that the call has ended with.
    pub fn fault(&self) -> Option<&crate::Fault> {
        self.check.fault()
    }

    /// Calls another kernel function of the same host.
    pub fn kernel_function(&mut self, function: &KernelFunction<H>, words: [u64; 5]) -> u64 {
        let [a1, a2, a3, a4, a5] = words;
        // SAFETY: the context is that of the running call, and the function is one of this host.
        unsafe { (function.raw.routine.call)(self.check.context(), a1, a2, a3, a4, a5) }
    }

    /// Calls a program of the same machine, with a budget of its own.
    pub fn program<const N: usize>(
        &mut self,
        program: crate::ProgramId,
        args: [u64; N],
    ) -> Result<u64, Box<crate::Fault>> {
        let ctx = self.check.context();
        // SAFETY: as in `split`; the host is handed on.
        unsafe { (*(*ctx).vm).call(program, args, (*ctx).host) }
    }
}

/// A kernel function (`kfunc`) of a host `H` by name.
pub struct KernelFunction<H> {
    pub(crate) raw: RawFunction,
    host: PhantomData<fn(&mut H)>,
}

impl<H> Clone for KernelFunction<H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H> Copy for KernelFunction<H> {}

impl<H> fmt::Debug for KernelFunction<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.raw.fmt(f)
    }
}

impl<H: 'static> KernelFunction<H> {
    /// The function of a routine.
    pub const fn of<R: KernelRoutine<H>>() -> KernelFunction<H> {
        assert!(R::ARGUMENTS <= 5, "at most five words are passed");
        let routine = Routine { call: enter::<H, R>, arguments: R::ARGUMENTS, calls_back: false };
        let raw = RawFunction { name: R::NAME, arguments: R::ARGUMENTS, routine, intrinsic: R::INTRINSIC };
        KernelFunction { raw, host: PhantomData }
    }

    /// The name that objects link against.
    pub const fn name(&self) -> &'static str {
        self.raw.name
    }

    /// Number of arguments of the C declaration.
    pub const fn arguments(&self) -> u8 {
        self.raw.arguments
    }
}

unsafe extern "C" fn enter<H, R: KernelRoutine<H>>(
    ctx: *mut CallContext,
    a1: u64,
    a2: u64,
    a3: u64,
    a4: u64,
    a5: u64,
) -> u64 {
    let mut words = [a1, a2, a3, a4, a5];
    // What was not passed may be anything.
    words[usize::from(R::ARGUMENTS)..].fill(0);
    // SAFETY: the caller's promise.
    unsafe {
        guard(ctx, |_| {
            let mut call = Call { check: Check::new(ctx), host: PhantomData };
            R::run(&mut call, words)
        })
    }
}

/// A kernel function, whatever its host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawFunction {
    pub name: &'static str,
    /// Number of arguments of the C declaration. The routine's words beyond its own mean nothing.
    pub arguments: u8,
    pub routine: Routine,
    pub intrinsic: Option<Intrinsic>,
}

impl RawFunction {
    /// Whether a declaration with this name and number of arguments means it.
    pub fn is(&self, name: &str, arguments: usize) -> bool {
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

/// The environment that an object is linked against; its programs are called with a host `H`.
#[derive(Debug)]
pub struct Kernel<H> {
    /// Types for CO-RE.
    pub types: TypeTable,
    /// Functions beyond the generic ones of this crate.
    pub functions: Vec<KernelFunction<H>>,
    /// Variables.
    pub variables: Vec<KernelVariable>,
    /// Kernel configuration: `CONFIG_HZ` and its value (1 for `y`, 2 for `m` as in libbpf's enumeration).
    pub configs: Vec<(&'static str, u64)>,
    /// `LINUX_KERNEL_VERSION`: major << 16 | minor << 8 | patch.
    pub version: u32,
}

impl<H> Kernel<H> {
    /// An environment of version 6.12 that offers only what every BPF program has.
    pub fn new(types: TypeTable) -> Kernel<H> {
        Kernel { types, functions: Vec::new(), variables: Vec::new(), configs: Vec::new(), version: 6 << 16 | 12 << 8 }
    }
}

/// An environment, whatever its host.
pub(crate) struct Environment<'a> {
    pub types: &'a TypeTable,
    pub functions: Vec<RawFunction>,
    pub variables: &'a [KernelVariable],
    pub configs: &'a [(&'static str, u64)],
    pub version: u32,
}

impl<'a> Environment<'a> {
    pub fn of<H>(kernel: &'a Kernel<H>) -> Environment<'a> {
        let Kernel { types, functions, variables, configs, version } = kernel;
        let functions = functions.iter().map(|function| function.raw).collect();
        Environment { types, functions, variables, configs, version: *version }
    }
}
