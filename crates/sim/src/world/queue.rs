//! What will happen: two ordered collections, one of timers, one of CPUs.
//!
//! The order of simultaneous events is part of the simulator's specification: (time, class, sequence), where the
//! classes are those of [`Class`] in their order, and after all of them the CPUs by number. A wake-up at the very end
//! of a slice therefore happens before the slice ends.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What kind of thing a timer stands for; earlier classes come first at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Class {
    /// A task comes to be, or wakes.
    Task,
    /// Tasks that were held on their first CPU are set free.
    Release,
    /// A timer of the policy.
    Policy,
    /// The watchdog looks for stalled tasks.
    Watchdog,
}

/// What a timer does when it is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// All tasks of the group come to be.
    Birth(u32),
    /// One task of the group arrives, and the next one is drawn.
    Arrival(u32),
    /// The task in this slot has slept enough.
    Timer(u32),
    /// The device has served the task in this slot.
    Device(u32),
    /// Tasks placed by `start_on` are set free.
    Release,
    /// The policy's timer with this index and generation.
    Policy(u32, u32),
    /// The watchdog.
    Watchdog,
}

impl Due {
    fn class(self) -> Class {
        match self {
            Due::Birth(_) | Due::Arrival(_) | Due::Timer(_) | Due::Device(_) => Class::Task,
            Due::Release => Class::Release,
            Due::Policy(..) => Class::Policy,
            Due::Watchdog => Class::Watchdog,
        }
    }
}

/// Timers in the order (time, class, sequence).
#[derive(Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<(u64, u64, Due)>>,
    sequence: u64,
}

impl Timers {
    /// Adds a timer. It cannot be taken back: whoever may change its mind keeps a generation.
    pub fn push(&mut self, at_ns: u64, due: Due) {
        self.sequence += 1;
        self.heap.push(Reverse((at_ns, (due.class() as u64) << 56 | self.sequence, due)));
    }

    /// When the next timer is due, `u64::MAX` if there is none.
    pub fn next_ns(&self) -> u64 {
        self.heap.peek().map_or(u64::MAX, |Reverse((at, ..))| *at)
    }

    /// Takes the next timer.
    pub fn pop(&mut self) -> Option<Due> {
        self.heap.pop().map(|Reverse((.., due))| due)
    }
}

/// For every CPU the instant at which something ends there; the earliest, by number among equals, is always known.
///
/// A tournament tree: a change costs one comparison per level, nothing is ever stale, and the whole tree of 4096 CPUs
/// stays in the first two caches.
pub struct CpuTimers {
    at_ns: Vec<u64>,
    /// `winners[1]` is the root; the leaves are at `leaves..2 * leaves`.
    winners: Vec<u32>,
    leaves: usize,
}

impl CpuTimers {
    /// A tree in which no CPU waits for anything.
    pub fn new(cpus: usize) -> CpuTimers {
        let leaves = cpus.next_power_of_two();
        let mut winners = vec![0; 2 * leaves];
        (0..leaves).for_each(|i| winners[leaves + i] = i as u32);
        let mut tree = CpuTimers { at_ns: vec![u64::MAX; leaves], winners, leaves };
        (1..leaves).rev().for_each(|node| tree.winners[node] = tree.play(node));
        tree
    }

    fn play(&self, node: usize) -> u32 {
        let (left, right) = (self.winners[2 * node], self.winners[2 * node + 1]);
        // The left CPU has the lower number and wins a tie.
        if self.at_ns[right as usize] < self.at_ns[left as usize] { right } else { left }
    }

    /// Sets the instant of a CPU; `u64::MAX` means never.
    #[inline]
    pub fn set(&mut self, cpu: usize, at_ns: u64) {
        if self.at_ns[cpu] == at_ns {
            return;
        }
        self.at_ns[cpu] = at_ns;
        let mut node = (self.leaves + cpu) / 2;
        while node > 0 {
            self.winners[node] = self.play(node);
            node /= 2;
        }
    }

    /// The earliest CPU and its instant.
    #[inline]
    pub fn next(&self) -> (u64, usize) {
        let cpu = self.winners[1] as usize;
        (self.at_ns[cpu], cpu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simultaneous_timers_go_by_class_then_in_the_order_they_were_set() {
        let mut timers = Timers::default();
        for (at, due) in [
            (5, Due::Watchdog),
            (5, Due::Policy(0, 0)),
            (5, Due::Release),
            (5, Due::Timer(9)),
            (5, Due::Birth(1)),
            (4, Due::Watchdog),
        ] {
            timers.push(at, due);
        }
        let order: Vec<Due> = std::iter::from_fn(|| timers.pop()).collect();
        assert_eq!(
            order,
            [Due::Watchdog, Due::Timer(9), Due::Birth(1), Due::Release, Due::Policy(0, 0), Due::Watchdog]
        );
    }

    #[test]
    fn the_earliest_cpu_wins_and_the_lower_number_wins_a_tie() {
        for cpus in [1, 2, 3, 5, 64, 100] {
            let mut tree = CpuTimers::new(cpus);
            assert_eq!(tree.next().0, u64::MAX);
            let mut rng = schedlab_model::rng::Rng::split(1, "tree");
            let mut at = vec![u64::MAX; cpus];
            for _ in 0..1000 {
                let cpu = rng.below(cpus as u64) as usize;
                at[cpu] = rng.below(20);
                tree.set(cpu, at[cpu]);
                let (best, time) = at.iter().enumerate().min_by_key(|(_, t)| **t).expect("a CPU");
                assert_eq!(tree.next(), (*time, best));
            }
        }
    }
}
