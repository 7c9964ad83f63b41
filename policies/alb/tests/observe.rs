//! Looking into runs of `alb`: how tasks are divided, where they are, what penalties they have.

use crate::policies::observe::{self, Settings, us};
pub use crate::policies::observe::{cpu_time, places, spread};
use schedlab_model::ids::TaskId;
use schedlab_model::trace::{Event, EventKind, WakeSource};

/// A millisecond.
pub const MS: u64 = 1_000_000;

/// No penalty: a hog weighs what its nice value says.
pub const PLAIN: (&str, u64) = ("penalise", 2);

/// What `formulas.bpf.c` prints.
pub fn divisions(settings: Settings) -> observe::Formulas {
    observe::formulas("alb", 1, settings)
}

/// What happens on a machine (`cpus = 2` or `topology = "1n2l4c1t"`) with these tasks, under a policy.
pub fn run_under(policy: &str, machine: &str, ms: u64, tasks: &str, settings: Settings) -> Vec<Event> {
    observe::run(policy, &observe::workload(machine, &format!("{ms}ms"), tasks), settings)
}

/// The same under `alb`.
pub fn run_tasks(machine: &str, ms: u64, tasks: &str, settings: Settings) -> Vec<Event> {
    run_under("alb", machine, ms, tasks, settings)
}

/// Computing tasks that begin on a CPU.
pub fn hogs(name: &str, count: u32, nice: i32, cpu: u32) -> String {
    format!(
        "[[task]]\nname = \"{name}\"\ncount = {count}\nnice = {nice}\nstart_on = {cpu}\n\
         loop = [{{ compute = \"1000s\" }}]\n"
    )
}

/// Which task moved when, in microseconds, and to which CPU.
pub fn moves(events: &[Event]) -> Vec<(u32, u64, u32)> {
    observe::migrations(events).into_iter().map(|(at, task, to)| (task.0, us(at), to.0)).collect()
}

/// Which penalty a task got when, in microseconds.
pub fn penalties(events: &[Event], task: u32) -> Vec<(u64, u64)> {
    observe::statuses(events, task).into_iter().map(|(word, at)| (word, us(at))).collect()
}

/// Where a task woke, each time but the first.
pub fn wakeups(events: &[Event], task: u32) -> Vec<u32> {
    let woken = |event: &Event| match event.kind {
        EventKind::Wakeup { task: of, target, source, .. } if of == TaskId(task) && source != WakeSource::Fork => {
            Some(target.0)
        }
        _ => None,
    };
    events.iter().filter_map(woken).collect()
}
