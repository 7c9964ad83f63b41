//! Kernel functions that every BPF program has, whatever subsystem it belongs to. Those of schedulers and cpumasks are
//! the simulator's.

mod arena;
mod iterators;
mod objects;
mod plain;
mod sections;
mod work;

pub use sections::{is_allowed_with_lock, spin_lock, spin_unlock, takes_lock};

use crate::kernel::{RawFunction, Routine};
use crate::program::{Intrinsic, Section};

/// The generic function of a name and number of arguments.
pub fn find(name: &str, arguments: usize) -> Option<&'static RawFunction> {
    FUNCTIONS.iter().find(|function| function.is(name, arguments))
}

/// All generic functions.
#[cfg(test)]
pub fn all() -> &'static [RawFunction] {
    FUNCTIONS
}

const fn plain(name: &'static str, arguments: u8, routine: Routine) -> RawFunction {
    assert!(routine.arguments <= arguments, "it looks at more than is passed");
    RawFunction { name, arguments, routine, intrinsic: None }
}

const fn known(name: &'static str, arguments: u8, routine: Routine, intrinsic: Intrinsic) -> RawFunction {
    RawFunction { intrinsic: Some(intrinsic), ..plain(name, arguments, routine) }
}

static FUNCTIONS: &[RawFunction] = &[
    known("bpf_iter_num_new", 3, iterators::num_new(), Intrinsic::IterNumNew),
    known("bpf_iter_num_next", 1, iterators::num_next(), Intrinsic::IterNumNext),
    known("bpf_iter_num_destroy", 1, plain::zero(), Intrinsic::Nothing),
    plain("bpf_iter_bits_new", 3, iterators::bits_new()),
    plain("bpf_iter_bits_next", 1, iterators::bits_next()),
    plain("bpf_iter_bits_destroy", 1, iterators::bits_destroy()),
    known("bpf_rcu_read_lock", 0, sections::rcu_lock(), Intrinsic::Enter(Section::Rcu)),
    known("bpf_rcu_read_unlock", 0, sections::rcu_unlock(), Intrinsic::Leave(Section::Rcu)),
    known("bpf_preempt_disable", 0, sections::preempt_disable(), Intrinsic::Enter(Section::Preemption)),
    known("bpf_preempt_enable", 0, sections::preempt_enable(), Intrinsic::Leave(Section::Preemption)),
    plain("bpf_local_irq_save", 1, sections::interrupts_save()),
    plain("bpf_local_irq_restore", 1, sections::interrupts_restore()),
    plain("bpf_res_spin_lock", 1, sections::resilient_lock()),
    plain("bpf_res_spin_unlock", 1, sections::resilient_unlock()),
    plain("bpf_res_spin_lock_irqsave", 2, sections::resilient_lock_save()),
    plain("bpf_res_spin_unlock_irqrestore", 2, sections::resilient_unlock_restore()),
    known("bpf_cast_to_kern_ctx", 1, plain::first(), Intrinsic::Identity),
    known("bpf_rdonly_cast", 2, plain::first(), Intrinsic::Identity),
    plain("bpf_throw", 1, plain::throw()),
    plain("__bpf_trap", 0, plain::trap()),
    plain("bpf_strlen", 1, plain::text_len()),
    plain("bpf_strcmp", 2, plain::text_compare()),
    plain("bpf_obj_new_impl", 2, objects::new()),
    plain("bpf_obj_drop_impl", 2, objects::drop()),
    plain("bpf_percpu_obj_new_impl", 2, objects::new_per_cpu()),
    plain("bpf_percpu_obj_drop_impl", 2, objects::drop()),
    plain("bpf_refcount_acquire_impl", 2, objects::acquire()),
    plain("bpf_list_push_front_impl", 4, objects::list_push_front()),
    plain("bpf_list_push_back_impl", 4, objects::list_push_back()),
    plain("bpf_list_pop_front", 1, objects::list_pop_front()),
    plain("bpf_list_pop_back", 1, objects::list_pop_back()),
    plain("bpf_list_front", 1, objects::list_front()),
    plain("bpf_list_back", 1, objects::list_back()),
    plain("bpf_rbtree_add_impl", 5, objects::tree_add().calling_back()),
    plain("bpf_rbtree_remove", 2, objects::tree_remove()),
    plain("bpf_rbtree_first", 1, objects::tree_first()),
    plain("bpf_rbtree_root", 1, objects::tree_root()),
    plain("bpf_rbtree_left", 2, objects::tree_left()),
    plain("bpf_rbtree_right", 2, objects::tree_right()),
    plain("bpf_arena_alloc_pages", 5, arena::alloc_pages()),
    plain("bpf_arena_free_pages", 3, arena::free_pages()),
    plain("bpf_wq_init", 3, work::init()),
    plain("bpf_wq_set_callback_impl", 4, work::set_callback()),
    plain("bpf_wq_start", 2, work::start()),
];

#[cfg(test)]
mod tests {
    #[test]
    fn found_by_name_and_arguments() {
        assert!(super::find("bpf_iter_num_new", 3).is_some());
        assert!(super::find("bpf_iter_num_new", 2).is_none());
        assert!(super::find("bpf_no_such_function", 0).is_none());
    }
}
