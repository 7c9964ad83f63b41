//! What a policy hears of control groups, in which order, and what it finds out about them.

use crate::lab;
use schedlab_bpf::Executor;
use schedlab_metrics::validator::{Expectations, Validator};
use schedlab_model::ids::TaskId;
use schedlab_model::scenario::Scenario;
use schedlab_model::trace::*;
use schedlab_model::workload::Workload;

fn workload(cpus: u32, tables: &str) -> Workload {
    let text = format!("name = \"t\"\n[machine]\ncpus = {cpus}\n[run]\nduration = \"1s\"\n{tables}");
    Scenario::parse(&text, "t").unwrap().compile().unwrap_or_else(|error| panic!("{tables}: {error}"))
}

/// What the policy says that logs, the same by both executors; the trace is lawful.
fn said(workload: &Workload) -> (Vec<String>, Vec<Event>) {
    let [one, two] = [Executor::Machine, Executor::Interpreter].map(|executor| {
        let mut events = Vec::new();
        let mut validator = Validator::new(Expectations { workload: Some(workload), ..Expectations::default() });
        let sink = &mut (&mut events, &mut validator);
        let outcome = lab::run_into(sink, workload, "groups", executor, &[]).unwrap_or_else(|error| panic!("{error}"));
        let findings = validator.into_findings();
        assert!(findings.is_lawful(), "{:#?}", findings.reported);
        (outcome.printed.into_iter().map(|(_, line)| line).collect::<Vec<_>>(), events)
    });
    assert!(one == two, "the executors differ");
    one
}

const TREE: &str = "[[control_group]]\npath = \"a\"\nweight = 300\n\
                    [[control_group]]\npath = \"a/b\"\nmax = \"5ms/20ms\"\nburst = \"1ms\"\n\
                    [[control_group]]\npath = \"c\"\n";

fn of<'a>(lines: &'a [String], words: &[&str]) -> Vec<&'a str> {
    let is_one = |line: &&String| words.iter().any(|word| line.split(' ').next() == Some(word));
    lines.iter().filter(is_one).map(String::as_str).collect()
}

/// Parents come first and go last; the root has a period of 100 ms and no quota (`scx_tg_init`).
#[test]
fn groups_come_and_go_with_the_policy() {
    let (lines, _) = said(&workload(
        1,
        &format!("{TREE}[[task]]\nname = \"x\"\ncontrol_group = \"a/b\"\nonce = [{{ compute = \"1ms\" }}]\n"),
    ));
    let expected = [
        "init",
        "cgroup_init 1 weight 100 period 100000 quota -1 burst 0",
        "cgroup_init 2 weight 300 period 100000 quota -1 burst 0",
        "cgroup_init 3 weight 100 period 20000 quota 5000 burst 1000",
        "cgroup_init 4 weight 100 period 100000 quota -1 burst 0",
        "init_task 1000 fork 1 in 3",
        "cgroup_exit 3",
        "cgroup_exit 2",
        "cgroup_exit 4",
        "cgroup_exit 1",
        "exit",
    ];
    assert_eq!(of(&lines, &["init", "cgroup_init", "init_task", "cgroup_exit", "exit"]), expected);
    assert_eq!(of(&lines, &["runnable"]), ["runnable 1000 in 3 level 2 below 2"]);
    assert_eq!(of(&lines, &["walk", "under"]), ["walk 2 from 1: 1234", "walk 3 from 1: 3241", "under the root 1"]);
}

/// The policy is asked, then the task leaves its queue, moves, and comes back.
#[test]
fn a_task_that_joins_is_taken_out_and_put_back() {
    let task = "[[task]]\nname = \"x\"\nonce = [{ compute = \"1ms\" }, { join = \"c\" }, { compute = \"1ms\" }]\n";
    let (lines, events) = said(&workload(1, &format!("{TREE}{task}")));
    let heard = of(&lines, &["runnable", "quiescent", "prep_move", "move"]);
    let expected = [
        "runnable 1000 in 1 level 0 below 0",
        "prep_move 1000 from 1 to 4",
        "quiescent 1000 in 1 level 0 below 0",
        "move 1000 from 1 to 4",
        "runnable 1000 in 4 level 1 below 4",
        "quiescent 1000 in 4 level 1 below 4",
    ];
    assert_eq!(heard, expected);
    let joins = events.iter().filter(|event| matches!(event.kind, EventKind::Join { .. })).count();
    assert_eq!(joins, 1);
}

/// A spawned task begins where its parent is, unless it says otherwise.
#[test]
fn children_begin_where_their_parents_are() {
    let tasks = "[[task]]\nname = \"x\"\ncontrol_group = \"c\"\nonce = [{ spawn = \"y\" }, { join = \"a/b\" }, { spawn = \"y\" }, { spawn = \"z\" }]\n\
                 [[task]]\nname = \"y\"\nspawned = true\nonce = [{ compute = \"1ms\" }]\n\
                 [[task]]\nname = \"z\"\nspawned = true\ncontrol_group = \"c\"\nonce = [{ compute = \"1ms\" }]\n";
    let (lines, _) = said(&workload(2, &format!("{TREE}{tasks}")));
    let expected = [
        "init_task 1000 fork 1 in 4",
        "init_task 1001 fork 1 in 4",
        "init_task 1002 fork 1 in 3",
        "init_task 1003 fork 1 in 4",
    ];
    assert_eq!(of(&lines, &["init_task"]), expected);
}

/// Only changes are reported. `cpu.idle` says nothing of the weight, which is as it was afterwards.
#[test]
fn written_knobs_are_told_when_they_change() {
    let adjust = |knobs: &str| format!("{{ adjust = {{ control_group = \"c\", {knobs} }} }}");
    let steps: Vec<String> = [
        "weight = 100",
        "weight = 200",
        "nice = 0",
        "idle = true",
        "idle = false",
        "idle = true",
        "weight = 300",
        "max = \"5ms/10ms\"",
        "max = \"5ms\"",
        "max = \"6ms\", burst = \"1ms\"",
        "max = \"max\", burst = \"0ms\"",
    ]
    .map(adjust)
    .into();
    let task = format!("[[task]]\nname = \"x\"\nonce = [{}, {{ compute = \"1ms\" }}]\n", steps.join(", "));
    let (lines, _) = said(&workload(1, &format!("{TREE}{task}")));
    let expected = [
        "set_weight 4 200",
        "set_weight 4 100",
        "set_idle 4 1",
        "set_idle 4 0",
        "set_idle 4 1",
        "set_idle 4 0",
        "set_weight 4 300",
        "set_bandwidth 4 10000 5000 0",
        "set_bandwidth 4 10000 6000 1000",
        "set_bandwidth 4 10000 -1 0",
    ];
    assert_eq!(of(&lines, &["set_weight", "set_idle", "set_bandwidth"]), expected);
}

/// A task goes where the CPUs of its control group are, when it begins and when it joins.
#[test]
fn cpus_are_those_of_the_control_group() {
    let tables = "[[control_group]]\npath = \"left\"\ncpus = \"0\"\n[[control_group]]\npath = \"right\"\ncpus = \"1-2\"\n\
                  [[task]]\nname = \"x\"\ncontrol_group = \"left\"\nonce = [{ compute = \"2ms\" }, { join = \"right\" }, { compute = \"2ms\" }, \
                  { set = { cpus = \"0,2\" } }, { compute = \"2ms\" }, { join = \"left\" }, { compute = \"2ms\" }]\n";
    let (lines, events) = said(&workload(3, tables));
    assert_eq!(of(&lines, &["set_cpumask"]).len(), 3);
    let ran: Vec<u32> = events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Switch { next: Some(TaskId(0)), .. }))
        .map(|event| event.cpu.0)
        .collect();
    let [first, second, third, fourth] = ran[..] else { panic!("{ran:?}") };
    assert!(first == 0 && (second == 1 || second == 2) && third == 2 && fourth == 0, "{ran:?}");
}

/// A policy that does not ask for control groups runs with them all the same.
#[test]
fn other_policies_run_in_control_groups() {
    let task = "[[task]]\nname = \"x\"\ncount = 3\ncontrol_group = \"a/b\"\nloop = [{ compute = \"1ms\" }, { join = \"c\" }, { sleep = \"1ms\" }, { join = \"a/b\" }]\n";
    let workload = workload(2, &format!("{TREE}{task}"));
    for policy in ["fcfs", "rr", "cfs", "eevdf", "ule", "mlfq", "linux-o1", "windows", "alb"] {
        let mut validator = Validator::new(Expectations { workload: Some(&workload), ..Expectations::default() });
        lab::run_into(&mut validator, &workload, policy, Executor::Machine, &[])
            .unwrap_or_else(|error| panic!("{policy}: {error}"));
        let findings = validator.into_findings();
        assert!(findings.is_lawful(), "{policy}: {:#?}", findings.reported);
    }
}
