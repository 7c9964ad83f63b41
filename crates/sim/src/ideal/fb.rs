//! Foreground-background, also called least attained service: the tasks that got least in their request are served, and
//! ties share the CPU.
//!
//! Tasks of equal attained service form a *level*. The lowest levels that the CPUs suffice for run at full speed, the
//! next one shares what is left of the CPUs, all above are frozen:
//!
//! ```text
//!     attained   |  frozen   frozen
//!        ^       |  shared      m tasks on k < m CPUs, each at rate k/m
//!                |  full full   at rate 1
//! ```
//!
//! Only the distance between the full level on top and the shared one, and between that and the lowest frozen one,
//! shrinks; levels that meet become one. On one CPU that is the textbook's discipline: the lowest level shares the CPU.

use super::fixed::{Fixed, ceil_ns, divide, from_ns};
use super::fluid::Sharing;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// The tasks of one level: what they will have attained when their demand is done, sequence, slot.
#[derive(Default)]
struct Level(BinaryHeap<Reverse<(Fixed, u64, u32)>>);

impl Level {
    fn len(&self) -> Fixed {
        self.0.len() as Fixed
    }

    /// What is attained when the first of them is done.
    fn first_end(&self) -> Fixed {
        self.0.peek().expect("a level has tasks").0.0
    }
}

/// Tasks by attained service.
pub struct LeastAttained {
    cpus: Fixed,
    now_ns: u64,
    /// Levels at full speed by *base*, the present minus what they attained, which stays as it is. The first of them is
    /// the highest.
    full: BTreeMap<Fixed, Level>,
    full_tasks: Fixed,
    /// For each level at full speed the instant at which its first task is done, and its base.
    full_ends: BTreeSet<(Fixed, Fixed)>,
    /// The level that shares what the full ones leave, and what it attained.
    shared: Option<(Fixed, Level)>,
    /// Levels that get nothing, by what they attained.
    frozen: BTreeMap<Fixed, Level>,
    sequence: u64,
    idle: Fixed,
    spare: Fixed,
}

impl LeastAttained {
    fn present(&self) -> Fixed {
        from_ns(self.now_ns)
    }

    /// CPUs that the levels at full speed leave.
    fn free_cpus(&self) -> Fixed {
        self.cpus - self.full_tasks
    }

    fn take_full(&mut self, base: Fixed) -> Level {
        let level = self.full.remove(&base).expect("a level of this base");
        self.full_ends.remove(&(base + level.first_end(), base));
        self.full_tasks -= level.len();
        level
    }

    fn put_full(&mut self, base: Fixed, mut level: Level) {
        if self.full.contains_key(&base) {
            level = unite(self.take_full(base), level);
        }
        self.full_tasks += level.len();
        self.full_ends.insert((base + level.first_end(), base));
        self.full.insert(base, level);
    }

    fn freeze(&mut self, attained: Fixed, mut level: Level) {
        if let Some(other) = self.frozen.remove(&attained) {
            level = unite(other, level);
        }
        self.frozen.insert(attained, level);
    }

    /// Base and attained service of the highest level at full speed.
    fn highest_full(&self) -> Option<(Fixed, Fixed)> {
        self.full.first_key_value().map(|(&base, _)| (base, self.present() - base))
    }

    fn lowest_frozen(&self) -> Option<Fixed> {
        self.frozen.first_key_value().map(|(&attained, _)| attained)
    }

    /// What the lowest level that is not at full speed attained.
    fn border(&self) -> Option<Fixed> {
        self.shared.as_ref().map(|shared| shared.0).or(self.lowest_frozen())
    }

    /// Those whose demand is done leave; what they got in excess within the last nanosecond is spare.
    fn collect_done(&mut self, done: &mut Vec<u32>) {
        while let Some(&(end, base)) = self.full_ends.first().filter(|first| first.0 <= self.present()) {
            let mut level = self.take_full(base);
            self.spare += self.present() - end;
            done.extend(level.0.pop().map(|Reverse((.., slot))| slot));
            if level.len() > 0 {
                self.put_full(base, level);
            }
        }
        let Some((attained, level)) = &mut self.shared else { return };
        while let Some(&Reverse((end, _, slot))) = level.0.peek().filter(|task| task.0.0 <= *attained) {
            level.0.pop();
            self.spare += *attained - end;
            done.push(slot);
        }
        if level.len() == 0 {
            self.shared = None;
        }
    }

    /// While no level shares, the highest one at full speed gets what is spare: it was of the level that shared before.
    fn give_spare_to_full(&mut self) {
        let Some((base, _)) = self.highest_full().filter(|_| self.spare > 0) else { return };
        let level = self.take_full(base);
        let (part, rest) = divide(self.spare, level.len());
        self.spare = rest;
        self.put_full(base - part, level);
    }

    /// Divides the levels again into full, shared and frozen ones.
    fn balance(&mut self) {
        while self.full_tasks > self.cpus {
            let (base, attained) = self.highest_full().expect("tasks at full speed");
            let level = self.take_full(base);
            if let Some((above, other)) = self.shared.replace((attained, level)) {
                self.freeze(above, other);
            }
        }
        loop {
            let free = self.free_cpus();
            match self.shared.take().or_else(|| (free > 0).then(|| self.frozen.pop_first()).flatten()) {
                None => return,
                Some((attained, level)) if free == 0 => return self.freeze(attained, level),
                Some((attained, level)) if level.len() <= free => self.put_full(self.present() - attained, level),
                shared => {
                    self.shared = shared;
                    return;
                }
            }
        }
    }

    /// Makes one level of two that have met. Tasks that went too far within the last nanosecond give to the others.
    fn meet(&mut self) -> bool {
        let Some(border) = self.border() else { return false };
        let lower = match (self.highest_full(), self.lowest_frozen()) {
            (Some((base, attained)), _) if attained >= border => (attained, self.take_full(base)),
            (_, Some(frozen)) if self.shared.is_some() && border >= frozen => {
                self.shared.take().expect("a shared level")
            }
            _ => return false,
        };
        let upper = self.shared.take().or_else(|| self.frozen.pop_first()).expect("an upper level");
        let sum = lower.0 * lower.1.len() + upper.0 * upper.1.len();
        let level = unite(lower.1, upper.1);
        let (attained, rest) = divide(sum, level.len());
        self.spare += rest;
        self.shared = Some((attained, level));
        true
    }

    /// When the shared level ends a task, meets the lowest frozen one, or is met by the highest full one.
    fn shared_ends_ns(&self, attained: Fixed, level: &Level) -> u64 {
        let (count, free) = (level.len(), self.free_cpus());
        let gap = self.lowest_frozen().unwrap_or(Fixed::MAX).min(level.first_end()) - attained;
        let alone_ns = ceil_ns(gap * count - self.spare, free);
        let Some((_, below)) = self.highest_full() else { return alone_ns };
        alone_ns.min(ceil_ns((attained - below) * count, count - free))
    }
}

/// Puts the tasks of the smaller level into the larger one.
fn unite(a: Level, b: Level) -> Level {
    let (mut large, small) = if a.0.len() < b.0.len() { (b, a) } else { (a, b) };
    large.0.extend(small.0);
    large
}

impl Sharing for LeastAttained {
    fn new(cpus: u32) -> LeastAttained {
        LeastAttained {
            cpus: cpus.into(),
            now_ns: 0,
            full: BTreeMap::new(),
            full_tasks: 0,
            full_ends: BTreeSet::new(),
            shared: None,
            frozen: BTreeMap::new(),
            sequence: 0,
            idle: 0,
            spare: 0,
        }
    }

    fn advance(&mut self, now_ns: u64, done: &mut Vec<u32>) {
        let elapsed = from_ns(now_ns - self.now_ns);
        self.now_ns = now_ns;
        let left = self.free_cpus() * elapsed;
        match &mut self.shared {
            _ if elapsed == 0 => {}
            Some((attained, level)) => {
                let (part, rest) = divide(left + self.spare, level.len());
                *attained += part;
                self.spare = rest;
            }
            None => {
                self.idle += left;
                self.give_spare_to_full();
            }
        }
        loop {
            self.collect_done(done);
            self.balance();
            if !self.meet() {
                break;
            }
        }
        if self.shared.is_none() && self.free_cpus() > 0 {
            self.idle += std::mem::take(&mut self.spare);
        }
    }

    fn add(&mut self, slot: u32, attained_ns: u64, work_ns: u64) {
        self.sequence += 1;
        let attained = from_ns(attained_ns);
        let task = Reverse((attained + from_ns(work_ns), self.sequence, slot));
        let border = self.border();
        match &mut self.shared {
            _ if border.is_none_or(|border| attained < border) => {
                self.put_full(self.present() - attained, Level([task].into()));
            }
            Some((shared, level)) if *shared == attained => level.0.push(task),
            _ => self.frozen.entry(attained).or_default().0.push(task),
        }
        self.balance();
    }

    fn next_ns(&self) -> u64 {
        let full_ns = self.full_ends.first().map_or(u64::MAX, |first| ceil_ns(first.0 - self.present(), 1));
        let other_ns = match (&self.shared, self.highest_full(), self.lowest_frozen()) {
            (Some((attained, level)), ..) => self.shared_ends_ns(*attained, level),
            (None, Some((_, below)), Some(above)) => ceil_ns(above - below, 1),
            _ => u64::MAX,
        };
        self.now_ns.saturating_add(full_ns.min(other_ns))
    }

    fn remaining(&self) -> Vec<Vec<(u32, Fixed)>> {
        let full = self.full.iter().rev().map(|(base, level)| (self.present() - base, level));
        let shared = self.shared.iter().map(|(attained, level)| (*attained, level));
        let frozen = self.frozen.iter().map(|(attained, level)| (*attained, level));
        let tasks = |(attained, level): (Fixed, &Level)| {
            level.0.iter().map(|Reverse((end, _, slot))| (*slot, end - attained)).collect()
        };
        full.chain(shared).chain(frozen).map(tasks).collect()
    }

    fn spare(&self) -> Fixed {
        self.spare
    }

    fn idle(&self) -> Fixed {
        self.idle
    }
}
