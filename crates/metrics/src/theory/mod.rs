//! Closed forms of queueing theory: what a simulation must give.
//!
//! Poisson arrivals of rate λ (`arrival_rate`), service of mean s and second moment E[S²], load ρ = λs/c on c servers;
//! a result is the mean response time E[T], in the unit of the service times. All hold for ρ < 1, free switching and
//! the long run; at ρ ≥ 1 there is no mean and the functions give none. Sources: Kleinrock, *Queueing Systems* I and
//! II; Harchol-Balter, *Performance Modeling and Design of Computer Systems* (2013), named by chapter below.

pub mod closed;
pub mod multi_server;
pub mod multiprocessor;
pub mod priority;
pub mod single_server;
pub mod size;
pub mod size_based;

/// The integral of `f` from `low` to `high` by Simpson's rule over 2048 double steps. The integrands here are smooth:
/// the error is far below the six digits that theory is compared with.
fn integral(low: f64, high: f64, f: impl Fn(f64) -> f64) -> f64 {
    const DOUBLE_STEPS: u32 = 2048;
    let step = (high - low) / f64::from(2 * DOUBLE_STEPS);
    let at = |i: u32| f(low + step * f64::from(i));
    let inner: f64 = (1..2 * DOUBLE_STEPS).map(|i| if i % 2 == 1 { 4.0 * at(i) } else { 2.0 * at(i) }).sum();
    (at(0) + inner + at(2 * DOUBLE_STEPS)) * step / 3.0
}

/// `value` when the load is below one.
fn stable(load: f64, value: f64) -> Option<f64> {
    (load < 1.0).then_some(value)
}

#[cfg(test)]
mod test_helpers {
    /// The load of the Happe experiment, jobs of 20 every 21.
    pub const HAPPE: f64 = 20.0 / 21.0;

    /// To six significant digits, as the vectors are given.
    pub fn assert_close(got: Option<f64>, expected: f64) {
        let got = got.expect("stable");
        assert!((got - expected).abs() <= 6e-6 * expected.abs(), "{got} for {expected}");
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn simpson_integrates_an_exponential() {
        let area = super::integral(0.0, 60.0, |x| (-x).exp());
        assert!((area - 1.0).abs() < 1e-9, "{area}");
    }
}
