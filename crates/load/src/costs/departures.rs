//! What it takes where a task goes to sleep while another one waits for its CPU.

use super::switches::calls;
use super::{Effort, bind};
use crate::clock::now_ns;
use crate::futex;
use schedlab_model::ids::CpuId;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};

/// How long the task that computes does so before it wakes the other one: schedulers protect one that has just begun.
const BUSY_NS: u64 = 2_000_000;

/// One that goes to sleep at once each time that it is woken, and one that computes on the same CPU.
#[derive(Default)]
struct Pair {
    word: AtomicU32,
    ended: AtomicBool,
    /// When the first one began its last call.
    left_at_ns: AtomicU64,
}

/// Wall time from a task's call that waits at a futex until another one computes on the same CPU, less such a call that returns at
/// once: of each of many.
pub fn departures(cpu: CpuId, effort: &Effort) -> Vec<f64> {
    let pair = Pair::default();
    let [_, wait_ns] = calls(effort.yields);
    std::thread::scope(|scope| {
        scope.spawn(|| bind(cpu).is_ok().then(|| pair.sleep()));
        let taken = (0..effort.rounds).map(|_| pair.compute() as f64 - wait_ns).collect();
        pair.end();
        taken
    })
}

impl Pair {
    fn sleep(&self) {
        let mut seen = 0;
        while !self.ended.load(SeqCst) {
            self.left_at_ns.store(now_ns(), SeqCst);
            futex::wait(&self.word, seen);
            seen = self.word.load(SeqCst);
        }
    }

    /// Computes, wakes the other one, and computes until that has been there and is gone: how long its going took.
    fn compute(&self) -> u64 {
        let busy_until_ns = now_ns() + BUSY_NS;
        let mut last_ns = now_ns();
        while last_ns < busy_until_ns || self.left_at_ns.load(SeqCst) == 0 {
            last_ns = now_ns();
        }
        self.word.fetch_add(1, SeqCst);
        futex::wake(&self.word, 1);
        loop {
            let (here_ns, left_at_ns) = (now_ns(), self.left_at_ns.load(SeqCst));
            if left_at_ns > last_ns {
                return here_ns.saturating_sub(left_at_ns);
            }
        }
    }

    fn end(&self) {
        self.ended.store(true, SeqCst);
        self.word.fetch_add(1, SeqCst);
        futex::wake(&self.word, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::cpus;

    #[test]
    fn going_to_sleep_takes_time_and_less_than_a_slice() {
        let cpu = cpus().unwrap().iter().next().unwrap();
        let before = cpus().unwrap();
        bind(cpu).unwrap();
        let taken = departures(cpu, &Effort { rounds: 5, yields: 50, ..Effort::REAL });
        crate::attributes::set_cpus(0, &before).unwrap();
        assert_eq!(taken.len(), 5);
        let middle = crate::calibration::quantile(&taken, 0.5);
        assert!(middle > 0.0 && middle < 1e6, "{taken:?}");
    }
}
