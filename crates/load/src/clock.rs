//! The clocks of the running kernel, in nanoseconds.

/// The monotonic clock, which the kernel's recorder uses too.
pub fn now_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// CPU time of the calling thread.
pub fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of all threads of this process, those that have ended included.
pub fn process_cpu_ns() -> u64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// The clock of a thread's CPU time, which other threads of its process can read while it lives.
#[derive(Clone, Copy, Debug)]
pub struct CpuClock(libc::clockid_t);

impl CpuClock {
    /// That of the calling thread.
    pub fn of_this_thread() -> CpuClock {
        let mut clock = 0;
        // SAFETY: the calling thread is there, and the function fills the number that it is given.
        let failed = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut clock) };
        assert_eq!(failed, 0, "a thread has a clock");
        CpuClock(clock)
    }

    /// CPU time of the thread so far.
    pub fn now_ns(self) -> u64 {
        read(self.0)
    }
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills the structure that it is given.
    let failed = unsafe { libc::clock_gettime(clock, &mut time) };
    assert_eq!(failed, 0, "clock {clock} cannot be read");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// An instant of the monotonic clock as the kernel takes it.
pub fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / 1_000_000_000) as libc::time_t, tv_nsec: (ns % 1_000_000_000) as libc::c_long }
}

/// Sleeps until an instant of the monotonic clock; false when a signal ended it.
pub fn sleep_until(ns: u64) -> bool {
    sleep_by(libc::CLOCK_MONOTONIC, ns)
}

/// Computes until an instant of the monotonic clock.
pub fn spin_until(ns: u64) {
    while now_ns() < ns {
        std::hint::spin_loop();
    }
}

/// Waits for a device until an instant of the monotonic clock; false when a signal ended it. It is a sleep by another
/// clock, by which policies tell the two apart (`wake.bpf.h`).
pub fn wait_for_device(ns: u64) -> bool {
    let now = now_ns();
    // That clock is not behind, and it counts on while the machine is suspended.
    let apart = read(libc::CLOCK_BOOTTIME) - now;
    sleep_by(libc::CLOCK_BOOTTIME, ns + apart)
}

fn sleep_by(clock: libc::clockid_t, ns: u64) -> bool {
    let until = timespec(ns);
    // SAFETY: the kernel only reads the structure.
    let failed = unsafe { libc::clock_nanosleep(clock, libc::TIMER_ABSTIME, &until, std::ptr::null_mut()) };
    failed == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_and_sleep_costs_none_of_ours() {
        let (before, cpu_before) = (now_ns(), thread_cpu_ns());
        assert!(sleep_until(before + 1_000_000) && wait_for_device(before + 2_000_000));
        assert!(now_ns() >= before + 2_000_000);
        assert!(thread_cpu_ns() - cpu_before < 2_000_000, "sleeping is not computing");
    }
}
