//! What the kernel counts of its scheduling, for the whole machine.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

/// Where a kernel from 6.14 on counts what sched_ext had to do in addition to what policies asked for.
const EVENTS: &str = "/sys/kernel/sched_ext/root/events";

/// The counters at some moment.
#[derive(Clone, Debug)]
pub struct Counters {
    at: Instant,
    switches: u64,
    /// Time on all CPUs, and what of it they idled; in ticks.
    time: (u64, u64),
    runnable: u64,
    /// Time that tasks waited for a CPU, in nanoseconds, and how often one got a CPU; where the kernel counts it.
    waits: Option<(u64, u64)>,
    events: BTreeMap<String, u64>,
}

/// What happened between two moments.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// Switches in a second.
    pub switches_per_s: f64,
    /// The share of the CPUs' time that they were busy.
    pub busy: f64,
    /// Tasks that run or wait for a CPU at the later moment.
    pub runnable: u64,
    /// The mean wait for a CPU of tasks that got one; none when no task did, or the kernel does not count it.
    pub mean_wait: Option<Duration>,
    /// Events of sched_ext, with how often each happened.
    pub events: Vec<(String, u64)>,
}

impl Counters {
    /// Those of now.
    pub fn read() -> Counters {
        let text = |path| fs::read_to_string(path).unwrap_or_default();
        Counters::parse(Instant::now(), &text("/proc/stat"), &text("/proc/schedstat"), &text(EVENTS))
    }

    fn parse(at: Instant, stat: &str, schedstat: &str, events: &str) -> Counters {
        let fields = |name: &str| -> Vec<u64> {
            let line = stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.unwrap_or_default().split_whitespace().filter_map(|field| field.parse().ok()).collect()
        };
        let one = |name| fields(name).first().copied().unwrap_or(0);
        // User, nice, system, idle, waiting for devices, interrupts, soft interrupts, stolen: guests' time is in the first.
        let time = fields("cpu");
        let idle = time.iter().skip(3).take(2).sum();
        Counters {
            at,
            switches: one("ctxt"),
            time: (time.iter().take(8).sum(), idle),
            runnable: one("procs_running"),
            waits: waits(schedstat),
            events: events.lines().filter_map(event).collect(),
        }
    }

    /// What happened since an earlier moment.
    pub fn since(&self, earlier: &Counters) -> Rates {
        let seconds = self.at.duration_since(earlier.at).as_secs_f64().max(1e-9);
        let (all, idle) = (self.time.0.saturating_sub(earlier.time.0), self.time.1.saturating_sub(earlier.time.1));
        let waits = self.waits.zip(earlier.waits);
        let mean_wait =
            waits.and_then(|(now, then)| now.0.saturating_sub(then.0).checked_div(now.1.saturating_sub(then.1)));
        let before = |name: &str| earlier.events.get(name).copied().unwrap_or(0);
        let grown = self.events.iter().map(|(name, count)| (name.clone(), count.saturating_sub(before(name))));
        Rates {
            switches_per_s: self.switches.saturating_sub(earlier.switches) as f64 / seconds,
            busy: if all == 0 { 0.0 } else { 1.0 - idle as f64 / all as f64 },
            runnable: self.runnable,
            mean_wait: mean_wait.map(Duration::from_nanos),
            events: grown.filter(|(_, count)| *count > 0).collect(),
        }
    }
}

/// A line for each CPU ends with the time that tasks ran, the time that they waited, and how often one got the CPU.
fn waits(schedstat: &str) -> Option<(u64, u64)> {
    let cpus = schedstat.lines().filter(|line| line.starts_with("cpu"));
    let numbers = |line: &str| {
        let fields: Vec<u64> = line.split_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
        Some((*fields.get(7)?, *fields.get(8)?))
    };
    cpus.map(numbers).try_fold(None, |sum: Option<(u64, u64)>, cpu| {
        let (sum, cpu) = (sum.unwrap_or_default(), cpu?);
        Some(Some((sum.0 + cpu.0, sum.1 + cpu.1)))
    })?
}

/// `SCX_EV_DISPATCH_KEEP_LAST 12` as `dispatch_keep_last` and 12.
fn event(line: &str) -> Option<(String, u64)> {
    let (name, count) = line.split_once(' ')?;
    Some((name.strip_prefix("SCX_EV_")?.to_lowercase(), count.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_differences() {
        let begin = Instant::now();
        let earlier = Counters::parse(
            begin,
            "cpu  10 0 10 80 0 0 0 0 0 0\nctxt 1000\nprocs_running 1\n",
            "version 17\ncpu0 0 0 0 0 0 0 100 50 5\ncpu1 0 0 0 0 0 0 100 50 5\ndomain0 1 2 3\n",
            "SCX_EV_DISPATCH_KEEP_LAST 4\nSCX_EV_ENQ_SKIP_EXITING 1\n",
        );
        let later = Counters::parse(
            begin + Duration::from_secs(2),
            "cpu  70 0 30 100 0 0 0 0 0 0\nctxt 1500\nprocs_running 3\n",
            "version 17\ncpu0 0 0 0 0 0 0 100 1050 10\ncpu1 0 0 0 0 0 0 100 1050 10\n",
            "SCX_EV_DISPATCH_KEEP_LAST 9\nSCX_EV_ENQ_SKIP_EXITING 1\n",
        );
        let rates = later.since(&earlier);
        assert_eq!((rates.switches_per_s, rates.busy, rates.runnable), (250.0, 0.8, 3));
        assert_eq!(rates.mean_wait, Some(Duration::from_nanos(200)));
        assert_eq!(rates.events, [("dispatch_keep_last".to_string(), 5)]);
    }

    #[test]
    fn what_a_kernel_does_not_count_is_none() {
        let nothing = Counters::parse(Instant::now(), "", "", "");
        assert_eq!(nothing.since(&nothing).mean_wait, None);
        assert!(Counters::read().switches > 0);
    }
}
