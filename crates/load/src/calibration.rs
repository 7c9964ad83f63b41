//! How long a piece of work takes on this machine.
//!
//! The CPU time of `n` pieces is taken to be `a + b·n`. Several sizes are measured in turns, so that a machine that
//! slows down slows all of them, and the line is fitted by the median of all pairwise slopes (Theil 1950, Sen 1968),
//! which up to a quarter of disturbed measurements cannot move far. A machine on which repetitions differ too much is
//! refused: no number made there would mean anything.

use crate::algorithm::{Algorithm, Engine};
use crate::clock::thread_cpu_ns;
use serde::{Deserialize, Serialize};

/// Sizes that are measured, as CPU time.
const SIZES_NS: [f64; 5] = [0.2e6, 0.5e6, 1e6, 2e6, LARGEST_NS];
const LARGEST_NS: f64 = 4e6;
/// Measurements of each size.
const REPETITIONS: usize = 15;
/// How far the quartiles of repeated measurements may lie from one another, in parts of their median.
pub const MAX_SPREAD: f64 = 0.05;
/// How far a check may lie from what was expected.
pub const TOLERANCE: f64 = 0.02;

/// What was found for one algorithm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The algorithm's name.
    pub algorithm: String,
    /// CPU time of a piece in nanoseconds: the slope b.
    pub ns_per_piece: f64,
    /// CPU time of nothing in nanoseconds: the intercept a, which is the cost of reading the clock and of the call.
    pub ns_per_call: f64,
    /// Distance of the quartiles of the time per piece at the largest size, in parts of its median.
    pub spread: f64,
    /// The largest distance of a size's median from the line, in parts of it.
    pub misfit: f64,
    /// How many measurements there were.
    pub measurements: u32,
}

impl Calibration {
    /// None, for tasks that compute nothing.
    pub(crate) fn unknown(algorithm: Algorithm) -> Calibration {
        Calibration {
            algorithm: algorithm.to_string(),
            ns_per_piece: 1.0,
            ns_per_call: 0.0,
            spread: 0.0,
            misfit: 0.0,
            measurements: 0,
        }
    }
}

/// Why there is no calibration.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CalibrationError {
    /// Repetitions differ too much.
    #[error(
        "this machine is too noisy to calibrate `{algorithm}`: the same work takes {:.1} % more or less CPU time from \
         one time to the next, {:.0} % is the most that means anything; stop what else runs here, or fix the CPU \
         frequency",
        spread * 100.0,
        MAX_SPREAD * 100.0
    )]
    Noisy {
        /// The algorithm.
        algorithm: String,
        /// Distance of the quartiles in parts of the median.
        spread: f64,
    },
    /// Time is not a line in the amount of work.
    #[error(
        "the CPU time of `{algorithm}` does not grow with its work: {:.1} % off the line; the CPU frequency seems to \
         change, fix it",
        misfit * 100.0
    )]
    Bent {
        /// The algorithm.
        algorithm: String,
        /// Largest distance from the line in parts of it.
        misfit: f64,
    },
}

impl Calibration {
    /// The pieces that make that much CPU time.
    pub fn pieces(&self, cpu_ns: u64) -> u64 {
        (cpu_ns as f64 / self.ns_per_piece).round() as u64
    }
}

/// Measures an algorithm on the CPU on which the caller runs, from which it should not be moved meanwhile.
pub fn calibrate(algorithm: Algorithm) -> Result<Calibration, CalibrationError> {
    let mut engine = Engine::new(algorithm);
    let rough = rough_ns_per_piece(&mut engine);
    let sizes = SIZES_NS.map(|ns| ((ns / rough) as u64).max(1));
    let mut points: Vec<(u64, f64)> = Vec::with_capacity(sizes.len() * REPETITIONS);
    for _ in 0..REPETITIONS {
        points.extend(sizes.iter().map(|&pieces| (pieces, cpu_time(&mut engine, pieces))));
    }
    judge(algorithm, &sizes, &points)
}

/// Whether a calibration still holds: the median of a few short measurements is as expected.
pub fn still_holds(calibration: &Calibration, algorithm: Algorithm) -> bool {
    let mut engine = Engine::new(algorithm);
    let pieces = calibration.pieces(1_000_000).max(1);
    engine.burn(pieces);
    let expected = calibration.ns_per_call + calibration.ns_per_piece * pieces as f64;
    let measured: Vec<f64> = (0..9).map(|_| cpu_time(&mut engine, pieces)).collect();
    (median(&measured) / expected - 1.0).abs() <= TOLERANCE
}

/// Amounts of work by which a calibration is verified, in nanoseconds, and how often each is done in a round.
const VERIFIED: [(u64, usize); 3] = [(1_000_000, 5), (10_000_000, 3), (250_000_000, 1)];
/// Rounds of a verification, and how many more may be refused.
const ROUNDS: usize = 21;
const MAX_REFUSED: u32 = 200;

/// What calibrations promise in addition to what they keep.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Verification {
    /// How far the CPU time of 1, 10 and 250 ms of work lies from it, in parts of it: the median over rounds.
    pub off: [f64; 3],
    /// Rounds in which the machine was too noisy, while it was calibrated or while it worked.
    pub refused: u32,
}

/// Calibrates again in each round and then asks for the work. The machine has to be as even while it works as while it
/// is calibrated, by the same measure: next to a neighbour that comes and goes, calibrations would be made in whichever
/// of the two speeds is the more lasting one, and a long piece of work meets both. `begin` makes what a task of a run has,
/// a working set of its own in each round, and what that gives does that many pieces and says what CPU time they took.
pub fn verify<B: FnMut(u64) -> f64>(
    mut calibrate: impl FnMut() -> Result<Calibration, CalibrationError>,
    mut begin: impl FnMut() -> B,
) -> Result<Verification, CalibrationError> {
    let mut off = [const { Vec::new() }; 3];
    let (mut rounds, mut refused) = (0, 0);
    while rounds < ROUNDS {
        match calibrate().and_then(|calibration| round(&calibration, &mut begin())) {
            Ok(found) => {
                off.iter_mut().zip(found).for_each(|(off, found)| off.extend(found));
                rounds += 1;
            }
            Err(_) if refused < MAX_REFUSED => refused += 1,
            Err(error) => return Err(error),
        }
    }
    Ok(Verification { off: off.map(|off| median(&off)), refused })
}

/// How far each amount of work is off, each time that it is done.
fn round(calibration: &Calibration, burn: &mut impl FnMut(u64) -> f64) -> Result<[Vec<f64>; 3], CalibrationError> {
    let mut off = [const { Vec::new() }; 3];
    // The calibration's working set was another one; this one comes into the caches first.
    burn(calibration.pieces(LARGEST_NS as u64));
    for (off, (work_ns, times)) in off.iter_mut().zip(VERIFIED) {
        // In parts of the largest size measured, which reading the clock between them does not lengthen.
        let parts = (work_ns as f64 / LARGEST_NS).floor().max(1.0) as u64;
        let pieces = calibration.pieces(work_ns);
        let until = |part| pieces * part / parts;
        for _ in 0..times {
            let times: Vec<f64> = (0..parts).map(|part| burn(until(part + 1) - until(part))).collect();
            let spread = spread(&times);
            if spread > MAX_SPREAD {
                return Err(CalibrationError::Noisy { algorithm: calibration.algorithm.clone(), spread });
            }
            off.push(times.iter().sum::<f64>() / work_ns as f64 - 1.0);
        }
    }
    Ok(off)
}

/// CPU time of some pieces.
pub fn cpu_time(engine: &mut Engine, pieces: u64) -> f64 {
    let before = thread_cpu_ns();
    engine.burn(pieces);
    (thread_cpu_ns() - before) as f64
}

/// A first guess: doubles the work until it takes a millisecond, which also wakes the CPU up.
fn rough_ns_per_piece(engine: &mut Engine) -> f64 {
    let mut pieces = 64;
    loop {
        let time = cpu_time(engine, pieces);
        if time >= 1e6 {
            return time / pieces as f64;
        }
        pieces *= 2;
    }
}

/// Fits the line and says whether it can be trusted.
fn judge(algorithm: Algorithm, sizes: &[u64], points: &[(u64, f64)]) -> Result<Calibration, CalibrationError> {
    let slope = median(&pairwise_slopes(points));
    let intercept = median(&points.iter().map(|&(n, t)| t - slope * n as f64).collect::<Vec<_>>());
    let of_size = |size: u64| points.iter().filter(|p| p.0 == size).map(|p| p.1).collect::<Vec<f64>>();
    let largest = of_size(sizes[sizes.len() - 1]);
    let spread = spread(&largest);
    let off = |&size: &u64| {
        let line = intercept + slope * size as f64;
        (median(&of_size(size)) / line - 1.0).abs()
    };
    let misfit = sizes.iter().map(off).fold(0.0, f64::max);
    let algorithm = algorithm.to_string();
    if spread > MAX_SPREAD {
        return Err(CalibrationError::Noisy { algorithm, spread });
    }
    if misfit > MAX_SPREAD {
        return Err(CalibrationError::Bent { algorithm, misfit });
    }
    let measurements = points.len() as u32;
    Ok(Calibration { algorithm, ns_per_piece: slope, ns_per_call: intercept, spread, misfit, measurements })
}

fn pairwise_slopes(points: &[(u64, f64)]) -> Vec<f64> {
    let pairs = points.iter().enumerate().flat_map(|(i, a)| points[i + 1..].iter().map(move |b| (a, b)));
    pairs.filter(|(a, b)| a.0 != b.0).map(|(a, b)| (b.1 - a.1) / (b.0 as f64 - a.0 as f64)).collect()
}

/// Distance of the quartiles in parts of the median.
fn spread(times: &[f64]) -> f64 {
    (quantile(times, 0.75) - quantile(times, 0.25)) / median(times)
}

/// The middle value.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The quantile `q`, linear between neighbours (Hyndman and Fan 1996, definition 7).
pub(crate) fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = q * (sorted.len() - 1) as f64;
    let (below, part) = (at as usize, at.fract());
    let above = sorted[(below + 1).min(sorted.len() - 1)];
    sorted[below] + part * (above - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const SIZES: [u64; 4] = [100, 200, 400, 800];

    fn points(time: impl Fn(u64, usize) -> f64) -> Vec<(u64, f64)> {
        (0..8).flat_map(|i| SIZES.map(|n| (n, time(n, i)))).collect()
    }

    #[test]
    fn a_line_is_found_in_spite_of_a_few_disturbances() {
        let disturbed = points(|n, i| 50.0 + 3.0 * n as f64 + if i == 2 { 900.0 } else { 0.0 });
        let found = judge(Algorithm::Spin, &SIZES, &disturbed).unwrap();
        assert!((found.ns_per_piece - 3.0).abs() < 1e-9 && (found.ns_per_call - 50.0).abs() < 1e-9, "{found:?}");
        assert_eq!((found.spread, found.pieces(3_000)), (0.0, 1000));
    }

    #[test]
    fn noise_and_bends_are_refused_with_the_reason() {
        let noisy = points(|n, i| 3.0 * n as f64 * (1.0 + 0.03 * i as f64));
        let error = judge(Algorithm::Pi, &SIZES, &noisy).unwrap_err();
        assert!(error.to_string().starts_with("this machine is too noisy to calibrate `pi`"), "{error}");
        let bent = points(|n, _| n as f64 * n as f64);
        let error = judge(Algorithm::Fft, &SIZES, &bent).unwrap_err();
        assert!(matches!(error, CalibrationError::Bent { .. }), "{error}");
    }

    /// What a piece of three nanoseconds is of a millisecond: work is rounded to pieces.
    const A_PIECE: f64 = 3e-6;

    /// A calibration of three nanoseconds per piece, each time that it is asked for but the first few.
    fn three_ns_after(refusals: u32) -> impl FnMut() -> Result<Calibration, CalibrationError> {
        let mut asked = 0;
        move || {
            asked += 1;
            let noise = if asked <= refusals { 0.03 } else { 0.0 };
            judge(Algorithm::Pi, &SIZES, &points(|n, i| 3.0 * n as f64 * (1.0 + noise * i as f64)))
        }
    }

    #[test]
    fn a_verification_says_how_far_work_is_off_and_counts_refusals() {
        let found = verify(three_ns_after(3), || |pieces| 3.3 * pieces as f64).unwrap();
        assert_eq!(found.refused, 3);
        assert!(found.off.iter().all(|off| (off - 0.1).abs() < A_PIECE), "{found:?}");
        let never = verify(three_ns_after(u32::MAX), || |pieces| 3.3 * pieces as f64);
        assert!(matches!(never, Err(CalibrationError::Noisy { .. })), "{never:?}");
    }

    /// A neighbour comes and goes in the long work, and then leaves for good.
    #[test]
    fn work_on_an_uneven_machine_verifies_nothing() {
        let parts = Cell::new(0);
        let uneven = |pieces: u64| {
            parts.set(parts.get() + 1);
            let slow = parts.get() < 700 && parts.get() % 70 > 40;
            let ns_per_piece = if slow { 4.0 } else { 3.0 };
            ns_per_piece * pieces as f64
        };
        let found = verify(three_ns_after(0), || uneven).unwrap();
        assert!(found.refused >= 5 && found.off.iter().all(|off| off.abs() < A_PIECE), "{found:?}");
    }

    #[test]
    fn quantiles_of_few_values() {
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[1.0, 2.0]), quantile(&[0.0, 4.0], 0.25)), (2.0, 1.5, 1.0));
    }
}
