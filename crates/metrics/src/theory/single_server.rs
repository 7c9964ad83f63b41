//! One server, disciplines that do not look at sizes: first come first served, processor sharing, least attained
//! service.

use super::size::Size;
use super::stable;

/// First come, first served (Pollaczek–Khinchine; Harchol-Balter ch. 23): E[T] = s + λE[S²] / (2(1 − ρ)).
pub fn fcfs(arrival_rate: f64, size: &dyn Size) -> Option<f64> {
    let load = arrival_rate * size.mean();
    stable(load, size.mean() + arrival_rate * size.second_moment() / (2.0 * (1.0 - load)))
}

/// Processor sharing: E[T] = s / (1 − ρ), whatever the shape of S (Harchol-Balter ch. 30).
pub fn ps(arrival_rate: f64, size: &dyn Size) -> Option<f64> {
    ps_of_size(arrival_rate, size, size.mean())
}

/// Processor sharing, a job of size x: E[T(x)] = x / (1 − ρ).
pub fn ps_of_size(arrival_rate: f64, size: &dyn Size, x: f64) -> Option<f64> {
    let load = arrival_rate * size.mean();
    stable(load, x / (1.0 - load))
}

/// Least attained service (foreground–background): the mean over sizes of [`las_of_size`].
pub fn las(arrival_rate: f64, size: &dyn Size) -> Option<f64> {
    let mean = size.expect(&|x| las_unchecked(arrival_rate, size, x));
    stable(arrival_rate * size.mean(), mean)
}

/// Least attained service, a job of size x (Harchol-Balter ch. 30): with S∧x = min(S, x) and ρ̄(x) = λE[S∧x],
/// E[T(x)] = λE[(S∧x)²] / (2(1 − ρ̄(x))²) + x / (1 − ρ̄(x)).
pub fn las_of_size(arrival_rate: f64, size: &dyn Size, x: f64) -> Option<f64> {
    stable(arrival_rate * size.mean(), las_unchecked(arrival_rate, size, x))
}

fn las_unchecked(arrival_rate: f64, size: &dyn Size, x: f64) -> f64 {
    let free = 1.0 - arrival_rate * (size.mean_below(x) + x * size.tail(x));
    let second = size.second_moment_below(x) + x * x * size.tail(x);
    arrival_rate * second / (2.0 * free * free) + x / free
}

#[cfg(test)]
mod tests {
    use super::super::size::{Atoms, Exponential};
    use super::super::test_helpers::{HAPPE, assert_close};
    use super::*;

    const RHO: [f64; 4] = [0.5, 0.8, 0.95, HAPPE];

    fn check(discipline: fn(f64, &dyn Size) -> Option<f64>, size: &dyn Size, expected: [f64; 4]) {
        for (rho, expected) in RHO.into_iter().zip(expected) {
            assert_close(discipline(rho / 20.0, size), expected);
        }
    }

    #[test]
    fn vector_1_exponential_is_blind_to_the_discipline() {
        for discipline in [fcfs, ps, las] {
            check(discipline, &Exponential(20.0), [40.0, 100.0, 400.0, 420.0]);
        }
    }

    #[test]
    fn vectors_2_to_4_deterministic() {
        let size = Atoms::deterministic(20.0);
        check(fcfs, &size, [30.0, 60.0, 210.0, 220.0]);
        check(ps, &size, [40.0, 100.0, 400.0, 420.0]);
        check(las, &size, [60.0, 300.0, 4200.0, 4620.0]);
    }

    /// Vector 6 by Little's law: E[L] of the queue = λ(E[T] − s).
    #[test]
    fn vector_6_queue_length() {
        for (rho, length) in [(HAPPE, 9.52381), (0.95, 9.025)] {
            let waiting = fcfs(rho / 20.0, &Atoms::deterministic(20.0)).unwrap() - 20.0;
            assert_close(Some(rho / 20.0 * waiting), length);
        }
    }

    /// Sizes of two atoms with mean 20 and the wanted variation.
    #[test]
    fn vector_7_variation() {
        for (cv2, expected) in [(4.0, 1020.0), (0.25, 270.0)] {
            // Atoms at m − d·√(q/p) and m + d·√(p/q) with probabilities p and q have mean m and deviation d.
            let (p, q, d): (f64, f64, f64) = (0.9, 0.1, 20.0 * f64::sqrt(cv2));
            let size = Atoms(vec![(20.0 - d * (q / p).sqrt(), p), (20.0 + d * (p / q).sqrt(), q)]);
            assert_close(fcfs(1.0 / 21.0, &size), expected);
        }
    }

    #[test]
    fn vectors_14_and_15_by_size() {
        for (rho, las, ps) in [(HAPPE, 82.0311, 420.0), (0.95, 81.5239, 400.0)] {
            let size = Exponential(20.0);
            assert_close(las_of_size(rho / 20.0, &size, 20.0), las);
            assert_close(ps_of_size(rho / 20.0, &size, 20.0), ps);
        }
    }

    #[test]
    fn vectors_16_and_17_two_sizes() {
        let size = Atoms(vec![(10.0, 0.9), (110.0, 0.1)]);
        assert_close(fcfs(0.04, &size), 150.0);
        assert_close(ps(0.04, &size), 100.0);
        assert_close(las(0.04, &size), 140.0);
        assert_close(las_of_size(0.04, &size, 10.0), 22.2222);
        assert_close(las_of_size(0.04, &size, 110.0), 1200.0);
        assert_close(ps_of_size(0.04, &size, 10.0), 50.0);
        assert_close(ps_of_size(0.04, &size, 110.0), 550.0);
    }

    #[test]
    fn saturation_has_no_mean() {
        assert_eq!(fcfs(0.05, &Exponential(20.0)), None);
        assert_eq!(ps(0.06, &Exponential(20.0)), None);
        assert_eq!(las(0.05, &Atoms::deterministic(20.0)), None);
    }
}
