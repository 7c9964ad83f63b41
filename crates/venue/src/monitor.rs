//! Watching runs from outside, and ending them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Shared between those who run and those who watch: how far the runs are, and whether they are to stop.
#[derive(Debug, Default)]
pub struct Monitor {
    stop: AtomicBool,
    done_ns: AtomicU64,
}

impl Monitor {
    /// Asks all runs to end as soon as they can. What they have is kept.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the runs have been asked to end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Simulated time that is done, summed over all runs, in nanoseconds.
    pub fn done_ns(&self) -> u64 {
        self.done_ns.load(Ordering::Relaxed)
    }

    /// Adds to that.
    pub fn add_done(&self, ns: u64) {
        self.done_ns.fetch_add(ns, Ordering::Relaxed);
    }
}
