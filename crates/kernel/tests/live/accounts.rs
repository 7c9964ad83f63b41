//! Times and counts that records add up to, against what the kernel has counted itself.

use crate::workers::{
    Counters, Worker, events, own_process, ping_pong, record, spin, start, stat_tick_ns, stolen_ticks,
};
use schedlab_model::ids::TaskId;
use schedlab_model::trace::{Event, EventKind, Reason};
use std::time::Duration;

/// What the events say about one task.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    ran_ns: u64,
    waited_ns: u64,
    got_cpu: u64,
    voluntary: u64,
    involuntary: u64,
}

fn account(events: &[Event], of: TaskId) -> Account {
    let (mut account, mut since) = (Account::default(), 0);
    for event in events {
        let now = event.time.ns();
        match event.kind {
            EventKind::Wakeup { task, .. } if task == of => since = now,
            EventKind::Switch { previous, reason, .. } if previous == Some(of) => {
                account.ran_ns += now - since;
                since = now;
                match reason {
                    Reason::Preempted | Reason::Yielded => account.involuntary += 1,
                    _ => account.voluntary += 1,
                }
            }
            EventKind::Switch { next, .. } if next == Some(of) => {
                account.waited_ns += now - since;
                account.got_cpu += 1;
                since = now;
            }
            _ => {}
        }
    }
    account
}

/// Threads that compute, on one CPU and on any, and one that also sleeps; two that wake each other and one that only
/// sleeps, whose times are too short to compare.
fn workers() -> Vec<Worker> {
    let (ping, pong) = ping_pong(500);
    let nap = || std::thread::sleep(Duration::from_millis(2));
    vec![
        Worker::new(Some(0), || spin(60)),
        Worker::new(Some(0), || spin(60)),
        Worker::new(None, || spin(60)),
        Worker::new(None, move || (0..10).for_each(|_| (spin(5), nap()).1)),
        Worker::new(None, move || (0..20).for_each(|_| nap())),
        Worker::new(None, ping),
        Worker::new(None, pong),
    ]
}

const COMPUTING: usize = 4;

/// Times in nanoseconds, ours and the kernel's.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    ran: [u64; 2],
    waited: [u64; 2],
}

/// One comparison, which gives the times; none when it cannot be made. Some kernels do not report each switch of init's
/// threads, and the task after such a thread on its CPU is seen too late: the converter says so.
fn compare() -> Option<Vec<Times>> {
    let workers = workers();
    workers.iter().for_each(Worker::wait_asleep);
    let recorder = start(&own_process(), 16 << 20)?;
    let before: Vec<Counters> = workers.iter().map(Worker::counters).collect();
    let (started_ns, records, stats) = record(recorder, &workers.iter().collect::<Vec<_>>());
    let after: Vec<Counters> = workers.iter().map(Worker::counters).collect();
    assert!(!stats.is_partial(), "{stats:?}");
    let (events, summary) = events(started_ns, stats.ended_ns, &records);
    let mut times = Vec::new();
    for (at, worker) in workers.iter().enumerate().filter(|_| summary.repaired == 0) {
        let task = summary.tasks.iter().position(|task| task.thread.tid == worker.tid).unwrap();
        let account = account(&events, TaskId(task as u32));
        let (a, b) = (&after[at], &before[at]);
        assert_eq!(account.got_cpu, a.stat.slices - b.stat.slices);
        assert_eq!(account.voluntary, a.voluntary - b.voluntary);
        assert_eq!(account.involuntary, a.involuntary - b.involuntary);
        times.push(Times {
            ran: [account.ran_ns, a.stat.run_ns - b.stat.run_ns],
            waited: [account.waited_ns, a.stat.wait_ns - b.stat.wait_ns],
        });
    }
    times.truncate(COMPUTING);
    workers.into_iter().for_each(Worker::end);
    (summary.repaired == 0).then_some(times)
}

fn median(of: impl Iterator<Item = f64>) -> f64 {
    let mut of: Vec<f64> = of.collect();
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

/// Counts agree exactly, each time. Of waits the median does: the kernel looks at its clock a moment before its
/// tracepoint, and a machine that is taken away in that moment makes it long. Of times on CPUs the kernel subtracts what
/// a hypervisor took of the CPU meanwhile, where that is known, and we do not: our sum is between its own and that with all
/// that was taken. Less than a tick of that may not show yet.
#[test]
fn records_add_up_to_the_kernels_counters() {
    if start(&own_process(), 1 << 16).is_none() {
        return;
    }
    let stolen_before = stolen_ticks();
    let clean: Vec<Vec<Times>> = (0..60).filter_map(|_| compare()).take(5).collect();
    let stolen_ns = (stolen_ticks() - stolen_before + 1) * stat_tick_ns();
    assert_eq!(clean.len(), 5, "the kernel has hidden switches in nearly every recording");
    let waits = clean.iter().flatten().map(|times| times.waited);
    let apart = median(waits.map(|[ours, kernels]| ours.abs_diff(kernels) as f64 / kernels as f64));
    let [ours, kernels] = [0, 1].map(|of| clean.iter().flatten().map(|times| times.ran[of]).sum::<u64>() as f64);
    println!(
        "run delay {:.3} % apart; on CPUs {ours} ns, {kernels} by the kernel, at most {stolen_ns} stolen",
        apart * 100.0
    );
    assert!(apart < 0.02, "{apart}");
    assert!(ours > 0.99 * kernels && ours < 1.01 * kernels + stolen_ns as f64, "{ours} {kernels} {stolen_ns}");
}
