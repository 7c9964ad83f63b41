//! Cumulative distributions as curves of few points.

use crate::histogram::Histogram;
use serde::{Deserialize, Serialize};

/// No curve has more points.
pub const MOST_POINTS: usize = 240;

/// A cumulative distribution: values that grow, each with the fraction of the sample that is not above it. The last
/// fraction is 1; a curve of an empty sample has no points. Between two points the curve stays on the lower fraction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    points: Vec<(u64, f64)>,
}

/// The curves of a role, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoleCurves {
    /// Request begin to end.
    pub response: Curve,
    /// Runnable to first run, for each wake-up.
    pub wakeup_latency: Curve,
}

impl Curve {
    /// The curve of a histogram, whose values are off by at most [`crate::histogram::RELATIVE_ERROR`].
    pub fn of(histogram: &Histogram) -> Curve {
        Curve { points: thinned(histogram.cumulative()) }
    }

    /// The points.
    pub fn points(&self) -> &[(u64, f64)] {
        &self.points
    }

    /// The fraction that is not above a value.
    pub fn at(&self, value: u64) -> f64 {
        let after = self.points.partition_point(|(known, _)| *known <= value);
        after.checked_sub(1).map_or(0.0, |index| self.points[index].1)
    }

    /// The mean of several curves, in which each counts the same however many values it stands for. Those without points
    /// do not count.
    pub fn mean<'a>(curves: impl IntoIterator<Item = &'a Curve>) -> Curve {
        let curves: Vec<&Curve> = curves.into_iter().filter(|curve| !curve.points.is_empty()).collect();
        if let [only] = curves[..] {
            return only.clone();
        }
        let mut values: Vec<u64> = curves.iter().flat_map(|curve| &curve.points).map(|(value, _)| *value).collect();
        values.sort_unstable();
        values.dedup();
        let mean = |value: u64| curves.iter().map(|curve| curve.at(value)).sum::<f64>() / curves.len() as f64;
        Curve { points: thinned(values.into_iter().map(|value| (value, mean(value))).collect()) }
    }
}

/// At most [`MOST_POINTS`] of them: the first, the last, and between those the ones that lie nearest to steps of equal
/// height, so that no fraction is off by more than such a step.
fn thinned(points: Vec<(u64, f64)>) -> Vec<(u64, f64)> {
    if points.len() <= MOST_POINTS {
        return points;
    }
    let step = 1.0 / (MOST_POINTS - 2) as f64;
    let last = points.len() - 1;
    let mut kept: Vec<(u64, f64)> = Vec::with_capacity(MOST_POINTS);
    let mut next = 0.0;
    for (index, &point) in points.iter().enumerate() {
        if point.1 >= next || index == last {
            kept.push(point);
            next = ((point.1 / step).floor() + 1.0) * step;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn curve(values: &[u64]) -> Curve {
        Curve::of(&values.iter().copied().collect())
    }

    #[test]
    fn known_answers() {
        let curve = curve(&[2, 4, 4, 9]);
        assert_eq!(curve.points(), [(2, 0.25), (4, 0.75), (9, 1.0)]);
        assert_eq!([0, 2, 3, 4, 8, 9, 99].map(|value| curve.at(value)), [0.0, 0.25, 0.25, 0.75, 0.75, 1.0, 1.0]);
        assert!(Curve::of(&Histogram::default()).points().is_empty());
    }

    #[test]
    fn runs_count_the_same_whatever_their_length() {
        let (short, long) = (curve(&[10]), curve(&[20; 1000]));
        let mean = Curve::mean([&short, &long, &Curve::default()]);
        assert_eq!(mean.points(), [(10, 0.5), (20, 1.0)]);
        assert_eq!(Curve::mean([]), Curve::default());
    }

    proptest! {
        #[test]
        fn thinned_curves_stay_near(values in prop::collection::vec(1u64..1 << 40, 1..3000)) {
            let curve = curve(&values);
            let step = 1.0 / (MOST_POINTS - 2) as f64;
            prop_assert!(curve.points().len() <= MOST_POINTS);
            prop_assert!(curve.points().is_sorted());
            prop_assert_eq!(curve.points().last().unwrap().1, 1.0);
            for &value in values.iter().take(20) {
                let exact = values.iter().filter(|known| **known <= value).count() as f64 / values.len() as f64;
                let wide = (value as f64 * (1.0 + 2.0 * crate::histogram::RELATIVE_ERROR)) as u64 + 1;
                let narrow = (value as f64 * (1.0 - 2.0 * crate::histogram::RELATIVE_ERROR)) as u64;
                prop_assert!(curve.at(narrow) <= exact && exact <= curve.at(wide) + 2.0 * step, "{} {}", value, exact);
            }
        }
    }
}
