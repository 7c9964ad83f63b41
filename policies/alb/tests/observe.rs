//! Looking into a run: how tasks are divided, when they run, where they are.

use crate::lab;
use schedlab_bpf::{Executor, Object, Value};
use schedlab_model::ids::TaskId;
use schedlab_model::scenario::Scenario;
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, WakeSource};
use schedlab_policy::{PolicySpec, find};
use schedlab_sim::{Options, scx};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

/// A millisecond.
pub const MS: u64 = 1_000_000;

/// No penalty: a hog weighs what its nice value says.
pub const PLAIN: (&str, u64) = ("penalise", 2);

/// What `divisions.bpf.c` prints: for each name all numbers, in order.
pub fn divisions(settings: &[(&str, u64)]) -> BTreeMap<String, Vec<u64>> {
    static COMPILED: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../policies/alb/tests/divisions.bpf.c");
        let spec = PolicySpec::parse(&path.display().to_string()).expect("a policy");
        find(&spec, &[]).unwrap_or_else(|error| panic!("{error}")).object.to_vec()
    });
    let object = Object::parse(&COMPILED).expect("the object is whole");
    let text = "name = \"t\"\n[machine]\ncpus = 1\n[[task]]\nname = \"t\"\nonce = [{ compute = \"1ms\" }]\n[run]\nduration = \"10ms\"";
    let workload = Scenario::parse(text, "test").and_then(|s| s.compile()).unwrap_or_else(|error| panic!("{error}"));
    let [one, two] = [Executor::Interpreter, Executor::Machine].map(|executor| {
        let settings = settings.iter().map(|(name, value)| (name.to_string(), Value::Integer(*value as i128)));
        let options = Options { executor, settings: settings.collect(), seed: 1 };
        let mut events: Vec<Event> = Vec::new();
        scx::run(&workload, &object, &options, &mut events, &mut ()).unwrap_or_else(|error| panic!("{error}")).printed
    });
    assert_eq!(one, two, "the executors differ");
    let mut divisions = BTreeMap::new();
    for (_, line) in &one {
        let (name, number) = line.trim().rsplit_once(' ').expect("a name and a number");
        divisions.entry(name.to_string()).or_insert_with(Vec::new).push(number.parse().expect("a number"));
    }
    divisions
}

/// What happens on a machine (`cpus = 2` or `topology = "1n2l4c1t"`) with these tasks, under a policy.
pub fn run_under(policy: &str, machine: &str, ms: u64, tasks: &str, settings: &[(&str, u64)]) -> Vec<Event> {
    let text = format!("name = \"t\"\n{tasks}\n[machine]\n{machine}\n[run]\nduration = \"{ms}ms\"");
    let workload = Scenario::parse(&text, "test").and_then(|s| s.compile()).unwrap_or_else(|error| panic!("{error}"));
    let [one, two] = [Executor::Interpreter, Executor::Machine].map(|executor| {
        lab::run_with(&workload, policy, executor, settings).unwrap_or_else(|error| panic!("{error}")).events
    });
    assert!(one == two, "the executors differ");
    one
}

/// The same under `alb`.
pub fn run_tasks(machine: &str, ms: u64, tasks: &str, settings: &[(&str, u64)]) -> Vec<Event> {
    run_under("alb", machine, ms, tasks, settings)
}

/// Computing tasks that begin on a CPU.
pub fn hogs(name: &str, count: u32, nice: i32, cpu: u32) -> String {
    format!(
        "[[task]]\nname = \"{name}\"\ncount = {count}\nnice = {nice}\nstart_on = {cpu}\n\
         loop = [{{ compute = \"1000s\" }}]\n"
    )
}

/// Which task moved when, in microseconds, and to which CPU.
pub fn moves(events: &[Event]) -> Vec<(u32, u64, u32)> {
    let moved = |event: &Event| match event.kind {
        EventKind::Migrate { task, to, .. } => Some((task.0, event.time.ns() / 1000, to.0)),
        _ => None,
    };
    events.iter().filter_map(moved).collect()
}

/// The tasks on each CPU at an instant.
pub fn places(events: &[Event], cpus: usize, at: Time) -> Vec<Vec<u32>> {
    let mut places = BTreeMap::new();
    for event in events.iter().take_while(|event| event.time <= at) {
        match event.kind {
            EventKind::Wakeup { task, target, .. } => _ = places.insert(task, target),
            EventKind::Migrate { task, to, .. } => _ = places.insert(task, to),
            EventKind::Exit { task } => _ = places.remove(&task),
            _ => {}
        }
    }
    (0..cpus)
        .map(|cpu| places.iter().filter(|(_, at)| at.0 as usize == cpu).map(|(task, _)| task.0).collect())
        .collect()
}

/// How many tasks are on each CPU at an instant.
pub fn spread(events: &[Event], cpus: usize, at: Time) -> Vec<usize> {
    places(events, cpus, at).iter().map(Vec::len).collect()
}

/// Which penalty a task got when, in microseconds.
pub fn penalties(events: &[Event], task: u32) -> Vec<(u64, u64)> {
    let published = |event: &Event| match event.kind {
        EventKind::Status { task: of, word } if of == TaskId(task) => Some((word, event.time.ns() / 1000)),
        _ => None,
    };
    events.iter().filter_map(published).collect()
}

/// Where a task woke, each time but the first.
pub fn wakeups(events: &[Event], task: u32) -> Vec<u32> {
    let woken = |event: &Event| match event.kind {
        EventKind::Wakeup { task: of, target, source, .. } if of == TaskId(task) && source != WakeSource::Fork => {
            Some(target.0)
        }
        _ => None,
    };
    events.iter().filter_map(woken).collect()
}

/// CPU time of each task up to the last switch, in microseconds.
pub fn cpu_time(events: &[Event], tasks: u32) -> Vec<u64> {
    let (mut times, mut since) = (vec![0; tasks as usize], BTreeMap::new());
    for event in events {
        if let EventKind::Switch { previous, next, .. } = event.kind {
            if let Some((task, from)) = previous.and_then(|task| Some((task, since.remove(&task)?))) {
                times[task.0 as usize] += event.time.since(from).ns() / 1000;
            }
            since.extend(next.map(|task| (task, event.time)));
        }
    }
    times
}
