//! How ratios are put into words, for all code that prints them.
//!
//! A ratio with a zero on one side is no number to print, and one that rounds to nothing is no difference to speak of: both
//! have words of their own here.

use crate::{Percent, Quantity, Times, metric::quantity};
use schedlab_model::metric::{Metric, Unit};

/// What is said of values between which no difference is to be seen.
pub(crate) const SAME: &str = "the same";

/// Ratios below this are shown in percent.
const LEAST_FACTOR: f64 = 1.1;

/// Larger ratios are not told to the digit.
const GREATEST_FACTOR: f64 = 1000.0;

/// Ratios nearer to one than this are equal except for rounding.
const EQUAL: f64 = 1e-9;

/// Smaller parts are shown in tenths of a percent, larger ones in whole percent.
const LEAST_WHOLE_PERCENT: f64 = 10.0;

/// Ratios below this are shown as a fraction: one part of a whole number.
const LEAST_IN_PERCENT: f64 = 0.1;

/// Up to this a ratio may be shown so.
const GREATEST_PART: f64 = 0.5;

/// A value with its unit: `1.21 s`, `7.95 per s`, `0.2857`.
pub fn amount(metric: &Metric, value: f64) -> String {
    let values = [Some(value)];
    match metric.unit {
        Unit::Ns if value == 0.0 => "0".into(),
        Unit::Ns => {
            let times = Times::of(&values);
            format!("{} {}", times.show(Some(value)), times.unit)
        }
        Unit::Fraction => format!("{} %", Percent::show(Some(value))),
        Unit::PerSecond => format!("{} per s", Quantity::of(&values).show(Some(value))),
        Unit::Count | Unit::Ratio => quantity(metric, &values).show(Some(value)),
    }
}

/// In which terms a ratio is told: those that stand together have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Terms {
    /// `2.60×`.
    Factor,
    /// `+3.4 %`, `−71 %`.
    Percent,
    /// `1/35`.
    Part,
}

impl Terms {
    /// Those that suit a ratio.
    fn of(ratio: f64) -> Terms {
        match ratio {
            LEAST_FACTOR.. => Terms::Factor,
            LEAST_IN_PERCENT.. => Terms::Percent,
            _ => Terms::Part,
        }
    }

    /// A positive ratio in them.
    fn show(self, ratio: f64) -> String {
        let percent = (ratio - 1.0).abs() * 100.0;
        let sign = if ratio < 1.0 { '−' } else { '+' };
        match self {
            Terms::Factor => factor(ratio),
            Terms::Percent if rounded(percent) == 0.0 => "0 %".into(),
            Terms::Percent if percent < LEAST_WHOLE_PERCENT => format!("{sign}{percent:.1} %"),
            Terms::Percent => format!("{sign}{percent:.0} %"),
            Terms::Part if 1.0 / ratio > GREATEST_FACTOR => format!("below 1/{GREATEST_FACTOR}"),
            Terms::Part => format!("1/{:.0}", 1.0 / ratio),
        }
    }
}

/// Whether a ratio is a number to print: neither side of it was zero.
fn is_plain(ratio: f64) -> bool {
    ratio.is_finite() && ratio > 0.0
}

/// How large a value is next to another one, as a remark in brackets: `2.60×`, `+3.4 %`, `−71 %`, `1/35`; [`SAME`] where
/// nothing is to be seen. None where one of them is zero.
pub(crate) fn beside(ratio: f64) -> Option<String> {
    let is_same = rounded((ratio - 1.0).abs() * 100.0) == 0.0;
    is_plain(ratio).then(|| if is_same { SAME.into() } else { Terms::of(ratio).show(ratio) })
}

/// The same with the ends of its interval, all in the terms of the ratio: `1.33×`, `1.05×` and `1.68×`. None where
/// nothing is to be seen, or one of the three is no number to print.
pub(crate) fn beside_with_ends(ratio: f64, (low, high): (f64, f64)) -> Option<[String; 3]> {
    let all = [ratio, low, high];
    let is_seen = beside(ratio).is_some_and(|words| words != SAME);
    let terms = match Terms::of(ratio) {
        Terms::Part if high > GREATEST_PART => Terms::Percent,
        terms => terms,
    };
    (is_seen && all.into_iter().all(is_plain)).then(|| all.map(|ratio| terms.show(ratio)))
}

/// A ratio in a sentence: `1.80× longer`, `3.2 % higher`, `the same`, `the same within 0.05 %`.
pub(crate) fn times(ratio: f64, metric: &Metric) -> String {
    told(ratio, metric, is_told_in_percent(ratio))
}

/// Two ratios in a sentence, both in the same terms: `1.03× longer`, `1.31× longer`.
pub(crate) fn both_times(ratios: [f64; 2], metric: &Metric) -> [String; 2] {
    let in_percent = ratios.into_iter().all(is_told_in_percent);
    ratios.map(|ratio| told(ratio, metric, in_percent))
}

/// Whether a sentence has a ratio in percent.
fn is_told_in_percent(ratio: f64) -> bool {
    ratio > 1.0 / LEAST_FACTOR && ratio < LEAST_FACTOR
}

fn told(ratio: f64, metric: &Metric, in_percent: bool) -> String {
    let percent = (ratio - 1.0).abs() * 100.0;
    let word = word(ratio > 1.0, metric);
    match ratio {
        _ if (ratio - 1.0).abs() < EQUAL => SAME.into(),
        _ if rounded(percent) == 0.0 => "the same within 0.05 %".into(),
        0.0 => "zero".into(),
        _ if in_percent => format!("{percent:.1} % {word}"),
        1.0.. => format!("{} {word}", factor(ratio)),
        _ => format!("{} {word}", factor(1.0 / ratio)),
    }
}

/// The ends of an interval of ratios, in the terms of [`times`] but without its word.
pub(crate) fn ends(ratio: f64, (low, high): (f64, f64)) -> String {
    let is_percent = (1.0 / LEAST_FACTOR..LEAST_FACTOR).contains(&ratio);
    match is_percent {
        true => {
            let ends = if ratio >= 1.0 { (low - 1.0, high - 1.0) } else { (1.0 - high, 1.0 - low) };
            format!("{}–{} %", fine(ends.0 * 100.0), fine(ends.1 * 100.0))
        }
        false if ratio >= 1.0 => format!("{}–{}", factor(low).trim_end_matches('×'), factor(high)),
        false if low > 0.0 => format!("{}–{}", factor(1.0 / high).trim_end_matches('×'), factor(1.0 / low)),
        false => format!("from {} on", factor(1.0 / high)),
    }
}

/// A factor, with three digits that mean something.
fn factor(ratio: f64) -> String {
    match ratio {
        ..9.995 => format!("{ratio:.2}×"),
        ..99.95 => format!("{ratio:.1}×"),
        ..=GREATEST_FACTOR => format!("{ratio:.0}×"),
        _ => format!("over {GREATEST_FACTOR}×"),
    }
}

/// A percentage with a decimal, and with as many as it needs to be more than nothing.
fn fine(percent: f64) -> String {
    match percent.abs() {
        ..0.0005 => "0".into(),
        ..0.05 => format!("{percent:.3}"),
        _ => format!("{percent:.1}"),
    }
}

fn rounded(percent: f64) -> f64 {
    (percent * 10.0).round() / 10.0
}

/// What is said of a value that is larger, or smaller, than another.
fn word(is_larger: bool, metric: &Metric) -> &'static str {
    match (metric.unit, is_larger) {
        (Unit::Ns, true) => "longer",
        (Unit::Ns, false) => "shorter",
        (_, true) => "higher",
        (_, false) => "lower",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::metric::known;

    #[test]
    fn no_ratio_is_endless_or_nothing() {
        let response = known("response_ns.mean").metric;
        let said = |ratio| times(ratio, response);
        assert_eq!(
            [1.8, 1.032, 0.5, 0.968].map(said),
            ["1.80× longer", "3.2 % longer", "2.00× shorter", "3.2 % shorter"]
        );
        assert_eq!([1.0, 1.0004, 0.9997].map(said), ["the same", "the same within 0.05 %", "the same within 0.05 %"]);
        assert_eq!([0.0, 5e4].map(said), ["zero", "over 1000× longer"]);
        assert_eq!(times(2.0, known("throughput_per_s").metric), "2.00× higher");
    }

    #[test]
    fn values_stand_beside_the_best() {
        let said = |ratio| beside(ratio).unwrap_or_default();
        assert_eq!([2.6, 1.034, 12.34, 250.4, 4e6].map(said), ["2.60×", "+3.4 %", "12.3×", "250×", "over 1000×"]);
        assert_eq!([0.2857, 0.95, 0.02, 1e-5].map(said), ["−71 %", "−5.0 %", "1/50", "below 1/1000"]);
        assert_eq!([1.0, 1.0004, 0.9996].map(said), [SAME, SAME, SAME]);
        assert_eq!([beside(0.0), beside(f64::INFINITY), beside(f64::NAN)], [None, None, None]);
    }

    #[test]
    fn an_interval_is_in_the_terms_of_what_it_is_about() {
        let said = |ratio, ends| beside_with_ends(ratio, ends).unwrap().join(" ");
        assert_eq!(said(1.33, (1.051, 1.68)), "1.33× 1.05× 1.68×");
        assert_eq!(said(1.025, (0.75, 1.83)), "+2.5 % −25 % +83 %");
        assert_eq!(said(0.79, (0.76, 1.0)), "−21 % −24 % 0 %");
        assert_eq!([said(0.04, (0.02, 0.05)), said(0.08, (0.01, 0.7))], ["1/25 1/50 1/20", "−92 % −99 % −30 %"]);
        let none = [(1.0, (0.9, 1.1)), (1.5, (0.0, 2.0)), (0.0, (0.0, 0.0)), (2.0, (1.0, f64::INFINITY))];
        assert!(none.into_iter().all(|(ratio, ends)| beside_with_ends(ratio, ends).is_none()));
        let response = known("response_ns.mean").metric;
        assert_eq!(both_times([1.032, 1.31], response), ["1.03× longer", "1.31× longer"]);
        assert_eq!(both_times([0.968, 1.05], response), ["3.2 % shorter", "5.0 % longer"]);
    }

    #[test]
    fn ends_of_intervals_are_told_as_their_middle() {
        assert_eq!(ends(2.6, (2.41, 2.83)), "2.41–2.83×");
        assert_eq!(ends(0.5, (0.4, 0.625)), "1.60–2.50×");
        assert_eq!(ends(1.05, (1.02, 1.081)), "2.0–8.1 %");
        assert_eq!(ends(0.95, (0.92, 0.9999)), "0.010–8.0 %");
        assert_eq!(ends(0.5, (0.0, 0.625)), "from 1.60× on");
    }

    #[test]
    fn values_have_their_unit() {
        let said = |path: &str, value| amount(known(path).metric, value);
        assert_eq!([said("response_ns.p99", 1.05e9), said("response_ns.p99", 60e9)], ["1050 ms", "60 s"]);
        assert_eq!([said("response_ns.mean", 0.0), said("throughput_per_s", 7.95)], ["0", "7.950 per s"]);
        assert_eq!([said("jain_of_tasks", 0.28571), said("cpu_share", 0.25)], ["0.2857", "25.0 %"]);
    }
}
