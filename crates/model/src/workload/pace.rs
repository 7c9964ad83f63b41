//! When the jobs of periodic tasks are released.

use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When the jobs of a periodic task are released: at its start, and from `offset` after it on each `period`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// The number of the timer among those of the program.
    pub timer: u32,
    /// From one release to the next.
    pub period: Time,
    /// What releases are counted from.
    #[serde(default)]
    pub from: Origin,
    /// From there to the first release.
    pub offset: Time,
    /// From a release to when its job is to be done.
    pub deadline: Time,
    /// What follows when the next release is over already.
    pub overrun: Overrun,
}

/// What the releases of a periodic task are counted from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The start of the task.
    #[default]
    Task,
    /// The start of the run.
    Run,
}

/// What a periodic task does when its next release is over already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Overrun {
    /// It waits for the first release to come, and those in between have no job (`hrtimer_forward`, which is what a timer
    /// with an interval does).
    #[default]
    Skip,
    /// It continues with the job of that release at once, until it has caught up (`clock_nanosleep` with
    /// `TIMER_ABSTIME`, which returns at once).
    CatchUp,
    /// It continues at once, and releases count from now on: the grid moves.
    Restart,
}

/// A release of a periodic task. Times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// When it is; not later than now if the task has not to wait.
    pub at_ns: u64,
    /// When its job is to be done.
    pub deadline_ns: u64,
    /// Releases before it that get no job.
    pub skipped: u32,
}

impl Pace {
    /// The job with which a task begins that was born at this instant and works before its first release.
    pub fn first_job(&self, born_ns: u64) -> Release {
        let first = self.offset.min(self.deadline);
        Release { at_ns: born_ns, deadline_ns: born_ns.saturating_add(first.ns()), skipped: 0 }
    }

    /// What its releases are counted from, of a task that was born then in a run that began then.
    pub fn origin(&self, born_ns: u64, run_ns: u64) -> u64 {
        match self.from {
            Origin::Task => born_ns,
            Origin::Run => run_ns,
        }
    }

    /// The release that follows the `last` one, counted from `origin_ns` if there was none.
    pub fn next(&self, last_ns: Option<u64>, origin_ns: u64, now_ns: u64) -> Release {
        let (from_ns, gap) = last_ns.map_or((origin_ns, self.offset), |last| (last, self.period));
        let due_ns = from_ns.saturating_add(gap.ns());
        let behind_ns = now_ns.saturating_sub(due_ns);
        let (at_ns, skipped) = match self.overrun {
            _ if behind_ns == 0 => (due_ns, 0),
            Overrun::Skip => {
                let skipped = behind_ns.div_ceil(self.period.ns());
                (due_ns.saturating_add(skipped * self.period.ns()), skipped)
            }
            Overrun::CatchUp => (due_ns, 0),
            Overrun::Restart => (now_ns, 0),
        };
        let skipped = u32::try_from(skipped).unwrap_or(u32::MAX);
        Release { at_ns, deadline_ns: at_ns.saturating_add(self.deadline.ns()), skipped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_a_multiple_of_the_period_whatever_came_between() {
        let pace = |overrun| Pace {
            timer: 0,
            period: Time(10),
            from: Origin::Task,
            offset: Time(4),
            deadline: Time(7),
            overrun,
        };
        let at = |overrun, last, now| {
            let Release { at_ns, deadline_ns, skipped } = pace(overrun).next(last, 100, now);
            (at_ns, deadline_ns, skipped)
        };
        for overrun in [Overrun::Skip, Overrun::CatchUp, Overrun::Restart] {
            assert_eq!(at(overrun, None, 101), (104, 111, 0));
            assert_eq!(at(overrun, Some(104), 114), (114, 121, 0), "just in time");
        }
        assert_eq!(at(Overrun::Skip, Some(104), 115), (124, 131, 1));
        assert_eq!(at(Overrun::Skip, Some(104), 134), (134, 141, 2));
        assert_eq!(at(Overrun::CatchUp, Some(104), 134), (114, 121, 0));
        assert_eq!(at(Overrun::Restart, Some(104), 135), (135, 142, 0));
        assert_eq!(pace(Overrun::Skip).first_job(100).deadline_ns, 104);
    }
}
