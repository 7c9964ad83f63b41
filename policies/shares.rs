//! Weights of control groups under every policy in which groups have queues of their own, and under Linux 7.3, where tasks have
//! what is left to them: what groups share, whatever is in them.

use super::control_groups::{Seen, assert_shares, group, hogs, see, turn_order, within};
use super::observe::cpu_time;
use super::{cfs, eevdf};
use cfs::observe::{V4_9, V6_1, V6_5};
use eevdf::observe::{V6_12, V6_18, V7_1, V7_3};

/// A policy, its version, and how exact its turns make shares.
type Subject = (&'static str, u64, f64);
const SUBJECTS: [Subject; 7] = [
    ("eevdf", V6_12, 0.002),
    ("eevdf", V6_18, 0.002),
    ("eevdf", V7_1, 0.002),
    ("eevdf", V7_3, 0.002),
    ("cfs", V6_1, 0.004),
    ("cfs", V4_9, 0.004),
    ("cfs", V6_5, 0.004),
];

fn run((policy, version, _): Subject, length: &str, tables: &str) -> Seen {
    see(policy, 1, length, tables, &[("version", version)])
}

#[test]
fn groups_share_by_weight_whatever_is_in_them() {
    for subject in SUBJECTS {
        for (n, m) in [(1, 1), (3, 1), (1, 3), (4, 2)] {
            let tables = group("a", "weight = 100")
                + &group("b", "weight = 300")
                + &hogs("x", &within("a"), n)
                + &hogs("y", &within("b"), m);
            assert_shares(&run(subject, "6s", &tables), &[0.25, 0.75], subject.2);
        }
        // A group in a group: a sixth each for b and c.
        let nested = group("a", "") + &group("a/b", "") + &group("a/c", "") + &group("d", "weight = 200");
        let tasks = hogs("x", &within("a/b"), 1) + &hogs("y", &within("a/c"), 1) + &hogs("z", &within("d"), 1);
        assert_shares(&run(subject, "6s", &(nested + &tasks)), &[0.333, 0.5, 0.5, 0.667], subject.2);
        // Tasks of the root compete one by one: a quarter each, and one for the group.
        let tables = group("a", "") + &hogs("root", "", 3) + &hogs("x", &within("a"), 2);
        assert_shares(&run(subject, "6s", &tables), &[0.25], subject.2);
    }
}

/// A hog next to a group of two: the group has every second turn, and its hogs every second of these. In one queue the lone
/// hog, which weighs as much as both, has turns twice as often as each.
#[test]
fn a_group_with_a_queue_takes_turns_as_one() {
    let tables = group("a", "") + &group("b", "") + &hogs("x", &within("a"), 1) + &hogs("y", &within("b"), 2);
    for subject in SUBJECTS.into_iter().filter(|(policy, version, _)| (*policy, *version) != ("eevdf", V7_3)) {
        let turns = turn_order(&run(subject, "400ms", &tables));
        let start = turns.find("abac").expect("a turn of each");
        assert_eq!(&turns[start..start + 64], "abac".repeat(16), "{subject:?}: {turns}");
    }
}

/// A throttled group keeps the places of its tasks: each gets as much as the others, also where a period is shorter than a turn
/// for each. By how many milliseconds they may differ is a turn: 8 under 6.12, 12 and a tick under CFS.
#[test]
fn a_throttled_group_keeps_its_places() {
    let tables = group("p", "max = \"10ms/100ms\"")
        + &group("p/a", "")
        + &group("p/b", "weight = 300")
        + &hogs("x", &within("p/a"), 3)
        + &hogs("y", &within("p/b"), 3)
        + &hogs("z", "", 1);
    for subject in SUBJECTS.into_iter().filter(|(policy, version, _)| *policy == "cfs" || *version == V6_12) {
        let turn = if subject.0 == "cfs" { 13.0 } else { 8.0 };
        let times = cpu_time(&run(subject, "24s", &tables).events, 7);
        let of = |task: usize| times[task] as f64 / 1e3;
        for (task, expected) in [(0, 200.0), (1, 200.0), (2, 200.0), (3, 600.0), (4, 600.0), (5, 600.0)] {
            let all: Vec<f64> = (0..7).map(of).collect();
            assert!((of(task) - expected).abs() <= turn, "{subject:?} {task}: {all:?}");
        }
    }
}
