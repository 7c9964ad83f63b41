//! Looking into a run: what the policy published about its tasks, and which task ran when.

use crate::policies::observe::{self, Settings};
use schedlab_model::ids::{CpuId, TaskId};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind};
use schedlab_model::workload::Workload;

/// The version by its parameter.
pub const V22: u64 = 0;
/// The older one.
pub const V3: u64 = 1;

/// A millisecond.
pub const MS: u64 = 1_000_000;

/// What a status word says with `publish=detail`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    pub prio: u64,
    pub interactive: bool,
    pub sleep_avg_ns: u64,
    pub slice: u64,
    pub credit: i64,
    pub class: u64,
}

impl Status {
    fn of(word: u64) -> Status {
        Status {
            prio: word & 255,
            interactive: word >> 8 & 1 == 1,
            sleep_avg_ns: word >> 9 & ((1 << 30) - 1),
            slice: word >> 39 & 1023,
            credit: (word >> 49 & 255) as i64 - 128,
            class: word >> 57,
        }
    }

    /// The sleep average in microseconds, cut off.
    pub fn sleep_avg_us(&self) -> u64 {
        self.sleep_avg_ns / 1000
    }

    /// Priority and label.
    pub fn label(&self) -> (u64, bool) {
        (self.prio, self.interactive)
    }
}

/// What happens in a scenario of `vectors/` under a version, with all details published.
pub fn run(vector: &str, version: u64, settings: Settings) -> Vec<Event> {
    simulate(&observe::vector("linux-o1", vector), version, settings)
}

/// What happens on a machine (`cpus = 2`) in some milliseconds with these tasks, written in the scenario language.
pub fn run_tasks(machine: &str, ms: u64, tasks: &str, version: u64, settings: Settings) -> Vec<Event> {
    simulate(&observe::workload(machine, &format!("{ms}ms"), tasks), version, settings)
}

/// One task alone on a CPU, from a sleep average in milliseconds: what was published about it.
pub fn alone(version: u64, sleep_avg_ms: u64, task: &str, ms: u64) -> Vec<Status> {
    let disk = if task.contains("disk") { "[device.disk]" } else { "" };
    let task = format!("[[task]]\nname = \"task\"\n{task}\n{disk}");
    let events = run_tasks("cpus = 1", ms, &task, version, &[("sleep_avg", sleep_avg_ms * MS)]);
    statuses(&events, 0).into_iter().map(|status| status.1).collect()
}

fn simulate(workload: &Workload, version: u64, settings: Settings) -> Vec<Event> {
    let settings: Vec<_> = [("version", version), ("publish", 1)].into_iter().chain(settings.iter().copied()).collect();
    observe::run("linux-o1", workload, &settings)
}

/// What was published about a task, and when.
pub fn statuses(events: &[Event], task: u32) -> Vec<(Time, Status)> {
    observe::statuses(events, task).into_iter().map(|(word, at)| (at, Status::of(word))).collect()
}

/// What was last published about a task up to an instant.
pub fn status_at(events: &[Event], task: u32, at: Time) -> Status {
    statuses(events, task).into_iter().take_while(|status| status.0 <= at).last().expect("a status").1
}

/// A turn of a task on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    pub task: u32,
    pub cpu: u32,
    pub from: Time,
    pub until: Time,
}

impl Turn {
    /// Its length in microseconds.
    pub fn us(&self) -> u64 {
        self.until.since(self.from).ns() / 1000
    }
}

/// All turns in the order in which they ended; those at the end of the run are cut off.
pub fn turns(events: &[Event]) -> Vec<Turn> {
    let (mut turns, mut running) = (Vec::new(), std::collections::BTreeMap::new());
    let end = events.last().expect("events").time;
    for event in events {
        if let EventKind::Switch { next, .. } = event.kind {
            if let Some((task, from)) = running.remove(&event.cpu) {
                turns.push(turn(task, event.cpu, from, event.time));
            }
            if let Some(next) = next {
                running.insert(event.cpu, (next, event.time));
            }
        }
    }
    turns.extend(running.into_iter().map(|(cpu, (task, from))| turn(task, cpu, from, end)));
    turns.retain(|turn| turn.us() > 0);
    turns
}

fn turn(task: TaskId, cpu: CpuId, from: Time, until: Time) -> Turn {
    Turn { task: task.0, cpu: cpu.0, from, until }
}

/// The turns of one task.
pub fn turns_of(events: &[Event], task: u32) -> Vec<Turn> {
    turns(events).into_iter().filter(|turn| turn.task == task).collect()
}

/// How many tasks ran on a CPU between two instants, in milliseconds.
pub fn tasks_on(events: &[Event], cpu: u32, from_ms: u64, until_ms: u64) -> usize {
    let (from, until) = (Time::from_ms(from_ms), Time::from_ms(until_ms));
    let mut tasks: Vec<u32> =
        turns(events).iter().filter(|t| t.cpu == cpu && t.from < until && t.until > from).map(|t| t.task).collect();
    tasks.sort_unstable();
    tasks.dedup();
    tasks.len()
}

/// When tasks changed their CPU.
pub fn migrations(events: &[Event]) -> Vec<Time> {
    observe::migrations(events).into_iter().map(|(at, ..)| at).collect()
}

/// Response times of a task's requests in microseconds.
pub fn responses_us(events: &[Event], task: u32) -> Vec<u64> {
    let (task, mut begun, mut responses) = (TaskId(task), None, Vec::new());
    for event in events {
        match event.kind {
            EventKind::RequestBegin { task: of, intended, .. } if of == task => begun = Some(intended),
            EventKind::RequestEnd { task: of, .. } if of == task => {
                responses.extend(begun.take().map(|begun| event.time.since(begun).ns() / 1000));
            }
            _ => {}
        }
    }
    responses
}
