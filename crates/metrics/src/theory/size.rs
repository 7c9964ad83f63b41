//! Distributions of service times, as far as the formulas look into them.

use super::integral;

/// A distribution of service times S ≥ 0 with distribution function F.
pub trait Size {
    /// E[S].
    fn mean(&self) -> f64;
    /// E[S²].
    fn second_moment(&self) -> f64;
    /// P(S > x).
    fn tail(&self, x: f64) -> f64;
    /// E[S; S ≤ x] = ∫₀ˣ t dF(t).
    fn mean_below(&self, x: f64) -> f64;
    /// E[S²; S ≤ x] = ∫₀ˣ t² dF(t).
    fn second_moment_below(&self, x: f64) -> f64;
    /// E[g(S)].
    fn expect(&self, g: &dyn Fn(f64) -> f64) -> f64;
    /// ∫₀^∞ P(S > t)·g(t) dt = E[∫₀^S g(t) dt].
    fn expect_integral(&self, g: &dyn Fn(f64) -> f64) -> f64;
}

/// Exponential with this mean.
#[derive(Clone, Copy, Debug)]
pub struct Exponential(pub f64);

/// Beyond this multiple of its mean, an exponential has less than 10^-26 of its mass.
const CUTOFF: f64 = 60.0;

impl Size for Exponential {
    fn mean(&self) -> f64 {
        self.0
    }
    fn second_moment(&self) -> f64 {
        2.0 * self.0 * self.0
    }
    fn tail(&self, x: f64) -> f64 {
        libm::exp(-x / self.0)
    }
    fn mean_below(&self, x: f64) -> f64 {
        self.0 - (self.0 + x) * self.tail(x)
    }
    fn second_moment_below(&self, x: f64) -> f64 {
        let s = self.0;
        2.0 * s * s - (2.0 * s * s + 2.0 * s * x + x * x) * self.tail(x)
    }
    fn expect(&self, g: &dyn Fn(f64) -> f64) -> f64 {
        integral(0.0, CUTOFF * self.0, |x| g(x) * self.tail(x) / self.0)
    }
    fn expect_integral(&self, g: &dyn Fn(f64) -> f64) -> f64 {
        integral(0.0, CUTOFF * self.0, |t| g(t) * self.tail(t))
    }
}

/// A few sizes, each with its probability; one of them with probability one is the deterministic service.
#[derive(Clone, Debug)]
pub struct Atoms(pub Vec<(f64, f64)>);

impl Atoms {
    /// Always the same size.
    pub fn deterministic(size: f64) -> Atoms {
        Atoms(vec![(size, 1.0)])
    }
}

impl Size for Atoms {
    fn mean(&self) -> f64 {
        self.expect(&|x| x)
    }
    fn second_moment(&self) -> f64 {
        self.expect(&|x| x * x)
    }
    fn tail(&self, x: f64) -> f64 {
        self.0.iter().filter(|(size, _)| *size > x).map(|(_, p)| p).sum()
    }
    fn mean_below(&self, x: f64) -> f64 {
        self.expect(&|size| if size <= x { size } else { 0.0 })
    }
    fn second_moment_below(&self, x: f64) -> f64 {
        self.expect(&|size| if size <= x { size * size } else { 0.0 })
    }
    fn expect(&self, g: &dyn Fn(f64) -> f64) -> f64 {
        self.0.iter().map(|(size, p)| p * g(*size)).sum()
    }
    fn expect_integral(&self, g: &dyn Fn(f64) -> f64) -> f64 {
        self.expect(&|size| integral(0.0, size, g))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-8 * b.abs().max(1.0), "{a} for {b}");
    }

    #[test]
    fn the_closed_forms_of_the_exponential_agree_with_its_integrals() {
        let s = Exponential(20.0);
        close(s.expect(&|x| x), s.mean());
        close(s.expect(&|x| x * x), s.second_moment());
        close(s.expect_integral(&|_| 1.0), s.mean());
        close(s.mean_below(30.0), integral(0.0, 30.0, |t| t * s.tail(t) / 20.0));
        close(s.second_moment_below(30.0), integral(0.0, 30.0, |t| t * t * s.tail(t) / 20.0));
    }

    #[test]
    fn atoms_by_hand() {
        let s = Atoms(vec![(10.0, 0.9), (110.0, 0.1)]);
        close(s.mean(), 20.0);
        close(s.second_moment(), 1300.0);
        close(s.tail(10.0), 0.1);
        close(s.mean_below(50.0), 9.0);
        close(s.second_moment_below(50.0), 90.0);
        close(s.expect_integral(&|_| 1.0), 20.0);
    }
}
