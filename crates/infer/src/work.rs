//! Work, not time: what the machine takes for itself is no part of what a task asks for.

/// What the machine takes of a task's time where no event tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Price {
    /// A switch, half of it before the task runs and half of it after.
    pub switch_ns: u64,
    /// Waking a task, paid by the task that wakes.
    pub wakeup_ns: u64,
}

/// How long a CPU has worked for the system. Lengths are served one after the other: one that is announced while an earlier
/// one lasts begins when that is over.
#[derive(Clone, Copy, Debug, Default)]
pub struct OverheadClock {
    until_ns: u64,
    announced_ns: u64,
}

impl OverheadClock {
    /// From now on it works for the system for this long.
    pub fn announce(&mut self, now_ns: u64, length_ns: u64) {
        self.until_ns = self.until_ns.max(now_ns).saturating_add(length_ns);
        self.announced_ns = self.announced_ns.saturating_add(length_ns);
    }

    /// How long it has until now.
    pub fn elapsed(&self, now_ns: u64) -> u64 {
        self.announced_ns - self.until_ns.saturating_sub(now_ns).min(self.announced_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overhead_goes_on_while_time_does() {
        let mut clock = OverheadClock::default();
        clock.announce(100, 10);
        clock.announce(100, 5);
        assert_eq!([100, 104, 115, 200].map(|now| clock.elapsed(now)), [0, 4, 15, 15]);
    }
}
