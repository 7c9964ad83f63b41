//! Texts of other tools become traces, or one line that says why not.

use crate::lab::Lab;

const PERF: &str = "\
  sh    12 [000] 5.000001: sched:sched_waking: comm=cat pid=13 prio=120 target_cpu=001
  sh    12 [000] 5.000002: sched:sched_wakeup: comm=cat pid=13 prio=120 target_cpu=001
  swapper     0 [001] 5.000003: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=cat next_pid=13 next_prio=120
  cat    13 [001] 5.002003: sched:sched_switch: prev_comm=cat prev_pid=13 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
  sh    12 [000] 5.004001: sched:sched_switch: prev_comm=sh prev_pid=12 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

/// Expects one line, exit code 2, and no file in addition to the text.
fn refused(text: impl AsRef<[u8]>, parts: &[&str]) {
    let lab = Lab::new();
    lab.write("events.txt", text);
    let output = lab.run(&["import", "events.txt"]);
    assert_eq!((output.code, output.out.as_str(), output.err.lines().count()), (Some(2), "", 1), "{}", output.err);
    for part in parts {
        assert!(output.err.contains(part), "no {part:?} in {}", output.err);
    }
    assert_eq!(lab.files(), ["events.txt"]);
}

#[test]
fn a_text_becomes_a_lawful_trace_and_a_page() {
    let lab = Lab::new();
    lab.write("events.txt", PERF);
    let page = lab.out(&["import", "events.txt"]);
    assert!(page.starts_with("events.txt: 4ms on 2 CPUs\n"), "{page}");
    let row = |name: &str| -> Vec<&str> {
        page.lines().find(|line| line.starts_with(name)).unwrap().split_whitespace().collect()
    };
    // Time in milliseconds and as a share of both CPUs.
    assert_eq!(row("sh ")[1..4], ["1", "4", "50.0"]);
    assert_eq!(row("cat ")[1..4], ["1", "2", "25.0"]);
    assert!(page.contains("records             6, none lost, 0 steps repaired, 1 task first seen"), "{page}");
    assert!(page.ends_with("The trace is in events.parquet.\n"), "{page}");
    assert!(lab.out(&["check", "events.parquet"]).contains("no invariant is violated"));
    lab.out(&["import", "events.txt", "-o", "other.pftrace"]);
    assert!(lab.out(&["check", "other.pftrace"]).contains("of 2 tasks: no invariant is violated"));
    assert_eq!(lab.files(), ["events.parquet", "events.txt", "other.pftrace"]);
}

#[test]
fn bad_texts_are_one_line() {
    refused("", &["events.txt: the file is empty"]);
    refused("Dear reader,\n", &["events.txt:1: no line of perf script, ftrace or trace-cmd report: \"Dear reader,\""]);
    refused(&PERF[..PERF.len() - 3], &["events.txt:5: the file is cut off here"]);
    let back = PERF.replace("5.004001", "4.004001");
    refused(back, &["events.txt:5: time goes back from 5.002003000 to 4.004001000"]);
    refused(PERF.replace("prev_state=S ", ""), &["events.txt:4: sched_switch without the fields"]);
    refused([PERF.as_bytes(), b"\x00\x01\n"].concat(), &["events.txt:6: binary data"]);
    refused(PERF.replace("[001]", "[4096]"), &["events.txt:3: there is no CPU 4096"]);
    refused("# tracer: nop\n#\n", &["events.txt: no scheduler event"]);
}

#[test]
fn files_that_are_not_there_or_not_to_be_written() {
    let lab = Lab::new();
    lab.write("events.txt", PERF);
    let cases: [(&[&str], i32, &str); 5] = [
        (&["import", "none.txt"], 2, "none.txt: the file cannot be read"),
        (&["import", "."], 2, ".: this is not a file"),
        (&["import", "events.txt", "-o", "trace.json"], 2, "trace.json: unknown kind of trace file"),
        (&["import", "events.txt", "-o", "events.txt"], 2, "would replace the recording"),
        (&["import", "events.txt", "-o", "none/trace.txt"], 2, "none/trace.txt: cannot write the trace"),
    ];
    for (args, code, part) in cases {
        let output = lab.run(args);
        assert_eq!((output.code, output.err.lines().count()), (Some(code), 1), "{args:?}: {}", output.err);
        assert!(output.err.contains(part), "{args:?}: {}", output.err);
    }
    assert_eq!(lab.files(), ["events.txt"]);
}

#[test]
fn a_full_disk_leaves_nothing() {
    let lab = Lab::new();
    lab.write("events.txt", PERF);
    // A file may have a block at most, and a trace needs more.
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" import events.txt";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", script]).arg(env!("CARGO_BIN_EXE_schedlab")).current_dir(lab.path(""));
    let output = shell.output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), error.lines().count()), (Some(1), 1), "{error}");
    assert!(error.contains("events.parquet: cannot write the trace"), "{error}");
    assert_eq!(lab.files(), ["events.txt"]);
}

/// The text has events of CPU 0 from the first second on and of CPU 1 from the eleventh, when hog gets it for two seconds.
fn wrapped() -> String {
    let switch = |cpu: u32, second: u64, from: (&str, u32), state: &str, to: (&str, u32)| {
        let head = format!("{}-{} [00{cpu}] d..2. {second}.000000: sched_switch", from.0, from.1);
        let left = format!("prev_comm={} prev_pid={} prev_prio=120 prev_state={state}", from.0, from.1);
        format!("{head}: {left} ==> next_comm={} next_pid={} next_prio=120\n", to.0, to.1)
    };
    let (sh, idle, hog) = (("sh", 12), ("swapper/0", 0), ("hog", 77));
    [
        "# entries-in-buffer/entries-written: 6/90   #P:2\n".into(),
        switch(0, 1, idle, "R", sh),
        switch(0, 2, sh, "S", idle),
        "##### CPU 1 buffer started ####\n".into(),
        switch(1, 11, idle, "R", hog),
        switch(0, 12, idle, "R", sh),
        switch(1, 13, hog, "S", idle),
        switch(0, 14, sh, "S", idle),
    ]
    .concat()
}

#[test]
fn a_buffer_that_wrapped_credits_no_time_that_nobody_saw() {
    let lab = Lab::new();
    lab.write("events.txt", wrapped());
    let page = lab.out(&["import", "events.txt"]);
    let row = |program: &str| -> Vec<&str> {
        let row = page.lines().find(|line| line.starts_with(program)).expect(program);
        row.split_whitespace().collect()
    };
    // Of three seconds two each; no wake-up was recorded, so no wait is known.
    for program in ["hog", "sh"] {
        assert_eq!(row(program)[1..7], ["1", "2000", "33.3", "-", "-", "-"], "{page}");
    }
    assert!(page.starts_with("events.txt: 3s on 2 CPUs\n"), "{page}");
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("the first 10s of the recording, in which the buffers of some CPUs had not begun"),
        "{page}"
    );
}

/// What a page says in its words, without the breaks of its lines.
fn words(page: &str) -> String {
    page.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_cpu_of_which_nothing_was_recorded_is_named_and_not_idle() {
    let lab = Lab::new();
    let of_one: String = PERF.split_inclusive('\n').filter(|line| line.contains("[001]")).collect();
    lab.write("events.txt", of_one);
    let page = lab.out(&["import", "events.txt"]);
    assert!(words(&page).contains("what CPU 0 did: nothing was recorded of it; record with -a"), "{page}");
    let cpu = |number: &str| -> Vec<&str> {
        let rows = page.lines().skip_while(|line| !line.starts_with("CPU "));
        let row = rows.skip(1).find(|line| line.trim_start().starts_with(number)).expect("a row");
        row.split_whitespace().collect()
    };
    assert_eq!(
        (&cpu("0 ")[..5], &cpu("1 ")[..3]),
        (&["0", "-", "-", "-", "100.0"][..], &["1", "100.0", "0.0"][..]),
        "{page}"
    );
    assert!(lab.out(&["trace", "events.parquet", "timeline"]).contains("cpu0  ???"), "{page}");
}

#[test]
fn what_was_not_measured_has_no_number() {
    let lab = Lab::new();
    lab.write("events.txt", lines(0..2));
    let page = lab.out(&["import", "events.txt"]);
    let row = page.lines().find(|line| line.starts_with("cat ")).expect("cat").split_whitespace().collect::<Vec<_>>();
    // Tasks, time, at most, share, waits, switches; migrations were counted.
    assert_eq!((row[2], &row[4..10]), ("-", &["-"; 6][..]), "{page}");
}

#[test]
fn a_recording_of_a_program_is_named_as_such() {
    let lab = Lab::new();
    let leaves = |cpu: u32, ms: u32| {
        format!(
            "  sh 12 [00{cpu}] 5.{ms:03}000: sched:sched_switch: prev_comm=sh prev_pid=12 prev_prio=120 prev_state=S ==> \
             next_comm=swapper/{cpu} next_pid=0 next_prio=120\n"
        )
    };
    lab.write("events.txt", [leaves(0, 1), leaves(1, 2), leaves(1, 4), leaves(0, 9)].concat());
    let page = lab.out(&["import", "events.txt"]);
    assert!(words(&page).contains("what the machine did: the recording follows some tasks; record with -a"), "{page}");
}

#[test]
fn an_own_trace_in_protobuf_comes_back_as_it_was() {
    let lab = Lab::new();
    let text = wrapped();
    let (begin, last) = text.trim_end().rsplit_once('\n').unwrap();
    let woken = "sh-12 [000] d..2. 13.500000: sched_wakeup: comm=hog pid=77 prio=120 target_cpu=000";
    lab.write("events.txt", format!("{begin}\n{woken}\nCPU:0 [LOST 50 EVENTS]\n{last}\n"));
    let page = lab.out(&["import", "events.txt"]);
    lab.out(&["import", "events.txt", "-o", "own.pftrace"]);
    let packed = std::process::Command::new("gzip").arg(lab.path("own.pftrace")).status().unwrap();
    assert!(packed.success());
    let back = lab.out(&["import", "own.pftrace.gz", "-o", "back.parquet"]);
    let tables = |page: &str| -> Vec<String> {
        let begin = page.lines().skip_while(|line| !line.starts_with("program"));
        begin.take_while(|line| !line.starts_with("events")).map(str::to_owned).collect()
    };
    assert_eq!(tables(&back), tables(&page), "{back}");
    assert!(tables(&page).len() > 5 && page.contains("lost: 50 events") && back.contains("lost: 50 events"), "{back}");
    let timeline = |file: &str| lab.out(&["trace", file, "timeline"]);
    assert_eq!(timeline("back.parquet"), timeline("events.parquet"));
    assert!(timeline("back.parquet").contains('?'));
    assert_eq!(lab.files(), ["back.parquet", "events.parquet", "events.txt", "own.pftrace.gz"]);
}

#[test]
fn a_recording_comes_compressed_or_through_a_pipe() {
    let lab = Lab::new();
    lab.write("events.txt", PERF);
    let script = "gzip -k events.txt && \"$0\" import events.txt.gz && \"$0\" import - -o piped.parquet <events.txt.gz";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-ec", script]).arg(env!("CARGO_BIN_EXE_schedlab")).current_dir(lab.path(""));
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let pages = String::from_utf8(output.stdout).unwrap();
    assert!(pages.starts_with("events.txt.gz: 4ms on 2 CPUs\n") && pages.contains("\nstandard input: 4ms on 2 CPUs\n"));
    assert_eq!(lab.files(), ["events.parquet", "events.txt", "events.txt.gz", "piped.parquet"]);
}

#[test]
fn what_is_passed_over_is_counted_and_shown_on_request() {
    let lab = Lab::new();
    let chain = "\tffff8000 __schedule+0x12 ([kernel.kallsyms])\n\t7f23 [unknown] (libc.so.6)\n";
    let other = "  sh    12 [000] 5.000500: irq:irq_handler_entry: irq=9 name=acpi\n";
    lab.write("events.txt", format!("{}{chain}{other}{}", lines(0..3), lines(3..5)));
    let page = lab.out(&["import", "events.txt"]);
    assert!(page.split_whitespace().collect::<Vec<_>>().join(" ").contains("3 others passed over"), "{page}");
    let page = lab.out(&["import", "events.txt", "--passed-over"]);
    let row = |kind: &str| page.lines().find(|line| line.starts_with(kind)).unwrap_or_else(|| panic!("{kind}: {page}"));
    assert!(row("irq_handler_entry").ends_with("1         line 6"), "{page}");
    assert!(row("places of call chains").ends_with("2         line 4"), "{page}");
}

/// Some of the lines.
fn lines(which: std::ops::Range<usize>) -> String {
    PERF.split_inclusive('\n').skip(which.start).take(which.len()).collect()
}

#[test]
fn a_file_of_another_kind_is_named_with_a_way() {
    refused(b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00", &["this is a pcap file", "; record the scheduler with"]);
    refused("{\"traceEvents\":[]}\n", &["this is HTML or JSON without scheduler events"]);
    refused(PERF.replace(" [000]", "").replace(" [001]", ""), &["events.txt:1: an event without its CPU; print it"]);
}
