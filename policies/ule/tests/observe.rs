//! Looking into a run: what formulas give, when tasks run, what their status is, where they are.

use crate::lab;
use schedlab_bpf::{Executor, Object, Value};
use schedlab_model::ids::{CpuId, TaskId};
use schedlab_model::scenario::Scenario;
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Reason, WakeSource};
use schedlab_model::workload::Workload;
use schedlab_policy::{PolicySpec, find};
use schedlab_sim::{Options, scx};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Settings of a run: parameters by name.
pub type Settings<'a> = &'a [(&'a str, u64)];

pub const PAPER: (&str, u64) = ("mode", 0);
pub const FREEBSD: (&str, u64) = ("mode", 1);
/// The status is the score, not the priority.
pub const SCORES: (&str, u64) = ("status", 1);

/// A tick of FreeBSD's 127 a second.
pub const STAT_NS: u64 = 1_000_000_000 / 127;

/// The best priority of a batch task.
pub const BATCH_PAPER: u64 = 112;
pub const BATCH_FREEBSD: u64 = 152;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../policies/ule")
}

/// What `formulas.bpf.c` prints: for each name all numbers, in order.
pub fn formulas(settings: Settings) -> BTreeMap<String, Vec<u64>> {
    let spec = folder().join("tests/formulas.bpf.c").display().to_string();
    let policy = find(&PolicySpec::parse(&spec).expect("a policy"), &[]).unwrap_or_else(|error| panic!("{error}"));
    let object = Object::parse(&policy.object).expect("the object is whole");
    let workload = workload("cpus = 1", 10, "[[task]]\nname = \"t\"\nonce = [{ compute = \"1ms\" }]");
    let [one, two] = [Executor::Interpreter, Executor::Machine].map(|executor| {
        let settings = settings.iter().map(|(name, value)| (name.to_string(), Value::Integer(*value as i128)));
        let options = Options { executor, settings: settings.collect(), seed: 1 };
        let mut events: Vec<Event> = Vec::new();
        scx::run(&workload, &object, &options, &mut events, &mut ()).unwrap_or_else(|error| panic!("{error}")).printed
    });
    assert_eq!(one, two, "the executors differ");
    let mut formulas = BTreeMap::new();
    for (_, line) in &one {
        let (name, number) = line.trim().rsplit_once(' ').expect("a name and a number");
        formulas.entry(name.to_string()).or_insert_with(Vec::new).push(number.parse().expect("a number"));
    }
    formulas
}

/// Holds printed formulas against their numbers.
pub fn assert_formulas(mode: (&str, u64), expected: &[(&str, &[u64])]) {
    let formulas = formulas(&[mode]);
    for (name, values) in expected {
        assert_eq!(formulas.get(*name).map(|values| &values[..]), Some(*values), "{name}");
    }
}

/// Tasks on a machine (`cpus = 2` or `topology = "1n2l4c1t"`), written in the scenario language. The watchdog is patient.
pub fn workload(machine: &str, ms: u64, tasks: &str) -> Workload {
    let text =
        format!("name = \"t\"\n{tasks}\n[machine]\n{machine}\nwatchdog = \"1000s\"\n[run]\nduration = \"{ms}ms\"");
    Scenario::parse(&text, "test").and_then(|s| s.compile()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A scenario of `vectors/`.
pub fn vector(name: &str) -> Workload {
    let scenario = Scenario::from_file(&folder().join(format!("vectors/{name}.toml")));
    scenario.and_then(|scenario| scenario.compile()).unwrap_or_else(|error| panic!("{error}"))
}

/// What happens with these tasks.
pub fn run(machine: &str, ms: u64, tasks: &str, settings: Settings) -> Vec<Event> {
    simulate(&workload(machine, ms, tasks), settings)
}

/// What happens in a scenario of `vectors/`.
pub fn run_vector(name: &str, settings: Settings) -> Vec<Event> {
    simulate(&vector(name), settings)
}

fn simulate(workload: &Workload, settings: Settings) -> Vec<Event> {
    let [one, two] = [Executor::Interpreter, Executor::Machine].map(|executor| {
        lab::run_with(workload, "ule", executor, settings).unwrap_or_else(|error| panic!("{error}")).events
    });
    assert!(one == two, "the executors differ");
    one
}

/// When a task's status changed to what.
pub fn statuses(events: &[Event], task: u32) -> Vec<(u64, Time)> {
    let status = |event: &Event| match event.kind {
        EventKind::Status { task: of, word } if of == TaskId(task) => Some((word, event.time)),
        _ => None,
    };
    events.iter().filter_map(status).collect()
}

/// The words alone.
pub fn words(events: &[Event], task: u32) -> Vec<u64> {
    statuses(events, task).into_iter().map(|(word, _)| word).collect()
}

/// When a task got a CPU and when it left it, in order, in microseconds. A turn that does not end is endless.
pub fn turns(events: &[Event], task: u32) -> Vec<(u64, u64)> {
    let (task, mut turns, mut since) = (TaskId(task), Vec::new(), None::<Time>);
    for event in events {
        if let EventKind::Switch { previous, next, .. } = event.kind {
            if previous == Some(task) {
                turns.extend(since.take().map(|from| (from.ns() / 1000, event.time.ns() / 1000)));
            }
            if next == Some(task) {
                since = Some(event.time);
            }
        }
    }
    turns.extend(since.map(|from| (from.ns() / 1000, u64::MAX)));
    turns
}

/// Who got the only CPU in which order.
pub fn order(events: &[Event]) -> Vec<u32> {
    let next = |event: &Event| match event.kind {
        EventKind::Switch { next, .. } => next.map(|task| task.0),
        _ => None,
    };
    events.iter().filter_map(next).collect()
}

/// CPU time of a task between two instants in milliseconds, in microseconds.
pub fn cpu_time(events: &[Event], task: u32, from_ms: u64, until_ms: u64) -> u64 {
    let (from, until) = (from_ms * 1000, until_ms * 1000);
    turns(events, task).iter().map(|turn| turn.1.min(until).saturating_sub(turn.0.max(from))).sum()
}

/// Why the CPUs changed from one task to another, with the times.
pub fn switches(events: &[Event]) -> Vec<(Time, Reason)> {
    let reason = |event: &Event| match event.kind {
        EventKind::Switch { previous: Some(_), reason, .. } => Some((event.time, reason)),
        _ => None,
    };
    events.iter().filter_map(reason).collect()
}

/// Where a task woke, if that is what happened; forks left out.
pub fn woken_on(event: &Event, task: u32) -> Option<u32> {
    match event.kind {
        EventKind::Wakeup { task: of, target, source, .. } if of == TaskId(task) && source != WakeSource::Fork => {
            Some(target.0)
        }
        _ => None,
    }
}

/// When and where to tasks moved, without wake-ups.
pub fn moves(events: &[Event]) -> Vec<(Time, TaskId, CpuId)> {
    let moved = |event: &Event| match event.kind {
        EventKind::Migrate { task, to, .. } => Some((event.time, task, to)),
        _ => None,
    };
    events.iter().filter_map(moved).collect()
}

/// How many tasks there are on each CPU at an instant, by where they last were told to be.
pub fn loads(events: &[Event], cpus: usize, at: Time) -> Vec<usize> {
    let mut places = BTreeMap::new();
    for event in events.iter().take_while(|event| event.time <= at) {
        match event.kind {
            EventKind::Wakeup { task, target, .. } => _ = places.insert(task, target),
            EventKind::Migrate { task, to, .. } => _ = places.insert(task, to),
            EventKind::Exit { task } => _ = places.remove(&task),
            _ => {}
        }
    }
    (0..cpus).map(|cpu| places.values().filter(|place| place.0 as usize == cpu).count()).collect()
}
