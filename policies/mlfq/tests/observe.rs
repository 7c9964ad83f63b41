//! Looking into a run: which task was in which queue for how long.

use crate::policies::observe::{self, Settings};
use schedlab_model::ids::TaskId;
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Reason};

pub use crate::policies::observe::statuses as moves;

/// Time on a CPU in one queue, in microseconds.
pub type Piece = (u64, u64);

/// What happens in a scenario of `vectors/`.
pub fn run(vector: &str, settings: Settings) -> Vec<Event> {
    observe::run("mlfq", &observe::vector("mlfq", vector), settings)
}

/// What happens on `cpus` CPUs in `seconds` with these tasks, written in the scenario language.
pub fn run_tasks(cpus: u32, seconds: u32, tasks: &str, settings: Settings) -> Vec<Event> {
    let workload = observe::workload(&format!("cpus = {cpus}"), &format!("{seconds}s"), tasks);
    observe::run("mlfq", &workload, settings)
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

/// When a task got its CPU and when it left it, in order; cut off where nothing happens any more.
pub fn turns(events: &[Event], task: u32) -> Vec<(Time, Time)> {
    let end = events.last().expect("events").time;
    observe::turns(events, task).into_iter().map(|(from, until)| (from, until.unwrap_or(end))).collect()
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
