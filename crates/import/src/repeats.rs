//! Events that a tool recorded twice, as perf does that is asked twice for one tracepoint: equal in all they say, with nothing
//! between them by which the first could have happened again.

use crate::gather::{Entry, What};
use crate::told::Event;
use std::collections::BTreeMap;

/// The most events of one CPU at one instant that are compared.
const MOST: usize = 64;

/// What each CPU reported at its last instant, since its last switch.
#[derive(Default)]
pub struct Repeats {
    cpus: BTreeMap<u32, Vec<Entry>>,
}

impl Repeats {
    /// Whether the next entry, in the order of time, says what was said.
    pub fn has(&mut self, entry: &Entry) -> bool {
        let before = self.cpus.entry(entry.head.cpu).or_default();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::told::{Head, Task};
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
            (at(2, 0, switch(1, 2)), false),
        ];
        for (number, (entry, is_repeat)) in told.iter().enumerate() {
            assert_eq!(repeats.has(entry), *is_repeat, "{number}");
        }
    }
}
