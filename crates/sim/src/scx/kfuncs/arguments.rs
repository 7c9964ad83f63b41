//! What kernel functions take: types that only a check of the words makes.

use super::Call;
use crate::scx::mask::Mask;
use schedlab_bpf::{In, OnStack, Out, Pointer, Readable, Writable};
use schedlab_model::ids::ControlGroupId;

/// Something that a kernel function takes.
pub(super) trait Argument: Sized {
    /// How many words it takes.
    const WORDS: u8 = 1;

    /// Checks the words; `None`, with the fault raised, if they do not mean such a thing.
    fn take(call: &mut Call<'_, '_>, words: &[u64]) -> Option<Self>;
}

/// Arguments that the virtual machine checks.
macro_rules! of_the_machine {
    ($([$($generic:tt)*] $type:ty;)*) => {$(
        impl<$($generic)*> Argument for $type {
            const WORDS: u8 = <$type as schedlab_bpf::Argument>::WORDS;

            #[inline(always)]
            fn take(call: &mut Call<'_, '_>, words: &[u64]) -> Option<$type> {
                <$type as schedlab_bpf::Argument>::take(call.check, words)
            }
        }
    )*};
}

of_the_machine! {
    [] u64;
    [] u32;
    [] i32;
    [] i64;
    [] Pointer;
    [] Readable;
    [] Writable;
    [T] Out<T>;
    [const LEN: u64] In<LEN>;
    [const LEN: u64] OnStack<LEN>;
}

/// A task by its slot: one that lives, or one that has ended and to which the policy keeps a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Task(pub u32);

impl Argument for Task {
    #[inline(always)]
    fn take(call: &mut Call<'_, '_>, words: &[u64]) -> Option<Task> {
        match call.core.task_at(words[0]) {
            Some(slot) => Some(Task(slot)),
            None => refuse(call, words[0], "task"),
        }
    }
}

#[cold]
fn refuse<T>(call: &mut Call<'_, '_>, address: u64, what: &str) -> Option<T> {
    call.check.fail(format!("passes {address:#x} as a {what}, which it is not"))
}

/// A mask that exists, to be read.
pub(super) struct AnyMask(pub Mask);

impl Argument for AnyMask {
    #[inline]
    fn take(call: &mut Call<'_, '_>, words: &[u64]) -> Option<AnyMask> {
        let found = call.core.mask_at(words[0]).or_else(|| call.core.masks.in_memory(words[0]));
        let Some(mask) = found else { return refuse(call, words[0], "cpumask") };
        // Machines of up to 512 CPUs go through a mask for nothing.
        call.check.charge(u64::from(mask.words() / 8))?;
        Some(AnyMask(mask))
    }
}

/// A mask that the policy made, to be written.
pub(super) struct OwnMask(pub Mask);

impl Argument for OwnMask {
    #[inline]
    fn take(call: &mut Call<'_, '_>, words: &[u64]) -> Option<OwnMask> {
        match call.core.masks.get_own(words[0]).or_else(|| call.core.masks.in_memory(words[0])) {
            Some(mask) => Some(OwnMask(mask)),
            None if call.core.mask_at(words[0]).is_some() => {
                call.check.fail(format!("passes the cpumask at {:#x} to be written, which is the kernel's", words[0]))
            }
            None => refuse(call, words[0], "bpf_cpumask"),
        }
    }
}

/// A control group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cgroup(pub ControlGroupId);

impl Argument for Cgroup {
    fn take(call: &mut Call<'_, '_>, words: &[u64]) -> Option<Cgroup> {
        match call.core.cgroups.find(words[0]) {
            Some(id) => Some(Cgroup(id)),
            None => refuse(call, words[0], "cgroup"),
        }
    }
}
