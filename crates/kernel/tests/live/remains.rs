//! Nothing of a recorder outlives it, and nothing is lost in silence.

use crate::workers::{Worker, events, own_process, ping_pong, record, start};
use libbpf_rs::query::ProgInfoIter;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Returns when none of these programs is loaded; the kernel removes them a moment after the last reference.
fn wait_until_gone(ids: &BTreeSet<u32>) {
    assert!(!ids.is_empty());
    while ProgInfoIter::default().any(|program| ids.contains(&program.id)) {
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn nothing_is_loaded_after_stop_or_drop() {
    let Some(recorder) = start(&own_process(), 1 << 16) else { return };
    let Some(other) = start(&own_process(), 1 << 16) else { panic!("the first one started") };
    let of = |recorder: &schedlab_kernel::Recorder| recorder.costs().iter().map(|cost| cost.id).collect();
    let (ids, others): (BTreeSet<u32>, BTreeSet<u32>) = (of(&recorder), of(&other));
    let loaded: BTreeSet<u32> = ProgInfoIter::default().map(|program| program.id).collect();
    assert!(ids.is_subset(&loaded) && others.is_subset(&loaded) && ids.is_disjoint(&others));
    recorder.stop(&mut |_| {}).unwrap();
    wait_until_gone(&ids);
    drop(other);
    wait_until_gone(&others);
}

#[test]
fn nothing_is_loaded_after_the_process_was_killed() {
    if start(&own_process(), 1 << 16).is_none() {
        return;
    }
    let test = std::env::current_exe().unwrap();
    let example: PathBuf = test.parent().unwrap().with_file_name("examples").join("record");
    let mut child = Command::new(example).args(["sleep", "1000"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    let ids = line.strip_prefix("programs: ").unwrap_or_else(|| panic!("{line}"));
    let ids: BTreeSet<u32> = ids.split(' ').map(|id| id.parse().unwrap()).collect();
    let command: i32 = lines.next().unwrap().unwrap().strip_prefix("command: ").unwrap().parse().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    // SAFETY: a plain system call; the number is that of a process that the example has left behind, unreaped.
    unsafe { libc::kill(command, libc::SIGKILL) };
    wait_until_gone(&ids);
}

#[test]
fn what_a_full_ring_cannot_take_is_counted() {
    let (ping, pong) = ping_pong(2_000);
    let workers = [Worker::new(Some(0), ping), Worker::new(Some(0), pong)];
    workers.iter().for_each(Worker::wait_asleep);
    let Some(recorder) = start(&own_process(), 1) else { return };
    workers.iter().for_each(Worker::go);
    workers.iter().for_each(Worker::wait_done);
    let lost = recorder.lost();
    // Two switches and two wakeups in a round, and a page has place for less than a hundred records.
    assert!(lost.total() > 4_000, "{lost:?}");
    assert!(lost.by_kind().any(|(kind, count)| kind == "switch" && count > 2_000), "{lost:?}");
    let mut records = Vec::new();
    let started_ns = recorder.started_ns();
    let stats = recorder.stop(&mut |record| records.push(record)).unwrap();
    assert!(stats.is_partial() && stats.lost.total() >= lost.total());
    assert!(!records.is_empty() && records.len() < 400, "{}", records.len());
    // Lawful all the same.
    events(started_ns, stats.ended_ns, &records);
    workers.into_iter().for_each(Worker::end);
}

#[test]
fn a_ring_that_is_read_loses_nothing() {
    let (ping, pong) = ping_pong(5_000);
    let workers = [Worker::new(Some(0), ping), Worker::new(Some(0), pong)];
    workers.iter().for_each(Worker::wait_asleep);
    let Some(recorder) = start(&own_process(), 1 << 20) else { return };
    let (_, records, stats) = record(recorder, &workers.each_ref());
    assert!(!stats.is_partial(), "{stats:?}");
    assert!(records.len() > 10_000, "{}", records.len());
    workers.into_iter().for_each(Worker::end);
}

/// Some four records in a round, of at least 56 bytes: more goes through the ring of a CPU than it holds.
#[test]
fn a_ring_that_is_relieved_loses_nothing() {
    const BURSTS: usize = 270;
    const ROUNDS: usize = 200;
    let ring_bytes = (8 << 20) * schedlab_kernel::cpus() as usize;
    let Some(mut recorder) = start(&own_process(), ring_bytes) else { return };
    for _ in 0..BURSTS {
        let (ping, pong) = ping_pong(ROUNDS);
        let workers = [Worker::new(Some(0), ping), Worker::new(Some(0), pong)];
        workers.iter().for_each(Worker::go);
        workers.iter().for_each(Worker::wait_done);
        recorder.relieve(Duration::ZERO, 64 << 10).unwrap();
        workers.into_iter().for_each(Worker::end);
    }
    let mut records = Vec::new();
    let stats = recorder.stop(&mut |record| records.push(record)).unwrap();
    assert!(!stats.is_partial(), "{stats:?}");
    assert!(records.is_sorted_by_key(|record| record.time_ns));
    assert!(records.len() > 3 * BURSTS * ROUNDS, "{}", records.len());
    assert!(56 * records.len() > 8 << 20);
}
