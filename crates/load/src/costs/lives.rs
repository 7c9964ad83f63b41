//! What a thread's life takes that does nothing: its creation, its begin and its end.

use super::{Cost, Effort, bind, cpu_time};
use crate::attributes as attr;
use crate::clock::{now_ns, thread_cpu_ns};
use crate::master::STACK_BYTES;
use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::CpuId;
use schedlab_model::workload::Class;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::Builder;

/// The three parts of a life, each beside the wakeups and switches in it.
pub struct Life {
    /// CPU time of the parent for creating it.
    pub fork: Option<Cost>,
    /// CPU time of the thread until it has made itself what a task is.
    pub start: Option<Cost>,
    /// From there to the parent's going on.
    pub exit: Option<Cost>,
}

/// Creates threads on the CPU of their parent, which waits for each. What a wakeup and a hand-over take is known: the
/// thread comes by one, whose wakeup its parent pays, and its parent comes back by another.
pub fn lives(cpu: CpuId, wakeup_ns: f64, hand_over_ns: f64, effort: &Effort) -> io::Result<Life> {
    bind(cpu)?;
    let cpus: CpuSet = [cpu].into_iter().collect();
    let (mut forks, mut starts, mut exits) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..effort.wakes {
        let start_ns = AtomicU64::new(0);
        let child = || {
            attr::set_name("task");
            attr::set_punctual();
            let done = attr::set_cpus(0, &cpus).and_then(|()| attr::set_class(Class::Other, 0, None));
            start_ns.store(if done.is_ok() { thread_cpu_ns() } else { 0 }, Relaxed);
        };
        let begin_ns = now_ns();
        let fork = std::thread::scope(|scope| {
            let builder = Builder::new().stack_size(STACK_BYTES);
            cpu_time(|| _ = builder.spawn_scoped(scope, child)) - wakeup_ns
        });
        let whole = (now_ns() - begin_ns) as f64 - 2.0 * hand_over_ns;
        let start = start_ns.into_inner() as f64;
        if start > 0.0 {
            forks.push(fork);
            starts.push(start);
            exits.push(whole - fork - start);
        }
    }
    [&mut forks, &mut exits].into_iter().for_each(|values| values.retain(|&ns| ns > 0.0));
    Ok(Life { fork: Cost::of(&forks), start: Cost::of(&starts), exit: Cost::of(&exits) })
}
