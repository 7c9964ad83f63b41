//! Weights of control groups: each group has a queue, and competes as one in the queue above.

use super::observe::{V4_9, V6_1, V6_5, cpu_time, wakeup_waits};
use crate::policies::control_groups::{self, Seen, group, hogs, within};
use crate::policies::observe::Settings;
use schedlab_model::trace::*;

const ALL: [u64; 3] = [V4_9, V6_1, V6_5];

fn see(cpus: u32, length: &str, tables: &str, settings: Settings) -> Seen {
    control_groups::see("cfs", cpus, length, tables, settings)
}

/// The shares among siblings. Whole turns of a group are up to 12 ms long.
fn assert_shares(seen: &Seen, expected: &[f64]) {
    let shares: Vec<f64> = seen.groups.iter().map(|group| group.sibling_share.unwrap()).collect();
    let differ = |(share, expected): (&f64, &f64)| (share - expected).abs() > 0.004;
    assert!(shares.len() == expected.len() && !shares.iter().zip(expected).any(differ), "{shares:?} for {expected:?}");
}

/// Which task gets the CPU, in turn.
fn turns(seen: &Seen) -> String {
    let next = |event: &Event| match event.kind {
        EventKind::Switch { next: Some(task), .. } => Some(char::from(b'a' + task.0 as u8)),
        _ => None,
    };
    seen.events.iter().filter_map(next).collect()
}

#[test]
fn groups_share_by_weight_whatever_is_in_them() {
    for version in ALL {
        let see = |tables: &str| see(1, "8s", tables, &[("version", version)]);
        for (n, m) in [(1, 1), (3, 1), (1, 3), (4, 2)] {
            let tables = group("a", "weight = 100")
                + &group("b", "weight = 300")
                + &hogs("x", &within("a"), n)
                + &hogs("y", &within("b"), m);
            assert_shares(&see(&tables), &[0.25, 0.75]);
        }
        // A group in a group: a sixth each for b and c.
        let nested = group("a", "") + &group("a/b", "") + &group("a/c", "") + &group("d", "weight = 200");
        let tasks = hogs("x", &within("a/b"), 1) + &hogs("y", &within("a/c"), 1) + &hogs("z", &within("d"), 1);
        assert_shares(&see(&(nested + &tasks)), &[0.333, 0.5, 0.5, 0.667]);
        // Tasks of the root compete one by one: a quarter each, and one for the group.
        assert_shares(&see(&(group("a", "") + &hogs("root", "", 3) + &hogs("x", &within("a"), 2))), &[0.25]);
    }
}

/// A hog next to a group of two, at 1000 Hz: turns of 3 ms, and in the group two of 1.5 ms each, which end at ticks.
#[test]
fn a_group_takes_turns_as_one() {
    let tables = group("a", "") + &group("b", "") + &hogs("x", &within("a"), 1) + &hogs("y", &within("b"), 2);
    for version in ALL {
        let times = cpu_time(&see(1, "3s", &tables, &[("version", version), ("hz", 1000)]).events, 3);
        let [x, y, z] = times[..] else { panic!("{times:?}") };
        assert!(
            x.abs_diff(1_500_000) < 6_000 && y.abs_diff(750_000) < 6_000 && z.abs_diff(750_000) < 6_000,
            "{times:?}"
        );
    }
    let seen = see(1, "400ms", &tables, &[("version", V6_1), ("hz", 250)]);
    let turns = turns(&seen);
    let start = turns.find("abac").expect("a turn of each");
    assert_eq!(&turns[start..start + 40], "abac".repeat(10), "{turns}");
}

/// Shares are of a group's whole: with half of its tasks on each of two CPUs it weighs half on each.
#[test]
fn a_group_weighs_as_much_on_many_cpus_as_on_one() {
    let pinned = |name: &str, cpu: u32, path: &str| hogs(name, &format!("cpus = \"{cpu}\"\n{}", within(path)), 1);
    let tables = group("a", "") + &group("b", "") + &pinned("x", 0, "a") + &pinned("y", 1, "a") + &pinned("z", 0, "b");
    for version in ALL {
        let seen = see(2, "20s", &tables, &[("version", version)]);
        // On CPU 0: half of a's weight against all of b's.
        let times = cpu_time(&seen.events[..], 3);
        let part = times[0] as f64 / (times[0] + times[2]) as f64;
        assert!((part - 1.0 / 3.0).abs() < 0.01, "{version}: {part} {times:?}");
    }
}

/// A throttled group keeps the places of its tasks.
#[test]
fn a_throttled_group_keeps_its_places() {
    let tables = group("p", "max = \"10ms/100ms\"")
        + &group("p/a", "")
        + &group("p/b", "weight = 300")
        + &hogs("x", &within("p/a"), 3)
        + &hogs("y", &within("p/b"), 3)
        + &hogs("z", "", 1);
    for version in ALL {
        let times = cpu_time(&see(1, "24s", &tables, &[("version", version)]).events, 7);
        let of = |task: usize| times[task] as f64 / 1e3;
        for (task, expected) in [(0, 200.0), (1, 200.0), (2, 200.0), (3, 600.0), (4, 600.0), (5, 600.0)] {
            assert!((of(task) - expected).abs() <= 13.0, "{version} {task}: {:?}", (0..7).map(of).collect::<Vec<_>>());
        }
    }
}

/// A weight that is written counts at once; and a task that goes to another group shares what that one gets.
#[test]
fn weights_and_members_change_while_they_run() {
    let tables = group("a", "weight = 100")
        + &group("b", "weight = 300")
        + &hogs("x", &within("a"), 1)
        + &hogs("y", &within("b"), 1)
        + "[[task]]\nname = \"z\"\ncontrol_group = \"b\"\nonce = [{ sleep = \"4s\" }, \
           { adjust = { control_group = \"a\", weight = 900 } }, { sleep = \"4s\" }, { join = \"a\" }, { compute = \"10s\" }]\n";
    for version in ALL {
        let seen = see(1, "16s", &tables, &[("version", version)]);
        let times: Vec<f64> = cpu_time(&seen.events, 3).iter().map(|time| *time as f64 / 1e6).collect();
        // A quarter of 4 s, three quarters of 4 s, and half of three quarters of 8 s.
        for (time, expected) in times.iter().zip([1.0 + 3.0 + 3.0, 3.0 + 1.0 + 2.0, 3.0]) {
            assert!((time - expected).abs() < 0.05, "{version}: {times:?}");
        }
    }
}

/// An idle group (cpu.idle) has the weight of SCHED_IDLE and gives way to whoever wakes. 4.9 has no such groups.
#[test]
fn an_idle_group_gives_way() {
    let tables = group("a", "idle = true")
        + &group("b", "")
        + &hogs("x", &within("a"), 1)
        + &format!(
            "[[task]]\nname = \"y\"\n{}\nloop = [{{ compute = \"1ms\" }}, {{ sleep = \"9ms\" }}]\n",
            within("b")
        );
    let seen = see(1, "5s", &tables, &[("version", V6_1)]);
    let waits = wakeup_waits(&seen.events, 1);
    assert!(waits.len() > 400 && waits[1..].iter().all(|wait| *wait == 0), "{waits:?}");
    let hogs = group("a", "idle = true") + &group("b", "") + &hogs("x", &within("a"), 1) + &hogs("y", &within("b"), 1);
    let times = cpu_time(&see(1, "20s", &hogs, &[("version", V6_1)]).events, 2);
    let part = times[0] as f64 / 20e6;
    assert!((0.0..0.01).contains(&part), "{part}");
}

/// With `groups=none` and `groups=process` weights of control groups count for nothing.
#[test]
fn they_can_be_left_out() {
    let tables =
        group("a", "weight = 10000") + &group("b", "") + &hogs("x", &within("a"), 1) + &hogs("y", &within("b"), 1);
    for groups in [1, 2] {
        assert_shares(&see(1, "8s", &tables, &[("groups", groups)]), &[0.5, 0.5]);
    }
}
