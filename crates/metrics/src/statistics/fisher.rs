//! Fisher's F distribution, of the ratio of two estimates of a variance.

use super::beta::regularised_beta;

/// P(F > x) with `above` and `below` > 0 degrees of freedom: I_{b/(b + a·x)}(b/2, a/2) (Abramowitz and Stegun 1964, 26.6.2).
pub fn upper_tail(x: f64, above: f64, below: f64) -> f64 {
    if x.is_infinite() { 0.0 } else { regularised_beta(below / 2.0, above / 2.0, below / (below + above * x)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Printed tables of the points above which 5 and 1 % lie.
    #[test]
    fn tails_of_the_printed_table() {
        for (x, above, below, tail) in
            [(3.4668, 2.0, 21.0, 0.05), (5.7804, 2.0, 21.0, 0.01), (161.448, 1.0, 1.0, 0.05), (4.9424, 9.0, 10.0, 0.01)]
        {
            let got = upper_tail(x, above, below);
            assert!((got - tail).abs() < 0.02 * tail, "{x} {above} {below}: {got}");
        }
        assert_eq!((upper_tail(0.0, 2.0, 3.0), upper_tail(f64::INFINITY, 2.0, 3.0)), (1.0, 0.0));
    }
}
