//! Which operations may call which kernel function: what the verifier of Linux 7.2 looks at when it loads a policy
//! (`scx_kfunc_context_filter`, its sets of functions and `scx_kf_allow_flags` in `kernel/sched/ext.c`).
//!
//! A function that is in no set may be called from everywhere.

use crate::scx::ops::{Op, SLEEPABLE};

/// Where tasks are put into queues.
const ENQUEUE: &[Op] = &[Op::SelectCpu, Op::Enqueue, Op::Dispatch];
/// Where a CPU takes tasks.
const DISPATCH: &[Op] = &[Op::Dispatch];
/// No run queue is locked in a timer's callback either. The verifier goes by the operation that set it; that is not
/// known here.
const TIMER: &[Op] = &[Op::Timer];
/// Where a CPU is taken from the policy.
const CPU_RELEASE: &[Op] = &[Op::CpuRelease];
/// Where a CPU is chosen for a task.
const SELECT_CPU: &[Op] = &[Op::SelectCpu, Op::Enqueue];

/// Functions, the operations that may call them, and whether programs that user space runs may.
type Set = (&'static [&'static str], &'static [&'static [Op]], bool);

/// All sets. Functions that need no run queue to be locked are there for programs that user space runs, too
/// (`scx_kfunc_set_unlocked` is registered for `BPF_PROG_TYPE_SYSCALL`).
const SETS: &[Set] = &[
    (
        &["scx_bpf_dsq_insert", "scx_bpf_dsq_insert___v2", "scx_bpf_dsq_insert_vtime", "__scx_bpf_dsq_insert_vtime"],
        &[ENQUEUE],
        false,
    ),
    (&["scx_bpf_dispatch_nr_slots", "scx_bpf_dispatch_cancel", "scx_bpf_dsq_move_to_local"], &[DISPATCH], false),
    (
        &["scx_bpf_dsq_move_set_slice", "scx_bpf_dsq_move_set_vtime", "scx_bpf_dsq_move", "scx_bpf_dsq_move_vtime"],
        &[DISPATCH, SLEEPABLE, TIMER],
        true,
    ),
    (&["scx_bpf_reenqueue_local"], &[CPU_RELEASE], false),
    (&["scx_bpf_create_dsq"], &[SLEEPABLE], true),
    (
        &["scx_bpf_select_cpu_dfl", "scx_bpf_select_cpu_and", "__scx_bpf_select_cpu_and"],
        &[SELECT_CPU, SLEEPABLE, TIMER],
        false,
    ),
];

/// Operations, as bits by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operations(u32);

/// Those that may call a function.
pub(super) const fn of(function: &str) -> Operations {
    let mut set = 0;
    while set < SETS.len() {
        let (functions, operations, outside) = SETS[set];
        let mut at = 0;
        while at < functions.len() {
            if is_same(functions[at], function) {
                let bits = bits(operations);
                return Operations(if outside { bits | OUTSIDE } else { bits });
            }
            at += 1;
        }
        set += 1;
    }
    Operations(u32::MAX)
}

/// The bit of what runs outside of all operations.
const OUTSIDE: u32 = 1 << 31;

const fn bits(lists: &[&[Op]]) -> u32 {
    const { assert!(Op::ALL.len() <= 31) };
    let (mut bits, mut list) = (0, 0);
    while list < lists.len() {
        let mut at = 0;
        while at < lists[list].len() {
            bits |= 1 << lists[list][at] as u8;
            at += 1;
        }
        list += 1;
    }
    bits
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

impl Operations {
    /// Whether it is one of them; what runs outside of all operations may call what all of them may.
    #[inline(always)]
    pub fn has(self, operation: Option<Op>) -> bool {
        // Known when it is compiled, for most functions.
        self.0 == u32::MAX || self.0 >> operation.map_or(31, |op| op as u8) & 1 == 1
    }

    /// What a policy does that calls a function from somewhere else.
    #[cold]
    pub fn complaint(self, function: &str, operation: Option<Op>) -> String {
        let names = Op::ALL.iter().filter(|op| self.has(Some(**op))).map(|op| op.name());
        let from = operation.map_or("outside of all operations", Op::name);
        let allowed = names.collect::<Vec<_>>().join(", ");
        format!("calls {function} from {from}; a kernel lets these call it: {allowed}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_of_the_table_is_there() {
        let known: Vec<&str> = super::super::all().iter().map(|function| function.name()).collect();
        for name in SETS.iter().flat_map(|(functions, ..)| *functions) {
            assert!(known.contains(name), "{name}");
        }
    }

    #[test]
    fn operations_are_those_of_the_sets() {
        let moves = of("scx_bpf_dsq_move");
        assert!(moves.has(Some(Op::Dispatch)) && moves.has(Some(Op::Timer)) && !moves.has(Some(Op::Enqueue)));
        assert!(moves.has(None) && of("scx_bpf_create_dsq").has(None) && of("scx_bpf_kick_cpu").has(None));
        assert!(!of("scx_bpf_select_cpu_and").has(None) && !of("scx_bpf_dsq_insert").has(None));
        let text = of("scx_bpf_dsq_insert").complaint("scx_bpf_dsq_insert", Some(Op::Running));
        let end = "calls scx_bpf_dsq_insert from running; a kernel lets these call it: select_cpu, enqueue, dispatch";
        assert_eq!(text, end);
    }
}
