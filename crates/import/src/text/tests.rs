use crate::{Place, Told, read};
use schedlab_metrics::validator::{Expectations, Validator};
use schedlab_model::ids::RoleId;
use schedlab_model::trace::{Event, EventKind, WakeSource};
use schedlab_record::{Converter, Departure, Gaps, Record, RecordKind, Summary, Waker};

pub(super) const PERF: &str = "\
            sh    12 [000] 5.000001:       sched:sched_waking: comm=cat pid=13 prio=120 target_cpu=000
            sh    12 [000] 5.000002:       sched:sched_wakeup: comm=cat pid=13 prio=120 target_cpu=001

       swapper     0 [001] 5.000003:       sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=cat next_pid=13 next_prio=120
\tffffffff81136 __schedule+0x12 ([kernel.kallsyms])
            sh    12 [000] 5.000004: syscalls:sys_enter_read: fd: 0x00000003
            sh    12 [000] 5.000005:       sched:sched_switch: prev_comm=sh prev_pid=12 prev_prio=120 prev_state=R+ ==> next_comm=ls next_pid=14 next_prio=120
           cat    13 [001] 5.000009:       sched:sched_switch: prev_comm=cat prev_pid=13 prev_prio=120 prev_state=Z ==> next_comm=swapper/1 next_pid=0 next_prio=120
";

pub(super) const FTRACE: &str = "\
# tracer: nop
#
# entries-in-buffer/entries-written: 5/8   #P:4
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
              sh-12      [000] d..4. 5.000001: sched_waking: comm=cat pid=13 prio=120 target_cpu=001
              sh-12      [000] d..5. 5.000002: sched_wakeup: comm=cat pid=13 prio=120 target_cpu=001
##### CPU 1 buffer started ####
          <idle>-0       [001] d..2. 5.000003: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=cat next_pid=13 next_prio=120
CPU:1 [LOST 7 EVENTS]
             cat-13      [001] ..... 5.000004: sched_process_fork: comm=cat pid=13 child_comm=cat child_pid=20
             cat-13      [001] d.h2. 5.000005: sched_waking: comm=sh pid=12 prio=120 target_cpu=000
";

const TRACE_CMD: &str = "\
cpus=2
CPU 1 is empty
              sh-12    [000]     5.000001: sched_waking:         cat:13 [120] CPU:000
             sh-12    [000]     5.000004: sched_switch:         sh:12 [120] S ==> cat:13 [120]
CPU:0 [3 EVENTS DROPPED]
            cat-13    [000]     5.000007: sched_switch:         cat:13 [120] D ==> swapper/0:0 [120]
";

pub(super) fn told(text: &[u8]) -> Result<(Told, Vec<Record>), String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text");
    std::fs::write(&path, text).unwrap();
    let mut records = Vec::new();
    let told = read(&Place::of(&path), folder.path(), |record| records.push(*record));
    let place = path.display().to_string();
    told.map(|told| (told, records)).map_err(|error| error.to_string().replace(&place, "text"))
}

/// The events of a text and what became of its records; lawful, whatever the text.
pub(super) fn events(text: &str) -> (Vec<Event>, Summary) {
    let (told, records) = told(text.as_bytes()).unwrap();
    let mut sink = (Vec::new(), Validator::new(Expectations::default()));
    let (early, late) = records.split_at(records.partition_point(|record| record.time_ns < told.start_ns));
    let records: Vec<Record> = [early, &told.before, late].concat();
    let mut gaps = Gaps::default();
    records.iter().for_each(|record| gaps.note(record));
    if told.is_of_some_tasks {
        gaps.follow_some_tasks();
    }
    let mut converter = Converter::new(told.start_ns, |_, _| Some(RoleId(0))).with_gaps(gaps);
    converter = converter.with_unheard_cpus(told.cpus.max(told.heard.last().map_or(0, |cpu| cpu + 1)));
    records.iter().for_each(|record| converter.record(record, &mut sink));
    let summary = converter.finish(told.end_ns, &mut sink);
    let findings = sink.1.into_findings();
    assert!(findings.is_lawful(), "{:?}", findings.reported);
    (sink.0, summary)
}

fn switches(events: &[Event]) -> Vec<(u64, u32, Option<u32>, Option<u32>)> {
    let switch = |event: &Event| match event.kind {
        EventKind::Switch { previous, next, .. } => {
            Some((event.time.ns(), event.cpu.0, previous.map(|task| task.0), next.map(|task| task.0)))
        }
        _ => None,
    };
    events.iter().filter_map(switch).collect()
}

#[test]
fn perf_is_read_and_who_was_there_runs_from_the_start() {
    let (told, records) = told(PERF.as_bytes()).unwrap();
    assert_eq!((told.start_ns, told.end_ns, told.lost, told.has_wakeups), (5_000_001_000, 5_000_009_000, 0, true));
    let wakeup = records.iter().find_map(|record| match record.kind {
        RecordKind::Wakeup { thread, target, waker, new } => Some((thread.tid, target, waker, new, record.cpu)),
        _ => None,
    });
    // perf does not tell whether it was an interrupt.
    assert_eq!(wakeup, Some((13, 1, Waker::Unknown, false, 0)));
    let (events, summary) = events(PERF);
    assert_eq!(summary.tasks.iter().map(|task| task.thread.tid).collect::<Vec<_>>(), [12, 13, 14]);
    assert_eq!(summary.tasks[1].comm.to_string(), "cat");
    assert_eq!(summary.repaired, 0);
    let expected =
        [(0, 0, None, Some(0)), (2_000, 1, None, Some(1)), (4_000, 0, Some(0), Some(2)), (8_000, 1, Some(1), None)];
    assert_eq!(switches(&events), expected);
}

#[test]
fn ftrace_tells_interrupts_losses_and_what_was_overwritten() {
    let (told, records) = told(FTRACE.as_bytes()).unwrap();
    assert_eq!((told.cpus, told.lost, told.overwritten), (4, 7, 3));
    let kinds: Vec<_> = records.iter().map(|record| record.kind).collect();
    assert!(kinds.iter().any(|kind| matches!(kind, RecordKind::Wakeup { waker: Waker::Task(12), .. })));
    assert!(kinds.iter().any(|kind| matches!(kind, RecordKind::Fork { parent: 13, child, .. } if child.tid == 20)));
    events(FTRACE);
}

#[test]
fn trace_cmd_is_read_and_wakings_stand_in_for_wakeups() {
    let (told, records) = told(TRACE_CMD.as_bytes()).unwrap();
    assert_eq!((told.cpus, told.lost, told.has_wakeups), (2, 3, true));
    let blocked = |record: &&Record| matches!(record.kind, RecordKind::Switch { how: Departure::Blocked, .. });
    assert_eq!(records.iter().filter(blocked).count(), 2);
    let (events, summary) = events(TRACE_CMD);
    let expected = [
        (0, 0, None, Some(0)),
        // Events are missing after cat came: how long it stayed is not known.
        (3_000, 0, Some(0), Some(1)),
        (3_000, 0, Some(1), None),
        (6_000, 0, None, Some(1)),
        (6_000, 0, Some(1), None),
    ];
    assert_eq!((switches(&events), summary.repaired), (expected.to_vec(), 1));
}

/// A switch of CPU 0 every second and of CPU 1 from the eleventh second on, when its buffer begins.
fn wrapped(mark: &str) -> String {
    let switch = |cpu: u32, second: u64, from: (&str, i32), state: &str, to: (&str, i32)| {
        format!(
            "{}-{} [00{cpu}] d..2. {second}.000000: sched_switch: prev_comm={} prev_pid={} prev_prio=120 prev_state={state} ==> \
             next_comm={} next_pid={} next_prio=120\n",
            from.0, from.1, from.0, from.1, to.0, to.1
        )
    };
    let (sh, cat, idle) = (("sh", 12), ("cat", 13), ("swapper/0", 0));
    let mut text = switch(0, 1, cat, "S", sh);
    for second in 2..=10 {
        text += &if second % 2 == 0 { switch(0, second, sh, "S", idle) } else { switch(0, second, idle, "R", sh) };
    }
    text += mark;
    text += &switch(1, 11, cat, "S", idle);
    text + &switch(0, 12, idle, "R", sh)
}

#[test]
fn a_recording_begins_where_all_cpus_have_begun() {
    for mark in ["##### CPU 1 buffer started ####\n", "CPU:1 [LOST 9 EVENTS]\n"] {
        let (told, _) = told(wrapped(mark).as_bytes()).unwrap();
        assert_eq!((told.first_ns, told.start_ns, told.end_ns), (1_000_000_000, 11_000_000_000, 12_000_000_000));
        let (events, summary) = events(&wrapped(mark));
        let names: Vec<_> = summary.tasks.iter().map(|task| task.comm.to_string()).collect();
        assert_eq!(names, ["cat", "sh"]);
        // What came before the start shows only that sh sleeps.
        let second = 1_000_000_000;
        assert_eq!(switches(&events), [(0, 1, None, Some(0)), (0, 1, Some(0), None), (second, 0, None, Some(1))]);
    }
    // Without such a line all CPUs are known from the first event on.
    assert_eq!(told(wrapped("").as_bytes()).unwrap().0.start_ns, 1_000_000_000);
}

#[test]
fn a_wakeup_that_was_not_recorded_is_no_latency() {
    let sources = |text: &str| -> Vec<WakeSource> {
        let source = |event: &Event| match event.kind {
            EventKind::Wakeup { source, .. } => Some(source),
            _ => None,
        };
        events(text).0.iter().filter_map(source).collect()
    };
    // sh ran from the start, cat was woken, ls has no waker.
    assert_eq!(sources(PERF), [WakeSource::Untold, WakeSource::Unknown, WakeSource::Untold]);
    let without: String = PERF.split_inclusive('\n').filter(|line| !line.contains("sched_wak")).collect();
    assert!(sources(&without).iter().all(|&source| source == WakeSource::Untold), "{without}");
}

#[test]
fn a_number_given_away_again_without_a_fork_is_another_task() {
    let again = "sh    12 [001] 5.000010: sched:sched_wakeup: comm=dog pid=13 prio=120 target_cpu=000\n";
    let (_, summary) = events(&format!("{PERF}{again}"));
    let names: Vec<_> = summary.tasks.iter().map(|task| task.comm.to_string()).collect();
    assert_eq!((names, summary.repaired), (["sh", "cat", "ls", "dog"].map(String::from).to_vec(), 0));
}

/// How many scheduler events a text has, and how many others.
fn counts(text: &str) -> (usize, u64) {
    let (told, records) = told(text.as_bytes()).unwrap();
    let named = |record: &&Record| !matches!(record.kind, RecordKind::Rename { .. });
    (records.iter().filter(named).count(), told.passed.total())
}

#[test]
fn what_stands_between_events_is_passed_over() {
    let (events, others) = counts(FTRACE);
    let between = [
        " => __schedule\n => schedule\n",
        "             cat-13      [001] ..... 5.000003: <user stack trace>\n =>  <00007f236d6f6353>\n",
        "\tffffb7ad6b30 trace_sched_switch+0x8e0 (inlined)\n  file.c:12\n\t  7f23 [unknown] (libc)\n",
        "             cat-13      [001] ..... 5.000003: print: a word\nand more of it\nxyz = 0x0 abc = 0x0\n",
        "             cat-13      [001] ..... 5.000003: tracing_mark_write: E\n",
    ];
    for (text, more) in between.iter().zip([2, 2, 3, 3, 1]) {
        let with = FTRACE.replacen("CPU:1 [LOST", &format!("{text}CPU:1 [LOST"), 1);
        assert_eq!(counts(&with), (events, others + more), "{text}");
    }
}

#[test]
fn a_text_is_found_in_pages_scripts_and_json() {
    let plain = told(FTRACE.as_bytes()).unwrap().1;
    let escaped = |text: &str| text.replace('"', "\\\"").replace('\n', "\\n");
    let long = "x".repeat(200_000);
    for wrapped in [
        format!(
            "<!DOCTYPE html>\n<script>var x = \"{long}\";\n</script>\n<script class=\"trace-data\">\n{FTRACE}</script>\n"
        ),
        format!("<html>\n<script>\nvar linuxPerfData = \"\\\n{}\";\n</script>\n", FTRACE.replace('\n', "\\n\\\n")),
        format!("<html><pre>\n{}</pre>\n", FTRACE.replace('<', "&lt;").replace('>', "&gt;")),
        format!("{{\"traceEvents\":[],\"systemTraceEvents\":\"{}\"}}", escaped(FTRACE).replace('>', "\\u003e")),
    ] {
        let records = told(wrapped.as_bytes()).unwrap_or_else(|error| panic!("{error}: {wrapped}")).1;
        assert_eq!(records, plain, "{}", &wrapped[..60]);
    }
}

#[test]
fn a_clock_that_counts_gives_counts_and_a_few_lines_out_of_order_are_sorted() {
    let counted: String = FTRACE.replace("5.00000", "16748102819569");
    let (of_counts, _) = told(counted.as_bytes()).unwrap();
    assert_eq!(of_counts.end_ns, 167_481_028_195_695);
    assert!(of_counts.missing[0].starts_with("real times, since the clock"), "{:?}", of_counts.missing);
    let many = wrapped("");
    let mut lines: Vec<&str> = many.lines().collect();
    lines.swap(5, 6);
    let (sorted, records) = told((lines.join("\n") + "\n").as_bytes()).unwrap();
    assert_eq!(records, told(many.as_bytes()).unwrap().1);
    assert!(sorted.missing[0].starts_with("the order of 1 line,"), "{:?}", sorted.missing);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let error = |text: &[u8]| told(text).unwrap_err();
    assert_eq!(error(b""), "text: the file is empty");
    for cut_off in [&b"PERFILE2\0\0"[..], b"\x17\x08\x44tracing6"] {
        assert_eq!(error(cut_off), "text: the recording is damaged: its header is cut off");
    }
    assert_eq!(error(b"a\0b\n"), "text:1: binary data, no text of scheduler events");
    assert!(error(b"Dear reader,\n").starts_with("text:1: no line of perf script"));
    assert!(error(&vec![b'x'; 1 << 17]).starts_with("text:1: no tool writes such a long line"));
    assert!(error(b"# only a comment\n").contains("no scheduler event is in it"));
    let back = format!("{PERF}sh 12 [000] 5.000001: sched:sched_waking: comm=a pid=1 prio=120 target_cpu=000\n");
    assert!(error(back.as_bytes()).starts_with("text:9: time goes back from 5.000009000 to 5.000001000"));
    let far = "sh 12 [9999] 5.000001: sched:sched_waking: comm=a pid=1 prio=120 target_cpu=000\n";
    assert!(error(far.as_bytes()).starts_with("text:1: there is no CPU 9999"));
    let mixed = format!("{PERF}{}", FTRACE.lines().nth(4).unwrap().to_owned() + "\n");
    assert!(error(mixed.as_bytes()).starts_with("text:9: no line like those before it"));
}

#[test]
fn a_text_that_is_cut_off_is_never_taken_for_a_whole_one() {
    for text in [PERF, FTRACE, TRACE_CMD] {
        for cut in 1..text.len() {
            let whole = text[..cut].ends_with('\n');
            match told(&text.as_bytes()[..cut]) {
                Ok(_) => assert!(whole, "{:?}", &text[..cut]),
                Err(error) => assert!(!whole || error.contains("no scheduler event"), "{error}"),
            }
        }
    }
}

proptest::proptest! {
    /// Any damage: an error in one line, or lawful events.
    #[test]
    fn damaged_texts_do_no_harm(at in 0..PERF.len(), byte in proptest::num::u8::ANY, which in 0..3_usize) {
        let mut bytes = [PERF, FTRACE, TRACE_CMD][which].as_bytes().to_vec();
        let at = at % bytes.len();
        bytes[at] = byte;
        match told(&bytes) {
            Ok(_) => { events(&String::from_utf8_lossy(&bytes)); }
            Err(error) => assert_eq!(error.lines().count(), 1, "{}", error),
        }
    }
}
