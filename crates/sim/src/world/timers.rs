//! What will happen and when: timers in the order (time, class, sequence).
//!
//! The order of simultaneous events is part of the simulator's specification: (time, class, sequence), where the
//! classes are those of [`Class`] in their order, and after all of them the CPUs by number. A wake-up at the very end
//! of a slice therefore happens before the slice ends. CPUs choose after the interrupts that come one after the other at an instant.

use schedlab_model::ids::CpuId;

/// What kind of thing a timer stands for; earlier classes come first at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Class {
    /// A task is created, or wakes.
    Task,
    /// Tasks that were held on their first CPU are set free, the real-time class may run again, a CPU goes or comes.
    Release,
    /// A timer of the policy.
    Policy,
    /// The watchdog looks for stalled tasks.
    Watchdog,
}

/// What a timer does when it is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// All tasks of the role are created.
    Birth(u32),
    /// One task of the role arrives, and the next one is drawn.
    Arrival(u32),
    /// Messages of the source come from outside, and the next ones are drawn.
    Messages(u32),
    /// The task in this slot has slept enough.
    Timer(u32),
    /// The device has served the task in this slot.
    Device(u32),
    /// Tasks placed by `start_on` are set free.
    Release,
    /// A period of throttling of real-time tasks is over.
    RealtimePeriod,
    /// The task in this slot has its next period of CPU time.
    Replenish(u32),
    /// The policy's timer with this index and generation.
    Policy(u32, u32),
    /// The tick at which a grace period of RCU begins or ends.
    GracePeriod,
    /// The statistics of a CPU.
    Statistics(CpuId),
    /// A CPU goes offline or comes back: the one of that number among those of the workload.
    Hotplug(u32),
    /// The watchdog.
    Watchdog,
}

impl Due {
    fn class(self) -> Class {
        match self {
            Due::Birth(_)
            | Due::Arrival(_)
            | Due::Messages(_)
            | Due::Timer(_)
            | Due::Device(_)
            | Due::GracePeriod
            | Due::Statistics(_) => Class::Task,
            Due::Release | Due::RealtimePeriod | Due::Replenish(_) | Due::Hotplug(_) => Class::Release,
            Due::Policy(..) => Class::Policy,
            Due::Watchdog => Class::Watchdog,
        }
    }

    /// Whether it interrupts a CPU to give tasks the right to run: by waking them, or by the next period of what they may use.
    #[inline]
    pub fn is_interrupt(self) -> bool {
        matches!(self, Due::Timer(_) | Due::Device(_) | Due::Messages(_) | Due::Replenish(_) | Due::RealtimePeriod)
    }
}

/// Bits of a key that a level of the wheel tells apart.
const LEVEL_BITS: u32 = 6;
const BUCKETS: usize = 1 << LEVEL_BITS;
/// That many levels hold every key.
const LEVELS: usize = 64usize.div_ceil(LEVEL_BITS as usize);
/// Bits for the class in a key.
const CLASS_BITS: u32 = 2;
const NEVER: u64 = u64::MAX;
/// The most timers of a bucket that is sorted; a fuller one is moved down.
const FEW: usize = 16;
/// More sorted timers than these go back to the wheel.
const MANY: usize = 64;
/// That many places of timers that were taken are kept before those that are left move up.
const GAP: usize = 4 * MANY;

#[derive(Clone, Copy)]
struct Entry {
    /// Instant, then class.
    key: u64,
    due: Due,
}

/// Timers in the order (time, class, sequence).
///
/// The first few are sorted, the rest lies in a hierarchical wheel (Varghese and Lauck, "Hashed and hierarchical timing
/// wheels", 1987): a timer lies on the level of the highest role of bits in which its key differs from the origin, in
/// the bucket of those bits. When none is sorted any more and the next one is due, its bucket is sorted, or moved down
/// if it is full; not before, so that all that is set later is later than the start of that bucket. Equal keys always share a bucket, so the order in which they were set is kept without a number. Adding one costs the
/// same however many there are, and moving a bucket walks through memory in order, where a heap of a million timers
/// jumps about.
pub struct Timers {
    /// The first key, [`NEVER`] if there is none.
    first: u64,
    /// Timers with keys up to this one are sorted, later ones are in the wheel.
    origin: u64,
    /// In their order, the first one at `head`: what is before it was taken.
    sorted: Vec<Entry>,
    head: usize,
    /// By level and place.
    buckets: Vec<Bucket>,
    /// For each level the buckets that are not empty.
    occupied: [u64; LEVELS],
    /// The levels that are not empty.
    levels: u32,
}

/// A bucket of the wheel.
#[derive(Clone)]
struct Bucket {
    /// The first key, [`NEVER`] if there is none.
    first: u64,
    /// In the order in which they were set.
    entries: Vec<Entry>,
}

impl Default for Timers {
    fn default() -> Timers {
        let buckets = vec![Bucket { first: NEVER, entries: Vec::new() }; LEVELS * BUCKETS];
        Timers { first: NEVER, origin: 0, sorted: Vec::new(), head: 0, buckets, occupied: [0; LEVELS], levels: 0 }
    }
}

impl Timers {
    /// Adds a timer, not before the one taken last. It cannot be taken back alone: code that may change its mind keeps a
    /// generation.
    #[inline]
    pub fn push(&mut self, at_ns: u64, due: Due) {
        let key = at_ns.min((NEVER >> CLASS_BITS) - 1) << CLASS_BITS | due.class() as u64;
        self.first = self.first.min(key);
        match key > self.origin {
            true => self.place(Entry { key, due }),
            false => self.insert(Entry { key, due }),
        }
    }

    #[inline]
    fn place(&mut self, entry: Entry) {
        let level = (63 - (entry.key ^ self.origin | 1).leading_zeros()) / LEVEL_BITS;
        let place = (entry.key >> (level * LEVEL_BITS)) as usize % BUCKETS;
        self.levels |= 1 << level;
        self.occupied[level as usize] |= 1 << place;
        let bucket = &mut self.buckets[level as usize * BUCKETS + place];
        bucket.first = bucket.first.min(entry.key);
        bucket.entries.push(entry);
    }

    /// Adds a timer to the sorted ones. Most are later than most of these, so it looks for its place from the end.
    #[inline]
    fn insert(&mut self, entry: Entry) {
        if self.sorted.len() - self.head >= MANY {
            self.spill();
            if entry.key > self.origin {
                return self.place(entry);
            }
        }
        self.sorted.push(entry);
        let later = self.sorted[self.head..].iter().rev().skip(1).take_while(|other| other.key > entry.key).count();
        let last = self.sorted.len() - 1;
        for at in (last - later..last).rev() {
            self.sorted[at + 1] = self.sorted[at];
        }
        self.sorted[last - later] = entry;
    }

    /// When the next timer is due, `u64::MAX` if there is none.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        if self.first == NEVER { u64::MAX } else { self.first >> CLASS_BITS }
    }

    /// Whether the next timer is due now, at this instant, and interrupts a CPU.
    #[inline]
    pub fn interrupts_at(&mut self, now_ns: u64) -> bool {
        self.next_ns() == now_ns && self.next().is_some_and(|entry| entry.due.is_interrupt())
    }

    /// The next timer, which is due now.
    fn next(&mut self) -> Option<Entry> {
        if self.head == self.sorted.len() {
            self.refill();
        }
        self.sorted.get(self.head).copied()
    }

    /// Takes the next timer.
    #[inline]
    pub fn pop(&mut self) -> Option<Due> {
        let entry = self.next()?;
        self.head += 1;
        self.first = self.next_key();
        if self.head >= GAP {
            self.close_gap();
        }
        Some(entry.due)
    }

    /// Throws away what is not to be kept.
    pub fn retain(&mut self, mut keep: impl FnMut(Due) -> bool) {
        self.close_gap();
        self.sorted.retain(|entry| keep(entry.due));
        for index in 0..self.buckets.len() {
            let bucket = &mut self.buckets[index];
            if bucket.entries.is_empty() {
                continue;
            }
            bucket.entries.retain(|entry| keep(entry.due));
            bucket.entries.shrink_to(FEW);
            bucket.first = bucket.entries.iter().map(|entry| entry.key).min().unwrap_or(NEVER);
            if bucket.entries.is_empty() {
                self.vacate(index);
            }
        }
        self.first = self.next_key();
    }

    /// The first key; those that are sorted come before all others.
    fn next_key(&self) -> u64 {
        match self.sorted.get(self.head) {
            Some(next) => next.key,
            None if self.levels == 0 => NEVER,
            None => self.buckets[self.first_bucket()].first,
        }
    }

    fn close_gap(&mut self) {
        self.sorted.drain(..self.head);
        self.head = 0;
    }

    /// Sorts the timers of the first bucket, if there is one; none is sorted.
    fn refill(&mut self) {
        self.close_gap();
        while self.levels != 0 {
            let index = self.first_bucket();
            self.vacate(index);
            let bucket = &mut self.buckets[index];
            // Any key of the bucket can be the origin.
            let first = std::mem::replace(&mut bucket.first, NEVER);
            self.origin = first;
            let few = bucket.entries.len() <= FEW;
            if few || bucket.entries.iter().all(|entry| entry.key == first) {
                if few {
                    // Its last one: all that comes to be in the bucket's time is sorted.
                    let width = (index / BUCKETS) as u32 * LEVEL_BITS;
                    self.origin |= (1 << width) - 1;
                }
                std::mem::swap(&mut self.sorted, &mut bucket.entries);
                return self.sorted.sort_by_key(|entry| entry.key);
            }
            // Its memory stays with the bucket.
            let mut entries = std::mem::take(&mut bucket.entries);
            entries.drain(..).for_each(|entry| self.place(entry));
            self.buckets[index].entries = entries;
        }
    }

    /// Gives the sorted timers back to the wheel, except for those that are first.
    #[cold]
    fn spill(&mut self) {
        self.close_gap();
        let Some(first) = self.sorted.first() else { return };
        self.origin = first.key;
        let at = self.sorted.partition_point(|entry| entry.key <= self.origin);
        self.sorted.split_off(at).into_iter().for_each(|entry| self.place(entry));
    }

    #[inline]
    fn vacate(&mut self, index: usize) {
        let level = index / BUCKETS;
        self.occupied[level] &= !(1 << (index % BUCKETS));
        if self.occupied[level] == 0 {
            self.levels &= !(1 << level);
        }
    }

    /// The first bucket that is not empty: keys on lower levels are smaller than those on higher ones.
    #[inline]
    fn first_bucket(&self) -> usize {
        let level = self.levels.trailing_zeros() as usize;
        level * BUCKETS + self.occupied[level].trailing_zeros() as usize
    }
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

    #[test]
    fn more_near_timers_than_are_sorted_keep_their_order() {
        let mut timers = Timers::default();
        timers.push(1 << 40, Due::Timer(0));
        let at = |n: u64| (1 << 40) + n * 7919 % 1000;
        (1..5000).for_each(|n| timers.push(at(n), Due::Timer(n as u32)));
        let mut expected: Vec<u64> = (0..5000).collect();
        expected.sort_by_key(|&n| at(n));
        let order: Vec<Due> = std::iter::from_fn(|| timers.pop()).collect();
        assert_eq!(order, expected.into_iter().map(|n| Due::Timer(n as u32)).collect::<Vec<_>>());
    }

    proptest! {
        /// Against a sorted list: pushes of all distances and classes between pops.
        #[test]
        fn it_is_a_stable_priority_queue(
            steps in prop::collection::vec((any::<bool>(), 0u32..34, any::<u64>(), 0u32..3), 1..400),
            thrown_away_at in prop::collection::btree_set(0u32..400, 0..4),
        ) {
            let mut timers = Timers::default();
            let mut model: Vec<(u64, Class, u32)> = Vec::new();
            let mut now = 0u64;
            for (number, (push, bits, random, class)) in steps.into_iter().enumerate() {
                let number = number as u32;
                if thrown_away_at.contains(&number) {
                    let is_kept = |number: u32| !number.is_multiple_of(3);
                    timers.retain(|due| match due {
                        Due::Timer(n) | Due::Device(n) | Due::Policy(n, _) => is_kept(n),
                        _ => unreachable!(),
                    });
                    model.retain(|(_, _, number)| is_kept(*number));
                }
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
