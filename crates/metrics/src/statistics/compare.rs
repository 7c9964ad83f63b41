//! Comparing two sets of runs: an effect size with its interval.
//!
//! The effect is the *ratio of means*, which carries over to other loads and needs no unit, with the difference next to
//! it for means of zero. Cliff's δ says how well the two sets separate, whatever their distribution. Both come from
//! the data as they are; Hedges' g would assume equal variances, which two schedulers seldom have.

use super::bootstrap::{percentile_interval, resampled_mean};
use super::mean;
use schedlab_model::{result::Interval, rng::Rng};

/// Ratios nearer to one than this are rounding error.
const RATIO_EPSILON: f64 = 1e-9;

/// How the values of some runs differ from those of a baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Mean over the baseline's runs.
    pub baseline_mean: f64,
    /// Mean over the other runs.
    pub other_mean: f64,
    /// Other mean − baseline mean.
    pub difference: f64,
    /// Its bootstrap percentile interval; absent when a side has a single run.
    pub difference_interval: Option<Interval>,
    /// Other mean / baseline mean; absent where the baseline is not positive.
    pub ratio: Option<f64>,
    /// Its bootstrap percentile interval, absent as above.
    pub ratio_interval: Option<Interval>,
    /// Share of pairs in which the other is larger, minus the share in which the baseline is: 1 when every other run
    /// lies above every baseline run, 0 when they mix, −1 when all lie below (Cliff, "Dominance statistics", 1993).
    pub cliffs_delta: f64,
}

/// Compares independent runs, one value for each. The interval has coverage `level` (0.95) and is decided by `seed`.
/// None when a side is empty.
pub fn compare(baseline: &[f64], other: &[f64], level: f64, seed: u64) -> Option<Comparison> {
    let several = baseline.len() > 1 && other.len() > 1;
    build(baseline, other, level, seed, several, |rng| (resampled_mean(baseline, rng), resampled_mean(other, rng)))
}

/// Compares runs in pairs `(baseline, other)` that shared a seed, and so arrivals and demands (common random numbers:
/// Law, ch. 11). Pairs are resampled together, so what both share cancels and the interval is narrower.
pub fn compare_paired(pairs: &[(f64, f64)], level: f64, seed: u64) -> Option<Comparison> {
    let (baseline, other): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let n = pairs.len();
    build(&baseline, &other, level, seed, n > 1, |rng| {
        let (a, b) = (0..n).fold((0.0, 0.0), |(a, b), _| {
            let (x, y) = pairs[rng.below(n as u64) as usize];
            (a + x, b + y)
        });
        (a / n as f64, b / n as f64)
    })
}

fn build(
    baseline: &[f64],
    other: &[f64],
    level: f64,
    seed: u64,
    several: bool,
    resampled: impl Fn(&mut Rng) -> (f64, f64),
) -> Option<Comparison> {
    let (baseline_mean, other_mean) = (mean(baseline)?, mean(other)?);
    let ratio_of = |a: f64, b: f64| (a > 0.0).then(|| b / a);
    let difference = other_mean - baseline_mean;
    let ratio = ratio_of(baseline_mean, other_mean);
    // Both intervals read the same stream and so see the same resamples.
    let rng = Rng::split(seed, "bootstrap comparison");
    let interval = |estimate, statistic: &dyn Fn(f64, f64) -> Option<f64>| {
        percentile_interval(estimate, level, &mut rng.clone(), |rng| {
            let (a, b) = resampled(rng);
            statistic(a, b)
        })
    };
    Some(Comparison {
        baseline_mean,
        other_mean,
        difference,
        difference_interval: several.then(|| interval(difference, &|a, b| Some(b - a))).flatten(),
        ratio,
        ratio_interval: ratio.filter(|_| several).and_then(|ratio| interval(ratio, &ratio_of)),
        cliffs_delta: cliffs_delta(baseline, other),
    })
}

/// Cliff's δ of `b` over `a` in [−1, 1]: (#(b > a) − #(b < a)) / (pairs). Zero where a side is empty.
pub fn cliffs_delta(a: &[f64], b: &[f64]) -> f64 {
    let signs = a.iter().flat_map(|x| b.iter().map(move |y| i64::from(y > x) - i64::from(y < x)));
    signs.sum::<i64>() as f64 / (a.len() * b.len()).max(1) as f64
}

/// Whether an interval leaves "no difference" out: that of the ratio, or that of the difference where there is no ratio.
/// None without an interval.
pub fn leaves_out_equality(ratio: Option<Interval>, difference: Option<Interval>) -> Option<bool> {
    match (ratio, difference) {
        (Some(ratio), _) => Some(ratio.low > 1.0 + RATIO_EPSILON || ratio.high < 1.0 - RATIO_EPSILON),
        (None, Some(difference)) => Some(difference.low > 0.0 || difference.high < 0.0),
        (None, None) => None,
    }
}

impl Comparison {
    /// Whether both means are the same except for rounding.
    pub fn is_equal(&self) -> bool {
        self.baseline_mean == self.other_mean || self.ratio.is_some_and(|ratio| (ratio - 1.0).abs() < RATIO_EPSILON)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: [f64; 6] = [10.0, 10.5, 9.5, 10.2, 9.8, 10.0];

    fn differs(comparison: &Comparison) -> Option<bool> {
        leaves_out_equality(comparison.ratio_interval, comparison.difference_interval)
    }

    #[test]
    fn a_clear_difference_has_an_interval_without_one() {
        let slow = FAST.map(|x| x * 1.8);
        let c = compare(&FAST, &slow, 0.95, 1).unwrap();
        assert!((c.ratio.unwrap() - 1.8).abs() < 1e-12);
        let interval = c.ratio_interval.unwrap();
        assert!(1.7 < interval.low && interval.low < 1.8 && 1.8 < interval.high && interval.high < 1.9, "{interval:?}");
        assert_eq!((c.cliffs_delta, differs(&c), c.is_equal()), (1.0, Some(true), false));
    }

    #[test]
    fn pairs_cancel_what_they_share() {
        let pairs: Vec<_> = [1.0, 5.0, 20.0, 3.0].iter().map(|x| (*x, x * 1.05)).collect();
        assert_eq!(differs(&compare_paired(&pairs, 0.95, 1).unwrap()), Some(true));
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        assert_eq!(differs(&compare(&a, &b, 0.95, 1).unwrap()), Some(false));
    }

    #[test]
    fn single_runs_have_no_interval() {
        let one = compare(&[10.0], &[25.0], 0.95, 1).unwrap();
        assert_eq!((differs(&one), one.ratio, one.ratio_interval), (None, Some(2.5), None));
        assert!(compare(&[10.0], &[10.0 + 1e-10], 0.95, 1).unwrap().is_equal());
        assert_eq!(compare(&[], &[1.0], 0.95, 1), None);
    }

    #[test]
    fn a_baseline_of_zero_has_a_difference_only() {
        let c = compare(&[0.0, 0.0], &[4.0, 4.0], 0.95, 1).unwrap();
        assert_eq!((c.ratio, differs(&c), c.difference), (None, Some(true), 4.0));
    }

    /// Two of nine pairs tie, six are won, one is lost: δ = 5/9.
    #[test]
    fn cliffs_delta_by_hand() {
        assert_eq!(cliffs_delta(&[1.0, 2.0, 3.0], &[2.0, 3.0, 4.0]), 5.0 / 9.0);
    }
}
