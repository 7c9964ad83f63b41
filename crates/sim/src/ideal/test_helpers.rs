//! Small workloads, and what became of them.

use super::Discipline;
use schedlab_metrics::collector::Collector;
use schedlab_metrics::validator::{Expectations, Validator};
use schedlab_model::distribution::Distribution;
use schedlab_model::machine::Machine;
use schedlab_model::workload::*;
use schedlab_model::{cpuset::CpuSet, time::Time, trace::*};

/// So many milliseconds, always.
pub fn ms(length: u64) -> Distribution {
    Distribution::Constant(Time::from_ms(length))
}

/// One task that does these steps once, as one request, from `at_ms` on. It may use all CPUs of [`workload`].
pub fn once(name: &str, at_ms: u64, steps: Vec<Step>) -> Group {
    let steps = [vec![Step::RequestBegin], steps, vec![Step::RequestEnd]].concat();
    Group {
        name: name.into(),
        count: Some(1),
        birth: Birth::At(Time::from_ms(at_ms)),
        start_on: None,
        nice: 0,
        slice: None,
        class: Class::Other,
        cpus: CpuSet::default(),
        kind: Kind::Thread,
        program: Program { steps, repeats: false, repeat_depth: 2 },
    }
}

/// A semaphore that counts no requests.
pub fn semaphore(name: &str, initial: u32) -> Semaphore {
    Semaphore { name: name.into(), initial, work: None }
}

/// A task that only computes.
pub fn job(name: &str, at_ms: u64, work_ms: u64) -> Group {
    once(name, at_ms, vec![Step::Compute(ms(work_ms))])
}

/// Two seconds of these groups.
pub fn workload(cpus: u32, mut groups: Vec<Group>) -> Workload {
    groups.iter_mut().filter(|group| group.cpus.is_empty()).for_each(|group| group.cpus = CpuSet::first(cpus));
    Workload {
        name: "test".into(),
        about: String::new(),
        machine: Machine::flat(cpus),
        groups,
        objects: Objects::default(),
        sources: Vec::new(),
        run: Run { duration: Time::from_s(2), warmup: Time::ZERO, seed: 1 },
    }
}

/// The events of a run, which obeys all laws.
pub fn events(workload: &Workload, discipline: Discipline) -> Vec<Event> {
    let mut events = Vec::new();
    let fluid = discipline.is_fluid();
    let mut validator = Validator::new(Expectations { workload: Some(workload), fluid, ..Expectations::default() });
    let mut collector = if fluid { Collector::new_fluid(workload) } else { Collector::new(workload) };
    let mut sink = ((&mut events, &mut validator), &mut collector);
    let outcome = super::run(workload, discipline, 1, &mut sink, &mut ()).unwrap();
    let findings = validator.into_findings();
    assert!(findings.is_lawful(), "{discipline}: {:#?}", findings.reported);
    assert_eq!(collector.conservation(), Ok(()), "{discipline}");
    assert!(outcome.cpus.iter().all(|cpu| cpu.task + cpu.idle == outcome.end && cpu.overhead == Time::ZERO));
    events
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
