//! Jobs spread over threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Does the jobs 0 to `jobs`, on at most `threads` threads, in their order as far as it goes; what came of each, in order.
pub fn spread<T: Send>(threads: usize, jobs: usize, job: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let slots: Vec<Mutex<Option<T>>> = (0..jobs).map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, jobs.max(1)) {
            scope.spawn(|| {
                while let Some(index) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&index| index < jobs) {
                    *slots[index].lock().expect("nobody else has this job") = Some(job(index));
                }
            });
        }
    });
    let made = |slot: Mutex<Option<T>>| slot.into_inner().ok().flatten();
    slots.into_iter().map(|slot| made(slot).expect("a job that panics ends the scope")).collect()
}
