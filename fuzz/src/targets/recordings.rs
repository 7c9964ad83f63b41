//! Recordings: texts of other tools, traces, and what guests send.

use super::languages::refused;
use crate::rng::Rng;
use crate::{Answer, Target};
use schedlab_guest::frame::{FrameReader, FrameWriter};
use schedlab_guest::message::Message;
use schedlab_import::testing::{self, Form, Packing};
use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::{CpuId, RoleId, TaskId};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Overhead, Reason, Sink, Untraced, WakeSource};
use schedlab_trace::{Header, Reader, Role, Writer};
use schedlab_venue::{Place, RoleBy};
use std::path::PathBuf;

const TEXT_WORDS: &[&str] = &[
    "sched_switch:",
    "sched_wakeup:",
    "sched_waking:",
    "sched_wakeup_new:",
    "sched_migrate_task:",
    "sched_process_fork:",
    "sched_process_exec:",
    "sched_process_exit:",
    " prev_pid=",
    " next_pid=",
    " prev_state=",
    " ==> ",
    "[001]",
    " 5.000001: ",
    "# tracer: nop\n",
    "CPU:1 [LOST 7 EVENTS]\n",
    "cpus=2\n",
    "version = 7\n",
    "sched_stat_runtime:",
    " runtime=",
    "==&gt;",
    "\\n",
    "{\"systemTraceEvents\":\"",
    "\n",
];

/// All of them.
pub fn all() -> Vec<Target> {
    vec![
        Target { name: "import", seeds: text_seeds, words: TEXT_WORDS, run: import },
        Target { name: "import-perf", seeds: perf_seeds, words: &[], run: import },
        Target { name: "import-trace", seeds: trace_cmd_seeds, words: &[], run: import },
        Target { name: "import-perfetto", seeds: perfetto_seeds, words: &[], run: import },
        Target {
            name: "parquet",
            seeds: || vec![story("t.parquet", 1), story("t.parquet", 2)],
            words: &[],
            run: parquet,
        },
        Target {
            name: "perfetto",
            seeds: || vec![story("t.pftrace", 1), story("t.pftrace", 2)],
            words: &[],
            run: perfetto,
        },
        Target { name: "trace-events", seeds: || (0..8).map(|seed| vec![seed; 64]).collect(), words: &[], run: events },
        Target { name: "frames", seeds: frame_seeds, words: &[], run: frames },
    ]
}

/// A folder of the process, and a file in it.
fn file(name: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("there is a folder for temporary files");
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("it can be written to");
    (folder, path)
}

fn text_seeds() -> Vec<Vec<u8>> {
    let perf = "  sh    12 [000] 5.000001: sched:sched_waking: comm=cat pid=13 prio=120 target_cpu=001\n\
  sh    12 [000] 5.000002: sched:sched_wakeup: comm=cat pid=13 prio=120 target_cpu=001\n\
  swapper     0 [001] 5.000003: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=cat next_pid=13 next_prio=120\n\
  cat    13 [001] 5.002003: sched:sched_switch: prev_comm=cat prev_pid=13 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120\n";
    let ftrace = "# tracer: nop\n#\n# entries-in-buffer/entries-written: 3/3   #P:2\n#\n\
              sh-12      [000] d..2.     5.000001: sched_waking: comm=cat pid=13 prio=120 target_cpu=001\n\
          <idle>-0       [001] d..2.     5.000003: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=cat next_pid=13 next_prio=120\n\
             cat-13      [001] d..2.     5.002003: sched_switch: prev_comm=cat prev_pid=13 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120\n";
    let trace_cmd = "cpus=2\n          <idle>-0     [001]     5.000003: sched_switch:         swapper/1:0 [120] R ==> cat:13 [120]\n\
             cat-13    [001]     5.002003: sched_switch:         cat:13 [120] S ==> swapper/1:0 [120]\n";
    let page = format!("<html>\n<script class=\"trace-data\">\n{}</script>\n", ftrace.replace("==>", "==&gt;"));
    let latency = "bash-12  1d..2. 16528us!: sched_switch: prev_comm=bash prev_pid=12 prev_prio=120 prev_state=1 next_comm=cat next_pid=13 \
        next_prio=120\n";
    [perf, ftrace, trace_cmd, &page, latency].map(|text| text.as_bytes().to_vec()).into()
}

/// A small recording as perf writes it.
fn perf_seeds() -> Vec<Vec<u8>> {
    vec![testing::perf_data(false), testing::perf_data(true), testing::perf_pipe()]
}

/// As trace-cmd writes it.
fn trace_cmd_seeds() -> Vec<Vec<u8>> {
    [Packing::Version6, Packing::None, Packing::Zstd].map(testing::trace_dat).into()
}

/// As Perfetto writes it, with switches as messages and in columns, and as schedlab itself writes traces.
fn perfetto_seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = [Form::Messages, Form::Compact, Form::Packed].map(testing::perfetto).into();
    seeds.push(story("t.pftrace", 1));
    seeds
}

/// A recording becomes a trace that all laws hold for, or a line; and it is never a defect of ours.
fn import(bytes: &[u8]) -> Answer {
    let (folder, text) = file("e.txt", bytes);
    let trace = folder.path().join("e.parquet");
    match schedlab_venue::import(&Place::of(&text), &trace, RoleBy::Thread) {
        Err(error) => {
            let line = error.to_string();
            assert!(!line.contains("defect"), "{line}");
            refused(line.replace(&text.display().to_string(), ""))
        }
        Ok(recording) => {
            let replay = schedlab_venue::replay(&trace).expect("what was written can be read");
            assert!(replay.findings.is_lawful(), "{:?}", replay.findings.reported);
            Answer::from((
                replay.findings.tasks.min(8),
                recording.result.roles.len().min(8),
                recording.wholeness.repaired.min(4),
            ))
        }
    }
}

fn parquet(bytes: &[u8]) -> Answer {
    trace("t.parquet", bytes)
}

fn perfetto(bytes: &[u8]) -> Answer {
    trace("t.pftrace", bytes)
}

/// A trace file is read to its end, checked and measured, or refused in a line.
fn trace(name: &str, bytes: &[u8]) -> Answer {
    let (_folder, path) = file(name, bytes);
    let line = |error: &dyn std::fmt::Display| refused(error.to_string().replace(&path.display().to_string(), ""));
    match schedlab_venue::replay(&path) {
        Err(error) => line(&error),
        Ok(replay) if !replay.findings.is_lawful() => Answer::of(&replay.findings.reported[0].to_string()),
        Ok(replay) => match schedlab_venue::remeasure(&path, |_| ()) {
            Err(error) => line(&error),
            Ok(_) => Answer::from((replay.findings.events.min(64), replay.findings.tasks.min(8))),
        },
    }
}

/// The bytes of a trace of any events, in the order of time.
fn story(name: &str, seed: u64) -> Vec<u8> {
    let (_folder, path) = file(name, b"");
    let mut rng = Rng::new(seed);
    write(&path, &(0..64).map(|_| rng.draw() as u8).collect::<Vec<_>>());
    std::fs::read(path).expect("it was written")
}

/// Events as bytes say: any task, CPU, reason and order, at times that never go back.
fn write(path: &std::path::Path, bytes: &[u8]) {
    let mut bytes = bytes.iter().copied().map(u64::from);
    let mut draw = |below: u64| bytes.next().unwrap_or(0) % below;
    let cpus = 1 + draw(4) as u32;
    let roles = (0..1 + draw(3)).map(|number| Role { name: format!("g{number}"), cpus: CpuSet::first(cpus) });
    let header = Header {
        scenario: "s".into(),
        policy: "rr".into(),
        venue: ["sim", "import", "host"][draw(3) as usize].into(),
        seed: 1,
        cpus,
        roles: roles.collect(),
        control_groups: Vec::new(),
        end: Time(1 << draw(63)),
        lost: draw(2),
        setting: None,
    };
    let mut writer = Writer::create(path, &header).expect("it can be written");
    let mut now = 0_u64;
    for _ in 0..draw(48) {
        now = now.saturating_add([0, 1, 1000, 1 << 20, 1 << 40, 1 << 61][draw(6) as usize]);
        let cpu = CpuId(draw(u64::from(cpus) + 1) as u32);
        let mut task = || TaskId([0, 1, 2, 3, 1000, u32::MAX - 1, u32::MAX][draw(7) as usize]);
        let (a, b) = (task(), task());
        let some = |task: TaskId, none: u64| (none > 0).then_some(task);
        let kind = match draw(10) {
            0 => EventKind::Fork { task: a, role: RoleId(draw(4) as u32), parent: some(b, draw(2)) },
            1 => EventKind::Wakeup {
                task: a,
                target: CpuId(draw(5) as u32),
                waker: some(b, draw(2)),
                source: WakeSource::Fork,
            },
            2..=4 => {
                let reasons = [
                    Reason::Idle,
                    Reason::Preempted,
                    Reason::Blocked,
                    Reason::Exited,
                    Reason::Yielded,
                    Reason::SliceEnd,
                ];
                EventKind::Switch {
                    previous: some(a, draw(2)),
                    reason: reasons[draw(6) as usize],
                    next: some(b, draw(2)),
                }
            }
            5 => EventKind::Exit { task: a },
            6 => EventKind::Migrate { task: a, from: CpuId(draw(5) as u32), to: CpuId(draw(5) as u32) },
            7 => EventKind::RequestBegin { task: a, intended: Time(now.saturating_sub(draw(9))), request: None },
            8 => EventKind::Overhead {
                what: Overhead::Switch,
                length: Time([0, 1, 1 << 20, u64::MAX][draw(4) as usize]),
            },
            _ => EventKind::Untraced { what: [Untraced::Idle, Untraced::Unknown][draw(2) as usize] },
        };
        writer.event(&Event { time: Time(now), cpu, kind });
    }
    writer.finish(header.end);
    writer.close().expect("it can be written");
}

/// Any events in a whole file are checked, and measured if they can have happened.
fn events(bytes: &[u8]) -> Answer {
    let (_folder, path) = file("t.parquet", b"");
    write(&path, bytes);
    let read = Reader::open(&path).map(|reader| reader.count());
    let answer = trace("t.parquet", &std::fs::read(&path).expect("it was written"));
    Answer::from((answer, read.map_or(0, |events| events.min(16))))
}

fn frame_seeds() -> Vec<Vec<u8>> {
    let sent = |messages: &[Message]| {
        let mut bytes = Vec::new();
        let mut writer = FrameWriter::new(&mut bytes);
        messages.iter().for_each(|message| writer.send(message).expect("a vector takes everything"));
        bytes
    };
    vec![sent(&[Message::Begun { at_ns: 1 }, Message::Begun { at_ns: 2 }]), sent(&[Message::Begun { at_ns: u64::MAX }])]
}

/// Bytes of a guest, all at once and one by one, tell the same.
fn frames(bytes: &[u8]) -> Answer {
    let told = |mut reader: FrameReader, chunk: usize| {
        let (mut count, mut error) = (0_u64, None);
        for part in bytes.chunks(chunk) {
            reader.push(part);
            while error.is_none() {
                match reader.take() {
                    Ok(Some(_)) => count += 1,
                    Ok(None) => break,
                    Err(wrong) => error = Some(wrong.to_string()),
                }
            }
        }
        (count, error)
    };
    let whole = told(FrameReader::default(), usize::MAX);
    assert_eq!(whole, told(FrameReader::default(), 1), "how bytes come makes no difference");
    told(FrameReader::amid_noise(), 7);
    Answer::from((whole.0.min(8), whole.1.map(|error| Answer::of(&error))))
}
