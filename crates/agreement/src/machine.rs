//! The simulated machine, given what a kernel takes.

use schedlab_model::machine::{Costs, Machine};
use schedlab_model::result::SchedulerCosts;
use schedlab_model::time::Time;

/// The timer tick of Debian's kernels.
pub const TICK: Time = Time::from_ms(4);

/// The costs of a machine whose kernel was measured. What the policy's own instructions take is part of them. Where a task that
/// yields may go on, a switch is what a hand-over takes without the wakeup in it.
pub fn costs_of(measured: &SchedulerCosts) -> Costs {
    let time = |ns: Option<f64>| Time(ns.unwrap_or(0.0).round() as u64);
    let without_wakeup = || Some((measured.hand_over_ns? - measured.wakeup_ns?).max(0.0));
    Costs {
        switch: time(measured.switch_thread_ns.or_else(without_wakeup)),
        wakeup: time(measured.wakeup_ns),
        migration: time(measured.migration_ns),
        tick: time(measured.tick_ns),
        fork: time(measured.fork_ns),
        start: time(measured.start_ns),
        exit: time(measured.exit_ns),
        policy_instruction_ps: 0,
    }
}

/// The same machine under a kernel with these costs that ticks every `tick`. A kernel's ticks have nothing to do with when a
/// policy begins; half a period stands for that, and copies have all others.
pub fn under_kernel(machine: &Machine, costs: Costs, tick: Time) -> Machine {
    Machine { costs, tick, tick_offset: Time(tick.ns() / 2), ..machine.clone() }
}

/// The period of the running kernel's tick, as its configuration says it; that of Debian's where it cannot be read.
pub fn running_tick() -> Time {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let configuration = std::fs::read_to_string(format!("/boot/config-{}", release.trim())).unwrap_or_default();
    tick_in(&configuration).unwrap_or(TICK)
}

fn tick_in(configuration: &str) -> Option<Time> {
    let hz = configuration.lines().find_map(|line| line.strip_prefix("CONFIG_HZ="))?;
    hz.parse().ok().filter(|hz| *hz > 0).map(|hz: u64| Time(1_000_000_000 / hz))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> SchedulerCosts {
        SchedulerCosts {
            ns_per_instruction: 1.0,
            switch_thread_ns: None,
            switch_process_ns: Some(9.0),
            hand_over_ns: Some(700.4),
            wakeup_ns: Some(300.0),
            tick_ns: Some(50.6),
            migration_ns: None,
            fork_ns: Some(4.0),
            start_ns: Some(5.0),
            exit_ns: Some(6.0),
        }
    }

    #[test]
    fn a_switch_is_a_yield_or_the_rest_of_a_hand_over() {
        let costs = costs_of(&measured());
        assert_eq!([costs.switch, costs.wakeup, costs.tick, costs.migration], [400, 300, 51, 0].map(Time));
        assert_eq!([costs.fork, costs.start, costs.exit], [4, 5, 6].map(Time));
        let yields = SchedulerCosts { switch_thread_ns: Some(123.0), ..measured() };
        assert_eq!(costs_of(&yields).switch, Time(123));
    }

    #[test]
    fn a_configuration_tells_the_tick() {
        assert_eq!(tick_in("# CONFIG_HZ_100 is not set\nCONFIG_HZ_1000=y\nCONFIG_HZ=1000\n"), Some(Time::from_ms(1)));
        assert_eq!((tick_in(""), tick_in("CONFIG_HZ=0\n")), (None, None));
    }
}
