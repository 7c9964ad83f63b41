//! How long a run is and how much fits into it. The bounds are those of round robin with slices of 100 ms, the longest
//! rounds of any policy that shares: what ends often enough there does so everywhere, unless a policy starves it.

use schedlab_model::time::Time;

/// Nothing before this is measured: a thread has a past when its run begins, a simulated task has none.
pub(super) const WARMUP: Time = Time::from_s(1);
/// How long each scenario runs.
pub(super) const DURATION: Time = Time::from_s(6);
/// The longest turn of a task that does not sleep.
const TURN: Time = Time::from_ms(100);
/// The time in which one task ends a request often enough, when it measures 200 of them.
pub(super) const PACE: Time = Time((DURATION.0 - WARMUP.0) / 200);

/// What the birth and the end of a thread take of a CPU, and those of a process, on a slow kernel: an emulated one of 8 ns for
/// an instruction. What is drawn leaves room for it.
pub(super) const THREAD: Time = Time::from_ms(1);
pub(super) const PROCESS: Time = Time::from_ms(8);

/// A time, in `parts` of `of`.
pub(super) fn scaled(time: Time, parts: u64, of: u64) -> Time {
    Time(time.0 * parts / of)
}

/// Rounded down to three digits, and at least a microsecond.
pub(super) fn neat(time: Time) -> Time {
    let us = time.0 / 1000;
    let unit = 10_u64.pow(us.max(1).ilog10().saturating_sub(2));
    Time::from_us((us / unit * unit).max(1))
}

/// How long a request may be on average when `tasks` of `rivals` equal tasks, none of which ever sleeps, are to end enough of
/// them on that number of CPUs.
pub(super) fn longest(cpus: u32, tasks: u32, rivals: u32) -> Time {
    scaled(PACE, u64::from(tasks * cpus.min(rivals)), u64::from(rivals))
}

/// How many tasks end enough requests when each needs so long for one.
pub(super) fn needed(pass: Time) -> u32 {
    pass.0.div_ceil(PACE.0).max(1) as u32
}

/// Tasks that compute with short pauses, next to those that wake up.
#[derive(Clone, Copy)]
pub(super) struct Hogs {
    /// How many.
    pub count: u32,
    /// How long one computes until it sleeps.
    pub burst: Time,
}

impl Hogs {
    /// No hogs.
    pub const NONE: Hogs = Hogs { count: 0, burst: Time::ZERO };

    /// How long a task that wakes up waits at worst until each of them has had its turn.
    pub fn round(&self, cpus: u32) -> Time {
        scaled(self.burst.min(TURN), u64::from(self.count.div_ceil(cpus)), 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neat_times_have_three_digits() {
        for (us, neat_us) in [(0, 1), (7, 7), (999, 999), (1234, 1230), (98_765, 98_700), (10_000, 10_000)] {
            assert_eq!(neat(Time::from_us(us)), Time::from_us(neat_us));
        }
    }

    #[test]
    fn equals_share_what_there_is() {
        assert_eq!(longest(1, 1, 4), Time::from_us(6250));
        assert_eq!(longest(2, 2, 4), Time::from_ms(25));
        assert_eq!(longest(8, 2, 4), Time::from_ms(50), "a task has one CPU at most");
        assert_eq!((needed(Time::from_ms(25)), needed(Time::from_ms(26)), needed(Time::ZERO)), (1, 2, 1));
    }

    #[test]
    fn a_round_is_a_turn_of_each_hog_on_a_cpu() {
        let endless = Hogs { count: 3, burst: Time::NEVER };
        assert_eq!((endless.round(1), endless.round(2)), (Time::from_ms(300), Time::from_ms(200)));
        assert_eq!(
            (Hogs { count: 2, burst: Time::from_ms(5) }.round(1), Hogs::NONE.round(1)),
            (Time::from_ms(10), Time::ZERO)
        );
    }
}
