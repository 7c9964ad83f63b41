//! What it takes where a task that is woken takes its waker's CPU.

use super::switches::calls;
use super::{Effort, bind};
use crate::calibration::quantile;
use crate::clock::{now_ns, sleep_until};
use crate::futex;
use schedlab_model::ids::CpuId;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};

/// How long the waker sleeps, so that the other one does.
const ASLEEP_NS: u64 = 1_000_000;
/// How long it computes after that: schedulers protect a task that has just begun.
const BUSY_NS: u64 = 5_000_000;
/// At least one in this many wakeups must be a preemption.
const LEAST: usize = 3;

/// The word on which a task sleeps.
#[derive(Default)]
struct Bed {
    word: AtomicU32,
    ended: AtomicBool,
    /// How often it was woken.
    woken: AtomicU32,
}

/// Wall time from a wakeup until the waker continues, if the woken task takes its CPU at once and sleeps again: less the two calls,
/// the median of many. None where the waker mostly keeps the CPU.
pub fn there_and_back(cpu: CpuId, effort: &Effort) -> Option<f64> {
    let bed = Bed::default();
    let [wake_ns, wait_ns] = calls(effort.yields);
    let taken = std::thread::scope(|scope| {
        scope.spawn(|| bind(cpu).is_ok().then(|| sleep_in(&bed)));
        let taken: Vec<f64> = (0..effort.rounds).filter_map(|_| wake(&bed)).collect();
        bed.ended.store(true, SeqCst);
        stir(&bed);
        taken
    });
    (taken.len() * LEAST >= effort.rounds).then(|| quantile(&taken, 0.5) - wake_ns - wait_ns)
}

fn sleep_in(bed: &Bed) {
    let mut seen = 0;
    while !bed.ended.load(SeqCst) {
        futex::wait(&bed.word, seen);
        let now = bed.word.load(SeqCst);
        bed.woken.fetch_add(u32::from(now != seen), SeqCst);
        seen = now;
    }
}

fn stir(bed: &Bed) {
    bed.word.fetch_add(1, SeqCst);
    futex::wake(&bed.word, 1);
}

/// What waking took, if the woken task has been there and is gone again.
fn wake(bed: &Bed) -> Option<f64> {
    sleep_until(now_ns() + ASLEEP_NS);
    let busy_until = now_ns() + BUSY_NS;
    while now_ns() < busy_until {}
    let (before, begin) = (bed.woken.load(SeqCst), now_ns());
    stir(bed);
    let taken_ns = now_ns() - begin;
    (bed.woken.load(SeqCst) != before).then_some(taken_ns as f64)
}
