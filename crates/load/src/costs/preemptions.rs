//! What it takes where a task that is woken takes its waker's CPU.

use super::sleeper::Sleeper;
use super::switches::calls;
use super::{Effort, bind};
use crate::calibration::quantile;
use crate::clock::{now_ns, sleep_until, spin_until};
use schedlab_model::ids::CpuId;

/// How long the waker sleeps, so that the other one does.
const ASLEEP_NS: u64 = 1_000_000;
/// How long it computes after that: schedulers protect a task that has just begun.
const BUSY_NS: u64 = 5_000_000;
/// At least one in this many wakeups must be a preemption.
const LEAST: usize = 3;

/// Wall time from a wakeup until the waker continues, if the woken task takes its CPU at once and sleeps again: less the two calls,
/// the median of many. None where the waker mostly keeps the CPU.
pub fn there_and_back(cpu: CpuId, effort: &Effort) -> Option<f64> {
    let sleeper = Sleeper::default();
    let [wake_ns, wait_ns] = calls(effort.yields);
    let taken = std::thread::scope(|scope| {
        scope.spawn(|| bind(cpu).is_ok().then(|| sleeper.sleep()));
        let taken: Vec<f64> = (0..effort.rounds).filter_map(|_| wake(&sleeper)).collect();
        sleeper.end();
        taken
    });
    (taken.len() * LEAST >= effort.rounds).then(|| quantile(&taken, 0.5) - wake_ns - wait_ns)
}

/// What waking took, if the woken task has been there and is gone again.
fn wake(sleeper: &Sleeper) -> Option<f64> {
    sleep_until(now_ns() + ASLEEP_NS);
    spin_until(now_ns() + BUSY_NS);
    sleeper.has_gone_to_sleep();
    let begin = now_ns();
    sleeper.stir();
    sleeper.wake();
    let taken_ns = now_ns() - begin;
    sleeper.has_gone_to_sleep().then_some(taken_ns as f64)
}
