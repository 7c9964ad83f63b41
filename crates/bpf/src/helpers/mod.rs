//! Helpers: the functions that programs call by number.

mod callbacks;
mod map_access;
mod memory_access;
mod names;
mod ring;
mod storage;
mod system;
mod text;
mod timer;

pub use timer::add as add_timer;

use crate::kernel::Routine;
use crate::kfuncs::{spin_lock, spin_unlock};
use crate::program::Intrinsic;

/// A helper that is simulated.
pub struct Helper {
    pub number: u32,
    pub routine: Routine,
    pub intrinsic: Option<Intrinsic>,
}

/// The name of a helper.
pub fn name(number: u32) -> String {
    match names::NAMES.get(number as usize) {
        Some(name) => format!("bpf_{name}"),
        None => format!("helper {number}"),
    }
}

/// The helper of a number, if it is simulated.
pub fn find(number: u32) -> Option<&'static Helper> {
    HELPERS.binary_search_by_key(&number, |helper| helper.number).ok().map(|index| &HELPERS[index])
}

const fn plain(number: u32, routine: Routine) -> Helper {
    Helper { number, routine, intrinsic: None }
}

const fn known(number: u32, routine: Routine, intrinsic: Intrinsic) -> Helper {
    Helper { number, routine, intrinsic: Some(intrinsic) }
}

/// All helpers, ascending in number.
static HELPERS: &[Helper] = &[
    known(1, map_access::lookup(), Intrinsic::MapLookup),
    plain(2, map_access::update()),
    plain(3, map_access::delete()),
    plain(4, memory_access::probe_read()),
    known(5, system::ktime_ns(), Intrinsic::NowNs),
    plain(6, text::trace_printk()),
    plain(7, system::random()),
    known(8, system::processor_id(), Intrinsic::ProcessorId),
    plain(12, system::tail_call()),
    plain(14, system::current_pid_tgid()),
    plain(15, system::zero()),
    plain(16, system::current_comm()),
    plain(25, system::zero()),
    plain(27, system::not_supported()),
    known(35, system::current_task(), Intrinsic::CurrentTask),
    plain(42, system::numa_node()),
    plain(45, memory_access::probe_read_text()),
    plain(51, system::not_supported()),
    plain(55, system::not_supported()),
    plain(67, system::not_supported()),
    plain(87, map_access::push()),
    plain(88, map_access::pop()),
    plain(89, map_access::peek()),
    plain(93, spin_lock()),
    plain(94, spin_unlock()),
    plain(112, memory_access::probe_read_user()),
    plain(113, memory_access::probe_read()),
    plain(114, memory_access::probe_read_user()),
    plain(115, memory_access::probe_read_text()),
    plain(118, system::jiffies()),
    known(125, system::ktime_ns(), Intrinsic::NowNs),
    plain(130, ring::output()),
    plain(131, ring::reserve()),
    plain(132, ring::submit()),
    plain(133, ring::discard()),
    plain(134, ring::query()),
    plain(148, memory_access::probe_read_user()),
    plain(153, memory_access::per_cpu_ptr()),
    plain(154, memory_access::this_cpu_ptr()),
    known(156, storage::task_get(), Intrinsic::TaskStorageGet),
    plain(157, storage::delete()),
    known(158, system::current_task(), Intrinsic::CurrentTask),
    known(160, system::ktime_ns(), Intrinsic::NowNs),
    plain(164, callbacks::for_each_element().calling_back()),
    plain(165, text::snprintf()),
    plain(169, timer::init()),
    plain(170, timer::set_callback()),
    plain(171, timer::start()),
    plain(172, timer::cancel()),
    plain(173, system::zero()),
    plain(174, system::zero()),
    plain(177, text::trace_vprintk()),
    plain(181, callbacks::repeat().calling_back()),
    plain(182, text::strncmp()),
    plain(194, memory_access::exchange_pointer()),
    known(195, map_access::lookup_per_cpu(), Intrinsic::MapLookupPerCpu),
    plain(197, memory_access::dynptr_from_memory()),
    plain(201, memory_access::dynptr_read()),
    plain(202, memory_access::dynptr_write()),
    plain(203, memory_access::dynptr_data()),
    known(208, system::ktime_ns(), Intrinsic::NowNs),
    plain(209, system::zero()),
    plain(210, storage::cgroup_get()),
    plain(211, storage::delete()),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_are_ascending_and_named() {
        assert!(HELPERS.is_sorted_by_key(|helper| helper.number));
        assert_eq!(name(1), "bpf_map_lookup_elem");
        assert_eq!(name(195), "bpf_map_lookup_percpu_elem");
        assert_eq!(name(211), "bpf_cgrp_storage_delete");
        assert_eq!(name(9999), "helper 9999");
        assert!(find(1).is_some() && find(9).is_none());
    }
}
