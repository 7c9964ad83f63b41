//! An estimate with its interval.

use schedlab_metrics::statistics::quantile_of_sorted;

/// A number, between what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// The interval, in which nine of ten are to lie.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// How far the model is off under the recorded scheduler, as a logarithm; none where the recording has no such figure.
    pub bias: Option<f64>,
}

/// The level of intervals.
const LEVEL: f64 = 0.90;

impl Estimate {
    /// The same of what cannot be more than `most`.
    pub fn at_most(self, most: f64) -> Estimate {
        let [value, low, high] = [self.value, self.low, self.high].map(|end| end.min(most));
        Estimate { value, low, high, ..self }
    }
}

/// What is to be expected under another scheduler: `recorded` is the recording's figure, `base` that of the model under its
/// scheduler, `simulated` that of the model under the other one, and `resamples` both of items that were drawn again. Where the
/// recording has no such figure the simulated one is taken as it is. None of what is not positive.
pub fn estimate(recorded: Option<f64>, base: f64, simulated: f64, resamples: &[(f64, f64)]) -> Option<Estimate> {
    if base <= 0.0 || simulated <= 0.0 || recorded.is_some_and(|recorded| recorded <= 0.0) {
        return None;
    }
    let value = recorded.unwrap_or(base) * simulated / base;
    let bias = recorded.map(|recorded| (base / recorded).ln().abs());
    let usable = resamples.iter().filter(|(base, other)| *base > 0.0 && *other > 0.0);
    let mut factors: Vec<f64> = usable.map(|(other_base, other)| (other / other_base) / (simulated / base)).collect();
    factors.sort_by(f64::total_cmp);
    let at = |q: f64| quantile_of_sorted(&factors, q).unwrap_or(1.0);
    let (low, high) = within(value, at((1.0 - LEVEL) / 2.0), at((1.0 + LEVEL) / 2.0), bias.unwrap_or(0.0));
    Some(Estimate { value, low, high, bias })
}

/// The interval around a value, from factors of chance and a bias that may go either way.
fn within(value: f64, low: f64, high: f64, bias: f64) -> (f64, f64) {
    (value * low.min(1.0) * (-bias).exp(), value * high.max(1.0) * bias.exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_cancels_bias_and_the_interval_keeps_it() {
        let found = estimate(Some(12.0), 12.6, 18.9, &[]).unwrap();
        assert!((found.value - 18.0).abs() < 1e-9);
        assert!((found.bias.unwrap() - 0.04879).abs() < 5e-6);
        let (low, high) = within(found.value, 0.94, 1.07, found.bias.unwrap());
        assert!((low - 16.114).abs() < 5e-4 && (high - 20.223).abs() < 5e-4, "{low} {high}");
    }

    #[test]
    fn resamples_widen_it() {
        let resamples: Vec<(f64, f64)> = (0..=100).map(|n| (10.0, 20.0 * (0.9 + 0.002 * f64::from(n)))).collect();
        let found = estimate(Some(10.0), 10.0, 20.0, &resamples).unwrap();
        assert!((found.low - 18.2).abs() < 1e-9 && (found.high - 21.8).abs() < 1e-9, "{found:?}");
        assert_eq!(estimate(Some(0.0), 1.0, 1.0, &[]), None);
        assert_eq!(estimate(None, 2.0, 3.0, &[]).unwrap().bias, None);
    }

    /// A share of 0.95 with an interval up to 1.047: nothing is more than all.
    #[test]
    fn a_part_is_at_most_the_whole() {
        let share = Estimate { value: 0.95, low: 0.86, high: 1.047, bias: Some(0.1) };
        assert_eq!(share.at_most(1.0), Estimate { high: 1.0, ..share });
    }
}
