//! What waking a task takes.

use super::sleeper::Sleeper;
use super::{Effort, bind, cpu_time};
use crate::attributes::set_class;
use crate::clock::{now_ns, sleep_until};
use schedlab_model::ids::CpuId;
use schedlab_model::workload::Class;

/// From telling that it will sleep to sleeping.
const FALLS_ASLEEP_NS: u64 = 200_000;

/// CPU time of waking a sleeper, on another CPU where there is one, less that of the same call without a sleeper.
///
/// On one CPU the woken thread may take the CPU at once, and a part of that switch would count as the waker's. So the waker
/// is a real-time task where it may be one.
pub fn wakeups(other: CpuId, effort: &Effort) -> Vec<f64> {
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
        // Without the right to that it measures as an ordinary task.
        _ = set_class(Class::Fifo(1), 0, None);
        let values: Vec<f64> = (0..effort.wakes).map(|_| wake()).filter(|&ns| ns > 0.0).collect();
        sleeper.end();
        values
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = bind(other);
            sleeper.sleep();
        });
        scope.spawn(waker).join().expect("it does not panic")
    })
}
