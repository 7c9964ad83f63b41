//! `bpf_wq`: work that is done soon, outside of the present call: a timer that expires at once.

use crate::call::host_functions;
use crate::maps::errno;
use crate::timers::Timer;

host_functions! {
    /// `bpf_wq_init(work, map, flags)`.
    fn init(call, work, map) {
        let Some((id, map)) = call.map(map) else { return 0 };
        let Some((value, key)) = map.element_around(work) else {
            return call.fail(format!("initialises work that is in no value of `{}`", map.name));
        };
        let known = &mut call.vm().timers.known;
        if known.contains_key(&work) {
            return errno::EBUSY as u64;
        }
        known.insert(work, Timer { map: id, value, key, callback: 0, active: false, firing: false });
        0
    }

    /// `bpf_wq_set_callback_impl(work, callback, flags, aux)`.
    fn set_callback(call, work, callback) {
        match call.vm().timers.known.get_mut(&work) {
            Some(work) => {
                work.callback = callback;
                0
            }
            None => errno::EINVAL as u64,
        }
    }

    /// `bpf_wq_start(work, flags)`.
    fn start(call, work) {
        let timers = &mut call.vm().timers;
        if timers.known.get(&work).is_none_or(|found| found.callback == 0) {
            return errno::EINVAL as u64;
        }
        timers.start(work, call.now_ns(), call.cpu(), false);
        0
    }
}
