//! What small changes do to numbers that repeat exactly.
//!
//! A run in which nothing is random gives the same numbers however often it is repeated. That is no interval: tasks can be
//! locked to each other's phase and to the tick, and another offset of the tick or a per mille more of work may give very
//! different numbers. So copies with such changes run too, and the tables show their range.

use crate::ratio::{amount, both_times};
use crate::{Column, Table};
use schedlab_metrics::statistics::Comparison as Effect;
use schedlab_model::metric::{Metric, Part, known};
use schedlab_model::outcome::Outcome;
use schedlab_model::result::RunResult;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is changed, for people.
pub const WHAT: &str = "small changes of tick offset, work and sleep";

/// A policy that fails under small changes.
#[derive(Clone, Debug)]
pub struct Fragile {
    /// Its label.
    pub policy: String,
    /// In how many copies it failed.
    pub failed: usize,
    /// Of how many.
    pub copies: u32,
    /// How, the first time.
    pub error: String,
}

impl Fragile {
    /// In a sentence.
    pub(crate) fn words(&self) -> String {
        let Fragile { policy, failed, copies, error } = self;
        format!("Under {WHAT} {policy} failed in {failed} of {copies} copies: {error}.")
    }
}

/// A metric of a role under a policy as the scenario stands, and under small changes of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The policy as the user wrote it.
    pub policy: String,
    /// The role.
    pub role: String,
    /// The path of the metric in the role: `response_ns.mean`.
    pub metric: String,
    /// How many copies were run.
    pub copies: u32,
    /// The value of the scenario as it is.
    pub value: f64,
    /// The smallest value of it and its copies.
    pub low: f64,
    /// The largest.
    pub high: f64,
}

/// What small changes do to a difference between two policies. Both get the same changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedDifference {
    /// How many copies were run.
    pub copies: u32,
    /// The smallest ratio of the scenario as it is and its copies; absent where a baseline is zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio_low: Option<f64>,
    /// The largest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio_high: Option<f64>,
    /// The smallest difference.
    pub difference_low: f64,
    /// The largest.
    pub difference_high: f64,
}

/// The metrics whose range the tables show.
pub(crate) const METRICS: [&str; 4] = ["response_ns.mean", "response_ns.p99", "throughput_per_s", "cpu_share"];

/// What small changes do to the metrics of a policy's roles; nothing where no copies were run.
pub(crate) fn of(policy: &str, result: &Outcome, copies: &[&RunResult]) -> Vec<Change> {
    let mut changes = Vec::new();
    for (index, role) in result.roles().into_iter().enumerate() {
        for metric in METRICS {
            let get = |copy: &&RunResult| known(metric).of(Part::Role(&copy.roles[index]));
            let values: Option<Vec<f64>> = copies.iter().map(get).collect();
            let values = values.filter(|values| !values.is_empty());
            let (Some(value), Some(values)) = (role.metrics.get(metric), values) else {
                continue;
            };
            let (low, high) = range(value, values);
            let (policy, role, metric) = (policy.into(), role.name.into(), metric.into());
            changes.push(Change { policy, role, metric, copies: copies.len() as u32, value, low, high });
        }
    }
    changes
}

/// What they do to a difference: pairs of a value under the baseline and under the other policy, one of each copy.
pub(crate) fn of_difference(effect: &Effect, pairs: &[(f64, f64)]) -> Option<ChangedDifference> {
    if pairs.is_empty() {
        return None;
    }
    let (difference_low, difference_high) =
        range(effect.difference, pairs.iter().map(|(baseline, other)| other - baseline));
    let ratio = |&(baseline, other): &(f64, f64)| (baseline > 0.0).then(|| other / baseline);
    let ratios: Option<Vec<f64>> = pairs.iter().map(ratio).collect();
    let ratios = effect.ratio.zip(ratios).map(|(ratio, ratios)| range(ratio, ratios));
    Some(ChangedDifference {
        copies: pairs.len() as u32,
        ratio_low: ratios.map(|(low, _)| low),
        ratio_high: ratios.map(|(_, high)| high),
        difference_low,
        difference_high,
    })
}

fn range(value: f64, others: impl IntoIterator<Item = f64>) -> (f64, f64) {
    others.into_iter().fold((value, value), |(low, high), other| (low.min(other), high.max(other)))
}

impl ChangedDifference {
    /// Whether the difference goes the same way in all copies.
    pub fn is_firm(&self) -> bool {
        match (self.ratio_low, self.ratio_high) {
            (Some(low), Some(high)) => low > 1.0 || high < 1.0,
            _ => self.difference_low > 0.0 || self.difference_high < 0.0,
        }
    }

    /// As the end of a sentence: `, between 1.71× longer and 1.92× longer under small changes of …`.
    pub(crate) fn words(&self, metric: &Metric) -> String {
        let [low, high] = match (self.ratio_low, self.ratio_high) {
            // The smaller difference first.
            (Some(low), Some(high)) if high < 1.0 => both_times([high, low], metric),
            (Some(low), Some(high)) => both_times([low, high], metric),
            _ => [self.difference_low, self.difference_high].map(|value| amount(metric, value)),
        };
        match (low == high, self.is_firm()) {
            (true, _) => format!(", and so it stays under {WHAT}"),
            (false, true) => format!(", between {low} and {high} under {WHAT}"),
            (false, false) => format!(", but between {low} and {high} under {WHAT}: it is not firm"),
        }
    }
}

/// Mean and tail of responses as the scenario stands, and their ranges.
pub(crate) fn table(names: Vec<Column>, rows: &[(&str, &str)], changes: &[Change]) -> Option<Table> {
    if changes.is_empty() {
        return None;
    }
    let mut columns = names;
    for (metric, head) in [("response_ns.mean", "mean response"), ("response_ns.p99", "p99 of response")] {
        let find = |(policy, role): &(&str, &str)| {
            changes.iter().find(|change| (&*change.policy, &*change.role, &*change.metric) == (policy, role, metric))
        };
        let column = |of: fn(&Change) -> f64| rows.iter().map(move |row| find(row).map(of)).collect::<Vec<_>>();
        let cells = [column(|change| change.value), column(|change| change.low), column(|change| change.high)];
        // One unit for all three.
        let unit = crate::Times::of(&cells.concat());
        for (name, values) in ["as is", "from", "to"].into_iter().zip(cells) {
            let cells: Vec<String> = values.iter().map(|value| unit.show(*value)).collect();
            let column = Column::numbers(&format!("{name} {}", unit.unit), cells).under(head);
            columns.push(column.exactly(&format!("{metric} {name}"), values));
        }
    }
    Some(Table::new(columns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_metrics::statistics::compare;

    #[test]
    fn ranges_hold_the_scenario_as_it_stands() {
        let response = known("response_ns.mean").metric;
        let effect = compare(&[10.0], &[22.0], 0.95).unwrap();
        let changed = of_difference(&effect, &[(10.0, 25.0), (20.0, 30.0)]).unwrap();
        assert_eq!((changed.ratio_low, changed.ratio_high), (Some(1.5), Some(2.5)));
        assert_eq!((changed.difference_low, changed.difference_high, changed.copies), (10.0, 15.0, 2));
        assert!(changed.is_firm());
        assert_eq!(
            changed.words(response),
            ", between 1.50× longer and 2.50× longer under small changes of tick offset, work and sleep"
        );
        let faster = of_difference(&effect, &[(22.0, 10.0)]).map(|_| compare(&[22.0], &[10.0], 0.95).unwrap()).unwrap();
        let faster = of_difference(&faster, &[(40.0, 10.0)]).unwrap();
        assert!(faster.words(response).starts_with(", between 2.20× shorter and 4.00× shorter under"));
        let turned = of_difference(&effect, &[(22.0, 20.0)]).unwrap();
        assert!(!turned.is_firm());
        assert!(turned.words(response).starts_with(", but between 1.10× shorter and 2.20× longer under"));
        assert_eq!(of_difference(&effect, &[]), None);
    }
}
