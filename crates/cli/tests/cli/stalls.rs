//! Whether this machine stood still while a test measured it: a virtual machine that is paused or moved, or a host that runs
//! others. A run on this machine says nothing about the program then.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often the witness looks at the clock.
const STEP: Duration = Duration::from_millis(10);

/// What `work` returns, and by how much a thread that only sleeps was late meanwhile, at most.
pub fn longest_stall_during<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let witness = scope.spawn(|| longest_delay_until(&is_over));
        let result = work();
        is_over.store(true, Ordering::Relaxed);
        (result, witness.join().unwrap())
    })
}

fn longest_delay_until(is_over: &AtomicBool) -> Duration {
    let mut longest = Duration::ZERO;
    while !is_over.load(Ordering::Relaxed) {
        let begin = Instant::now();
        thread::sleep(STEP);
        longest = longest.max(begin.elapsed().saturating_sub(STEP));
    }
    longest
}
