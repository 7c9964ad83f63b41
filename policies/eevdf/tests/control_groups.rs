//! Control groups under `eevdf`: shares by weight, and limits as the kernel's bandwidth control has them. Numbers in
//! milliseconds; ticks of 4 ms at multiples of that, periods of 100 ms from 0 on.

use super::observe::{LOOKS_ALWAYS, Settings, V6_12, V6_18, V7_1, V7_3};
use crate::policies::control_groups::{self, Seen, group, held, hogs, within};
use crate::policies::limits::split;

pub(super) fn see(cpus: u32, length: &str, tables: &str, settings: Settings) -> Seen {
    control_groups::see("eevdf", cpus, length, tables, settings)
}

/// The shares among siblings, which slices of a few milliseconds make exact to two in a thousand.
pub(super) fn assert_shares(seen: &Seen, expected: &[f64]) {
    control_groups::assert_shares(seen, expected, 0.002);
}

/// Idle weighs 3 of 1024.
#[test]
fn an_idle_group_has_what_is_left() {
    let tables =
        group("a", "idle = true") + &group("b", "") + &hogs("x", &within("a"), 1) + &hogs("y", &within("b"), 1);
    for version in [V6_12, V6_18, V7_1, V7_3] {
        assert_shares(&see(1, "12s", &tables, &[("version", version)]), &[0.003, 0.997]);
    }
}

#[test]
fn nice_counts_inside_a_group() {
    let tables = group("a", "")
        + &group("b", "")
        + &hogs("x", &within("a"), 1)
        + &hogs("y", &format!("{}\nnice = 5", within("a")), 1)
        + &hogs("z", &format!("{}\nnice = 19", within("b")), 1);
    for version in [V6_12, V6_18, V7_1, V7_3] {
        let seen = see(1, "6s", &tables, &[("version", version)]);
        assert_shares(&seen, &[0.5, 0.5]);
        let of = |task: u32| super::observe::cpu_time(&seen.events, 3)[task as usize] as f64 / 6e6;
        assert!((of(0) - 0.3768).abs() < 0.002 && (of(1) - 0.1232).abs() < 0.002, "{} {}", of(0), of(1));
    }
}

/// Pinned hogs on two CPUs: where shares are divided among CPUs each gets its part on both.
#[test]
fn shares_are_divided_among_cpus() {
    let pinned = |name: &str, path: &str, cpu: u32| hogs(name, &format!("{}\ncpus = [{cpu}]", within(path)), 1);
    let tables = group("a", "")
        + &group("b", "weight = 300")
        + &pinned("x0", "a", 0)
        + &pinned("x1", "a", 1)
        + &pinned("y0", "b", 0)
        + &pinned("y1", "b", 1);
    assert_shares(&see(2, "6s", &tables, &[("version", V7_3), ("group_mode", 1)]), &[0.25, 0.75]);
    for version in [V6_12, V6_18, V7_1] {
        assert_shares(&see(2, "6s", &tables, &[("version", version)]), &[0.25, 0.75]);
    }
}

/// The part of the time of two CPUs that the tasks of the first group used.
fn used(seen: &Seen, seconds: f64) -> f64 {
    seen.groups[0].usage_ns as f64 / 1e9 / seconds / 2.0
}

/// A group's load goes with its task: alone with two hogs on two CPUs it has a third, wherever it is. When its task moves depends on
/// the place of ticks in a slice, so this is the mean of four; 7.3's own scheduler gave it 0.345 in one run.
#[test]
fn a_group_weighs_as_much_after_its_task_moved() {
    for tables in [
        group("a", "") + &hogs("x", &within("a"), 1) + &hogs("y", "", 2),
        group("a", "") + &group("a/b", "") + &hogs("x", &within("a/b"), 1) + &hogs("y", "", 2),
    ] {
        let used = [0, 1, 2, 3].map(|offset_ms| {
            let machine = format!("cpus = 2\ntick = \"4ms\"\ntick_offset = \"{offset_ms}ms\"");
            used(&control_groups::see_on("eevdf", &machine, "6s", &tables, &[("version", V7_3)]), 6.0)
        });
        let mean = used.iter().sum::<f64>() / 4.0;
        assert!((mean - 0.333).abs() < 0.02, "{used:?}");
    }
}

/// Where shares are divided among CPUs, a CPU that a group left counts for less and less.
#[test]
fn the_load_of_a_group_fades_where_it_has_no_task() {
    let tables = group("a", "")
        + &hogs("x", &format!("{}\ncpus = [0]", within("a")), 1)
        + "[[task]]\nname = \"once\"\ncontrol_group = \"a\"\ncpus = [1]\nonce = [{ compute = \"500ms\" }, { sleep = \"60min\" }]\n"
        + &hogs("y", "cpus = [0]", 1);
    let used = used(&see(2, "10s", &tables, &[("version", V7_3), ("group_mode", 1)]), 10.0);
    // A third of CPU 0 beside the hog while both weigh 512, half of it afterwards; and half a second of CPU 1.
    assert!((used - (0.333 * 0.5 + 0.5 * 9.5 + 0.5) / 20.0).abs() < 0.003, "{used}");
}

/// The CPU of a task that is held back takes another's, if it is not cache-hot, and if it looks for one. 6.12's own scheduler gave
/// the others 1.472, and 7.3's 1.506.
#[test]
fn no_cpu_idles_while_one_task_is_held_back() {
    for (version, others) in [(V6_12, 1.472), (V7_3, 1.5)] {
        let tables = group("a", "max = \"50ms/100ms\"") + &hogs("x", &within("a"), 1) + &hogs("y", "", 2);
        let seen = see(2, "5s", &tables, &[("version", version), ("newidle", LOOKS_ALWAYS)]);
        let times = super::observe::cpu_time(&seen.events, 3);
        let [x, y, z] = [0, 1, 2].map(|task| times[task] as f64 / 5e6);
        assert!((x - 0.5).abs() < 0.01 && (y + z - others).abs() < 0.02, "{version}: {x} {y} {z}");
    }
}

/// Since 6.18 a written limit leaves a nanosecond, so the first charge is for what was used, not before.
#[test]
fn the_first_nanosecond_is_free_since_6_18() {
    for (version, first) in [(V6_12, 8.0), (V6_18, 4.0)] {
        let seen = see(8, "90ms", &split(800.0, 8), &[("version", version)]);
        assert_eq!(held(&seen).0[0], first, "{version}");
    }
}

#[test]
fn tasks_join_and_knobs_change_while_they_run() {
    let tables = group("a", "max = \"10ms/100ms\"")
        + &group("b", "")
        + &hogs("x", &within("a"), 1)
        + "[[task]]\nname = \"y\"\nonce = [{ sleep = \"1s\" }, { adjust = { control_group = \"a\", max = \"max\" } }, { sleep = \"1s\" }, \
           { join = \"b\" }, { compute = \"500ms\" }]\n";
    let seen = see(2, "4s", &tables, &[("version", V7_3)]);
    let [a, b] = &seen.groups[..] else { panic!("{:?}", seen.groups) };
    // 100 ms of the first second, and all of the other three.
    assert!((a.usage_ns as f64 / 1e9 - 3.1).abs() < 0.02, "{}", a.usage_ns);
    assert_eq!((b.usage_ns, b.tasks), (500_000_000, 1));
}

/// Without control groups nothing is different, and `groups=none` does not look at them.
#[test]
fn they_can_be_left_out() {
    let tables = group("a", "max = \"10ms/100ms\"")
        + &group("b", "weight = 300")
        + &hogs("x", &within("a"), 1)
        + &hogs("y", &within("b"), 1);
    let seen = see(1, "2s", &tables, &[("version", V7_3), ("groups", 1)]);
    assert_shares(&seen, &[0.5, 0.5]);
    assert_eq!(held(&seen).0, [0.0; 0]);
}
