//! What the tasks of a run saw themselves, as events.

use schedlab_load::{Report, WaitingReport};
use schedlab_model::ids::{CpuId, RequestId, RoleId, TaskId};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind};

/// What the tasks themselves saw, as events in the order of time. There are no switches: each task's CPU time comes in
/// one piece, at its end.
pub fn whole(report: &Report) -> Vec<Event> {
    let end = report.tasks.iter().map(|task| task.ended_ns).max().unwrap_or(0);
    let mut events = requests(report, |task| Some(TaskId(task)));
    let mut add = |at: u64, kind| events.push(Event { time: Time(at.min(end)), cpu: CpuId(0), kind });
    for (number, task) in report.tasks.iter().enumerate() {
        let Some(began) = task.began_ns else { continue };
        let id = TaskId(number as u32);
        let parent = task.parent.map(TaskId);
        add(task.intended_ns.min(began), EventKind::Fork { task: id, role: RoleId(task.role), parent });
        add(task.ended_ns, EventKind::Share { task: id, cpu_time: Time(task.cpu_ns) });
    }
    sort(&mut events);
    events
}

/// Begins and ends of requests, and moves between control groups; `number` gives the number that a task has in the trace.
pub fn requests(report: &Report, number: impl Fn(u32) -> Option<TaskId>) -> Vec<Event> {
    let mut events = Vec::with_capacity(2 * report.requests.len());
    let mut add = |at: u64, kind| events.push(Event { time: Time(at), cpu: CpuId(0), kind });
    for (task, open) in report.tasks.iter().enumerate().filter_map(|(n, task)| Some((n, task.open_intended_ns?))) {
        if let Some(id) = number(task as u32) {
            let begun = open.max(report.tasks[task].began_ns.unwrap_or(0));
            add(begun, EventKind::RequestBegin { task: id, intended: Time(open), request: None });
        }
    }
    for request in &report.requests {
        let Some(task) = number(request.task) else { continue };
        let which = request.taken.map(|taken| RequestId(taken.request));
        if let Some(taken) = &request.taken {
            add(taken.queued_ns, queued(taken, &number));
        }
        add(request.begin_ns, EventKind::RequestBegin { task, intended: Time(request.intended_ns), request: which });
        if let Some(end) = request.end_ns.filter(|_| request.answered) {
            add(end, EventKind::RequestEnd { task, demand: Time(request.demand_ns), request: which });
        }
    }
    for &(at, task, control_group) in &report.joins {
        if let Some(task) = number(task) {
            add(at, EventKind::Join { task, control_group });
        }
    }
    for release in &report.releases {
        if let Some(task) = number(release.task) {
            let (at, deadline) = (Time(release.release_ns), Time(release.deadline_ns));
            let kind = EventKind::Release { task, release: at, deadline, skipped: release.skipped };
            add(release.at_ns, kind);
        }
    }
    for waiting in &report.waiting {
        add(waiting.queued_ns, queued(waiting, &number));
    }
    sort(&mut events);
    events
}

/// A request begins to wait.
fn queued(waiting: &WaitingReport, number: &impl Fn(u32) -> Option<TaskId>) -> EventKind {
    let task = waiting.from.and_then(number);
    EventKind::RequestQueue { request: RequestId(waiting.request), task, role: RoleId(waiting.role) }
}

fn sort(events: &mut [Event]) {
    events.sort_by_key(|event| (event.time, rank(&event.kind)));
}

/// The order of what happens at one instant: births first, ends before begins, accounts last.
fn rank(kind: &EventKind) -> u8 {
    match kind {
        EventKind::Fork { .. } => 0,
        EventKind::RequestEnd { .. } => 1,
        EventKind::RequestQueue { .. } => 2,
        EventKind::RequestBegin { .. } => 3,
        _ => 4,
    }
}
