//! What the kernel's own threads take after tasks have ended: the one that waits for grace periods of RCU, and those that free
//! then what is left of the tasks.

use crate::clock::{now_ns, sleep_until};
use crate::stat::Stat;
use std::fs;
use std::path::Path;

/// The names of the thread that waits, by release and configuration (`rcu_spawn_gp_kthread`).
const NAMES: [&str; 2] = ["rcu_preempt", "rcu_sched"];
/// `kthreadd`, of which all threads of the kernel are children.
const KTHREADD: i32 = 2;
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
}

/// The threads of this kernel, at an instant.
#[derive(Clone, Copy, Debug)]
pub struct Threads {
    at_ns: u64,
    /// The one that waits for grace periods.
    waiter: Runs,
    /// All others together.
    others_ns: u64,
}

/// What they took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taken {
    /// The one that waits for grace periods each time that it ran, the mean in nanoseconds.
    pub waiter_ns: Option<f64>,
    /// All others, in nanoseconds.
    pub others_ns: f64,
}

impl Threads {
    /// Those of this kernel; none where they cannot be seen.
    pub fn look() -> Option<Threads> {
        let (mut waiter, mut others_ns) = (None, 0);
        for thread in fs::read_dir("/proc").ok()?.flatten().map(|entry| entry.path()) {
            // It may be gone meanwhile.
            let Some((stat, runs)) = Stat::of(&thread).zip(Runs::of(&thread)) else { continue };
            match NAMES.contains(&stat.name.as_str()) {
                _ if stat.parent != KTHREADD => {}
                true => waiter = Some(runs),
                false => others_ns += runs.ran_ns,
            }
        }
        Some(Threads { at_ns: now_ns(), waiter: waiter?, others_ns })
    }

    /// How long they all ran since then.
    pub fn ran_ns(self, before: Threads) -> u64 {
        let ran = |threads: Threads| threads.waiter.ran_ns + threads.others_ns;
        ran(self).saturating_sub(ran(before))
    }

    /// What they took since then.
    fn since(self, before: Threads) -> Taken {
        let times = self.waiter.times.saturating_sub(before.waiter.times);
        let ran_ns = self.waiter.ran_ns.saturating_sub(before.waiter.ran_ns) as f64;
        Taken {
            waiter_ns: (times > 0).then(|| ran_ns / times as f64),
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
        let Taken { waiter_ns, others_ns } = after.since(before);
        Taken { waiter_ns, others_ns: (others_ns - usual * (after.at_ns - before.at_ns) as f64).max(0.0) }
    });
    (done, taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_of_the_runs_in_between() {
        let [before, after] = ["1000 77 10\n", "1600 99 13\n"].map(|text| Runs::read(text).expect("three numbers"));
        let at = |waiter, others_ns| Threads { at_ns: 0, waiter, others_ns };
        let taken = at(after, 1700).since(at(before, 1000));
        assert_eq!(taken, Taken { waiter_ns: Some(200.0), others_ns: 700.0 });
        assert_eq!(at(before, 0).since(at(before, 0)).waiter_ns, None);
        assert_eq!([Runs::read(""), Runs::read("1 2"), Runs::read("a b c")], [None; 3]);
    }
}
