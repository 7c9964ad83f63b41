//! Helpers on timers.

use crate::arguments::{Callback, Pointer, host_functions};
use crate::check::Check;
use crate::fields::FieldKind;
use crate::maps::errno;
use crate::program::MapId;
use crate::timers::Element;
use crate::vm::VmState;

/// A callback cancels its own timer.
const EDEADLK: i64 = -35;
/// Flags of a start: the time is absolute; stay on this CPU.
const ABSOLUTE: u64 = 1;
const PINNED: u64 = 2;

host_functions! {
    /// `bpf_timer_init(timer, map, clock)`.
    fn init(call, timer: Pointer, map: MapId) {
        add(call, timer, map, FieldKind::Timer, "timer")
    }

    /// `bpf_timer_set_callback(timer, callback)`.
    fn set_callback(call, timer: u64, callback: Callback) {
        Some(match call.vm().timers.known.get_mut(&timer) {
            Some(timer) => {
                timer.callback = callback.handle;
                0
            }
            None => errno::EINVAL as u64,
        })
    }

    /// `bpf_timer_start(timer, nanoseconds, flags)`.
    fn start(call, timer: u64, ns: u64, flags: u64) {
        let (now_ns, cpu) = (call.now_ns(), call.cpu());
        let timers = &mut call.vm().timers;
        let is_ready = timers.known.get(&timer).is_some_and(|found| found.callback != 0);
        if !is_ready || flags & !(ABSOLUTE | PINNED) != 0 {
            return Some(errno::EINVAL as u64);
        }
        let at_ns = if flags & ABSOLUTE != 0 { ns } else { now_ns.saturating_add(ns) };
        timers.start(timer, at_ns, now_ns, cpu, flags & PINNED != 0);
        Some(0)
    }

    /// `bpf_timer_cancel(timer)`: 1 if it would have expired.
    fn cancel(call, timer: u64) {
        let timers = &mut call.vm().timers;
        Some(match timers.known.get(&timer) {
            None => errno::EINVAL as u64,
            Some(found) if found.firing => EDEADLK as u64,
            Some(_) => u64::from(timers.cancel(timer)),
        })
    }
}

/// Begins to know the timer, or the work, in a value of a map.
pub fn add(call: &mut Check<'_>, timer: Pointer, map: MapId, kind: FieldKind, what: &'static str) -> Option<u64> {
    let is_there = call.field(timer.0, what)? == kind;
    let VmState { maps, timers, memory, .. } = call.vm();
    let found = maps[map.index()].element_around(timer.0).filter(|_| is_there);
    let Some((value, key)) = found else {
        let name = maps[map.index()].name.clone();
        return call.fail(format!("initialises a {what} that is in no value of `{name}`"));
    };
    match timers.add(memory, timer.0, Element { map, value, key }) {
        Ok(true) => Some(0),
        Ok(false) => Some(errno::EBUSY as u64),
        Err(error) => call.out_of_memory(&error),
    }
}
