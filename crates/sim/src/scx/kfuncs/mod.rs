//! The kernel functions that a policy can call, by their upstream names. Each does what its namesake in
//! `kernel/sched/ext` or `kernel/bpf/cpumask.c` does, on the simulated core.
//!
//! Arguments are types that only a check makes ([`Argument`]): a task that lives, a mask that exists, a place that the
//! policy may write. References that the kernel counts are held by the call and have to be given back. Some functions may
//! be called from some operations only ([`allowed`]).

mod allowed;
mod arguments;
mod cgroup;
mod cpumask;
mod dispatch;
mod idle;
mod info;
mod report;
pub mod signature;

use super::core::Core;
use super::ops::{Op, SLEEPABLE};
use arguments::Argument;
use schedlab_bpf::{Check, KernelFunction, MemoryError};

/// What C says about kernel functions and variables.
pub(super) const DECLARATIONS: &str = include_str!("declarations.h");

/// "No such thing", "busy", "invalid", as policies see them.
const ENOENT: i32 = -2;
const EBUSY: i32 = -16;
const EINVAL: i32 = -22;
const EEXIST: i32 = -17;
const EOPNOTSUPP: i32 = -95;

/// Any NUMA node, or none in particular.
const NUMA_NO_NODE: i32 = -1;

/// The types of kernel objects to which policies hold references.
pub(super) const OWN_MASK: &str = "bpf_cpumask";
const KERNEL_MASK: &str = "cpumask";
pub(super) const TASK: &str = "task_struct";
const CGROUP: &str = "cgroup";

/// A kernel function at work.
struct Call<'c, 'a> {
    core: &'c mut Core,
    check: &'c mut Check<'a>,
}

impl Call<'_, '_> {
    /// A CPU number that exists. Another one ends the policy.
    fn cpu(&mut self, cpu: i32) -> Option<u32> {
        if cpu >= 0 && (cpu as u32) < self.core.cpus.len() {
            return Some(cpu as u32);
        }
        self.core.error(format!("invalid CPU {cpu}"));
        None
    }

    /// Whether the running operation holds the lock of a run queue, that of its CPU (`scx_locked_rq`).
    fn locks_run_queue(&self) -> bool {
        let is_free = |op: Op| SLEEPABLE.contains(&op) || matches!(op, Op::SelectCpu | Op::Timer);
        self.core.running_op.is_some_and(|op| !is_free(op))
    }

    /// Ends the policy unless it is where a function may be called that may sleep.
    fn may_sleep(&mut self, function: &str) -> Option<()> {
        if let Some(op) = self.core.running_op.filter(|op| self.core.sleepable >> *op as u8 & 1 == 0) {
            let name = op.name();
            let text = format!("calls {function}, which may sleep, from a section that is not struct_ops.s/{name}");
            return self.check.fail(text);
        }
        self.check.may_sleep(function)
    }

    /// What could be had, or the end of the policy.
    fn had<T>(&mut self, result: Result<T, MemoryError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => self.check.out_of_memory(&error),
        }
    }
}

/// How results become words.
trait IntoWord {
    fn into_word(self) -> u64;
}

macro_rules! words {
    ($($type:ty: $into:expr;)*) => {$(
        impl IntoWord for $type {
            #[inline(always)]
            fn into_word(self) -> u64 {
                ($into)(self)
            }
        }
    )*};
}

words! {
    u64: |v| v;
    u32: |v| v as u64;
    i32: |v: i32| v as u32 as u64;
    bool: |v| v as u64;
    (): |()| 0;
}

/// Defines kernel functions and a list of them. Each is written as a function of a [`Call`], whose body gives the result
/// or, after a fault, leaves with `?`; what machine code may do in its place is before it in brackets.
macro_rules! kernel_functions {
    ($($(#[$doc:meta])* $([$intrinsic:expr])? fn $name:ident($call:ident $(, $arg:ident: $type:ty)*) $(-> $result:ty)? $body:block)*) => {
        $(
            $(#[$doc])*
            #[allow(non_camel_case_types)]
            struct $name;

            impl schedlab_bpf::KernelRoutine<crate::scx::core::Core> for $name {
                const NAME: &'static str = stringify!($name);
                const ARGUMENTS: u8 = 0 $(+ <$type as super::Argument>::WORDS)*;
                const INTRINSIC: Option<schedlab_bpf::Intrinsic> =
                    { const OF: &[schedlab_bpf::Intrinsic] = &[$($intrinsic)?]; if OF.is_empty() { None } else { Some(OF[0]) } };

                #[inline(always)]
                fn run(call: &mut schedlab_bpf::Call<'_, crate::scx::core::Core>, _words: [u64; 5]) -> Option<u64> {
                    #[allow(unused_mut, unused_variables, clippy::unit_arg)]
                    #[inline(always)]
                    fn body(mut $call: super::Call<'_, '_> $(, $arg: $type)*) -> Option<$crate::scx::kfuncs::result!($($result)?)> {
                        let result: $crate::scx::kfuncs::result!($($result)?) = $body;
                        Some(result)
                    }
                    let (core, check) = call.split();
                    const CALLERS: $crate::scx::kfuncs::allowed::Operations =
                        $crate::scx::kfuncs::allowed::of(stringify!($name));
                    if !CALLERS.has(core.running_op) {
                        return check.fail(CALLERS.complaint(stringify!($name), core.running_op));
                    }
                    let mut _call = super::Call { core, check };
                    let mut _at = 0;
                    $(
                        let $arg = <$type as super::Argument>::take(&mut _call, &_words[_at..])?;
                        _at += usize::from(<$type as super::Argument>::WORDS);
                    )*
                    body(_call $(, $arg)*).map(super::IntoWord::into_word)
                }
            }
        )*

        /// The functions of this file.
        pub const FUNCTIONS: &[schedlab_bpf::KernelFunction<crate::scx::core::Core>] =
            &[$(schedlab_bpf::KernelFunction::of::<$name>()),*];
    };
}
use kernel_functions;

/// The type of a result: nothing unless one is given.
macro_rules! result {
    () => {
        ()
    };
    ($type:ty) => {
        $type
    };
}
use result;

/// All kernel functions of the simulated kernel.
pub fn all() -> Vec<KernelFunction<Core>> {
    [dispatch::FUNCTIONS, idle::FUNCTIONS, cpumask::FUNCTIONS, cgroup::FUNCTIONS, info::FUNCTIONS, report::FUNCTIONS]
        .concat()
}
