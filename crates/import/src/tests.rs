//! One recording means the same in every format.

use crate::testing::{Form, Packing, perf_data, perf_pipe, perf_text, perfetto, trace_dat};
use crate::{Place, Told, read};
use schedlab_record::{Record, RecordKind, Waker};

fn told(bytes: &[u8]) -> Result<(Told, Vec<Record>), String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recording");
    std::fs::write(&path, bytes).unwrap();
    let mut records = Vec::new();
    let told = read(&Place::of(&path), folder.path(), |record| records.push(*record));
    told.map(|told| (told, records)).map_err(|error| error.to_string().replace(&path.display().to_string(), "it"))
}

#[test]
fn perf_trace_cmd_and_perfetto_tell_the_same_to_the_nanosecond() {
    let (expected, records) = told(&trace_dat(Packing::Version6)).unwrap();
    assert_eq!((expected.start_ns, expected.end_ns, records.len()), (5_000_001_001, 5_000_099_991, 15));
    for (name, bytes) in [
        ("perf.data", perf_data(false)),
        ("perf.data, compressed", perf_data(true)),
        ("perf.data from a pipe", perf_pipe()),
        ("trace.dat 7", trace_dat(Packing::None)),
        ("trace.dat 7, compressed", trace_dat(Packing::Zstd)),
    ] {
        let (other, others) = told(&bytes).unwrap();
        let same = |told: &Told| (told.start_ns, told.end_ns, told.before.clone(), told.has_wakeups, told.lost);
        assert_eq!((same(&other), others), (same(&expected), records.clone()), "{name}");
    }
    // Perfetto has no account of CPU time, which is the first to name the shell.
    let is_step = |record: &&Record| !matches!(record.kind, RecordKind::Ran { .. } | RecordKind::Rename { .. });
    let steps = |records: &[Record]| records.iter().filter(is_step).copied().collect::<Vec<_>>();
    for form in [Form::Messages, Form::Packed] {
        assert_eq!(steps(&told(&perfetto(form)).unwrap().1), steps(&records), "{form:?}");
    }
}

#[test]
fn a_text_tells_less_of_who_woke_whom_and_nothing_else() {
    let (_, records) = told(&perf_data(false)).unwrap();
    let unsaid = |record: &Record| match record.kind {
        RecordKind::Wakeup { thread, target, new, .. } => {
            Record { kind: RecordKind::Wakeup { thread, target, waker: Waker::Unknown, new }, ..*record }
        }
        _ => *record,
    };
    let without_wakers = |records: &[Record]| records.iter().map(unsaid).collect::<Vec<_>>();
    let (_, text) = told(perf_text().as_bytes()).unwrap();
    assert_eq!(without_wakers(&text), without_wakers(&records));
    let wakers = |records: &[Record]| -> Vec<Waker> {
        let waker = |record: &Record| match record.kind {
            RecordKind::Wakeup { waker, .. } => Some(waker),
            _ => None,
        };
        records.iter().filter_map(waker).collect()
    };
    assert_eq!(wakers(&records), [Waker::Task(12), Waker::Interrupt, Waker::Task(13)]);
}

#[test]
fn columns_leave_out_who_left_and_who_woke() {
    let switches = |bytes: &[u8]| -> Vec<(u64, i32)> {
        let came = |record: &Record| match record.kind {
            RecordKind::Switch { next, .. } => Some((record.time_ns, next.tid)),
            _ => None,
        };
        told(bytes).unwrap().1.iter().filter_map(came).collect()
    };
    assert_eq!(switches(&perfetto(Form::Compact)), switches(&perfetto(Form::Messages)));
    let (_, records) = told(&perfetto(Form::Compact)).unwrap();
    // The waker is the task that came last, or an interrupt.
    let waker = records.iter().filter_map(|record| match record.kind {
        RecordKind::Wakeup { thread, waker, .. } => Some((thread.tid, waker)),
        _ => None,
    });
    assert_eq!(waker.collect::<Vec<_>>(), [(13, Waker::Task(12)), (7, Waker::Interrupt), (12, Waker::Task(13))]);
}

#[test]
fn what_was_overwritten_before_a_cpus_first_page_is_no_loss() {
    let mut bytes = trace_dat(Packing::Version6);
    // The kernel marks the oldest page, too: here that of CPU 1, the last of the file.
    let commit = bytes.len() - 4096 + 8 + 3;
    bytes[commit] |= 0x80;
    let (told, _) = told(&bytes).unwrap();
    assert_eq!((told.lost, told.overwritten), (0, 1));
    assert_eq!((told.first_ns, told.start_ns), (5_000_001_001, 5_000_003_007));
}

/// The small `perf.data` with another flag of its event.
fn flagged(flag: u64) -> Vec<u8> {
    const FLAGS_AT: usize = 104 + 8 + 40;
    let mut bytes = perf_data(false);
    let flags = u64::from_le_bytes(bytes[FLAGS_AT..FLAGS_AT + 8].try_into().unwrap()) | flag;
    bytes[FLAGS_AT..FLAGS_AT + 8].copy_from_slice(&flags.to_le_bytes());
    bytes
}

#[test]
fn perfs_flags_tell_of_overwritten_buffers_and_of_single_programs() {
    let (plain, _) = told(&perf_data(false)).unwrap();
    assert!(!plain.is_of_some_tasks && plain.start_ns == plain.first_ns);
    let (backward, _) = told(&flagged(1 << 27)).unwrap();
    assert_eq!(backward.start_ns, 5_000_003_007, "where the buffer of CPU 1 begins");
    let (of_program, _) = told(&flagged(1 << 12)).unwrap();
    assert!(of_program.is_of_some_tasks && of_program.before.is_empty());
}

#[test]
fn a_recording_that_is_cut_off_or_changed_is_an_error_or_a_recording() {
    let all = [
        perf_data(false),
        perf_data(true),
        perf_pipe(),
        trace_dat(Packing::Version6),
        trace_dat(Packing::Zstd),
        perfetto(Form::Compact),
        perfetto(Form::Packed),
    ];
    for bytes in all {
        for length in (0..bytes.len()).step_by(1 + bytes.len() / 40) {
            if let Err(error) = told(&bytes[..length]) {
                assert_eq!(error.lines().count(), 1, "{error}");
            }
        }
        for place in (0..bytes.len()).step_by(1 + bytes.len() / 60) {
            let mut changed = bytes.clone();
            changed[place] ^= 0x80;
            if let Err(error) = told(&changed) {
                assert_eq!(error.lines().count(), 1, "{error}");
            }
        }
    }
}
