//! Control groups under `eevdf`: shares by weight, and limits as the kernel's bandwidth control has them. Numbers in
//! milliseconds; ticks of 4 ms at multiples of that, periods of 100 ms from 0 on.

use super::observe::{Settings, V6_12, V6_18, V7_3};
use crate::lab;
use crate::policies::observe::compiled;
use schedlab_bpf::Executor;
use schedlab_metrics::collector::Collector;
use schedlab_model::result::ControlGroupResult;
use schedlab_model::scenario::Scenario;
use schedlab_model::trace::*;
use schedlab_sim::LimitCounters;

pub(super) struct Seen {
    pub groups: Vec<ControlGroupResult>,
    pub limits: Vec<Option<LimitCounters>>,
    pub events: Vec<Event>,
}

/// What happens with these tables on a machine of that many CPUs.
pub(super) fn see(cpus: u32, length: &str, tables: &str, settings: Settings) -> Seen {
    let text = format!("name = \"t\"\n{tables}\n[machine]\ncpus = {cpus}\n[run]\nduration = \"{length}\"\n");
    let workload = compiled(Scenario::parse(&text, "test"));
    let run =
        |executor| lab::run_with(&workload, "eevdf", executor, settings).unwrap_or_else(|error| panic!("{error}"));
    let (one, two) = (run(Executor::Machine), run(Executor::Interpreter));
    assert!(one.events == two.events && one.outcome.limits == two.outcome.limits, "the executors differ");
    let mut collector = Collector::new(&workload);
    collector.events(&one.events);
    collector.finish(one.outcome.end);
    let limits = one.outcome.limits;
    Seen { groups: collector.into_measures().control_groups, limits, events: one.events }
}

pub(super) fn group(path: &str, keys: &str) -> String {
    format!("[[control_group]]\npath = \"{path}\"\n{keys}\n")
}

pub(super) fn hogs(name: &str, place: &str, count: u32) -> String {
    format!("[[task]]\nname = \"{name}\"\ncount = {count}\n{place}\nloop = [{{ compute = \"10s\" }}]\n")
}

pub(super) fn within(path: &str) -> String {
    format!("control_group = \"{path}\"")
}

/// The shares among siblings, which slices of a few milliseconds make exact to two in a thousand.
pub(super) fn assert_shares(seen: &Seen, expected: &[f64]) {
    let shares: Vec<f64> = seen.groups.iter().map(|group| group.sibling_share.unwrap()).collect();
    let differ = |(share, expected): (&f64, &f64)| (share - expected).abs() > 0.002;
    assert!(shares.len() == expected.len() && !shares.iter().zip(expected).any(differ), "{shares:?} for {expected:?}");
}

#[test]
fn groups_share_by_weight_whatever_is_in_them() {
    let settings: Settings = &[("version", V7_3)];
    for (n, m) in [(1, 1), (3, 1), (1, 3), (4, 2)] {
        let tables = group("a", "weight = 100")
            + &group("b", "weight = 300")
            + &hogs("x", &within("a"), n)
            + &hogs("y", &within("b"), m);
        assert_shares(&see(1, "6s", &tables, settings), &[0.25, 0.75]);
    }
    // A group in a group: a sixth each for b and c.
    let nested = group("a", "") + &group("a/b", "") + &group("a/c", "") + &group("d", "weight = 200");
    let tables = nested + &hogs("x", &within("a/b"), 1) + &hogs("y", &within("a/c"), 1) + &hogs("z", &within("d"), 1);
    assert_shares(&see(1, "6s", &tables, settings), &[0.333, 0.5, 0.5, 0.667]);
    // Tasks of the root compete one by one: a quarter each, and one for the group.
    let tables = group("a", "") + &hogs("root", "", 3) + &hogs("x", &within("a"), 2);
    assert_shares(&see(1, "6s", &tables, settings), &[0.25]);
    // Idle weighs 3, and with 10000 and 1 it is 102400 to 10.
    let tables =
        group("a", "idle = true") + &group("b", "") + &hogs("x", &within("a"), 1) + &hogs("y", &within("b"), 1);
    assert_shares(&see(1, "12s", &tables, settings), &[0.003, 0.997]);
}

#[test]
fn nice_counts_inside_a_group() {
    let tables = group("a", "")
        + &group("b", "")
        + &hogs("x", &within("a"), 1)
        + &hogs("y", &format!("{}\nnice = 5", within("a")), 1)
        + &hogs("z", &format!("{}\nnice = 19", within("b")), 1);
    let seen = see(1, "6s", &tables, &[("version", V7_3)]);
    assert_shares(&seen, &[0.5, 0.5]);
    let of = |task: u32| super::observe::cpu_time(&seen.events, 3)[task as usize] as f64 / 6e6;
    assert!((of(0) - 0.3768).abs() < 0.002 && (of(1) - 0.1232).abs() < 0.002, "{} {}", of(0), of(1));
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
}

/// The part of the time of two CPUs that the tasks of the first group used.
fn used(seen: &Seen, seconds: f64) -> f64 {
    seen.groups[0].usage_ns as f64 / 1e9 / seconds / 2.0
}

/// A group's load goes with its task: alone with two hogs on two CPUs it has a third, wherever it is.
#[test]
fn a_group_weighs_as_much_after_its_task_moved() {
    for tables in [
        group("a", "") + &hogs("x", &within("a"), 1) + &hogs("y", "", 2),
        group("a", "") + &group("a/b", "") + &hogs("x", &within("a/b"), 1) + &hogs("y", "", 2),
    ] {
        let used = used(&see(2, "6s", &tables, &[("version", V7_3)]), 6.0);
        assert!((used - 0.333).abs() < 0.02, "{used}");
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

/// The CPU of a task that is held back takes another's.
#[test]
fn no_cpu_idles_while_one_task_is_held_back() {
    for version in [V6_12, V7_3] {
        let tables = group("a", "max = \"50ms/100ms\"") + &hogs("x", &within("a"), 1) + &hogs("y", "", 2);
        let seen = see(2, "5s", &tables, &[("version", version)]);
        let times = super::observe::cpu_time(&seen.events, 3);
        let [x, y, z] = [0, 1, 2].map(|task| times[task] as f64 / 5e6);
        assert!((x - 0.5).abs() < 0.01 && y + z > 1.48, "{version}: {x} {y} {z}");
    }
}

/// When tasks are held back, in milliseconds; and when they are not any more.
fn held(seen: &Seen) -> (Vec<f64>, Vec<f64>) {
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
pub(super) fn ends(seen: &Seen) -> Vec<f64> {
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

/// The limit of a hog: what it uses in each period is a whole number of ticks, and it pays back.
#[test]
fn a_hog_uses_its_quota_to_the_tick_and_pays_back() {
    for (quota, hz, uses) in [
        ("50ms", 250, [52.0, 48.0, 52.0, 48.0]),
        ("10ms", 250, [12.0, 8.0, 12.0, 8.0]),
        ("25ms", 250, [28.0, 24.0, 24.0, 24.0]),
        ("50ms", 1000, [50.0; 4]),
        ("25ms", 100, [30.0, 20.0, 30.0, 20.0]),
    ] {
        let tables = group("a", &format!("max = \"{quota}/100ms\"")) + &hogs("x", &within("a"), 1);
        let seen = see(1, "395ms", &tables, &[("version", V6_12), ("hz", hz)]);
        let (from, until) = held(&seen);
        let used: Vec<f64> = from.iter().enumerate().map(|(period, at)| at - 100.0 * period as f64).collect();
        assert_eq!(used, uses, "{quota} at {hz}");
        assert_eq!(until, [100.0, 200.0, 300.0], "{quota} at {hz}");
    }
}

#[test]
fn what_is_counted_is_what_cpu_stat_counts() {
    let tables = group("a", "max = \"50ms/100ms\"") + &hogs("x", &within("a"), 1);
    let seen = see(1, "10001ms", &tables, &[("version", V6_12)]);
    let LimitCounters([periods, throttled, throttled_ns, bursts, burst_ns]) = seen.limits[1].unwrap();
    assert_eq!((periods, throttled, throttled_ns, bursts, burst_ns), (100, 100, 5_000_000_000, 0, 0));
    // Two periods more are counted after the last use.
    let once = "[[task]]\nname = \"x\"\ncontrol_group = \"a\"\nonce = [{ compute = \"30ms\" }]\n\
                [[task]]\nname = \"y\"\nonce = [{ sleep = \"2s\" }]\n";
    let seen = see(1, "3s", &(group("a", "max = \"50ms/100ms\"") + once), &[("version", V6_12)]);
    assert_eq!(seen.limits[1].unwrap().0[..2], [2, 0]);
}

fn split(work_ms: f64, threads: u32) -> String {
    let each = work_ms / f64::from(threads);
    let once = format!("once = [{{ compute = \"{each}ms\" }}]");
    let task = format!("[[task]]\nname = \"x\"\ncount = {threads}\ncontrol_group = \"a\"\n{once}\n");
    group("a", "max = \"50ms/100ms\"") + &task
}

/// The end of a piece of work that is split over threads on eight CPUs: more of them wait longer, by what is stranded.
#[test]
fn work_that_is_split_ends_when_its_quota_lets_it() {
    for (work, threads, end) in [
        (200.0, 1, 348.0),
        (200.0, 4, 402.0),
        (200.0, 8, 401.0),
        (190.0, 1, 338.0),
        (190.0, 4, 311.5),
        (190.0, 8, 307.75),
    ] {
        let seen = see(8, "1s", &split(work, threads), &[("version", V6_12)]);
        let last = ends(&seen).into_iter().fold(0.0, f64::max);
        assert_eq!(last, end, "{work} over {threads}");
    }
    // Almost without ticks: the time in which queues are throttled, and how often.
    for (threads, throttled_ms) in [(1, 150.0), (4, 1050.0), (8, 2059.5)] {
        let seen = see(8, "1s", &split(190.0, threads), &[("version", V6_12), ("hz", 100_000)]);
        let LimitCounters([_, throttled, ns, _, _]) = seen.limits[1].unwrap();
        assert_eq!(throttled, 3, "{threads}");
        assert!((ns as f64 / 1e6 - throttled_ms).abs() < 1.0, "{threads}: {ns}");
    }
}

/// Six tasks of 1 ms on six CPUs with 20 ms: four CPUs take 5 ms each, give 4 ms back, and 5 ms later the others get of that.
#[test]
fn what_is_given_back_goes_to_who_is_throttled() {
    let task = |count: u32| {
        format!("[[task]]\nname = \"x\"\ncount = {count}\ncontrol_group = \"a\"\nonce = [{{ compute = \"1ms\" }}]\n")
    };
    let exact: Settings = &[("version", V6_12), ("hz", 100_000)];
    let seen = see(6, "1s", &(group("a", "max = \"20ms/100ms\"") + &task(6)), exact);
    let rounded: Vec<f64> = ends(&seen).into_iter().map(f64::round).collect();
    assert_eq!(rounded, [1.0, 1.0, 1.0, 1.0, 7.0, 7.0]);
    assert_eq!(seen.limits[1].unwrap().0[1], 0);
    let seen = see(10, "1s", &(group("a", "max = \"20ms/100ms\"") + &task(10)), exact);
    let rounded: Vec<f64> = ends(&seen).into_iter().map(f64::round).collect();
    assert_eq!(rounded, [1.0, 1.0, 1.0, 1.0, 7.0, 7.0, 7.0, 13.0, 13.0, 101.0]);
}

/// 38 ms of work each 338 ms with a quota of 20 ms: with a burst it runs at once.
#[test]
fn a_burst_is_what_was_saved_up() {
    let task =
        "[[task]]\nname = \"x\"\ncontrol_group = \"a\"\nloop = [{ compute = \"38ms\" }, { sleep = \"300ms\" }]\n";
    for (burst, bursts, helds) in [("20ms", 6, 0), ("0ms", 0, 5)] {
        let tables = group("a", &format!("max = \"20ms/100ms\"\nburst = \"{burst}\"")) + task;
        let seen = see(1, "2020ms", &tables, &[("version", V6_12), ("hz", 1000)]);
        assert_eq!(held(&seen).0.len(), helds, "{burst}: {:?}", held(&seen).0);
        assert_eq!(seen.limits[1].unwrap().0[3], bursts, "{burst}");
    }
}

/// A parent's limit is its children's together.
#[test]
fn a_limit_holds_for_what_is_below() {
    let pinned = |name: &str, path: &str, cpu: u32| hogs(name, &format!("{}\ncpus = [{cpu}]", within(path)), 1);
    let tables = group("p", "max = \"50ms/100ms\"")
        + &group("p/a", "")
        + &group("p/b", "")
        + &pinned("x", "p/a", 0)
        + &pinned("y", "p/b", 1);
    let seen = see(2, "4s", &tables, &[("version", V6_12), ("hz", 20_000)]);
    let shares: Vec<f64> = seen.groups[1..].iter().map(|group| group.usage_share).collect();
    assert!(shares.iter().all(|share| (share - 0.125).abs() < 0.002), "{shares:?}");
    assert!(seen.limits[1].unwrap().0[1] >= 39 && seen.limits[2].is_none());
}

/// A lock is held through a throttle: a task that asks for it waits for the next period.
#[test]
fn a_throttled_owner_keeps_its_lock() {
    let tables = group("a", "max = \"10ms/100ms\"")
        + "[[task]]\nname = \"x\"\ncontrol_group = \"a\"\nonce = [{ lock = \"m\" }, { compute = \"20ms\" }, { unlock = \"m\" }]\n\
           [[task]]\nname = \"y\"\nstart = \"5ms\"\nonce = [{ lock = \"m\" }, { compute = \"1us\" }, { unlock = \"m\" }]\n";
    let seen = see(2, "1s", &tables, &[("version", V6_12), ("hz", 100_000)]);
    let end = ends(&seen)[1];
    assert!((end - 110.0).abs() < 0.1, "{end}");
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

/// Periods begin where the parameters say: so long after a multiple, or anywhere.
#[test]
fn periods_have_a_phase() {
    let tables = group("a", "max = \"10ms/100ms\"") + &hogs("x", &within("a"), 1);
    let ends =
        |more: Settings| held(&see(1, "350ms", &tables, &[&[("version", V6_12), ("hz", 1000)], more].concat())).1;
    assert_eq!(ends(&[("period_phase", 30_000_000)]), [30.0, 130.0, 230.0, 330.0]);
    let drawn: Vec<Vec<f64>> = (1..=3).map(|seed| ends(&[("phase_seed", seed)])).collect();
    assert!(drawn[0] != drawn[1] && drawn[1] != drawn[2], "{drawn:?}");
    assert!(drawn.iter().all(|ends| ends.windows(2).all(|two| (two[1] - two[0] - 100.0).abs() < 1e-6)), "{drawn:?}");
}
