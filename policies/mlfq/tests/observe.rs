//! Looking into a run: which task was in which queue for how long.

use crate::lab;
use schedlab_bpf::Executor;
use schedlab_model::ids::TaskId;
use schedlab_model::scenario::{Scenario, ScenarioError};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Reason};
use std::path::PathBuf;

/// Time on a CPU in one queue, in microseconds.
pub type Piece = (u64, u64);

/// What happens in a scenario of `vectors/`.
pub fn run(vector: &str, settings: &[(&str, u64)]) -> Vec<Event> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../policies/mlfq/vectors");
    simulate(Scenario::from_file(&folder.join(format!("{vector}.toml"))), settings)
}

/// What happens on `cpus` CPUs in `seconds` with these tasks, written in the scenario language.
pub fn run_tasks(cpus: u32, seconds: u32, tasks: &str, settings: &[(&str, u64)]) -> Vec<Event> {
    let text = format!("name = \"t\"\n{tasks}\n[machine]\ncpus = {cpus}\n[run]\nduration = \"{seconds}s\"");
    simulate(Scenario::parse(&text, "test"), settings)
}

fn simulate(scenario: Result<Scenario, ScenarioError>, settings: &[(&str, u64)]) -> Vec<Event> {
    let workload = scenario.and_then(|scenario| scenario.compile()).unwrap_or_else(|error| panic!("{error}"));
    let [one, two] = [Executor::Interpreter, Executor::Machine].map(|executor| {
        lab::run_with(&workload, "mlfq", executor, settings).unwrap_or_else(|error| panic!("{error}")).events
    });
    assert!(one == two, "the executors differ");
    one
}

/// When a task came into which queue.
pub fn moves(events: &[Event], task: u32) -> Vec<(u64, Time)> {
    let moved = |event: &Event| match event.kind {
        EventKind::Status { task: of, word } if of == TaskId(task) => Some((word, event.time)),
        _ => None,
    };
    events.iter().filter_map(moved).collect()
}

/// What a task did from one block to the next, as the queues it was in and the time it ran there.
pub fn bursts(events: &[Event], task: u32) -> Vec<Vec<Piece>> {
    let task = TaskId(task);
    let (mut bursts, mut burst, mut queue, mut since) = (Vec::new(), Vec::new(), 0, None);
    let close = |burst: &mut Vec<Piece>, queue: u64, from: Option<Time>, until: Time| {
        let ran = from.map_or(0, |from| until.since(from).ns() / 1000);
        match burst.last_mut() {
            _ if ran == 0 => {}
            Some((last, before)) if *last == queue => *before += ran,
            _ => burst.push((queue, ran)),
        }
    };
    for event in events {
        match event.kind {
            EventKind::Status { task: of, word } if of == task => {
                close(&mut burst, queue, since, event.time);
                since = since.map(|_| event.time);
                queue = word;
            }
            EventKind::Switch { previous, reason, next } => {
                if previous == Some(task) {
                    close(&mut burst, queue, since.take(), event.time);
                    if matches!(reason, Reason::Blocked | Reason::Exited) {
                        bursts.push(std::mem::take(&mut burst));
                    }
                }
                if next == Some(task) {
                    since = Some(event.time);
                }
            }
            _ => {}
        }
    }
    bursts.push(burst);
    bursts.retain(|burst| !burst.is_empty());
    bursts
}

/// The queue in which each burst began.
pub fn starts(bursts: &[Vec<Piece>]) -> Vec<u64> {
    bursts.iter().map(|burst| burst[0].0).collect()
}

/// When a task got its CPU and when it left it, in order.
pub fn turns(events: &[Event], task: u32) -> Vec<(Time, Time)> {
    let (task, mut turns, mut since) = (TaskId(task), Vec::new(), None);
    for event in events {
        if let EventKind::Switch { previous, next, .. } = event.kind {
            if previous == Some(task) {
                turns.extend(since.take().map(|from| (from, event.time)));
            }
            if next == Some(task) {
                since = Some(event.time);
            }
        }
    }
    turns.extend(since.zip(events.last().map(|event| event.time)));
    turns
}

/// What happened from an instant on, with the parent's queue at that time put before it.
pub fn after(events: &[Event], from: Time, queue: u64) -> Vec<Event> {
    let status = Event { kind: EventKind::Status { task: TaskId(0), word: queue }, ..events[0] };
    [status].into_iter().chain(events.iter().filter(|event| event.time >= from).copied()).collect()
}

/// The longest time without a turn between two instants.
pub fn longest_gap(events: &[Event], task: u32, from: Time, until: Time) -> Time {
    let turns: Vec<_> = turns(events, task).into_iter().filter(|turn| turn.1 > from && turn.0 < until).collect();
    let leaves = std::iter::once(from).chain(turns.iter().map(|turn| turn.1));
    let comes = turns.iter().map(|turn| turn.0).chain([until]);
    leaves.zip(comes).map(|(left, came)| came.since(left)).max().expect("at least one gap")
}
