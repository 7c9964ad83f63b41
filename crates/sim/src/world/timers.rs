//! What will happen and when: timers in the order (time, class, sequence).
//!
//! The order of simultaneous events is part of the simulator's specification: (time, class, sequence), where the
//! classes are those of [`Class`] in their order, and after all of them the CPUs by number. A wake-up at the very end
//! of a slice therefore happens before the slice ends.

use std::collections::VecDeque;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// Bits of a key that a level of the wheel tells apart.
const LEVEL_BITS: u32 = 6;
const BUCKETS: usize = 1 << LEVEL_BITS;
/// So many levels hold every key.
const LEVELS: usize = 64usize.div_ceil(LEVEL_BITS as usize);
/// Bits for the class in a key.
const CLASS_BITS: u32 = 2;
/// So many timers of a bucket are told apart by looking at all of them.
const FEW: usize = 8;
const NEVER: u64 = u64::MAX;

#[derive(Clone, Copy)]
struct Entry {
    /// Instant, then class.
    key: u64,
    due: Due,
}

/// Timers in the order (time, class, sequence).
///
/// A hierarchical wheel (Varghese and Lauck, "Hashed and hierarchical timing wheels", 1987) that is exact: a timer lies
/// on the level of the highest group of bits in which its key differs from the key taken last, in the bucket of those
/// bits, and moves down when its bucket is the first and has more than a few. Equal keys always share a bucket, so
/// the order in which they were set is kept without a number. Adding one costs the same however many there are, and
/// moving a bucket walks through memory in order, where a heap of a million timers jumps about.
pub struct Timers {
    /// The key that was taken last, or an earlier one while some are left in the bucket of the last.
    origin: u64,
    /// The first key, [`NEVER`] if there is none.
    first: u64,
    /// By level and bucket.
    buckets: Vec<VecDeque<Entry>>,
    /// For each level the buckets that are not empty.
    occupied: [u64; LEVELS],
    /// The levels that are not empty.
    levels: u32,
}

impl Default for Timers {
    fn default() -> Timers {
        let buckets = (0..LEVELS * BUCKETS).map(|_| VecDeque::new()).collect();
        Timers { origin: 0, first: NEVER, buckets, occupied: [0; LEVELS], levels: 0 }
    }
}

impl Timers {
    /// Adds a timer, not before the one taken last. It cannot be taken back: whoever may change its mind keeps a
    /// generation.
    #[inline]
    pub fn push(&mut self, at_ns: u64, due: Due) {
        let key = at_ns.min((NEVER >> CLASS_BITS) - 1) << CLASS_BITS | due.class() as u64;
        debug_assert!(key >> CLASS_BITS >= self.origin >> CLASS_BITS, "a timer in the past");
        self.first = self.first.min(key);
        self.place(Entry { key, due });
    }

    #[inline]
    fn place(&mut self, entry: Entry) {
        let level = (63 - (entry.key ^ self.origin | 1).leading_zeros()) / LEVEL_BITS;
        let bucket = (entry.key >> (level * LEVEL_BITS)) as usize % BUCKETS;
        self.levels |= 1 << level;
        self.occupied[level as usize] |= 1 << bucket;
        self.buckets[level as usize * BUCKETS + bucket].push_back(entry);
    }

    /// When the next timer is due, `u64::MAX` if there is none.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        if self.first == NEVER { u64::MAX } else { self.first >> CLASS_BITS }
    }

    /// Takes the next timer.
    pub fn pop(&mut self) -> Option<Due> {
        if self.first == NEVER {
            return None;
        }
        let (mut level, mut index) = self.first_bucket()?;
        if level > 0 && self.bucket(level, index).len() > FEW {
            self.descend(level, index);
            (level, index) = self.first_bucket()?;
        }
        let bucket = &mut self.buckets[level * BUCKETS + index];
        if level > 0 && bucket.len() > 1 {
            // The origin stays, so that those left are where they should be.
            let at = bucket.iter().position(|entry| entry.key == self.first)?;
            let entry = bucket.remove(at)?;
            self.first = first_key(bucket);
            return Some(entry.due);
        }
        // The first of equal timers, or the only one.
        let entry = bucket.pop_front()?;
        // A class that comes late at an instant may be before one that was taken at that instant.
        self.origin = self.origin.max(entry.key);
        if bucket.is_empty() {
            self.vacate(level, index);
            self.first = self.smallest();
        }
        Some(entry.due)
    }

    #[inline]
    fn bucket(&self, level: usize, index: usize) -> &VecDeque<Entry> {
        &self.buckets[level * BUCKETS + index]
    }

    #[inline]
    fn vacate(&mut self, level: usize, index: usize) {
        self.occupied[level] &= !(1 << index);
        if self.occupied[level] == 0 {
            self.levels &= !(1 << level);
        }
    }

    /// Moves the first bucket that is not empty down, so that the first timers are on the lowest level.
    fn descend(&mut self, level: usize, bucket: usize) {
        self.vacate(level, bucket);
        self.origin = self.first;
        // Its memory stays with the bucket.
        let mut entries = std::mem::take(&mut self.buckets[level * BUCKETS + bucket]);
        entries.drain(..).for_each(|entry| self.place(entry));
        self.buckets[level * BUCKETS + bucket] = entries;
    }

    #[inline]
    fn first_bucket(&self) -> Option<(usize, usize)> {
        let level = self.levels.trailing_zeros() as usize;
        let occupied = self.occupied.get(level)?;
        Some((level, occupied.trailing_zeros() as usize))
    }

    /// The smallest key; those on lower levels are smaller than those on higher ones.
    fn smallest(&self) -> u64 {
        let Some((level, bucket)) = self.first_bucket() else { return NEVER };
        let entries = self.bucket(level, bucket);
        match (level, entries.len()) {
            // All are equal.
            (0, _) | (_, 1) => entries.front().map_or(NEVER, |entry| entry.key),
            _ => first_key(entries),
        }
    }
}

fn first_key(entries: &VecDeque<Entry>) -> u64 {
    entries.iter().fold(NEVER, |first, entry| first.min(entry.key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
    fn a_late_timer_of_an_earlier_class_comes_next() {
        let mut timers = Timers::default();
        timers.push(7, Due::Watchdog);
        timers.push(7, Due::Watchdog);
        assert_eq!(timers.pop(), Some(Due::Watchdog));
        timers.push(7, Due::Timer(1));
        assert_eq!([timers.pop(), timers.pop(), timers.pop()], [Some(Due::Timer(1)), Some(Due::Watchdog), None]);
    }

    #[test]
    fn what_never_happens_is_last() {
        let mut timers = Timers::default();
        timers.push(u64::MAX, Due::Timer(1));
        timers.push(1 << 61, Due::Timer(2));
        assert_eq!([timers.pop(), timers.pop()], [Some(Due::Timer(2)), Some(Due::Timer(1))]);
        assert_eq!(timers.next_ns(), u64::MAX);
    }

    proptest! {
        /// Against a sorted list: pushes of all distances and classes between pops.
        #[test]
        fn it_is_a_stable_priority_queue(
            steps in prop::collection::vec((any::<bool>(), 0u32..34, any::<u64>(), 0u32..3), 1..400)
        ) {
            let mut timers = Timers::default();
            let mut model: Vec<(u64, Class, u32)> = Vec::new();
            let mut now = 0u64;
            for (number, (push, bits, random, class)) in steps.into_iter().enumerate() {
                let number = number as u32;
                if push {
                    let at = now + (random & ((1 << bits) - 1));
                    let due = [Due::Timer(number), Due::Policy(number, 0), Due::Device(number)][class as usize];
                    timers.push(at, due);
                    model.push((at, due.class(), number));
                } else {
                    model.sort_by_key(|m| (m.0, m.1));
                    let expected = (!model.is_empty()).then(|| model.remove(0));
                    prop_assert_eq!(timers.next_ns(), expected.map_or(u64::MAX, |m| m.0));
                    let got = timers.pop().map(|due| match due {
                        Due::Timer(n) | Due::Device(n) | Due::Policy(n, _) => n,
                        _ => unreachable!(),
                    });
                    prop_assert_eq!(got, expected.map(|m| m.2));
                    now = expected.map_or(now, |m| m.0);
                }
            }
        }
    }
}
