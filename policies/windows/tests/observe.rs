//! Looking into a run: priorities, turns, where threads were put. Times are in microseconds.

use crate::policies::observe::{self, us};
use schedlab_model::scenario::Scenario;
use schedlab_model::trace::{Event, EventKind};
use schedlab_model::{ids::TaskId, time::Time};
use std::collections::{BTreeMap, BTreeSet};

pub use crate::policies::observe::Settings;

/// The clock tick; 64 of them are a second.
pub const TICK: u64 = 15_625;

/// What happens in a scenario of `vectors/`.
pub fn run(vector: &str, settings: Settings) -> Vec<Event> {
    observe::run("windows", &observe::vector("windows", vector), settings)
}

/// What happens in a scenario that all policies share, with another number of CPUs.
pub fn run_shared(name: &str, cpus: u32, seconds: u32, settings: Settings) -> Vec<Event> {
    let path = observe::policies().join(format!("../scenarios/{name}.toml"));
    let text = std::fs::read_to_string(path).expect("a scenario");
    let text = text.replace("cpus = 2", &format!("cpus = {cpus}"));
    let text = text.replace("duration = \"60s\"", &format!("duration = \"{seconds}s\""));
    observe::run("windows", &observe::compiled(Scenario::parse(&text, name)), settings)
}

/// What happens on `cpus` CPUs in `seconds` with these tasks, written in the scenario language.
pub fn run_tasks(cpus: u32, seconds: u32, tasks: &str, settings: Settings) -> Vec<Event> {
    let machine = format!("cpus = {cpus}\nwatchdog = \"60min\"");
    observe::run("windows", &observe::workload(&machine, &format!("{seconds}s"), tasks), settings)
}

/// The priorities of a thread, and when it came to them.
pub fn priorities(events: &[Event], task: u32) -> Vec<(u64, u64)> {
    observe::statuses(events, task).into_iter().map(|(word, at)| (word, us(at))).collect()
}

/// When a thread got a CPU and when it left it, in order; cut off where nothing happens any more. What took no time is left
/// out.
pub fn turns(events: &[Event], task: u32) -> Vec<(u64, u64)> {
    let end = events.last().expect("events").time;
    let turns = observe::turns(events, task).into_iter().map(|(from, until)| (us(from), us(until.unwrap_or(end))));
    turns.filter(|turn| turn.0 < turn.1).collect()
}

/// The CPUs on which a thread was put, and when it became ready there.
pub fn placed(events: &[Event], task: u32) -> Vec<(u64, u32)> {
    let put = |event: &Event| match event.kind {
        EventKind::Wakeup { task: of, target, .. } if of == TaskId(task) => Some((us(event.time), target.0)),
        _ => None,
    };
    events.iter().filter_map(put).collect()
}

/// From each wake-up of a thread to the moment at which it sleeps again.
pub fn responses(events: &[Event], task: u32) -> Vec<u64> {
    let (mut since, mut responses) = (None, Vec::new());
    for event in events {
        match event.kind {
            EventKind::Wakeup { task: of, .. } if of == TaskId(task) => since = Some(us(event.time)),
            EventKind::Switch { previous: Some(of), reason, .. } if of == TaskId(task) => {
                use schedlab_model::trace::Reason::{Blocked, Exited};
                if matches!(reason, Blocked | Exited) {
                    responses.extend(since.take().map(|from| us(event.time) - from));
                }
            }
            _ => {}
        }
    }
    responses
}

/// How long each request took, with its task, without the first one of each, which all tasks begin at one instant.
pub fn requests(events: &[Event]) -> Vec<(u32, u64)> {
    let (mut begun, mut ended, mut requests) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
    for event in events {
        match event.kind {
            EventKind::RequestBegin { task, intended, .. } => _ = begun.insert(task, intended),
            EventKind::RequestEnd { task, .. } if !ended.insert(task) => {
                requests.push((task.0, us(event.time.since(begun[&task]))));
            }
            _ => {}
        }
    }
    requests
}

/// How many of these requests took how long.
pub fn request_times(events: &[Event]) -> BTreeMap<u64, u32> {
    let mut counts = BTreeMap::new();
    requests(events).into_iter().for_each(|(_, time)| *counts.entry(time).or_default() += 1);
    counts
}

/// How many threads there are on each CPU at an instant.
pub fn load(events: &[Event], cpus: usize, at: u64) -> Vec<usize> {
    observe::spread(events, cpus, Time(at * 1000 + 999))
}

/// How often a thread changed its CPU.
pub fn migrations(events: &[Event]) -> usize {
    observe::migrations(events).len()
}
