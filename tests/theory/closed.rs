//! Batches and closed systems: exact, vectors 33 and 34.

use super::queue::Server;
use schedlab_metrics::statistics::mean;
use schedlab_metrics::theory::closed;
use schedlab_model::control_group::ControlGroups;
use schedlab_model::distribution::Distribution;
use schedlab_model::machine::Machine;
use schedlab_model::trace::{Event, EventKind};
use schedlab_model::workload::*;
use schedlab_model::{cpuset::CpuSet, time::Time};
use schedlab_sim::ideal::Discipline;

/// `tasks` tasks that compute for 20 ms once, or for 250 ms and then think for 10 ms again and again.
fn workload(cpus: u32, tasks: u32, steps: Vec<Step>, repeats: bool) -> Workload {
    let role = Role {
        name: "task".into(),
        count: Some(tasks),
        birth: Birth::At(Time::ZERO),
        start_on: None,
        nice: 0,
        slice: None,
        class: Class::Other,
        cpus: CpuSet::first(cpus),
        kind: Kind::Thread,
        control: Default::default(),
        program: Program { steps, repeats, repeat_depth: 0, items: None },
    };
    Workload {
        name: "closed".into(),
        about: String::new(),
        machine: Machine::flat(cpus),
        roles: vec![role],
        control_groups: ControlGroups::root_alone(cpus),
        objects: Objects::default(),
        sources: Vec::new(),
        hotplug: Vec::new(),
        run: Run {
            duration: Time::from_s(3600),
            warmup: Time::ZERO,
            period_phase: Default::default(),
            calls: false,
            seed: 1,
        },
    }
}

/// Begin and end of each request, in the order of the ends, in milliseconds.
fn requests(workload: &Workload, server: impl Server) -> Vec<(f64, f64)> {
    let mut events: Vec<Event> = Vec::new();
    server.serve(workload, &mut events);
    let mut begins = vec![0.0; workload.roles[0].count.unwrap_or(0) as usize];
    let mut requests = Vec::new();
    for event in events {
        match event.kind {
            EventKind::RequestBegin { task, intended, .. } => begins[task.index()] = intended.ns() as f64 / 1e6,
            EventKind::RequestEnd { task, .. } => requests.push((begins[task.index()], event.time.ns() as f64 / 1e6)),
            _ => {}
        }
    }
    requests
}

fn compute(length: u64) -> Vec<Step> {
    vec![Step::RequestBegin, Step::Compute(Distribution::Constant(Time::from_ms(length))), Step::RequestEnd]
}

/// When four jobs of 20 ms that are there at once end.
pub fn ends_of_four(server: impl Server) -> Vec<f64> {
    requests(&workload(1, 4, compute(20), false), server).into_iter().map(|request| request.1).collect()
}

#[test]
fn four_jobs_at_once() {
    assert_eq!(ends_of_four(Discipline::Fcfs), closed::round_robin_batch(4, 20.0, 20.0));
    assert_eq!(mean(&ends_of_four(Discipline::Fcfs)), Some(50.0));
    assert_eq!(ends_of_four(Discipline::Ps), [80.0; 4]);
    assert_eq!(ends_of_four(Discipline::Fb), [80.0; 4]);
}

/// Seven tasks on two CPUs. The order of first come, first served repeats every seven passes of both CPUs.
#[test]
fn heavy_load() {
    let think = Step::Sleep(Distribution::Constant(Time::from_ms(10)));
    let workload = workload(2, 7, [compute(250), vec![think]].concat(), true);
    let requests = requests(&workload, Discipline::Fcfs);
    let measured: Vec<f64> = requests.iter().skip(140).take(1400).map(|(begin, end)| end - begin).collect();
    let period = requests[1540].1 - requests[140].1;
    assert_eq!(measured.iter().sum::<f64>() / 1400.0, closed::response(7, 250.0, 10.0, 2));
    assert_eq!(1400.0 / period, closed::throughput(7, 250.0, 10.0, 2));
    assert_eq!((closed::response(7, 250.0, 10.0, 2), 1400.0 / period), (865.0, 0.008));
}
