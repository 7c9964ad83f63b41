//! The library that reads Parquet panics on some damaged files. Alone in its program, since a panic hook is for all tests.

use schedlab_boundary::library::is_guarded;
use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::{CpuId, RoleId, TaskId};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Sink};
use schedlab_trace::{Header, Reader, Role, Writer};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

static GUARDED: AtomicU32 = AtomicU32::new(0);
static LOUD: AtomicU32 = AtomicU32::new(0);

fn write(path: &Path) {
    let header = Header {
        scenario: "s".into(),
        policy: "rr".into(),
        venue: "sim".into(),
        seed: 1,
        cpus: 1,
        roles: vec![Role { name: "worker".into(), cpus: CpuSet::first(1) }],
        control_groups: Vec::new(),
        end: Time(100),
        lost: 0,
        setting: None,
    };
    let mut writer = Writer::create(path, &header).unwrap();
    for number in 0..8 {
        let kind = EventKind::Fork { task: TaskId(number), role: RoleId(0), parent: None };
        writer.event(&Event { time: Time(u64::from(number)), cpu: CpuId(0), kind });
    }
    writer.finish(header.end);
    writer.close().unwrap();
}

/// Whichever byte is wrong: no panic but those that become errors, some of which there are.
#[test]
fn a_file_with_a_wrong_byte_is_read_or_refused_in_silence() {
    std::panic::set_hook(Box::new(|_| {
        (if is_guarded() { &GUARDED } else { &LOUD }).fetch_add(1, Relaxed);
    }));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    write(&path);
    let whole = std::fs::read(&path).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    for at in 0..whole.len() {
        for wrong in [0xff, 0x7f, 0x00, whole[at] ^ 1] {
            file.write_all_at(&[wrong], at as u64).unwrap();
            if let Ok(reader) = Reader::open(&path) {
                reader.take_while(Result::is_ok).for_each(drop);
            }
        }
        file.write_all_at(&whole[at..=at], at as u64).unwrap();
    }
    let _ = std::panic::take_hook();
    assert_eq!(LOUD.load(Relaxed), 0);
    assert!(
        GUARDED.load(Relaxed) > 0,
        "{} bytes, each wrong in four ways, and the library never panicked",
        whole.len()
    );
}
