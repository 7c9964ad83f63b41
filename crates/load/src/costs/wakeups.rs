//! What waking a task takes.

use super::{Effort, bind, cpu_time};
use crate::clock::{now_ns, sleep_until};
use crate::futex;
use schedlab_model::ids::CpuId;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};

/// CPU time of waking a thread that sleeps, on another CPU where there is one, less that of the same call with nobody asleep.
pub fn wakeups(other: CpuId, effort: &Effort) -> Vec<f64> {
    let (word, stop, asleep) = (AtomicU32::new(0), AtomicBool::new(false), AtomicU32::new(0));
    let mut values = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = bind(other);
            let mut seen = 0;
            while !stop.load(SeqCst) {
                asleep.store(1, SeqCst);
                futex::wait(&word, seen);
                seen = word.load(SeqCst);
            }
        });
        for _ in 0..effort.wakes {
            while asleep.swap(0, SeqCst) == 0 {
                // SAFETY: it takes nothing.
                unsafe { libc::sched_yield() };
            }
            // From telling that it will sleep to sleeping.
            sleep_until(now_ns() + 200_000);
            let nobody = AtomicU32::new(0);
            let idle = cpu_time(|| futex::wake(&nobody, 1));
            word.fetch_add(1, SeqCst);
            let waking = cpu_time(|| futex::wake(&word, 1));
            values.push(waking - idle);
        }
        stop.store(true, SeqCst);
        word.fetch_add(1, SeqCst);
        futex::wake(&word, 1);
    });
    values.retain(|&ns| ns > 0.0);
    values
}
