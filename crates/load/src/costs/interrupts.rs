//! What interrupts take from a thread that does nothing but look at the clock: ticks, and those of timers.

use super::Effort;
use crate::calibration::quantile;
use crate::clock::{now_ns, timespec};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// From arming the timer to its end, and from there to the last look.
const APART_NS: u64 = 150_000;

/// The cost of a timer interrupt. No task waits for the timer, so none is woken.
pub fn of_timers(effort: &Effort) -> io::Result<Vec<f64>> {
    // SAFETY: the descriptor is ours alone.
    let timer = match unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) } {
        -1 => return Err(io::Error::last_os_error()),
        timer => unsafe { OwnedFd::from_raw_fd(timer) },
    };
    let mut values: Vec<f64> = (0..effort.wakes).map(|_| longest_gap(&timer)).collect();
    values.retain(|&ns| ns > 0.0);
    Ok(values)
}

/// How much longer the longest gap between two looks is than the usual one, while the timer ends.
fn longest_gap(timer: &OwnedFd) -> f64 {
    let until = now_ns() + APART_NS;
    // SAFETY: zeros are a timer that does not repeat.
    let mut setting: libc::itimerspec = unsafe { std::mem::zeroed() };
    setting.it_value = timespec(until);
    // SAFETY: the kernel only reads the setting.
    unsafe { libc::timerfd_settime(timer.as_raw_fd(), libc::TFD_TIMER_ABSTIME, &setting, std::ptr::null_mut()) };
    let (mut gaps, mut last) = (Vec::with_capacity(8192), now_ns());
    while last < until + APART_NS {
        let now = now_ns();
        gaps.push((now - last) as f64);
        last = now;
    }
    if gaps.is_empty() {
        // Others had the CPU all the while.
        return 0.0;
    }
    gaps.iter().copied().fold(0.0, f64::max) - quantile(&gaps, 0.5)
}

/// What ticks take, averaged over a few at a time, since one tick may do work that others leave to it. A tick shows as a gap in
/// the time of a thread that only reads the clock.
pub fn ticks(effort: &Effort) -> Vec<f64> {
    let looks: Vec<f64> = gaps(|number, _| number < LOOKS).map(|gap| gap as f64).collect();
    let shortest = effort.tick_gap_ns.start.max((3.0 * quantile(&looks, 0.5)) as u64);
    let tick = shortest..effort.tick_gap_ns.end;
    let ticks: Vec<f64> = gaps(|_, passed| passed < effort.tick_watch_ns)
        .filter(|gap| tick.contains(gap))
        .map(|gap| gap as f64)
        .collect();
    ticks.chunks_exact(TOGETHER).map(|some| some.iter().sum::<f64>() / TOGETHER as f64).collect()
}

/// How many ticks are averaged into one value.
const TOGETHER: usize = 8;
/// That many looks at the clock tell how long one takes.
const LOOKS: usize = 500;

/// The times between one look at the clock and the next, as long as their number and the time since the first allow.
fn gaps(go_on: impl Fn(usize, u64) -> bool) -> impl Iterator<Item = u64> {
    let begin = now_ns();
    let mut last = begin;
    (0..).map_while(move |number| {
        let before = std::mem::replace(&mut last, now_ns());
        go_on(number, last - begin).then_some(last - before)
    })
}
