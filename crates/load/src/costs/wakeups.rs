//! What waking a task takes.

use super::{Effort, bind, cpu_time};
use crate::attributes::set_class;
use crate::clock::{now_ns, sleep_until};
use crate::futex;
use schedlab_model::ids::CpuId;
use schedlab_model::workload::Class;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};

/// From telling that it will sleep to sleeping.
const FALLS_ASLEEP_NS: u64 = 200_000;

/// CPU time of waking a sleeper, on another CPU where there is one, less that of the same call without a sleeper.
///
/// On one CPU the woken thread may take the CPU at once, and a part of that switch would count as the waker's. So the waker
/// is a real-time task where it may be one.
pub fn wakeups(other: CpuId, effort: &Effort) -> Vec<f64> {
    let (word, stop, asleep) = (AtomicU32::new(0), AtomicBool::new(false), AtomicU32::new(0));
    let sleeper = || {
        let _ = bind(other);
        let mut seen = 0;
        while !stop.load(SeqCst) {
            asleep.store(1, SeqCst);
            futex::wait(&word, seen);
            seen = word.load(SeqCst);
        }
    };
    let wake = || {
        while asleep.swap(0, SeqCst) == 0 {
            sleep_until(now_ns() + FALLS_ASLEEP_NS);
        }
        sleep_until(now_ns() + FALLS_ASLEEP_NS);
        let nobody = AtomicU32::new(0);
        let idle = cpu_time(|| _ = futex::wake(&nobody, 1));
        word.fetch_add(1, SeqCst);
        cpu_time(|| _ = futex::wake(&word, 1)) - idle
    };
    let waker = || {
        // Without the right to that it measures as an ordinary task.
        _ = set_class(Class::Fifo(1), 0, None);
        let values: Vec<f64> = (0..effort.wakes).map(|_| wake()).filter(|&ns| ns > 0.0).collect();
        stop.store(true, SeqCst);
        word.fetch_add(1, SeqCst);
        futex::wake(&word, 1);
        values
    };
    std::thread::scope(|scope| {
        scope.spawn(sleeper);
        scope.spawn(waker).join().expect("it does not panic")
    })
}
