//! Bootstrap intervals over runs.

use super::{mean, quantile_of_sorted};
use schedlab_model::{result::Interval, rng::Rng};

/// How many resamples an interval is made of. With 10 000 the Monte-Carlo error of a 95 % limit is below a tenth of the
/// distance between the 95 % and the 94 % limit (Efron and Tibshirani, ch. 19, ask for at least 1000).
pub const RESAMPLES: usize = 10_000;

/// The percentile interval of a statistic under resampling (Efron and Tibshirani, *An Introduction to the Bootstrap*,
/// 1993, ch. 13) with coverage `level`, such as 0.95: `resampled` is called once for each resample and draws from the
/// generator. `None` results (a ratio with a zero below) are left out; when half of them are, there is no interval.
pub fn percentile_interval(
    estimate: f64,
    level: f64,
    rng: &mut Rng,
    mut resampled: impl FnMut(&mut Rng) -> Option<f64>,
) -> Option<Interval> {
    let mut values: Vec<f64> = (0..RESAMPLES).filter_map(|_| resampled(rng)).collect();
    if values.len() <= RESAMPLES / 2 {
        return None;
    }
    values.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - level) / 2.0;
    let low = quantile_of_sorted(&values, tail)?;
    let high = quantile_of_sorted(&values, 1.0 - tail)?;
    Some(Interval { estimate, low, high, level })
}

/// The mean over runs with its percentile interval; none with fewer than two runs. The limits are somewhat too narrow
/// with few runs (with 10 a "95 %" interval covers about 90 %): take 30.
pub fn mean_interval(runs: &[f64], level: f64, seed: u64) -> Option<Interval> {
    if runs.len() < 2 {
        return None;
    }
    let mut rng = Rng::split(seed, "bootstrap mean");
    percentile_interval(mean(runs)?, level, &mut rng, |rng| Some(resampled_mean(runs, rng)))
}

/// The mean of as many draws with replacement as there are values.
pub(super) fn resampled_mean(values: &[f64], rng: &mut Rng) -> f64 {
    let n = values.len();
    (0..n).map(|_| values[rng.below(n as u64) as usize]).sum::<f64>() / n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_runs_have_an_interval_without_width() {
        let interval = mean_interval(&[3.0; 5], 0.95, 1).unwrap();
        assert_eq!((interval.low, interval.estimate, interval.high), (3.0, 3.0, 3.0));
        assert_eq!(mean_interval(&[3.0], 0.95, 1), None);
    }

    /// For many runs the interval is that of the normal approximation: ±1.96·σ/√n.
    #[test]
    fn many_runs_meet_the_normal_interval() {
        let runs: Vec<f64> = (0..400).map(|i| f64::from(i % 20)).collect();
        let interval = mean_interval(&runs, 0.95, 7).unwrap();
        let half = 1.959964 * crate::statistics::population_sd(&runs).unwrap() / 20.0;
        assert!((interval.high - interval.estimate - half).abs() < 0.05 * half, "{interval:?}");
        assert!((interval.estimate - interval.low - half).abs() < 0.05 * half, "{interval:?}");
    }

    #[test]
    fn the_seed_decides() {
        let runs = [1.0, 2.0, 4.0, 8.0];
        assert_eq!(mean_interval(&runs, 0.95, 1), mean_interval(&runs, 0.95, 1));
        let interval = mean_interval(&runs, 0.95, 1).unwrap();
        assert!(1.0 < interval.low && interval.low < 3.75 && 3.75 < interval.high && interval.high < 8.0);
    }
}
