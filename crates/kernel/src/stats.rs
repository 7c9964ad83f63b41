//! What a recording came to.

use serde::{Deserialize, Serialize};

/// The kinds that programs write, by their number there.
pub(crate) const KINDS: [&str; 12] = [
    "switch",
    "wakeup",
    "migrate",
    "fork",
    "exec",
    "exit",
    "rename",
    "running",
    "softirq entry",
    "softirq exit",
    "tick",
    "status",
];

/// Counts of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// When everything of interest was followed, in nanoseconds of `CLOCK_MONOTONIC`.
    pub started_ns: u64,
    /// When the recording ended; nothing later was handed on.
    pub ended_ns: u64,
    /// Records handed on.
    pub delivered: u64,
    /// Records that found the ring full.
    pub lost: Losses,
    /// Records dropped because a later one had been handed on: zero, unless the CPUs' clocks differ.
    pub late: u64,
}

impl Stats {
    /// Whether events are missing.
    pub fn is_partial(&self) -> bool {
        self.lost.total() + self.late > 0
    }
}

/// Lost records by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Losses(pub(crate) [u64; KINDS.len()]);

impl Losses {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The kinds of which some were lost, and how many.
    pub fn by_kind(&self) -> impl Iterator<Item = (&'static str, u64)> {
        KINDS.into_iter().zip(self.0).filter(|&(_, count)| count > 0)
    }
}

/// What one of the recorder's programs has cost since [`crate::Recorder::measure_costs`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The program.
    pub program: String,
    /// Its number in the kernel.
    pub id: u32,
    /// How often it ran.
    pub runs: u64,
    /// For how long in all, in nanoseconds.
    pub time_ns: u64,
    /// How often the kernel did not run it, because it was running on that CPU already.
    pub misses: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_told_by_kind() {
        let mut counts = [0; KINDS.len()];
        (counts[0], counts[3]) = (7, 2);
        let stats = Stats { lost: Losses(counts), ..Stats::default() };
        assert_eq!(stats.lost.by_kind().collect::<Vec<_>>(), [("switch", 7), ("fork", 2)]);
        assert_eq!(stats.lost.total(), 9);
        assert!(stats.is_partial() && !Stats::default().is_partial());
    }
}
