//! Comparing two sets of runs: an effect size with its interval, and a verdict in words.
//!
//! The effect is the *ratio of means*, which carries over to other loads and needs no unit, with the difference beside
//! it for means of zero. Cliff's δ says how well the two sets separate, whatever their distribution. Both come from
//! the data as they are; Hedges' g would assume equal variances, which two schedulers seldom have.

use super::bootstrap::{percentile_interval, resampled_mean};
use super::mean;
use schedlab_model::{metric::Better, result::Interval, rng::Rng};

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

impl Comparison {
    /// Whether the interval leaves "no difference" out. None without an interval.
    pub fn differs(&self) -> Option<bool> {
        match (self.ratio_interval, self.difference_interval) {
            (Some(ratio), _) => Some(ratio.low > 1.0 + RATIO_EPSILON || ratio.high < 1.0 - RATIO_EPSILON),
            (None, Some(difference)) => Some(difference.low > 0.0 || difference.high < 0.0),
            (None, None) => None,
        }
    }

    /// One sentence: `rr is 1.80× slower than fcfs, 95 % interval 1.71–1.92`.
    pub fn verdict(&self, baseline: &str, other: &str, better: Better) -> String {
        let effect = || self.effect(baseline, other, better);
        match self.differs() {
            None if self.is_equal() => format!("{} in a single run", effect()),
            None if self.ratio.is_some() => format!("{} in a single run, no interval", effect()),
            None => format!("{} in a single run", effect()),
            Some(false) if self.is_equal() && self.has_no_width() => format!("{} in every run", effect()),
            Some(false) => format!("no difference seen between {other} and {baseline}{}", self.interval_text()),
            Some(true) => format!("{}{}", effect(), self.interval_text()),
        }
    }

    /// The difference alone: `rr is 1.80× slower than fcfs`.
    pub fn effect(&self, baseline: &str, other: &str, better: Better) -> String {
        match self.ratio {
            _ if self.is_equal() => format!("{other} and {baseline} are equal"),
            Some(ratio) => format!("{other} is {} than {baseline}", times(ratio, better)),
            None => format!("{other} differs by {} from {baseline}", self.difference),
        }
    }

    /// Whether the interval has no width: all runs differ in the same way.
    fn has_no_width(&self) -> bool {
        self.ratio_interval.or(self.difference_interval).is_some_and(|interval| interval.low == interval.high)
    }

    fn is_equal(&self) -> bool {
        self.baseline_mean == self.other_mean || self.ratio.is_some_and(|r| (r - 1.0).abs() < RATIO_EPSILON)
    }

    /// `, 95 % interval 1.71–1.92`, in the terms of the sentence before: a factor or a percentage above one.
    fn interval_text(&self) -> String {
        let Some(interval) = self.ratio_interval else {
            return self.difference_interval.map_or_else(String::new, |i| {
                format!(", {} % interval of the difference {} to {}", percent(i.level), i.low, i.high)
            });
        };
        let level = percent(interval.level);
        if self.differs() == Some(false) {
            return format!(", {level} % interval of the ratio {:.3}–{:.3}", interval.low, interval.high);
        }
        let ends = if interval.estimate >= 1.0 {
            (interval.low, interval.high)
        } else {
            (1.0 / interval.high, 1.0 / interval.low)
        };
        if Factor(interval.estimate).is_small() {
            format!(", {level} % interval {:.1}–{:.1} %", (ends.0 - 1.0) * 100.0, (ends.1 - 1.0) * 100.0)
        } else {
            format!(", {level} % interval {:.2}–{:.2}", ends.0, ends.1)
        }
    }
}

fn percent(level: f64) -> f64 {
    (level * 1000.0).round() / 10.0
}

/// A ratio in words: `1.80× slower`, `3.2 % faster`, `equal`.
pub fn times(ratio: f64, better: Better) -> String {
    match (ratio - 1.0).abs() < RATIO_EPSILON {
        true => "equal".into(),
        false => format!("{} {}", Factor(ratio), word(ratio > 1.0, better)),
    }
}

fn word(larger: bool, better: Better) -> &'static str {
    match (larger, better) {
        (true, Better::Lower) | (false, Better::Higher) => "slower",
        (false, Better::Lower) | (true, Better::Higher) => "faster",
        (true, Better::Neither) => "higher",
        (false, Better::Neither) => "lower",
    }
}

/// A ratio as a factor above one: `1.80×`, or `3.2 %` when it is below 1.1.
struct Factor(f64);

impl Factor {
    fn above_one(&self) -> f64 {
        if self.0 >= 1.0 { self.0 } else { 1.0 / self.0 }
    }
    fn is_small(&self) -> bool {
        self.above_one() < 1.1
    }
}

impl std::fmt::Display for Factor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.is_small() {
            true if self.above_one() < 1.0005 => f.write_str("less than 0.1 %"),
            true => write!(f, "{:.1} %", (self.above_one() - 1.0) * 100.0),
            false => write!(f, "{:.2}×", self.above_one()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: [f64; 6] = [10.0, 10.5, 9.5, 10.2, 9.8, 10.0];

    #[test]
    fn a_clear_difference_is_said_with_its_interval() {
        let slow = FAST.map(|x| x * 1.8);
        let c = compare(&FAST, &slow, 0.95, 1).unwrap();
        assert!((c.ratio.unwrap() - 1.8).abs() < 1e-12);
        let interval = c.ratio_interval.unwrap();
        assert!(1.7 < interval.low && interval.low < 1.8 && 1.8 < interval.high && interval.high < 1.9, "{interval:?}");
        assert_eq!(c.cliffs_delta, 1.0);
        let text = c.verdict("fcfs", "rr", Better::Lower);
        assert!(text.starts_with("rr is 1.80× slower than fcfs, 95 % interval 1.7"), "{text}");
        let back = compare(&slow, &FAST, 0.95, 1).unwrap().verdict("rr", "fcfs", Better::Lower);
        assert!(back.starts_with("fcfs is 1.80× faster than rr, 95 % interval 1.7"), "{back}");
    }

    #[test]
    fn pairs_cancel_what_they_share() {
        let pairs: Vec<_> = [1.0, 5.0, 20.0, 3.0].iter().map(|x| (*x, x * 1.05)).collect();
        let c = compare_paired(&pairs, 0.95, 1).unwrap();
        assert_eq!(c.differs(), Some(true));
        assert_eq!(c.verdict("a", "b", Better::Higher), "b is 5.0 % faster than a, 95 % interval 5.0–5.0 %");
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        assert_eq!(compare(&a, &b, 0.95, 1).unwrap().differs(), Some(false));
    }

    #[test]
    fn no_difference_and_single_runs_are_said_so() {
        let c = compare(&FAST, &[10.1, 9.9, 10.0], 0.95, 1).unwrap();
        assert!(c.verdict("a", "b", Better::Lower).starts_with("no difference seen between b and a, 95 % interval"));
        let one = compare(&[10.0], &[25.0], 0.95, 1).unwrap();
        assert_eq!(one.differs(), None);
        assert_eq!(one.verdict("a", "b", Better::Neither), "b is 2.50× higher than a in a single run, no interval");
        assert_eq!(compare(&[], &[1.0], 0.95, 1), None);
    }

    #[test]
    fn a_baseline_of_zero_has_a_difference_only() {
        let c = compare(&[0.0, 0.0], &[4.0, 4.0], 0.95, 1).unwrap();
        assert_eq!((c.ratio, c.differs(), c.difference), (None, Some(true), 4.0));
        assert_eq!(c.verdict("a", "b", Better::Lower), "b differs by 4 from a, 95 % interval of the difference 4 to 4");
    }

    /// Two of nine pairs tie, six are won, one is lost: δ = 5/9.
    #[test]
    fn cliffs_delta_by_hand() {
        assert_eq!(cliffs_delta(&[1.0, 2.0, 3.0], &[2.0, 3.0, 4.0]), 5.0 / 9.0);
    }
}
