//! What a kernel counts of the use of its CPUs, and how much of it falls into the time between two looks.

use crate::clock::monotonic_ns;
use std::fs;

/// The counters at some moment: time by CPU from `/proc/stat`, waits from `/proc/pressure/cpu`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    at_ns: u64,
    /// By number; none of a CPU that is not told of.
    cpus: Vec<Option<CpuTime>>,
    /// How long some task waited for a CPU, in microseconds; none where the kernel does not count it.
    pressure_us: Option<u64>,
}

/// Time of a CPU, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CpuTime {
    busy_ns: u64,
    steal_ns: u64,
}

/// What was counted between two looks. Times are in nanoseconds; none where the kernel does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// The time between the looks.
    pub length_ns: u64,
    /// By CPU: user, nice, system, interrupts, soft interrupts. It holds no stolen time, and guests' time once.
    pub busy_ns: Vec<Option<u64>>,
    /// By CPU: what the hypervisor gave to others while this CPU had something to do.
    pub steal_ns: Vec<Option<u64>>,
    /// How long some task of the machine waited for a CPU (`some`, the run's own tasks included).
    pub pressure_ns: Option<u64>,
}

impl Usage {
    /// The counters of now.
    pub fn read() -> Usage {
        let text = |path| fs::read_to_string(path).unwrap_or_default();
        Usage::parse(monotonic_ns(), &text("/proc/stat"), &text("/proc/pressure/cpu"), tick_ns())
    }

    fn parse(at_ns: u64, stat: &str, pressure: &str, tick_ns: u64) -> Usage {
        let mut cpus: Vec<Option<CpuTime>> = Vec::new();
        for (cpu, time) in stat.lines().filter_map(|line| cpu_time(line, tick_ns)) {
            cpus.resize(cpus.len().max(cpu + 1), None);
            cpus[cpu] = Some(time);
        }
        Usage { at_ns, cpus, pressure_us: some_total(pressure) }
    }

    /// What was counted on the CPUs below `cpus` since an earlier look.
    pub fn since(&self, earlier: &Usage, cpus: u32) -> Used {
        let grown = |of: fn(&CpuTime) -> u64| -> Vec<Option<u64>> {
            let at = |usage: &Usage, cpu: u32| usage.cpus.get(cpu as usize).copied().flatten();
            // Counters of a CPU that was away may be set back.
            let of_cpu = |cpu| Some(of(&at(self, cpu)?).saturating_sub(of(&at(earlier, cpu)?)));
            (0..cpus).map(of_cpu).collect()
        };
        let pressure_us = self.pressure_us.zip(earlier.pressure_us);
        Used {
            length_ns: self.at_ns.saturating_sub(earlier.at_ns),
            busy_ns: grown(|time| time.busy_ns),
            steal_ns: grown(|time| time.steal_ns),
            pressure_ns: pressure_us.map(|(now, then)| 1000 * now.saturating_sub(then)),
        }
    }
}

impl Used {
    /// The busy time of all CPUs together; none unless all are known.
    pub fn busy_in_all_ns(&self) -> Option<u64> {
        self.busy_ns.iter().copied().sum()
    }

    /// The stolen time of all CPUs together; none unless all are known.
    pub fn stolen_in_all_ns(&self) -> Option<u64> {
        self.steal_ns.iter().copied().sum()
    }
}

/// proc_stat(5): `cpu1 user nice system idle iowait irq softirq steal guest guest_nice`, in ticks; the guests' time is in
/// the first two. Before Linux 2.6.11 there is no `steal`, and such a line is not taken.
fn cpu_time(line: &str, tick_ns: u64) -> Option<(usize, CpuTime)> {
    let (name, fields) = line.split_once(' ')?;
    let cpu = name.strip_prefix("cpu")?.parse().ok()?;
    let ticks: Vec<u64> = fields.split_whitespace().map_while(|field| field.parse().ok()).collect();
    let &[user, nice, system, _idle, _iowait, irq, softirq, steal, ..] = ticks.as_slice() else { return None };
    Some((cpu, CpuTime { busy_ns: (user + nice + system + irq + softirq) * tick_ns, steal_ns: steal * tick_ns }))
}

/// Documentation/accounting/psi.rst: `some avg10=0.00 avg60=0.00 avg300=0.00 total=0`, in microseconds.
fn some_total(pressure: &str) -> Option<u64> {
    let some = pressure.lines().find_map(|line| line.strip_prefix("some "))?;
    some.split_whitespace().find_map(|field| field.strip_prefix("total="))?.parse().ok()
}

/// The unit of `/proc/stat`.
fn tick_ns() -> u64 {
    // SAFETY: a plain question to the C library.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    1_000_000_000 / u64::try_from(per_second).unwrap_or(100).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK_NS: u64 = 10_000_000;

    fn usage(at_ms: u64, stat: &str, pressure: &str) -> Usage {
        Usage::parse(at_ms * 1_000_000, stat, pressure, TICK_NS)
    }

    #[test]
    fn what_grew_between_two_looks_is_told_by_cpu() {
        let earlier = usage(
            1000,
            "cpu  30 0 12 99 9 0 3 5 0 0\ncpu0 10 0 2 50 9 0 1 4 0 0\ncpu1 20 0 10 49 0 0 2 1 0 0\nctxt 7\n",
            "some avg10=1.00 avg60=0.50 avg300=0.10 total=1000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=9\n",
        );
        let later = usage(
            3000,
            // Guests' time, in the last two fields, is in the first two already.
            "cpu  0\ncpu0 60 5 12 90 9 3 4 14 30 5\ncpu1 20 0 10 249 0 0 2 1 0 0\ncpu2 9 9 9 9 9 9 9 9 9 9\n",
            "some avg10=1.00 avg60=0.50 avg300=0.10 total=501000\n",
        );
        let used = later.since(&earlier, 2);
        let ticks = |list: &[u64]| list.iter().map(|ticks| Some(ticks * TICK_NS)).collect::<Vec<_>>();
        assert_eq!(used.length_ns, 2_000_000_000);
        assert_eq!(used.busy_ns, ticks(&[50 + 5 + 10 + 3 + 3, 0]));
        assert_eq!(used.steal_ns, ticks(&[10, 0]));
        assert_eq!((used.busy_in_all_ns(), used.stolen_in_all_ns()), (Some(71 * TICK_NS), Some(10 * TICK_NS)));
        assert_eq!(used.pressure_ns, Some(500_000_000));
    }

    #[test]
    fn what_is_not_told_is_none_and_not_zero() {
        let line = "cpu0 1 2 3 4 5 6 7 8 0 0\n";
        let nothing = usage(1, "", "").since(&usage(0, "", ""), 1);
        assert_eq!((&nothing.busy_ns, &nothing.steal_ns, nothing.pressure_ns), (&vec![None], &vec![None], None));
        assert_eq!((nothing.busy_in_all_ns(), nothing.stolen_in_all_ns()), (None, None));
        // A CPU that came later, and a line without `steal`.
        let one = usage(1, line, "some total=7\n").since(&usage(0, "cpu0 1 2 3 4\n", ""), 2);
        assert_eq!((one.busy_ns, one.pressure_ns), (vec![None, None], None));
        // A counter that was set back.
        let back = usage(1, "cpu0 0 0 0 0 0 0 0 0\n", "some total=1\n").since(&usage(0, line, "some total=7\n"), 1);
        assert_eq!((back.busy_ns, back.pressure_ns), (vec![Some(0)], Some(0)));
    }

    #[test]
    fn this_kernel_tells_of_its_first_cpu() {
        let used = Usage::read().since(&Usage::read(), 1);
        assert!(used.busy_ns[0].is_some() && used.steal_ns[0].is_some(), "{used:?}");
    }
}
