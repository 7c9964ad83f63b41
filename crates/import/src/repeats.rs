//! Events that a tool recorded twice, as perf does that is asked twice for one tracepoint: equal in all they say, with nothing
//! between them by which the first could have happened again. Such a perf looks at the clock for each, so that the second comes
//! a moment later, right behind the first.

use crate::gather::{Entry, What};
use crate::told::{Event, Head};
use std::collections::BTreeMap;

/// The most events of one CPU at one instant that are compared.
const MOST: usize = 64;

/// How much later the second may come: less than it takes to go to another task and back.
const LATER_NS: u64 = 3_000;

/// What each CPU reported last.
#[derive(Default)]
pub struct Repeats {
    /// At its last instant, since its last switch. Accounts, which are put where they begin, are apart.
    cpus: BTreeMap<(u32, bool), Vec<Entry>>,
    /// The clock counts something else than time.
    counts: bool,
}

impl Repeats {
    /// Of a recording whose clock counts something else than time, or of another.
    pub fn of(counts: bool) -> Repeats {
        Repeats { counts, ..Repeats::default() }
    }

    /// Whether the next entry, in the order of time, says what was said.
    pub fn has(&mut self, entry: &Entry) -> bool {
        let is_account = matches!(entry.what, What::Event(Event::Ran { .. }));
        let before = self.cpus.entry((entry.head.cpu, is_account)).or_default();
        if !self.counts && before.last().is_some_and(|last| is_again(last, entry)) {
            return true;
        }
        if before.first().is_some_and(|first| first.head.time_ns != entry.head.time_ns) {
            before.clear();
        }
        if before.contains(entry) {
            return true;
        }
        // Behind a switch a task may do again what it did before.
        if matches!(entry.what, What::Event(Event::Switch { .. } | Event::SwitchTo { .. })) {
            before.clear();
        }
        if before.len() < MOST {
            before.push(*entry);
        }
        false
    }
}

/// Whether an entry says what the one right before it says, a moment later.
fn is_again(last: &Entry, entry: &Entry) -> bool {
    let time_ns = entry.head.time_ns;
    let same = Entry { head: Head { time_ns, ..last.head }, ..*last };
    same == *entry && time_ns - last.head.time_ns <= LATER_NS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::told::Task;
    use schedlab_record::{Comm, Departure};

    fn task(tid: i32) -> Task {
        Task { tid, comm: Comm::default(), priority: 120 }
    }

    fn at(time_ns: u64, cpu: u32, event: Event) -> Entry {
        Entry { head: Head { time_ns, cpu, tid: 1, in_interrupt: None }, what: What::Event(event) }
    }

    fn switch(from: i32, to: i32) -> Event {
        Event::Switch { previous: task(from), how: Departure::Blocked, next: task(to) }
    }

    #[test]
    fn an_equal_event_of_the_same_instant_and_cpu_is_the_same() {
        let mut repeats = Repeats::default();
        let wakeup = Event::Wakeup { task: task(5), target: 0, new: false };
        let told = [
            (at(1, 0, wakeup), false),
            (at(1, 0, switch(1, 2)), false),
            (at(1, 0, switch(1, 2)), true),
            // After the switch it can have happened once more.
            (at(1, 0, wakeup), false),
            (at(1, 0, wakeup), true),
            (at(1, 1, wakeup), false),
            (at(1, 0, switch(2, 1)), false),
            (at(1, 0, switch(1, 2)), false),
            // A moment later, right behind it; and when it can have happened again.
            (at(300, 0, switch(1, 2)), true),
            (at(300, 0, wakeup), false),
            (at(500, 0, wakeup), true),
            (at(4_000, 0, wakeup), false),
        ];
        for (number, (entry, is_repeat)) in told.iter().enumerate() {
            assert_eq!(repeats.has(entry), *is_repeat, "{number}");
        }
        let mut counts = Repeats::of(true);
        assert!(!counts.has(&at(1, 0, wakeup)) && !counts.has(&at(2, 0, wakeup)) && counts.has(&at(2, 0, wakeup)));
    }
}
