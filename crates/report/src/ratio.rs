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

/// How large a value is next to another one, as a remark in brackets: `2.60×`, `+3.4 %`, `−71 %`, `1/35`; [`SAME`] where
/// nothing is to be seen. None where one of them is zero.
pub(crate) fn beside(ratio: f64) -> Option<String> {
    let percent = (ratio - 1.0).abs() * 100.0;
    Some(match ratio {
        _ if !ratio.is_finite() || ratio <= 0.0 => return None,
        _ if rounded(percent) == 0.0 => SAME.into(),
        LEAST_FACTOR.. => factor(ratio),
        1.0.. => format!("+{percent:.1} %"),
        0.1.. if percent < LEAST_WHOLE_PERCENT => format!("−{percent:.1} %"),
        0.1.. => format!("−{percent:.0} %"),
        _ if 1.0 / ratio > GREATEST_FACTOR => format!("below 1/{GREATEST_FACTOR}"),
        _ => format!("1/{:.0}", 1.0 / ratio),
    })
}

/// A ratio in a sentence: `1.80× longer`, `3.2 % higher`, `the same`, `the same within 0.05 %`.
pub(crate) fn times(ratio: f64, metric: &Metric) -> String {
    let percent = (ratio - 1.0).abs() * 100.0;
    let word = word(ratio > 1.0, metric);
    match ratio {
        _ if (ratio - 1.0).abs() < EQUAL => SAME.into(),
        _ if rounded(percent) == 0.0 => "the same within 0.05 %".into(),
        0.0 => "zero".into(),
        LEAST_FACTOR.. => format!("{} {word}", factor(ratio)),
        _ if ratio > 1.0 / LEAST_FACTOR => format!("{percent:.1} % {word}"),
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
