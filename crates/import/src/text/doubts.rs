//! What a text does not say is credited to no task.

use super::tests::{FTRACE, PERF, events, told};
use schedlab_model::trace::{EventKind, Untraced, WakeSource};
use schedlab_record::RecordKind;
use std::collections::BTreeMap;

/// Lines of ftrace: `switch(0, 10.5, "a-100", "S", "b-101")`.
fn switch(cpu: u32, at: f64, from: &str, state: &str, to: &str) -> String {
    let (left, from) = from.rsplit_once('-').unwrap();
    let (came, to) = to.rsplit_once('-').unwrap();
    let head = format!("{left}-{from} [{cpu:03}] d..2. {at:.6}: sched_switch: prev_comm={left} prev_pid={from}");
    format!("{head} prev_prio=120 prev_state={state} ==> next_comm={came} next_pid={to} next_prio=120\n")
}

fn wakeup(cpu: u32, at: f64, on: &str, task: &str, target: u32) -> String {
    let (comm, pid) = task.rsplit_once('-').unwrap();
    format!("{on} [{cpu:03}] d.h2. {at:.6}: sched_wakeup: comm={comm} pid={pid} prio=120 target_cpu={target:03}\n")
}

fn ran(cpu: u32, at: f64, on: &str, task: &str, ms: u64) -> String {
    let (comm, pid) = task.rsplit_once('-').unwrap();
    format!("{on} [{cpu:03}] d.h1. {at:.6}: sched_stat_runtime: comm={comm} pid={pid} runtime={ms}000000 [ns]\n")
}

/// What is known of a recording, in milliseconds.
#[derive(Debug, Default, PartialEq)]
struct Known {
    /// When a CPU was in which state: a task by its name, or idle, or not known.
    cpus: Vec<(u32, u64, u64, String)>,
    /// The waits of which both ends are known.
    waits: Vec<(String, u64)>,
}

impl Known {
    fn of(text: &str) -> Known {
        let (told, _) = told(text.as_bytes()).unwrap();
        let (events, summary) = events(text);
        let name = |task: u32| summary.tasks[task as usize].comm.to_string();
        let ms = |ns: u64| ns / 1_000_000;
        let mut known = Known::default();
        let mut cpus: BTreeMap<u32, (u64, String)> = BTreeMap::new();
        let mut turn = |known: &mut Known, now: u64, cpu: u32, what: String| {
            let last = cpus.insert(cpu, (now, what));
            let (since, what) = last.unwrap_or((0, "idle".into()));
            match known.cpus.iter_mut().rfind(|(other, ..)| *other == cpu) {
                _ if ms(now) == ms(since) => {}
                Some((_, _, until, before)) if *before == what => *until = ms(now),
                _ => known.cpus.push((cpu, ms(since), ms(now), what)),
            }
        };
        let mut woken = BTreeMap::new();
        for event in &events {
            let (now, cpu) = (event.time.ns(), event.cpu.0);
            match event.kind {
                EventKind::Wakeup { task, source: WakeSource::Untold, .. } => drop(woken.remove(&task.0)),
                EventKind::Wakeup { task, .. } => drop(woken.insert(task.0, now)),
                EventKind::Untraced { what: Untraced::Unknown } => turn(&mut known, now, cpu, "?".into()),
                EventKind::Untraced { what: Untraced::Idle } => turn(&mut known, now, cpu, "idle".into()),
                EventKind::Switch { next, .. } => {
                    let begun = next.and_then(|task| woken.remove(&task.0));
                    known.waits.extend(begun.map(|begun| (name(next.unwrap().0), ms(now - begun))));
                    turn(&mut known, now, cpu, next.map_or("idle".into(), |task| name(task.0)));
                }
                _ => {}
            }
        }
        let end = told.end_ns - told.start_ns;
        let all = told.cpus.max(told.heard.last().map_or(0, |cpu| cpu + 1));
        (0..all).for_each(|cpu| turn(&mut known, end, cpu, String::new()));
        // Tasks that still wait at the end.
        known.waits.extend(woken.into_iter().map(|(task, begun)| (name(task), ms(end - begun))));
        known.cpus.sort();
        known
    }

    fn cpu(&self, cpu: u32) -> Vec<(u64, u64, &str)> {
        let of = self.cpus.iter().filter(|(other, ..)| *other == cpu);
        of.map(|(_, from, until, what)| (*from, *until, what.as_str())).collect()
    }
}

#[test]
fn a_cpu_without_an_event_is_unknown_and_nobody_waits_there() {
    let text = [
        "# entries-in-buffer/entries-written: 6/6   #P:2\n".to_string(),
        switch(0, 10.0, "swapper/0-0", "R", "a-100"),
        wakeup(0, 10.1, "a-100", "b-101", 1),
        switch(0, 11.0, "a-100", "S", "swapper/0-0"),
        // It ran on CPU 1 meanwhile, and slept.
        wakeup(0, 12.0, "<idle>-0", "b-101", 0),
        switch(0, 12.5, "swapper/0-0", "R", "b-101"),
        switch(0, 13.0, "b-101", "S", "swapper/0-0"),
    ]
    .concat();
    let known = Known::of(&text);
    assert_eq!(known.cpu(1), [(0, 3000, "?")]);
    assert_eq!(known.cpu(0), [(0, 1000, "a"), (1000, 2500, "idle"), (2500, 3000, "b")]);
    assert_eq!(known.waits, []);
    let (told, _) = told(text.as_bytes()).unwrap();
    assert_eq!((told.cpus, told.heard.into_iter().collect::<Vec<_>>()), (2, vec![0]));
}

#[test]
fn the_time_before_a_cpus_first_switch_is_known_where_that_proves_it() {
    let rest = [switch(0, 10.0, "swapper/0-0", "R", "a-100"), switch(0, 12.0, "a-100", "S", "swapper/0-0")];
    let with = |lines: &[String]| Known::of(&[&rest[..1], lines, &rest[1..]].concat().concat());
    // It was idle, or had a task that nothing woke.
    assert_eq!(with(&[switch(1, 11.0, "swapper/1-0", "R", "b-101")]).cpu(1), [(0, 1000, "idle"), (1000, 2000, "b")]);
    let leaves = switch(1, 11.0, "b-101", "S", "swapper/1-0");
    assert_eq!(with(std::slice::from_ref(&leaves)).cpu(1), [(0, 1000, "b"), (1000, 2000, "idle")]);
    // A task that was woken came at a time that is not known.
    let known = with(&[wakeup(0, 10.1, "a-100", "b-101", 1), leaves.clone()]);
    assert_eq!(known.cpu(1), [(0, 1000, "?"), (1000, 2000, "idle")]);
    assert_eq!(known.waits, []);
    // Another was there before.
    let known = with(&[wakeup(1, 10.1, "c-102", "d-103", 0), leaves]);
    assert_eq!(known.cpu(1)[0], (0, 1000, "?"));
}

#[test]
fn without_switches_no_cpu_is_known() {
    let text = [
        wakeup(0, 10.0, "<idle>-0", "b-101", 0),
        wakeup(0, 10.5, "b-101", "c-102", 1),
        wakeup(0, 12.0, "b-101", "c-102", 1),
    ];
    let known = Known::of(&text.concat());
    assert_eq!(known.cpu(0), [(0, 2000, "?")]);
    assert_eq!(known.waits, []);
}

#[test]
fn a_task_that_never_leaves_has_what_the_kernel_accounts_for() {
    let mut text = switch(0, 10.0, "swapper/0-0", "R", "a-100");
    for tick in 0..100 {
        let at = 10.001 + f64::from(tick) * 0.01;
        text += &ran(1, at, "hog-200", "hog-200", 10);
        text += &wakeup(0, at + 0.001, "a-100", "b-101", 0);
    }
    text += &switch(0, 10.991, "a-100", "S", "swapper/0-0");
    assert_eq!(Known::of(&text).cpu(1), [(0, 991, "hog"), (991, 992, "?")]);
}

#[test]
fn an_account_of_another_cpus_task_gives_no_time_here() {
    let text = [
        switch(0, 10.0, "a-100", "S", "swapper/0-0"),
        "CPU:0 [LOST 50 EVENTS]\n".into(),
        // It wakes a task on the CPU where hog runs, which brings hog's account up to date.
        ran(0, 11.0, "a-100", "hog-200", 900),
        wakeup(0, 11.000_005, "a-100", "b-101", 1),
        switch(0, 11.2, "a-100", "S", "swapper/0-0"),
        switch(1, 12.0, "hog-200", "S", "b-101"),
        switch(1, 12.5, "b-101", "S", "swapper/1-0"),
    ];
    let known = Known::of(&text.concat());
    assert_eq!(known.cpu(1), [(0, 2000, "hog"), (2000, 2500, "b")]);
    assert_eq!(known.cpu(0), [(0, 1200, "?"), (1200, 2500, "idle")]);
}

#[test]
fn a_loss_counts_whatever_its_number_and_prefix() {
    let switches = [
        switch(0, 10.0, "a-100", "S", "b-101"),
        switch(0, 19.0, "b-101", "S", "a-100"),
        switch(0, 20.0, "a-100", "S", "swapper/0-0"),
    ];
    for (loss, lost) in [
        ("CPU:0 [LOST EVENTS]", 1),
        ("CPU:0 [LOST 50 EVENTS]", 50),
        ("CPU:0 [EVENTS DROPPED]", 1),
        ("inst: CPU:0 [5000 EVENTS DROPPED]", 5000),
    ] {
        let instance = if loss.starts_with("inst") { "inst: " } else { "" };
        let lines: Vec<String> = switches.iter().map(|line| format!("{instance}   {line}")).collect();
        let text = format!("cpus=1\n{}{loss}\n{}{}", lines[0], lines[1], lines[2]);
        assert_eq!(told(text.as_bytes()).unwrap().0.lost, lost, "{loss}");
        assert_eq!(Known::of(&text).cpu(0), [(0, 9000, "?"), (9000, 10_000, "a")], "{loss}");
    }
    for loss in ["[LOST 9 EVENTS]", "CPU:0 [LOST x EVENTS]", "CPU:0 [gone]"] {
        let text = format!("{}{loss}\n{}", switches[0], switches[1]);
        let error = told(text.as_bytes()).unwrap_err();
        assert!(error.starts_with("text:2: events are missing here"), "{error}");
    }
}

#[test]
fn what_is_lost_before_a_cpus_first_event_is_its_beginning() {
    let text = [
        switch(0, 10.0, "a-100", "S", "swapper/0-0"),
        "CPU:1 [LOST 9 EVENTS]\n".into(),
        switch(1, 11.0, "swapper/1-0", "R", "b-101"),
        switch(0, 12.0, "swapper/0-0", "R", "a-100"),
    ];
    let (told, _) = told(text.concat().as_bytes()).unwrap();
    assert_eq!((told.lost, told.overwritten, told.start_ns), (0, 9, 11_000_000_000));
}

#[test]
fn two_recordings_in_one_text_are_not_mixed() {
    let line = |prefix: &str, at: f64| {
        let tid = (at * 10.0) as u32;
        format!("{prefix}{}", switch(0, at, &format!("a-{tid}"), "S", &format!("b-{}", tid + 1)))
    };
    let mixed = |prefixes: [&str; 2]| -> String {
        (0..8).map(|number| line(prefixes[number % 2], 10.0 + 0.1 * number as f64)).collect()
    };
    let error = told(mixed(["one: ", "two: "]).as_bytes()).unwrap_err();
    assert!(error.contains("two recordings in one text, `one` and `two`; print one at a time"), "{error}");
    let error = told(mixed(["one: ", "     "]).as_bytes()).unwrap_err();
    assert!(error.contains("`one` and one without a name"), "{error}");
    let files = format!("a.dat: cpus=2\nb.dat: cpus=2\n{}", line("", 10.0));
    assert!(told(files.as_bytes()).unwrap_err().contains("`a.dat` and `b.dat`"));
    // One instance alone, whose first event behind a note has no prefix, and a task whose name looks like one.
    let one = format!("{}one: CPU:0 [EVENTS DROPPED]\n{}{}", line("one: ", 10.0), line("", 10.1), line("one: ", 10.2));
    assert_eq!(told(one.as_bytes()).unwrap().0.lost, 1);
    let named = [switch(0, 1.0, "a: b-5", "S", "c-6"), switch(0, 2.0, "c-6", "S", "a: b-5")].concat();
    assert!(told(named.as_bytes()).is_ok());
}

/// Of `perf record -- sh …`, which has only switches by which the followed task leaves.
const OF_A_TASK: &str = "\
sh 10 [000] 1.000000: sched:sched_switch: prev_comm=sh prev_pid=10 prev_prio=120 prev_state=R ==> next_comm=migration/0 next_pid=18 next_prio=0
sh 10 [001] 1.100000: sched:sched_switch: prev_comm=sh prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
sh 10 [001] 1.300000: sched:sched_switch: prev_comm=sh prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
sh 10 [001] 2.000000: sched:sched_switch: prev_comm=sh prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
";

#[test]
fn a_recording_of_some_tasks_is_known_by_who_never_leaves() {
    assert!(told(OF_A_TASK.as_bytes()).unwrap().0.is_of_some_tasks);
    let known = Known::of(OF_A_TASK);
    assert_eq!((known.cpu(0), known.cpu(1)), (vec![(0, 1000, "?")], vec![(0, 1000, "?")]));
    // Where the idle task leaves, the machine was followed, and where events were lost it is unknown.
    let idle = "swapper 0 [001] 1.200000: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> \
                next_comm=sh next_pid=10 next_prio=120\n";
    let (first, rest) = OF_A_TASK.split_at(OF_A_TASK.match_indices('\n').nth(1).unwrap().0 + 1);
    for between in [idle, "sh 10 [001] 1.200000: PERF_RECORD_LOST lost 3\n"] {
        assert!(!told(format!("{first}{between}{rest}").as_bytes()).unwrap().0.is_of_some_tasks, "{between}");
    }
    assert!(!told(PERF.as_bytes()).unwrap().0.is_of_some_tasks && !told(FTRACE.as_bytes()).unwrap().0.is_of_some_tasks);
}

#[test]
fn an_event_that_is_there_twice_counts_once() {
    let twice: String = PERF.split_inclusive('\n').map(|line| line.repeat(2)).collect();
    let (once, records) = told(PERF.as_bytes()).unwrap();
    let (told, repeated) = told(twice.as_bytes()).unwrap();
    assert_eq!(repeated, records);
    let kinds: BTreeMap<&str, u64> = told.passed.kinds().map(|(kind, passing)| (kind, passing.count)).collect();
    assert_eq!(kinds["events that are there twice"], 5);
    assert_eq!(told.passed.total(), 2 * once.passed.total() + 5);
}

#[test]
fn perf_prints_lines_in_many_ways() {
    let (_, records) = told(PERF.as_bytes()).unwrap();
    let steps = |text: &str| -> Vec<RecordKind> {
        told(text.as_bytes())
            .unwrap_or_else(|error| panic!("{error}: {text}"))
            .1
            .iter()
            .map(|record| record.kind)
            .collect()
    };
    let expected: Vec<RecordKind> = records.iter().map(|record| record.kind).collect();
    // Without names, in which a long number has no blank before it; with the CPU bare.
    let bare = PERF
        .replace("            sh    12", "12")
        .replace("       swapper     0", "0")
        .replace("           cat    13", "13");
    assert_eq!(steps(&bare), expected);
    assert_eq!(steps(&PERF.replace("[000]", "0").replace("[001]", "1")), expected);
    // A task that is gone has neither process nor thread.
    let gone =
        format!("{PERF}   :-1    -1/-1    [001] 5.000010: sched:sched_stat_runtime: comm=x pid=9 runtime=5 [ns]\n");
    assert!(
        steps(&gone.replace("    12 [", "  12/12 [").replace("     0 [", "   0/0 [").replace("    13 [", "  13/13 ["))
            .len()
            > 5
    );
    let without = PERF.replace("    12 [", " [").replace("     0 [", " [").replace("    13 [", " [");
    let (told, _) = told(without.as_bytes()).unwrap();
    assert!(told.missing[0].starts_with("which task woke which, since the lines do not say"), "{:?}", told.missing);
}

#[test]
fn a_probe_and_prose_may_name_a_scheduler_event() {
    let text = [
        "Trace of sched_switch: slow\n\n".into(),
        switch(0, 10.0, "swapper/0-0", "R", "a-100"),
        "a-100 [000] d..2. 10.5: sched_switch: (__probestub_sched_switch+0x4/0x10) preempt=0 prev_state=1\n".into(),
        "a-100 [000] d..2. 10.6: sched_waking: (try_to_wake_up+0x0/0x600)\n".into(),
        "a-100 [000] d..2. 10.7: tracing_mark_write: first line\nsched_switch: is slow today\n".into(),
        switch(0, 11.0, "a-100", "S", "swapper/0-0"),
    ];
    assert_eq!(Known::of(&text.concat()).cpu(0), [(0, 1000, "a")]);
    let probe = format!("{PERF}swapper 0 [000] 5.1: probe:sched_wakeup: (ffffffff810a1234) arg1=5\n");
    assert!(told(probe.as_bytes()).unwrap().0.passed.kinds().any(|(kind, _)| kind == "probe:sched_wakeup"));
}
