//! Untrusted input: a terminal obeys none of it, no name in it leaves a folder, and where a file is wanted
//! nothing else is waited for.

use crate::endings::STUDY;
use crate::lab::{Lab, Output, SMALL};
use schedlab_boundary::is_hidden;
use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::{CpuId, RoleId, TaskId};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Reason, Sink, WakeSource};
use schedlab_policy::catalog;
use schedlab_trace::{Header, Role, Writer};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::time::{Duration, Instant};

/// Escapes, a title, C1, marks that turn text around, no width, a line of its own, a return, a bell.
const EVIL: &str = "a\u{1b}[31m\u{1b}]0;t\u{7}\u{9b}2J\u{202e}b\u{200b}\nschedlab: done\rc\u{8}\u{e0041}\u{feff}";
/// The same in TOML and JSON.
const ESCAPED: &str = "a\\u001b[31m\\u001b]0;t\\u0007\\u009b2J\\u202eb\\u200b\\nschedlab: done\\rc\\u0008\\ufeff";

const SWEEP: &str = "name = \"s\"\nabout = \"CPUs.\"\npolicy = \"rr\"\nscenario = \"small.toml\"\n\
                     measures = [\"throughput_per_s\"]\n[axis]\n\"machine.cpus\" = [1, 2]\n";

const PERF: &str = "\
  sh    12 [000] 5.000001: sched:sched_waking: comm=EVIL pid=13 prio=120 target_cpu=001
  sh    12 [000] 5.000002: sched:sched_wakeup: comm=EVIL pid=13 prio=120 target_cpu=001
  swapper     0 [001] 5.000003: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=EVIL next_pid=13 next_prio=120
  EVIL    13 [001] 5.002003: sched:sched_switch: prev_comm=EVIL prev_pid=13 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
";

const RT_APP: &str = r#"{ "tasks": { "t": { "instance": 1, "loop": 1, "run": 1000 } }, "global": { "duration": 1 } }"#;

/// Whether everything that was printed is short and can be seen, and each line on standard error that looks like ours is.
fn harmless(what: &str, output: &Output) {
    for text in [&output.out, &output.err] {
        let hidden = text.chars().find(|&letter| letter != '\n' && is_hidden(letter));
        assert_eq!(hidden, None, "{what}: {text:?}");
        assert!(!text.lines().any(|line| line.starts_with("schedlab: done")), "{what}: {text}");
        assert!(text.len() < 40_000, "{what}: {} bytes", text.len());
    }
    assert!(output.code.is_some_and(|code| code != 101), "{what}: {}", output.err);
    assert!(!output.err.contains("a defect of"), "{what}: {}", output.err);
}

/// A line of a text with something else in it.
fn with(text: &str, part: &str, other: &str) -> String {
    assert!(text.contains(part), "{part}");
    text.replacen(part, other, 1)
}

#[test]
fn words_in_files_are_not_obeyed() {
    let long = "n".repeat(1 << 20);
    for (which, word) in [("evil", ESCAPED), ("long", long.as_str())] {
        let quoted = format!("\"{word}\"");
        let texts = [
            ("the scenario's name", with(SMALL, "\"small\"", &quoted)),
            ("what it is about", with(SMALL, "\"Two tasks take turns.\"", &quoted)),
            ("a task's name", with(SMALL, "\"worker\"", &quoted)),
            ("a semaphore", with(SMALL, "{ compute = \"30ms\" }", &format!("{{ wait = {quoted} }}"))),
            ("a channel", with(SMALL, "{ compute = \"30ms\" }", &format!("{{ send = {quoted} }}"))),
            ("a declared lock", format!("{SMALL}\n[lock.{quoted}]\n")),
            ("a key", format!("{SMALL}\n{quoted} = 1\n")),
            ("a key of a step", with(SMALL, "{ compute = \"30ms\" }", &format!("{{ {quoted} = \"30ms\" }}"))),
            ("a class", with(SMALL, "count = 2", &format!("class = {quoted}"))),
            ("a time", with(SMALL, "\"2s\"", &quoted)),
            ("a distribution", with(SMALL, "exp(5ms)", word)),
            ("a set of CPUs", with(SMALL, "count = 2", &format!("cpus = {quoted}"))),
            ("a topology", with(SMALL, "cpus = 1", &format!("topology = {quoted}"))),
            ("a spawned task", with(SMALL, "{ compute = \"30ms\" }", &format!("{{ spawn = {quoted} }}"))),
            (
                "a program",
                with(
                    SMALL,
                    "loop = [{ compute = \"30ms\" }, { sleep = \"exp(5ms)\" }]",
                    &format!("command = [{quoted}]"),
                ),
            ),
            ("no TOML", format!("name = {word}\n")),
        ];
        for (what, text) in texts {
            let lab = Lab::new();
            lab.write("s.toml", text);
            for venue in ["sim", "host"] {
                let output = lab.run(&["run", "s.toml", "--policy", "kernel", "--venue", venue, "--duration", "1ms"]);
                harmless(&format!("{which}: {what}"), &output);
            }
            harmless(&format!("{which}: {what}"), &lab.run(&["run", "s.toml", "--policy", "rr", "--tasks"]));
            harmless(&format!("{which}: {what}"), &lab.run(&["scenarios", "export", "s.toml"]));
        }
    }
}

#[test]
fn raw_bytes_in_files_are_not_obeyed() {
    let lab = Lab::new();
    for (file, verb) in [("s.toml", "run"), ("s.toml", "study"), ("s.toml", "sweep"), ("s.json", "import")] {
        for text in
            [format!("name = \"{EVIL}\"\n"), format!("# {EVIL}\nname = 1"), format!("{EVIL} = 1\n"), EVIL.into()]
        {
            lab.write(file, &text);
            let output = match verb {
                "run" => lab.run(&["run", file, "--policy", "rr"]),
                "import" => lab.run(&["scenarios", "import", file]),
                verb => lab.run(&[verb, file]),
            };
            harmless(&format!("{verb} of {text:?}"), &output);
            assert_eq!(output.code, Some(2), "{verb} of {text:?}: {}", output.out);
        }
    }
}

#[test]
fn words_of_studies_sweeps_machines_and_rt_app_are_not_obeyed() {
    let lab = Lab::with_small();
    let long = "n".repeat(1 << 20);
    for word in [ESCAPED, &long] {
        for part in [
            "\"s\"",
            "\"T\"",
            "\"G.\"",
            "\"q\"",
            "\"How many?\"",
            "\"Two in 60 ms.\"",
            "\"r\"",
            "\"throughput\"",
            "\"rr\"",
        ] {
            lab.write("study.toml", with(STUDY, part, &format!("\"{word}\"")));
            harmless(&format!("study: {part}"), &lab.run(&["study", "study.toml", "-o", "out"]));
        }
        for part in ["\"s\"", "\"CPUs.\"", "\"rr\"", "\"small.toml\"", "\"throughput_per_s\"", "\"machine.cpus\""] {
            lab.write("sweep.toml", with(SWEEP, part, &format!("\"{word}\"")));
            harmless(&format!("sweep: {part}"), &lab.run(&["sweep", "sweep.toml"]));
        }
        lab.write("machine.toml", format!("about = \"{word}\"\n[costs]\nswitch = \"{word}\"\n"));
        harmless("machine", &lab.run(&["run", "small.toml", "--policy", "rr", "--machine", "machine.toml"]));
        for part in ["\"t\"", "\"run\"", "\"instance\""] {
            lab.write("app.json", with(RT_APP, part, &format!("\"{word}\"")));
            harmless(&format!("rt-app: {part}"), &lab.run(&["scenarios", "import", "app.json"]));
        }
    }
}

#[test]
fn words_of_the_command_line_and_names_of_files_are_not_obeyed() {
    let lab = Lab::with_small();
    let name = EVIL.replace('/', "");
    for extension in [".toml", ".bpf.c", ".bpf.o", ".parquet", ".txt", ".json"] {
        lab.write(&format!("{name}{extension}"), SMALL);
    }
    let file = |extension: &str| format!("./{name}{extension}");
    for args in [
        vec!["run", EVIL, "--policy", "rr"],
        vec!["run", "small.toml", "--policy", EVIL],
        vec!["run", "small.toml", "--policy", "rr", "--cpus", EVIL],
        vec!["run", "small.toml", "--policy", "rr", "--trace", &file("/none/x.parquet")],
        vec!["run", "small.toml", "--policy", &format!("rr:{EVIL}=1")],
        vec!["run", &file(".toml"), "--policy", "rr", "--tick", "x"],
        vec!["run", "small.toml", "--policy", &file(".bpf.c")],
        vec!["run", "small.toml", "--policy", &file(".bpf.o")],
        vec!["compare", "small.toml", "--policy", "rr", "--vary", &format!("{EVIL}=1")],
        vec!["policies", EVIL],
        vec!["policies", "new", EVIL],
        vec!["scenarios", EVIL],
        vec!["scenarios", "--family", EVIL],
        vec!["study", EVIL],
        vec!["sweep", &file(".json")],
        vec!["check", &file(".parquet")],
        vec!["trace", &file(".parquet"), "latency"],
        vec!["import", &file(".txt")],
        vec!["report", &file(".json")],
        vec!["agreement", EVIL, "--policy", "rr"],
        vec!["vm", "kernels", "--fetch", EVIL],
        vec![EVIL],
        vec!["record", "--ring", EVIL, "--", "true"],
        vec!["record", "--", EVIL],
        vec!["load", EVIL],
        vec!["calibrate", "--load", EVIL],
        vec!["schema", EVIL],
    ] {
        let output = lab.run(&args);
        harmless(&format!("{args:?}"), &output);
        assert_ne!(output.code, Some(0), "{args:?}");
    }
}

/// A trace with `word` for every name in its header.
fn trace(lab: &Lab, file: &str, word: &str) {
    let role = Role { name: word.into(), cpus: CpuSet::first(1) };
    let header = Header {
        scenario: word.into(),
        policy: word.into(),
        venue: word.into(),
        seed: 1,
        cpus: 1,
        roles: vec![role],
        control_groups: Vec::new(),
        end: Time::from_ms(20),
        lost: 0,
        setting: None,
    };
    let (task, cpu) = (TaskId(0), CpuId(0));
    let wakeup = EventKind::Wakeup { task, target: cpu, waker: None, source: WakeSource::Fork };
    let switch = |previous, reason, next| EventKind::Switch { previous, reason, next };
    let mut writer = Writer::create(lab.path(file), &header).unwrap();
    for (ms, kind) in [
        (0, EventKind::Fork { task, role: RoleId(0), parent: None }),
        (0, wakeup),
        (0, switch(None, Reason::Idle, Some(task))),
        (10, EventKind::Exit { task }),
        (10, switch(Some(task), Reason::Exited, None)),
    ] {
        writer.event(&Event { time: Time::from_ms(ms), cpu, kind });
    }
    writer.finish(header.end);
    writer.close().unwrap();
}

#[test]
fn names_inside_of_received_traces_and_results_are_not_obeyed() {
    let lab = Lab::with_small();
    let long = "n".repeat(1 << 20);
    for (word, file) in [(EVIL, "t.parquet"), (EVIL, "t.pftrace"), (&long, "long.parquet"), (&long, "long.pftrace")] {
        trace(&lab, file, word);
        for args in [
            vec!["check", file],
            vec!["trace", file],
            vec!["trace", file, "latency", "--tasks"],
            vec!["trace", file, "queue"],
            vec!["trace", file, "timeline"],
            vec!["trace", file, "status"],
            vec!["trace", file, "timeline", "-o", "copy.pftrace"],
            vec!["report", file, "-o", "page.html"],
        ] {
            harmless(&format!("{args:?}"), &lab.run(&args));
        }
        let page = std::fs::read_to_string(lab.path("page.html")).unwrap();
        assert!(!page.contains(['\u{1b}', '\u{202e}', '\u{9b}']) && page.len() < 8 << 20, "{file}: {}", page.len());
    }
    let result = lab.out(&["run", "small.toml", "--policy", "rr", "--json"]);
    for part in ["\"small\"", "\"rr\"", "\"worker\"", "\"sim\""] {
        lab.write("result.json", result.replace(part, &format!("\"{ESCAPED}\"")));
        harmless(&format!("report: {part}"), &lab.run(&["report", "result.json", "-o", "page.html"]));
        lab.write("other.json", &result);
        harmless(&format!("reports: {part}"), &lab.run(&["report", "result.json", "other.json", "-o", "page.html"]));
    }
    lab.write("result.json", result.replace("\"sim\"", &format!("\"{long}\"")));
    harmless("a long word", &lab.run(&["report", "result.json", "-o", "page.html"]));
}

#[test]
fn names_of_recorded_tasks_are_not_obeyed() {
    let lab = Lab::new();
    for word in [EVIL, "\u{1b}[31m", "\u{202e}x", "\u{1b}]0;t\u{7}"] {
        lab.write("events.txt", PERF.replace("EVIL", &word.replace('\n', " ")));
        harmless(&format!("import {word:?}"), &lab.run(&["import", "events.txt"]));
        harmless(&format!("trace of {word:?}"), &lab.run(&["trace", "events.parquet", "latency", "--tasks"]));
    }
}

#[test]
fn words_of_objects_and_sources_are_not_obeyed() {
    let lab = Lab::with_small();
    let rr = catalog().iter().find(|policy| policy.name == "rr").unwrap();
    for (from, to) in [
        (&b"GPL"[..], &b"\x1b[m"[..]),
        (b"rr_ops", b"\x1b]0;t\x07"),
        (b"schedlab_status", b"\xe2\x80\xaeb\x1b[31mxxxxxxx"),
        (b"struct_ops", b"stru\x1b[31ms"),
    ] {
        let mut object = rr.object.to_vec();
        for at in 0..object.len() - from.len() {
            if object[at..].starts_with(from) {
                object[at..at + from.len().min(to.len())].copy_from_slice(&to[..from.len().min(to.len())]);
            }
        }
        lab.write("evil.bpf.o", &object);
        harmless(&format!("{from:?}"), &lab.run(&["policies", "./evil.bpf.o"]));
        harmless(&format!("{from:?}"), &lab.run(&["run", "small.toml", "--policy", "./evil.bpf.o"]));
    }
    let source = format!("#error \u{1b}[31m\u{202e}{}\n", "e".repeat(1 << 20));
    lab.write("evil.bpf.c", source);
    harmless("a source", &lab.run(&["policies", "./evil.bpf.c"]));
}

#[test]
fn json_is_escaped_and_says_the_same() {
    let lab = Lab::with_small();
    let json = lab.out(&["run", "small.toml", "--policy", "rr", "--json"]);
    assert!(json.contains("\"small\"") && json.is_ascii());
    serde_json::from_str::<serde_json::Value>(&json).unwrap();
}

#[test]
fn a_name_of_a_study_stays_in_its_folder() {
    for name in ["../escaped", "/escaped", "a/b", "..", ".hidden", "", "-o", "a b", "a\\nb"] {
        let lab = Lab::new();
        lab.write("in/study.toml", with(STUDY, "\"s\"", &format!("\"{name}\"")));
        let output = lab.run(&["study", "in/study.toml", "-o", "in/out"]);
        assert_eq!((output.code, lab.files()), (Some(2), vec!["in".into()]), "{name}: {}", output.err);
        assert!(output.err.starts_with("schedlab: in/study.toml:2:8: "), "{name}: {}", output.err);
    }
}

/// The program with a little memory, ended when it waits for something.
fn run_limited(lab: &Lab, args: &[&str]) -> Output {
    let mut command = lab.command(args);
    // SAFETY: the child makes a system call before it becomes the program.
    unsafe {
        command.pre_exec(|| {
            let limit = libc::rlimit { rlim_cur: 6 << 30, rlim_max: 6 << 30 };
            libc::setrlimit(libc::RLIMIT_AS, &limit);
            Ok(())
        });
    }
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let (pid, begun) = (child.id() as i32, Instant::now());
    let (done, wait) = std::sync::mpsc::channel::<()>();
    let killer = std::thread::spawn(move || {
        if wait.recv_timeout(Duration::from_secs(60)) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            // SAFETY: our own child, which is waited for only afterwards.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    });
    let output = child.wait_with_output().unwrap();
    drop(done);
    killer.join().unwrap();
    assert!(output.status.code().is_some(), "{args:?} waited {:?}", begun.elapsed());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Output { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn only_files_are_taken_for_files() {
    let lab = Lab::with_small();
    let fifo = std::ffi::CString::new(lab.path("fifo").to_str().unwrap()).unwrap();
    // SAFETY: a string with its end.
    assert_eq!(unsafe { libc::mkfifo(fifo.as_ptr(), 0o600) }, 0);
    let _socket = std::os::unix::net::UnixListener::bind(lab.path("socket")).unwrap();
    std::fs::File::create(lab.path("hole")).unwrap().set_len(1 << 40).unwrap();
    for (what, target) in
        [("a pipe", "fifo"), ("endless", "/dev/zero"), ("a socket", "socket"), ("a hole", "hole"), ("a folder", ".")]
    {
        let extensions = [".toml", ".bpf.c", ".bpf.o", ".parquet", ".txt", ".json", ".md"];
        for extension in extensions {
            let link = lab.path(&format!("x{extension}"));
            let _ = std::fs::remove_file(&link);
            let target = if target == "." { lab.path("") } else { lab.path(target) };
            symlink(target, link).unwrap();
        }
        for args in [
            &["run", "./x.toml", "--policy", "rr"][..],
            &["compare", "./x.toml", "--policy", "rr,fcfs"],
            &["run", "small.toml", "--policy", "rr", "--machine", "./x.toml"],
            &["run", "small.toml", "--policy", "./x.bpf.c"],
            &["run", "small.toml", "--policy", "./x.bpf.o"],
            &["run", "small.toml", "--policy", "kernel", "--venue", "vm", "--kernel", "./x.toml"],
            &["policies", "./x.bpf.c"],
            &["policies", "./x.bpf.o"],
            &["load", "./x.bpf.o"],
            &["scenarios", "import", "./x.json"],
            &["scenarios", "export", "./x.toml"],
            &["study", "./x.toml"],
            &["sweep", "./x.toml"],
            &["agreement", "./x.toml", "--policy", "rr"],
            &["agreement", "small.toml", "--policy", "rr", "--markdown", "./x.md#s"],
            &["report", "./x.json"],
            &["report", "./x.parquet"],
            &["check", "./x.parquet"],
            &["trace", "./x.parquet", "latency"],
            &["import", "./x.txt"],
        ] {
            let output = run_limited(&lab, args);
            harmless(&format!("{what}: {args:?}"), &output);
            assert!(output.code != Some(0) && output.out.is_empty(), "{what}: {args:?}: {}", output.out);
            assert_eq!(output.err.lines().count(), 1, "{what}: {args:?}: {}", output.err);
        }
    }
}

#[test]
fn a_source_that_includes_what_does_not_end_does_not_wait() {
    let lab = Lab::with_small();
    for include in ["/dev/zero", "/dev/urandom"] {
        lab.write("x.bpf.c", format!("#include \"{include}\"\n"));
        let output = run_limited(&lab, &["policies", "./x.bpf.c"]);
        harmless(include, &output);
        assert_eq!(output.code, Some(2), "{include}: {}", output.err);
    }
    lab.write("x.bpf.c", "#include \"x.bpf.c\"\n#include \"x.bpf.c\"\n");
    assert_eq!(run_limited(&lab, &["policies", "./x.bpf.c"]).code, Some(2));
}
