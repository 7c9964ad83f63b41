//! Watching runs from outside, and ending them.

use crate::Control;
use schedlab_model::time::Time;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Shared between the runs and what watches them: how far the runs are, and whether they are to stop.
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

/// Tells a monitor how far a run is, and ends it when the monitor or `is_wanted` says so.
pub struct Watch<'a> {
    monitor: &'a Monitor,
    is_wanted: &'a dyn Fn() -> bool,
    done_ns: u64,
}

impl<'a> Watch<'a> {
    /// For a run that is about to begin.
    pub fn new(monitor: &'a Monitor, is_wanted: &'a dyn Fn() -> bool) -> Watch<'a> {
        Watch { monitor, is_wanted, done_ns: 0 }
    }

    /// So much of the run is done. It may end before its time, when no task is left: then all of it is.
    pub fn done(&mut self, now_ns: u64) {
        self.monitor.add_done(now_ns.saturating_sub(self.done_ns));
        self.done_ns = self.done_ns.max(now_ns);
    }
}

impl Control for Watch<'_> {
    fn go_on(&mut self, now: Time) -> bool {
        self.done(now.ns());
        !self.monitor.is_stopped() && (self.is_wanted)()
    }
}
