//! Why a task slept, where the recording does not say in which call: the shape of its sleeps tells timers.

use crate::raw::Slept;
use schedlab_metrics::statistics::quantile_of_sorted;
use schedlab_model::trace::WakeSource;

/// What a task's sleeps without a waker look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// They end on a grid.
    Absolute {
        /// From one end to the next.
        period_ns: u64,
        /// The first instant of the grid.
        phase_ns: u64,
    },
    /// They are equally long.
    Relative {
        /// The shortest: what is more is slack.
        length_ns: u64,
    },
    /// Neither.
    Unknown,
}

/// The fewest sleeps that show a shape.
const FEWEST: usize = 4;

/// A shape is clear if its spread is smaller than this part of the other shape's.
const CLEARLY: f64 = 0.5;

/// The largest spread, as a part of the period or length.
const SPREAD: f64 = 0.05;

/// The shape of sleeps, each from one instant to another.
pub fn shape(sleeps: &[(u64, u64)]) -> Shape {
    if sleeps.len() < FEWEST {
        return Shape::Unknown;
    }
    let lengths: Vec<f64> = sleeps.iter().map(|(from, to)| (to - from) as f64).collect();
    let (relative, length) = (spread(&lengths), median(&lengths));
    let grid = grid(sleeps);
    let absolute = grid.map_or(f64::INFINITY, |grid| grid.spread);
    let (on_grid, alike) = (grid.filter(|grid| absolute < SPREAD * grid.period), relative < SPREAD * length);
    let relative_shape = || Shape::Relative { length_ns: sleeps.iter().map(|(from, to)| to - from).min().unwrap_or(0) };
    match (on_grid, alike) {
        (Some(grid), _) if absolute < CLEARLY * relative => grid.shape(),
        (_, true) if relative < CLEARLY * absolute => relative_shape(),
        // Work that is always the same makes both true: the better one, and equal lengths if they are as good.
        (Some(grid), true) if absolute < relative => grid.shape(),
        (Some(_), true) => relative_shape(),
        _ => Shape::Unknown,
    }
}

/// A grid near which instants lie.
#[derive(Clone, Copy)]
struct Grid {
    period: f64,
    first: f64,
    spread: f64,
}

impl Grid {
    fn shape(self) -> Shape {
        let phase = self.first.rem_euclid(self.period);
        // A grid through the origin may begin a hair before it.
        let phase_ns = if self.period - phase < self.period / 1000.0 { 0 } else { phase.round() as u64 };
        Shape::Absolute { period_ns: self.period.round() as u64, phase_ns }
    }
}

/// The grid through the ends of sleeps, by least squares; periods may have been missed.
fn grid(sleeps: &[(u64, u64)]) -> Option<Grid> {
    let begin = sleeps[0].1;
    let ends: Vec<f64> = sleeps.iter().map(|(_, to)| (to - begin) as f64).collect();
    let gaps: Vec<f64> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let guess = median(&gaps);
    if guess <= 0.0 {
        return None;
    }
    let places: Vec<f64> = ends.iter().map(|end| (end / guess).round()).collect();
    let n = ends.len() as f64;
    let (mean_x, mean_y) = (places.iter().sum::<f64>() / n, ends.iter().sum::<f64>() / n);
    let pairs = || places.iter().zip(&ends);
    let xy: f64 = pairs().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let xx: f64 = places.iter().map(|x| (x - mean_x).powi(2)).sum();
    if xx <= 0.0 {
        return None;
    }
    let period = xy / xx;
    let first = mean_y - period * mean_x;
    let rest: Vec<f64> = pairs().map(|(x, y)| y - first - period * x).collect();
    Some(Grid { period, first: first + begin as f64, spread: spread(&rest) })
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile_of_sorted(&sorted, 0.5).unwrap_or(0.0)
}

/// The median distance from the median.
fn spread(values: &[f64]) -> f64 {
    let middle = median(values);
    median(&values.iter().map(|value| (value - middle).abs()).collect::<Vec<_>>())
}

/// What ended a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// A timer.
    Timer,
    /// A task.
    Task,
    /// A device.
    Device,
    /// Something outside of the recording that is known to be outside.
    Outside,
    /// Unknown.
    Unexplained,
}

impl Cause {
    /// All, in the order in which reports list them.
    pub const ALL: [Cause; 5] = [Cause::Timer, Cause::Task, Cause::Device, Cause::Outside, Cause::Unexplained];

    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            Cause::Timer => "timers",
            Cause::Task => "tasks",
            Cause::Device => "devices",
            Cause::Outside => "outside",
            Cause::Unexplained => "unexplained",
        }
    }

    /// What ended a sleep of a task whose sleeps without a waker have this shape.
    pub fn of(slept: &Slept, shape: Shape) -> Cause {
        match (slept.waker, slept.source) {
            (Some(_), _) => Cause::Task,
            (None, WakeSource::Timer) => Cause::Timer,
            (None, WakeSource::Disk) => Cause::Device,
            (None, WakeSource::Network | WakeSource::Pipe | WakeSource::Semaphore) => Cause::Outside,
            (None, WakeSource::Unknown | WakeSource::Untold | WakeSource::Fork) if shape != Shape::Unknown => {
                Cause::Timer
            }
            (None, WakeSource::Unknown | WakeSource::Untold | WakeSource::Fork) => Cause::Unexplained,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeps<const N: usize>(begins: [f64; N], ends: [f64; N]) -> Vec<(u64, u64)> {
        let ns = |ms: f64| (ms * 1e6).round() as u64;
        begins.into_iter().zip(ends).map(|(begin, end)| (ns(begin), ns(end))).collect()
    }

    #[test]
    fn sleeps_that_end_on_a_grid_are_absolute() {
        let seen = sleeps([3.0, 13.4, 22.9, 33.1], [10.0, 20.0, 30.0, 40.0]);
        assert_eq!(shape(&seen), Shape::Absolute { period_ns: 10_000_000, phase_ns: 0 });
    }

    #[test]
    fn sleeps_of_one_length_are_relative() {
        let seen = sleeps([3.0, 15.1, 25.6, 39.0], [13.05, 25.16, 35.65, 49.06]);
        assert_eq!(shape(&seen), Shape::Relative { length_ns: 10_050_000 });
    }

    #[test]
    fn a_missed_period_does_not_move_the_grid() {
        let seen = sleeps([1.0, 14.0, 21.5, 44.0, 58.0], [10.0, 20.0, 30.0, 50.0, 60.0]);
        assert_eq!(shape(&seen), Shape::Absolute { period_ns: 10_000_000, phase_ns: 0 });
    }

    #[test]
    fn what_is_neither_is_not_known() {
        let begins = [0.0, 10.0, 30.0, 90.0, 111.0, 140.0, 171.0, 230.0];
        let seen = sleeps(begins, [3.0, 29.0, 35.0, 97.0, 131.0, 169.0, 173.0, 243.0]);
        assert_eq!(shape(&seen), Shape::Unknown);
        assert_eq!(shape(&seen[..2]), Shape::Unknown, "two are too few");
    }
}
