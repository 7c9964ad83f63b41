//! What the collector costs for each switch: `cargo run --release -p schedlab-metrics --example collector_speed`.
//!
//! A machine without a scheduler makes the events of round robin over compute-bound tasks, and of tasks that sleep
//! and wake between requests; its own time is measured with a sink that keeps nothing, and subtracted.

use schedlab_metrics::collector::Collector;
use schedlab_metrics::histogram::Histogram;
use schedlab_model::control_group::ControlGroups;
use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::{CpuId, RoleId, TaskId};
use schedlab_model::machine::Machine;
use schedlab_model::rng::Rng;
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Reason, Sink, WakeSource};
use schedlab_model::workload::{Birth, Class, Kind, Objects, Program, Role, Run, Workload};
use std::collections::VecDeque;
use std::hint::black_box;

const SWITCHES: u64 = 10_000_000;

fn workload(cpus: u32) -> Workload {
    let role = Role {
        name: "worker".into(),
        count: None,
        birth: Birth::Spawned,
        start_on: None,
        nice: 0,
        slice: None,
        class: Class::Other,
        cpus: CpuSet::first(cpus),
        kind: Kind::Thread,
        control: Default::default(),
        program: Program { steps: Vec::new(), repeats: true, repeat_depth: 0, items: None },
    };
    Workload {
        name: "speed".into(),
        about: String::new(),
        machine: Machine::flat(cpus),
        roles: vec![role],
        control_groups: ControlGroups::root_alone(cpus),
        objects: Objects::default(),
        sources: Vec::new(),
        hotplug: Vec::new(),
        run: Run { duration: Time::NEVER, warmup: Time::ZERO, period_phase: Default::default(), seed: 1, calls: false },
    }
}

/// Tasks in turns on each CPU. Every `block_every`-th switch the task blocks, its request ends, and it wakes at once,
/// behind the others, with the next request (0: it never blocks).
fn events(cpus: u32, tasks_per_cpu: u32, block_every: u64, sink: &mut impl Sink) -> u64 {
    let push = |sink: &mut dyn FnMut(&Event), time, cpu, kind| sink(&Event { time, cpu: CpuId(cpu), kind });
    let mut send = |event: &Event| sink.event(event);
    let mut queues = vec![VecDeque::new(); cpus as usize];
    for id in 0..cpus * tasks_per_cpu {
        let (task, target) = (TaskId(id), CpuId(id % cpus));
        push(&mut send, Time(0), 0, EventKind::Fork { task, role: RoleId(0), parent: None });
        push(&mut send, Time(0), 0, EventKind::Wakeup { task, target, waker: None, source: WakeSource::Fork });
        push(&mut send, Time(0), 0, EventKind::RequestBegin { task, intended: Time(0), request: None });
        queues[target.index()].push_back(task);
    }
    let mut rng = Rng::split(1, "speed");
    let mut current = vec![None; cpus as usize];
    let mut now = 0;
    for switch in 1..=SWITCHES {
        now += 1 + rng.below(2_000_000 / u64::from(cpus));
        let cpu = (switch % u64::from(cpus)) as u32;
        let queue = &mut queues[cpu as usize];
        let next = queue.pop_front();
        let previous = std::mem::replace(&mut current[cpu as usize], next);
        let blocks = block_every > 0 && switch % block_every == 0;
        let reason = match previous {
            None => Reason::Idle,
            Some(_) if blocks => Reason::Blocked,
            Some(_) => Reason::SliceEnd,
        };
        if let Some(task) = previous.filter(|_| blocks) {
            push(&mut send, Time(now), cpu, EventKind::RequestEnd { task, demand: Time(1_000_000), request: None });
        }
        push(&mut send, Time(now), cpu, EventKind::Switch { previous, reason, next });
        if let Some(task) = previous {
            if blocks {
                let (target, source) = (CpuId(cpu), WakeSource::Timer);
                push(&mut send, Time(now), cpu, EventKind::Wakeup { task, target, waker: None, source });
                push(&mut send, Time(now), cpu, EventKind::RequestBegin { task, intended: Time(now), request: None });
            }
            queue.push_back(task);
        }
    }
    sink.finish(Time(now));
    now
}

/// CPU time of this thread in ns, whatever else the machine does meanwhile.
fn cpu_time_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux with scheduling statistics");
    text.split(' ').next().and_then(|field| field.parse().ok()).expect("CPU time is the first field")
}

fn ns_per_switch(mut run: impl FnMut()) -> f64 {
    // The least of five: what disturbs a measurement only lengthens it.
    let once = |run: &mut dyn FnMut()| {
        let start = cpu_time_ns();
        run();
        (cpu_time_ns() - start) as f64 / SWITCHES as f64
    };
    (0..5).map(|_| once(&mut run)).fold(f64::INFINITY, f64::min)
}

fn main() {
    let mut histogram = Histogram::default();
    let mut rng = Rng::split(1, "histogram");
    let values: Vec<u64> = (0..4096).map(|_| rng.below(1 << (10 + rng.clone().below(24)))).collect();
    let record = ns_per_switch(|| (0..SWITCHES).for_each(|i| histogram.record(values[i as usize % 4096])));
    println!("histogram: {record:.1} ns for each value ({:?})", black_box(histogram.quantile(0.5)));
    println!("{:>5} {:>10} {:>9}  {:>10} {:>10}", "CPUs", "tasks/CPU", "blocking", "machine", "collector");
    for (cpus, tasks, block_every) in [(2, 7, 0), (2, 7, 2), (8, 100, 0), (8, 100, 2), (64, 1000, 0), (64, 1000, 2)] {
        let machine = ns_per_switch(|| {
            black_box(events(cpus, tasks, block_every, &mut ()));
        });
        let with = ns_per_switch(|| {
            let mut collector = Collector::new(&workload(cpus));
            events(cpus, tasks, block_every, &mut collector);
            collector.conservation().expect("time adds up");
            black_box(collector.into_measures());
        });
        let share = if block_every > 0 { "1 in 2" } else { "none" };
        println!("{cpus:>5} {tasks:>10} {share:>9}  {machine:>7.1} ns {:>7.1} ns", with - machine);
    }
}
