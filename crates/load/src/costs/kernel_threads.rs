//! What the kernel's own threads take: after tasks have ended the one that waits for grace periods of RCU, and those that free
//! then what is left of the tasks; and the workers of CPUs, which keep statistics.

use crate::clock::{now_ns, sleep_until, spin_until};
use crate::stat::Stat;
use std::fs;
use std::path::Path;

/// The names of the thread that waits, by release and configuration (`rcu_spawn_gp_kthread`).
const NAMES: [&str; 2] = ["rcu_preempt", "rcu_sched"];
/// `kthreadd`, of which all threads of the kernel are children.
const KTHREADD: i32 = 2;
/// How often statistics are kept, in seconds: 1 by default (`sysctl_stat_interval`).
const STATISTICS_INTERVAL: &str = "/proc/sys/vm/stat_interval";
/// After so long a worker has kept the statistics of a busy CPU, which may come half a second late (`round_jiffies_common`).
const STATISTICS_NS: u64 = 1_500_000_000;
/// How long to look at what they take while no task ends.
const USUALLY_NS: u64 = 100_000_000;

/// How long a thread has run and how often, as the kernel counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Runs {
    ran_ns: u64,
    times: u64,
}

impl Runs {
    fn read(text: &str) -> Option<Runs> {
        let mut words = text.split_whitespace().map(str::parse);
        let (Some(Ok(ran_ns)), Some(Ok(_)), Some(Ok(times))) = (words.next(), words.next(), words.next()) else {
            return None;
        };
        Some(Runs { ran_ns, times })
    }

    fn of(thread: &Path) -> Option<Runs> {
        Runs::read(&fs::read_to_string(thread.join("schedstat")).ok()?)
    }

    /// The mean length of a run since then, in nanoseconds.
    fn mean_since(self, before: Runs) -> Option<f64> {
        let times = self.times.saturating_sub(before.times);
        (times > 0).then(|| self.ran_ns.saturating_sub(before.ran_ns) as f64 / times as f64)
    }
}

/// Whether a thread is a worker of usual priority that is bound to a CPU: `kworker/0:1-events`, not `kworker/u4:0` or
/// `kworker/0:0H`.
fn is_worker_of_cpu(name: &str) -> bool {
    let Some((cpu, worker)) = name.strip_prefix("kworker/").and_then(|name| name.split_once(':')) else { return false };
    let number = worker.split(['-', '+']).next().unwrap_or_default();
    [cpu, number].iter().all(|digits| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()))
}

/// The threads of this kernel, at an instant.
#[derive(Clone, Copy, Debug)]
pub struct Threads {
    at_ns: u64,
    /// The one that waits for grace periods.
    waiter: Runs,
    /// The workers of CPUs.
    workers: Runs,
    /// All but the first together.
    others_ns: u64,
}

/// What they took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taken {
    /// The one that waits for grace periods each time that it ran, the mean in nanoseconds.
    pub waiter_ns: Option<f64>,
    /// A worker of a CPU each time that one ran, as `waiter_ns`.
    pub worker_ns: Option<f64>,
    /// All others, in nanoseconds.
    pub others_ns: f64,
}

impl Threads {
    /// Those of this kernel; none where they cannot be seen.
    pub fn look() -> Option<Threads> {
        let (mut waiter, mut workers, mut others_ns) = (None, Runs::default(), 0);
        for thread in fs::read_dir("/proc").ok()?.flatten().map(|entry| entry.path()) {
            // It may be gone meanwhile.
            let Some((stat, runs)) = Stat::of(&thread).zip(Runs::of(&thread)) else { continue };
            match NAMES.contains(&stat.name.as_str()) {
                _ if stat.parent != KTHREADD => {}
                true => waiter = Some(runs),
                false => {
                    others_ns += runs.ran_ns;
                    if is_worker_of_cpu(&stat.name) {
                        workers = Runs { ran_ns: workers.ran_ns + runs.ran_ns, times: workers.times + runs.times };
                    }
                }
            }
        }
        Some(Threads { at_ns: now_ns(), waiter: waiter?, workers, others_ns })
    }

    /// How long they all ran since then.
    pub fn ran_ns(self, before: Threads) -> u64 {
        let ran = |threads: Threads| threads.waiter.ran_ns + threads.others_ns;
        ran(self).saturating_sub(ran(before))
    }

    /// What they took since then.
    fn since(self, before: Threads) -> Taken {
        Taken {
            waiter_ns: self.waiter.mean_since(before.waiter),
            worker_ns: self.workers.mean_since(before.workers),
            others_ns: self.others_ns.saturating_sub(before.others_ns) as f64,
        }
    }
}

/// What they take more than usually while this continues; none where they cannot be seen.
pub fn beside<T>(f: impl FnOnce() -> T) -> (T, Option<Taken>) {
    let first = Threads::look();
    sleep_until(now_ns() + USUALLY_NS);
    let before = Threads::look();
    let done = f();
    let taken = first.zip(before).zip(Threads::look()).map(|((first, before), after)| {
        let usual = before.since(first).others_ns / (before.at_ns - first.at_ns) as f64;
        let taken = after.since(before);
        let others_ns = (taken.others_ns - usual * (after.at_ns - before.at_ns) as f64).max(0.0);
        Taken { others_ns, ..taken }
    });
    (done, taken)
}

/// Whether a machine where this is in the file keeps statistics once a second.
fn keeps_statistics(interval: &str) -> bool {
    interval.trim() == "1"
}

/// What a worker of a CPU took in the meantime each time that it ran, on CPUs that are busy: statistics, mostly. Where none has
/// run yet, some time is waited for that. None where no statistics are kept once a second.
pub fn worker_ns(before: Option<Threads>) -> Option<f64> {
    fs::read_to_string(STATISTICS_INTERVAL).ok().filter(|interval| keeps_statistics(interval))?;
    let since = || Threads::look()?.since(before?).worker_ns;
    since().or_else(|| {
        spin_until(now_ns() + STATISTICS_NS);
        since()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_of_the_runs_in_between() {
        let [before, after] = ["1000 77 10\n", "1600 99 13\n"].map(|text| Runs::read(text).expect("three numbers"));
        let at = |waiter, others_ns| Threads { at_ns: 0, waiter, workers: Runs::default(), others_ns };
        let taken = at(after, 1700).since(at(before, 1000));
        assert_eq!(taken, Taken { waiter_ns: Some(200.0), worker_ns: None, others_ns: 700.0 });
        assert_eq!(at(before, 0).since(at(before, 0)).waiter_ns, None);
        assert_eq!([Runs::read(""), Runs::read("1 2"), Runs::read("a b c")], [None; 3]);
    }

    #[test]
    fn statistics_are_kept_once_a_second_or_not_at_all() {
        assert_eq!(["1\n", "3600\n", "10\n", ""].map(keeps_statistics), [true, false, false, false]);
    }

    #[test]
    fn workers_of_cpus_have_a_number_and_no_letter() {
        let are = ["kworker/0:1", "kworker/12:0-events", "kworker/0:2+mm_percpu_wq"];
        let are_not =
            ["kworker/u4:0", "kworker/0:0H", "kworker/R-rcu_g", "kworker/0:0H-kblockd", "ksoftirqd/0", "kworker/"];
        assert!(are.iter().all(|name| is_worker_of_cpu(name)));
        assert!(!are_not.iter().any(|name| is_worker_of_cpu(name)));
    }
}
