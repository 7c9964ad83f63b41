//! Looking into a run: what formulas give, when tasks run, what their status is, where they are.

use crate::policies::observe;
use schedlab_model::ids::TaskId;
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Reason, WakeSource};
use schedlab_model::workload::Workload;

use crate::policies::observe::us;
pub use crate::policies::observe::{Settings, migrations as moves, spread as loads, statuses};

pub const PAPER: (&str, u64) = ("mode", 0);
pub const FREEBSD: (&str, u64) = ("mode", 1);
/// The status is the score, not the priority.
pub const SCORES: (&str, u64) = ("status", 1);

/// A tick of FreeBSD's 127 a second.
pub const STAT_NS: u64 = 1_000_000_000 / 127;

/// The best priority of a batch task.
pub const BATCH_PAPER: u64 = 112;
pub const BATCH_FREEBSD: u64 = 152;

/// What `formulas.bpf.c` prints: for each name all numbers, in order.
pub fn formulas(settings: Settings) -> observe::Formulas {
    observe::formulas("ule", 1, settings)
}

/// Holds printed formulas against their numbers.
pub fn assert_formulas(mode: (&str, u64), expected: &[(&str, &[i64])]) {
    let formulas = formulas(&[mode]);
    for (name, values) in expected {
        assert_eq!(formulas.get(*name).map(|values| &values[..]), Some(*values), "{name}");
    }
}

/// Tasks on a machine (`cpus = 2` or `topology = "1n2l4c1t"`), written in the scenario language. The watchdog is patient.
pub fn workload(machine: &str, ms: u64, tasks: &str) -> Workload {
    observe::workload(&format!("{machine}\nwatchdog = \"1000s\""), &format!("{ms}ms"), tasks)
}

/// A scenario of `vectors/`.
pub fn vector(name: &str) -> Workload {
    observe::vector("ule", name)
}

/// What happens with these tasks.
pub fn run(machine: &str, ms: u64, tasks: &str, settings: Settings) -> Vec<Event> {
    observe::run("ule", &workload(machine, ms, tasks), settings)
}

/// What happens in a scenario of `vectors/`.
pub fn run_vector(name: &str, settings: Settings) -> Vec<Event> {
    observe::run("ule", &vector(name), settings)
}

/// The words alone.
pub fn words(events: &[Event], task: u32) -> Vec<u64> {
    statuses(events, task).into_iter().map(|(word, _)| word).collect()
}

/// When a task got a CPU and when it left it, in order, in microseconds. A turn that does not end is endless.
pub fn turns(events: &[Event], task: u32) -> Vec<(u64, u64)> {
    observe::turns(events, task).into_iter().map(|(from, until)| (us(from), until.map_or(u64::MAX, us))).collect()
}

/// The order in which tasks got the only CPU.
pub fn order(events: &[Event]) -> Vec<u32> {
    let next = |event: &Event| match event.kind {
        EventKind::Switch { next, .. } => next.map(|task| task.0),
        _ => None,
    };
    events.iter().filter_map(next).collect()
}

/// CPU time of a task between two instants in milliseconds, in microseconds.
pub fn cpu_time(events: &[Event], task: u32, from_ms: u64, until_ms: u64) -> u64 {
    let (from, until) = (from_ms * 1000, until_ms * 1000);
    turns(events, task).iter().map(|turn| turn.1.min(until).saturating_sub(turn.0.max(from))).sum()
}

/// Why the CPUs changed from one task to another, with the times.
pub fn switches(events: &[Event]) -> Vec<(Time, Reason)> {
    let reason = |event: &Event| match event.kind {
        EventKind::Switch { previous: Some(_), reason, .. } => Some((event.time, reason)),
        _ => None,
    };
    events.iter().filter_map(reason).collect()
}

/// Where a task woke, if that is what happened; forks left out.
pub fn woken_on(event: &Event, task: u32) -> Option<u32> {
    match event.kind {
        EventKind::Wakeup { task: of, target, source, .. } if of == TaskId(task) && source != WakeSource::Fork => {
            Some(target.0)
        }
        _ => None,
    }
}
