//! What is in a trace.

use schedlab_model::{
    ids::RoleId,
    time::Time,
    trace::{Event, EventKind, Sink},
};
use std::collections::BTreeMap;

/// Counts of what happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// All events.
    pub events: u64,
    /// Wake-ups.
    pub wakeups: u64,
    /// Switches.
    pub switches: u64,
    /// Migrations.
    pub migrations: u64,
    /// Timer ticks.
    pub ticks: u64,
    /// Requests that ended.
    pub requests: u64,
    /// Words of the policy about tasks.
    pub statuses: u64,
    /// Accounts of CPU time that do not say where and when it was spent.
    pub shares: u64,
    /// Pieces of overhead.
    pub overheads: u64,
    /// The tasks of each role.
    pub tasks: BTreeMap<RoleId, u64>,
    /// The first and the last event.
    pub span: Option<(Time, Time)>,
}

impl Sink for Summary {
    fn event(&mut self, event: &Event) {
        self.events += 1;
        let first = self.span.map_or(event.time, |(first, _)| first);
        self.span = Some((first, event.time));
        match event.kind {
            EventKind::Fork { role, .. } => *self.tasks.entry(role).or_default() += 1,
            EventKind::Wakeup { .. } => self.wakeups += 1,
            EventKind::Switch { .. } => self.switches += 1,
            EventKind::Migrate { .. } => self.migrations += 1,
            EventKind::Tick => self.ticks += 1,
            EventKind::RequestEnd { .. } => self.requests += 1,
            EventKind::Status { .. } => self.statuses += 1,
            EventKind::Share { .. } => self.shares += 1,
            EventKind::Overhead { .. } => self.overheads += 1,
            EventKind::RequestQueue { .. }
            | EventKind::RequestBegin { .. }
            | EventKind::Exit { .. }
            | EventKind::Join { .. }
            | EventKind::Throttle { .. }
            | EventKind::Release { .. }
            | EventKind::Call { .. }
            | EventKind::Untraced { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_helpers::{exit, fork, switch, wakeup};
    use schedlab_model::trace::Reason;

    #[test]
    fn everything_is_counted() {
        let mut summary = Summary::default();
        summary.events(&[
            fork(1, 0, 0),
            fork(1, 1, 1),
            fork(2, 2, 0),
            wakeup(3, 0, 0),
            switch(4, 0, None, Reason::Idle, Some(0)),
            exit(9, 0, 0),
        ]);
        let expected = Summary {
            events: 6,
            wakeups: 1,
            switches: 1,
            tasks: [(RoleId(0), 2), (RoleId(1), 1)].into(),
            span: Some((Time(1), Time(9))),
            ..Summary::default()
        };
        assert_eq!(summary, expected);
    }
}
