//! Looking into a run of a policy: what it published, which task ran when, where tasks were. Each run is executed
//! twice, by the interpreter and as machine code, and the two must agree.

use crate::lab;
use schedlab_bpf::{Executor, Object, Value};
use schedlab_model::ids::{CpuId, TaskId};
use schedlab_model::scenario::{Scenario, ScenarioError};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind};
use schedlab_model::workload::Workload;
use schedlab_policy::{PolicySpec, find};
use schedlab_sim::{Options, scx};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Numbers for parameters, by name.
pub type Settings<'a> = &'a [(&'a str, u64)];

/// Where the policies are.
pub fn policies() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies")
}

/// A scenario of a policy's `vectors/`.
pub fn vector(policy: &str, name: &str) -> Workload {
    compiled(Scenario::from_file(&policies().join(policy).join(format!("vectors/{name}.toml"))))
}

/// Tasks on a machine (`cpus = 2` or `topology = "1n2l4c1t"`, and what else is to be said of it), in the scenario language.
pub fn workload(machine: &str, duration: &str, tasks: &str) -> Workload {
    let text = format!("name = \"t\"\n{tasks}\n[machine]\n{machine}\n[run]\nduration = \"{duration}\"");
    compiled(Scenario::parse(&text, "test"))
}

/// `newidle` of the fair policies: a CPU that runs out of tasks always looks for some.
pub const LOOKS_ALWAYS: u64 = 0;

/// Three tasks that compute and sleep, for machines of more CPUs.
pub const THREE_SLEEPERS: &str =
    "[[task]]\nname = \"sleeper\"\ncount = 3\nloop = [{ compute = \"5ms\" }, { sleep = \"5ms\" }]\n";

/// A task that spawns three others and computes next to them.
pub const THREE_CHILDREN: &str = "[[task]]\nname = \"parent\"\nonce = [{ spawn = \"child\", count = 3 }, { compute = \"100ms\" }]\n\
     [[task]]\nname = \"child\"\nspawned = true\nonce = [{ compute = \"100ms\" }]\n";

/// Six tasks of two CPUs, of which those of CPU 1 end early.
pub const TWO_END_EARLY: &str = "[[task]]\nname = \"short\"\ncount = 2\ncpus = [1]\nonce = [{ compute = \"20ms\" }]\n\
     [[task]]\nname = \"long\"\ncount = 4\nstart_on = 0\nonce = [{ compute = \"100ms\" }]\n";

/// What a scenario says.
pub fn compiled(scenario: Result<Scenario, ScenarioError>) -> Workload {
    scenario.and_then(|scenario| scenario.compile()).unwrap_or_else(|error| panic!("{error}"))
}

/// What happens in a workload under a policy.
pub fn run(policy: &str, workload: &Workload, settings: Settings) -> Vec<Event> {
    let [one, two] = [Executor::Interpreter, Executor::Machine].map(|executor| {
        lab::run_with(workload, policy, executor, settings).unwrap_or_else(|error| panic!("{error}")).events
    });
    assert!(one == two, "the executors differ");
    one
}

/// What formulas give: for each name all numbers, in order.
pub type Formulas = BTreeMap<String, Vec<i64>>;

/// What a policy's `tests/formulas.bpf.c` prints on that many CPUs. Many tests ask the same.
pub fn formulas(policy: &str, cpus: u32, settings: Settings) -> Formulas {
    static KNOWN: Mutex<BTreeMap<String, Formulas>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let key = format!("{policy} {cpus} {settings:?}");
    known.entry(key).or_insert_with(|| run_formulas(policy, cpus, settings)).clone()
}

fn run_formulas(policy: &str, cpus: u32, settings: Settings) -> Formulas {
    let object = formulas_object(policy);
    let workload =
        workload(&format!("cpus = {cpus}"), "10ms", "[[task]]\nname = \"t\"\nonce = [{ compute = \"1ms\" }]");
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
        let number = number.parse::<i128>().expect("a number") as i64;
        formulas.entry(name.to_string()).or_insert_with(Vec::new).push(number);
    }
    formulas
}

/// Compiles the formulas of a policy, once.
fn formulas_object(policy: &str) -> Object {
    static KNOWN: Mutex<BTreeMap<String, Vec<u8>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let object = known.entry(policy.to_string()).or_insert_with(|| {
        let spec = policies().join(policy).join("tests/formulas.bpf.c").display().to_string();
        let found = find(&PolicySpec::parse(&spec).expect("a policy"), &[]).unwrap_or_else(|error| panic!("{error}"));
        found.object.to_vec()
    });
    Object::parse(object).expect("the object is whole")
}

/// What was published about a task, and when.
pub fn statuses(events: &[Event], task: u32) -> Vec<(u64, Time)> {
    let status = |event: &Event| match event.kind {
        EventKind::Status { task: of, word } if of == TaskId(task) => Some((word, event.time)),
        _ => None,
    };
    events.iter().filter_map(status).collect()
}

/// When a task got a CPU and when it left it, in order. A turn that did not end while something happened has no end.
pub fn turns(events: &[Event], task: u32) -> Vec<(Time, Option<Time>)> {
    let (task, mut turns, mut since) = (TaskId(task), Vec::new(), None);
    for event in events {
        if let EventKind::Switch { previous, next, .. } = event.kind {
            if previous == Some(task) {
                turns.extend(since.take().map(|from| (from, Some(event.time))));
            }
            if next == Some(task) {
                since = Some(event.time);
            }
        }
    }
    turns.extend(since.map(|from| (from, None)));
    turns
}

/// The whole turns of a task in microseconds.
pub fn turns_us(events: &[Event], task: u32) -> Vec<(u64, u64)> {
    turns(events, task).into_iter().filter_map(|(from, until)| Some((us(from), us(until?)))).collect()
}

/// CPU time of each task up to the last switch, in microseconds.
pub fn cpu_time(events: &[Event], tasks: u32) -> Vec<u64> {
    (0..tasks).map(|task| turns_us(events, task).iter().map(|turn| turn.1 - turn.0).sum()).collect()
}

/// The waits of a task from each wake-up to its CPU, in microseconds.
pub fn wakeup_waits(events: &[Event], task: u32) -> Vec<u64> {
    let starts: Vec<u64> = turns_us(events, task).iter().map(|turn| turn.0).collect();
    let woken = events.iter().filter_map(|event| match event.kind {
        EventKind::Wakeup { task: of, .. } if of == TaskId(task) => Some(us(event.time)),
        _ => None,
    });
    woken.filter_map(|at| starts.iter().find(|start| **start >= at).map(|start| start - at)).collect()
}

/// The tasks on each CPU at an instant, as they were reported to be, in the order of their numbers.
pub fn places(events: &[Event], cpus: usize, at: Time) -> Vec<Vec<u32>> {
    let mut told = BTreeMap::new();
    for event in events.iter().take_while(|event| event.time <= at) {
        match event.kind {
            EventKind::Wakeup { task, target, .. } => _ = told.insert(task, target),
            EventKind::Migrate { task, to, .. } => _ = told.insert(task, to),
            EventKind::Exit { task } => _ = told.remove(&task),
            _ => {}
        }
    }
    let mut places = vec![Vec::new(); cpus];
    told.iter().for_each(|(task, cpu)| places[cpu.index()].push(task.0));
    places
}

/// How many tasks were on each CPU at an instant.
pub fn spread(events: &[Event], cpus: usize, at: Time) -> Vec<usize> {
    places(events, cpus, at).iter().map(Vec::len).collect()
}

/// When which tasks were moved where, wake-ups apart.
pub fn migrations(events: &[Event]) -> Vec<(Time, TaskId, CpuId)> {
    let moved = |event: &Event| match event.kind {
        EventKind::Migrate { task, to, .. } => Some((event.time, task, to)),
        _ => None,
    };
    events.iter().filter_map(moved).collect()
}

/// Microseconds from the start of the run.
pub fn us(time: Time) -> u64 {
    time.ns() / 1000
}
