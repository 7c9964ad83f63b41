//! Known truth: a scenario is the program, its trace in the simulator is the recording, and what the model of that says about
//! other schedulers is held against the scenario under them.

use schedlab_campaign::{Case, Errors, Keeps, Made, Place, Runner};
use schedlab_infer::{Model, Price};
use schedlab_job::predict::{Figures, figures};
use schedlab_model::result::RunResult;
use schedlab_model::scenario::{Scenario, Text};
use schedlab_model::time::Time;
use schedlab_model::trace::Event;
use schedlab_policy::PolicySpec;
use schedlab_trace::Reader;
use schedlab_venue::{Monitor, Policy, VenueName};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Scenarios whose tasks do the same under each scheduler, with the length of their recording where their own is long.
const SAME: [(&str, Option<u64>); 9] = [
    ("heavy-load", None),
    ("moderate-load", None),
    ("lock-contention", None),
    ("barrier", None),
    ("interactive", None),
    ("disk-io", None),
    ("fork-burst", None),
    ("priorities", None),
    ("rr-vs-ps", Some(300)),
];

/// Those in which tasks of a pool take items and draw what these cost: another scheduler gives an item to another task, which draws
/// another value, while a model knows what the item cost. Alike are then means over runs, so these have seeds, and a length.
const POOLS: [(&str, u64); 2] = [("producer-consumer", 100), ("service", 60)];

/// The seeds of pools.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=8;

/// The scheduler of the recordings.
const RECORDED: &str = "eevdf";

/// The others.
const OTHERS: [&str; 3] = ["rr", "mlfq", "ule"];

fn run(scenario: &Scenario, policy: &str, traces: Vec<PathBuf>) -> RunResult {
    let workload = scenario.compile().unwrap_or_else(|error| panic!("{}: {error}", scenario.name));
    let case = Case {
        seeds: vec![workload.run.seed],
        workload: Arc::new(workload),
        scenario_hash: scenario.hash(),
        policy: Policy::find(&PolicySpec::parse(policy).unwrap()).unwrap(),
        place: Place::new(VenueName::Sim, None, None),
        executor: None,
        check: true,
        costs: false,
        ears: Vec::new(),
        traces,
        keeps: Keeps::Nothing,
    };
    let monitor = Monitor::default();
    let made = Runner::new(None, 1, &monitor).carry_out(&[case], Errors::EndAll).unwrap().remove(0);
    let Made::Ran(seen) = made else { panic!("{} under {policy}: {made:?}", scenario.name) };
    seen[0].run.result.clone()
}

/// The model of a run.
fn modelled(scenario: &Scenario, policy: &str, trace: &Path) -> (RunResult, Model) {
    let result = run(scenario, policy, vec![trace.into()]);
    let model = schedlab_infer::model(trace, &trace.with_extension("steps.parquet"), Price::default()).unwrap();
    (result, model)
}

/// The greatest difference of any figure, and which it is.
fn worst(truth: &Figures, model: &Figures) -> (f64, String) {
    let off = truth.iter().filter(|(_, truth)| **truth > 0.0).map(|((role, figure), truth)| {
        let model = model.get(&(role.clone(), *figure)).copied().unwrap_or(0.0);
        ((model / truth - 1.0).abs(), format!("{role}, {}", figure.words()))
    });
    off.fold((0.0, "all the same".into()), |worst, one| if one.0 > worst.0 { one } else { worst })
}

/// The scheduler of the recording, then the others.
fn policies() -> impl Iterator<Item = &'static str> {
    [RECORDED].into_iter().chain(OTHERS)
}

/// The figures of a scenario and of its model under each scheduler, over the first eight tenths of what was recorded: under another
/// scheduler a task may come further than in the recording, and of what it would do there a model only has samples.
fn pairs(scenario: &Scenario, trace: &Path) -> Vec<(Figures, Figures)> {
    let (_, mut model) = modelled(scenario, RECORDED, trace);
    let mut truth = scenario.clone();
    let recorded = truth.run.duration.as_ref().unwrap().0.ns();
    for scenario in [&mut truth, &mut model.scenario] {
        scenario.run.duration = Some(Text(Time::from_ns(recorded / 10 * 8)));
    }
    let both = |policy| [&truth, &model.scenario].map(|scenario| figures(&run(scenario, policy, Vec::new())));
    policies().map(both).map(|[truth, model]| (truth, model)).collect()
}

fn recorded(name: &str, seconds: Option<u64>, seed: Option<u64>) -> Scenario {
    let mut scenario = schedlab_catalogue::load(name).unwrap();
    if let Some(seconds) = seconds {
        scenario.run.duration = Some(Text(Time::from_s(seconds)));
        scenario.run.warmup = None;
    }
    scenario.run.seed = seed.or(scenario.run.seed);
    scenario.run.calls = true;
    scenario
}

/// Where tasks do the same under any scheduler, a model says to the nanosecond what they do under others.
#[test]
fn what_a_model_says_of_other_schedulers_is_what_they_do() {
    let folder = tempfile::tempdir().unwrap();
    for (name, seconds) in SAME {
        let pairs = pairs(&recorded(name, seconds, None), &folder.path().join(format!("{name}.parquet")));
        for ((truth, model), policy) in pairs.iter().zip(policies()) {
            let (off, what) = worst(truth, model);
            assert!(off < 1e-9, "{name} under {policy}: {what} is off by {:.3} %", 100.0 * off);
        }
    }
}

/// The means of figures of several runs.
fn means<'a>(runs: impl Iterator<Item = &'a Figures>) -> Figures {
    let (mut sums, mut count) = (Figures::new(), 0.0);
    for run in runs {
        count += 1.0;
        run.iter().for_each(|(key, value)| *sums.entry(key.clone()).or_default() += value);
    }
    sums.values_mut().for_each(|sum| *sum /= count);
    sums
}

/// Where a pool's tasks take items, means over seeds are alike.
#[test]
fn what_a_model_says_of_a_pool_is_right_in_the_mean() {
    let folder = tempfile::tempdir().unwrap();
    for (name, seconds) in POOLS {
        let trace = |seed| folder.path().join(format!("{name}-{seed}.parquet"));
        let runs = SEEDS.map(|seed| pairs(&recorded(name, Some(seconds), Some(seed)), &trace(seed)));
        let runs: Vec<_> = runs.collect();
        for (at, policy) in policies().enumerate() {
            let (truth, model) = (means(runs.iter().map(|run| &run[at].0)), means(runs.iter().map(|run| &run[at].1)));
            let (off, what) = worst(&truth, &model);
            println!("{name:<18}  {policy:<6} {:>8.3} %  {what}", 100.0 * off);
            let bound = if policy == RECORDED { 0.01 } else { 0.03 };
            assert!(off < bound, "{name} under {policy}: {what} is off by {:.3} %", 100.0 * off);
        }
    }
}

fn described(cpus: u32, tables: &str) -> Scenario {
    let head =
        format!("name = \"t\"\n[machine]\ncpus = {cpus}\ntick = \"4ms\"\n[run]\nduration = \"200ms\"\ncalls = true\n");
    Scenario::parse(&(head + tables), "t").unwrap()
}

fn on(scenario: &Scenario, cpus: u32) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.machine.cpus = Some(cpus);
    scenario
}

const POOL: &str = "[channel.q]\ncapacity = 128\n\
    [[task]]\nname = \"worker\"\ncount = 2\nloop = [{ recv = \"q\" }, { compute = \"1ms\" }]\n\
    [[task]]\nname = \"producer\"\nonce = [{ sleep = \"1ms\" }, { send = \"q\", messages = 100 }]\n";

/// On one CPU one worker of the pool does nearly all; on two they share, which a model of tasks would not see.
#[test]
fn who_of_a_pool_takes_what_is_the_schedulers_doing() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = described(1, POOL);
    let (_, model) = modelled(&scenario, "fcfs", &folder.path().join("t.parquet"));
    let (truth, predicted) = (run(&on(&scenario, 2), "fcfs", vec![]), run(&on(&model.scenario, 2), "fcfs", vec![]));
    let (off, what) = worst(&figures(&truth), &figures(&predicted));
    assert!(off < 1e-9, "{what}: {off}");
    let cpu = |result: &RunResult| result.tasks.iter().map(|task| task.measures.cpu_ns / 1_000_000).collect::<Vec<_>>();
    assert_eq!(cpu(&predicted)[..2], [50, 50]);
}

const READER: &str = "[[task]]\nname = \"writer\"\nonce = [{ repeat = 10, steps = [{ compute = \"1ms\" }, { send = \"q\" }] }]\n\
    [[task]]\nname = \"reader\"\nloop = [{ recv = \"q\" }, { compute = \"100us\" }]\n";

/// How often a reader is woken follows from when it runs: recorded wake-ups are no messages.
#[test]
fn how_often_a_reader_wakes_is_the_schedulers_doing() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = described(1, READER);
    let (recorded, model) = modelled(&scenario, "fcfs", &folder.path().join("t.parquet"));
    let truth = run(&scenario, "cfs", vec![]);
    assert_ne!(recorded.events.wakeups, truth.events.wakeups, "the schedulers differ in this");
    assert_eq!(run(&model.scenario, "cfs", vec![]).events.wakeups, truth.events.wakeups);
}

/// A client that thinks after each answer asks later when an answer is late.
#[test]
fn a_closed_load_stays_closed() {
    let folder = tempfile::tempdir().unwrap();
    let client = "[[task]]\nname = \"client\"\nloop = [{ compute = \"10ms\" }, { sleep = \"10ms\" }]\n";
    let (_, model) = modelled(&described(1, client), "fcfs", &folder.path().join("t.parquet"));
    let mut slower = model.scenario.with_text("task.client.loop.0.compute", "25ms").unwrap();
    slower.run.duration = Some(Text(Time::from_s(35)));
    let role = run(&slower, "fcfs", vec![]).roles.remove(0);
    assert_eq!(role.measures.response_ns.map(|response| response.mean), Some(25_000_000));
    assert!((role.measures.throughput_per_s - 28.571).abs() < 0.001, "{}", role.measures.throughput_per_s);
}

/// All events of a trace.
fn events(trace: &Path) -> Vec<Event> {
    Reader::open(trace).unwrap().map(Result::unwrap).collect()
}

#[test]
fn one_task_that_waits_for_nobody_does_the_same_to_the_nanosecond() {
    let folder = tempfile::tempdir().unwrap();
    let mut scenario = described(1, "[[task]]\nname = \"a\"\nonce = [{ compute = \"123456789ns\" }]\n");
    scenario.run.calls = false;
    let [trace, again] = ["t.parquet", "again.parquet"].map(|name| folder.path().join(name));
    let (_, model) = modelled(&scenario, "rr", &trace);
    let mut model = model.scenario;
    // A recording without its setting does not tell the tick.
    (model.machine.hz, model.machine.tick) = (None, scenario.machine.tick.clone());
    run(&model, "rr", vec![again.clone()]);
    assert_eq!(events(&again), events(&trace));
}

/// Tasks that wake each other and do not tell how: each wake-up is given by the task that gave it.
#[test]
fn without_calls_a_model_of_tasks_gives_the_recording_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut scenario = described(2, READER);
    scenario.run.calls = false;
    let (recorded, model) = modelled(&scenario, "fcfs", &folder.path().join("t.parquet"));
    let again = run(&model.scenario, "fcfs", vec![]);
    assert_eq!((again.events.wakeups, again.events.switches), (recorded.events.wakeups, recorded.events.switches));
    let cpu = |result: &RunResult| result.roles.iter().map(|role| role.measures.cpu_ns).collect::<Vec<_>>();
    assert_eq!(cpu(&again), cpu(&recorded));
}

/// One of two tasks never got to the end of its item, and would have held the lock for ever.
#[test]
fn a_task_that_came_to_no_end_does_what_others_did() {
    let tables = "[[task]]\nname = \"t\"\ncount = 2\n\
                  loop = [{ compute = \"10us\" }, { lock = \"m\" }, { compute = \"1ms\" }, { unlock = \"m\" }]\n";
    let folder = tempfile::tempdir().unwrap();
    let scenario = described(1, tables);
    let (_, model) = modelled(&scenario, "rr", &folder.path().join("t.parquet"));
    let throughput = |scenario: &Scenario| run(scenario, "eevdf", vec![]).roles[0].measures.throughput_per_s;
    let (truth, predicted) = (throughput(&scenario), throughput(&model.scenario));
    assert!((predicted / truth - 1.0).abs() < 0.01, "{predicted} {truth}");
    assert!(model.report.doubts.iter().any(|doubt| doubt.code == "IDLE"));
}

/// A role of which nothing ran is not known, and the model runs nevertheless.
#[test]
fn a_role_that_never_ran_is_doubted() {
    let folder = tempfile::tempdir().unwrap();
    let tables = "[[task]]\nname = \"a\"\nloop = [{ compute = \"exp(10ms)\" }]\n\
                  [[task]]\nname = \"b\"\nloop = [{ compute = \"3ms\" }, { sleep = \"1ms\" }]\n";
    let (_, model) = modelled(&described(1, tables), "fcfs", &folder.path().join("t.parquet"));
    assert!(model.report.is_refused());
    assert_eq!(run(&model.scenario, "fcfs", vec![]).roles.len(), 2);
}

/// Jobs that have ended take as long as they take on fewer CPUs.
#[test]
fn a_program_that_ends_is_not_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let mut scenario = described(4, "[[task]]\nname = \"job\"\ncount = 40\nonce = [{ compute = \"exp(30ms)\" }]\n");
    scenario.run.duration = None;
    let (_, model) = modelled(&scenario, "fcfs", &folder.path().join("t.parquet"));
    let of = |scenario: &Scenario| figures(&run(&on(scenario, 1), "rr", vec![]));
    let (off, what) = worst(&of(&scenario), &of(&model.scenario));
    assert!(off < 1e-9, "{what}: {off}");
}

/// What a task pays for its calls is in its work, or in the machine's costs, and never in both.
#[test]
fn costs_of_calls_are_counted_once() {
    let folder = tempfile::tempdir().unwrap();
    let tables = "[channel.q]\n[[source]]\nchannel = \"q\"\narrivals = \"exp(1ms)\"\n\
                  [[task]]\nname = \"worker\"\ncount = 2\nloop = [{ recv = \"q\" }, { compute = \"500us\" }, { io = { device = \"d\", service = \"100us\" } }]\n\
                  [[task]]\nname = \"napper\"\nloop = [{ sleep = \"5ms\" }, { compute = \"1ms\" }]\n";
    let mut scenario = described(2, tables);
    let us = |n| Some(Text(Time::from_us(n)));
    let costs = &mut scenario.machine.costs;
    (costs.sleep, costs.resume, costs.io, costs.pipe_recv) = (us(30), us(20), us(10), us(7));
    let (truth, model) = modelled(&scenario, "fcfs", &folder.path().join("t.parquet"));
    let (off, what) = worst(&figures(&truth), &figures(&run(&model.scenario, "fcfs", vec![])));
    assert!(off < 0.01, "{what}: {off}");
}
