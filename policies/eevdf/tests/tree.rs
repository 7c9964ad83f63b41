//! Queues of control groups in each other, as kernels before 7.3 have them: turns go round in each queue for itself. Numbers
//! in milliseconds; ticks of 4 ms.

use super::control_groups::see;
use super::observe::{V6_12, V6_18, V7_1, cpu_time};
use crate::policies::control_groups::{Seen, group, hogs, within};
use schedlab_model::trace::*;

/// Which task gets the CPU, in turn.
fn turns(seen: &Seen) -> String {
    let next = |event: &Event| match event.kind {
        EventKind::Switch { next: Some(task), .. } => Some(char::from(b'a' + task.0 as u8)),
        _ => None,
    };
    seen.events.iter().filter_map(next).collect()
}

/// A hog next to a group of two: the group has every second turn, and its hogs every second of these. In one queue the lone
/// hog, which weighs as much as both, has turns twice as often as each.
#[test]
fn a_group_takes_turns_as_one() {
    let tables = group("a", "") + &group("b", "") + &hogs("x", &within("a"), 1) + &hogs("y", &within("b"), 2);
    for version in [V6_12, V6_18, V7_1] {
        let seen = see(1, "400ms", &tables, &[("version", version)]);
        let turns = turns(&seen);
        let start = turns.find("abac").expect("a turn of each");
        assert_eq!(&turns[start..start + 64], "abac".repeat(16), "{version}: {turns}");
    }
}

/// Before 6.18 a throttled group keeps the places of its tasks: each gets as much as the others, also where a period is
/// shorter than a turn for each.
#[test]
fn a_throttled_group_keeps_its_places() {
    let tables = group("p", "max = \"10ms/100ms\"")
        + &group("p/a", "")
        + &group("p/b", "weight = 300")
        + &hogs("x", &within("p/a"), 3)
        + &hogs("y", &within("p/b"), 3)
        + &hogs("z", "", 1);
    let times = cpu_time(&see(1, "24s", &tables, &[("version", V6_12)]).events, 7);
    let of = |task: usize| times[task] as f64 / 1e3;
    for (task, expected) in [(0, 200.0), (1, 200.0), (2, 200.0), (3, 600.0), (4, 600.0), (5, 600.0)] {
        assert!((of(task) - expected).abs() <= 8.0, "{task}: {:?}", (0..7).map(of).collect::<Vec<_>>());
    }
}

/// A group is throttled while a real-time task has the CPU, and refilled before it runs again: it is in its queue after that.
#[test]
fn a_group_comes_back_that_was_throttled_below_a_real_time_task() {
    let tables = group("a", "max = \"10ms/100ms\"")
        + &hogs("x", &within("a"), 1)
        + "[[task]]\nname = \"rt\"\nclass = \"fifo:50\"\nstart = \"11ms\"\nonce = [{ compute = \"100ms\" }]\n"
        + &hogs("y", "start = \"112ms\"", 2);
    let x = cpu_time(&see(1, "2s", &tables, &[("version", V6_12)]).events, 4)[0] as f64 / 2e6;
    assert!((x - 0.1).abs() < 0.01, "{x}");
}

/// A batch task preempts nobody, also where its group meets the running task.
#[test]
fn a_batch_task_of_a_group_waits() {
    let task = |class: &str| {
        format!(
            "[[task]]\nname = \"w\"\nclass = \"{class}\"\n{}\nloop = [{{ compute = \"200us\" }}, {{ sleep = \"7ms\" }}]\n",
            within("g")
        )
    };
    let turns = |class: &str| {
        let tables = group("g", "") + &task(class) + &hogs("x", "slice = \"100ms\"", 1);
        turns(&see(1, "4s", &tables, &[("version", V6_12)])).matches('a').count()
    };
    let (batch, other) = (turns("batch"), turns("other"));
    assert!(batch < 50 && other > 300, "{batch} {other}");
}

/// The entity of a group asks for what its tasks ask for.
#[test]
fn a_group_asks_for_the_shortest_slice_of_its_tasks() {
    let service = "[[task]]\nname = \"s\"\nloop = [{ compute = \"4ms\" }, { sleep = \"6ms\" }]\n";
    let tables = group("a", "") + &hogs("x", &format!("slice = \"3ms\"\n{}", within("a")), 1) + service;
    let share = cpu_time(&see(1, "4s", &tables, &[("version", V6_12)]).events, 2)[1] as f64 / 4e6;
    assert!(share > 0.25, "{share}");
}

/// A written weight counts at once, also for a group that waits: without it the light one waits for 40 s.
#[test]
fn a_written_weight_reaches_a_group_that_waits() {
    let tables = group("a", "weight = 1")
        + &group("b", "weight = 10000")
        + &hogs("x", &within("a"), 1)
        + &hogs("y", &within("b"), 1)
        + "[[task]]\nname = \"z\"\nonce = [{ until = \"1s\" }, { adjust = { control_group = \"a\", weight = 10000 } }]\n";
    for version in [V6_12, V6_18, V7_1] {
        let seen = see(1, "3s", &tables, &[("version", version)]);
        let share = cpu_time(&seen.events, 3)[0] as f64 / 3e6;
        assert!((share - 0.33).abs() < 0.02, "{version}: {share}");
    }
}

/// A group is still the running one of the queue above when its task sleeps, so that its protection holds while another of its
/// tasks runs. 6.12's own scheduler, which ticks as often, gave 16.0 % to the one that naps; without that protection it gets 27 %.
#[test]
fn a_group_stays_protected_when_its_task_sleeps() {
    let task = |name: &str, slice: &str, steps: &str| {
        let group = if name.starts_with("a-") { within("a") } else { String::new() };
        format!("[[task]]\nname = \"{name}\"\n{group}\nslice = \"{slice}\"\nloop = [{steps}]\n")
    };
    let tables = group("a", "")
        + &task("a-hog", "3ms", "{ compute = \"100s\" }")
        + &task("a-napper", "3ms", "{ compute = \"1200us\" }, { sleep = \"2ms\" }")
        + &task("napper", "3ms", "{ compute = \"200us\" }, { sleep = \"500us\" }")
        + &task("hog", "100ms", "{ compute = \"100s\" }");
    let share = cpu_time(&see(1, "4s", &tables, &[("version", V6_12)]).events, 4)[2] as f64 / 4e6;
    assert!((share - 0.16).abs() < 0.03, "{share}");
}
