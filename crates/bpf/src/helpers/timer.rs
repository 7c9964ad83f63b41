//! Helpers on timers.

use crate::call::host_functions;
use crate::maps::errno;
use crate::timers::Timer;

/// A callback cancels its own timer.
const EDEADLK: i64 = -35;
/// Flags of a start: the time is absolute; stay on this CPU.
const ABSOLUTE: u64 = 1;
const PINNED: u64 = 2;
/// Bytes of a `bpf_timer`.
const TIMER_SIZE: u64 = 16;

host_functions! {
    /// `bpf_timer_init(timer, map, clock)`.
    fn init(call, timer, map, flags) {
        let Some((id, map)) = call.map(map) else { return 0 };
        if !call.check(timer, TIMER_SIZE, true) {
            return 0;
        }
        let Some((value, key)) = map.element_around(timer) else {
            return call.fail(format!("initialises a timer that is in no value of `{}`", map.name));
        };
        let known = &mut call.vm().timers.known;
        if known.contains_key(&timer) {
            return errno::EBUSY as u64;
        }
        known.insert(timer, Timer { map: id, value, key, callback: 0, active: false, firing: false });
        0
    }

    /// `bpf_timer_set_callback(timer, callback)`.
    fn set_callback(call, timer, callback) {
        match call.vm().timers.known.get_mut(&timer) {
            Some(timer) => {
                timer.callback = callback;
                0
            }
            None => errno::EINVAL as u64,
        }
    }

    /// `bpf_timer_start(timer, nanoseconds, flags)`.
    fn start(call, timer, ns, flags) {
        let timers = &mut call.vm().timers;
        let is_ready = timers.known.get(&timer).is_some_and(|found| found.callback != 0);
        if !is_ready || flags & !(ABSOLUTE | PINNED) != 0 {
            return errno::EINVAL as u64;
        }
        let at_ns = if flags & ABSOLUTE != 0 { ns } else { call.now_ns().saturating_add(ns) };
        timers.start(timer, at_ns, call.cpu(), flags & PINNED != 0);
        0
    }

    /// `bpf_timer_cancel(timer)`: 1 if it would have expired.
    fn cancel(call, timer) {
        let timers = &mut call.vm().timers;
        match timers.known.get(&timer) {
            None => errno::EINVAL as u64,
            Some(found) if found.firing => EDEADLK as u64,
            Some(_) => u64::from(timers.cancel(timer)),
        }
    }
}
