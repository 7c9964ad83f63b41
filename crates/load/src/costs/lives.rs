//! What the life of a task takes that does nothing: its creation, its begin, and its end with what it writes down then.

use super::{Cost, Effort, bind, cpu_time};
use crate::account::Account;
use crate::attributes as attr;
use crate::clock::{now_ns, thread_cpu_ns};
use crate::master::STACK_BYTES;
use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::CpuId;
use schedlab_model::workload::Class;
use std::io;
use std::sync::OnceLock;
use std::thread::Builder;

/// The three parts of a life, each beside the wakeups and switches in it.
pub struct Life {
    /// CPU time of the parent for creating it.
    pub fork: Option<Cost>,
    /// CPU time of the thread until it has made itself what a task is.
    pub start: Option<Cost>,
    /// From there until the CPU is another one's.
    pub exit: Option<Cost>,
}

/// What a thread saw: instants of the clock, and its own CPU time then.
struct Seen {
    begin_ns: u64,
    begin_cpu_ns: u64,
    ready_ns: u64,
    ready_cpu_ns: u64,
}

/// Creates threads on the CPU of their parent, two at a time, so that one begins when the other is over: nobody else can
/// tell when that was, since a parent hears of an end before it has come. What a wakeup and a switch take is known.
pub fn lives(cpu: CpuId, wakeup_ns: f64, switch_ns: f64, effort: &Effort) -> io::Result<Life> {
    bind(cpu)?;
    let (mut forks, mut starts, mut exits) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..effort.wakes {
        let seen = [const { OnceLock::new() }; 2];
        std::thread::scope(|scope| {
            for seen in &seen {
                let builder = Builder::new().stack_size(STACK_BYTES);
                forks.push(cpu_time(|| _ = builder.spawn_scoped(scope, || live(cpu, seen))) - wakeup_ns);
            }
        });
        let mut seen: Vec<Seen> = seen.into_iter().filter_map(OnceLock::into_inner).collect();
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

/// Becomes what a task is, says when, and asks what it has been, as a task does.
fn live(cpu: CpuId, seen: &OnceLock<Seen>) {
    let (begin_ns, begin_cpu_ns) = (now_ns(), thread_cpu_ns());
    attr::set_name("task");
    attr::set_punctual();
    let cpus: CpuSet = [cpu].into_iter().collect();
    if attr::set_cpus(0, &cpus).and_then(|()| attr::set_class(Class::Other, 0, None)).is_ok() {
        let (ready_ns, ready_cpu_ns) = (now_ns(), thread_cpu_ns());
        let _ = seen.set(Seen { begin_ns, begin_cpu_ns, ready_ns, ready_cpu_ns });
        std::hint::black_box(Account::of_this_thread());
    }
}
