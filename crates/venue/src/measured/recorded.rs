//! What the kernel's scheduler did to the tasks of a run, as events, with the requests that the tasks saw among them.

use super::seen;
use schedlab_kernel::{Comm, Converter, Gaps, Record, Summary, Thread};
use schedlab_load::Report;
use schedlab_model::ids::{CpuId, RoleId, TaskId};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Reason};
use std::collections::{BTreeMap, BTreeSet};

/// The events of a run in the order of time, up to its end, and what came of the records. `others` says whether the recorder
/// told of other programs.
pub fn events(records: &[Record], report: &Report, cpus: u32, end_ns: u64, others: bool) -> (Vec<Event>, Summary) {
    let roles: BTreeMap<i32, u32> = report.tasks.iter().map(|task| (task.tid, task.role)).collect();
    // A real program runs in a process of its own.
    let programs: BTreeMap<i32, u32> =
        report.tasks.iter().filter_map(|task| Some((task.program?, task.role))).collect();
    let role_of = |thread: &Thread, _: &Comm| {
        roles.get(&thread.tid).or_else(|| programs.get(&thread.tgid)).map(|&role| RoleId(role))
    };
    let mut gaps = Gaps::default();
    records.iter().for_each(|record| gaps.note(record));
    let converter = Converter::new(report.start_ns, role_of).with_gaps(gaps);
    let mut converter = if others { converter } else { converter.without_others() };
    let mut scheduled: Vec<Event> = Vec::new();
    let last = report.start_ns.saturating_add(end_ns);
    for record in records.iter().take_while(|record| record.time_ns <= last) {
        converter.record(record, &mut scheduled);
    }
    let summary = converter.finish(last, &mut scheduled);
    let numbers: BTreeMap<i32, TaskId> =
        summary.tasks.iter().enumerate().map(|(number, task)| (task.thread.tid, TaskId(number as u32))).collect();
    let number = |task: u32| numbers.get(&report.tasks[task as usize].tid).copied();
    let requests = seen::requests(report, number);
    let mut all = merge(scheduled, requests, end_ns);
    let ended = report.tasks.iter().enumerate().filter(|(_, task)| (1..=end_ns).contains(&task.ended_ns));
    end(&mut all, ended.filter_map(|(index, _)| number(index as u32)).collect(), end_ns);
    // What CPUs do that are not the scenario's is of no interest.
    all.retain(|event| event.cpu.0 < cpus || !matches!(event.kind, EventKind::Untraced { .. }));
    all.iter_mut().for_each(|event| event.cpu = within(event.cpu, cpus));
    (all, summary)
}

/// A task has done its last step some time before the kernel ends it. Those for which the run is over in between end with the
/// run.
fn end(all: &mut Vec<Event>, mut ended: BTreeSet<TaskId>, end_ns: u64) {
    // The CPU on which each of them is.
    let mut on: BTreeMap<TaskId, CpuId> = BTreeMap::new();
    for event in all.iter() {
        match event.kind {
            EventKind::Exit { task } => {
                ended.remove(&task);
            }
            EventKind::Switch { previous, next, .. } => {
                if let Some(task) = previous {
                    on.remove(&task);
                }
                on.extend(next.map(|task| (task, event.cpu)));
            }
            _ => {}
        }
    }
    for task in ended {
        let Some(cpu) = on.get(&task).copied() else { continue };
        let event = |kind| Event { time: Time(end_ns), cpu, kind };
        all.push(event(EventKind::Exit { task }));
        all.push(event(EventKind::Switch { previous: Some(task), reason: Reason::Exited, next: None }));
    }
}

/// A CPU outside of the scenario's machine can only be one on which an interrupt woke a task.
fn within(cpu: CpuId, cpus: u32) -> CpuId {
    CpuId(cpu.0.min(cpus - 1))
}

/// Puts two ordered lists together. At one instant a request begins after the switch that let its task run, and ends
/// before the one that takes it away.
fn merge(scheduled: Vec<Event>, requests: Vec<Event>, end_ns: u64) -> Vec<Event> {
    let mut all = Vec::with_capacity(scheduled.len() + requests.len());
    let mut scheduled = scheduled.into_iter().peekable();
    for request in requests.into_iter().take_while(|event| event.time.ns() <= end_ns) {
        let ends = matches!(request.kind, EventKind::RequestEnd { .. });
        let before = |event: &Event| event.time < request.time || (event.time == request.time && !ends);
        while let Some(event) = scheduled.next_if(before) {
            all.push(event);
        }
        all.push(request);
    }
    all.extend(scheduled);
    all.retain(|event| event.time <= Time(end_ns));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_done_its_last_step_ends_with_the_run() {
        let at = |time: u64, cpu: u32, kind: EventKind| Event { time: Time(time), cpu: CpuId(cpu), kind };
        let switch = |previous: Option<u32>, reason: Reason, next: Option<u32>| EventKind::Switch {
            previous: previous.map(TaskId),
            reason,
            next: next.map(TaskId),
        };
        let before = vec![
            at(1, 0, switch(None, Reason::Idle, Some(0))),
            at(2, 1, switch(None, Reason::Idle, Some(1))),
            at(3, 2, switch(None, Reason::Idle, Some(2))),
            at(5, 0, EventKind::Exit { task: TaskId(0) }),
            at(5, 0, switch(Some(0), Reason::Exited, None)),
        ];
        let mut all = before.clone();
        // The first has ended in the kernel's eyes, the second has not, the third works on.
        end(&mut all, BTreeSet::from([TaskId(0), TaskId(1)]), 9);
        let more = [at(9, 1, EventKind::Exit { task: TaskId(1) }), at(9, 1, switch(Some(1), Reason::Exited, None))];
        assert_eq!(all, [&before[..], &more].concat());
    }
}
