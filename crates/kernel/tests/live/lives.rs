//! Which threads are followed, their wakers, and why a task left its CPU.

use crate::skip::skip;
use crate::workers::{Worker, events, own_process, pin, ping_pong, record, spin, start};
use schedlab_kernel::{Departure, Filter, Record, RecordKind, Waker};
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// A shell that waits for a line, then runs `script`.
fn shell(script: &str) -> Child {
    let script = format!("read line; {script}");
    Command::new("sh").args(["-c", &script]).stdin(Stdio::piped()).spawn().unwrap()
}

fn let_go(child: &mut Child) {
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
}

#[test]
fn descendants_are_followed_and_strangers_are_not() {
    let mut child = shell("sh -c 'sleep 0.01; sleep 0.01'; sleep 0.01; true");
    let mut stranger = shell("sleep 0.05");
    let root = child.id() as i32;
    let Some(recorder) = start(&Filter { tgids: vec![root], ..Filter::default() }, 1 << 20) else {
        return [child, stranger].iter_mut().for_each(|child| child.kill().unwrap());
    };
    let mut records: Vec<Record> = Vec::new();
    let_go(&mut child);
    let_go(&mut stranger);
    assert!(child.wait().unwrap().success());
    let started_ns = recorder.started_ns();
    let stats = recorder.stop(&mut |record| records.push(record)).unwrap();
    assert!(stranger.wait().unwrap().success());
    let count = |wanted: fn(&RecordKind) -> bool| records.iter().filter(|record| wanted(&record.kind)).count();
    // The last command of a shell may run in its place: the inner shell and three or four programs.
    let forks = count(|kind| matches!(kind, RecordKind::Fork { .. }));
    assert!((3..=4).contains(&forks), "{forks}");
    let sleeps = count(|kind| matches!(kind, RecordKind::Exec { comm, .. } if comm.to_string() == "sleep"));
    assert_eq!(sleeps, 3);
    // All end: the children and the shell itself.
    assert_eq!(count(|kind| matches!(kind, RecordKind::Exit { .. })), forks + 1);
    assert_eq!(
        count(|kind| matches!(kind, RecordKind::Switch { how: Departure::Exited, previous, .. } if previous.followed)),
        forks + 1
    );
    let (_, summary) = events(started_ns, stats.ended_ns, &records);
    assert_eq!(summary.tasks.len(), forks + 1);
    assert!(summary.tasks.iter().all(|task| task.thread.tid != stranger.id() as i32));
    assert_eq!(summary.adopted, 0);
}

/// On a CPU that is never idle there are none.
#[test]
fn turns_of_others_are_those_between_them_and_idle_where_they_are_asked_for() {
    for others_below in [0, 1] {
        let mut child = shell("sleep 0.1");
        let filter = Filter { tgids: vec![child.id() as i32], others_below, ..Filter::default() };
        let recorder = start(&filter, 1 << 20);
        let mut records: Vec<Record> = Vec::new();
        let_go(&mut child);
        assert!(child.wait().unwrap().success());
        let Some(recorder) = recorder else { return };
        recorder.stop(&mut |record| records.push(record)).unwrap();
        let ours = records.iter().any(|record| matches!(record.kind, RecordKind::Switch { next, .. } if next.followed));
        assert!(ours, "the child ran");
        for record in &records {
            let RecordKind::Switch { previous, next, .. } = record.kind else { continue };
            if !previous.followed && !next.followed {
                assert!(record.cpu < others_below && (previous.tid == 0) != (next.tid == 0), "{record:?}");
            }
        }
    }
}

#[test]
fn a_process_can_be_followed_later() {
    let mut child = shell("sleep 0.01");
    let tgid = child.id() as i32;
    let recorder = start(&Filter::default(), 1 << 20);
    let recorder = recorder.map(|mut recorder| {
        recorder.follow(tgid).unwrap();
        recorder
    });
    let_go(&mut child);
    assert!(child.wait().unwrap().success());
    let Some(recorder) = recorder else { return };
    let mut records = Vec::new();
    let started_ns = recorder.started_ns();
    let stats = recorder.stop(&mut |record| records.push(record)).unwrap();
    let (events, summary) = events(started_ns, stats.ended_ns, &records);
    assert_eq!((summary.tasks[0].thread.tid, summary.tasks[0].comm.to_string().as_str()), (tgid, "sh"));
    assert!(events.len() > 4);
}

#[test]
fn a_wakeup_tells_who_and_whereto() {
    let last = std::thread::available_parallelism().unwrap().get() - 1;
    let (ping, pong) = ping_pong(300);
    let nap = || (0..20).for_each(|_| std::thread::sleep(Duration::from_millis(1)));
    let workers = [Worker::new(Some(0), ping), Worker::new(Some(last), pong), Worker::new(None, nap)];
    let [ping, pong, napper] = workers.each_ref().map(|worker| worker.tid);
    workers.iter().for_each(Worker::wait_asleep);
    let Some(recorder) = start(&own_process(), 1 << 20) else { return };
    let (_, records, _) = record(recorder, &workers.each_ref());
    let wakeups = |of: i32| -> Vec<(u32, u32, Waker)> {
        let wakeup = |record: &Record| match record.kind {
            RecordKind::Wakeup { thread, target, waker, .. } if thread.tid == of => Some((record.cpu, target, waker)),
            _ => None,
        };
        records.iter().filter_map(wakeup).collect()
    };
    let by = |woken: i32, wanted: Waker| wakeups(woken).iter().filter(|(_, _, waker)| *waker == wanted).count();
    let (of_pong, of_ping) = (by(pong, Waker::Task(ping)), by(ping, Waker::Task(pong)));
    assert!(of_pong > 100 && of_ping > 100, "{of_pong} {of_ping}");
    // From the waker's CPU to the one where the woken thread is bound.
    assert!(
        wakeups(pong)
            .iter()
            .all(|&(cpu, target, waker)| { target == last as u32 && (waker != Waker::Task(ping) || cpu == 0) })
    );
    assert_eq!(by(napper, Waker::Interrupt), 20);
    let unknown = records.iter().any(|record| matches!(record.kind, RecordKind::Wakeup { waker: Waker::Unknown, .. }));
    assert!(!unknown, "this kernel does not tell wakers, or two wakeups met");
    workers.into_iter().for_each(Worker::end);
}

#[test]
fn a_yield_is_told_from_a_preemption() {
    // All three want the same CPU until the spinner has computed for long enough, so every yield can hand over.
    let (begun, over) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
    let yields = || {
        let (begun, over) = (begun.clone(), over.clone());
        move || {
            begun.fetch_add(1, Ordering::SeqCst);
            while !over.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
        }
    };
    let spins = {
        let (begun, over) = (begun.clone(), over.clone());
        move || {
            while begun.load(Ordering::SeqCst) < 2 {
                std::hint::spin_loop();
            }
            spin(50);
            over.store(true, Ordering::SeqCst);
        }
    };
    let workers = [Worker::new(Some(0), yields()), Worker::new(Some(0), yields()), Worker::new(Some(0), spins)];
    let [yielder, _, spinner] = workers.each_ref().map(|worker| worker.tid);
    workers.iter().for_each(Worker::wait_asleep);
    let Some(recorder) = start(&own_process(), 4 << 20) else { return };
    let (_, records, _) = record(recorder, &workers.each_ref());
    let left = |of: i32, wanted: Departure| {
        let is_one = |record: &&Record| matches!(record.kind, RecordKind::Switch { previous, how, .. } if previous.tid == of && how == wanted);
        records.iter().filter(is_one).count()
    };
    assert!(left(yielder, Departure::Yielded) > 0);
    assert!(left(spinner, Departure::Preempted) > 0);
    assert_eq!(left(spinner, Departure::Yielded), 0);
    workers.into_iter().for_each(Worker::end);
}

#[test]
fn the_whole_machine_is_lawful() {
    let everything = Filter { everything: true, softirq: true, tick: true, ..Filter::default() };
    let Some(recorder) = start(&everything, 16 << 20) else { return };
    let mut records = Vec::new();
    let started_ns = recorder.started_ns();
    pin(0);
    spin(30);
    std::thread::sleep(Duration::from_millis(30));
    let stats = recorder.stop(&mut |record| records.push(record)).unwrap();
    assert!(!stats.is_partial(), "{stats:?}");
    let (_, summary) = events(started_ns, stats.ended_ns, &records);
    // The kernel's own threads and this one.
    assert!(summary.tasks.iter().any(|task| task.comm.to_string().starts_with("ksoftirqd/")));
    assert!(summary.tasks.iter().any(|task| task.thread.tgid == std::process::id() as i32));
    assert!(records.iter().any(|record| matches!(record.kind, RecordKind::Running { in_interrupt: false, .. })));
    // Where the kernel hides its functions, the one that is called for each tick is not found.
    match std::fs::read_to_string("/proc/kallsyms").unwrap_or_default().split(' ').next() {
        Some(address) if address.bytes().any(|digit| digit != b'0') => {
            assert!(records.iter().any(|record| record.kind == RecordKind::Tick));
        }
        _ => skip("the kernel does not tell where its functions are (kptr_restrict), so ticks are not seen"),
    }
    let entries = records.iter().filter(|record| record.kind == RecordKind::SoftirqEntry).count();
    let exits = records.iter().filter(|record| record.kind == RecordKind::SoftirqExit).count();
    assert!(entries > 0 && entries.abs_diff(exits) <= 64);
}
