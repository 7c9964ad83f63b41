//! Time to balance: when the run queues came level and stayed so.

/// How long the balance must hold by default, in ns: 5 s, as the study of Happe et al. asks for in replication.
pub const DEFAULT_HOLD_NS: u64 = 5_000_000_000;

/// Watches the run-queue lengths of all CPUs.
///
/// With n runnable tasks on m CPUs the ideal lengths are ⌈n/m⌉ on n mod m CPUs and ⌊n/m⌋ on the others (Happe et al.,
/// equation Linux.1.a), whichever CPUs these are; so the loads are balanced exactly when the longest and the shortest
/// differ by one at most. The time to balance is the first instant, from the start of the run and after the first task
/// became runnable, from which this holds for the whole of `hold`. What lasts no time at all does not count.
#[derive(Debug)]
pub(super) struct Balance {
    hold_ns: u64,
    /// How many CPUs have so many runnable tasks.
    cpus_at: Vec<u32>,
    shortest: u32,
    longest: u32,
    started: bool,
    since: Option<u64>,
    found: Option<u64>,
}

impl Balance {
    pub fn new(cpus: u32, hold_ns: u64) -> Balance {
        Balance { hold_ns, cpus_at: vec![cpus], shortest: 0, longest: 0, started: false, since: None, found: None }
    }

    /// A run queue changed by one task.
    #[inline]
    pub fn change(&mut self, before: u32, after: u32) {
        if self.found.is_none() && before != after {
            self.note(before, after);
        }
    }

    /// A task went from one run queue, as long as the first number before, to another.
    #[inline]
    pub fn change_two(&mut self, from: u32, to: u32) {
        // Otherwise the two lengths only change places.
        if from != to + 1 {
            self.change(from, from.saturating_sub(1));
            self.change(to, to + 1);
        }
    }

    fn note(&mut self, before: u32, after: u32) {
        let Ok([left, joined]) = self.cpus_at.get_disjoint_mut([before as usize, after as usize]) else {
            return self.note_first(before, after);
        };
        *left -= 1;
        *joined += 1;
        // A CPU that left the shortest (longest) length as the last one moved by one, so that is where the end is now.
        let left_empty = *left == 0;
        if after < self.shortest || (left_empty && before == self.shortest) {
            self.shortest = after;
        }
        if after > self.longest || (left_empty && before == self.longest) {
            self.longest = after;
        }
    }

    /// The same for the first run queue of this length.
    #[cold]
    fn note_first(&mut self, before: u32, after: u32) {
        self.started = true;
        self.cpus_at.resize(after as usize + 1, 0);
        self.note(before, after);
    }

    /// Time moves from one instant to another with the lengths as they are.
    #[inline]
    pub fn pass(&mut self, from: u64, to: u64) {
        if self.found.is_some() {
            return;
        }
        if !self.started || self.longest - self.shortest > 1 {
            self.since = None;
            return;
        }
        let since = *self.since.get_or_insert(from);
        if to - since >= self.hold_ns {
            self.found = Some(since);
        }
    }

    /// The time to balance; none when the lengths never stayed level for as long as asked.
    pub fn found(&self) -> Option<u64> {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn seven_tasks_from_one_cpu_to_two() {
        let mut balance = Balance::new(2, 100);
        (0..7).for_each(|i| balance.change(i, i + 1));
        balance.pass(0, 50);
        for i in 0..3 {
            balance.change(7 - i, 6 - i);
            balance.change(i, i + 1);
            balance.pass(50 + 10 * u64::from(i), 60 + 10 * u64::from(i));
        }
        assert_eq!(balance.found(), None);
        balance.pass(80, 169);
        assert_eq!(balance.found(), None);
        balance.pass(169, 170);
        assert_eq!(balance.found(), Some(70));
    }

    #[test]
    fn an_empty_machine_is_not_balanced_and_a_lapse_starts_anew() {
        let mut balance = Balance::new(2, 10);
        balance.pass(0, 1000);
        assert_eq!(balance.found(), None);
        balance.change(0, 1);
        balance.pass(1000, 1005);
        balance.change(1, 2);
        balance.pass(1005, 1006);
        balance.change(0, 1);
        balance.pass(1006, 1016);
        assert_eq!(balance.found(), Some(1006));
    }

    #[test]
    fn a_move_is_two_changes() {
        for (from, to) in [(1, 0), (2, 0), (1, 2), (3, 3), (0, 1)] {
            let [mut one, mut two] = [0, 1].map(|_| Balance::new(2, 10));
            for balance in [&mut one, &mut two] {
                (0..from).chain(0..to).for_each(|length| balance.change(length, length + 1));
            }
            one.change_two(from, to);
            two.change(from, from.saturating_sub(1));
            two.change(to, to + 1);
            assert_eq!((one.shortest, one.longest), (two.shortest, two.longest), "{from} to {to}");
            assert_eq!(one.cpus_at, two.cpus_at);
        }
    }

    proptest! {
        /// The ends that are kept are those of the lengths themselves.
        #[test]
        fn ends_follow(steps in prop::collection::vec((0usize..3, any::<bool>()), 1..200)) {
            let mut loads = [0u32; 3];
            let mut balance = Balance::new(3, u64::MAX);
            for (cpu, more) in steps {
                let before = loads[cpu];
                loads[cpu] = if more { before + 1 } else { before.saturating_sub(1) };
                balance.change(before, loads[cpu]);
                prop_assert_eq!(Some(&balance.shortest), loads.iter().min());
                prop_assert_eq!(Some(&balance.longest), loads.iter().max());
            }
        }
    }
}
