//! Small workloads, and what became of them.

use super::machine::Machine as WholeCpus;
use super::{Discipline, drive};
use crate::Outcome;
use crate::world::World;
use schedlab_metrics::collector::Collector;
use schedlab_metrics::validator::{Expectations, Validator};
use schedlab_model::control_group::ControlGroups;
use schedlab_model::distribution::Distribution;
use schedlab_model::machine::{Costs, Machine};
use schedlab_model::scenario::Scenario;
use schedlab_model::workload::*;
use schedlab_model::{cpuset::CpuSet, time::Time, trace::*};
use std::collections::BTreeMap;
use std::rc::Rc;

/// That many milliseconds, always.
pub fn ms(length: u64) -> Distribution {
    Distribution::Constant(Time::from_ms(length))
}

/// One task that does these steps once, as one request, from `at_ms` on. It may use all CPUs of [`workload`].
pub fn once(name: &str, at_ms: u64, steps: Vec<Step>) -> Role {
    let steps = [vec![Step::RequestBegin], steps, vec![Step::RequestEnd]].concat();
    Role {
        name: name.into(),
        count: Some(1),
        birth: Birth::At(Time::from_ms(at_ms)),
        start_on: None,
        nice: 0,
        slice: None,
        class: Class::Other,
        cpus: CpuSet::default(),
        kind: Kind::Thread,
        control: Default::default(),
        program: Program { steps, repeats: false, repeat_depth: 2, items: None },
    }
}

/// A semaphore that counts no requests.
pub fn semaphore(name: &str, initial: u32) -> Semaphore {
    Semaphore { name: name.into(), initial, work: None }
}

/// A task that only computes.
pub fn job(name: &str, at_ms: u64, work_ms: u64) -> Role {
    once(name, at_ms, vec![Step::Compute(ms(work_ms))])
}

/// Two seconds of these roles.
pub fn workload(cpus: u32, mut roles: Vec<Role>) -> Workload {
    roles.iter_mut().filter(|role| role.cpus.is_empty()).for_each(|role| role.cpus = CpuSet::first(cpus));
    Workload {
        name: "test".into(),
        about: String::new(),
        machine: Machine::flat(cpus),
        roles,
        control_groups: ControlGroups::root_alone(cpus),
        objects: Objects::default(),
        sources: Vec::new(),
        hotplug: Vec::new(),
        run: Run {
            duration: Time::from_s(2),
            warmup: Time::ZERO,
            period_phase: Default::default(),
            seed: 1,
            calls: false,
        },
    }
}

/// The events of a run, which obeys all laws.
pub fn events(workload: &Workload, discipline: Discipline) -> Vec<Event> {
    let run = |sink: &mut dyn Sink| super::run(workload, discipline, 1, sink, &mut ()).unwrap();
    lawful(workload, discipline.is_fluid(), run)
}

/// What the tables of a scenario describe, for 100 ms if tasks do not end before.
pub fn described(cpus: u32, tables: &str) -> Workload {
    let text = format!("name = \"t\"\n[machine]\ncpus = {cpus}\n[run]\nduration = \"100ms\"\n{tables}");
    Scenario::parse(&text, "t").unwrap().compile().unwrap_or_else(|error| panic!("{tables}: {error}"))
}

/// The first of these costs is 1 ns, the second 10 ns and so on: the digits of a sum say how often each is in it.
pub fn decimal_costs(names: &[&str]) -> Costs {
    let mut costs = Costs::default();
    for (name, time) in costs.times_mut() {
        if let Some(place) = names.iter().position(|known| *known == name) {
            *time = Time(10_u64.pow(place as u32));
        }
    }
    costs
}

/// The events of a run first come, first served, whose tasks pay for calls and lives. It obeys all laws.
pub fn events_with(workload: &Workload, costs: Costs) -> Vec<Event> {
    let order = Discipline::Fcfs.order().expect("it gives whole CPUs");
    lawful(workload, false, |sink| {
        let world = World::new(&Rc::new(workload.clone()), &costs, 1);
        drive::drive(&mut WholeCpus::new(world, order), sink, &mut ()).unwrap()
    })
}

fn lawful(workload: &Workload, fluid: bool, run: impl FnOnce(&mut dyn Sink) -> Outcome) -> Vec<Event> {
    let mut events = Vec::new();
    let mut validator = Validator::new(Expectations { workload: Some(workload), fluid, ..Expectations::default() });
    let mut collector = if fluid { Collector::new_fluid(workload) } else { Collector::new(workload) };
    let outcome = run(&mut ((&mut events, &mut validator), &mut collector));
    let findings = validator.into_findings();
    assert!(findings.is_lawful(), "{:#?}", findings.reported);
    assert_eq!(collector.conservation(), Ok(()));
    assert!(outcome.cpus.iter().all(|cpu| cpu.task + cpu.idle == outcome.end && cpu.overhead == Time::ZERO));
    events
}

/// CPU time of each task in nanoseconds, in the order of their numbers; of those that are on no CPU at the end.
pub fn cpu_ns(events: &[Event]) -> Vec<u64> {
    let (mut taken, mut since) = (BTreeMap::new(), BTreeMap::new());
    for event in events {
        let EventKind::Switch { previous, next, .. } = event.kind else { continue };
        if let Some(task) = previous {
            *taken.entry(task).or_insert(0) += event.time.ns() - since[&event.cpu];
        }
        if next.is_some() {
            since.insert(event.cpu, event.time.ns());
        }
    }
    taken.into_values().collect()
}

/// When each request ended, in nanoseconds, in the order of the tasks' numbers.
pub fn ends_ns(events: &[Event]) -> Vec<u64> {
    let end = |event: &Event| match event.kind {
        EventKind::RequestEnd { task, .. } => Some((task, event.time.ns())),
        _ => None,
    };
    let mut ends: Vec<_> = events.iter().filter_map(end).collect();
    ends.sort();
    ends.into_iter().map(|end| end.1).collect()
}

/// The same of a run, in milliseconds.
pub fn ends_ms(workload: &Workload, discipline: Discipline) -> Vec<f64> {
    ends_ns(&events(workload, discipline)).into_iter().map(|ns| ns as f64 / 1e6).collect()
}
