//! Throttling of the real-time class, as up to 6.11: `sched_rt_runtime_us` of each `sched_rt_period_us`
//! (`sched_rt_runtime_exceeded`, `do_sched_rt_period_timer` and `do_balance_runtime` of `kernel/sched/rt.c`).
//!
//! Periods of all CPUs begin at one instant, the first when a real-time task comes while none was there.

/// What the class of a CPU has of each period by default.
const RUNTIME_NS: u64 = 950_000_000;
/// The period.
pub const PERIOD_NS: u64 = 1_000_000_000;

/// What the real-time class of a CPU has used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttle {
    /// In this period, and what is left over from those before.
    used_ns: u64,
    /// What it may use.
    limit_ns: u64,
    /// Whether it rests.
    throttled: bool,
}

impl Throttle {
    /// Nothing is used.
    pub fn new() -> Throttle {
        Throttle { used_ns: 0, limit_ns: RUNTIME_NS, throttled: false }
    }

    /// Whether it rests.
    pub fn is_throttled(&self) -> bool {
        self.throttled
    }

    /// Whether it has used anything of the period.
    pub fn has_used(&self) -> bool {
        self.used_ns > 0
    }

    /// How long a real-time task can run, `u64::MAX` if for ever.
    pub fn left_ns(&self) -> u64 {
        if self.limit_ns >= PERIOD_NS { u64::MAX } else { self.limit_ns.saturating_sub(self.used_ns) }
    }

    /// A real-time task had the CPU. Whether all is used.
    pub fn spend(&mut self, length_ns: u64) -> bool {
        self.used_ns += length_ns;
        !self.throttled && self.left_ns() == 0
    }

    /// It rests for the remainder of the period.
    pub fn rest(&mut self) {
        self.throttled = true;
    }

    /// A period is over; `borrows`: what was borrowed in it is kept. Whether the class may run again.
    pub fn begin_period(&mut self, borrows: bool) -> bool {
        if !borrows {
            self.limit_ns = RUNTIME_NS;
        }
        self.used_ns = self.used_ns.saturating_sub(self.limit_ns);
        let was_throttled = self.throttled;
        self.throttled &= self.used_ns >= self.limit_ns;
        was_throttled && !self.throttled
    }

    /// Takes of what another CPU of `cpus` has not used: a part for each CPU, up to a whole period.
    pub fn borrow_from(&mut self, other: &mut Throttle, cpus: u64) {
        let spare_ns = other.limit_ns.saturating_sub(other.used_ns) / cpus;
        let taken_ns = spare_ns.min(PERIOD_NS - self.limit_ns);
        other.limit_ns -= taken_ns;
        self.limit_ns += taken_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn all_but_50_ms_of_a_period_can_be_used() {
        let mut throttle = Throttle::new();
        assert!(!throttle.spend(949 * MS) && throttle.spend(3 * MS));
        throttle.rest();
        assert!(throttle.is_throttled() && throttle.begin_period(false));
        // What was too much counts in the next one.
        assert_eq!(throttle.left_ns(), 948 * MS);
        assert!(!throttle.begin_period(false) && !throttle.has_used());
    }

    #[test]
    fn a_cpu_may_borrow_up_to_a_whole_period() {
        let (mut busy, mut idle) = (Throttle::new(), Throttle::new());
        busy.spend(950 * MS);
        busy.borrow_from(&mut idle, 2);
        assert_eq!((busy.left_ns(), idle.limit_ns), (u64::MAX, 900 * MS));
        let (mut one, mut two) = (Throttle::new(), Throttle::new());
        one.spend(950 * MS);
        two.spend(930 * MS);
        one.borrow_from(&mut two, 2);
        assert_eq!((one.left_ns(), two.left_ns()), (10 * MS, 10 * MS));
    }
}
