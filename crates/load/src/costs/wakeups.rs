//! What waking a task takes.

use super::sleeper::Sleeper;
use super::{Cost, Effort, bind, cpu_time};
use crate::attributes::{set_class, set_cpus};
use crate::calibration::quantile;
use crate::clock::{now_ns, sleep_until};
use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::CpuId;
use schedlab_model::workload::Class;

/// From telling that it will sleep to sleeping.
const FALLS_ASLEEP_NS: u64 = 200_000;

/// The parts of a wakeup.
#[derive(Debug, Default)]
pub struct Wakeups {
    /// Waking a task that may only run on its waker's CPU.
    pub own: Option<Cost>,
    /// What it takes more to wake one on another CPU, which is idle.
    pub remote: Option<Cost>,
    /// What it takes more to wake one that may run on several CPUs.
    pub select: Option<Cost>,
}

/// Measures them, with a waker on this CPU and sleepers there and on another one.
///
/// A task that is woken on its waker's CPU may take that at once, and a part of the switch would count as the waker's. So the waker
/// is a real-time task. Where it may not be one, only sleepers on another CPU show what a wakeup takes, and not its parts.
pub fn wakeups(here: CpuId, other: Option<CpuId>, effort: &Effort) -> Wakeups {
    let of = |first, cpus: &[CpuId]| values(first, &cpus.iter().copied().collect(), effort);
    let there = other.map(|other| (of(other, &[other]), of(other, &[here, other])));
    match there {
        None => Wakeups { own: Cost::of(&of(here, &[here]).0), ..Wakeups::default() },
        Some(((bound, false), _)) => Wakeups { own: Cost::of(&bound), ..Wakeups::default() },
        Some(((bound, true), (free, _))) => {
            let own = of(here, &[here]).0;
            let more = |with: &[f64], without: &[f64]| Cost::positive(quantile(with, 0.5) - quantile(without, 0.5));
            Wakeups { own: Cost::of(&own), remote: more(&bound, &own), select: more(&free, &bound) }
        }
    }
}

/// CPU time of waking a sleeper that begins on a CPU and may then run on some, less that of the same call without a sleeper; and whether
/// the waker was a real-time task.
fn values(first: CpuId, cpus: &CpuSet, effort: &Effort) -> (Vec<f64>, bool) {
    let sleeper = Sleeper::default();
    let wake = || {
        while !sleeper.has_gone_to_sleep() {
            sleep_until(now_ns() + FALLS_ASLEEP_NS);
        }
        sleep_until(now_ns() + FALLS_ASLEEP_NS);
        let nobody = Sleeper::default();
        let idle = cpu_time(|| nobody.wake());
        sleeper.stir();
        cpu_time(|| sleeper.wake()) - idle
    };
    let waker = || {
        let is_realtime = set_class(Class::Fifo(1), 0, None).is_ok();
        let values: Vec<f64> = (0..effort.wakes).map(|_| wake()).filter(|&ns| ns > 0.0).collect();
        sleeper.end();
        (values, is_realtime)
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = bind(first).and_then(|()| set_cpus(0, cpus));
            sleeper.sleep();
        });
        scope.spawn(waker).join().expect("it does not panic")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_one_cpu_a_wakeup_has_no_parts() {
        let effort = Effort { wakes: 20, ..Effort::REAL };
        let before = crate::attributes::cpus().unwrap();
        let here = before.iter().next().unwrap();
        bind(here).unwrap();
        let Wakeups { own, remote, select } = wakeups(here, None, &effort);
        set_cpus(0, &before).unwrap();
        assert!(own.is_some_and(|own| own.median_ns > 0.0));
        assert_eq!((remote, select), (None, None));
    }
}
