//! Limits of control groups beside what else `cfs` has: task groups, balancing, and changes while tasks run.

use super::observe::{V4_9, V6_1, V6_5};
use crate::policies::control_groups::{self, Seen, group, held, hogs, within};
use crate::policies::observe::Settings;

fn see(cpus: u32, length: &str, tables: &str, settings: Settings) -> Seen {
    control_groups::see("cfs", cpus, length, tables, settings)
}

/// With and without task groups, in every version: a group with half of a CPU has that, and a hog beside it the rest.
#[test]
fn a_limit_holds_whatever_the_tasks_share_by() {
    let tables = group("a", "max = \"50ms/100ms\"")
        + &group("b", "")
        + &hogs("x", &within("a"), 3)
        + &hogs("y", &within("b"), 1);
    for version in [V4_9, V6_1, V6_5] {
        for groups in [0, 1, 2] {
            let seen = see(1, "5s", &tables, &[("version", version), ("groups", groups)]);
            // Without task groups the three get three quarters as long as they may.
            let used = [0, 1].map(|group| seen.groups[group].usage_ns as f64 / 5e9);
            assert!(used.iter().all(|used| (used - 0.5).abs() < 0.01), "{version} {groups}: {used:?}");
        }
    }
}

/// The CPU of a task that is held back takes another's.
#[test]
fn no_cpu_idles_while_one_task_is_held_back() {
    let tables = group("a", "max = \"50ms/100ms\"")
        + &group("b", "")
        + &hogs("x", &within("a"), 1)
        + &hogs("y", &within("b"), 2);
    let seen = see(2, "5s", &tables, &[]);
    let [a, b] = [0, 1].map(|group| seen.groups[group].usage_ns as f64 / 5e9);
    assert!((a - 0.5).abs() < 0.01 && b > 1.45, "{a} {b}");
}

#[test]
fn limits_change_and_tasks_leave_them_while_they_run() {
    let tables = group("a", "max = \"10ms/100ms\"")
        + &group("b", "")
        + &hogs("x", &within("a"), 1)
        + "[[task]]\nname = \"y\"\ncontrol_group = \"a\"\nonce = [{ sleep = \"1s\" }, { adjust = { control_group = \"a\", max = \"max\" } }, \
           { sleep = \"1s\" }, { join = \"b\" }, { compute = \"500ms\" }]\n";
    let seen = see(2, "4s", &tables, &[]);
    let [a, b] = &seen.groups[..] else { panic!("{:?}", seen.groups) };
    // 100 ms of the first second, and all of the other three.
    assert!((a.usage_ns as f64 / 1e9 - 3.1).abs() < 0.02, "{}", a.usage_ns);
    assert_eq!((b.usage_ns, b.tasks), (500_000_000, 1));
}

#[test]
fn they_can_be_left_out() {
    let tables = group("a", "max = \"10ms/100ms\"") + &hogs("x", &within("a"), 1);
    let seen = see(1, "2s", &tables, &[("limits", 0)]);
    assert_eq!((seen.groups[0].usage_ns, held(&seen).0.len()), (2_000_000_000, 0));
}
