//! What the collector knows about each CPU: its task, its idle time, its run-queue length, its overhead.

use crate::served::ServedClock;
use schedlab_model::{
    result::OverheadTimes,
    trace::{Overhead, Untraced},
};
use std::collections::VecDeque;

/// Time that a CPU spends for the system, in all and by kind.
#[derive(Clone, Debug, Default)]
pub(super) struct OverheadClock {
    all: ServedClock,
    times: OverheadTimes,
    /// What may not be over yet: kind, begin, end.
    pending: VecDeque<(Overhead, u64, u64)>,
}

fn time_of(times: &mut OverheadTimes, kind: Overhead) -> &mut u64 {
    match kind {
        Overhead::Switch => &mut times.switch,
        Overhead::Wakeup => &mut times.wakeup,
        Overhead::Migration => &mut times.migration,
        Overhead::Tick => &mut times.tick,
        Overhead::Policy => &mut times.policy,
    }
}

impl OverheadClock {
    pub fn announce(&mut self, now: u64, kind: Overhead, length: u64) {
        while self.pending.front().is_some_and(|&(_, _, end)| end <= now) {
            self.pending.pop_front();
        }
        let begin = self.all.announce(now, length);
        *time_of(&mut self.times, kind) += length;
        match self.pending.back_mut() {
            Some((last, _, end)) if *last == kind && *end == begin => *end = self.all.until(),
            _ => self.pending.push_back((kind, begin, self.all.until())),
        }
    }

    /// Overhead from the start of the run until `now`.
    #[inline]
    pub fn elapsed(&self, now: u64) -> u64 {
        self.all.elapsed(now)
    }

    /// When the CPU is through with it.
    pub fn until(&self) -> u64 {
        self.all.until()
    }

    /// By kind what lies after `now`.
    fn remaining(&self, now: u64) -> OverheadTimes {
        let mut rest = OverheadTimes::default();
        for &(kind, begin, end) in &self.pending {
            *time_of(&mut rest, kind) += end.saturating_sub(begin.max(now));
        }
        rest
    }

    /// By kind, from the last [`OverheadClock::clear`] until `now`.
    pub fn times(&self, now: u64) -> OverheadTimes {
        let rest = self.remaining(now);
        OverheadTimes {
            switch: self.times.switch - rest.switch,
            wakeup: self.times.wakeup - rest.wakeup,
            migration: self.times.migration - rest.migration,
            tick: self.times.tick - rest.tick,
            policy: self.times.policy - rest.policy,
        }
    }

    /// Starts the count by kind again.
    pub fn clear(&mut self, now: u64) {
        self.times = self.remaining(now);
    }
}

/// All kinds together.
pub(super) fn total(times: &OverheadTimes) -> u64 {
    times.switch + times.wakeup + times.migration + times.tick + times.policy
}

/// One CPU. Times in ns.
#[derive(Clone, Debug, Default)]
pub(super) struct Cpu {
    /// Whether a task is on it.
    pub occupied: bool,
    /// Whether the idle watch counts it as idle.
    pub watched_idle: bool,
    /// While not occupied: since when, and what the overhead clock showed then.
    idle_since: u64,
    idle_mark: u64,
    /// What it does meanwhile.
    untraced: Untraced,
    pub idle_ns: u64,
    /// Not occupied, and not idle: it ran what was not recorded.
    pub others_ns: u64,
    /// Not occupied, and it is not known what it did.
    pub unknown_ns: u64,
    pub overhead: OverheadClock,
    /// Runnable tasks here, running and queued.
    load: u32,
    load_since: u64,
    /// How long there were this many.
    pub time_at_load: Vec<u64>,
}

impl Cpu {
    /// Idle from the start of the run.
    pub fn new() -> Cpu {
        Cpu { watched_idle: true, ..Cpu::default() }
    }

    pub fn begin_idle(&mut self, now: u64) {
        self.occupied = false;
        self.untraced = Untraced::Idle;
        self.idle_since = now;
        self.idle_mark = self.overhead.elapsed(now);
    }

    pub fn end_idle(&mut self, now: u64) {
        self.settle_idle(now);
        self.occupied = true;
    }

    /// From now on an unoccupied CPU does this.
    pub fn turn_to(&mut self, what: Untraced, now: u64) {
        self.settle_idle(now);
        self.untraced = what;
    }

    fn settle_idle(&mut self, now: u64) {
        let mark = self.overhead.elapsed(now);
        let time = match self.untraced {
            Untraced::Idle => &mut self.idle_ns,
            Untraced::Others => &mut self.others_ns,
            Untraced::Unknown => &mut self.unknown_ns,
        };
        *time += (now - self.idle_since) - (mark - self.idle_mark);
        (self.idle_since, self.idle_mark) = (now, mark);
    }

    #[inline]
    fn settle_load(&mut self, now: u64) {
        let length = now - self.load_since;
        if length == 0 {
            return;
        }
        self.load_since = now;
        match self.time_at_load.get_mut(self.load as usize) {
            Some(time) => *time += length,
            None => self.first_time_at_load(length),
        }
    }

    #[cold]
    fn first_time_at_load(&mut self, length: u64) {
        self.time_at_load.resize(self.load as usize + 1, 0);
        self.time_at_load[self.load as usize] = length;
    }

    /// One task more; gives the length before.
    #[inline]
    pub fn joins(&mut self, now: u64) -> u32 {
        self.settle_load(now);
        self.load += 1;
        self.load - 1
    }

    /// One task fewer; gives the length before.
    #[inline]
    pub fn leaves(&mut self, now: u64) -> u32 {
        self.settle_load(now);
        self.load -= 1;
        self.load + 1
    }

    /// Brings all sums to `now`.
    pub fn settle(&mut self, now: u64) {
        self.settle_load(now);
        if !self.occupied {
            self.settle_idle(now);
        }
    }

    /// Starts all sums again; they must be settled.
    pub fn clear(&mut self, now: u64) {
        (self.idle_ns, self.others_ns, self.unknown_ns) = (0, 0, 0);
        self.time_at_load.clear();
        self.overhead.clear(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overhead_is_served_in_order_and_clipped_by_kind() {
        let mut clock = OverheadClock::default();
        clock.announce(100, Overhead::Switch, 10);
        clock.announce(100, Overhead::Policy, 5);
        assert_eq!([90, 100, 104, 110, 115, 200].map(|t| clock.elapsed(t.max(100))), [0, 0, 4, 10, 15, 15]);
        assert_eq!(clock.times(112), OverheadTimes { switch: 10, policy: 2, ..Default::default() });
        clock.clear(105);
        assert_eq!(clock.times(112), OverheadTimes { switch: 5, policy: 2, ..Default::default() });
        clock.announce(200, Overhead::Policy, 1);
        assert_eq!((clock.elapsed(200), clock.elapsed(201), clock.until()), (15, 16, 201));
    }

    #[test]
    fn idle_time_excludes_overhead() {
        let mut cpu = Cpu::default();
        cpu.overhead.announce(10, Overhead::Wakeup, 4);
        cpu.end_idle(12);
        assert_eq!(cpu.idle_ns, 10);
        cpu.begin_idle(13);
        cpu.settle(20);
        assert_eq!(cpu.idle_ns, 16);
    }

    #[test]
    fn time_without_a_task_is_idle_or_of_others_or_unknown() {
        let mut cpu = Cpu::new();
        cpu.turn_to(Untraced::Others, 3);
        cpu.turn_to(Untraced::Unknown, 5);
        cpu.end_idle(9);
        // What follows a task is idle again.
        cpu.begin_idle(20);
        cpu.settle(30);
        assert_eq!((cpu.idle_ns, cpu.others_ns, cpu.unknown_ns), (13, 2, 4));
        cpu.clear(30);
        assert_eq!((cpu.idle_ns, cpu.others_ns, cpu.unknown_ns), (0, 0, 0));
    }

    #[test]
    fn time_at_each_load() {
        let mut cpu = Cpu::default();
        assert_eq!([cpu.joins(5), cpu.joins(5)], [0, 1]);
        assert_eq!(cpu.leaves(8), 2);
        cpu.settle(10);
        assert_eq!(cpu.time_at_load, [5, 2, 3]);
    }
}
