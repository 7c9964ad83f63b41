//! Requests from outside that came late: their worker waited for them and was woken after they were due. The kernel's
//! timer is late then, or the machine, and neither the policy nor the load.

use schedlab_load::LATE_NS;
use schedlab_model::ids::{RequestId, RoleId, TaskId};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind};
use std::collections::{BTreeMap, BTreeSet};

/// How many there were for each role whose tasks took requests from outside.
pub fn from_outside(events: &[Event]) -> BTreeMap<RoleId, u64> {
    let mut roles: BTreeMap<TaskId, RoleId> = BTreeMap::new();
    let mut outside: BTreeSet<RequestId> = BTreeSet::new();
    let mut due: BTreeMap<TaskId, Time> = BTreeMap::new();
    let mut late = BTreeMap::new();
    for event in events {
        match event.kind {
            EventKind::Fork { task, role, .. } => _ = roles.insert(task, role),
            EventKind::RequestQueue { request, task: None, .. } => _ = outside.insert(request),
            EventKind::RequestBegin { task, intended, request: Some(request) } if outside.remove(&request) => {
                if let Some(role) = roles.get(&task) {
                    late.entry(*role).or_insert(0);
                }
                // One that had been there already began when its worker came for it.
                if intended == event.time {
                    due.insert(task, intended);
                }
            }
            EventKind::Wakeup { task, .. } => {
                let is_late = due.remove(&task).is_some_and(|due| event.time.ns() > due.ns() + LATE_NS);
                if let Some(count) = roles.get(&task).and_then(|role| late.get_mut(role)) {
                    *count += u64::from(is_late);
                }
            }
            _ => {}
        }
    }
    late
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::ids::CpuId;
    use schedlab_model::trace::WakeSource;

    #[test]
    fn a_worker_that_is_woken_late_has_a_late_request() {
        let task = TaskId(0);
        let at = |ns: u64, kind| Event { time: Time(ns), cpu: CpuId(0), kind };
        let comes = |request: u32, due: u64, woken: u64| {
            let request = RequestId(request);
            let wakeup = EventKind::Wakeup { task, target: CpuId(0), waker: None, source: WakeSource::Timer };
            [
                at(due, EventKind::RequestQueue { request, task: None, role: RoleId(3) }),
                at(due, EventKind::RequestBegin { task, intended: Time(due), request: Some(request) }),
                at(woken, wakeup),
            ]
        };
        let fork = at(0, EventKind::Fork { task, role: RoleId(3), parent: None });
        let events: Vec<Event> = [fork]
            .into_iter()
            .chain(comes(0, 10, 20))
            .chain(comes(1, 1000, 1001 + LATE_NS))
            .chain(comes(2, 3 * LATE_NS, 4 * LATE_NS))
            .collect();
        assert_eq!(from_outside(&events), BTreeMap::from([(RoleId(3), 1)]));
    }
}
