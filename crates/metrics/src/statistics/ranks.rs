//! What few values can say: the ranks between which a percentile lies, and how often intervals have to hold.

use libm::lgamma;

/// The 0.975 quantile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// The ranks among `n` sorted values between which the quantile `q` lies with 95 %, by the normal approximation.
pub fn limits(n: u64, q: f64) -> (u64, u64) {
    let (middle, half) = (n as f64 * q, Z * (n as f64 * q * (1.0 - q)).sqrt());
    ((middle - half).round().max(1.0) as u64, (middle + half).round().min(n as f64) as u64)
}

/// The fewest values whose greatest one is above the quantile `q` with this probability.
pub fn fewest(q: f64, probability: f64) -> u64 {
    ((1.0 - probability).ln() / q.ln()).ceil() as u64
}

/// How many of `cells` intervals of this level hold at least, but in one of twenty cases.
pub fn coverage_bound(cells: u64, level: f64) -> u64 {
    const CHANCE: f64 = 0.05;
    let n = cells as f64;
    let chance = |k: u64| {
        let k = k as f64;
        let ways = lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0);
        (ways + k * level.ln() + (n - k) * (1.0 - level).ln()).exp()
    };
    let mut below = 0.0;
    (0..=cells)
        .find(|&k| {
            below += chance(k);
            below >= CHANCE
        })
        .unwrap_or(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_lies_between_ranks() {
        assert_eq!((limits(1000, 0.99), limits(10_000, 0.99)), ((984, 996), (9880, 9920)));
        assert_eq!(fewest(0.99, 0.95), 299);
    }

    #[test]
    fn intervals_hold_in_most_cells() {
        assert_eq!([24, 48, 96].map(|cells| coverage_bound(cells, 0.95)), [21, 43, 87]);
    }
}
