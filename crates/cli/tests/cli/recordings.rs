//! Recordings that cannot have happened, or that take more than a machine has: one line, soon.

use crate::lab::{Lab, Output};
use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::{CpuId, RoleId, TaskId};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Reason, Sink, WakeSource};
use schedlab_trace::{Header, Role, Writer};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// A trace of one task that runs from the first to the last of these times.
fn trace(lab: &Lab, file: &str, [begin, end]: [u64; 2], roles: usize, cpus: u32) {
    let role = |number: usize| Role { name: format!("g{number}"), cpus: CpuSet::first(cpus) };
    let header = Header {
        scenario: "s".into(),
        policy: "rr".into(),
        venue: "import".into(),
        seed: 1,
        cpus,
        roles: (0..roles).map(role).collect(),
        control_groups: Vec::new(),
        end: Time(end),
        lost: 0,
        setting: None,
    };
    let (task, cpu) = (TaskId(0), CpuId(0));
    let switch = |previous, reason, next| EventKind::Switch { previous, reason, next };
    let mut writer = Writer::create(lab.path(file), &header).unwrap();
    for (ns, kind) in [
        (begin, EventKind::Fork { task, role: RoleId(0), parent: None }),
        (begin, EventKind::Wakeup { task, target: cpu, waker: None, source: WakeSource::Fork }),
        (begin, switch(None, Reason::Idle, Some(task))),
        (end, EventKind::Tick),
        (end, EventKind::Exit { task }),
        (end, switch(Some(task), Reason::Exited, None)),
    ] {
        writer.event(&Event { time: Time(ns), cpu, kind });
    }
    writer.finish(header.end);
    writer.close().unwrap();
}

/// All that looks at a trace.
fn views(file: &str) -> [Vec<&str>; 7] {
    [
        vec!["check", file],
        vec!["trace", file],
        vec!["trace", file, "latency"],
        vec!["trace", file, "queue"],
        vec!["trace", file, "status"],
        vec!["trace", file, "timeline"],
        vec!["report", file, "-o", "page.html"],
    ]
}

/// What a program says within a time in which it reads any trace of a few events.
fn soon(lab: &Lab, args: &[&str]) -> Output {
    let mut command = lab.command(args);
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let (pid, begun) = (child.id().to_string(), Instant::now());
    let output = std::thread::scope(|scope| {
        let (done, wait) = std::sync::mpsc::channel::<()>();
        scope.spawn(move || {
            if wait.recv_timeout(Duration::from_secs(60)).is_err_and(|why| why == RecvTimeoutError::Timeout) {
                std::process::Command::new("kill").args(["-9", &pid]).status().unwrap();
            }
        });
        let output = child.wait_with_output().unwrap();
        drop(done);
        output
    });
    assert!(output.status.code().is_some(), "{args:?} was at it for {:?}", begun.elapsed());
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Output { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// Each view refuses a trace in a line with this part.
fn refused(lab: &Lab, file: &str, part: &str) {
    for args in views(file) {
        let output = soon(lab, &args);
        assert!(output.code.is_some_and(|code| code == 1 || code == 2), "{args:?}: {output:?}");
        assert_eq!(output.err.lines().count(), 1, "{args:?}: {}", output.err);
        assert!(output.err.contains(part) && !output.err.contains("defect"), "{args:?}: {}", output.err);
    }
}

#[test]
fn a_trace_of_no_time_or_no_machine_is_refused_by_all() {
    let lab = Lab::new();
    let latest = Time::LATEST.ns();
    for (name, times, roles, cpus, part) in [
        ("end", [0, u64::MAX], 1, 1, "when no clock runs"),
        ("after", [0, latest + 1], 1, 1, "when no clock runs"),
        ("late", [u64::MAX, u64::MAX], 1, 1, "when no clock runs"),
        ("wide", [0, 1_000_000_000], 200_000, 4096, "200000 roles, and 4096 is the most"),
        ("roles", [0, 1_000_000_000], 4097, 1, "4097 roles"),
    ] {
        for extension in ["parquet", "pftrace"] {
            let file = format!("{name}.{extension}");
            trace(&lab, &file, times, roles, cpus);
            refused(&lab, &file, part);
        }
    }
}

#[test]
fn the_largest_traces_are_shown() {
    let lab = Lab::new();
    for (times, roles, cpus) in [([0, Time::LATEST.ns()], 1, 1), ([0, 1_000_000_000], 4096, 1), ([7, 8], 8, 4096)] {
        trace(&lab, "t.parquet", times, roles, cpus);
        for args in views("t.parquet") {
            let output = soon(&lab, &args);
            assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{args:?}: {}", output.out);
        }
    }
}

const SWITCH: &str = "  sh    12 [000] 5.000001: sched:sched_switch: prev_comm=sh prev_pid=12 prev_prio=120 prev_state=S ==> \
                      next_comm=cat next_pid=13 next_prio=120\n";

#[test]
fn texts_of_what_cannot_have_happened_are_told_by_their_line() {
    let lab = Lab::new();
    let back = SWITCH.replace("5.000001", "6.5").replace("pid=12", "pid=1").replace("pid=13", "pid=12");
    for (text, part) in [
        (SWITCH.replace("next_pid=13", "next_pid=12"), "e.txt:1: task 12 switches to itself"),
        (
            SWITCH.to_string() + &SWITCH.replace("pid=12", "pid=13").replace("5.0", "6.0"),
            "e.txt:2: task 13 switches to itself",
        ),
        (SWITCH.replace("5.000001", "4611686019.000001"), "e.txt:1: no clock shows 4611686019.000001000 s"),
        (SWITCH.replace("5.000001", "18446744073.709551615"), "e.txt:1: no clock shows"),
        (SWITCH.replace("5.000001", "99999999999999999999.0"), "e.txt:1: "),
        (
            "  sh 12 [000] 5.000001: sched:sched_process_fork: comm=sh pid=12 child_comm=sh child_pid=12\n".into(),
            "its own parent",
        ),
        (back.clone() + &back.replace("6.5", "5.5"), "e.txt:2: time goes back"),
    ] {
        lab.write("e.txt", &text);
        let output = soon(&lab, &["import", "e.txt"]);
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{text}: {}", output.err);
        assert!(output.err.contains(part), "{text}: {}", output.err);
        assert_eq!(lab.files(), ["e.txt"]);
    }
}

/// Lines in any order of tasks and CPUs, from a seed: what no scheduler does, and each an event that one could tell.
fn any_text(mut seed: u64, lines: u32) -> String {
    let mut draw = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut text = String::new();
    let mut us = 5_000_000;
    for _ in 0..lines {
        us += draw(3);
        let (cpu, a, b, target) = (draw(3), draw(5), draw(5), draw(4));
        let state = ["R", "S", "D", "X", "R+", "Z"][draw(6) as usize];
        let event = match draw(7) {
            0..=2 => format!(
                "sched_switch: prev_comm=t{a} prev_pid={a} prev_prio=120 prev_state={state} ==> next_comm=t{b} next_pid={} next_prio=120",
                if a == b { 0 } else { b }
            ),
            3 => format!("sched_wakeup: comm=t{a} pid={a} prio=120 target_cpu={target:03}"),
            4 => format!("sched_wakeup_new: comm=t{a} pid={a} prio=120 target_cpu={target:03}"),
            5 => format!("sched_migrate_task: comm=t{a} pid={a} prio=120 orig_cpu={cpu} dest_cpu={target}"),
            _ if a == b => format!("sched_process_exit: comm=t{a} pid={a} prio=120"),
            _ => format!("sched_process_fork: comm=t{a} pid={a} child_comm=t{b} child_pid={b}"),
        };
        text += &format!("  t{b} {b} [{cpu:03}] {}.{:06}: sched:{event}\n", us / 1_000_000, us % 1_000_000);
    }
    text
}

#[test]
fn any_text_of_events_becomes_a_lawful_trace_or_is_told() {
    let lab = Lab::new();
    let mut traces = 0;
    for seed in 0..60 {
        lab.write("e.txt", any_text(seed, 40));
        let output = soon(&lab, &["import", "e.txt"]);
        assert!(!output.err.contains("defect"), "{seed}: {}", output.err);
        if output.code == Some(0) {
            traces += 1;
            assert!(lab.out(&["check", "e.parquet"]).contains("no invariant is violated"), "{seed}");
            assert_eq!(soon(&lab, &["report", "e.parquet", "-o", "page.html"]).code, Some(0), "{seed}");
        }
    }
    assert!(traces > 30, "{traces} of 60 became traces");
}
