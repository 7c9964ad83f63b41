//! Tests of `rr`: the queues that theory or a published simulation says something about. Jobs of 20 ms arrive one in
//! 21 ms by a Poisson process, as with Happe et al. (2009); times are in milliseconds.
//!
//! The published means are from simulations of 4 * 10^7 jobs with errors of their own; [`Estimate::assert_published`] says
//! what "equal" means then. All runs see the same arrivals, and jobs meet the policy as tasks that begin and end.

use crate::lab;
use crate::policies::observe;
use crate::theory::HAPPE;
use crate::theory::closed::ends_of_four;
use crate::theory::estimate::{Estimate, Published};
use crate::theory::queue::{Queue, Server, deterministic, exponential, ms};
use schedlab_bpf::Executor;
use schedlab_metrics::statistics::mean;
use schedlab_metrics::theory::closed::round_robin_batch;
use schedlab_model::distribution::Distribution;
use schedlab_model::ids::TaskId;
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Sink};
use schedlab_model::workload::{Birth, Workload};
use std::collections::VecDeque;

/// The policy with this quantum.
#[derive(Clone, Copy)]
struct RoundRobin(f64);

impl Server for RoundRobin {
    fn serve(&self, workload: &Workload, sink: &mut dyn Sink) {
        let quantum = [("quantum", ms(self.0).ns())];
        lab::run_into(sink, workload, "rr", Executor::Machine, &quantum).unwrap_or_else(|error| panic!("{error}"));
    }
}

fn md1() -> Queue {
    Queue::new(1, HAPPE, deterministic())
}

/// Mean wait of M/D/1 under first come, first served, sρ/(2(1 − ρ)): the mean of the control.
const MD1_WAIT: f64 = 200.0;
/// The same of M/M/1, sρ/(1 − ρ).
const MM1_WAIT: f64 = 400.0;

fn check_md1(quantum: f64, mean: f64, half_95: f64) {
    let estimate = md1().response(RoundRobin(quantum));
    let what = format!("M/D/1 20/21 rr({quantum})");
    estimate.assert_published(&what, estimate.controlled(MD1_WAIT), Published { mean, half_95 }, 0.001);
}

#[test]
fn vector_27_md1_quantum_10() {
    check_md1(10.0, 288.0, 2.6);
}

/// Worse than with a quantum of 10, though longer: a job has two turns either way, and waits longer for each of them.
#[test]
fn vector_28_md1_quantum_15() {
    check_md1(15.0, 344.4, 3.1);
}

#[test]
fn vector_29_md1_quantum_5() {
    check_md1(5.0, 341.5, 3.1);
}

#[test]
fn vector_30_md1_quantum_2() {
    check_md1(2.0, 384.8, 3.5);
}

#[test]
fn vector_31_md1_quantum_1() {
    check_md1(1.0, 401.8, 3.7);
}

/// Besides the published mean theory's: a policy that does not look at exponential sizes has the one of first come,
/// first served.
#[test]
fn vector_32_mm1_quantum_5() {
    let estimate = Queue::new(1, HAPPE, exponential()).millions(3).response(RoundRobin(5.0));
    let what = "M/M/1 20/21 rr(5)";
    estimate.assert_published(what, estimate.controlled(MM1_WAIT), Published { mean: 420.8, half_95: 9.0 }, 0.005);
    estimate.assert_controlled(what, MM1_WAIT, 420.0, 0.005);
}

#[test]
fn vector_33_four_jobs_at_once() {
    let ends = ends_of_four(RoundRobin(5.0));
    assert_eq!(ends, [65.0, 70.0, 75.0, 80.0]);
    assert_eq!(mean(&ends), Some(72.5));
    for quantum in [1.0, 2.0, 4.0, 10.0, 20.0] {
        assert_eq!(ends_of_four(RoundRobin(quantum)), round_robin_batch(4, 20.0, quantum));
    }
}

/// With a quantum no shorter than a job each job's response is that of Lindley's recursion to the nanosecond.
#[test]
fn a_quantum_of_a_job_is_fcfs() {
    for quantum in [20.0, 100.0] {
        let mut estimate = Estimate::default();
        md1().millions(2).visit(RoundRobin(quantum), |job| {
            assert!(job.is_fcfs(), "{job:?}");
            estimate.record(job.response, 0.0);
        });
        estimate.assert_plain(&format!("M/D/1 20/21 rr({quantum})"), 220.0, 0.07);
    }
}

/// A job that is done.
struct Served {
    arrival_ns: u64,
    size_ns: u64,
    end_ns: u64,
}

/// All jobs, in the order of arrival.
#[derive(Default)]
struct Log(Vec<Served>);

impl Sink for Log {
    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Fork { .. } => self.0.push(Served { arrival_ns: event.time.ns(), size_ns: 0, end_ns: 0 }),
            EventKind::RequestEnd { task, demand, .. } => {
                let job = &mut self.0[task.index()];
                (job.size_ns, job.end_ns) = (demand.ns(), event.time.ns());
            }
            _ => {}
        }
    }
}

/// When each job ends, from the definition: the first in line runs for a quantum or what is left of it, then the jobs
/// that have come by then join the line, and behind them the one that ran, unless it is done.
fn ends_by_definition(jobs: &[Served], quantum_ns: u64) -> Vec<u64> {
    let mut ends = vec![0; jobs.len()];
    let mut coming = jobs.iter().enumerate().peekable();
    let (mut line, mut unfinished, mut now_ns) = (VecDeque::new(), None, 0);
    loop {
        while let Some((index, job)) = coming.next_if(|(_, job)| job.arrival_ns <= now_ns) {
            line.push_back((index, job.size_ns));
        }
        line.extend(unfinished.take());
        match (line.pop_front(), coming.peek()) {
            (Some((index, rest_ns)), _) => {
                now_ns += rest_ns.min(quantum_ns);
                ends[index] = now_ns;
                unfinished = (rest_ns > quantum_ns).then(|| (index, rest_ns - quantum_ns));
            }
            (None, Some((_, job))) => now_ns = job.arrival_ns,
            (None, None) => return ends,
        }
    }
}

/// Every job of a long stream ends when the definition says, to the nanosecond. With arrivals at whole milliseconds
/// many come just when a slice ends: they queue before the task whose slice it was.
#[test]
fn every_job_ends_when_the_definition_says() {
    let whole = Distribution::Choice(vec![(ms(1.0), 0.5), (ms(41.0), 0.5)]);
    let poisson = Distribution::Exponential(ms(21.0));
    for (quantum, size, gap) in [
        (5.0, deterministic(), poisson.clone()),
        (15.0, deterministic(), poisson.clone()),
        (5.0, exponential(), poisson),
        (1.0, deterministic(), whole.clone()),
        (5.0, deterministic(), whole),
    ] {
        let mut workload = Queue::new(1, HAPPE, size).workload();
        workload.roles[0].birth = Birth::Arrivals { first: Time::ZERO, gap };
        workload.roles[0].count = Some(100_000);
        let mut log = Log::default();
        RoundRobin(quantum).serve(&workload, &mut log);
        let ends: Vec<u64> = log.0.iter().map(|job| job.end_ns).collect();
        assert_eq!(ends.len(), 100_000);
        assert!(ends == ends_by_definition(&log.0, ms(quantum).ns()), "rr({quantum})");
    }
}

/// A turn of 20 ms holds what the switch to it took, 1 ms; also where turns end at ticks, at 3, 7, 11 ms and so on.
#[test]
fn a_quantum_goes_on_while_the_system_works() {
    let tasks = "[[task]]\nname = \"hog\"\ncount = 2\nloop = [{ compute = \"100s\" }]\n";
    let ticks = "tick = \"4ms\"\ntick_offset = \"3ms\"\n";
    for machine in ["", ticks] {
        let machine = format!("cpus = 1\n{machine}[machine.costs]\nswitch = \"1ms\"");
        let events = observe::run("rr", &observe::workload(&machine, "2s", tasks), &[("quantum", ms(20.0).ns())]);
        let turns = observe::turns_us(&events, 0);
        let lengths: Vec<u64> = turns[1..].iter().map(|turn| turn.1 - turn.0).collect();
        assert!(lengths.len() > 40 && lengths.iter().all(|length| *length == 20_000), "{lengths:?}");
        let begins_at_ticks = turns[1..].iter().all(|turn| turn.0 % 4_000 == 3_000);
        assert_eq!(begins_at_ticks, machine.contains("tick"));
    }
}

/// A switch that takes longer than the quantum leaves nothing of it: the turn ends at the next tick.
#[test]
fn a_switch_may_use_up_the_quantum() {
    let tasks = "[[task]]\nname = \"hog\"\ncount = 2\nloop = [{ compute = \"100s\" }]\n";
    let machine = "cpus = 1\ntick = \"4ms\"\n[machine.costs]\nswitch = \"100us\"";
    let events = observe::run("rr", &observe::workload(machine, "1s", tasks), &[("quantum", ms(0.05).ns())]);
    let turns = observe::turns_us(&events, 0);
    // The first one begins at a tick.
    assert!(turns.len() > 100 && turns[1..].iter().all(|turn| turn.1 - turn.0 == 4_000), "{turns:?}");
}

/// What creating, beginning and ending take is CPU time of the tasks: the children come 2 ms after one another, each of
/// them was asked for when the step began, and the turns hold begin and end.
#[test]
fn tasks_pay_for_their_lives() {
    let tasks = r#"
        [[task]]
        name = "parent"
        once = [{ compute = "1ms" }, { spawn = "child", count = 2 }, { compute = "5ms" }]
        [[task]]
        name = "child"
        spawned = true
        once = [{ compute = "10ms" }]
    "#;
    let machine = "cpus = 1\n[machine.costs]\nfork = \"2ms\"\nstart = \"1ms\"\nexit = \"500us\"";
    let events = observe::run("rr", &observe::workload(machine, "1s", tasks), &[("quantum", ms(100.0).ns())]);
    let turns: Vec<_> = (0..3).flat_map(|task| observe::turns_us(&events, task)).collect();
    assert_eq!(turns, [(0, 10_500), (10_500, 22_000), (22_000, 33_500)]);
    let forks = events.iter().filter_map(|event| matches!(event.kind, EventKind::Fork { .. }).then_some(event.time));
    assert_eq!(forks.collect::<Vec<_>>(), [0.0, 3.0, 5.0].map(ms));
    let asked = events.iter().filter_map(|event| match event.kind {
        EventKind::RequestBegin { task: TaskId(1..), intended, .. } => Some((event.time, intended)),
        _ => None,
    });
    assert_eq!(asked.collect::<Vec<_>>(), [(ms(11.5), ms(1.0)), (ms(23.0), ms(1.0))]);
}
