//! Several runs that differ in the seed, as one result.

use schedlab_metrics::statistics::mean_interval;
use schedlab_model::result::{Interval, RunResult, Runs};
use serde_json::Value;
use std::collections::BTreeMap;

/// The coverage of all intervals.
pub const LEVEL: f64 = 0.95;

/// The metrics of a group that get an interval.
const GROUP_METRICS: &[&str] = &[
    "throughput_per_s",
    "cpu_share",
    "response_ns.mean",
    "response_ns.p50",
    "response_ns.p90",
    "response_ns.p99",
    "response_ns.p999",
    "response_ns.max",
    "response_from_first_run_ns.mean",
    "wakeup_latency_ns.mean",
    "wakeup_latency_ns.p50",
    "wakeup_latency_ns.p99",
    "wakeup_latency_ns.max",
    "run_delay_ns.mean",
    "run_delay_ns.p50",
    "run_delay_ns.p99",
    "run_delay_ns.max",
    "turnaround_ns.mean",
    "slowdown.mean",
    "slowdown.p99",
    "longest_wait_ns",
    "migrations",
    "switches.voluntary",
    "switches.involuntary",
];

/// The metrics of the whole run that get an interval.
const RUN_METRICS: &[&str] = &[
    "jain",
    "time_to_balance_ns",
    "work_conservation_violation.frac",
    "overhead_ns.switch",
    "overhead_ns.wakeup",
    "overhead_ns.migration",
    "overhead_ns.tick",
    "overhead_ns.policy",
    "events.switches",
    "events.migrations",
];

/// Puts runs together: the first one's counts and times, and an interval over all runs for every metric that each of
/// them knows. `wanted` runs had been asked for; fewer make the result partial.
pub fn merge(runs: &[&RunResult], wanted: usize) -> RunResult {
    let mut merged = runs[0].clone();
    merged.partial = runs.iter().any(|run| run.partial) || runs.len() < wanted;
    merged.lost = runs.iter().map(|run| run.lost).sum();
    if wanted < 2 {
        return merged;
    }
    let seed = merged.seed;
    merged.runs = Some(Runs { count: runs.len() as u32, seeds: runs.iter().map(|run| run.seed).collect() });
    for (index, group) in merged.groups.iter_mut().enumerate() {
        group.measures.intervals = intervals(GROUP_METRICS, seed, runs.iter().map(|run| json(&run.groups[index])));
    }
    merged.intervals = intervals(RUN_METRICS, seed, runs.iter().map(|run| whole(run)));
    merged
}

fn json<T: serde::Serialize>(part: &T) -> Value {
    serde_json::to_value(part).expect("a result has a form in JSON")
}

/// The run without its lists, which can be long.
fn whole(run: &RunResult) -> Value {
    let lists = RunResult { groups: Vec::new(), tasks: Vec::new(), cpus: Vec::new(), ..run.clone() };
    json(&lists)
}

fn intervals(paths: &[&str], seed: u64, runs: impl Iterator<Item = Value>) -> BTreeMap<String, Interval> {
    let runs: Vec<Value> = runs.collect();
    let found = paths.iter().filter_map(|path| {
        let values: Option<Vec<f64>> = runs.iter().map(|run| at(run, path)).collect();
        Some((path.to_string(), mean_interval(&values?, LEVEL, seed)?))
    });
    found.collect()
}

/// The number at a path such as `response_ns.p99`.
fn at(value: &Value, path: &str) -> Option<f64> {
    path.split('.').try_fold(value, |value, key| value.get(key))?.as_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_numbers() {
        let value = serde_json::json!({ "a": { "b": 2 }, "c": "word" });
        assert_eq!(
            (at(&value, "a.b"), at(&value, "a"), at(&value, "c"), at(&value, "d.e")),
            (Some(2.0), None, None, None)
        );
    }

    #[test]
    fn a_metric_that_a_run_does_not_know_has_no_interval() {
        let runs = [serde_json::json!({ "a": 1, "b": 1 }), serde_json::json!({ "a": 3 })];
        let found = intervals(&["a", "b"], 1, runs.into_iter());
        assert_eq!(found.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!((found["a"].estimate, found["a"].level), (2.0, LEVEL));
    }
}
