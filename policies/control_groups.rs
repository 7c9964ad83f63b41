//! Looking into runs of tasks in control groups, under any policy.

use super::observe::{Settings, compiled};
use crate::lab;
use schedlab_bpf::Executor;
use schedlab_metrics::collector::Collector;
use schedlab_model::result::ControlGroupResult;
use schedlab_model::scenario::Scenario;
use schedlab_model::trace::*;
use schedlab_sim::LimitCounters;

/// What was seen of a run.
pub struct Seen {
    pub groups: Vec<ControlGroupResult>,
    pub limits: Vec<Option<LimitCounters>>,
    pub events: Vec<Event>,
}

/// What happens with these tables on a machine of that many CPUs.
pub fn see(policy: &str, cpus: u32, length: &str, tables: &str, settings: Settings) -> Seen {
    see_on(policy, &format!("cpus = {cpus}"), length, tables, settings)
}

/// The same on a machine with these keys.
pub fn see_on(policy: &str, machine: &str, length: &str, tables: &str, settings: Settings) -> Seen {
    let text = format!("name = \"t\"\n{tables}\n[machine]\n{machine}\n[run]\nduration = \"{length}\"\n");
    let workload = compiled(Scenario::parse(&text, "test"));
    let run = |executor| lab::run_with(&workload, policy, executor, settings).unwrap_or_else(|error| panic!("{error}"));
    let (one, two) = (run(Executor::Machine), run(Executor::Interpreter));
    assert!(one.events == two.events && one.outcome.limits == two.outcome.limits, "the executors differ");
    let mut collector = Collector::new(&workload);
    collector.events(&one.events);
    collector.finish(one.outcome.end);
    let limits = one.outcome.limits;
    Seen { groups: collector.into_measures().control_groups, limits, events: one.events }
}

/// A control group.
pub fn group(path: &str, keys: &str) -> String {
    format!("[[control_group]]\npath = \"{path}\"\n{keys}\n")
}

/// Tasks that compute for ever.
pub fn hogs(name: &str, place: &str, count: u32) -> String {
    format!("[[task]]\nname = \"{name}\"\ncount = {count}\n{place}\nloop = [{{ compute = \"10s\" }}]\n")
}

/// The key that puts a task into a group.
pub fn within(path: &str) -> String {
    format!("control_group = \"{path}\"")
}

/// Holds the shares among siblings against these.
pub fn assert_shares(seen: &Seen, expected: &[f64], within: f64) {
    let shares: Vec<f64> = seen.groups.iter().map(|group| group.sibling_share.unwrap()).collect();
    let differ = |(share, expected): (&f64, &f64)| (share - expected).abs() > within;
    assert!(shares.len() == expected.len() && !shares.iter().zip(expected).any(differ), "{shares:?} for {expected:?}");
}

/// Which task gets the CPU, in turn: a letter for each.
pub fn turn_order(seen: &Seen) -> String {
    let next = |event: &Event| match event.kind {
        EventKind::Switch { next: Some(task), .. } => Some(char::from(b'a' + task.0 as u8)),
        _ => None,
    };
    seen.events.iter().filter_map(next).collect()
}

/// When tasks are held back, in milliseconds; and when they are not any more.
pub fn held(seen: &Seen) -> (Vec<f64>, Vec<f64>) {
    let times = |wanted: bool| {
        let at = |event: &Event| match event.kind {
            EventKind::Throttle { on, .. } if on == wanted => Some(event.time.ns() as f64 / 1e6),
            _ => None,
        };
        seen.events.iter().filter_map(at).collect()
    };
    (times(true), times(false))
}

/// When tasks end, in milliseconds, in the order of their numbers.
pub fn ends(seen: &Seen) -> Vec<f64> {
    let mut ends: Vec<(u32, f64)> = seen
        .events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::Exit { task } => Some((task.0, event.time.ns() as f64 / 1e6)),
            _ => None,
        })
        .collect();
    ends.sort_by_key(|(task, _)| *task);
    ends.into_iter().map(|(_, end)| end).collect()
}
