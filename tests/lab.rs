//! Running a workload under a policy and looking at everything that happened.

use schedlab_bpf::{Executor, Object, Value};
use schedlab_metrics::collector::{Collector, RunMeasures};
use schedlab_metrics::validator::{Expectations, Validator};
use schedlab_model::{trace::*, workload::Workload};
use schedlab_policy::{PolicySpec, find};
use schedlab_sim::{Options, Outcome, RunError, scx};
use schedlab_venue::MachineParameters;
use std::path::PathBuf;

/// Everything that happened in a run.
pub struct Run {
    pub events: Vec<Event>,
    pub outcome: Outcome,
}

/// A policy object: a shipped one by name, or one of the deliberately wrong ones in `tests/policies`.
pub fn object(name: &str) -> Object {
    let wrong = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("policies").join(format!("{name}.bpf.c"));
    let spec = if wrong.exists() { wrong.display().to_string() } else { name.to_string() };
    let policy = find(&PolicySpec::parse(&spec).expect("a policy"), &[]).expect("the policy is found");
    Object::parse(&policy.object).expect("the object is whole")
}

/// Runs with an executor and numbers for parameters.
pub fn run_with(
    workload: &Workload,
    policy: &str,
    executor: Executor,
    settings: &[(&str, u64)],
) -> Result<Run, RunError> {
    let mut events = Vec::new();
    let outcome = run_into(&mut events, workload, policy, executor, settings)?;
    Ok(Run { events, outcome })
}

/// The same for a run of which not every event can be kept.
pub fn run_into(
    sink: &mut dyn Sink,
    workload: &Workload,
    policy: &str,
    executor: Executor,
    settings: &[(&str, u64)],
) -> Result<Outcome, RunError> {
    let object = object(policy);
    let set: Vec<(&str, i128)> = settings.iter().map(|(name, value)| (*name, i128::from(*value))).collect();
    let machine = MachineParameters::of(&object, &set).expect("the tags are right");
    let by_hand = set.iter().map(|(name, value)| (name.to_string(), Value::Integer(*value)));
    let settings = by_hand.chain(machine.settings(&(&workload.machine).into())).collect();
    let options = Options { executor, settings, seed: workload.run.seed };
    scx::run(workload, &object, &options, sink, &mut ())
}

/// What a run measures, as machine code; it obeys the laws of every trace.
pub fn measured(workload: &Workload, policy: &str) -> RunMeasures {
    let validator = Validator::new(Expectations { workload: Some(workload), ..Expectations::default() });
    let mut sinks = (Collector::new(workload), validator);
    run_into(&mut sinks, workload, policy, Executor::Machine, &[]).unwrap();
    let findings = sinks.1.into_findings();
    assert!(findings.is_lawful(), "{} under {policy}: {:#?}", workload.name, findings.reported);
    sinks.0.conservation().unwrap();
    sinks.0.into_measures()
}

/// A run as machine code that obeys the laws of every trace.
pub fn lawful(workload: &Workload, policy: &str) -> (Vec<Event>, Outcome) {
    let mut events = Vec::new();
    let validator = Validator::new(Expectations { workload: Some(workload), ..Expectations::default() });
    let mut sinks = ((&mut events, Collector::new(workload)), validator);
    let outcome = run_into(&mut sinks, workload, policy, Executor::Machine, &[]).unwrap();
    let findings = sinks.1.into_findings();
    assert!(findings.is_lawful(), "{policy}: {:#?}", findings.reported);
    assert_eq!(sinks.0.1.conservation(), Ok(()), "{policy}");
    (events, outcome)
}

/// Runs as machine code with the policy's own parameters.
pub fn run(workload: &Workload, policy: &str) -> Result<Run, RunError> {
    run_with(workload, policy, Executor::Machine, &[])
}

/// Where a task ran: the CPU, from when, until when in microseconds.
pub fn stays(events: &[Event], of: u32) -> Vec<(u32, u64, u64)> {
    let mut stays = Vec::new();
    let mut since = None;
    for event in events {
        let EventKind::Switch { previous, next, .. } = event.kind else { continue };
        let us = event.time.ns() / 1000;
        if previous.is_some_and(|task| task.0 == of) {
            stays.push((event.cpu.0, since.take().expect("it ran"), us));
        }
        if next.is_some_and(|task| task.0 == of) {
            since = Some(us);
        }
    }
    stays
}
