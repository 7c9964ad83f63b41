//! The kernel functions that a policy can call, by their upstream names. Each does what its namesake in
//! `kernel/sched/ext` or `kernel/bpf/cpumask.c` does, on the simulated core.

mod cpumask;
mod dispatch;
mod idle;
mod info;
mod report;

use super::core::Core;
use schedlab_bpf::{CallContext, KernelFunction};

/// "No such thing", "busy", "invalid", as policies see them.
const ENOENT: i32 = -2;
const EBUSY: i32 = -16;
const EINVAL: i32 = -22;
const EEXIST: i32 = -17;

/// A kernel function at work.
struct Call<'a> {
    core: &'a mut Core,
    context: &'a mut CallContext,
}

impl Call<'_> {
    /// The slot of a task that the policy passes. A pointer that is no task ends the policy.
    fn task(&mut self, address: u64) -> Option<u32> {
        let slot = self.core.slot_of(address);
        if slot.is_none() {
            self.context.fail(format!("passes {address:#x} as a task, which it is not"));
        }
        slot
    }

    /// A CPU number that exists. Another one ends the policy.
    fn cpu(&mut self, cpu: i32) -> Option<u32> {
        if cpu >= 0 && (cpu as usize) < self.core.cpus.len() {
            return Some(cpu as u32);
        }
        self.core.error(format!("there is no cpu {cpu}"));
        None
    }
}

/// How words become arguments and results become words.
trait Word {
    fn from_word(word: u64) -> Self;
    fn into_word(self) -> u64;
}

macro_rules! words {
    ($($type:ty: $from:expr, $into:expr;)*) => {$(
        impl Word for $type {
            #[inline(always)]
            fn from_word(word: u64) -> $type {
                ($from)(word)
            }
            #[inline(always)]
            fn into_word(self) -> u64 {
                ($into)(self)
            }
        }
    )*};
}

words! {
    u64: |w| w, |v| v;
    u32: |w| w as u32, |v| v as u64;
    i32: |w| w as i32, |v: i32| v as u32 as u64;
    i64: |w| w as i64, |v| v as u64;
    bool: |w| w as u8 != 0, |v| v as u64;
    (): |_| (), |()| 0;
}

/// Defines kernel functions and a list of them. Each is written as a function of a [`Call`]; what machine code may do in
/// its place stands before it in brackets.
macro_rules! kernel_functions {
    ($($(#[$doc:meta])* $([$intrinsic:expr])? fn $name:ident($call:ident $(, $arg:ident: $type:ty)*) $(-> $result:ty)? $body:block)*) => {
        $(
            $(#[$doc])*
            #[allow(non_snake_case)]
            unsafe extern "C" fn $name(ctx: *mut schedlab_bpf::CallContext, a1: u64, a2: u64, a3: u64, a4: u64, a5: u64) -> u64 {
                // SAFETY: the simulator calls programs with its core as the host, and touches neither before the
                // program returns.
                let (context, core) = unsafe { (&mut *ctx, &mut *(*ctx).host.cast::<crate::scx::core::Core>()) };
                #[allow(unused_mut, unused_variables)]
                fn body(mut $call: super::Call<'_> $(, $arg: $type)*) $(-> $result)? $body
                let mut _words = [a1, a2, a3, a4, a5].into_iter();
                super::Word::into_word(body(
                    super::Call { core, context }
                    $(, <$type as super::Word>::from_word(_words.next().expect("at most five")))*
                ))
            }
        )*

        /// The functions of this file.
        pub const FUNCTIONS: &[schedlab_bpf::KernelFunction] = &[$(
            schedlab_bpf::KernelFunction {
                name: stringify!($name),
                arguments: { const NAMES: &[&str] = &[$(stringify!($arg)),*]; NAMES.len() as u8 },
                call: $name,
                calls_back: false,
                intrinsic: { const OF: &[schedlab_bpf::Intrinsic] = &[$($intrinsic)?]; OF.first().copied() },
            }
        ),*];
    };
}
use kernel_functions;

pub use info::ROOT_CGROUP_ID;

/// All kernel functions of the simulated kernel.
pub fn all() -> Vec<KernelFunction> {
    [dispatch::FUNCTIONS, idle::FUNCTIONS, cpumask::FUNCTIONS, info::FUNCTIONS, report::FUNCTIONS].concat()
}
