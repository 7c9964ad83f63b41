//! Weights of control groups: each group has a queue, and competes as one in the queue above.

use super::observe::{V4_9, V6_1, V6_5, cpu_time, wakeup_waits};
use crate::policies::control_groups::{self, Seen, assert_shares, group, hogs, within};
use crate::policies::observe::Settings;

const ALL: [u64; 3] = [V4_9, V6_1, V6_5];

fn see(cpus: u32, length: &str, tables: &str, settings: Settings) -> Seen {
    control_groups::see("cfs", cpus, length, tables, settings)
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

/// An idle group (cpu.idle) has the weight of SCHED_IDLE and gives way to any task that wakes. 4.9 has no such groups.
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
        assert_shares(&see(1, "8s", &tables, &[("groups", groups)]), &[0.5, 0.5], 0.004);
    }
}
