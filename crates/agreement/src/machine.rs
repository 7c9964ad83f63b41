//! The simulated machine, given what a kernel takes.

use crate::pair::Against;
use schedlab_model::machine::{Costs, Machine};
use schedlab_model::release::Release;
use schedlab_model::time::Time;

/// The timer tick of Debian's kernels.
pub const TICK: Time = Time::from_ms(4);

/// The same machine under a kernel with these costs that ticks every `tick`. A kernel's ticks have nothing to do with when a
/// policy begins; half a period stands for that, and copies have all others.
pub fn under_kernel(machine: &Machine, costs: Costs, tick: Time) -> Machine {
    Machine { costs, tick, tick_offset: Time(tick.ns() / 2), ..machine.clone() }
}

/// The first release in which x86 kernels preempt tasks within their calls whatever else is chosen: `PREEMPT_VOLUNTARY` is no
/// choice any more (`kernel/Kconfig.preempt`). Distributions' kernels before it are built with that.
const PREEMPTS_IN_CALLS: Release = Release(7, 0);

/// The first release in which a pipe keeps two pages (`tmp_page` in `struct pipe_inode_info`).
const PIPE_KEEPS_TWO: Release = Release(6, 15);

/// The machine as it is under that kernel and scheduler: the kernel's own asks lazily for a CPU (`resched_curr_lazy`), sched_ext at
/// once.
pub fn with_ways_of(mut machine: Machine, kernel: &str, against: &Against) -> Machine {
    let since = |first: Release| Release::parse(kernel).is_none_or(|it| it >= first);
    machine.mechanisms.preempt_in_calls &= *against == Against::Itself && since(PREEMPTS_IN_CALLS);
    machine.mechanisms.pipe_keeps_two &= since(PIPE_KEEPS_TWO);
    machine
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_preempted_by_late_kernels_and_not_by_their_own_scheduler() {
        let preempts = |kernel: &str, against: &Against| {
            with_ways_of(Machine::flat(1), kernel, against).mechanisms.preempt_in_calls
        };
        assert!(preempts("Linux 7.3.4+deb13-cloud-amd64", &Against::Itself));
        assert!(!preempts("Linux 6.12.117-cloud-amd64", &Against::Itself));
        assert!(!preempts("Linux 7.3.4+deb13-cloud-amd64", &Against::Kernel));
        assert!(!preempts("6.1", &Against::KernelOf("debian:12".into())));
        let mut off = Machine::flat(1);
        off.mechanisms.preempt_in_calls = false;
        assert_eq!(with_ways_of(off.clone(), "7.3", &Against::Itself), off, "a scenario that has it off");
    }

    #[test]
    fn pipes_of_late_kernels_keep_two_pages() {
        let keeps_two = |kernel| with_ways_of(Machine::flat(1), kernel, &Against::Kernel).mechanisms.pipe_keeps_two;
        assert_eq!(["6.1.0", "6.14.11", "6.15", "Linux 7.3.4"].map(keeps_two), [false, false, true, true]);
    }
}
