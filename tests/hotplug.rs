//! CPUs that go offline and come back.

use crate::lab::{self, lawful as run, stays};
use schedlab_bpf::Executor;
use schedlab_model::scenario::Scenario;
use schedlab_model::trace::*;
use schedlab_model::workload::Workload;
use schedlab_sim::RunError;

/// CPUs 1 and 2 of three are away in the second second of three.
const AWAY: &str = "[[hotplug]]\nat = \"1s\"\noffline = \"1-2\"\n[[hotplug]]\nat = \"2s\"\nonline = \"1-2\"\n";

fn workload(tables: &str) -> Workload {
    let text = format!("name = \"t\"\n[machine]\ncpus = 3\n[run]\nduration = \"3s\"\n{AWAY}{tables}");
    Scenario::parse(&text, "t").unwrap().compile().unwrap_or_else(|error| panic!("{tables}: {error}"))
}

/// How much CPU time a task had on CPUs between two instants, in whole milliseconds.
fn had_ms(events: &[Event], task: u32, cpus: &[u32], (from, until): (u64, u64)) -> u64 {
    // What runs at the end of a run never leaves its CPU.
    let last = events.iter().rev().find_map(|event| match event.kind {
        EventKind::Switch { next: Some(next), .. } if next.0 == task => Some((event.cpu.0, event.time.ns() / 1000)),
        EventKind::Switch { previous: Some(previous), .. } if previous.0 == task => Some((u32::MAX, 0)),
        _ => None,
    });
    let last = last.map(|(cpu, since)| (cpu, since, 3_000_000));
    let there = stays(events, task).into_iter().chain(last).filter(|(cpu, ..)| cpus.contains(cpu));
    there.map(|(_, begin, end)| end.min(until * 1000).saturating_sub(begin.max(from * 1000))).sum::<u64>() / 1000
}

const HOGS: &str = "[[task]]\nname = \"hog\"\ncount = 3\nonce = [{ compute = \"10s\" }]\n";

#[test]
fn nothing_runs_on_a_cpu_that_is_offline_and_all_go_on_elsewhere() {
    for policy in ["rr", "fcfs", "plugged"] {
        let (events, _) = run(&workload(HOGS), policy);
        let all = |cpus: &[u32], span| (0..3).map(|task| had_ms(&events, task, cpus, span)).sum::<u64>();
        assert_eq!(all(&[1, 2], (1000, 2000)), 0, "{policy}");
        // Each of three sums is rounded down.
        assert!(all(&[0], (1000, 2000)) >= 997, "{policy}");
    }
    // One queue for all: each has its part of the CPU that is left, and of all when they are back.
    let (events, _) = run(&workload(HOGS), "rr");
    for task in 0..3 {
        let part = had_ms(&events, task, &[0], (1000, 2000));
        assert!((300..=400).contains(&part), "task {task} had {part} ms");
    }
    // A quantum of 100 ms is over before the CPUs have work again.
    let back: u64 = (0..3).map(|task| had_ms(&events, task, &[1, 2], (2000, 3000))).sum();
    assert!(back >= 1900, "{back}");
}

/// The tasks of its queue come to `enqueue` on another CPU, although the policy does nothing for that.
#[test]
fn the_tasks_of_a_policys_own_queues_are_asked_about_again() {
    let tables = "[[task]]\nname = \"t\"\ncount = 4\nstart_on = 0\nonce = [{ compute = \"10s\" }]\n\
                  [[task]]\nname = \"u\"\ncount = 4\ncpus = \"1\"\nonce = [{ compute = \"10s\" }]\n";
    let (events, outcome) = run(&workload(tables), "plugged");
    for task in 4..8 {
        let part = had_ms(&events, task, &[0], (1000, 2000));
        assert!((100..=150).contains(&part), "task {task} had {part} ms of an eighth of a second");
    }
    let printed: Vec<&str> = outcome.printed.iter().map(|(_, line)| line.as_str()).collect();
    assert_eq!(printed, ["1 0 of 2", "2 0 of 1", "1 1 of 2", "2 1 of 3"]);
}

/// `select_fallback_rq`: it may run anywhere from then on.
#[test]
fn a_task_whose_cpus_are_gone_may_run_on_all() {
    let tables = "[[task]]\nname = \"t\"\ncpus = \"1\"\nloop = [{ compute = \"1ms\" }, { sleep = \"1ms\" }]\n";
    for policy in ["rr", "plugged"] {
        let (events, _) = run(&workload(tables), policy);
        let elsewhere = had_ms(&events, 0, &[0], (1000, 2000));
        assert!((495..=500).contains(&elsewhere), "{policy}: {elsewhere}");
        assert_eq!(had_ms(&events, 0, &[0, 2], (0, 1000)), 0, "{policy}");
    }
}

#[test]
fn a_task_that_sleeps_meanwhile_wakes_elsewhere() {
    let tables = "[[task]]\nname = \"t\"\ncpus = \"0\"\nonce = [{ set = { cpus = \"2\" } }, { sleep = \"1500ms\" }, \
                  { compute = \"10ms\" }]\n";
    let (events, _) = run(&workload(tables), "rr");
    assert_eq!(stays(&events, 0).last(), Some(&(0, 1_500_000, 1_510_000)));
}

/// `__set_cpus_allowed_ptr`: EINVAL.
#[test]
fn cpus_that_are_gone_cannot_be_asked_for() {
    let tables = "[[task]]\nname = \"t\"\nstart = \"1200ms\"\nonce = [{ set = { cpus = \"1-2\" } }, { compute = \"10ms\" }, \
                  { sleep = \"1s\" }, { set = { cpus = \"1-2\" } }, { compute = \"10ms\" }]\n";
    let (events, _) = run(&workload(tables), "rr");
    let on: Vec<u32> = stays(&events, 0).into_iter().filter(|stay| stay.2 > stay.1).map(|stay| stay.0).collect();
    assert_eq!((on.first(), on.last().is_some_and(|cpu| [1, 2].contains(cpu))), (Some(&0), true), "{on:?}");
}

#[test]
fn real_time_tasks_leave_too() {
    let tables =
        "[[task]]\nname = \"t\"\nclass = \"fifo:5\"\ncount = 3\nloop = [{ compute = \"2ms\" }, { sleep = \"8ms\" }]\n";
    let (events, _) = run(&workload(tables), "rr");
    for task in 0..3 {
        let there = had_ms(&events, task, &[0], (1000, 2000));
        assert!((190..=202).contains(&there), "task {task} had {there} ms");
        assert_eq!(had_ms(&events, task, &[1, 2], (1000, 2000)), 0);
    }
}

#[test]
fn a_policy_that_does_not_want_to_hear_of_it_is_ended() {
    let error = lab::run_with(&workload(HOGS), "ule", Executor::Machine, &[]).err().expect("it ends");
    assert!(matches!(error, RunError::Policy(_)), "{error}");
    assert!(error.to_string().contains("CPU 1 goes offline and the policy has no `cpu_offline`"), "{error}");
}
