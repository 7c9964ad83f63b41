//! What the life of a task takes that does nothing: its creation, its begin, and its end with what it writes down then.

use super::switches::Kind;
use super::{Cost, Effort, bind, cpu_time};
use crate::account::Account;
use crate::attributes as attr;
use crate::clock::{now_ns, thread_cpu_ns};
use crate::master::STACK_BYTES;
use crate::process::{bury, die_with};
use crate::shared::Shared;
use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::CpuId;
use schedlab_model::workload::Class;
use std::io;
use std::sync::atomic::Ordering::*;
use std::thread::Builder;

/// The three parts of a life, each beside the wakeups and switches in it.
pub struct Life {
    /// CPU time of the parent for creating it.
    pub fork: Option<Cost>,
    /// CPU time of the task until it has made itself what a task is.
    pub start: Option<Cost>,
    /// From there until the CPU is another one's.
    pub exit: Option<Cost>,
}

/// What a task saw: instants of the clock, and its own CPU time then.
#[derive(Clone, Copy)]
struct Seen {
    begin_ns: u64,
    begin_cpu_ns: u64,
    ready_ns: u64,
    ready_cpu_ns: u64,
}

/// Creates tasks on the CPU of their parent, two at a time, so that one begins when the other is over: nobody else can
/// tell when that was, since a parent hears of an end before it has come. What a wakeup and a switch take is known.
pub fn lives(cpu: CpuId, kind: Kind, wakeup_ns: f64, switch_ns: f64, effort: &Effort) -> io::Result<Life> {
    bind(cpu)?;
    let shared = Shared::new(1, 0)?;
    let (mut forks, mut starts, mut exits) = (Vec::new(), Vec::new(), Vec::new());
    let rounds = if kind == Kind::Thread { effort.wakes } else { effort.wakes / 2 };
    for _ in 0..rounds {
        (0..2).for_each(|task| note(&shared, task, None));
        let taken = if kind == Kind::Thread { two_threads(cpu, &shared) } else { two_processes(cpu, &shared) };
        forks.extend(taken.into_iter().map(|ns| ns - wakeup_ns));
        let mut seen: Vec<Seen> = (0..2).filter_map(|task| noted(&shared, task)).collect();
        starts.extend(seen.iter().map(|seen| seen.ready_cpu_ns as f64));
        seen.sort_by_key(|seen| seen.begin_ns);
        if let [first, second] = &seen[..] {
            let between = second.begin_ns as f64 - first.ready_ns as f64;
            exits.push(between - second.begin_cpu_ns as f64 - switch_ns);
        }
    }
    [&mut forks, &mut exits].into_iter().for_each(|values| values.retain(|&ns| ns > 0.0));
    Ok(Life { fork: Cost::of(&forks), start: Cost::of(&starts), exit: Cost::of(&exits) })
}

/// The lives of two threads; CPU time of their creation.
fn two_threads(cpu: CpuId, shared: &Shared) -> [f64; 2] {
    std::thread::scope(|scope| {
        [0, 1].map(|task| {
            let builder = Builder::new().stack_size(STACK_BYTES);
            cpu_time(|| _ = builder.spawn_scoped(scope, move || live(cpu, shared, task)))
        })
    })
}

/// The same of two processes.
fn two_processes(cpu: CpuId, shared: &Shared) -> [f64; 2] {
    let parent = std::process::id() as i32;
    let mut pids = [0; 2];
    let taken = [0, 1].map(|task| {
        cpu_time(|| {
            // SAFETY: the child plays its part and leaves by `_exit`.
            pids[task as usize] = match unsafe { libc::fork() } {
                0 => {
                    live(cpu, shared, task);
                    // One whose parent is gone leaves at once, as the others do.
                    die_with(parent);
                    // SAFETY: nothing of the parent is to be run.
                    unsafe { libc::_exit(0) }
                }
                pid => pid,
            };
        })
    });
    pids.into_iter().filter(|&pid| pid > 0).for_each(bury);
    taken
}

/// Becomes what a task is, says when, and asks what it has been, as a task does.
fn live(cpu: CpuId, shared: &Shared, task: u32) {
    let (begin_ns, begin_cpu_ns) = (now_ns(), thread_cpu_ns());
    attr::set_name("task");
    attr::set_punctual();
    let cpus: CpuSet = [cpu].into_iter().collect();
    if attr::set_cpus(0, &cpus).and_then(|()| attr::set_class(Class::Other, 0, None)).is_ok() {
        let (ready_ns, ready_cpu_ns) = (now_ns(), thread_cpu_ns());
        note(shared, task, Some(Seen { begin_ns, begin_cpu_ns, ready_ns, ready_cpu_ns }));
        std::hint::black_box(Account::of_this_thread());
    }
}

/// Writes down what a task saw, in the memory that it shares with who created it.
fn note(shared: &Shared, task: u32, seen: Option<Seen>) {
    let place = shared.request(task);
    let Seen { begin_ns, begin_cpu_ns, ready_ns, ready_cpu_ns } =
        seen.unwrap_or(Seen { begin_ns: 0, begin_cpu_ns: 0, ready_ns: 0, ready_cpu_ns: 0 });
    place.begin_ns.store(begin_ns, Relaxed);
    place.demand_ns.store(begin_cpu_ns, Relaxed);
    place.end_ns.store(ready_ns, Relaxed);
    place.queued_ns.store(ready_cpu_ns, Release);
}

fn noted(shared: &Shared, task: u32) -> Option<Seen> {
    let place = shared.request(task);
    let ready_cpu_ns = place.queued_ns.load(Acquire);
    let (begin_ns, begin_cpu_ns) = (place.begin_ns.load(Relaxed), place.demand_ns.load(Relaxed));
    let seen = Seen { begin_ns, begin_cpu_ns, ready_ns: place.end_ns.load(Relaxed), ready_cpu_ns };
    (ready_cpu_ns > 0).then_some(seen)
}
