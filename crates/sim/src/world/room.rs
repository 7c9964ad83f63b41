//! What a run may have at once. Everything that a scenario can make grow asks here first, so that a run which would take
//! all memory ends with an error that names what there was too much of.

use super::{Birth, World};
use crate::error::RunError;
use schedlab_model::time::Time;
use schedlab_model::workload::MAX_TASKS_AT_ONCE;

/// The most requests that wait or are in tasks' hands at once; each takes some 60 bytes.
pub(super) const MAX_REQUESTS_AT_ONCE: u64 = 1 << 22;
/// The most tasks, and the most requests, that there may be in a run: their numbers are of 32 bits, and some are kept.
const MAX_EVER: u64 = u32::MAX as u64 - (1 << 24);

/// The account.
#[derive(Debug, Default)]
pub(super) struct Room {
    full: Option<Full>,
    /// How many new requests pass before the living ones are counted again.
    count_requests_at: u64,
}

/// Of what there was too much.
#[derive(Clone, Copy, Debug)]
struct Full {
    most: u64,
    what: &'static str,
    remedy: &'static str,
}

const TASKS: Full = Full {
    most: MAX_TASKS_AT_ONCE,
    what: "tasks at once",
    remedy: "fewer of them, longer gaps between arrivals, less work, or a shorter run",
};
const TASKS_EVER: Full = Full { most: MAX_EVER, what: "tasks in a run", remedy: "longer gaps, or a shorter run" };
const REQUESTS: Full = Full {
    most: MAX_REQUESTS_AT_ONCE,
    what: "requests without an answer",
    remedy: "more workers, an `answer` step, fewer messages, or a shorter run",
};
const REQUESTS_EVER: Full =
    Full { most: MAX_EVER, what: "requests in a run", remedy: "fewer messages, or a shorter run" };

impl World {
    /// Whether there is too much of something; the run ends then.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.room.full.is_some()
    }

    fn fill(&mut self, what: Full) {
        self.room.full = Some(what);
        self.has_to_end = true;
    }

    /// What there is too much of, as an error.
    pub fn check_room(&self) -> Result<(), RunError> {
        match self.room.full {
            None => Ok(()),
            Some(Full { most, what, remedy }) => Err(RunError::Full { most, what, remedy, time: Time(self.now_ns) }),
        }
    }

    /// Asks for tasks. What finds no room is not made.
    pub(super) fn ask_for(&mut self, birth: Birth, count: u32) {
        if self.has_room_for_tasks(count) {
            self.births.extend((0..count).map(|_| birth));
        }
    }

    /// Whether `count` more tasks fit.
    pub(super) fn has_room_for_tasks(&mut self, count: u32) -> bool {
        let waiting = self.births.len() + self.creator.as_ref().map_or(0, |creator| creator.arrived.len());
        let to_come = waiting as u64 + u64::from(count);
        if u64::from(self.tasks.created()) + to_come > MAX_EVER {
            self.fill(TASKS_EVER);
        } else if u64::from(self.tasks.alive()) + to_come > MAX_TASKS_AT_ONCE {
            self.fill(TASKS);
        }
        !self.is_full()
    }

    /// Whether `count` more messages fit, each of which may be a new request.
    pub(super) fn has_room_for_messages(&mut self, count: u32) -> bool {
        let ever = self.requests.born() + u64::from(count);
        if ever > MAX_EVER {
            self.fill(REQUESTS_EVER);
        } else if u64::from(count) > MAX_REQUESTS_AT_ONCE {
            self.fill(REQUESTS);
        } else if ever > self.room.count_requests_at {
            // Counted rarely: not again before there can be too many.
            let there = self.requests.waiting() + self.tasks.requests_held();
            let left = MAX_REQUESTS_AT_ONCE.checked_sub(there + u64::from(count));
            if left.is_none() {
                self.fill(REQUESTS);
            }
            self.room.count_requests_at = ever + left.unwrap_or(0).max(MAX_REQUESTS_AT_ONCE / 8);
        }
        !self.is_full()
    }
}

#[cfg(test)]
mod tests {
    use crate::ideal::Discipline;
    use crate::ideal::test_helpers::described;
    use crate::{RunError, ideal};
    use schedlab_model::trace::Sink;

    struct Nothing;

    impl Sink for Nothing {
        fn event(&mut self, _: &schedlab_model::trace::Event) {}
        fn finish(&mut self, _: schedlab_model::time::Time) {}
    }

    /// The end of a run of 100 s on two CPUs.
    fn end(tables: &str, discipline: Discipline) -> Result<(), RunError> {
        let mut workload = described(2, tables);
        workload.run.duration = schedlab_model::time::Time::from_s(100);
        ideal::run(&workload, discipline, 1, &mut Nothing, &mut ()).map(drop)
    }

    #[test]
    fn what_grows_without_bound_ends_the_run_with_its_name() {
        for (tables, what) in [
            ("[[task]]\nname = \"a\"\narrivals = \"1us\"\nonce = [{ sleep = \"50s\" }]\n", "tasks at once"),
            (
                "[[task]]\nname = \"a\"\nloop = [{ spawn = \"b\", count = 100000 }, { sleep = \"1ms\" }]\n\
              [[task]]\nname = \"b\"\nspawned = true\nonce = [{ sleep = \"90s\" }]\n",
                "tasks at once",
            ),
            (
                "[channel.c]\n[[source]]\nchannel = \"c\"\narrivals = \"1us\"\nmessages = 1000\n\
              [[task]]\nname = \"a\"\nloop = [{ recv = \"c\" }, { compute = \"1s\" }, { answer = true }]\n",
                "requests without",
            ),
            (
                "[[task]]\nname = \"a\"\nloop = [{ post = \"s\", times = 1000000 }, { sleep = \"1ms\" }]\n\
              [[task]]\nname = \"b\"\nloop = [{ wait = \"s\" }, { compute = \"1s\" }, { answer = true }]\n",
                "requests without",
            ),
        ] {
            for discipline in [Discipline::Fcfs, Discipline::Ps] {
                let error = end(tables, discipline).unwrap_err().to_string();
                assert!(error.contains(what) && error.contains("more than "), "{tables}: {error}");
            }
        }
    }

    #[test]
    fn what_comes_and_goes_finds_room_for_ever() {
        let tables = "[[task]]\nname = \"a\"\nloop = [{ repeat = 2000000, steps = [{ spawn = \"b\" }, { sleep = \"10us\" }] }]\n\
                      [[task]]\nname = \"b\"\nspawned = true\nonce = [{ compute = \"1us\" }]\n";
        end(tables, Discipline::Fcfs).unwrap();
    }
}
