//! How far apart two policies are in a metric, and what that rests on.

use crate::changes::ChangedDifference;
use crate::ratio::{SAME, amount, beside, beside_with_ends, ends, times};
use schedlab_metrics::statistics::{Comparison as Effect, leaves_out_equality};
use schedlab_model::metric::Metric;
use schedlab_model::result::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an interval comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// Several runs; those with the same seed are compared in pairs.
    Runs,
    /// One run, cut into batches of consecutive requests.
    Batches,
    /// Every run gives these numbers: nothing that touches them is random. There is no interval.
    Exact,
    /// One run: there is no interval.
    Single,
}

/// How a policy's value stands to that of another one, the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gap {
    /// What the intervals come from.
    pub evidence: Evidence,
    /// The value over the baseline's; absent for a baseline of zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Its confidence interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio_interval: Option<Interval>,
    /// The value minus the baseline's.
    pub difference: f64,
    /// Its confidence interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference_interval: Option<Interval>,
    /// What small changes of tick offset, work and sleep do to it, where both sides repeat exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub under_changes: Option<ChangedDifference>,
}

impl Gap {
    pub(crate) fn new(evidence: Evidence, effect: &Effect, under_changes: Option<ChangedDifference>) -> Gap {
        Gap {
            evidence,
            ratio: effect.ratio,
            ratio_interval: effect.ratio_interval,
            difference: effect.difference,
            difference_interval: effect.difference_interval,
            under_changes,
        }
    }

    /// Whether it is more than chance: its interval excludes equality, or it goes the same way under all small changes. None
    /// where there is neither.
    pub fn is_more_than_chance(&self) -> Option<bool> {
        match (self.evidence, &self.under_changes) {
            (Evidence::Exact, changed) => changed.as_ref().map(ChangedDifference::is_firm),
            _ => leaves_out_equality(self.ratio_interval, self.difference_interval),
        }
    }

    /// The ratios between which it lies: its interval, or the range under small changes.
    pub(crate) fn range(&self) -> Option<(f64, f64)> {
        let changed = || self.under_changes.and_then(|changed| changed.ratio_low.zip(changed.ratio_high));
        self.ratio_interval.map(|interval| (interval.low, interval.high)).or_else(changed)
    }

    /// As a remark in brackets: `2.60×, 95 % interval 2.41× to 2.83×`; nothing where the ratio says nothing.
    pub(crate) fn remark(&self, with_range: bool) -> Option<String> {
        let ratio = self.ratio?;
        let range = self.range().filter(|_| with_range).and_then(|ends| beside_with_ends(ratio, ends));
        let Some([text, low, high]) = range else { return beside(ratio) };
        Some(match (self.ratio_interval, low == high) {
            // It has no width that could be seen.
            (Some(_), true) => text,
            (Some(interval), false) => format!("{text}, {} % interval {low} to {high}", percent(interval.level)),
            (None, true) => format!("{text}, same under small changes"),
            (None, false) => format!("{text}, {low} to {high} under small changes"),
        })
    }
}

/// A gap in a sentence: `1.80× longer under rr than under fcfs, 95 % interval 1.71–1.92×`.
pub(crate) fn verdict(gap: &Gap, effect: &Effect, (baseline, other): (&str, &str), metric: &Metric) -> String {
    let told = effect_words(effect, (baseline, other), metric);
    let has_no_width = || gap.range().is_none_or(|(low, high)| low == high);
    match (gap.evidence, gap.is_more_than_chance()) {
        (Evidence::Runs | Evidence::Batches, _) if effect.is_equal() && has_no_width() => {
            format!("{told} in every run")
        }
        (Evidence::Exact, _) => told + &gap.under_changes.map_or(String::new(), |changed| changed.words(metric)),
        (Evidence::Single, _) => format!("{told}, in one run each"),
        (_, Some(false)) => format!("no difference seen between {other} and {baseline}{}", interval_words(gap, metric)),
        _ => told + &interval_words(gap, metric),
    }
}

/// The difference alone. Where a side is zero the values say it.
fn effect_words(effect: &Effect, (baseline, other): (&str, &str), metric: &Metric) -> String {
    match effect.ratio {
        _ if effect.is_equal() => format!("{SAME} under {baseline} and {other}"),
        Some(ratio) if ratio > 0.0 => {
            let words = times(ratio, metric);
            let link = if words.starts_with(SAME) { "as" } else { "than" };
            format!("{words} under {other} {link} under {baseline}")
        }
        _ => {
            let [one, two] = [effect.baseline_mean, effect.other_mean].map(|value| amount(metric, value));
            format!("{one} under {baseline}, {two} under {other}")
        }
    }
}

/// `, 95 % interval 1.71–1.92×`, in the terms of the sentence before.
fn interval_words(gap: &Gap, metric: &Metric) -> String {
    let is_more_than_chance = gap.is_more_than_chance() == Some(true);
    match (gap.ratio_interval, gap.difference_interval) {
        (Some(ratio), _) if is_more_than_chance && ratio.estimate > 0.0 => {
            format!(", {} % interval {}", percent(ratio.level), ends(ratio.estimate, (ratio.low, ratio.high)))
        }
        (Some(ratio), _) if !is_more_than_chance => {
            format!(", {} % interval of the ratio {:.3}–{:.3}", percent(ratio.level), ratio.low, ratio.high)
        }
        (_, Some(difference)) => {
            let [low, high] = [difference.low, difference.high].map(|value| amount(metric, value));
            format!(", {} % interval of the difference {low} to {high}", percent(difference.level))
        }
        _ => String::new(),
    }
}

fn percent(level: f64) -> f64 {
    (level * 1000.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_metrics::statistics::{compare, compare_paired};
    use schedlab_model::metric::known;

    const FAST: [f64; 6] = [10e6, 10.5e6, 9.5e6, 10.2e6, 9.8e6, 10e6];

    fn said(effect: &Effect, evidence: Evidence, path: &str) -> String {
        verdict(&Gap::new(evidence, effect, None), effect, ("fcfs", "rr"), known(path).metric)
    }

    #[test]
    fn a_difference_is_said_with_its_interval() {
        let slow = FAST.map(|x| x * 1.8);
        let text = said(&compare(&FAST, &slow, 0.95).unwrap(), Evidence::Runs, "response_ns.mean");
        assert!(text.starts_with("1.80× longer under rr than under fcfs, 95 % interval 1.7"), "{text}");
        let text = said(&compare(&slow, &FAST, 0.95).unwrap(), Evidence::Runs, "response_ns.mean");
        assert!(text.starts_with("1.80× shorter under rr than under fcfs, 95 % interval 1.7"), "{text}");
        let pairs: Vec<_> = FAST.iter().map(|x| (*x, x * 1.05)).collect();
        let text = said(&compare_paired(&pairs, 0.95).unwrap(), Evidence::Runs, "throughput_per_s");
        assert_eq!(text, "5.0 % higher under rr than under fcfs, 95 % interval 5.0–5.0 %");
        let text = said(&compare(&FAST, &[10.1e6, 9.9e6, 10e6], 0.95).unwrap(), Evidence::Runs, "response_ns.mean");
        assert!(text.starts_with("no difference seen between rr and fcfs, 95 % interval of the ratio 0.9"), "{text}");
    }

    #[test]
    fn zeros_and_equals_have_words_of_their_own() {
        let of = |a: f64, b: f64| said(&compare(&[a], &[b], 0.95).unwrap(), Evidence::Single, "response_ns.mean");
        assert_eq!(of(0.0, 12.3e6), "0 under fcfs, 12.30 ms under rr, in one run each");
        assert_eq!(of(12.3e6, 0.0), "12.30 ms under fcfs, 0 under rr, in one run each");
        assert_eq!(of(0.0, 0.0), "the same under fcfs and rr, in one run each");
        let same = said(&compare_paired(&[(1.0, 1.0), (2.0, 2.0)], 0.95).unwrap(), Evidence::Runs, "response_ns.mean");
        assert_eq!(same, "the same under fcfs and rr in every run");
        assert_eq!(of(10e6, 10.001e6), "the same within 0.05 % under rr as under fcfs, in one run each");
        let zero = compare(&[0.0, 0.0, 0.0], &[4e6, 5e6, 4.5e6], 0.95).unwrap();
        let text = said(&zero, Evidence::Runs, "response_ns.mean");
        assert_eq!(text, "0 under fcfs, 4.500 ms under rr, 95 % interval of the difference 3.258 ms to 5.742 ms");
    }
}
