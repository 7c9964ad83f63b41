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

/// The scenarios, with the length of their runs where their own is long.
const SCENARIOS: [(&str, Option<u64>); 11] = [
    ("heavy-load", None),
    ("moderate-load", None),
    ("producer-consumer", None),
    ("lock-contention", None),
    ("barrier", None),
    ("interactive", None),
    ("disk-io", None),
    ("fork-burst", None),
    ("service", Some(20)),
    ("priorities", None),
    ("rr-vs-ps", Some(300)),
];

/// Those outside of the bounds. In these scenarios another scheduler gives other items to a task, so that drawn times come in another
/// order; whether that is all of the difference is not known.
const MISSED: [(&str, &str); 7] = [
    ("producer-consumer", "rr"),
    ("producer-consumer", "mlfq"),
    ("producer-consumer", "ule"),
    ("lock-contention", "mlfq"),
    ("interactive", "mlfq"),
    ("service", "eevdf"),
    ("service", "rr"),
];

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

fn differences(name: &str, seconds: Option<u64>, folder: &Path) -> Vec<(f64, String)> {
    let mut scenario = schedlab_catalogue::load(name).unwrap();
    if let Some(seconds) = seconds {
        scenario.run.duration = Some(Text(Time::from_s(seconds)));
        scenario.run.warmup = None;
    }
    scenario.run.calls = true;
    let trace = folder.join(format!("{name}.parquet"));
    let (recorded, model) = modelled(&scenario, RECORDED, &trace);
    let mut truths = vec![recorded];
    truths.extend(OTHERS.iter().map(|policy| run(&scenario, policy, Vec::new())));
    let policies = [RECORDED].into_iter().chain(OTHERS);
    let compared = |(truth, policy): (&RunResult, &str)| {
        worst(&figures(truth), &figures(&run(&model.scenario, policy, Vec::new())))
    };
    truths.iter().zip(policies).map(compared).collect()
}

/// How far the worst figure of each is off, and what that is.
#[test]
fn what_a_model_says_of_other_schedulers_is_what_they_do() {
    let folder = tempfile::tempdir().unwrap();
    let mut missed = Vec::new();
    println!("scenario            recorded    others, worst figure of each under {RECORDED}, {}", OTHERS.join(", "));
    for (name, seconds) in SCENARIOS {
        let all = differences(name, seconds, folder.path());
        for ((off, what), policy) in all.iter().zip([RECORDED].into_iter().chain(OTHERS)) {
            let bound = if policy == RECORDED { 0.01 } else { 0.03 };
            let is_met = *off <= bound;
            println!("{name:<18}  {policy:<6} {:>8.3} %  {} {what}", 100.0 * off, if is_met { "    " } else { "MISS" });
            if !is_met {
                missed.push((name, policy));
            }
        }
    }
    assert_eq!(missed, MISSED);
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
