//! The chi-squared distribution, from the regularised incomplete gamma function.

use super::bisection;

/// P(a, x), the regularised lower incomplete gamma function: the series DLMF 8.11.4 for small x, the continued fraction
/// DLMF 8.9.2 (modified Lentz) of its complement for large.
fn regularised_gamma(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let front = libm::exp(a * libm::log(x) - x - libm::lgamma(a));
    if x < a + 1.0 {
        let (mut term, mut sum) = (1.0 / a, 1.0 / a);
        for n in 1..10_000 {
            term *= x / (a + f64::from(n));
            sum += term;
            if term < 1e-16 * sum {
                break;
            }
        }
        return front * sum;
    }
    let mut b = x + 1.0 - a;
    let mut c = 1e300;
    let mut d = 1.0 / b;
    let mut value = d;
    for n in 1..10_000 {
        let factor = -f64::from(n) * (f64::from(n) - a);
        b += 2.0;
        d = 1.0 / (factor * d + b);
        c = b + factor / c;
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    1.0 - front * value
}

/// P(X ≤ x) with `degrees` > 0 degrees of freedom.
pub fn cdf(x: f64, degrees: f64) -> f64 {
    regularised_gamma(degrees / 2.0, x / 2.0)
}

/// The x with P(X ≤ x) = `p`, 0 < p < 1, by bisection of [`cdf`].
pub fn quantile(p: f64, degrees: f64) -> f64 {
    assert!(p > 0.0 && p < 1.0 && degrees > 0.0, "no chi-squared quantile for p {p}, {degrees} degrees of freedom");
    bisection::reaches(p, |x| cdf(x, degrees))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Printed tables; two degrees also in closed form: −2·ln(1 − p).
    #[test]
    fn quantiles_of_the_printed_table() {
        for (p, degrees, x) in [
            (0.975, 4.0, 11.1433),
            (0.025, 4.0, 0.484419),
            (0.95, 1.0, 3.84146),
            (0.05, 30.0, 18.4927),
            (0.99, 100.0, 135.807),
        ] {
            let got = quantile(p, degrees);
            assert!((got - x).abs() < 5e-6 * x, "{p} {degrees}: {got}");
        }
        assert!((quantile(0.3, 2.0) + 2.0 * 0.7f64.ln()).abs() < 1e-9);
    }
}
