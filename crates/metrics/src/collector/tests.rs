use super::*;
use crate::test_helpers::*;
use proptest::prelude::*;
use schedlab_model::cpuset::CpuSet;
use schedlab_model::result::{OverheadTimes, RoleResult, SwitchCounts};
use schedlab_model::trace::{Event, EventKind, Overhead, Reason, Sink, Untraced, WakeSource};
use std::collections::BTreeMap;

fn collect(workload: &Workload, events: &[Event], end: u64) -> RunMeasures {
    let mut collector = Collector::new(workload);
    events.iter().for_each(|event| collector.event(event));
    collector.finish(Time(end));
    assert_eq!(collector.conservation(), Ok(()));
    collector.into_measures()
}

/// Two tasks in turns on one CPU, slices of 10, from time 0; requests of 20 each. Task 0 ends at 30, task 1 at 40.
fn round_robin() -> Vec<Event> {
    vec![
        fork(0, 0),
        fork(0, 1),
        wakeup(0, 0, 0),
        wakeup(0, 1, 0),
        begin(0, 0, 0),
        begin(0, 1, 0),
        switch(0, 0, None, Reason::Idle, Some(0)),
        switch(10, 0, Some(0), Reason::SliceEnd, Some(1)),
        switch(20, 0, Some(1), Reason::SliceEnd, Some(0)),
        end(30, 0, 20),
        exit(30, 0, 0),
        switch(30, 0, Some(0), Reason::Exited, Some(1)),
        end(40, 1, 20),
        switch(40, 0, Some(1), Reason::Exited, None),
        exit(40, 0, 1),
    ]
}

#[test]
fn round_robin_by_hand() {
    let got = collect(&plain(1), &round_robin(), 50);
    let RoleResult { count, measures: m, cv_of_task_means, jain_of_tasks, .. } = &got.roles[0];
    assert_eq!((*count, m.requests, m.requests_open, m.cpu_ns, m.cpu_share), (2, 2, 0, 40, 0.8));
    let response = m.response_ns.unwrap();
    assert_eq!((response.min, response.mean, response.max, response.p50), (30, 35, 40, 30));
    assert_eq!(m.response_from_first_run_ns.unwrap().max, 30);
    assert_eq!((m.wakeup_latency_ns.unwrap().count, m.wakeup_latency_ns.unwrap().max), (2, 10));
    assert_eq!((m.preempt_wait_ns.unwrap().count, m.preempt_wait_ns.unwrap().mean), (2, 10));
    assert_eq!((m.run_delay_ns.unwrap().count, m.longest_wait_ns), (4, Some(10)));
    assert_eq!((m.turnaround_ns.unwrap().max, m.slowdown.unwrap().max, m.slowdown.unwrap().min), (40, 2.0, 1.5));
    assert_eq!(m.throughput_per_s, 2.0 / 50e-9);
    assert_eq!(m.switches, SwitchCounts { voluntary: 2, involuntary: 2 });
    assert!((cv_of_task_means.unwrap().population - 5.0 / 35.0).abs() < 1e-12);
    assert_eq!(got.cpus[0].runnable, BTreeMap::from([(0, 0.2), (1, 0.2), (2, 0.6)]));
    assert_eq!((got.cpus[0].busy_frac, got.cpus[0].idle_frac), (0.8, 0.2));
    let load = got.load_distribution.unwrap();
    assert_eq!((load.estimated, load.actual.unwrap()), (BTreeMap::from([(2, 1.0)]), got.cpus[0].runnable.clone()));
    // Task 0 got 20 in its 30, task 1 20 in its 40.
    let (x, y) = (20.0 / 30.0, 0.5);
    for jain in [got.jain, *jain_of_tasks] {
        assert!((jain.unwrap() - (x + y) * (x + y) / (2.0 * (x * x + y * y))).abs() < 1e-12);
    }
    assert_eq!((got.events.switches, got.events.wakeups, got.events.forks, got.events.exits), (5, 2, 2, 2));
    assert_eq!(got.work_conservation_violation.unwrap().ns, 0);
    assert_eq!((got.tasks.len(), got.tasks[1].measures.cpu_ns), (2, 20));
    assert_eq!((got.time_to_balance_ns, got.overhead_ns), (None, OverheadTimes::default()));
}

#[test]
fn the_warmup_is_cut_off() {
    let workload = workload(1, vec![role("worker", CpuSet::first(1))], 25);
    let got = collect(&workload, &round_robin(), 50);
    let m = &got.roles[0].measures;
    assert_eq!((got.warmup_ns, got.duration_ns, m.cpu_ns, m.cpu_share), (25, 50, 15, 0.6));
    // Both requests and one wait end after the warm-up; they count in full.
    assert_eq!((m.requests, m.response_ns.unwrap().max, m.run_delay_ns.unwrap().count), (2, 40, 1));
    assert_eq!((got.roles[0].count, got.events.switches, m.switches.involuntary), (2, 2, 0));
    assert_eq!(got.cpus[0].runnable, BTreeMap::from([(0, 0.4), (1, 0.4), (2, 0.2)]));
    assert_eq!(got.tasks.len(), 2);
}

#[test]
fn a_run_that_ends_during_the_warmup_has_measured_nothing() {
    let workload = workload(1, vec![role("worker", CpuSet::first(1))], 1000);
    let got = collect(&workload, &round_robin(), 50);
    assert_eq!((got.duration_ns, got.roles[0].measures.requests, got.roles[0].measures.cpu_ns), (50, 0, 0));
    assert_eq!((got.roles[0].measures.cpu_share, got.cpus[0].busy_frac, got.jain), (0.0, 0.0, None));
}

#[test]
fn tasks_that_ended_during_the_warmup_are_left_out() {
    let workload = workload(1, vec![role("worker", CpuSet::first(1))], 35);
    let got = collect(&workload, &round_robin(), 50);
    assert_eq!((got.roles[0].count, got.tasks.len(), got.tasks[0].id), (1, 1, 1));
}

#[test]
fn waits_and_requests_that_are_not_over_are_seen() {
    let events = [
        fork(0, 0),
        fork(0, 1),
        wakeup(0, 0, 0),
        wakeup(5, 1, 0),
        begin(5, 1, 2),
        switch(0, 0, None, Reason::Idle, Some(0)),
    ];
    let got = collect(&plain(1), &events, 105);
    let m = &got.roles[0].measures;
    assert_eq!((m.longest_wait_ns, m.run_delay_ns.unwrap().count), (Some(100), 1));
    assert_eq!((m.requests_open, m.open_age_ns.unwrap().max, m.response_ns), (1, 103, None));
}

#[test]
fn overhead_belongs_to_no_task() {
    let mut events = round_robin();
    events.insert(7, overhead(0, 0, Overhead::Switch, 3));
    events.insert(8, overhead(0, 0, Overhead::Policy, 2));
    events.push(overhead(45, 0, Overhead::Tick, 20));
    let got = collect(&plain(1), &events, 50);
    assert_eq!((got.tasks[0].measures.cpu_ns, got.tasks[1].measures.cpu_ns), (15, 20));
    assert_eq!(got.overhead_ns, OverheadTimes { switch: 3, policy: 2, tick: 5, ..Default::default() });
    assert_eq!((got.cpus[0].overhead_frac, got.cpus[0].idle_frac), (0.2, 0.1));
}

#[test]
fn idling_beside_work_is_seen_where_it_is_allowed() {
    let pinned = || role("pinned", CpuSet::first(1));
    let free = || role("free", CpuSet::first(2));
    let events = [
        fork(0, 0),
        fork(0, 1),
        wakeup(0, 0, 0),
        wakeup(0, 1, 0),
        switch(0, 0, None, Reason::Idle, Some(0)),
        switch(100, 0, Some(0), Reason::Blocked, Some(1)),
    ];
    let of = |role| collect(&workload(2, vec![role], 0), &events, 200).work_conservation_violation.unwrap();
    assert_eq!((of(pinned()).ns, of(free()).ns, of(free()).frac), (0, 100, 0.25));
}

#[test]
fn balance_needs_freedom_and_two_cpus() {
    let events: Vec<Event> = (0..4)
        .map(|i| fork(0, i))
        .chain((0..4).map(|i| wakeup(0, i, 0)))
        .chain([
            event(30, 0, EventKind::Migrate { task: TaskId(2), from: CpuId(0), to: CpuId(1) }),
            event(40, 0, EventKind::Migrate { task: TaskId(3), from: CpuId(0), to: CpuId(1) }),
        ])
        .collect();
    let run = |workload: &Workload| {
        let mut collector = Collector::new(workload).with_balance_hold(Time(100));
        events.iter().for_each(|event| collector.event(event));
        collector.finish(Time(140));
        collector.into_measures()
    };
    let got = run(&plain(2));
    assert_eq!((got.time_to_balance_ns, got.roles[0].measures.migrations), (Some(40), 2));
    let pinned = workload(2, vec![role("worker", CpuSet::first(2)), role("pinned", CpuSet::first(1))], 0);
    assert_eq!(run(&pinned).time_to_balance_ns, None);
}

/// In a trace that lost events: one task left CPU 1 though it was last seen to wait on CPU 0, another one stays
/// runnable on CPU 1 though its wake-up was lost.
#[test]
fn who_leaves_a_cpu_unseen_was_in_its_run_queue() {
    let events = [
        fork(0, 0),
        fork(0, 1),
        wakeup(0, 0, 0),
        switch(40, 1, Some(0), Reason::Blocked, None),
        switch(60, 1, Some(1), Reason::SliceEnd, None),
        switch(80, 1, None, Reason::Idle, Some(1)),
        switch(90, 1, Some(1), Reason::Blocked, None),
    ];
    let got = collect(&plain(2), &events, 100);
    assert_eq!(got.cpus[0].runnable, BTreeMap::from([(0, 0.6), (1, 0.4)]));
    assert_eq!(got.cpus[1].runnable, BTreeMap::from([(0, 0.7), (1, 0.3)]));
    let m = &got.roles[0].measures;
    assert_eq!((m.cpu_ns, m.wakeup_latency_ns, m.preempt_wait_ns.unwrap().max), (10, None, 20));
}

#[test]
fn fluid_disciplines_charge() {
    let run = |charged: u64| {
        let mut collector = Collector::new_fluid(&plain(2));
        for event in [fork(0, 0), wakeup(0, 0, 0), begin(0, 0, 0)] {
            collector.event(&event);
        }
        collector.charge(Time(40), TaskId(0), charged);
        collector.event(&end(40, 0, 30));
        collector.event(&exit(40, 0, 0));
        collector.finish(Time(100));
        let conserved = collector.conservation().is_ok();
        (conserved, collector.into_measures())
    };
    let (conserved, got) = run(30);
    let m = &got.roles[0].measures;
    assert!(conserved);
    assert_eq!((m.cpu_ns, m.cpu_share, m.response_from_first_run_ns.unwrap().max), (30, 0.15, 40));
    assert_eq!((m.longest_wait_ns, got.work_conservation_violation), (None, None));
    assert!((got.cpus[1].busy_frac - 0.15).abs() < 1e-12);
    assert_eq!(got.load_distribution.unwrap().actual, None);
    assert!(!run(201).0, "more than two CPUs could give");
}

#[test]
fn a_charge_that_ends_with_the_warmup_is_not_measured() {
    let workload = workload(1, vec![role("worker", CpuSet::first(1))], 50);
    let mut collector = Collector::new_fluid(&workload);
    collector.event(&fork(0, 0));
    collector.charge(Time(50), TaskId(0), 50);
    collector.charge(Time(80), TaskId(0), 30);
    collector.finish(Time(80));
    assert_eq!(collector.conservation(), Ok(()));
    assert_eq!(collector.into_measures().roles[0].measures.cpu_share, 1.0);
}

/// A task on two CPUs at once breaks the sum, and the error says by how much.
#[test]
fn a_venue_that_loses_time_is_caught() {
    let mut collector = Collector::new(&plain(2));
    let events = [
        fork(0, 0),
        wakeup(0, 0, 0),
        switch(0, 0, None, Reason::Idle, Some(0)),
        switch(10, 1, None, Reason::Idle, Some(0)),
    ];
    events.iter().for_each(|event| collector.event(event));
    collector.finish(Time(100));
    let violation = collector.conservation().unwrap_err();
    assert_eq!((violation.charged_ns, violation.idle_ns), (90, 10));
    assert!(violation.to_string().contains("tasks 90 ns + idle 10 ns + overhead 0 ns is not 2 CPUs × 100 ns"));
}

/// 300 tasks one after the other: more than are kept apart, and the role is the same as if none were.
#[test]
fn many_tasks_are_told_by_role_only() {
    let one = |i: u32| {
        let t = u64::from(i) * 10;
        let (run, gone) = (Some(i), switch(t + 7, 0, Some(i), Reason::Exited, None));
        [fork(t, i), begin(t, i, t), wakeup(t, i, 0), switch(t + 2, 0, None, Reason::Idle, run), end(t + 7, i, 5), gone]
            .into_iter()
            .chain([exit(t + 7, 0, i)])
    };
    let got = |n: u32| collect(&plain(1), &(0..n).flat_map(one).collect::<Vec<_>>(), u64::from(n) * 10);
    let (few, many) = (got(256), got(300));
    assert_eq!((few.tasks.len(), many.tasks.len()), (256, 0));
    let m = &many.roles[0];
    assert_eq!((m.count, m.measures.requests, m.measures.cpu_ns), (300, 300, 1500));
    assert_eq!(m.measures.response_ns.unwrap().p999, 7);
    assert_eq!(m.measures.wakeup_latency_ns.unwrap().mean, 2);
    assert_eq!(m.cv_of_task_means.unwrap().population, 0.0);
    assert_eq!(many.response_batches[0].interval(0.99).unwrap().estimate, 7.0);
}

/// The same numbers, nanosecond by nanosecond.
#[derive(Debug, Default, PartialEq)]
struct Oracle {
    cpu_ns: Vec<u64>,
    idle_ns: u64,
    overhead: OverheadTimes,
    violation_ns: u64,
    at_load: Vec<BTreeMap<u32, u64>>,
    waits: Vec<u64>,
}

#[derive(Clone, Copy)]
struct Seen {
    role: usize,
    queue: Option<usize>,
    waiting_since: Option<u64>,
}

struct Replay<'a> {
    run: &'a RandomRun,
    tasks: BTreeMap<TaskId, Seen>,
    current: Vec<Option<TaskId>>,
    /// What each CPU does for the system in each nanosecond.
    overhead: Vec<BTreeMap<u64, Overhead>>,
    oracle: Oracle,
}

impl Replay<'_> {
    fn apply(&mut self, event: &Event, warmup: u64) {
        let now = event.time.0;
        match event.kind {
            EventKind::Fork { task, role, .. } => {
                self.tasks.insert(task, Seen { role: role.index(), queue: None, waiting_since: None });
            }
            EventKind::Exit { task } if !self.current.contains(&Some(task)) => {
                self.tasks.remove(&task);
            }
            EventKind::Wakeup { task, target, .. } => {
                let seen = self.tasks.get_mut(&task).unwrap();
                (seen.queue, seen.waiting_since) = (Some(target.index()), Some(now));
            }
            EventKind::Migrate { task, to, .. } => self.tasks.get_mut(&task).unwrap().queue = Some(to.index()),
            EventKind::Switch { previous, reason, next } => {
                if let Some(previous) = previous {
                    let seen = self.tasks.get_mut(&previous).unwrap();
                    match reason {
                        Reason::Blocked | Reason::Exited => seen.queue = None,
                        _ => seen.waiting_since = Some(now),
                    }
                }
                if let Some(next) = next {
                    let since = self.tasks.get_mut(&next).unwrap().waiting_since.take().unwrap();
                    if now >= warmup {
                        self.oracle.waits.push(now - since);
                    }
                }
                self.current[event.cpu.index()] = next;
            }
            EventKind::Overhead { what, length } => {
                let calendar = &mut self.overhead[event.cpu.index()];
                let begin = calendar.last_key_value().map_or(0, |(last, _)| last + 1).max(now);
                calendar.extend((begin..begin + length.0).map(|t| (t, what)));
            }
            _ => {}
        }
    }

    fn look(&mut self, t: u64) {
        for cpu in 0..self.current.len() {
            let load = self.tasks.values().filter(|seen| seen.queue == Some(cpu)).count() as u32;
            *self.oracle.at_load[cpu].entry(load).or_default() += 1;
            if let Some(kind) = self.overhead[cpu].get(&t) {
                let times = &mut self.oracle.overhead;
                *match kind {
                    Overhead::Switch => &mut times.switch,
                    Overhead::Wakeup => &mut times.wakeup,
                    Overhead::Migration => &mut times.migration,
                    Overhead::Tick => &mut times.tick,
                    Overhead::Policy => &mut times.policy,
                } += 1;
            } else if let Some(task) = self.current[cpu] {
                self.oracle.cpu_ns[self.tasks[&task].role] += 1;
            } else {
                self.oracle.idle_ns += 1;
                let roles = &self.run.workload.roles;
                let allowed = |seen: &Seen| roles[seen.role].cpus.contains(CpuId(cpu as u32));
                let wanted = self.tasks.values().any(|seen| seen.waiting_since.is_some() && allowed(seen));
                self.oracle.violation_ns += u64::from(wanted);
            }
        }
    }
}

fn oracle(run: &RandomRun) -> Oracle {
    let cpus = run.workload.machine.cpus() as usize;
    let warmup = run.workload.run.warmup.0.min(run.end);
    let oracle =
        Oracle { cpu_ns: vec![0; run.workload.roles.len()], at_load: vec![BTreeMap::new(); cpus], ..Oracle::default() };
    let (tasks, overhead) = (BTreeMap::new(), vec![BTreeMap::new(); cpus]);
    let mut replay = Replay { run, tasks, current: vec![None; cpus], overhead, oracle };
    let mut events = run.events.iter().peekable();
    for t in 0..run.end {
        while let Some(event) = events.next_if(|event| event.time.0 <= t) {
            replay.apply(event, warmup);
        }
        if t >= warmup {
            replay.look(t);
        }
    }
    events.for_each(|event| replay.apply(event, warmup));
    replay.oracle.waits.sort_unstable();
    replay.oracle
}

proptest! {
    /// The collector's sums are those of a clock that looks at everything in every nanosecond.
    #[test]
    fn agrees_with_the_oracle(seed in any::<u64>(), warmup in prop_oneof![Just(0u64), 0u64..1500]) {
        let run = RandomRun::new(seed, 250, warmup);
        let expected = oracle(&run);
        let got = collect(&run.workload, &run.events, run.end);
        let window = run.end - warmup.min(run.end);
        prop_assert_eq!(got.roles.iter().map(|g| g.measures.cpu_ns).collect::<Vec<_>>(), expected.cpu_ns);
        prop_assert_eq!(got.overhead_ns, expected.overhead);
        prop_assert_eq!(got.work_conservation_violation.unwrap().ns, expected.violation_ns);
        for (cpu, at_load) in got.cpus.iter().zip(expected.at_load) {
            let fractions: BTreeMap<u32, f64> = at_load.iter().map(|(&k, &n)| (k, n as f64 / window as f64)).collect();
            prop_assert_eq!(&cpu.runnable, &fractions);
        }
        let idle: f64 = got.cpus.iter().map(|cpu| cpu.idle_frac * window as f64).sum();
        prop_assert!((idle - expected.idle_ns as f64).abs() < 1e-6);
        let delays = got.roles.iter().filter_map(|g| g.measures.run_delay_ns);
        let (count, max) = delays.fold((0, None), |(count, max), d| (count + d.count, max.max(Some(d.max))));
        prop_assert_eq!((count, max), (expected.waits.len() as u64, expected.waits.last().copied()));
    }
}

#[test]
fn what_is_not_known_is_neither_latency_nor_idle() {
    let woken = |at: u64, source| Event {
        time: Time(at),
        cpu: CpuId(0),
        kind: EventKind::Wakeup { task: TaskId(0), target: CpuId(0), waker: None, source },
    };
    let turns_to = |at: u64, what| Event { time: Time(at), cpu: CpuId(0), kind: EventKind::Untraced { what } };
    let events = [
        fork(0, 0),
        // Runnable already at the start.
        woken(0, WakeSource::Untold),
        switch(10, 0, None, Reason::Idle, Some(0)),
        switch(20, 0, Some(0), Reason::Blocked, None),
        turns_to(20, Untraced::Others),
        woken(23, WakeSource::Unknown),
        switch(30, 0, None, Reason::Idle, Some(0)),
        switch(40, 0, Some(0), Reason::Preempted, None),
        turns_to(40, Untraced::Unknown),
        // It may have run since.
        woken(60, WakeSource::Untold),
        switch(60, 0, None, Reason::Idle, Some(0)),
        switch(70, 0, Some(0), Reason::Exited, None),
        exit(70, 0, 0),
    ];
    let got = collect(&plain(1), &events, 100);
    let m = &got.roles[0].measures;
    assert_eq!((m.run_delay_ns.unwrap().count, m.run_delay_ns.unwrap().max, m.longest_wait_ns), (1, 7, Some(7)));
    assert!(m.preempt_wait_ns.is_none());
    let cpu = &got.cpus[0];
    let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
    assert!(near(cpu.busy_frac, 0.3) && near(cpu.idle_frac, 0.4), "{cpu:?}");
    assert_eq!((cpu.others_frac, cpu.unknown_frac, got.events.wakeups), (Some(0.1), Some(0.2), 1));
}

#[test]
fn a_task_of_which_nothing_is_known_has_no_longest_wait() {
    let woken = |at: u64, source| Event {
        time: Time(at),
        cpu: CpuId(0),
        kind: EventKind::Wakeup { task: TaskId(0), target: CpuId(0), waker: None, source },
    };
    let events = [fork(0, 0), woken(10, WakeSource::Unknown), woken(100, WakeSource::Untold)];
    let longest = |end| collect(&plain(1), &events, end).roles[0].measures.longest_wait_ns;
    assert_eq!((longest(100), longest(130)), (None, Some(30)));
}

#[test]
fn who_waits_and_gets_nothing_is_starved() {
    let mut events = round_robin();
    events.truncate(7);
    // Task 0 runs to the end, task 1 waits for all of it; task 2 never wanted anything.
    events.insert(2, fork(0, 2));
    let got = collect(&plain(1), &events, 50);
    assert_eq!((got.roles[0].count, got.roles[0].starved), (3, Some(1)));
    let both = collect(&plain(1), &round_robin(), 50);
    assert_eq!(both.roles[0].starved, Some(0));
}
