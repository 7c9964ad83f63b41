//! Metrics by the path under which results keep their intervals: `response_ns.p99`.

use schedlab_model::result::{Interval, Measures, RunResult};
use serde_json::Value;
use std::collections::BTreeMap;

/// The metrics of a group, a task or a whole run, by path. Of several runs: what all of them say, where there is an
/// interval, and otherwise what the first one says.
pub struct Metrics<'a> {
    numbers: Value,
    intervals: &'a BTreeMap<String, Interval>,
}

impl<'a> Metrics<'a> {
    /// Those of a group or a task.
    pub fn of_measures(measures: &'a Measures) -> Metrics<'a> {
        let plain = Measures { intervals: BTreeMap::new(), ..measures.clone() };
        Metrics { numbers: json(&plain), intervals: &measures.intervals }
    }

    /// Those of a run as a whole.
    pub fn of_run(run: &'a RunResult) -> Metrics<'a> {
        let intervals = BTreeMap::new();
        let plain = RunResult { groups: vec![], tasks: vec![], cpus: vec![], intervals, ..run.clone() };
        Metrics { numbers: json(&plain), intervals: &run.intervals }
    }

    /// The value at a path, if it is known.
    pub fn get(&self, path: &str) -> Option<f64> {
        self.intervals.get(path).map(|interval| interval.estimate).or_else(|| self.first(path))
    }

    /// The value of the first run.
    fn first(&self, path: &str) -> Option<f64> {
        path.split('.').try_fold(&self.numbers, |value, key| value.get(key))?.as_f64()
    }
}

fn json<T: serde::Serialize>(part: &T) -> Value {
    serde_json::to_value(part).expect("a result has a form in JSON")
}
