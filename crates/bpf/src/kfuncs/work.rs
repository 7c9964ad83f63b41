//! `bpf_wq`: work that is done soon, outside of the present call: a timer that expires at once.

use crate::arguments::{Callback, Pointer, host_functions};
use crate::fields::FieldKind;
use crate::helpers::add_timer;
use crate::maps::errno;
use crate::program::MapId;

host_functions! {
    /// `bpf_wq_init(work, map, flags)`.
    fn init(call, work: Pointer, map: MapId) {
        add_timer(call, work, map, FieldKind::Work, "work")
    }

    /// `bpf_wq_set_callback_impl(work, callback, flags, aux)`.
    fn set_callback(call, work: u64, callback: Callback) {
        Some(match call.vm().timers.known.get_mut(&work) {
            Some(work) => {
                work.callback = callback.handle;
                0
            }
            None => errno::EINVAL as u64,
        })
    }

    /// `bpf_wq_start(work, flags)`.
    fn start(call, work: u64) {
        let (now_ns, cpu) = (call.now_ns(), call.cpu());
        let timers = &mut call.vm().timers;
        if timers.known.get(&work).is_none_or(|found| found.callback == 0) {
            return Some(errno::EINVAL as u64);
        }
        timers.start(work, now_ns, now_ns, cpu, false);
        Some(0)
    }
}
