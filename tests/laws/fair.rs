//! Shares: what each of several equal tasks gets.

use crate::{generate, lab};
use schedlab_model::{time::Time, trace::*};
use std::collections::BTreeMap;

const QUANTUM: Time = Time::from_ms(100);

/// CPU time of tasks that are always runnable, looked at whenever it changes: the difference between any two is at most
/// one quantum (Kleinrock's round robin).
fn shares_differ_by_a_quantum(run: &lab::Run) -> Result<(), String> {
    let mut got: BTreeMap<u32, u64> = BTreeMap::new();
    let mut since: BTreeMap<u32, u64> = BTreeMap::new();
    for event in &run.events {
        match event.kind {
            EventKind::Fork { task, .. } => _ = got.insert(task.0, 0),
            EventKind::Switch { previous, next, .. } => {
                if let Some(task) = previous {
                    *got.entry(task.0).or_default() += event.time.ns() - since[&task.0];
                }
                if let Some(task) = next {
                    since.insert(task.0, event.time.ns());
                }
                let (least, most) =
                    (got.values().min().copied().unwrap_or(0), got.values().max().copied().unwrap_or(0));
                if most - least > QUANTUM.ns() {
                    return Err(format!("at {} the shares differ by {}", event.time, Time(most - least)));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

#[test]
fn round_robin_shares_to_within_a_quantum() {
    for (cpus, tasks) in [(1, 1), (1, 2), (1, 7), (2, 3), (2, 7), (4, 5), (8, 100)] {
        let run = lab::run(&generate::hogs(cpus, tasks), "rr").expect("it runs");
        assert_eq!(shares_differ_by_a_quantum(&run), Ok(()), "{cpus} CPUs, {tasks} tasks");
    }
}

#[test]
fn an_unfair_policy_is_caught() {
    let run = lab::run(&generate::hogs(1, 4), "unfair").expect("it runs");
    assert!(shares_differ_by_a_quantum(&run).is_err());
}

/// No task waits longer than a round of all others.
fn nobody_starves(run: &lab::Run, longest: Time) -> Result<(), String> {
    let mut waiting: BTreeMap<u32, Time> = BTreeMap::new();
    let check = |task: u32, since: Time, now: Time| match now.since(since) > longest {
        true => Err(format!("task {task} waits from {since} to {now}")),
        false => Ok(()),
    };
    for event in &run.events {
        match event.kind {
            EventKind::Wakeup { task, .. } => _ = waiting.insert(task.0, event.time),
            EventKind::Switch { previous, reason, next } => {
                if let (Some(task), Reason::SliceEnd | Reason::Preempted | Reason::Yielded) = (previous, reason) {
                    waiting.insert(task.0, event.time);
                }
                if let Some(task) = next {
                    check(task.0, waiting.remove(&task.0).unwrap_or(event.time), event.time)?;
                }
            }
            _ => {}
        }
    }
    waiting.iter().try_for_each(|(&task, &since)| check(task, since, run.outcome.end))
}

#[test]
fn round_robin_lets_nobody_starve_and_a_starving_policy_is_caught() {
    let mut workload = generate::hogs(1, 3);
    workload.run.duration = Time::from_s(20);
    let round = Time(2 * QUANTUM.ns());
    let run = lab::run(&workload, "rr").expect("it runs");
    assert_eq!(nobody_starves(&run, round), Ok(()));
    let run = lab::run(&workload, "starving").expect("too short for the watchdog");
    assert!(nobody_starves(&run, round).is_err());
}

/// Two CPUs that run out of work now and then and pull tasks from one another: a pulled task keeps its place among the
/// others, so no task waits for more than a few slices.
#[test]
fn who_is_pulled_does_not_starve_and_starves_nobody() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench/agreement/scenarios/mixed.toml");
    let scenario = schedlab_model::scenario::Scenario::from_file(file.as_ref()).expect("the scenario is there");
    let mut workload = scenario.compile().expect("it is whole");
    workload.machine.tick = Time::from_ms(4);
    for policy in ["cfs", "eevdf", "alb"] {
        for seed in 1..=4 {
            workload.run.seed = seed;
            let run = lab::run(&workload, policy).expect("it runs");
            let pulled = run.events.iter().filter(|event| matches!(event.kind, EventKind::Migrate { .. })).count();
            assert!(pulled > 20, "{policy}, seed {seed}: {pulled} tasks were moved");
            assert_eq!(nobody_starves(&run, Time::from_ms(30)), Ok(()), "{policy}, seed {seed}");
        }
    }
}
