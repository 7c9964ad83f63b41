//! Looking into runs of the fair schedulers: what formulas give, when tasks run, where they are.

use crate::lab;
use schedlab_bpf::{Executor, Object, Value};
use schedlab_model::ids::TaskId;
use schedlab_model::scenario::Scenario;
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind};
use schedlab_policy::{PolicySpec, find};
use schedlab_sim::{Options, scx};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Numbers for parameters.
pub type Settings<'a> = &'a [(&'a str, u64)];

/// What formulas give: for each name all numbers, in order.
pub type Formulas = BTreeMap<String, Vec<i64>>;

/// What a policy's `formulas.bpf.c` prints on a machine of so many CPUs. Many tests ask the same.
pub fn formulas(policy: &str, cpus: u32, settings: Settings) -> Formulas {
    static KNOWN: Mutex<BTreeMap<String, Formulas>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let key = format!("{policy} {cpus} {settings:?}");
    known.entry(key).or_insert_with(|| run_formulas(policy, cpus, settings)).clone()
}

fn run_formulas(policy: &str, cpus: u32, settings: Settings) -> Formulas {
    let object = formulas_object(policy);
    let text = format!(
        "name = \"t\"\n[machine]\ncpus = {cpus}\n[[task]]\nname = \"t\"\nonce = [{{ compute = \"1ms\" }}]\n\
         [run]\nduration = \"10ms\""
    );
    let workload = Scenario::parse(&text, "test").and_then(|s| s.compile()).unwrap_or_else(|error| panic!("{error}"));
    let [one, two] = [Executor::Interpreter, Executor::Machine].map(|executor| {
        let settings = settings.iter().map(|(name, value)| (name.to_string(), Value::Integer(*value as i128)));
        let options = Options { executor, settings: settings.collect(), seed: 1 };
        let mut events: Vec<Event> = Vec::new();
        scx::run(&workload, &object, &options, &mut events, &mut ()).unwrap_or_else(|error| panic!("{error}")).printed
    });
    assert_eq!(one, two, "the executors differ");
    let mut formulas = BTreeMap::new();
    for (_, line) in &one {
        let line = line.trim();
        let words: Vec<&str> = line.split(' ').collect();
        let [name @ .., last] = &words[..] else { continue };
        formulas.entry(name.join(" ")).or_insert_with(Vec::new).push(last.parse::<i128>().expect("a number") as i64);
    }
    formulas
}

/// Compiles the formulas of a policy, once.
fn formulas_object(policy: &str) -> Object {
    static KNOWN: Mutex<BTreeMap<String, Vec<u8>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let object = known.entry(policy.to_string()).or_insert_with(|| {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../policies").join(policy);
        let spec = folder.join("tests/formulas.bpf.c").display().to_string();
        let found = find(&PolicySpec::parse(&spec).expect("a policy"), &[]).unwrap_or_else(|error| panic!("{error}"));
        found.object.to_vec()
    });
    Object::parse(object).expect("the object is whole")
}

/// What happens on a machine (`cpus = 2` or `topology = "1n2l4c1t"`) with these tasks.
pub fn run_tasks(policy: &str, machine: &str, duration: &str, tasks: &str, settings: Settings) -> Vec<Event> {
    let text = format!("name = \"t\"\n{tasks}\n[machine]\n{machine}\n[run]\nduration = \"{duration}\"");
    let workload = Scenario::parse(&text, "test").and_then(|s| s.compile()).unwrap_or_else(|error| panic!("{error}"));
    let [one, two] = [Executor::Interpreter, Executor::Machine].map(|executor| {
        lab::run_with(&workload, policy, executor, settings).unwrap_or_else(|error| panic!("{error}")).events
    });
    assert!(one == two, "the executors differ");
    one
}

/// When a task got a CPU and when it left it, in order, in microseconds.
pub fn turns(events: &[Event], task: u32) -> Vec<(u64, u64)> {
    let (task, mut turns, mut since) = (TaskId(task), Vec::new(), None);
    for event in events {
        if let EventKind::Switch { previous, next, .. } = event.kind {
            if previous == Some(task) {
                turns.extend(since.take().map(|from: Time| (from.ns() / 1000, event.time.ns() / 1000)));
            }
            if next == Some(task) {
                since = Some(event.time);
            }
        }
    }
    turns
}

/// CPU time of each task up to the last switch, in microseconds.
pub fn cpu_time(events: &[Event], tasks: u32) -> Vec<u64> {
    (0..tasks).map(|task| turns(events, task).iter().map(|turn| turn.1 - turn.0).sum()).collect()
}

/// How many tasks are on each CPU at an instant.
pub fn spread(events: &[Event], cpus: usize, at: Time) -> Vec<usize> {
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

/// The waits of a task from each wake-up to its CPU, in microseconds.
pub fn wakeup_waits(events: &[Event], task: u32) -> Vec<u64> {
    let starts: Vec<u64> = turns(events, task).iter().map(|turn| turn.0).collect();
    let woken = events.iter().filter_map(|event| match event.kind {
        EventKind::Wakeup { task: of, .. } if of == TaskId(task) => Some(event.time.ns() / 1000),
        _ => None,
    });
    woken.filter_map(|at| starts.iter().find(|start| **start >= at).map(|start| start - at)).collect()
}
