//! Times that are drawn: constant, uniform, exponential, lognormal, or one of a few values.

use crate::{rng::Rng, time::Time};
use serde::{Deserialize, Serialize};

/// How long a step takes, or how far apart arrivals are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Distribution {
    /// Always the same.
    Constant(Time),
    /// Any nanosecond from the first to the second, both included.
    Uniform(Time, Time),
    /// Exponential with this mean.
    Exponential(Time),
    /// Lognormal by its median and the standard deviation of its logarithm.
    Lognormal(Time, f64),
    /// One of several values, each with its probability; the probabilities add to one.
    Choice(Vec<(Time, f64)>),
}

impl Distribution {
    /// Draws one value, rounded to the nanosecond. The same stream gives the same values on every machine: the
    /// logarithm and the exponential come from a software library, not from the platform.
    #[inline]
    pub fn sample(&self, rng: &mut Rng) -> Time {
        match self {
            Distribution::Constant(t) => *t,
            other => other.draw(rng),
        }
    }

    fn draw(&self, rng: &mut Rng) -> Time {
        match self {
            Distribution::Constant(t) => *t,
            Distribution::Uniform(low, high) => Time(low.0 + rng.below(high.0 - low.0 + 1)),
            Distribution::Exponential(mean) => Time((-libm::log(rng.unit()) * mean.0 as f64 + 0.5) as u64),
            Distribution::Lognormal(median, sigma) => {
                let normal = libm::sqrt(-2.0 * libm::log(rng.unit())) * libm::cos(std::f64::consts::TAU * rng.unit());
                Time((libm::exp(sigma * normal) * median.0 as f64 + 0.5) as u64)
            }
            Distribution::Choice(values) => {
                let mut rest = rng.unit();
                for (value, probability) in values {
                    rest -= probability;
                    if rest < 0.0 {
                        return *value;
                    }
                }
                values.last().map_or(Time::ZERO, |(value, _)| *value)
            }
        }
    }

    /// The same where each value is `factor` times as long. The same stream gives the same values except for that.
    pub fn scaled(&self, factor: f64) -> Distribution {
        let scaled = |time: &Time| Time((time.0 as f64 * factor).round() as u64);
        match self {
            Distribution::Constant(time) => Distribution::Constant(scaled(time)),
            Distribution::Uniform(low, high) => Distribution::Uniform(scaled(low), scaled(high)),
            Distribution::Exponential(mean) => Distribution::Exponential(scaled(mean)),
            Distribution::Lognormal(median, sigma) => Distribution::Lognormal(scaled(median), *sigma),
            Distribution::Choice(values) => {
                Distribution::Choice(values.iter().map(|(time, probability)| (scaled(time), *probability)).collect())
            }
        }
    }

    /// The expected value in nanoseconds.
    pub fn mean_ns(&self) -> f64 {
        match self {
            Distribution::Constant(t) | Distribution::Exponential(t) => t.0 as f64,
            Distribution::Uniform(low, high) => (low.0 as f64 + high.0 as f64) / 2.0,
            Distribution::Lognormal(median, sigma) => median.0 as f64 * libm::exp(sigma * sigma / 2.0),
            Distribution::Choice(values) => values.iter().map(|(t, p)| t.0 as f64 * p).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of 10^5 draws is within five standard errors of the expected value.
    #[test]
    fn means_are_as_stated() {
        let ms = Time::from_ms;
        let cases = [
            (Distribution::Constant(ms(3)), 0.0),
            (Distribution::Uniform(ms(1), ms(3)), 0.58e6),
            (Distribution::Exponential(ms(21)), 21e6),
            (Distribution::Lognormal(ms(2), 0.5), 1.21e6),
            (Distribution::Choice(vec![(ms(10), 0.9), (ms(110), 0.1)]), 30e6),
        ];
        for (distribution, sd) in cases {
            let mut rng = Rng::split(1, "test");
            let n = 100_000;
            let mean = (0..n).map(|_| distribution.sample(&mut rng).0 as f64).sum::<f64>() / n as f64;
            let error = (mean - distribution.mean_ns()).abs();
            assert!(error <= 5.0 * sd / (n as f64).sqrt(), "{distribution:?}: mean {mean}");
            let longer = distribution.scaled(1.01);
            assert!((longer.mean_ns() / distribution.mean_ns() - 1.01).abs() < 1e-6, "{longer:?}");
        }
    }
}
