//! Limits of control groups under every policy that has them: what a kernel's bandwidth control gives, and what it does to
//! services, by formulas and by a kernel's own expectations. Times in milliseconds; periods of 100 ms from 0 on, and ticks of
//! 4 ms at multiples of that, or ones that are too short to matter.

use super::control_groups::{self, Seen, ends, group, held, hogs, within};
use super::observe::{Settings, cpu_time};
use schedlab_model::trace::*;
use schedlab_sim::LimitCounters;

/// Ticks that are too short to matter.
const EXACT: Settings = &[("hz", 100_000)];

/// What happens under a policy: CPUs, length, tables, settings.
type Subject = fn(u32, &str, &str, Settings) -> Seen;
const SUBJECTS: [Subject; 2] = [eevdf, cfs];

/// As in 6.12.
fn eevdf(cpus: u32, length: &str, tables: &str, settings: Settings) -> Seen {
    control_groups::see("eevdf", cpus, length, tables, &[&[("version", 0)], settings].concat())
}

/// As in 6.1.
fn cfs(cpus: u32, length: &str, tables: &str, settings: Settings) -> Seen {
    control_groups::see("cfs", cpus, length, tables, settings)
}

/// A piece of work that is split over threads, with 50 ms of each 100.
pub fn split(work_ms: f64, threads: u32) -> String {
    let each = work_ms / f64::from(threads);
    let once = format!("once = [{{ compute = \"{each}ms\" }}]");
    let task = format!("[[task]]\nname = \"x\"\ncount = {threads}\ncontrol_group = \"a\"\n{once}\n");
    group("a", "max = \"50ms/100ms\"") + &task
}

/// More CPUs than a quota keeps busy: a group may be released between the moment at which a CPU finds nothing to run and that at
/// which it puts its last task back. Then the CPU looks again: each task has a tick in each period at least, while it pays back.
#[test]
fn a_task_that_is_released_while_it_leaves_its_cpu_is_not_lost() {
    let tasks = |name: &str, count: u32| hogs(name, &within("a"), count).replace("10s", "10ms");
    let tables = group("a", "max = \"30ms/100ms\"") + &tasks("x", 2) + &tasks("y", 4);
    for (policy, version) in [("eevdf", 0), ("eevdf", 3), ("cfs", 0), ("cfs", 1)] {
        let machine = "topology = \"2n2l1c2t\"\ntick = \"1ms\"";
        let seen = control_groups::see_on(policy, machine, "4s", &tables, &[("version", version)]);
        let times = cpu_time(&seen.events, 6);
        assert!(times.iter().all(|time| *time >= 40_000), "{policy} {version}: {times:?} us");
    }
}

/// The limit of a hog: what it uses in each period is a whole number of ticks, and it pays back.
#[test]
fn a_hog_uses_its_quota_to_the_tick_and_pays_back() {
    for see in SUBJECTS {
        for (quota, hz, uses) in [
            ("50ms", 250, [52.0, 48.0, 52.0, 48.0]),
            ("10ms", 250, [12.0, 8.0, 12.0, 8.0]),
            ("25ms", 250, [28.0, 24.0, 24.0, 24.0]),
            ("50ms", 1000, [50.0; 4]),
            ("25ms", 100, [30.0, 20.0, 30.0, 20.0]),
        ] {
            let tables = group("a", &format!("max = \"{quota}/100ms\"")) + &hogs("x", &within("a"), 1);
            let seen = see(1, "395ms", &tables, &[("hz", hz)]);
            let (from, until) = held(&seen);
            let used: Vec<f64> = from.iter().enumerate().map(|(period, at)| at - 100.0 * period as f64).collect();
            assert_eq!(used, uses, "{quota} at {hz}");
            assert_eq!(until, [100.0, 200.0, 300.0], "{quota} at {hz}");
        }
    }
}

#[test]
fn what_is_counted_is_what_cpu_stat_counts() {
    for see in SUBJECTS {
        let tables = group("a", "max = \"50ms/100ms\"") + &hogs("x", &within("a"), 1);
        let seen = see(1, "10001ms", &tables, &[]);
        let LimitCounters([periods, throttled, throttled_ns, bursts, burst_ns]) = seen.limits[1].unwrap();
        assert_eq!((periods, throttled, throttled_ns, bursts, burst_ns), (100, 100, 5_000_000_000, 0, 0));
        // Two periods more are counted after the last use.
        let once = "[[task]]\nname = \"x\"\ncontrol_group = \"a\"\nonce = [{ compute = \"30ms\" }]\n\
                [[task]]\nname = \"y\"\nonce = [{ sleep = \"2s\" }]\n";
        let seen = see(1, "3s", &(group("a", "max = \"50ms/100ms\"") + once), &[]);
        assert_eq!(seen.limits[1].unwrap().0[..2], [2, 0]);
    }
}

/// The end of a piece of work that is split over threads on eight CPUs: more of them wait longer, by what is stranded.
#[test]
fn work_that_is_split_ends_when_its_quota_lets_it() {
    for see in SUBJECTS {
        for (work, threads, end) in [
            (200.0, 1, 348.0),
            (200.0, 4, 402.0),
            (200.0, 8, 401.0),
            (190.0, 1, 338.0),
            (190.0, 4, 311.5),
            (190.0, 8, 307.75),
        ] {
            let seen = see(8, "1s", &split(work, threads), &[]);
            let last = ends(&seen).into_iter().fold(0.0, f64::max);
            assert_eq!(last, end, "{work} over {threads}");
        }
        // Almost without ticks: the time in which queues are throttled, and how often.
        for (threads, throttled_ms) in [(1, 150.0), (4, 1050.0), (8, 2059.5)] {
            let seen = see(8, "1s", &split(190.0, threads), &[("hz", 100_000)]);
            let LimitCounters([_, throttled, ns, _, _]) = seen.limits[1].unwrap();
            assert_eq!(throttled, 3, "{threads}");
            assert!((ns as f64 / 1e6 - throttled_ms).abs() < 1.0, "{threads}: {ns}");
        }
    }
}

/// Six tasks of 1 ms on six CPUs with 20 ms: four CPUs take 5 ms each, give 4 ms back, and 5 ms later the others get of that.
#[test]
fn what_is_given_back_goes_to_who_is_throttled() {
    for see in SUBJECTS {
        let task = |count: u32| {
            format!(
                "[[task]]\nname = \"x\"\ncount = {count}\ncontrol_group = \"a\"\nonce = [{{ compute = \"1ms\" }}]\n"
            )
        };
        let seen = see(6, "1s", &(group("a", "max = \"20ms/100ms\"") + &task(6)), EXACT);
        let rounded: Vec<f64> = ends(&seen).into_iter().map(f64::round).collect();
        assert_eq!(rounded, [1.0, 1.0, 1.0, 1.0, 7.0, 7.0]);
        assert_eq!(seen.limits[1].unwrap().0[1], 0);
        let seen = see(10, "1s", &(group("a", "max = \"20ms/100ms\"") + &task(10)), EXACT);
        let rounded: Vec<f64> = ends(&seen).into_iter().map(f64::round).collect();
        assert_eq!(rounded, [1.0, 1.0, 1.0, 1.0, 7.0, 7.0, 7.0, 13.0, 13.0, 101.0]);
    }
}

/// 38 ms of work each 338 ms with a quota of 20 ms: with a burst it runs at once.
#[test]
fn a_burst_is_what_was_saved_up() {
    for see in SUBJECTS {
        let task =
            "[[task]]\nname = \"x\"\ncontrol_group = \"a\"\nloop = [{ compute = \"38ms\" }, { sleep = \"300ms\" }]\n";
        for (burst, bursts, helds) in [("20ms", 6, 0), ("0ms", 0, 5)] {
            let tables = group("a", &format!("max = \"20ms/100ms\"\nburst = \"{burst}\"")) + task;
            let seen = see(1, "2020ms", &tables, &[("hz", 1000)]);
            assert_eq!(held(&seen).0.len(), helds, "{burst}: {:?}", held(&seen).0);
            assert_eq!(seen.limits[1].unwrap().0[3], bursts, "{burst}");
        }
    }
}

/// A parent's limit is its children's together.
#[test]
fn a_limit_holds_for_what_is_below() {
    for see in SUBJECTS {
        let pinned = |name: &str, path: &str, cpu: u32| hogs(name, &format!("{}\ncpus = [{cpu}]", within(path)), 1);
        let tables = group("p", "max = \"50ms/100ms\"")
            + &group("p/a", "")
            + &group("p/b", "")
            + &pinned("x", "p/a", 0)
            + &pinned("y", "p/b", 1);
        let seen = see(2, "4s", &tables, &[("hz", 20_000)]);
        let shares: Vec<f64> = seen.groups[1..].iter().map(|group| group.usage_share).collect();
        assert!(shares.iter().all(|share| (share - 0.125).abs() < 0.002), "{shares:?}");
        assert!(seen.limits[1].unwrap().0[1] >= 39 && seen.limits[2].is_none());
    }
}

/// A lock is held through a throttle: a task that asks for it waits for the next period.
#[test]
fn a_throttled_owner_keeps_its_lock() {
    for see in SUBJECTS {
        let tables = group("a", "max = \"10ms/100ms\"")
            + "[[task]]\nname = \"x\"\ncontrol_group = \"a\"\nonce = [{ lock = \"m\" }, { compute = \"20ms\" }, { unlock = \"m\" }]\n\
           [[task]]\nname = \"y\"\nstart = \"5ms\"\nonce = [{ lock = \"m\" }, { compute = \"1us\" }, { unlock = \"m\" }]\n";
        let seen = see(2, "1s", &tables, &[("hz", 100_000)]);
        let end = ends(&seen)[1];
        assert!((end - 110.0).abs() < 0.1, "{end}");
    }
}

/// Periods begin where the parameters say: so long after a multiple, or anywhere.
#[test]
fn periods_have_a_phase() {
    for see in SUBJECTS {
        let tables = group("a", "max = \"10ms/100ms\"") + &hogs("x", &within("a"), 1);
        let ends = |more: Settings| held(&see(1, "350ms", &tables, &[&[("hz", 1000)], more].concat())).1;
        assert_eq!(ends(&[("period_phase", 30_000_000)]), [30.0, 130.0, 230.0, 330.0]);
        let drawn: Vec<Vec<f64>> = (1..=3).map(|seed| ends(&[("phase_seed", seed)])).collect();
        assert!(drawn[0] != drawn[1] && drawn[1] != drawn[2], "{drawn:?}");
        assert!(
            drawn.iter().all(|ends| ends.windows(2).all(|two| (two[1] - two[0] - 100.0).abs() < 1e-6)),
            "{drawn:?}"
        );
    }
}

fn limited(quota_ms: u32, more: &str, tasks: &str) -> String {
    group("a", &format!("max = \"{quota_ms}ms/100ms\"\n{more}")) + tasks
}

/// The response times of requests that began after a time.
fn responses(seen: &Seen, after_ms: f64) -> Vec<f64> {
    let mut began = std::collections::BTreeMap::new();
    let mut all = Vec::new();
    for event in &seen.events {
        let at = event.time.ns() as f64 / 1e6;
        match event.kind {
            EventKind::RequestBegin { task, .. } => _ = began.insert(task, at),
            EventKind::RequestEnd { task, .. } => {
                all.extend(began.remove(&task).filter(|begin| *begin >= after_ms).map(|begin| at - begin))
            }
            _ => {}
        }
    }
    all
}

/// Workers that always have a request of `work`: the part of them that is held back, how long these take, and the mean.
fn closed_loop(see: Subject, workers: u32, work_ms: u32, quota_ms: u32) -> (f64, f64, f64, u64) {
    let task = format!(
        "[[task]]\nname = \"w\"\ncount = {workers}\ncontrol_group = \"a\"\nloop = [{{ compute = \"{work_ms}ms\" }}]\n"
    );
    let seen = see(workers, "8s", &limited(quota_ms, "", &task), EXACT);
    let all = responses(&seen, 500.0);
    let held: Vec<f64> = all.iter().copied().filter(|time| *time > 1.5 * f64::from(work_ms)).collect();
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len().max(1) as f64;
    let LimitCounters([_, throttled, ..]) = seen.limits[1].unwrap();
    (held.len() as f64 / all.len() as f64, mean(&held), mean(&all), throttled)
}

/// Of n workers, each with a request of C, the part nC/Q is held back and takes C + P - Q/n; the mean is nPC/Q: the same CPU
/// time for a p99 that is up to 16 times as long.
#[test]
fn more_workers_than_the_quota_keeps_busy_make_long_tails() {
    for see in SUBJECTS {
        for (workers, work, quota) in [(8, 5, 200), (4, 5, 200), (3, 5, 200), (1, 12, 50)] {
            let (part, long, mean, _) = closed_loop(see, workers, work, quota);
            let (n, c, q) = (f64::from(workers), f64::from(work), f64::from(quota));
            let case = format!("{workers} workers: {part} at {long}, mean {mean}");
            assert!((part - n * c / q).abs() < 0.01, "{case}");
            // What is stranded on a CPU is used in the next period.
            assert!((long - (c + 100.0 - q / n)).abs() < 2.5, "{case}");
            assert!((mean - n * 100.0 * c / q).abs() < 0.35, "{case}");
        }
        let (part, _, mean, throttled) = closed_loop(see, 2, 5, 210);
        assert!(part == 0.0 && (mean - 5.0).abs() < 1e-6 && throttled == 0, "{part} {mean} {throttled}");
    }
}

/// Requests that are split over eight threads of 10 ms, one each 400 ms, from `offset` on.
fn fan_out(see: Subject, offset_ms: u32, burst: &str) -> (Vec<f64>, [u64; 5]) {
    let task = format!(
        "[[task]]\nname = \"t\"\ncount = 8\ncontrol_group = \"a\"\nstart = \"{offset_ms}ms\"\n\
         once = [{{ compute = \"10ms\" }}]\n"
    );
    let later = |round: u32| {
        task.replace("\"t\"", &format!("\"t{round}\""))
            .replace(&format!("start = \"{offset_ms}ms\""), &format!("start = \"{}ms\"", offset_ms + 400 * round))
    };
    let tasks: String = (0..3).map(later).collect();
    let seen = see(8, "1300ms", &limited(50, burst, &tasks), EXACT);
    let last = |round: usize| ends(&seen)[8 * round..8 * (round + 1)].iter().fold(0.0, |a: f64, b| a.max(*b));
    let times = (0..3).map(|round| last(round) - f64::from(offset_ms) - 400.0 * round as f64).collect();
    (times, seen.limits[1].unwrap().0)
}

/// Two CPUs get 10 ms of the 50, six 5 and wait for the refill; a request that begins less than 5 ms before it does not.
#[test]
fn a_request_that_is_split_waits_for_the_refill() {
    for see in SUBJECTS {
        for offset in [0, 20, 50, 90] {
            let (times, counters) = fan_out(see, offset, "");
            let expected = 105.0 - f64::from(offset);
            // A CPU may begin with what it kept of the request before, at most 1 ms.
            assert!((times[0] - expected).abs() < 0.1, "{offset}: {times:?}");
            assert!(times.iter().all(|time| (time - expected).abs() < 1.1), "{offset}: {times:?}");
            assert_eq!(counters[1], 3, "{offset}: one throttled period for each request");
        }
        let (times, _) = fan_out(see, 96, "");
        assert!(times.iter().all(|time| (time - 10.0).abs() < 0.1), "{times:?}");
    }
}

/// The same with a burst of 50 ms, when the pool is full: it never waits.
#[test]
fn a_full_pool_lets_it_through() {
    for see in SUBJECTS {
        // The pool is filled once, by a task that uses nothing to speak of for some periods.
        let warm = "[[task]]\nname = \"warm\"\ncontrol_group = \"a\"\nonce = [{ repeat = 30, steps = [{ compute = \"10us\" }, \
                { sleep = \"10ms\" }] }]\n";
        let task = |round: u32| {
            format!(
                "[[task]]\nname = \"t{round}\"\ncount = 8\ncontrol_group = \"a\"\nstart = \"{}ms\"\nonce = [{{ compute = \"10ms\" }}]\n",
                410 + 400 * round
            )
        };
        // A run ends with its last task, and a burst is counted at the refill after it.
        let after = "[[task]]\nname = \"after\"\nonce = [{ sleep = \"1690ms\" }]\n";
        let tasks: String = [warm.to_owned(), after.to_owned()].into_iter().chain((0..3).map(task)).collect();
        let seen = see(8, "1700ms", &limited(50, "burst = \"50ms\"", &tasks), EXACT);
        let ended = ends(&seen);
        for round in 0..3 {
            let last = ended[2 + 8 * round..10 + 8 * round].iter().fold(0.0, |a: f64, b| a.max(*b));
            assert!((last - 420.0 - 400.0 * round as f64).abs() < 0.1, "round {round}: {last}");
        }
        let LimitCounters([_, throttled, _, bursts, burst_ns]) = seen.limits[1].unwrap();
        assert_eq!((throttled, bursts), (0, 3));
        // 30 ms beyond the quota each time, and with the first what eight CPUs keep.
        assert!((burst_ns as f64 / 1e6 - 98.0).abs() < 3.0, "{burst_ns}");
    }
}

/// 88 tasks of 1 ms on 88 CPUs with two CPUs' worth: forty CPUs get 5 ms and give 4 back, five of which are handed out each
/// time the slack timer fires.
#[test]
fn many_cpus_wait_for_each_others_leftovers() {
    for see in SUBJECTS {
        let task = "[[task]]\nname = \"x\"\ncount = 88\ncontrol_group = \"a\"\nonce = [{ compute = \"1ms\" }]\n";
        let seen = see(88, "300ms", &limited(200, "", task), EXACT);
        let mut counts = std::collections::BTreeMap::new();
        ends(&seen).into_iter().for_each(|end| *counts.entry(end.round() as u64).or_insert(0) += 1);
        assert_eq!(counts.into_iter().collect::<Vec<_>>(), [(1, 40), (7, 24), (13, 15), (19, 9)]);
        assert_eq!(seen.limits[1].unwrap().0[1], 0);
    }
}

/// The same with 2 ms: thirteen times five CPUs' worth is taken and not given back, five stay in the pool, which is too little to
/// hand out, and the others wait for the refill at 65 % of the quota.
#[test]
fn leftovers_that_are_too_small_wait_for_the_refill() {
    for see in SUBJECTS {
        let task = "[[task]]\nname = \"x\"\ncount = 88\ncontrol_group = \"a\"\nonce = [{ compute = \"2ms\" }]\n";
        let seen = see(88, "300ms", &limited(200, "", task), EXACT);
        let ended = ends(&seen);
        assert_eq!(ended.iter().filter(|end| **end < 99.0).count(), 65);
        let late: Vec<u64> = ended.iter().filter(|end| **end >= 99.0).map(|end| end.round() as u64).collect();
        assert_eq!(late, [102; 23]);
        assert_eq!(seen.limits[1].unwrap().0[1], 1);
    }
}

/// Eight hogs on eight CPUs with half of one: what they use together in each period is a whole number of ticks.
#[test]
fn eight_hogs_use_their_quota_to_the_tick() {
    for see in SUBJECTS {
        let tables = group("a", "max = \"50ms/100ms\"") + &hogs("x", &within("a"), 8);
        let used = |periods: u64| {
            let seen = see(8, &format!("{}ms", periods * 100 - 1), &tables, &[]);
            (seen.groups[0].usage_ns / 1_000_000, seen.limits[1].unwrap().0[2] / 1_000_000)
        };
        let sums: Vec<(u64, u64)> = (1..=7).map(used).collect();
        let uses: Vec<u64> =
            [(0, 0)].iter().chain(&sums).zip(&sums).map(|(before, after)| after.0 - before.0).collect();
        assert_eq!(uses, [72, 56, 48, 52, 48, 52, 48]);
        // Each CPU is throttled for what is left of its period.
        assert!((sums[6].1.abs_diff(sums[1].1) / 5).abs_diff(750) <= 4, "{sums:?}");
    }
}

/// A limit of 8 %: each pass waits for the next period.
#[test]
fn eight_percent_wait_for_most_of_a_period() {
    for see in SUBJECTS {
        let task = "[[task]]\nname = \"x\"\ncontrol_group = \"a\"\nloop = [{ compute = \"8ms\" }]\n";
        let seen = see(1, "3s", &limited(8, "", task), &[("hz", 250)]);
        let waits: Vec<f64> = responses(&seen, 200.0).iter().map(|time| time - 8.0).collect();
        assert!(!waits.is_empty() && waits.iter().all(|wait| (87.0..=96.0).contains(wait)), "{waits:?}");
    }
}

/// `cpu.max` of "1000 100000" for a second: 10 ms of CPU within 10 % (tools/testing/selftests/cgroup/test_cpu.c), flat and
/// nested, where ticks are short; with ticks of 4 ms a group uses whole ticks and pays back.
#[test]
fn a_hundredth_of_a_cpu_is_ten_milliseconds_of_a_second() {
    for see in SUBJECTS {
        for tables in [
            group("a", "max = \"1ms/100ms\"") + &hogs("x", &within("a"), 1),
            group("p", "max = \"1ms/100ms\"") + &group("p/a", "") + &hogs("x", &within("p/a"), 1),
        ] {
            let seen = see(1, "1s", &tables, &[("hz", 1000)]);
            let used = seen.groups.last().unwrap().usage_ns as f64 / 1e6;
            assert!((used - 10.0).abs() <= 1.0, "{used}");
        }
    }
}
