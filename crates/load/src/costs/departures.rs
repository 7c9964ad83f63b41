//! What it takes where a task goes to sleep while another one waits for its CPU.

use super::sleeper::Sleeper;
use super::switches::calls;
use super::{Effort, bind};
use crate::clock::{now_ns, spin_until};
use schedlab_model::ids::CpuId;
use std::sync::atomic::{AtomicU64, Ordering::*};

/// How long the task that computes does so before it wakes the other one: schedulers protect one that has just begun.
const BUSY_NS: u64 = 2_000_000;
/// How long it may take until the other one has been there, before it counts as absent.
const ABSENT_NS: u64 = 2_000_000_000;

/// One that goes to sleep at once each time that it is woken, and one that computes on the same CPU.
#[derive(Default)]
struct Pair {
    sleeper: Sleeper,
    /// When the first one began its last call.
    left_at_ns: AtomicU64,
}

/// Wall time from a task's call that waits at a futex until another one computes on the same CPU, less such a call that returns at
/// once: of each of many, up to one at which the task does not come.
pub fn departures(cpu: CpuId, effort: &Effort) -> Vec<f64> {
    let pair = Pair::default();
    let [_, wait_ns] = calls(effort.yields);
    std::thread::scope(|scope| {
        scope.spawn(|| bind(cpu).is_ok().then(|| pair.sleep()));
        let taken = (0..effort.rounds).map_while(|_| Some(pair.compute()? as f64 - wait_ns)).collect();
        pair.sleeper.end();
        taken
    })
}

impl Pair {
    fn sleep(&self) {
        self.sleeper.sleep_each(|| self.left_at_ns.store(now_ns(), SeqCst));
    }

    /// Computes, wakes the other one, and computes until that has been there and is gone: how long its going took.
    fn compute(&self) -> Option<u64> {
        spin_until(now_ns() + BUSY_NS);
        self.left_after(0)?;
        let woken_ns = now_ns();
        self.sleeper.stir();
        self.sleeper.wake();
        self.left_after(woken_ns)
    }

    /// Computes until the other one has left the CPU after an instant: how long that took.
    fn left_after(&self, instant_ns: u64) -> Option<u64> {
        let until_ns = now_ns() + ABSENT_NS;
        loop {
            let (here_ns, left_at_ns) = (now_ns(), self.left_at_ns.load(SeqCst));
            if left_at_ns > instant_ns {
                return Some(here_ns.saturating_sub(left_at_ns));
            }
            if here_ns > until_ns {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::{cpus, set_cpus};

    #[test]
    fn one_that_does_not_come_is_not_waited_for() {
        assert_eq!(Pair::default().compute(), None);
    }

    #[test]
    fn each_time_it_goes_to_sleep_is_seen_once() {
        let before = cpus().unwrap();
        let cpu = before.iter().next().unwrap();
        bind(cpu).unwrap();
        let pair = Pair::default();
        let left = std::thread::scope(|scope| {
            scope.spawn(|| bind(cpu).is_ok().then(|| pair.sleep()));
            let left: Vec<u64> = (0..5).map_while(|_| pair.compute().map(|_| pair.left_at_ns.load(SeqCst))).collect();
            pair.sleeper.end();
            left
        });
        set_cpus(0, &before).unwrap();
        assert!(left.len() == 5 && left.is_sorted_by(|one, next| one < next), "{left:?}");
    }
}
