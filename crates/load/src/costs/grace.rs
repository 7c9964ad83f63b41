//! What the kernel's thread takes that waits for grace periods of RCU.

use std::fs;

/// Its names, by release and configuration (`rcu_spawn_gp_kthread`).
const NAMES: [&str; 2] = ["rcu_preempt", "rcu_sched"];

/// How long it has run and how often, as the kernel counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runs {
    ran_ns: u64,
    times: u64,
}

impl Runs {
    /// The mean of those since then, in nanoseconds; none if there were none.
    pub fn since(self, before: Runs) -> Option<f64> {
        let times = self.times.checked_sub(before.times).filter(|times| *times > 0)?;
        Some((self.ran_ns - before.ran_ns) as f64 / times as f64)
    }

    fn read(text: &str) -> Option<Runs> {
        let mut words = text.split_whitespace().map(str::parse);
        let (Some(Ok(ran_ns)), Some(Ok(_)), Some(Ok(times))) = (words.next(), words.next(), words.next()) else {
            return None;
        };
        Some(Runs { ran_ns, times })
    }
}

/// Those of this kernel's thread; none where it cannot be seen.
pub fn runs() -> Option<Runs> {
    let is_it = |folder: &std::path::Path| {
        fs::read_to_string(folder.join("comm")).is_ok_and(|name| NAMES.contains(&name.trim_end()))
    };
    let mut processes = fs::read_dir("/proc").ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let thread = processes.find(|folder| is_it(folder))?;
    Runs::read(&fs::read_to_string(thread.join("schedstat")).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_of_the_runs_in_between() {
        let [before, after] = ["1000 77 10\n", "1600 99 13\n"].map(|text| Runs::read(text).expect("three numbers"));
        assert_eq!(after.since(before), Some(200.0));
        assert_eq!((before.since(before), before.since(after)), (None, None));
        assert_eq!([Runs::read(""), Runs::read("1 2"), Runs::read("a b c")], [None; 3]);
    }
}
