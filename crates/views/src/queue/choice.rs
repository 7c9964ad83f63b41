//! The wake-up that is looked at.

use crate::{Roster, Wait, WaitEnd, waits::Waits};
use schedlab_model::{
    time::Time,
    trace::{Event, Sink},
};

/// Which wake-up is looked at.
#[derive(Clone, Debug)]
pub struct Choice {
    roster: Roster,
    waits: Waits,
    /// The first one from this instant on, instead of the longest wait.
    at: Option<Time>,
    chosen: Option<Wait>,
}

impl Choice {
    /// Of the wake-ups that the roster's selection covers, the first from `at` on; without it the one that was followed
    /// by the longest wait, of equals the first.
    pub fn new(roster: Roster, at: Option<Time>) -> Choice {
        Choice { roster, waits: Waits::default(), at, chosen: None }
    }

    fn consider(&mut self, wait: Wait) {
        let selection = self.roster.selection();
        let asked = selection.covers(wait.woken) && self.roster.wants(wait.task.task);
        let is_known = !matches!(wait.end, WaitEnd::Untold { .. });
        if !asked || !is_known || self.at.is_some_and(|at| wait.woken < at) {
            return;
        }
        let better = |chosen: &Wait| match self.at {
            Some(_) => wait.number < chosen.number,
            None => (wait.length(), chosen.number) > (chosen.length(), wait.number),
        };
        if self.chosen.as_ref().is_none_or(better) {
            self.chosen = Some(wait);
        }
    }

    /// The tasks of the trace.
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// After the end: the wake-up, if there is one.
    pub fn chosen(&self) -> Option<&Wait> {
        self.chosen.as_ref()
    }
}

impl Sink for Choice {
    fn event(&mut self, event: &Event) {
        self.roster.observe(event);
        if let Some(wait) = self.waits.take(event, self.roster.names()) {
            self.consider(wait);
        }
    }

    fn finish(&mut self, end: Time) {
        for wait in self.waits.finish(end) {
            self.consider(wait);
        }
    }
}
