//! Statistics over few numbers: moments, intervals, comparisons.
//!
//! The unit of evidence is the *run*: response times within one run depend on each other, so an interval over single
//! requests would be far too narrow. [`interval`] and [`compare`] therefore take one number for each run;
//! [`batch_means`] is for one long run, where batches stand for runs.

pub mod batch_means;
mod beta;
mod bisection;
pub mod block;
pub mod chi_squared;
pub mod compare;
pub mod equivalence;
pub mod fisher;
pub mod interval;
pub mod ranks;
pub mod student;

pub use batch_means::BatchMeans;
pub use compare::{Comparison, compare, compare_paired, leaves_out_equality};
pub use interval::{is_repeated, mean_interval};

/// The arithmetic mean; none of no values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn squared_deviations(values: &[f64]) -> Option<f64> {
    mean(values).map(|m| values.iter().map(|x| (x - m) * (x - m)).sum())
}

/// The standard deviation of these very values (divided by n).
pub fn population_sd(values: &[f64]) -> Option<f64> {
    squared_deviations(values).map(|ss| (ss / values.len() as f64).sqrt())
}

/// The standard deviation of what these values are a sample of (divided by n − 1); none of fewer than two values.
pub fn sample_sd(values: &[f64]) -> Option<f64> {
    (values.len() > 1).then(|| squared_deviations(values).map(|ss| (ss / (values.len() - 1) as f64).sqrt())).flatten()
}

/// Coefficient of variation, population standard deviation over mean; none where the mean is zero.
pub fn population_cv(values: &[f64]) -> Option<f64> {
    ratio(population_sd(values)?, mean(values)?)
}

/// Coefficient of variation, sample standard deviation over mean; none where the mean is zero.
pub fn sample_cv(values: &[f64]) -> Option<f64> {
    ratio(sample_sd(values)?, mean(values)?)
}

fn ratio(a: f64, b: f64) -> Option<f64> {
    (b != 0.0).then(|| a / b)
}

/// The quantile `q` in [0, 1] of sorted values, linear between the two neighbours of rank (n − 1)·q (Hyndman and Fan,
/// "Sample quantiles in statistical packages", 1996, definition 7).
pub fn quantile_of_sorted(sorted: &[f64], q: f64) -> Option<f64> {
    let rank = q * sorted.len().checked_sub(1)? as f64;
    let below = rank.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    Some(sorted[below] + (rank - below as f64) * (sorted[above] - sorted[below]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The study's vector 14: static splits 6/1 and 4/3 of the heavy load.
    #[test]
    fn cv_of_task_means() {
        let close = |x: Option<f64>, y: f64| assert!((x.unwrap() - y).abs() < 5e-7, "{x:?} for {y}");
        let mut windows = vec![1500.0; 6];
        windows.push(250.0);
        close(population_cv(&windows), 0.331012);
        close(sample_cv(&windows), 0.357534);
        let linux = [750.0, 750.0, 750.0, 1000.0, 1000.0, 1000.0, 1000.0];
        close(population_cv(&linux), 0.138564);
        close(sample_cv(&linux), 0.149666);
    }

    #[test]
    fn what_cannot_be_known_is_absent() {
        assert_eq!((mean(&[]), sample_sd(&[1.0]), population_cv(&[0.0, 0.0])), (None, None, None));
        assert_eq!(quantile_of_sorted(&[], 0.5), None);
    }

    #[test]
    fn quantiles_lie_between_their_neighbours() {
        let sorted = [1.0, 2.0, 3.0, 4.0];
        assert_eq!([0.0, 0.5, 1.0].map(|q| quantile_of_sorted(&sorted, q).unwrap()), [1.0, 2.5, 4.0]);
    }
}
