//! Time that a CPU spends for the system, as traces announce it.

/// Lengths are served one after another: one that is announced during an earlier one begins when that is over.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServedClock {
    until_ns: u64,
    /// All that was ever announced.
    announced_ns: u64,
}

impl ServedClock {
    /// Announces a length; gives when it begins.
    #[inline]
    pub fn announce(&mut self, now_ns: u64, length_ns: u64) -> u64 {
        let begin_ns = self.until_ns.max(now_ns);
        self.until_ns = begin_ns.saturating_add(length_ns);
        self.announced_ns = self.announced_ns.saturating_add(length_ns);
        begin_ns
    }

    /// The time served until now, which is not before anything that was announced. What is still to come is one piece from now
    /// on, because each length begins at once or right after another.
    #[inline]
    pub fn elapsed(&self, now_ns: u64) -> u64 {
        self.announced_ns.saturating_sub(self.until_ns.saturating_sub(now_ns))
    }

    /// When everything is served.
    #[inline]
    pub fn until(&self) -> u64 {
        self.until_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_served_in_order() {
        let mut clock = ServedClock::default();
        assert_eq!([clock.announce(100, 10), clock.announce(100, 5)], [100, 110]);
        assert_eq!([100, 104, 115, 200].map(|now| clock.elapsed(now)), [0, 4, 15, 15]);
        assert_eq!(clock.until(), 115);
    }
}
