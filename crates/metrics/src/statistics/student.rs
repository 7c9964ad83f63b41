//! Student's t distribution, from the regularised incomplete beta function.

use super::beta::regularised_beta;
use super::bisection;

/// P(T ≤ t) for Student's t with `degrees` > 0 degrees of freedom: 1 − ½·I_{ν/(ν+t²)}(ν/2, ½) for t ≥ 0.
pub fn cdf(t: f64, degrees: f64) -> f64 {
    let tail = 0.5 * regularised_beta(degrees / 2.0, 0.5, degrees / (degrees + t * t));
    if t >= 0.0 { 1.0 - tail } else { tail }
}

/// The t with P(T ≤ t) = `p`, 0 < p < 1, by bisection of [`cdf`] to the last bits.
pub fn quantile(p: f64, degrees: f64) -> f64 {
    assert!(p > 0.0 && p < 1.0 && degrees > 0.0, "no t quantile for p {p}, {degrees} degrees of freedom");
    if p < 0.5 {
        return -quantile(1.0 - p, degrees);
    }
    bisection::reaches(p, |t| cdf(t, degrees))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Printed t tables; one and two degrees also in closed form: tan(π(p − ½)) and (2p − 1)/√(2p(1 − p)).
    #[test]
    fn quantiles_of_the_printed_table() {
        for (p, degrees, t) in [
            (0.975, 1.0, 12.7062),
            (0.975, 2.0, 4.30265),
            (0.975, 10.0, 2.22814),
            (0.995, 30.0, 2.75000),
            (0.975, 29.0, 2.04523),
            (0.995, 1e6, 2.57584),
            (0.5, 5.0, 0.0),
            (0.025, 10.0, -2.22814),
        ] {
            let got = quantile(p, degrees);
            assert!((got - t).abs() < 6e-6 * t.abs().max(1.0), "{p} {degrees}: {got}");
        }
        let p = 0.99f64;
        assert!((quantile(p, 1.0) - (std::f64::consts::PI * (p - 0.5)).tan()).abs() < 1e-9);
        assert!((quantile(p, 2.0) - (2.0 * p - 1.0) / (2.0 * p * (1.0 - p)).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn cdf_inverts_quantile() {
        for p in [0.51, 0.6, 0.9, 0.999] {
            for degrees in [1.0, 3.0, 31.0, 200.0] {
                assert!((cdf(quantile(p, degrees), degrees) - p).abs() < 1e-12);
            }
        }
    }
}
