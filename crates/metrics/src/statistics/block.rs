//! Resampling of values that depend on those before them: in blocks, whose length the values decide.
//!
//! The stationary bootstrap (Politis and Romano, 1994) joins blocks of random length, each begun anywhere. Their mean length
//! follows Politis and White ("Automatic block-length selection for the dependent bootstrap", 2004) with the correction of Patton,
//! Politis and White (2009): b = (2 g² n / d)^(1/3), where g sums |k| γ(k) and d is 2 σ⁴ (stationary) or 4 σ⁴ / 3 (circular
//! blocks) of the long-run variance σ². Both sums are tapered by a window that is flat up to half of its width.

use super::mean;
use schedlab_model::rng::Rng;

/// Lengths of blocks for two ways of resampling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockLengths {
    /// The mean length of the stationary bootstrap.
    pub stationary: f64,
    /// The length of circular blocks.
    pub circular: f64,
}

/// The best lengths for `n` values with these autocovariances from lag 0 on, of which those up to the last lag count.
pub fn lengths_of(autocovariances: &[f64], n: usize) -> Option<BlockLengths> {
    let lags = autocovariances.len().checked_sub(1)?;
    let window = |lag: usize| (2.0 * (1.0 - lag as f64 / lags.max(1) as f64)).min(1.0);
    let sum = |of: fn(usize) -> f64| -> f64 {
        (1..=lags).map(|lag| 2.0 * window(lag) * of(lag) * autocovariances[lag]).sum()
    };
    let (variance, slope) = (autocovariances[0] + sum(|_| 1.0), sum(|lag| lag as f64));
    let length = |factor: f64| (2.0 * slope * slope * n as f64 / (factor * variance * variance)).cbrt();
    (variance > 0.0).then(|| BlockLengths { stationary: length(2.0), circular: length(4.0 / 3.0) })
}

/// The best lengths for a series; none of a constant one or one of a few values. At least 1, and at most a third of the series.
pub fn lengths(series: &[f64]) -> Option<BlockLengths> {
    const FEWEST: usize = 9;
    let n = series.len();
    if n < FEWEST {
        return None;
    }
    let middle = mean(series)?;
    let off: Vec<f64> = series.iter().map(|value| value - middle).collect();
    let covariance = |lag: usize| off[lag..].iter().zip(&off).map(|(a, b)| a * b).sum::<f64>() / n as f64;
    let variance = covariance(0);
    if variance <= 0.0 {
        return None;
    }
    // The first lag after which several correlations in a row say nothing.
    let quiet = 5.max((n as f64).log10().ceil() as usize);
    let most = ((n as f64).sqrt().ceil() as usize + quiet).min(n - 1);
    let covariances: Vec<f64> = (0..=most).map(covariance).collect();
    let bound = 2.0 * ((n as f64).log10() / n as f64).sqrt();
    let is_quiet = |lag: &usize| covariances[lag + 1..=lag + quiet].iter().all(|c| (c / variance).abs() < bound);
    let lag = (0..=most.saturating_sub(quiet)).find(is_quiet).unwrap_or(most);
    let lags = (2 * lag.max(1)).min(most);
    let found = lengths_of(&covariances[..=lags], n)?;
    let longest = (3.0 * (n as f64).sqrt()).min(n as f64 / 3.0).ceil();
    let within = |length: f64| length.clamp(1.0, longest);
    Some(BlockLengths { stationary: within(found.stationary), circular: within(found.circular) })
}

/// The places of a stationary resample of `n` values with blocks of this mean length.
pub fn stationary(n: usize, mean_length: f64, rng: &mut Rng) -> Vec<usize> {
    let ends = 1.0 / mean_length.max(1.0);
    let mut places = Vec::with_capacity(n);
    while places.len() < n {
        let place = match places.last() {
            Some(&last) if rng.unit() > ends => (last + 1) % n,
            _ => rng.below(n as u64) as usize,
        };
        places.push(place);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of an autoregressive series the autocovariances are known, and so are the lengths, in closed form.
    #[test]
    fn lengths_of_an_autoregressive_series_are_known() {
        for (rho, n, stationary, circular) in
            [(0.5, 1000, 12.114, 13.867), (0.8, 1000, 27.032, 30.944), (0.5, 10_000, 26.099, 29.876)]
        {
            let exact: Vec<f64> = (0..4000).map(|lag| f64::powi(rho, lag)).collect();
            let found = lengths_of(&exact, n).unwrap();
            assert!((found.stationary - stationary).abs() < 5e-4, "{found:?}");
            assert!((found.circular - circular).abs() < 5e-4, "{found:?}");
            let closed = ((2.0 * rho / (1.0 - rho * rho)).powi(2) * n as f64).cbrt();
            assert!((found.stationary - closed).abs() < 1e-6);
        }
    }

    #[test]
    fn a_series_shows_its_length() {
        let mut rng = Rng::split(1, "series");
        let mut last = 0.0;
        let series: Vec<f64> = (0..20_000)
            .map(|_| {
                last = 0.5 * last + (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
                last
            })
            .collect();
        let found = lengths(&series).unwrap();
        assert!((20.0..50.0).contains(&found.stationary), "{found:?} against 32.9 of theory");
        let noise: Vec<f64> = (0..1000).map(|_| rng.unit()).collect();
        assert!(lengths(&noise).unwrap().stationary < 5.0);
        assert_eq!(lengths(&[3.0; 100]), None);
    }

    #[test]
    fn blocks_keep_neighbours_together() {
        let mut rng = Rng::split(1, "blocks");
        let places = stationary(10_000, 20.0, &mut rng);
        let together = places.windows(2).filter(|pair| pair[1] == (pair[0] + 1) % 10_000).count();
        assert!((9400..9600).contains(&together), "{together}");
    }
}
