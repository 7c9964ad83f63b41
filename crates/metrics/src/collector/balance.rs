//! Time to balance: when the run queues came level and stayed so.

/// How long the balance must hold by default, in ns: 5 s, as the study of Happe et al. asks for in replication.
pub const DEFAULT_HOLD_NS: u64 = 5_000_000_000;

/// Watches the run-queue lengths of all CPUs.
///
/// With n runnable tasks on m CPUs the ideal lengths are ⌈n/m⌉ on n mod m CPUs and ⌊n/m⌋ on the others (Happe et al.,
/// equation Linux.1.a), whichever CPUs these are. Of all ways to spread n tasks these, and no others, have the smallest sum
/// of squared lengths, so that two sums tell whether the loads are balanced. The time to balance is the first instant,
/// from the start of the run and after the first task became runnable, from which this holds for the whole of `hold`.
/// What lasts no time at all does not count.
#[derive(Debug)]
pub(super) struct Balance {
    hold_ns: u64,
    /// Sum of the squared lengths.
    squares: u64,
    /// What it is for as many tasks when they are spread evenly.
    least: u64,
    cpus: u64,
    /// Tasks on each CPU at least when they are spread evenly, and the CPUs that have one more.
    even: u64,
    over: u64,
    started: bool,
    since: Option<u64>,
    found: Option<u64>,
}

impl Balance {
    pub fn new(cpus: u32, hold_ns: u64) -> Balance {
        let cpus = u64::from(cpus);
        Balance { hold_ns, squares: 0, least: 0, cpus, even: 0, over: 0, started: false, since: None, found: None }
    }

    /// A run queue, so long until now, gets one task more.
    #[inline]
    pub fn joins(&mut self, length: u32) {
        self.started = true;
        self.squares += 2 * u64::from(length) + 1;
        self.least += 2 * self.even + 1;
        self.over += 1;
        if self.over == self.cpus {
            (self.even, self.over) = (self.even + 1, 0);
        }
    }

    /// A run queue, so long until now, loses a task.
    #[inline]
    pub fn leaves(&mut self, length: u32) {
        if self.over == 0 {
            (self.even, self.over) = (self.even - 1, self.cpus);
        }
        self.over -= 1;
        self.squares -= 2 * u64::from(length) - 1;
        self.least -= 2 * self.even + 1;
    }

    /// A task goes from one run queue to another, which were so long until now.
    #[inline]
    pub fn moves(&mut self, from: u32, to: u32) {
        self.squares = self.squares + 2 * (u64::from(to) + 1) - 2 * u64::from(from);
    }

    /// Time moves from one instant to another with the lengths as they are.
    #[inline]
    pub fn pass(&mut self, from: u64, to: u64) {
        if self.found.is_some() {
            return;
        }
        if !self.started || self.squares != self.least {
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
        (0..7).for_each(|i| balance.joins(i));
        balance.pass(0, 50);
        for i in 0..3 {
            balance.moves(7 - i, i);
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
        balance.joins(0);
        balance.pass(1000, 1005);
        balance.joins(1);
        balance.pass(1005, 1006);
        balance.joins(0);
        balance.pass(1006, 1016);
        assert_eq!(balance.found(), Some(1006));
    }

    proptest! {
        /// The sums say what the lengths themselves say.
        #[test]
        fn balanced_is_when_lengths_differ_by_one_at_most(
            cpus in 2usize..5,
            steps in prop::collection::vec((0usize..4, 0usize..4, any::<bool>()), 1..200)
        ) {
            let mut loads = vec![0u32; cpus];
            let mut balance = Balance::new(cpus as u32, 1);
            for (from, to, moves) in steps {
                let (from, to) = (from % cpus, to % cpus);
                if moves && from != to && loads[from] > 0 {
                    balance.moves(loads[from], loads[to]);
                    (loads[from], loads[to]) = (loads[from] - 1, loads[to] + 1);
                } else if loads[from] > 0 && from > to {
                    balance.leaves(loads[from]);
                    loads[from] -= 1;
                } else {
                    balance.joins(loads[to]);
                    loads[to] += 1;
                }
                let differ = loads.iter().max().unwrap() - loads.iter().min().unwrap();
                prop_assert_eq!(balance.squares == balance.least, differ <= 1, "{:?}", loads);
            }
        }
    }
}
