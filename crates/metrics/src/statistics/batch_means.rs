//! Batch means: an interval for the mean of one long run.

use super::{mean, sample_sd, student};
use schedlab_model::result::Interval;
use serde::{Deserialize, Serialize};

/// The most batches that are kept. When all are full, neighbours are joined, so that between half as many and this
/// many remain: beyond about 30 an interval hardly narrows (Schmeiser, "Batch size effects in the analysis of
/// simulation output", 1982), and the longer a batch, the less it depends on the one before.
pub const MAX_BATCHES: usize = 64;

/// The means of consecutive, equally long batches of a sequence, in constant memory.
///
/// Source: Law, *Simulation Modeling and Analysis*, ch. 9. The mean of the batch means ± t_{b−1} · s/√b covers the
/// expected value if batches are long compared with the sequence's memory; [`BatchMeans::lag_one`] near zero says so.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BatchMeans {
    /// Sums of the full batches.
    sums: Vec<f64>,
    /// Values in a full batch.
    size: u64,
    open_sum: f64,
    open_count: u64,
}

impl Default for BatchMeans {
    fn default() -> BatchMeans {
        BatchMeans { sums: Vec::new(), size: 1, open_sum: 0.0, open_count: 0 }
    }
}

impl BatchMeans {
    /// Takes the next value of the sequence.
    #[inline]
    pub fn record(&mut self, value: f64) {
        self.open_sum += value;
        self.open_count += 1;
        if self.open_count == self.size {
            self.close_batch();
        }
    }

    fn close_batch(&mut self) {
        self.sums.push(std::mem::take(&mut self.open_sum));
        self.open_count = 0;
        if self.sums.len() == MAX_BATCHES {
            for i in 0..MAX_BATCHES / 2 {
                self.sums[i] = self.sums[2 * i] + self.sums[2 * i + 1];
            }
            self.sums.truncate(MAX_BATCHES / 2);
            self.size *= 2;
        }
    }

    /// The mean of each full batch, in order.
    pub fn means(&self) -> Vec<f64> {
        self.sums.iter().map(|sum| sum / self.size as f64).collect()
    }

    /// How many values a batch holds.
    pub fn batch_size(&self) -> u64 {
        self.size
    }

    /// The mean and its interval with this coverage (such as 0.99), from Student's t; none with fewer than two
    /// batches. Values after the last full batch are left out.
    pub fn interval(&self, level: f64) -> Option<Interval> {
        let means = self.means();
        let estimate = mean(&means)?;
        let standard_error = sample_sd(&means)? / (means.len() as f64).sqrt();
        let half = student::quantile(0.5 + level / 2.0, (means.len() - 1) as f64) * standard_error;
        Some(Interval { estimate, low: estimate - half, high: estimate + half, level })
    }

    /// The correlation of a batch mean with the next one (lag-1 autocorrelation); none without variation. Above about
    /// 2/√b the batches are too short for the interval to be believed: run longer.
    pub fn lag_one(&self) -> Option<f64> {
        let means = self.means();
        let middle = mean(&means)?;
        let total: f64 = means.iter().map(|x| (x - middle) * (x - middle)).sum();
        let neighbours: f64 = means.windows(2).map(|w| (w[0] - middle) * (w[1] - middle)).sum();
        (total > 0.0).then(|| neighbours / total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::rng::Rng;

    fn of(values: impl IntoIterator<Item = f64>) -> BatchMeans {
        let mut batches = BatchMeans::default();
        values.into_iter().for_each(|v| batches.record(v));
        batches
    }

    #[test]
    fn three_values_by_hand() {
        // Mean 2, s = 1, t(0.975, 2) = 4.30265: half width 4.30265/√3.
        let interval = of([1.0, 2.0, 3.0]).interval(0.95).unwrap();
        assert!((interval.high - (2.0 + 4.302653 / 3f64.sqrt())).abs() < 1e-6);
        assert_eq!(interval.estimate, 2.0);
        assert_eq!(of([1.0]).interval(0.95), None);
    }

    #[test]
    fn batches_double_and_keep_order() {
        let batches = of((0..640).map(f64::from));
        assert_eq!((batches.batch_size(), batches.means().len()), (16, 40));
        assert_eq!(batches.means()[..2], [7.5, 23.5]);
        assert!(batches.lag_one().unwrap() > 0.9, "a ramp depends on itself");
    }

    /// Of 400 intervals at 95 % over an autoregressive sequence (expected value 10) nearly 95 % cover it.
    #[test]
    fn intervals_cover() {
        let covered = (0..400)
            .filter(|&i| {
                let mut rng = Rng::split(i, "batch means");
                let mut x = 10.0;
                let batches = of((0..5000).map(|_| {
                    x = 10.0 + 0.5 * (x - 10.0) + rng.unit() - 0.5;
                    x
                }));
                let interval = batches.interval(0.95).unwrap();
                interval.low <= 10.0 && 10.0 <= interval.high
            })
            .count();
        assert!((364..=396).contains(&covered), "{covered} of 400");
    }
}
