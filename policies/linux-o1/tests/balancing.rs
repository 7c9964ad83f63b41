//! Vectors of balancing and of where tasks wake.

use super::observe::{MS, Turn, V3, V22, migrations, run, run_tasks, tasks_on, turns};
use schedlab_model::ids::TaskId;
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, WakeSource};
use std::collections::BTreeSet;

const LITERAL: [(&str, u64); 1] = [("balancer", 1)];

/// Computing tasks started on the first and on the second of two CPUs.
fn hogs(first: u32, second: u32) -> String {
    let group = |cpu: u32, count: u32| match count {
        0 => String::new(),
        _ => format!(
            "[[task]]\nname = \"on{cpu}\"\ncount = {count}\nstart_on = {cpu}\nloop = [{{ compute = \"9s\" }}]\n"
        ),
    };
    group(0, first) + &group(1, second)
}

/// How many tasks leave the first CPU between two instants, by the number that begin on each.
fn moved(version: u64, on: (u32, u32), from_ms: u64, until_ms: u64) -> usize {
    let events = run_tasks("cpus = 2", until_ms, &hogs(on.0, on.1), version, &[]);
    let times = migrations(&events);
    times.into_iter().filter(|&time| time >= Time::from_ms(from_ms)).count()
}

#[test]
fn v26_seven_tasks_on_one_of_two_cpus() {
    let old = run("26-seven-to-none", V3, &[]);
    assert_eq!([tasks_on(&old, 1, 2, 199), tasks_on(&old, 1, 201, 400)], [1, 3]);
    let new = run("26-seven-to-none", V22, &[]);
    assert_eq!(tasks_on(&new, 1, 0, 1), 0);
    assert_eq!((tasks_on(&new, 1, 1, 400), tasks_on(&new, 1, 400, 20_000)), (3, 3));
}

#[test]
fn v27_four_and_three_tasks() {
    assert_eq!(moved(V22, (4, 3), 0, 20_000), 0);
    // The look at 200 ms takes one task. Guarded, it is 4 and 3 and 3 and 4 from then on; literally also 1 and 6.
    assert!(moved(V3, (4, 3), 0, 20_000) >= 40);
    let literal = migrations(&run_tasks("cpus = 2", 20_000, &hogs(4, 3), V3, &LITERAL)).len();
    assert!(literal > 2 * moved(V3, (4, 3), 0, 20_000), "{literal}");
}

#[test]
fn v28_other_differences() {
    for version in [V3, V22] {
        assert_eq!(moved(version, (5, 3), 0, 390), 1, "5 and 3 in {version}");
        assert_eq!(moved(version, (2, 0), 0, 20_000), 1, "2 and 0 in {version}");
        assert_eq!(moved(version, (9, 8), 0, 20_000), 0, "9 and 8 in {version}");
    }
}

/// Where a task wakes that was on CPU 1 with `others` tasks there, when a task on CPU 0 wakes it.
fn wakes_on(sync: bool, others: u32) -> u32 {
    let (wait, post) = if sync { ("recv", "send") } else { ("wait", "post") };
    let others = match others {
        0 => String::new(),
        _ => format!("[[task]]\nname = \"other\"\ncount = {others}\ncpus = [1]\nloop = [{{ compute = \"9s\" }}]\n"),
    };
    let tasks = format!(
        "[[task]]\nname = \"sleeper\"\nstart_on = 1\nonce = [{{ {wait} = \"s\" }}, {{ compute = \"1ms\" }}]\n\
         [[task]]\nname = \"waker\"\ncpus = [0]\nonce = [{{ compute = \"50ms\" }}, {{ {post} = \"s\" }}, {{ compute = \"9s\" }}]\n\
         {others}{}",
        if sync { "[channel.s]\ncapacity = 4\nkind = \"pipe\"" } else { "[semaphore.s]" }
    );
    let events = run_tasks("cpus = 2", 100, &tasks, V22, &[]);
    let woken = |event: &Event| match event.kind {
        EventKind::Wakeup { task: TaskId(0), target, source, .. } if source != WakeSource::Fork => Some(target.0),
        _ => None,
    };
    events.iter().find_map(woken).expect("the sleeper wakes")
}

#[test]
fn v35_where_a_task_wakes() {
    assert_eq!([2, 1, 0].map(|others| wakes_on(false, others)), [0, 1, 1]);
    assert_eq!([2, 1, 0].map(|others| wakes_on(true, others)), [0, 0, 0]);
}

/// How many tasks but the first ran on CPU 1 between two instants.
fn hogs_on_1(events: &[Event], from_ms: u64, until_ms: u64) -> usize {
    let (from, until) = (Time::from_ms(from_ms), Time::from_ms(until_ms));
    let there = |turn: &&Turn| turn.cpu == 1 && turn.task > 0 && turn.from < until && turn.until > from;
    turns(events).iter().filter(there).map(|turn| turn.task).collect::<BTreeSet<u32>>().len()
}

/// Seven tasks come to CPU 0, and that many ticks later CPU 1 has nothing left: how many it takes at once. It believes the
/// first smoothed load: 448, 672 and 784 after 1, 2 and 3 ticks. What ends there weighs 6 and still counts as its own, so
/// that it may take (448 - 6) / 2 = 221, 333 and 389, at 128 for each task.
fn taken_newly_idle(ticks: u64) -> usize {
    let tasks = format!(
        "[[task]]\nname = \"ends\"\nnice = 19\ncpus = [1]\nonce = [{{ compute = \"{}us\" }}]\n\
         [[task]]\nname = \"hog\"\ncount = 7\nstart = \"300ms\"\nstart_on = 0\nloop = [{{ compute = \"9s\" }}]",
        300_500 + ticks * 1000
    );
    let events = run_tasks("cpus = 2", 1000, &tasks, V22, &[]);
    // Each runs for 100 ms: in time for all that were taken, before the next look of a busy CPU.
    hogs_on_1(&events, 301 + ticks, 350 + 100 * ticks)
}

/// The same between two nodes, when a busy CPU looks after 256 ms. It believes the second smoothed load: 224, 392 and 518.
/// With a task of its own of weight 128 it may take 48, 132 and 195; with one of weight 6 (what is less than one task is
/// made one then) 109, 193 and 256.
fn taken_by_node(ticks: u64, own_nice: i32) -> usize {
    let tasks = format!(
        "[[task]]\nname = \"own\"\nnice = {own_nice}\ncpus = [1]\nloop = [{{ compute = \"9s\" }}]\n\
         [[task]]\nname = \"hog\"\ncount = 7\nstart = \"{}ms\"\nstart_on = 0\nloop = [{{ compute = \"9s\" }}]",
        256 - ticks
    );
    let events = run_tasks("topology = \"2n1l1c1t\"", 1000, &tasks, V22, &[]);
    hogs_on_1(&events, 256, 400)
}

#[test]
fn v36_loads_are_smoothed_by_ticks() {
    assert_eq!([1, 2, 3].map(taken_newly_idle), [1, 2, 3]);
    assert_eq!([1, 2, 3].map(|ticks| taken_by_node(ticks, 0)), [0, 1, 1]);
    assert_eq!([1, 2, 3].map(|ticks| taken_by_node(ticks, 19)), [1, 1, 2]);
}

/// Two tasks that must stay on CPU 0 and one that must not, while CPU 1 idles: it takes that one.
#[test]
fn tasks_that_must_stay_are_left_where_they_are() {
    let tasks = "[[task]]\nname = \"pinned\"\ncount = 2\ncpus = [0]\nloop = [{ compute = \"9s\" }]\n\
                 [[task]]\nname = \"free\"\nstart_on = 0\nloop = [{ compute = \"9s\" }]";
    for version in [V3, V22] {
        let events = run_tasks("cpus = 2", 1000, tasks, version, &[]);
        assert_eq!([0, 1].map(|cpu| tasks_on(&events, cpu, 10, 1000)), [2, 1], "{version}");
    }
}

/// CPU 0 has a task that must stay, and one that is never cold because both run for a millisecond in turns. CPU 1 becomes
/// idle after 50 ms.
#[test]
fn warm_tasks_move_only_when_looks_have_failed() {
    let turn = "[{ compute = \"1ms\" }, { yield = true }]";
    let tasks = format!(
        "[[task]]\nname = \"pinned\"\ncpus = [0]\nloop = {turn}\n\
         [[task]]\nname = \"free\"\nstart_on = 0\nloop = {turn}\n\
         [[task]]\nname = \"ends\"\ncpus = [1]\nonce = [{{ compute = \"50ms\" }}]"
    );
    let first_ms = |hot_ms: u64| {
        let events = run_tasks("cpus = 2", 1000, &tasks, V22, &[("cache_hot_time", hot_ms * MS)]);
        migrations(&events)[0].ns() / MS
    };
    let (cold, warm) = (first_ms(0), first_ms(900));
    assert!(50 <= cold && cold < warm && warm < 70, "{cold} {warm}");
}
