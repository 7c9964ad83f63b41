//! What each parameter of `windows` changes.

use super::observe::{Settings, TICK, migrations, placed, priorities, run, run_shared, run_tasks, turns};
use schedlab_model::trace::{Event, EventKind};

const HOGS: &str = "[[task]]\nname = \"hog\"\ncount = 2\nloop = [{ compute = \"1s\" }]";

/// The highest priority that the first task ever has.
fn highest(tasks: &str, settings: Settings) -> Option<u64> {
    priorities(&run_tasks(1, 2, tasks, settings), 0).iter().map(|entry| entry.0).max()
}

/// The first turn of the first of two hogs, in ticks.
fn quantum(tasks: &str, settings: Settings) -> u64 {
    turns(&run_tasks(1, 2, tasks, settings), 0)[0].1 / TICK
}

#[test]
fn the_version_decides_what_is_left_to_it() {
    assert_eq!([0, 1].map(|version| quantum(HOGS, &[("version", version)])), [12, 2]);
    assert_eq!([0, 1].map(|version| quantum(HOGS, &[("version", version), ("quantum", 3)])), [6, 6]);
    // Three units of a starving thread are one tick.
    let relief = turns(&run("09-starving-4", &[("version", 1)]), 1)[0];
    assert_eq!(relief.1 - relief.0, TICK);
}

#[test]
fn the_quantum_is_read_from_four_tables() {
    let batch = HOGS.replace("count = 2", "count = 2\nclass = \"batch\"");
    for (table, background, foreground) in [(1, 2, [2, 4, 6]), (2, 4, [4, 8, 12]), (3, 6, [6; 3]), (4, 12, [12; 3])] {
        assert_eq!(quantum(HOGS, &[("quantum", table)]), background);
        for separation in 0..3 {
            let with = |who| [("quantum", table), ("foreground", who), ("separation", separation)];
            assert_eq!(quantum(HOGS, &with(1)), foreground[separation as usize], "table {table}");
            assert_eq!(quantum(&batch, &with(1)), background, "table {table}");
            assert_eq!(quantum(&batch, &with(2)), foreground[separation as usize], "table {table}");
        }
    }
}

#[test]
fn a_quantum_is_charged_by_ticks_or_by_the_time_on_the_cpu() {
    // It begins within the first tick, 5 ms after the start.
    let late = HOGS.replace("count = 2", "count = 2\nstart = \"5ms\"");
    let first_end = |charge| turns(&run_tasks(1, 1, &late, &[("quantum", 1), ("charge", charge)]), 0)[0];
    assert_eq!(first_end(1), (5_000, 2 * TICK));
    // 31.25 ms are over at 36.25 ms; that is looked at at the next tick.
    assert_eq!(first_end(2), (5_000, 3 * TICK));
}

#[test]
fn the_clock_tick_is_a_parameter() {
    assert_eq!(turns(&run_tasks(1, 1, HOGS, &[("tick", 10_000_000)]), 0)[0], (0, 120_000));
}

#[test]
fn a_wait_costs_a_unit() {
    // After 3 waits a whole tick less is left of 36 units: 33, 11 ticks. A wait for a timer brings no new quantum.
    let hogs = "[[task]]\nname = \"waits\"\nonce = [{ repeat = 3, steps = [{ sleep = \"1ms\" }] }, { compute = \"1s\" }]\n\
                [[task]]\nname = \"hog\"\nstart = \"4ms\"\nloop = [{ compute = \"1s\" }]";
    assert_eq!(turns(&run_tasks(1, 1, hogs, &[]), 0)[0], (3_000, 11 * TICK));
}

#[test]
fn nice_values_are_levels_or_classes() {
    let base = |nice: i32, how: u64| {
        let task = format!("[[task]]\nname = \"t\"\nnice = {nice}\nloop = [{{ compute = \"1s\" }}]");
        priorities(&run_tasks(1, 1, &task, &[("nice", how)]), 0)[0].0
    };
    for (nice, level, class) in [
        (-20, 28, 13),
        (-13, 21, 13),
        (-12, 20, 10),
        (-5, 13, 10),
        (-4, 12, 8),
        (0, 8, 8),
        (4, 4, 8),
        (5, 3, 6),
        (7, 1, 6),
        (12, 1, 6),
        (13, 1, 4),
        (19, 1, 4),
    ] {
        assert_eq!((base(nice, 0), base(nice, 1)), (level, class), "nice {nice}");
    }
    let idle = "[[task]]\nname = \"t\"\nclass = \"idle\"\nloop = [{ compute = \"1s\" }]";
    assert_eq!(priorities(&run_tasks(1, 1, idle, &[]), 0)[0].0, 1);
}

#[test]
fn each_wake_source_has_its_boost() {
    let boosts: Settings =
        &[("boost_timer", 2), ("boost_semaphore", 3), ("boost_pipe", 4), ("boost_network", 5), ("boost_disk", 6)];
    for (wait, by, standard, changed) in [
        ("{ sleep = \"10ms\" }", "", 0, 2),
        ("{ wait = \"go\" }", "{ post = \"go\" }", 1, 3),
        ("{ recv = \"go\" }", "{ send = \"go\" }", 2, 4),
        ("{ io = { device = \"disk\", service = \"10ms\" } }", "", 1, 6),
    ] {
        let giver = match by {
            "" => String::new(),
            by => format!("[[task]]\nname = \"giver\"\nonce = [{{ sleep = \"10ms\" }}, {by}]"),
        };
        let tasks = format!("[[task]]\nname = \"taker\"\nonce = [{wait}, {{ compute = \"1s\" }}]\n{giver}");
        assert_eq!(highest(&tasks, &[]), Some(8 + standard), "{wait}");
        assert_eq!(highest(&tasks, boosts), Some(8 + changed), "{wait}");
        assert_eq!(highest(&tasks, &[boosts, &[("boosts", 0)]].concat()), Some(8), "{wait}");
        if by.contains("send") {
            let net = format!("{tasks}\n[channel.go]\nkind = \"socket\"");
            assert_eq!((highest(&net, &[]), highest(&net, boosts)), (Some(10), Some(13)));
        }
    }
}

#[test]
fn a_lock_may_raise_its_owner_above_who_gave_it() {
    let low = |giver_nice: i32, settings| {
        let tasks = format!(
            "[[task]]\nname = \"low\"\nnice = 4\nonce = [{{ wait = \"go\" }}, {{ compute = \"1s\" }}]\n\
             [[task]]\nname = \"giver\"\nnice = {giver_nice}\nonce = [{{ sleep = \"10ms\" }}, {{ post = \"go\" }}]"
        );
        priorities(&run_tasks(1, 2, &tasks, settings), 0)
    };
    assert_eq!(low(0, &[]), [(4, 0), (5, 10_000), (4, 12 * TICK)]);
    assert_eq!(low(0, &[("locks", 1)]), [(4, 0), (9, 10_000), (4, 12 * TICK)]);
    assert_eq!(low(0, &[("locks", 1), ("boosts", 0)]), [(4, 0)]);
    // Not above 13, and not by one that is lower.
    assert_eq!(low(-5, &[("locks", 1)])[1].0, 13);
    assert_eq!(low(5, &[("locks", 1)]), [(4, 0)]);
}

#[test]
fn the_scan_has_a_period_and_a_limit() {
    let first = |settings| turns(&run("11-starving-15ms", settings), 1).first().map(|turn| turn.0);
    assert_eq!(first(&[]), Some(5_000_000));
    assert_eq!(first(&[("scan_period", 100_000_000)]), Some(4_700_000));
    assert_eq!(first(&[("wait_limit_ticks", 64)]), Some(1_000_000));
    assert_eq!(first(&[("scan", 0)]), None);
}

#[test]
fn a_scan_examines_16_threads_and_raises_10() {
    // Twenty of base 2 and six of base 4 starve. Each is raised once, since it begins to wait again.
    let tasks = "[[task]]\nname = \"hog\"\nnice = -1\nloop = [{ compute = \"1s\" }]\n\
                 [[task]]\nname = \"low\"\ncount = 20\nnice = 6\nloop = [{ compute = \"1s\" }]\n\
                 [[task]]\nname = \"less\"\ncount = 6\nnice = 4\nloop = [{ compute = \"1s\" }]";
    let events = run_tasks(1, 8, tasks, &[]);
    let raised = |second: u64, tasks: std::ops::Range<u32>| {
        let at = second * 1_000_000;
        tasks.filter(|task| priorities(&events, *task).contains(&(15, at))).count()
    };
    let by_second: Vec<(usize, usize)> = (5..8).map(|second| (raised(second, 1..21), raised(second, 21..27))).collect();
    // The scans before have examined 16 threads each and stopped on level 2, so this one begins above it. The threads of
    // level 4 are looked at first each time, although they do not starve any more.
    assert_eq!(by_second, [(4, 6), (10, 0), (6, 0)]);
}

#[test]
fn an_ideal_cpu_draws_threads_back() {
    let moves = |ideal| migrations(&run_shared("moderate-load", 2, 60, &[("ideal", ideal)]));
    assert!(moves(0) > 100 && moves(1) < 10, "{} {}", moves(0), moves(1));
}

#[test]
fn a_dry_cpu_robs_the_busiest_or_the_highest() {
    let tasks = "[[task]]\nname = \"low\"\ncount = 4\nnice = 4\nstart_on = 0\nloop = [{ compute = \"1s\" }]\n\
                 [[task]]\nname = \"high\"\ncount = 2\nnice = -1\nstart_on = 1\nloop = [{ compute = \"1s\" }]\n\
                 [[task]]\nname = \"first\"\ncpus = \"2\"\nonce = [{ compute = \"100ms\" }]";
    let pulled = |pull| {
        let events = run_tasks(3, 1, tasks, &[("pull", pull)]);
        let moved = events.iter().find_map(|event| match event.kind {
            EventKind::Migrate { task, from, to } if to.0 == 2 => Some((event.time.ns(), task.0, from.0)),
            _ => None,
        });
        moved.expect("CPU 2 takes one")
    };
    assert_eq!([0, 1].map(pulled), [(100_000_000, 1, 0), (100_000_000, 5, 1)]);
}

#[test]
fn timers_may_expire_on_one_cpu() {
    let placed = |settings| placed(&run("16-idle-choice", settings), 3)[2];
    assert_eq!(placed(&[("timers", 1), ("clock_cpu", 3)]), (203_000, 3));
    assert_eq!(placed(&[]), (203_000, 1));
}

#[test]
fn a_yield_is_for_anybody_and_nothing_without_others() {
    let polite =
        "[[task]]\nname = \"polite\"\nonce = [{ compute = \"20ms\" }, { yield = true }, { compute = \"500ms\" }]";
    let low = format!("{polite}\n[[task]]\nname = \"low\"\nnice = 4\nstart = \"1ms\"\nloop = [{{ compute = \"1s\" }}]");
    // Alone it continues in its quantum. Else the lower one has a whole quantum, beginning in the second tick.
    let equal = low.replace("nice = 4\n", "");
    assert_eq!(turns(&run_tasks(1, 1, polite, &[]), 0)[0].0, 0);
    for tasks in [low, equal] {
        let events = run_tasks(1, 1, &tasks, &[]);
        assert_eq!(turns(&events, 0)[..2].iter().map(|turn| turn.0).collect::<Vec<_>>(), [0, 13 * TICK]);
        assert_eq!(turns(&events, 1)[0], (20_000, 13 * TICK));
    }
}

/// Whether a CPU is ever idle next to a thread that waits.
fn wastes(events: &[Event], cpus: usize) -> bool {
    let (mut busy, mut runnable, mut last) = (vec![false; cpus], 0_usize, events[0].time);
    for event in events {
        let running = busy.iter().filter(|busy| **busy).count();
        if event.time > last && running < cpus && runnable > running {
            return true;
        }
        last = event.time;
        match event.kind {
            EventKind::Wakeup { .. } => runnable += 1,
            EventKind::Switch { reason, next, .. } => {
                use schedlab_model::trace::Reason::{Blocked, Exited};
                runnable -= usize::from(matches!(reason, Blocked | Exited));
                busy[event.cpu.index()] = next.is_some();
            }
            _ => {}
        }
    }
    false
}

#[test]
fn no_cpu_is_idle_beside_a_waiting_thread() {
    let tasks = "[[task]]\nname = \"hog\"\ncount = 5\nloop = [{ compute = \"70ms\" }, { sleep = \"3ms\" }]\n\
                 [[task]]\nname = \"short\"\ncount = 5\nnice = -1\nloop = [{ compute = \"exp(5ms)\" }, { sleep = \"exp(20ms)\" }]\n\
                 [[task]]\nname = \"bound\"\nnice = -2\ncpus = \"1\"\nloop = [{ compute = \"5ms\" }, { sleep = \"20ms\" }]";
    for ideal in [0, 1] {
        assert!(!wastes(&run_tasks(4, 20, tasks, &[("ideal", ideal)]), 4), "ideal {ideal}");
    }
    // The test can fail: tasks that may run on one CPU only leave the other one idle.
    let bound = "[[task]]\nname = \"bound\"\ncount = 2\ncpus = \"1\"\nloop = [{ compute = \"1s\" }]";
    assert!(wastes(&run_tasks(2, 1, bound, &[]), 2));
}
