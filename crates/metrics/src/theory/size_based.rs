//! One server, disciplines that know sizes: shortest remaining time, (preemptive) shortest job.
//!
//! The formulas are for continuous distributions; with atoms the rule for ties matters.

use super::size::Size;
use super::{integral, stable};

/// Shortest remaining processing time (Schrage and Miller 1966; Harchol-Balter ch. 33), the mean over sizes of
/// [`srpt_of_size`].
pub fn srpt(arrival_rate: f64, size: &dyn Size) -> Option<f64> {
    let waiting = size.expect(&|x| srpt_waiting(arrival_rate, size, x));
    let residence = size.expect_integral(&|t| 1.0 / free_below(arrival_rate, size, t));
    stable(arrival_rate * size.mean(), waiting + residence)
}

/// Shortest remaining processing time, a job of size x: with ρ(x) = λ∫₀ˣ t dF,
/// E[T(x)] = λ(∫₀ˣ t² dF + x²(1 − F(x))) / (2(1 − ρ(x))²) + ∫₀ˣ dt / (1 − ρ(t)).
pub fn srpt_of_size(arrival_rate: f64, size: &dyn Size, x: f64) -> Option<f64> {
    let residence = integral(0.0, x, |t| 1.0 / free_below(arrival_rate, size, t));
    stable(arrival_rate * size.mean(), srpt_waiting(arrival_rate, size, x) + residence)
}

/// Preemptive shortest job first, by original size: the mean over sizes of [`psjf_of_size`].
pub fn psjf(arrival_rate: f64, size: &dyn Size) -> Option<f64> {
    let mean = size.expect(&|x| psjf_unchecked(arrival_rate, size, x));
    stable(arrival_rate * size.mean(), mean)
}

/// Preemptive shortest job first, a job of size x (Harchol-Balter ch. 32):
/// E[T(x)] = λ∫₀ˣ t² dF / (2(1 − ρ(x))²) + x / (1 − ρ(x)).
pub fn psjf_of_size(arrival_rate: f64, size: &dyn Size, x: f64) -> Option<f64> {
    stable(arrival_rate * size.mean(), psjf_unchecked(arrival_rate, size, x))
}

/// Non-preemptive shortest job first (Harchol-Balter ch. 31): E[T(x)] = x + λE[S²] / (2(1 − ρ(x))²), averaged over x.
pub fn sjf(arrival_rate: f64, size: &dyn Size) -> Option<f64> {
    let residual = arrival_rate * size.second_moment() / 2.0;
    let waiting = size.expect(&|x| {
        let free = free_below(arrival_rate, size, x);
        residual / (free * free)
    });
    stable(arrival_rate * size.mean(), size.mean() + waiting)
}

/// 1 − ρ(x): the share of the server that jobs up to size x leave free.
fn free_below(arrival_rate: f64, size: &dyn Size, x: f64) -> f64 {
    1.0 - arrival_rate * size.mean_below(x)
}

fn srpt_waiting(arrival_rate: f64, size: &dyn Size, x: f64) -> f64 {
    let free = free_below(arrival_rate, size, x);
    arrival_rate * (size.second_moment_below(x) + x * x * size.tail(x)) / (2.0 * free * free)
}

fn psjf_unchecked(arrival_rate: f64, size: &dyn Size, x: f64) -> f64 {
    let free = free_below(arrival_rate, size, x);
    arrival_rate * size.second_moment_below(x) / (2.0 * free * free) + x / free
}

#[cfg(test)]
mod tests {
    use super::super::size::Exponential;
    use super::super::test_helpers::{HAPPE, assert_close};
    use super::*;

    const SIZE: Exponential = Exponential(20.0);

    #[test]
    fn vectors_8_to_11_srpt() {
        for (rho, expected) in [(0.5, 28.5075), (0.8, 47.0555), (0.95, 110.820), (HAPPE, 114.488)] {
            assert_close(srpt(rho / 20.0, &SIZE), expected);
        }
    }

    #[test]
    fn vectors_12_and_13_shortest_job() {
        for (rho, preemptive, not) in [(0.95, 125.295, 125.279), (HAPPE, 129.299, 129.037)] {
            assert_close(psjf(rho / 20.0, &SIZE), preemptive);
            assert_close(sjf(rho / 20.0, &SIZE), not);
        }
    }

    #[test]
    fn vectors_14_and_15_by_size() {
        for (rho, srpt, psjf) in [(HAPPE, 31.3514, 29.4570), (0.95, 31.3068, 29.4232)] {
            assert_close(srpt_of_size(rho / 20.0, &SIZE, 20.0), srpt);
            assert_close(psjf_of_size(rho / 20.0, &SIZE, 20.0), psjf);
        }
    }
}
