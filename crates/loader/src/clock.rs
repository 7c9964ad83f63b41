//! Time as a supervised program sees it.

/// When a program starts, since its machine did.
pub const START_NS: u64 = 1_000_000_000;
/// The wall clock when the machine started: 2026-01-01 00:00:00 UTC.
const EPOCH_S: u64 = 1_767_225_600;
/// What a system call takes.
pub const CALL_NS: u64 = 200;
/// What is added for one into BPF.
pub const BPF_NS: u64 = 20_000;
/// What passes where the only thread that could run gives up its CPU: else it would do so for ever.
pub const YIELD_NS: u64 = 1_000;

const NS_PER_S: u64 = 1_000_000_000;

/// The clock of a machine.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Since the machine started.
    pub now_ns: u64,
}

impl Clock {
    /// Lets time pass.
    pub fn pass(&mut self, ns: u64) {
        self.now_ns = self.now_ns.saturating_add(ns);
    }

    /// What a clock of this number shows; none where there is no such clock.
    pub fn read(&self, clock: i32) -> Option<u64> {
        match clock {
            libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => Some(self.wall_ns()),
            0..=9 => Some(self.now_ns),
            // Those of processes and threads: negative numbers.
            clock if clock < 0 => Some(self.now_ns),
            _ => None,
        }
    }

    /// The wall clock.
    pub fn wall_ns(&self) -> u64 {
        (EPOCH_S * NS_PER_S).saturating_add(self.now_ns)
    }

    /// When a clock that shows wall time or not will show this.
    pub fn when(&self, shown_ns: u64, wall: bool) -> u64 {
        if wall { shown_ns.saturating_sub(EPOCH_S * NS_PER_S) } else { shown_ns }
    }
}

/// A `timespec` as nanoseconds; none where it is not one.
pub fn from_timespec([seconds, ns]: [u64; 2]) -> Option<u64> {
    (ns < NS_PER_S && (seconds as i64) >= 0).then(|| seconds.saturating_mul(NS_PER_S).saturating_add(ns))
}

/// Nanoseconds as a `timespec`, or with another unit below the second.
pub fn parts(ns: u64, unit_ns: u64) -> Vec<u8> {
    [ns / NS_PER_S, ns % NS_PER_S / unit_ns].iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_time_and_time_since_the_start_go_together() {
        let clock = Clock { now_ns: START_NS + 5 };
        assert_eq!(clock.read(libc::CLOCK_MONOTONIC), Some(START_NS + 5));
        assert_eq!(clock.when(clock.read(libc::CLOCK_REALTIME).unwrap(), true), START_NS + 5);
        assert_eq!(clock.read(77), None);
        assert_eq!((from_timespec([1, 5]), from_timespec([1, NS_PER_S])), (Some(NS_PER_S + 5), None));
        assert_eq!(parts(NS_PER_S + 2_000, 1_000)[8], 2);
    }
}
