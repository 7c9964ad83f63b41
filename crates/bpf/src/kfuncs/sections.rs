//! Stretches of a program that it has to leave before it ends: RCU read sections, preemption or interrupts switched off,
//! locks. On one thread of simulated time nothing has to be kept out and locks are always free; but a kernel looks at
//! what is done there, and so is it here.

use crate::arguments::{OnStack, host_functions};
use crate::check::Check;
use crate::fields::FieldKind;
use crate::references::{Held, Lock};
use crate::sections::Section;

/// Bytes of what `bpf_local_irq_save` keeps.
const INTERRUPTS_SIZE: u64 = 8;
/// The lock is this CPU's already.
const EDEADLK: i32 = -35;

/// Functions that may be called while a lock is held (`kfunc_spin_allowed` in `kernel/bpf/verifier.c`).
const WITH_LOCK: &[&str] = &[
    "bpf_spin_lock",
    "bpf_spin_unlock",
    "bpf_res_spin_lock",
    "bpf_res_spin_unlock",
    "bpf_res_spin_lock_irqsave",
    "bpf_res_spin_unlock_irqrestore",
    "bpf_iter_num_new",
    "bpf_iter_num_next",
    "bpf_iter_num_destroy",
    "bpf_refcount_acquire_impl",
];
/// Functions with these prefixes may, too: they work on what the lock protects.
const ON_LOCKED: &[&str] = &["bpf_list_", "bpf_rbtree_", "bpf_arena_"];

/// Whether a function takes a lock.
pub fn takes_lock(function: &str) -> bool {
    matches!(function, "bpf_spin_lock" | "bpf_res_spin_lock" | "bpf_res_spin_lock_irqsave")
}

/// Whether a kernel lets a function be called while a lock is held.
pub fn is_allowed_with_lock(function: &str) -> bool {
    WITH_LOCK.contains(&function) || ON_LOCKED.iter().any(|begin| function.starts_with(begin))
}

host_functions! {
    /// `bpf_rcu_read_lock()`.
    fn rcu_lock(call) {
        call.enter_section(Section::Rcu)
    }

    /// `bpf_rcu_read_unlock()`.
    fn rcu_unlock(call) {
        call.leave_section(Section::Rcu)
    }

    /// `bpf_preempt_disable()`.
    fn preempt_disable(call) {
        call.enter_section(Section::Preemption)
    }

    /// `bpf_preempt_enable()`.
    fn preempt_enable(call) {
        call.leave_section(Section::Preemption)
    }

    /// `bpf_local_irq_save(flags)`.
    fn interrupts_save(call, flags: OnStack<INTERRUPTS_SIZE>) {
        call.hold(flags.address(), Held::Interrupts)?;
        Some(0)
    }

    /// `bpf_local_irq_restore(flags)`.
    fn interrupts_restore(call, flags: OnStack<INTERRUPTS_SIZE>) {
        give_back_last(call, flags.address(), Held::Interrupts)
    }

    /// `bpf_spin_lock(lock)`.
    fn spin_lock(call, lock: u64) {
        check_lock(call, lock, Lock::Spin)?;
        if call.locks() > 0 {
            return call.fail("calls bpf_spin_lock() while it holds a lock; a kernel lets it hold one at a time");
        }
        call.hold(lock, Held::Lock(Lock::Spin))?;
        Some(0)
    }

    /// `bpf_spin_unlock(lock)`.
    fn spin_unlock(call, lock: u64) {
        give_back_last(call, lock, Held::Lock(Lock::Spin))
    }

    /// `bpf_res_spin_lock(lock)`: fails where it would wait for itself.
    fn resilient_lock(call, lock: u64) {
        take_resilient(call, lock)
    }

    /// `bpf_res_spin_unlock(lock)`.
    fn resilient_unlock(call, lock: u64) {
        give_back_last(call, lock, Held::Lock(Lock::Resilient))
    }

    /// `bpf_res_spin_lock_irqsave(lock, flags)`.
    fn resilient_lock_save(call, lock: u64, flags: OnStack<INTERRUPTS_SIZE>) {
        let result = take_resilient(call, lock)?;
        if result == 0 {
            call.hold(flags.address(), Held::Interrupts)?;
        }
        Some(result)
    }

    /// `bpf_res_spin_unlock_irqrestore(lock, flags)`.
    fn resilient_unlock_restore(call, lock: u64, flags: OnStack<INTERRUPTS_SIZE>) {
        give_back_last(call, flags.address(), Held::Interrupts)?;
        give_back_last(call, lock, Held::Lock(Lock::Resilient))
    }
}

/// A lock is where the object's types say that one is.
fn check_lock(call: &mut Check<'_>, address: u64, lock: Lock) -> Option<()> {
    match call.field(address, lock.type_name())? {
        FieldKind::Lock(found) if found == lock => Some(()),
        _ => call.fail(format!("passes {address:#x} as a {}, which it is not", lock.type_name())),
    }
}

fn take_resilient(call: &mut Check<'_>, address: u64) -> Option<u64> {
    check_lock(call, address, Lock::Resilient)?;
    let held = Held::Lock(Lock::Resilient);
    if call.vm().references.find(address, |found| *found == held).is_some() {
        return Some(EDEADLK as u64);
    }
    call.hold(address, held)?;
    Some(0)
}

/// Gives back what was got last of its kind, as a kernel wants it.
fn give_back_last(call: &mut Check<'_>, address: u64, held: Held) -> Option<u64> {
    let last = call.vm().references.last(|found| found.is_nested_with(&held));
    if last == Some((address, &held)) {
        call.give_up(address, held.name(), |found| *found == held)?;
        return Some(0);
    }
    let [enter, leave] = held.calls().unwrap_or(["its beginning", "the end"]);
    let why = if last.is_some() { "; what was taken last is given back first" } else { "" };
    call.fail(format!("calls {leave} at {address:#x} without a {enter} there before it{why}"))
}
