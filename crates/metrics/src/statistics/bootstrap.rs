//! Bootstrap intervals over runs.

use super::mean;
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
    let tail = (1.0 - level) / 2.0;
    let low = quantile(&mut values, tail)?;
    let high = quantile(&mut values, 1.0 - tail)?;
    Some(Interval { estimate, low, high, level })
}

/// The quantile that [`super::quantile_of_sorted`] gives, without sorting all of the values.
fn quantile(values: &mut [f64], q: f64) -> Option<f64> {
    let rank = q * values.len().checked_sub(1)? as f64;
    let (_, below, above) = values.select_nth_unstable_by(rank.floor() as usize, f64::total_cmp);
    let above = above.iter().copied().min_by(f64::total_cmp).unwrap_or(*below);
    Some(*below + (rank - rank.floor()) * (above - *below))
}

/// Resamples of some runs, drawn once for all that is asked about them: each metric sees the same ones.
pub struct Resamples {
    runs: usize,
    /// Which runs each resample has, one resample after the other.
    drawn: Vec<u32>,
}

impl Resamples {
    /// Resamples of that many runs, decided by `seed`.
    pub fn new(runs: usize, seed: u64) -> Resamples {
        let mut rng = Rng::split(seed, "bootstrap mean");
        let draws = if runs < 2 { 0 } else { RESAMPLES * runs };
        Resamples { runs, drawn: (0..draws).map(|_| rng.below(runs as u64) as u32).collect() }
    }

    /// The mean over the runs with its percentile interval; none with fewer than two runs, nor where all runs gave the same
    /// number: no chance touched what repeats exactly, and nothing is known of what chance would do to it. The limits are
    /// somewhat too narrow with few runs (with 10 a "95 %" interval covers about 90 %): take 30.
    pub fn mean_interval(&self, values: &[f64], level: f64) -> Option<Interval> {
        assert_eq!(values.len(), self.runs, "one value for each run");
        let estimate = mean(values)?;
        if is_repeated(values) {
            return None;
        }
        let mean_of = |drawn: &[u32]| drawn.iter().map(|&run| values[run as usize]).sum::<f64>() / self.runs as f64;
        let mut means: Vec<f64> = self.drawn.chunks_exact(self.runs).map(mean_of).collect();
        let tail = (1.0 - level) / 2.0;
        let (low, high) = (quantile(&mut means, tail)?, quantile(&mut means, 1.0 - tail)?);
        Some(Interval { estimate, low, high, level })
    }
}

/// The mean over runs with its percentile interval, as [`Resamples::mean_interval`].
pub fn mean_interval(runs: &[f64], level: f64, seed: u64) -> Option<Interval> {
    Resamples::new(runs.len(), seed).mean_interval(runs, level)
}

/// Whether all values are the same number, as those of runs are in which nothing is random.
pub fn is_repeated(values: &[f64]) -> bool {
    values.windows(2).all(|pair| pair[0] == pair[1])
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
    fn quantiles_need_no_sorting() {
        let values = [7.0, 1.0, 4.0, 9.0, 2.0, 2.0];
        let mut sorted = values;
        sorted.sort_by(f64::total_cmp);
        for q in [0.0, 0.025, 0.3, 0.5, 0.975, 1.0] {
            assert_eq!(quantile(&mut values.clone(), q), crate::statistics::quantile_of_sorted(&sorted, q));
        }
    }

    #[test]
    fn equal_runs_have_no_interval() {
        assert_eq!(mean_interval(&[3.0; 5], 0.95, 1), None);
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
