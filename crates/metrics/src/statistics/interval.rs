//! Intervals of means over runs.

use super::{mean, sample_sd, student};
use schedlab_model::result::Interval;

/// The mean over runs with its interval of coverage `level`, such as 0.95: mean ± t·s/√n, t of Student's distribution with
/// n − 1 degrees of freedom (Student, "The probable error of a mean", Biometrika 6, 1908). None with fewer than two runs, nor
/// where all runs gave the same number: no chance touched what repeats exactly, and nothing is known of what chance would do
/// to it.
///
/// A percentile interval of the bootstrap would be too narrow with few runs: of two runs it holds the mean in half of the
/// cases.
pub fn mean_interval(runs: &[f64], level: f64) -> Option<Interval> {
    let estimate = mean(runs)?;
    if is_repeated(runs) {
        return None;
    }
    let half = t(level, runs.len() as f64 - 1.0) * standard_error(runs)?;
    Some(Interval { estimate, low: estimate - half, high: estimate + half, level })
}

/// Whether all values are the same number, as those of runs are in which nothing is random.
pub fn is_repeated(values: &[f64]) -> bool {
    values.windows(2).all(|pair| pair[0] == pair[1])
}

/// The t beyond which lies half of what `level` leaves out.
pub(super) fn t(level: f64, degrees: f64) -> f64 {
    student::quantile(0.5 + level / 2.0, degrees)
}

/// The standard error of a mean; none of fewer than two values.
pub(super) fn standard_error(values: &[f64]) -> Option<f64> {
    sample_sd(values).map(|sd| sd / (values.len() as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::rng::Rng;

    #[test]
    fn equal_runs_have_no_interval() {
        assert_eq!(mean_interval(&[3.0; 5], 0.95), None);
        assert_eq!(mean_interval(&[3.0], 0.95), None);
        assert_eq!(mean_interval(&[], 0.95), None);
    }

    /// By hand: mean 2, s = 1, n = 3, t = 4.30265.
    #[test]
    fn three_runs_by_hand() {
        let interval = mean_interval(&[1.0, 2.0, 3.0], 0.95).unwrap();
        assert!((interval.high - 2.0 - 4.30265 / 3f64.sqrt()).abs() < 1e-5, "{interval:?}");
        assert!((interval.low + interval.high - 4.0).abs() < 1e-12, "{interval:?}");
    }

    /// What is said to hold in 95 of 100 cases does: of exponential values the mean of twenty stands for a run.
    #[test]
    fn the_interval_holds_the_mean_as_often_as_it_says() {
        const SETS: usize = 2000;
        let mut rng = Rng::split(1, "coverage");
        let mut run = || (0..20).map(|_| -libm::log(1.0 - rng.unit())).sum::<f64>() / 20.0;
        for n in [2, 3, 5, 10, 30] {
            let mut holds = || {
                let runs: Vec<f64> = (0..n).map(|_| run()).collect();
                let interval = mean_interval(&runs, 0.95).unwrap();
                interval.low <= 1.0 && 1.0 <= interval.high
            };
            let held = (0..SETS).filter(|_| holds()).count() as f64 / SETS as f64;
            assert!((0.93..=0.97).contains(&held), "{n} runs: {held}");
        }
    }
}
