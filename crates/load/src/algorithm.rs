//! What a task computes while it computes: small pieces of work, each the same amount every time.
//!
//! A piece takes a fraction of a microsecond, so that a millisecond of work is a thousand of them and what is rounded
//! off does not matter. None of them looks at a clock: a task that is preempted still does all of its work.

use std::fmt;
use std::hint::black_box;
use std::str::FromStr;
use std::sync::Arc;

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Algorithm {
    /// Fibonacci numbers by double recursion: calls, returns, the stack.
    Fibonacci,
    /// A fast Fourier transform of 64 points: floating-point multiplication and strided memory in the first cache.
    Fft,
    /// Terms of Leibniz' series for π: a short chain of floating-point operations that touches no memory.
    Pi,
    /// Integer operations, each of which needs the one before.
    Spin,
    /// Walks through a working set of this size in KiB, in an order that no prefetcher foresees.
    Memory(u32),
}

/// The working set of `memory` without a size, in KiB. Caches are indexed by physical address, so how well a set fits is a
/// matter of luck once it fills half of one: two sets of 512 KiB differ by 7 % in a cache of 1 MiB. This one is well within
/// the second cache of today's processors, and beyond the first.
const DEFAULT_WORKING_SET_KIB: u32 = 256;
/// The largest working set, in KiB.
const MAX_WORKING_SET_KIB: u32 = 4 << 20;

impl Algorithm {
    /// One of each.
    pub const ALL: [Algorithm; 5] = [
        Algorithm::Fibonacci,
        Algorithm::Fft,
        Algorithm::Pi,
        Algorithm::Spin,
        Algorithm::Memory(DEFAULT_WORKING_SET_KIB),
    ];
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Algorithm::Fibonacci => f.write_str("fibonacci"),
            Algorithm::Fft => f.write_str("fft"),
            Algorithm::Pi => f.write_str("pi"),
            Algorithm::Spin => f.write_str("spin"),
            Algorithm::Memory(kib) if kib % 1024 == 0 => write!(f, "memory:{}MiB", kib / 1024),
            Algorithm::Memory(kib) => write!(f, "memory:{kib}KiB"),
        }
    }
}

impl FromStr for Algorithm {
    type Err = String;

    fn from_str(text: &str) -> Result<Algorithm, String> {
        match text {
            "fibonacci" => Ok(Algorithm::Fibonacci),
            "fft" => Ok(Algorithm::Fft),
            "pi" => Ok(Algorithm::Pi),
            "spin" => Ok(Algorithm::Spin),
            "memory" => Ok(Algorithm::Memory(DEFAULT_WORKING_SET_KIB)),
            other => match other.strip_prefix("memory:") {
                Some(size) => working_set(size).map(Algorithm::Memory),
                None => Err(format!(
                    "there is no load `{other}`; choose fibonacci, fft, pi, spin, memory or memory:SIZE (64KiB, 8MiB)"
                )),
            },
        }
    }
}

fn working_set(text: &str) -> Result<u32, String> {
    let number = |digits: &str, unit: u32| digits.parse().ok().and_then(|n: u32| n.checked_mul(unit));
    let kib =
        text.strip_suffix("KiB").map(|n| number(n, 1)).or_else(|| text.strip_suffix("MiB").map(|n| number(n, 1024)));
    kib.flatten().filter(|kib| (4..=MAX_WORKING_SET_KIB).contains(kib)).ok_or_else(|| {
        format!("`{text}` is not a size of a working set: write it as 64KiB or 8MiB, from 4KiB to 4096MiB")
    })
}

/// An algorithm with the memory that it works on. A clone shares the working set.
#[derive(Clone, Debug)]
pub struct Engine {
    algorithm: Algorithm,
    /// State that one piece hands to the next, so that none can be left out.
    state: u64,
    points: [(f64, f64); FFT_POINTS],
    /// One entry per cache line: the index of the next.
    walk: Arc<[Line]>,
}

const FFT_POINTS: usize = 64;
const LINE_BYTES: usize = 64;

#[derive(Clone, Debug)]
#[repr(align(64))]
struct Line(u32);

impl Engine {
    /// Makes the memory ready.
    pub fn new(algorithm: Algorithm) -> Engine {
        let points = std::array::from_fn(|i| ((i as f64).sin(), 0.0));
        let walk = match algorithm {
            Algorithm::Memory(kib) => cycle((kib as usize * 1024 / LINE_BYTES).max(2)).into(),
            _ => Arc::default(),
        };
        Engine { algorithm, state: 1, points, walk }
    }

    /// Does `pieces` pieces of work.
    pub fn burn(&mut self, pieces: u64) {
        match self.algorithm {
            Algorithm::Fibonacci => (0..pieces).for_each(|_| self.state ^= fibonacci(black_box(8)) as u64),
            Algorithm::Fft => (0..pieces).for_each(|_| transform(&mut self.points)),
            Algorithm::Pi => self.state = self.state.wrapping_add(leibniz(black_box(pieces)).to_bits()),
            Algorithm::Spin => self.state = spin(self.state, pieces),
            Algorithm::Memory(_) => self.state = u64::from(walk(&self.walk, self.state as u32, pieces)),
        }
        black_box((self.state, self.points[0]));
    }
}

#[inline(never)]
fn fibonacci(n: u32) -> u32 {
    if n < 2 { n } else { fibonacci(n - 1) + fibonacci(n - 2) }
}

/// Terms of the series in one piece.
const PI_TERMS: u64 = 32;

fn leibniz(pieces: u64) -> f64 {
    let (mut sum, mut sign, mut denominator) = (0.0f64, 4.0f64, 1.0f64);
    for _ in 0..pieces * PI_TERMS {
        sum += sign / denominator;
        sign = -sign;
        denominator += 2.0;
    }
    black_box(sum)
}

/// Steps of the generator in one piece.
const SPIN_STEPS: u64 = 64;

/// Marsaglia's xorshift, in which each operation needs the one before.
fn spin(mut state: u64, pieces: u64) -> u64 {
    for _ in 0..pieces * SPIN_STEPS {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    state
}

/// One transform by Cooley and Tukey, radix 2, in place, without the reordering, scaled so that values stay as they are
/// in size.
fn transform(points: &mut [(f64, f64); FFT_POINTS]) {
    let mut half = FFT_POINTS / 2;
    while half > 0 {
        let (sin, cos) = (-std::f64::consts::PI / half as f64).sin_cos();
        for start in (0..FFT_POINTS).step_by(2 * half) {
            let (mut re, mut im) = (1.0f64, 0.0f64);
            for i in start..start + half {
                let ((a, b), (c, d)) = (points[i], points[i + half]);
                points[i] = ((a + c) * SCALE, (b + d) * SCALE);
                let (x, y) = ((a - c) * SCALE, (b - d) * SCALE);
                points[i + half] = (x * re - y * im, x * im + y * re);
                (re, im) = (re * cos - im * sin, re * sin + im * cos);
            }
        }
        half /= 2;
    }
}

/// Keeps the energy of the points what it was.
const SCALE: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// A single cycle through all lines in random order (Sattolo 1986), the same every time.
fn cycle(lines: usize) -> Vec<Line> {
    let mut rng = schedlab_model::rng::Rng::split(1, "working set");
    let mut next: Vec<u32> = (0..lines as u32).collect();
    for i in (1..lines).rev() {
        next.swap(i, rng.below(i as u64) as usize);
    }
    next.into_iter().map(Line).collect()
}

/// Loads in one piece.
const LOADS: u64 = 16;

fn walk(lines: &[Line], from: u32, pieces: u64) -> u32 {
    let mut at = from as usize % lines.len();
    for _ in 0..pieces * LOADS {
        at = lines[at].0 as usize;
    }
    at as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for algorithm in Algorithm::ALL.into_iter().chain([Algorithm::Memory(64), Algorithm::Memory(8192)]) {
            assert_eq!(algorithm.to_string().parse(), Ok(algorithm));
        }
        assert_eq!("memory".parse(), Ok(Algorithm::Memory(256)));
        for wrong in ["", "sleep", "memory:", "memory:3", "memory:1KiB", "memory:99999999MiB", "memory:-1MiB"] {
            assert!(wrong.parse::<Algorithm>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_walk_passes_every_line_once() {
        let lines = cycle(1000);
        let mut seen = vec![false; 1000];
        let mut at = 0;
        for _ in 0..1000 {
            assert!(!std::mem::replace(&mut seen[at], true));
            at = lines[at].0 as usize;
        }
        assert_eq!(at, 0);
    }

    #[test]
    fn they_compute_what_they_say() {
        assert_eq!(fibonacci(8), 21);
        assert!((leibniz(10_000) - std::f64::consts::PI).abs() < 1e-5);
        assert_eq!(spin(1, 0), 1);
        assert_ne!(spin(1, 1), 1);
    }

    /// The transform of a cosine with one period has all its energy at frequencies 1 and 63, and two transforms of any
    /// input keep its energy.
    #[test]
    fn the_transform_keeps_energy() {
        let mut points: [(f64, f64); FFT_POINTS] =
            std::array::from_fn(|i| ((std::f64::consts::TAU * i as f64 / FFT_POINTS as f64).cos(), 0.0));
        let energy = |points: &[(f64, f64); FFT_POINTS]| points.iter().map(|(a, b)| a * a + b * b).sum::<f64>();
        let before = energy(&points);
        transform(&mut points);
        assert!((energy(&points) - before).abs() < 1e-9);
        let peaks = points.iter().filter(|(a, b)| a * a + b * b > before / 4.0).count();
        assert_eq!(peaks, 2);
    }

    #[test]
    fn long_burning_stays_finite() {
        let mut engine = Engine::new(Algorithm::Fft);
        engine.burn(100_000);
        assert!(engine.points.iter().all(|(a, b)| a.is_finite() && b.is_finite() && a.abs() < 100.0));
    }
}
