//! Quantiles of distributions whose cumulative function is known.

/// The x ≥ 0 at which a growing `function` reaches `p`, to the last bits.
pub fn reaches(p: f64, function: impl Fn(f64) -> f64) -> f64 {
    let mut high = 1.0;
    while function(high) < p {
        high *= 2.0;
    }
    let mut low = 0.0;
    while high - low > 1e-14 * high {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if function(middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}
