//! Wake-ups and what came of them.

use schedlab_model::{
    ids::{CpuId, TaskId},
    names::{Label, Names},
    time::Time,
    trace::{Event, EventKind, Reason, WakeSource},
};
use std::collections::HashMap;

/// From a wake-up until the task runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The number of the wake-up among the events of the trace, from 0.
    pub number: u64,
    /// The task that was woken.
    pub task: Label,
    /// When.
    pub woken: Time,
    /// The CPU on whose run queue it was placed.
    pub target: CpuId,
    /// The task that woke it, if a task did.
    pub waker: Option<Label>,
    /// What it had waited for.
    pub source: WakeSource,
    /// How it continued.
    pub end: WaitEnd,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitEnd {
    /// The task ran.
    Ran {
        /// From then on.
        at: Time,
        /// There.
        cpu: CpuId,
    },
    /// The task ended without having run.
    Exited {
        /// Then.
        at: Time,
    },
    /// The task still waited when the trace ended.
    Open {
        /// Then.
        at: Time,
    },
    /// Events are missing: when the task ran is not known.
    Untold {
        /// Known is that it was then runnable again or still.
        at: Time,
    },
}

impl Wait {
    /// How long it lasted, as far as it is known.
    pub fn length(&self) -> Time {
        let (WaitEnd::Ran { at, .. } | WaitEnd::Exited { at } | WaitEnd::Open { at } | WaitEnd::Untold { at }) =
            self.end;
        at.since(self.woken)
    }
}

/// What a runnable task does. A task that is not runnable is not kept.
#[derive(Clone, Copy, Debug)]
enum State {
    /// It was woken and has not run; the end of the wait is yet to be filled in.
    Woken(Wait),
    /// It runs, was preempted, or waits for a time that is not known.
    Ran,
}

/// Follows all wake-ups of a trace. Keeps the runnable tasks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waits {
    events: u64,
    tasks: HashMap<TaskId, State>,
}

impl Waits {
    /// Takes the next event, which `names` has seen, and gives the wait that ended with it.
    pub fn take(&mut self, event: &Event, names: &Names) -> Option<Wait> {
        let number = self.events;
        self.events += 1;
        let now = event.time;
        match event.kind {
            // Since when it waits is not known.
            EventKind::Wakeup { task, source: WakeSource::Untold, .. } => {
                let before = self.tasks.insert(task, State::Ran);
                ended(before, WaitEnd::Untold { at: now })
            }
            EventKind::Wakeup { task, target, waker, source } => {
                let wait = || {
                    let (waker, end) = (waker.map(|waker| names.label(waker)), WaitEnd::Open { at: now });
                    Wait { number, task: names.label(task), woken: now, target, waker, source, end }
                };
                // Where events were lost, a runnable task may wake up; it has waited since the first time.
                self.tasks.entry(task).or_insert_with(|| State::Woken(wait()));
                None
            }
            EventKind::Switch { previous, reason, next } => {
                if let Some(task) = previous {
                    self.leave(task, reason);
                }
                let before = self.tasks.insert(next?, State::Ran);
                ended(before, WaitEnd::Ran { at: now, cpu: event.cpu })
            }
            EventKind::Exit { task } => ended(self.tasks.remove(&task), WaitEnd::Exited { at: now }),
            _ => None,
        }
    }

    fn leave(&mut self, task: TaskId, reason: Reason) {
        match reason {
            Reason::Blocked | Reason::Exited | Reason::Idle => self.tasks.remove(&task),
            Reason::SliceEnd | Reason::Preempted | Reason::Yielded => self.tasks.insert(task, State::Ran),
        };
    }

    /// The waits that last until the end of the trace, in the order of their wake-ups.
    pub fn finish(&mut self, end: Time) -> Vec<Wait> {
        let open = self.tasks.drain().filter_map(|(_, state)| ended(Some(state), WaitEnd::Open { at: end }));
        let mut open: Vec<Wait> = open.collect();
        open.sort_by_key(|wait| wait.number);
        open
    }
}

fn ended(state: Option<State>, end: WaitEnd) -> Option<Wait> {
    match state {
        Some(State::Woken(wait)) => Some(Wait { end, ..wait }),
        Some(State::Ran) | None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_helpers::{exit, fork, switch, wakeup};

    /// Number, task, woken and length of the waits of these events.
    fn waits(events: &[Event], end: u64) -> Vec<(u64, u32, u64, u64, &'static str)> {
        let (mut waits, mut names) = (Waits::default(), Names::new([]));
        let mut all = Vec::new();
        for event in events {
            names.observe(event);
            all.extend(waits.take(event, &names));
        }
        all.extend(waits.finish(Time(end)));
        let word = |end| match end {
            WaitEnd::Ran { .. } => "ran",
            WaitEnd::Exited { .. } => "exited",
            WaitEnd::Open { .. } => "open",
            WaitEnd::Untold { .. } => "untold",
        };
        all.iter().map(|w| (w.number, w.task.task.0, w.woken.ns(), w.length().ns(), word(w.end))).collect()
    }

    #[test]
    fn a_wait_whose_end_is_not_told_is_no_wait_to_the_end() {
        let kind = EventKind::Wakeup { task: TaskId(0), target: CpuId(0), waker: None, source: WakeSource::Untold };
        let events = [fork(0, 0, 0), wakeup(10, 0, 0), Event { time: Time(40), cpu: CpuId(0), kind }];
        assert_eq!(waits(&events, 100), [(1, 0, 10, 30, "untold")]);
    }

    #[test]
    fn a_wait_lasts_from_the_wake_up_to_the_first_run() {
        let events = [
            fork(0, 0, 0),
            wakeup(0, 0, 0),
            switch(0, 0, None, Reason::Idle, Some(0)),
            wakeup(10, 1, 0),
            switch(15, 0, Some(0), Reason::SliceEnd, Some(1)),
            // To be preempted is no wake-up: coming back is not counted.
            switch(25, 0, Some(1), Reason::Blocked, Some(0)),
            wakeup(30, 1, 0),
            wakeup(31, 1, 0),
            wakeup(40, 2, 0),
            exit(45, 0, 2),
        ];
        let expected = [(1, 0, 0, 0, "ran"), (3, 1, 10, 5, "ran"), (8, 2, 40, 5, "exited"), (6, 1, 30, 70, "open")];
        assert_eq!(waits(&events, 100), expected);
    }
}
