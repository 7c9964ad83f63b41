//! Comparing two sets of runs: an effect size with its interval.
//!
//! The effect is the *ratio of means*, which carries over to other loads and needs no unit, with the difference next to
//! it for means of zero. Cliff's δ says how well the two sets separate, whatever their distribution. Hedges' g would assume equal
//! variances, which two schedulers seldom have.
//!
//! With R = ȳ / x̄ and Student's t at half of what the level leaves out:
//!
//! ```text
//! in pairs      difference  d̄ ± t · s_d / √n                      d = y − x, n − 1 degrees of freedom
//!               ratio       R · exp(± t · s_z / (√n · ȳ))         z = y − R·x, the same
//! independent   difference  ȳ − x̄ ± t · √(s_y²/m + s_x²/n)        degrees of Welch and Satterthwaite
//!               ratio       R · exp(± t · √(s_y²/m + R²·s_x²/n) / ȳ), the same with R·x for x
//! ```
//!
//! The ratio is that of the ratio estimator (Cochran, *Sampling Techniques*, 1977, section 6.4) on the scale of logarithms, on
//! which it cannot fall below zero. Degrees of freedom: Welch, "The generalization of Student's problem when several different
//! population variances are involved", Biometrika 34, 1947.

use super::interval::{standard_error, t};
use super::mean;
use schedlab_model::result::Interval;

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
    /// Its interval; absent when a side has a single run.
    pub difference_interval: Option<Interval>,
    /// Other mean / baseline mean; absent where the baseline is not positive.
    pub ratio: Option<f64>,
    /// Its interval, absent as above.
    pub ratio_interval: Option<Interval>,
    /// Share of pairs in which the other is larger, minus the share in which the baseline is: 1 when every other run
    /// lies above every baseline run, 0 when they mix, −1 when all lie below (Cliff, "Dominance statistics", 1993).
    pub cliffs_delta: f64,
}

/// Compares independent runs, one value for each. The intervals have coverage `level`, such as 0.95. None when a side is empty.
pub fn compare(baseline: &[f64], other: &[f64], level: f64) -> Option<Comparison> {
    build(baseline, other, level, |factor| {
        let errors = [standard_error(other)?, factor * standard_error(baseline)?];
        let degrees = [other.len(), baseline.len()].map(|count| count as f64 - 1.0);
        Some(Spread::independent(errors, degrees))
    })
}

/// Compares runs in pairs `(baseline, other)` that shared a seed, and so arrivals and demands (common random numbers:
/// Law, ch. 11): what both share cancels and the interval is narrower.
pub fn compare_paired(pairs: &[(f64, f64)], level: f64) -> Option<Comparison> {
    let (baseline, other): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    build(&baseline, &other, level, |factor| {
        let apart: Vec<f64> = pairs.iter().map(|(x, y)| y - factor * x).collect();
        Some(Spread { error: standard_error(&apart)?, degrees: pairs.len() as f64 - 1.0 })
    })
}

/// The standard error of a mean of y − factor · x, and its degrees of freedom.
struct Spread {
    error: f64,
    degrees: f64,
}

impl Spread {
    fn independent(errors: [f64; 2], degrees: [f64; 2]) -> Spread {
        let [a, b] = errors.map(|error| error * error);
        let below = a * a / degrees[0] + b * b / degrees[1];
        let degrees = if below > 0.0 { (a + b) * (a + b) / below } else { degrees[0] + degrees[1] };
        Spread { error: (a + b).sqrt(), degrees }
    }

    fn half(&self, level: f64) -> f64 {
        if self.error > 0.0 { t(level, self.degrees) * self.error } else { 0.0 }
    }
}

fn build(baseline: &[f64], other: &[f64], level: f64, spread: impl Fn(f64) -> Option<Spread>) -> Option<Comparison> {
    let (baseline_mean, other_mean) = (mean(baseline)?, mean(other)?);
    let difference = other_mean - baseline_mean;
    let ratio = (baseline_mean > 0.0).then(|| other_mean / baseline_mean);
    let of_difference = |spread: Spread| {
        let half = spread.half(level);
        Interval { estimate: difference, low: difference - half, high: difference + half, level }
    };
    let of_ratio = |ratio: f64| {
        let half = spread(ratio)?.half(level);
        let factor = if half > 0.0 { libm::exp(half / other_mean) } else { 1.0 };
        Some(Interval { estimate: ratio, low: ratio / factor, high: ratio * factor, level })
    };
    Some(Comparison {
        baseline_mean,
        other_mean,
        difference,
        difference_interval: spread(1.0).map(of_difference),
        ratio,
        ratio_interval: ratio.and_then(of_ratio),
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
        let c = compare(&FAST, &slow, 0.95).unwrap();
        assert!((c.ratio.unwrap() - 1.8).abs() < 1e-12);
        let interval = c.ratio_interval.unwrap();
        assert!(1.7 < interval.low && interval.low < 1.8 && 1.8 < interval.high && interval.high < 1.9, "{interval:?}");
        assert_eq!((c.cliffs_delta, differs(&c), c.is_equal()), (1.0, Some(true), false));
    }

    #[test]
    fn pairs_cancel_what_they_share() {
        let pairs: Vec<_> = [1.0, 5.0, 20.0, 3.0].iter().map(|x| (*x, x * 1.05)).collect();
        assert_eq!(differs(&compare_paired(&pairs, 0.95).unwrap()), Some(true));
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        assert_eq!(differs(&compare(&a, &b, 0.95).unwrap()), Some(false));
    }

    #[test]
    fn single_runs_have_no_interval() {
        let one = compare(&[10.0], &[25.0], 0.95).unwrap();
        assert_eq!((differs(&one), one.ratio, one.ratio_interval), (None, Some(2.5), None));
        assert!(compare(&[10.0], &[10.0 + 1e-10], 0.95).unwrap().is_equal());
        assert_eq!(compare(&[], &[1.0], 0.95), None);
    }

    #[test]
    fn a_baseline_of_zero_has_a_difference_only() {
        let c = compare(&[0.0, 0.0], &[4.0, 4.0], 0.95).unwrap();
        assert_eq!((c.ratio, differs(&c), c.difference), (None, Some(true), 4.0));
    }

    /// By hand: x = 1, 2, 3 and y = 4, 6, 8 apart and in pairs; d = 3, 4, 5.
    #[test]
    fn intervals_by_hand() {
        let (x, y) = ([1.0, 2.0, 3.0], [4.0, 6.0, 8.0]);
        let paired = compare_paired(&[(1.0, 4.0), (2.0, 6.0), (3.0, 8.0)], 0.95).unwrap();
        let high = |interval: Option<Interval>| interval.unwrap().high;
        assert!((high(paired.difference_interval) - (4.0 + 4.30265 / 3f64.sqrt())).abs() < 1e-4);
        // z = 1, 0, −1: s = 1, ȳ = 6.
        assert!((high(paired.ratio_interval) - 3.0 * (4.30265 / 3f64.sqrt() / 6.0).exp()).abs() < 1e-4);
        // s² / n: 1/3 and 4/3; degrees (5/3)² / ((1/3)²/2 + (4/3)²/2) = 2.941; t = 3.2192.
        let apart = compare(&x, &y, 0.95).unwrap();
        assert!((high(apart.difference_interval) - (4.0 + 3.2192 * (5f64 / 3.0).sqrt())).abs() < 1e-3, "{apart:?}");
    }

    /// What is said to hold in 95 of 100 cases does, also with few runs and skewed values.
    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        const SETS: usize = 2000;
        let mut rng = schedlab_model::rng::Rng::split(1, "coverage of comparisons");
        let mut run = |mean: f64| (0..20).map(|_| -mean * libm::log(1.0 - rng.unit())).sum::<f64>() / 20.0;
        for n in [3, 5, 10, 30] {
            let (mut differences, mut ratios) = (0, 0);
            for _ in 0..SETS {
                let x: Vec<f64> = (0..n).map(|_| run(1.0)).collect();
                let y: Vec<f64> = (0..n).map(|_| run(2.0)).collect();
                let compared = compare(&x, &y, 0.95).unwrap();
                let holds =
                    |interval: Option<Interval>, truth| interval.is_some_and(|i| i.low <= truth && truth <= i.high);
                differences += usize::from(holds(compared.difference_interval, 1.0));
                ratios += usize::from(holds(compared.ratio_interval, 2.0));
            }
            for held in [differences, ratios] {
                let part = held as f64 / SETS as f64;
                assert!((0.93..=0.98).contains(&part), "{n} runs: {part}");
            }
        }
    }

    /// Two of nine pairs tie, six are won, one is lost: δ = 5/9.
    #[test]
    fn cliffs_delta_by_hand() {
        assert_eq!(cliffs_delta(&[1.0, 2.0, 3.0], &[2.0, 3.0, 4.0]), 5.0 / 9.0);
    }
}
