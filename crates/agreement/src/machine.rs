//! The simulated machine, given what a kernel takes.

use schedlab_model::machine::{Costs, Machine};
use schedlab_model::time::Time;

/// The timer tick of Debian's kernels.
pub const TICK: Time = Time::from_ms(4);

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

    #[test]
    fn a_configuration_tells_the_tick() {
        assert_eq!(tick_in("# CONFIG_HZ_100 is not set\nCONFIG_HZ_1000=y\nCONFIG_HZ=1000\n"), Some(Time::from_ms(1)));
        assert_eq!((tick_in(""), tick_in("CONFIG_HZ=0\n")), (None, None));
    }
}
