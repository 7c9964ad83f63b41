use super::*;
use schedlab_metrics::validator::{Expectations, Validator};

const START: u64 = 1_000;

fn thread(tid: i32) -> Thread {
    Thread { tid, tgid: 100, priority: 120, followed: tid != 0 && tid < 900 }
}

fn switch(time_ns: u64, cpu: u32, previous: i32, how: Departure, next: i32) -> Record {
    Record { time_ns, cpu, kind: RecordKind::Switch { previous: thread(previous), how, next: thread(next) } }
}

fn wakeup(time_ns: u64, cpu: u32, tid: i32, target: u32, waker: Waker) -> Record {
    Record { time_ns, cpu, kind: RecordKind::Wakeup { thread: thread(tid), target, waker, new: false } }
}

fn present(time_ns: u64, tid: i32, runnable: bool) -> Record {
    let kind = RecordKind::Present { thread: thread(tid), comm: Comm::new(b"there"), runnable, cpu: 0 };
    Record { time_ns, cpu: 0, kind }
}

fn running(time_ns: u64, cpu: u32, tid: i32) -> Record {
    Record { time_ns, cpu, kind: RecordKind::Running { thread: thread(tid), in_interrupt: false } }
}

fn fork(time_ns: u64, parent: i32, child: i32) -> Record {
    Record { time_ns, cpu: 0, kind: RecordKind::Fork { parent, child: thread(child), comm: Comm::new(b"child") } }
}

/// The events of the records but what is said of tasks, and what came of them.
fn convert(records: &[Record]) -> (Vec<String>, Summary) {
    let (mut events, summary) = convert_all(records);
    events.retain(|event| !event.contains(" say "));
    (events, summary)
}

/// What is said of tasks.
fn said(records: &[Record]) -> Vec<String> {
    let (mut events, _) = convert_all(records);
    events.retain(|event| event.contains(" say "));
    events
}

/// Whatever the records, the events are lawful.
fn convert_all(records: &[Record]) -> (Vec<String>, Summary) {
    let mut sink = (Vec::new(), Validator::new(Expectations::default()));
    let wanted = |thread: &Thread, _: &Comm| (thread.tid != 66).then_some(RoleId(thread.tid as u32 / 100));
    let mut gaps = Gaps::default();
    records.iter().for_each(|record| gaps.note(record));
    let mut converter = Converter::new(START, wanted).with_gaps(gaps);
    records.iter().for_each(|record| converter.record(record, &mut sink));
    let summary = converter.finish(9_000, &mut sink);
    let findings = sink.1.into_findings();
    assert!(findings.is_lawful(), "{:?}", findings.reported);
    (sink.0.iter().map(|event: &Event| format!("{} {} {}", event.time, event.cpu, words(event))).collect(), summary)
}

fn words(event: &Event) -> String {
    let name = |task: Option<TaskId>| task.map_or("-".into(), |task| task.to_string());
    match event.kind {
        EventKind::Fork { task, role, parent } => format!("fork {task} in {role} by {}", name(parent)),
        EventKind::Exit { task } => format!("exit {task}"),
        EventKind::Wakeup { task, target, waker, source } => {
            format!("wake {task} to {target} by {} {source:?}", name(waker))
        }
        EventKind::Switch { previous, reason, next } => format!("{} {reason:?} {}", name(previous), name(next)),
        EventKind::Migrate { task, from, to } => format!("move {task} {from} {to}"),
        EventKind::Status { task, word } => format!("say {task} {word}"),
        EventKind::Untraced { what } => format!("{what:?}"),
        ref other => format!("{other:?}"),
    }
}

#[test]
fn what_was_there_at_the_start_is_told_at_time_zero() {
    let (events, summary) = convert(&[
        // Ends before the start: no task of the trace.
        switch(400, 1, 5, Departure::Exited, 0),
        present(500, 10, true),
        present(500, 11, true),
        present(500, 12, false),
        running(600, 0, 0),
        running(610, 1, 10),
        switch(1_500, 1, 10, Departure::Preempted, 11),
        wakeup(1_600, 1, 12, 0, Waker::Task(11)),
        switch(1_700, 0, 0, Departure::Preempted, 12),
    ]);
    let expected = [
        "0s 1 fork 0 in 0 by -",
        "0s 1 wake 0 to 1 by - Untold",
        "0s 1 - Idle 0",
        "0s 0 fork 1 in 0 by -",
        "0s 0 wake 1 to 0 by - Untold",
        "0s 0 fork 2 in 0 by -",
        "500ns 1 0 Preempted 1",
        "600ns 1 wake 2 to 0 by 1 Unknown",
        "700ns 0 - Idle 2",
    ];
    assert_eq!(events, expected);
    assert_eq!(summary.tasks.iter().map(|task| task.thread.tid).collect::<Vec<_>>(), [10, 11, 12]);
    assert_eq!(summary.tasks[0].comm.to_string(), "there");
    assert_eq!((summary.adopted, summary.repaired), (0, 0));
}

#[test]
fn a_life_from_fork_to_exit() {
    let (events, summary) = convert(&[
        running(900, 0, 10),
        fork(1_000, 10, 200),
        Record {
            time_ns: 1_010,
            cpu: 0,
            kind: RecordKind::Wakeup { thread: thread(200), target: 1, waker: Waker::Task(10), new: true },
        },
        switch(1_020, 1, 0, Departure::Preempted, 200),
        switch(1_030, 1, 200, Departure::Yielded, 0),
        Record { time_ns: 1_035, cpu: 0, kind: RecordKind::Migrate { thread: thread(200), from: 1, to: 0 } },
        switch(1_040, 0, 10, Departure::Blocked, 200),
        Record { time_ns: 1_050, cpu: 0, kind: RecordKind::Exit { thread: thread(200) } },
        switch(1_060, 0, 200, Departure::Exited, 0),
        // The number is given away again.
        fork(1_070, 10, 200),
    ]);
    let expected = [
        "0s 0 fork 1 in 2 by 0",
        "10ns 0 wake 1 to 1 by 0 Fork",
        "20ns 1 - Idle 1",
        "30ns 1 1 Yielded -",
        "35ns 0 move 1 1 0",
        "40ns 0 0 Blocked 1",
        "60ns 0 exit 1",
        "60ns 0 1 Exited -",
        "70ns 0 fork 2 in 2 by 0",
    ];
    assert_eq!(events[3..], expected);
    assert_eq!((summary.tasks.len(), summary.repaired), (3, 0));
}

#[test]
fn wakeups_of_what_has_not_slept_are_left_out() {
    let (events, summary) = convert(&[
        present(500, 10, true),
        running(600, 0, 10),
        wakeup(1_100, 0, 10, 0, Waker::Interrupt),
        switch(1_200, 0, 10, Departure::Preempted, 0),
        wakeup(1_300, 0, 10, 0, Waker::Interrupt),
    ]);
    assert_eq!(events.len(), 4, "{events:?}");
    assert_eq!(summary.redundant_wakeups, 2);
}

#[test]
fn what_is_foreign_or_not_wanted_is_as_idle() {
    let (events, _) = convert(&[
        present(500, 10, true),
        present(500, 66, true),
        running(600, 0, 900),
        switch(1_100, 0, 900, Departure::Preempted, 10),
        switch(1_200, 0, 10, Departure::Blocked, 66),
        wakeup(1_300, 0, 10, 0, Waker::Task(66)),
        switch(1_400, 0, 66, Departure::Exited, 901),
    ]);
    let expected = [
        "0s 0 Others",
        "0s 0 fork 0 in 0 by -",
        "0s 0 wake 0 to 0 by - Untold",
        "100ns 0 - Idle 0",
        "200ns 0 0 Blocked -",
        "200ns 0 Others",
        "300ns 0 wake 0 to 0 by - Unknown",
    ];
    assert_eq!(events, expected);
}

#[test]
fn a_cpu_without_a_task_idles_or_runs_others() {
    let (events, _) = convert(&[
        present(500, 10, true),
        running(600, 0, 10),
        switch(1_100, 0, 10, Departure::Blocked, 900),
        switch(1_200, 0, 901, Departure::Blocked, 0),
        switch(1_300, 0, 0, Departure::Preempted, 901),
        wakeup(1_350, 0, 10, 0, Waker::Unknown),
        switch(1_400, 0, 901, Departure::Preempted, 10),
    ]);
    let expected = [
        "100ns 0 0 Blocked -",
        "100ns 0 Others",
        "200ns 0 Idle",
        "300ns 0 Others",
        "350ns 0 wake 0 to 0 by - Unknown",
        "400ns 0 - Idle 0",
    ];
    assert_eq!(events[3..], expected);
}

#[test]
fn what_is_not_known_is_credited_to_nobody() {
    let lost = Record { time_ns: 1_500, cpu: 0, kind: RecordKind::Lost };
    let (events, summary) = convert(&[
        present(500, 10, true),
        present(500, 11, false),
        present(500, 12, false),
        running(600, 0, 10),
        wakeup(1_050, 0, 11, 0, Waker::Unknown),
        switch(1_100, 0, 10, Departure::Blocked, 11),
        wakeup(1_200, 0, 12, 0, Waker::Unknown),
        lost,
        switch(1_600, 0, 10, Departure::Preempted, 12),
        switch(1_700, 0, 12, Departure::Blocked, 10),
    ]);
    let expected = [
        "50ns 0 wake 1 to 0 by - Unknown",
        "100ns 0 0 Blocked 1",
        // It came, and how long it stayed is not known.
        "100ns 0 1 Blocked -",
        "100ns 0 Unknown",
        "200ns 0 wake 2 to 0 by - Unknown",
        "600ns 0 wake 0 to 0 by - Untold",
        "600ns 0 - Idle 0",
        // It waited on a queue of which nothing was known: it may have run.
        "600ns 0 wake 2 to 0 by - Untold",
        "600ns 0 0 Preempted 2",
        "700ns 0 2 Blocked 0",
    ];
    assert_eq!(events[5..], expected);
    assert_eq!(summary.repaired, 1);
}

#[test]
fn a_cpu_of_which_no_record_spoke_is_unknown_and_so_are_waits_there() {
    let records = [
        switch(1_000, 0, 0, Departure::Preempted, 10),
        wakeup(1_100, 0, 11, 1, Waker::Task(10)),
        wakeup(1_200, 0, 12, 1, Waker::Task(10)),
        // It leaves CPU 1, where it may have run before.
        Record { time_ns: 1_300, cpu: 0, kind: RecordKind::Migrate { thread: thread(12), from: 1, to: 0 } },
        switch(1_400, 0, 10, Departure::Blocked, 12),
        switch(1_500, 0, 12, Departure::Blocked, 0),
    ];
    let mut gaps = Gaps::default();
    records.iter().for_each(|record| gaps.note(record));
    let mut sink = (Vec::new(), Validator::new(Expectations::default()));
    let mut converter = Converter::new(START, |_, _| Some(RoleId(0))).with_gaps(gaps).with_unheard_cpus(3);
    records.iter().for_each(|record| converter.record(record, &mut sink));
    converter.finish(9_000, &mut sink);
    assert!(sink.1.into_findings().is_lawful());
    let told: Vec<String> =
        sink.0.iter().map(|event: &Event| format!("{} {} {}", event.time, event.cpu, words(event))).collect();
    let expected = [
        "0s 0 Unknown",
        "0s 1 Unknown",
        "0s 2 Unknown",
        "0s 0 fork 0 in 0 by -",
        "0s 0 wake 0 to 0 by - Untold",
        "0s 0 - Idle 0",
        "100ns 1 fork 1 in 0 by -",
        "100ns 0 wake 1 to 1 by 0 Unknown",
        "200ns 1 fork 2 in 0 by -",
        "200ns 0 wake 2 to 1 by 0 Unknown",
        "300ns 1 wake 2 to 1 by - Untold",
        "300ns 0 move 2 1 0",
        "400ns 0 0 Blocked 2",
        "500ns 0 2 Blocked -",
        "8us 1 wake 1 to 1 by - Untold",
    ];
    assert_eq!(told.into_iter().filter(|event| !event.contains(" say ")).collect::<Vec<_>>(), expected);
}

#[test]
fn a_thread_that_nobody_announced_is_adopted() {
    let (events, summary) =
        convert(&[switch(1_100, 0, 10, Departure::Blocked, 11), wakeup(1_200, 0, 12, 1, Waker::Interrupt)]);
    let expected = [
        "100ns 0 fork 0 in 0 by -",
        "100ns 0 fork 1 in 0 by -",
        "100ns 0 wake 0 to 0 by - Untold",
        "100ns 0 - Idle 0",
        "100ns 0 wake 1 to 0 by - Untold",
        "100ns 0 0 Blocked 1",
        "200ns 1 fork 2 in 0 by -",
        "200ns 0 wake 2 to 1 by - Unknown",
    ];
    assert_eq!(events, expected);
    assert_eq!((summary.adopted, summary.repaired), (3, 0));
}

#[test]
fn missing_records_are_bridged_and_counted() {
    let records = [
        present(500, 10, true),
        present(500, 11, false),
        running(600, 0, 10),
        // Lost: 10 left CPU 0 and 11 woke.
        switch(1_100, 0, 11, Departure::Blocked, 0),
        // Lost: 10 left CPU 1.
        switch(1_200, 1, 0, Departure::Preempted, 10),
        switch(1_300, 0, 0, Departure::Preempted, 10),
        // Lost: its end.
        fork(1_400, 11, 10),
    ];
    let (_, summary) = convert(&records);
    assert!(summary.repaired >= 5, "{summary:?}");
}

#[test]
fn a_program_started_by_another_thread_takes_its_process_number() {
    let exec = |time_ns, former| Record {
        time_ns,
        cpu: 0,
        kind: RecordKind::Exec { thread: thread(10), former, comm: Comm::new(b"new") },
    };
    let there = [present(500, 10, false), present(500, 12, true), running(600, 0, 12)];
    // The first thread's end is seen, then the other continues under its number.
    let mut records = there.to_vec();
    records.extend([
        wakeup(1_000, 0, 10, 1, Waker::Task(12)),
        switch(1_010, 1, 0, Departure::Preempted, 10),
        switch(1_020, 1, 10, Departure::Exited, 0),
        exec(1_100, 12),
        switch(1_200, 0, 10, Departure::Blocked, 0),
    ]);
    let (events, summary) = convert(&records);
    assert_eq!(events.last().unwrap(), "200ns 0 1 Blocked -");
    assert_eq!((summary.tasks[1].comm.to_string().as_str(), summary.repaired), ("new", 0));
    // The first thread's end comes under the number that it has by then.
    let mut records = there.to_vec();
    records.extend([
        switch(1_000, 0, 12, Departure::Blocked, 0),
        switch(1_020, 1, 12, Departure::Exited, 0),
        exec(1_100, 12),
        switch(1_200, 0, 10, Departure::Blocked, 0),
    ]);
    assert_eq!(convert(&records).1.tasks.len(), 2);
}

/// Any records at all, in the order of time: the events are lawful, which `convert` asserts.
#[test]
fn any_records_give_a_lawful_trace() {
    let mut state = 7_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for _ in 0..200 {
        let mut records = Vec::new();
        for step in 0..300 {
            let (time, cpu) = (500 + step * 5, random(3) as u32);
            let (a, b) = (random(7) as i32, random(7) as i32);
            let how = [Departure::Preempted, Departure::Yielded, Departure::Blocked, Departure::Exited];
            records.push(match random(10) {
                0..3 if a != b => switch(time, cpu, a, how[random(4) as usize], b),
                3 => fork(time, a, b + 1),
                4 => present(time, a + 1, random(2) == 0),
                5 => running(time, cpu, a),
                6 => {
                    let (from, to) = (cpu, (cpu + 1) % 3);
                    Record { time_ns: time, cpu, kind: RecordKind::Migrate { thread: thread(a + 1), from, to } }
                }
                7 => {
                    let (thread, comm) = (thread(a + 1), Comm::default());
                    Record { time_ns: time, cpu, kind: RecordKind::Exec { thread, former: b + 1, comm } }
                }
                8 => Record { time_ns: time, cpu, kind: RecordKind::Lost },
                9 => ran(time, cpu, a + 1, random(200)),
                _ => wakeup(time, cpu, a + 1, random(3) as u32, Waker::Task(b)),
            });
        }
        convert(&records);
    }
}

#[test]
fn a_status_is_the_priority_unless_a_policy_publishes_another() {
    let urgent = |mut record: Record| {
        if let RecordKind::Switch { previous, .. } = &mut record.kind {
            previous.priority = 98;
        }
        record
    };
    let status =
        |time_ns, tid, word| Record { time_ns, cpu: 0, kind: RecordKind::Status { thread: thread(tid), word } };
    let mut records = vec![
        present(400, 10, true),
        present(400, 11, true),
        switch(500, 0, 0, Departure::Preempted, 10),
        switch(1_500, 0, 10, Departure::Preempted, 11),
        urgent(switch(1_600, 0, 11, Departure::Preempted, 10)),
    ];
    assert_eq!(said(&records), ["0s 0 say 0 120", "500ns 0 say 1 120", "600ns 0 say 1 98"]);
    let publishing = Record { time_ns: 300, cpu: 0, kind: RecordKind::Publishing };
    records = [vec![publishing, status(450, 10, 1), status(460, 10, 7)], records, vec![status(1_700, 10, 9)]].concat();
    assert_eq!(said(&records), ["0s 0 say 0 7", "700ns 0 say 0 9"]);
}

/// The kernel says that a thread has a CPU for so long from now on.
fn ran(time_ns: u64, cpu: u32, tid: i32, runtime_ns: u64) -> Record {
    Record { time_ns, cpu, kind: RecordKind::Ran { thread: thread(tid), runtime_ns } }
}

#[test]
fn an_account_fills_what_is_missing_between_switches_and_no_more() {
    // 11 came and left unseen, and so did 12, for whose time there is an account.
    let (events, summary) = convert(&[
        switch(1_000, 0, 0, Departure::Preempted, 10),
        switch(2_000, 0, 10, Departure::Blocked, 11),
        ran(2_500, 0, 12, 300),
        switch(4_000, 0, 14, Departure::Blocked, 0),
    ]);
    let expected = [
        "0s 0 fork 0 in 0 by -",
        "0s 0 wake 0 to 0 by - Untold",
        "0s 0 - Idle 0",
        "1us 0 fork 1 in 0 by -",
        "1us 0 wake 1 to 0 by - Untold",
        "1us 0 0 Blocked 1",
        "1us 0 1 Blocked -",
        "1us 0 Unknown",
        "1.5us 0 fork 2 in 0 by -",
        "1.5us 0 wake 2 to 0 by - Untold",
        "1.5us 0 - Idle 2",
        "1.8us 0 2 Blocked -",
        "1.8us 0 Unknown",
        "3us 0 fork 3 in 0 by -",
        "3us 0 wake 3 to 0 by - Untold",
        "3us 0 - Idle 3",
        "3us 0 3 Blocked -",
    ];
    assert_eq!(events, expected);
    assert_eq!(summary.mended_ns, 300);
}

#[test]
fn an_account_that_goes_on_lasts_to_the_switch_away() {
    let (events, summary) = convert(&[
        switch(1_000, 0, 0, Departure::Preempted, 10),
        switch(2_000, 0, 10, Departure::Blocked, 11),
        // Interrupts between two accounts of a thread are not counted as its time, and it had the CPU all the same.
        ran(2_500, 0, 12, 300),
        ran(2_810, 0, 12, 500),
        switch(3_320, 0, 12, Departure::Blocked, 0),
        // Nothing is missing here, so the account says nothing new.
        ran(3_400, 0, 13, 100),
        switch(4_000, 0, 0, Departure::Preempted, 13),
    ]);
    assert!(events.contains(&"1.5us 0 - Idle 2".to_string()) && events.contains(&"2.32us 0 2 Blocked -".to_string()));
    assert_eq!((summary.mended_ns, summary.repaired), (820, 0));
}
