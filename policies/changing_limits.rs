//! Limits of control groups that change while tasks run, and tasks that come to groups which are throttled. Times in
//! milliseconds; ticks of 4 ms.

use super::control_groups::{self, Seen, group, held, hogs, within};
use schedlab_model::trace::*;

/// What happens under a policy on some CPUs in 1.2 s.
type Subject = fn(u32, &str) -> Seen;
const SUBJECTS: [Subject; 3] = [
    |cpus, tables| control_groups::see("cfs", cpus, "1200ms", tables, &[]),
    |cpus, tables| control_groups::see("eevdf", cpus, "1200ms", tables, &[("version", 0)]),
    |cpus, tables| control_groups::see("eevdf", cpus, "1200ms", tables, &[("version", 3)]),
];

/// The CPU time of a task between two times, in milliseconds.
fn used(seen: &Seen, task: u32, from_ms: f64, to_ms: f64) -> f64 {
    let (mut since, mut sum) = (None, 0.0);
    for event in &seen.events {
        let at = (event.time.ns() as f64 / 1e6).clamp(from_ms, to_ms);
        if let EventKind::Switch { previous, next, .. } = event.kind {
            if previous.is_some_and(|previous| previous.0 == task) {
                sum += since.take().map_or(0.0, |begin| at - begin);
            }
            if next.is_some_and(|next| next.0 == task) {
                since = Some(at);
            }
        }
    }
    sum + since.map_or(0.0, |begin| to_ms - begin)
}

/// A task that changes a limit at some time.
fn writer(at: &str, path: &str, max: &str) -> String {
    format!(
        "[[task]]\nname = \"writer\"\nonce = [{{ sleep = \"{at}\" }}, \
         {{ adjust = {{ control_group = \"{path}\", max = \"{max}\" }} }}]\n"
    )
}

/// A lone task learns of its limit at once, and does not pay for the time before.
#[test]
fn a_limit_counts_from_when_it_is_written() {
    for (number, see) in SUBJECTS.iter().enumerate() {
        let tables = group("a", "")
            + &hogs("x", &format!("{}\ncpus = [0]", within("a")), 1)
            + &(writer("502ms", "a", "10ms/100ms") + "cpus = [1]\n");
        let seen = see(2, &tables);
        let (from, until) = held(&seen);
        // 500 is the last tick before it.
        assert!((from[0] - 512.0).abs() < 0.1, "{number}: {from:?}");
        assert!((until[0] - 600.0).abs() < 0.1, "{number}: {until:?}");
        let share = used(&seen, 0, 600.0, 1200.0) / 600.0;
        assert!((share - 0.1).abs() < 0.01, "{number}: {share}");
    }
}

/// A task that comes to a throttled group while it runs has the CPU until it is put aside; what is counted stays right.
#[test]
fn a_task_joins_a_throttled_group_while_it_runs() {
    for (number, see) in SUBJECTS.iter().enumerate() {
        let joins = "[[task]]\nname = \"joins\"\ncpus = [0]\nonce = [{ compute = \"100ms\" }, { join = \"a\" }, \
                     { compute = \"10s\" }]\n";
        let tables = group("a", "max = \"10ms/100ms\"")
            + &hogs("x", &format!("{}\ncpus = [0]", within("a")), 1)
            + joins
            + &hogs("y", "cpus = [0]", 1);
        let seen = see(1, &tables);
        let of = |task| used(&seen, task, 400.0, 1200.0);
        assert!((of(0) + of(1) - 80.0).abs() < 12.0, "{number}: {} {}", of(0), of(1));
        assert!((of(2) - 720.0).abs() < 12.0, "{number}: {}", of(2));
    }
}
