//! What multitasking costs, estimated from outside: by how long n equal tasks take on one CPU. G. Bucci, P. Nesi:
//! "Overhead Estimation and Comparison for Multitasking Operating Systems for Personal Computers".
//!
//! A task computes for T. n of them, run together, take Te(n) = n·T + Ov(n) (equation 1), and the part Q(n) = Ov(n)/Te(n)
//! of that is overhead (3). T is not known from outside; the estimates [`q`] and [`added`] take Te(1) for it, so they see
//! the overhead that sharing *adds*, and are [`error`] too small (6). Rates of computations done are the same thing turned
//! round: Te(n) = M·n/X(n) for M computations of each task and X(n) computations a second of all together.

use crate::statistics::{chi_squared, mean, sample_sd, student};

/// The true overhead Q(n) as a part of the elapsed time (equation 3); `work` is T of one task.
pub fn true_q(n: u32, work: f64, elapsed: f64) -> f64 {
    (elapsed - f64::from(n) * work) / elapsed
}

/// The estimate Q'(n), as a part of the elapsed time (equation 4).
pub fn q(n: u32, alone: f64, elapsed: f64) -> f64 {
    added(n, alone, elapsed) / elapsed
}

/// The estimate O'v(n), in the unit of the times (equation 5).
pub fn added(n: u32, alone: f64, elapsed: f64) -> f64 {
    elapsed - f64::from(n) * alone
}

/// How far Q'(n) is from Q(n) (equation 6): never above zero, and at most Q(1) where Q'(n) is not below zero.
pub fn error(true_q_alone: f64, q: f64) -> f64 {
    -true_q_alone * (1.0 - q)
}

/// The part of the time that switches take: `cost` after each `slice` of work.
pub fn switching(cost: f64, slice: f64) -> f64 {
    cost / (slice + cost)
}

/// How long n tasks take for M computations each, when each did `mean_count` in a section of length `section`.
pub fn normalised(computations: f64, section: f64, mean_count: f64) -> f64 {
    computations * section / mean_count
}

/// Repetitions to make for an interval of ± `half_width` around Q' (absolute) at a coefficient of variation of single
/// measurements, unpaired, at 95 %.
pub fn repetitions(cv: f64, half_width: f64) -> u32 {
    (2.0 * (1.96 * cv / half_width).powi(2)).ceil() as u32
}

/// An estimate with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Its standard error; none from a single measurement.
    pub standard_error: Option<f64>,
    /// Lower and upper end of the interval.
    pub interval: Option<(f64, f64)>,
}

impl Estimate {
    /// Whether the interval leaves zero out. One of no width does, as what repeats exactly is no matter of chance; without
    /// an interval nothing is known.
    pub fn differs_from_zero(&self) -> bool {
        self.interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0 || low == high)
    }
}

/// More blocks than this are no answer to how many would be enough.
pub const MOST_BLOCKS: u32 = 10_000;

/// How many blocks of the spread that `blocks` have shown would set the estimate apart from zero, if it is what it is now; none
/// where [`MOST_BLOCKS`] would not, or a single block shows no spread.
pub fn blocks_to_tell(estimate: &Estimate, blocks: u32, level: f64) -> Option<u32> {
    let spread = estimate.standard_error? * f64::from(blocks).sqrt();
    let is_enough = |blocks: u32| {
        let half = student::quantile(0.5 + level / 2.0, f64::from(blocks) - 1.0) * spread / f64::from(blocks).sqrt();
        half < estimate.value.abs()
    };
    // The more blocks, the narrower.
    let (mut least, mut most) = (2, MOST_BLOCKS);
    while least < most {
        let middle = least.midpoint(most);
        if is_enough(middle) { most = middle } else { least = middle + 1 }
    }
    is_enough(least).then_some(least)
}

/// The upper end of a variance's interval may be at most this many times the lower one: the deviation is then known to a factor of two.
pub const VARIANCE_WITHIN: f64 = 4.0;

/// How many blocks make the interval of a variance narrow enough ([`VARIANCE_WITHIN`]), whatever the variance is.
pub fn blocks_for_variance(level: f64) -> u32 {
    let is_enough = |blocks: &u32| {
        let end = |p: f64| chi_squared::quantile(p, f64::from(*blocks) - 1.0);
        end(0.5 + level / 2.0) <= VARIANCE_WITHIN * end(0.5 - level / 2.0)
    };
    (2..=MOST_BLOCKS).find(is_enough).unwrap_or(MOST_BLOCKS)
}

/// Q' from rates that were measured pairwise, in one block each: (X(1), X(n)). None without a pair.
pub fn q_paired(rates: &[(f64, f64)], level: f64) -> Option<Estimate> {
    let parts: Vec<f64> = rates.iter().map(|(alone, together)| 1.0 - together / alone).collect();
    over_blocks(&parts, level)
}

/// How far other programs shift Q': what it is at rates of CPUs that they leave alone, less what it is. Under a fair scheduler a
/// program next to one task takes half of the CPU, and next to four a fifth, which looks like an overhead below zero. `taken` has the
/// part of the CPU time that others took next to one task and next to all, in each block. None without a block.
pub fn shift_by_others(rates: &[(f64, f64)], taken: &[(f64, f64)], level: f64) -> Option<Estimate> {
    let shift = |((alone, together), (of_one, of_all)): (&(f64, f64), &(f64, f64))| {
        let ratio = together / alone;
        ratio - ratio * (1.0 - of_one) / (1.0 - of_all)
    };
    over_blocks(&rates.iter().zip(taken).map(shift).collect::<Vec<_>>(), level)
}

/// Whether others explain an estimate as well as sharing does: they shift it, by more than half of its interval.
pub fn may_be_others(q: &Estimate, shift: &Estimate) -> bool {
    let half = q.interval.map_or(0.0, |(low, high)| (high - low) / 2.0);
    shift.differs_from_zero() && shift.value.abs() > half
}

/// The mean over blocks, with Student's interval. None of no blocks.
pub fn over_blocks(blocks: &[f64], level: f64) -> Option<Estimate> {
    let value = mean(blocks)?;
    let standard_error = sample_sd(blocks).map(|sd| sd / (blocks.len() as f64).sqrt());
    let half = |error: f64| student::quantile(0.5 + level / 2.0, blocks.len() as f64 - 1.0) * error;
    let interval = standard_error.map(|error| (value - half(error), value + half(error)));
    Some(Estimate { value, standard_error, interval })
}

/// Q' from rates X(1) and X(n) that have nothing to do with each other: the delta method, with Welch's degrees of freedom
/// of the two relative variances. None without a measurement of each.
pub fn q_unpaired(alone: &[f64], together: &[f64], level: f64) -> Option<Estimate> {
    let ratio = mean(together)? / mean(alone)?;
    let part = |rates: &[f64]| {
        let relative = sample_sd(rates)? / mean(rates)?;
        Some((relative * relative / rates.len() as f64, rates.len() as f64 - 1.0))
    };
    let value = 1.0 - ratio;
    let (Some((a, of_a)), Some((b, of_b))) = (part(alone), part(together)) else {
        return Some(Estimate { value, standard_error: None, interval: None });
    };
    let error = ratio * (a + b).sqrt();
    let degrees = (a + b).powi(2) / (a * a / of_a + b * b / of_b);
    let half = if error > 0.0 { student::quantile(0.5 + level / 2.0, degrees) * error } else { 0.0 };
    Some(Estimate { value, standard_error: Some(error), interval: Some((value - half, value + half)) })
}

/// The sample variance of overheads and its confidence interval, as of normal values. None of fewer than two.
pub fn variance(overheads: &[f64], level: f64) -> Option<Estimate> {
    let value = sample_sd(overheads)?.powi(2);
    let degrees = overheads.len() as f64 - 1.0;
    let end = |p: f64| degrees * value / chi_squared::quantile(p, degrees);
    let interval = (end(0.5 + level / 2.0), end(0.5 - level / 2.0));
    Some(Estimate { value, standard_error: None, interval: Some(interval) })
}

/// The slope through the origin of O'v(n) over n − 1 and the part of the variation that this line explains; none of fewer
/// than two points.
pub fn proportionality(overheads: &[(u32, f64)]) -> Option<(f64, f64)> {
    let points: Vec<(f64, f64)> = overheads.iter().map(|&(n, overhead)| (f64::from(n) - 1.0, overhead)).collect();
    let sum = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>();
    let middle = mean(&points.iter().map(|point| point.1).collect::<Vec<_>>())?;
    let squares = sum(&|(x, _)| x * x);
    let total = sum(&|(_, y)| (y - middle).powi(2));
    if points.len() < 2 || squares == 0.0 || total == 0.0 {
        return None;
    }
    let slope = sum(&|(x, y)| x * y) / squares;
    Some((slope, 1.0 - sum(&|(x, y)| (y - slope * x).powi(2)) / total))
}

/// What the elapsed times of two systems x and m say about their overhead, for one number of tasks. Where both premises hold
/// and a task's work is the same on both, x has the greater overhead in every sense: Q and Ov follow from (7a), Q' is (7b)
/// in other words, and O'v follows where Q' of x is not below zero. (That the estimate of x is also the better one does
/// not follow in general, though the paper says so: for that m's single task has to take as long as x's, or longer.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ordering {
    /// (7a): x takes longer with n tasks.
    pub slower: bool,
    /// (7b): x takes longer in relation to one task.
    pub relatively_slower: bool,
    /// Q' of x is the greater one.
    pub more_estimated: bool,
    /// O'v of x is the greater one, or Q' of x is below zero, where this does not follow.
    pub more_added: bool,
}

/// Orders two systems by the times that one task and n tasks took on each: (Te(1), Te(n)).
pub fn ordering(n: u32, x: (f64, f64), m: (f64, f64)) -> Ordering {
    let q_of_x = q(n, x.0, x.1);
    Ordering {
        slower: x.1 > m.1,
        relatively_slower: x.1 / x.0 > m.1 / m.0,
        more_estimated: q_of_x > q(n, m.0, m.1),
        more_added: q_of_x < 0.0 || added(n, x.0, x.1) > added(n, m.0, m.1),
    }
}

impl Ordering {
    /// Whether the theorem speaks about the two.
    pub fn applies(&self) -> bool {
        self.slower && self.relatively_slower
    }

    /// Whether what it concludes is what the numbers show.
    pub fn concludes(&self) -> bool {
        self.more_estimated && self.more_added
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, expected: f64) {
        assert!((got - expected).abs() < 6e-6 * expected.abs().max(1e-9), "{got} for {expected}");
    }

    #[test]
    fn estimates_and_their_error() {
        for (work, alone, two, q1, q2, estimate, overhead, added_two, off) in [
            (10.0, 10.1, 20.4, 0.00990099, 0.0196078, 0.00980392, 0.4, 0.2, -0.00980392),
            (10.0, 10.05, 20.6, 0.00497512, 0.0291262, 0.0242718, 0.6, 0.5, -0.00485437),
        ] {
            close(true_q(1, work, alone), q1);
            close(true_q(2, work, two), q2);
            close(q(2, alone, two), estimate);
            close(true_q(2, work, two) * two, overhead);
            close(added(2, alone, two), added_two);
            close(error(q1, q(2, alone, two)), off);
            close(q(2, alone, two) - true_q(2, work, two), off);
        }
        assert_eq!((q(1, 10.1, 10.1), added(1, 10.1, 10.1)), (0.0, 0.0));
    }

    #[test]
    fn the_ordering_and_where_it_does_not_follow() {
        let off = |(alone, two): (f64, f64)| error(true_q(1, 10.0, alone), q(2, alone, two)).abs();
        let (m, x) = ((10.1, 20.4), (10.05, 20.6));
        let order = ordering(2, x, m);
        assert!(order.applies() && order.concludes());
        assert!(true_q(2, 10.0, x.1) > true_q(2, 10.0, m.1) && off(m) > off(x));
        assert!(!ordering(2, m, x).applies());
        // The premises hold, and yet the estimate of m is the better one.
        let (m, x) = ((10.001, 20.1), (11.0, 22.5));
        let order = ordering(2, x, m);
        assert!(order.applies() && order.concludes());
        close(q(2, m.0, m.1), 0.00487562);
        close(q(2, x.0, x.1), 0.0222222);
        close(off(m), 9.95025e-5);
        close(off(x), 0.0888889);
        close(true_q(1, 10.0, x.0) * (1.0 - q(2, x.0, x.1)), 0.0888889);
        // Below zero the fourth conclusion does not follow.
        let (m, x) = ((20.0, 39.0), (40.0, 78.5));
        let order = ordering(2, x, m);
        assert!(order.applies() && order.concludes() && added(2, x.0, x.1) < added(2, m.0, m.1));
        close(q(2, m.0, m.1), -0.0256410);
        close(q(2, x.0, x.1), -0.0191083);
        close(added(2, x.0, x.1), -1.5);
        let order = ordering(2, (20.0, 39.0), (20.0, 41.0));
        assert!(!order.applies() && !order.concludes());
    }

    #[test]
    fn times_are_normalised() {
        close(normalised(52_000.0, 30.0, 78_000.0), 20.0);
        let counts = [19_380.0, 19_402.0, 19_391.0, 19_375.0];
        let four = normalised(52_000.0, 30.0, mean(&counts).unwrap());
        close(four, 80.4663);
        assert!((added(4, 20.0, four) - 0.466292).abs() < 1e-6);
        close(q(4, 20.0, four), 0.00579487);
        let rates = [(78_000.0 / 30.0, counts.iter().sum::<f64>() / 30.0)];
        close(q_paired(&rates, 0.95).unwrap().value, 0.00579487);
        close(switching(2e-6, 2.8e-3), 7.13776e-4);
        close(switching(2e-6, 3e-3), 6.66223e-4);
        close(switching(2e-6, 4e-3), 4.99750e-4);
    }

    #[test]
    fn intervals_of_rates() {
        let alone = [2600.4, 2599.1, 2601.2, 2600.0, 2598.8, 2600.9, 2599.5, 2600.1];
        let four = [2585.2, 2583.9, 2586.4, 2584.4, 2584.0, 2585.8, 2583.1, 2584.8];
        let free = q_unpaired(&alone, &four, 0.95).unwrap();
        close(free.value, 0.00588462);
        close(free.standard_error.unwrap(), 1.85328e-4);
        close(free.interval.unwrap().0, 0.00548474);
        close(free.interval.unwrap().1, 0.00628449);
        let pairs: Vec<(f64, f64)> = alone.into_iter().zip(four).collect();
        let paired = q_paired(&pairs, 0.95).unwrap();
        close(paired.value, 0.00588463);
        close(paired.standard_error.unwrap(), 7.02572e-5);
        close(paired.interval.unwrap().0, 0.00571850);
        close(paired.interval.unwrap().1, 0.00605076);
        assert_eq!([(0.001, 0.001), (0.001, 0.0002), (0.0005, 0.0002)].map(|(cv, d)| repetitions(cv, d)), [8, 193, 49]);
        assert_eq!((q_paired(&[], 0.95), q_paired(&pairs[..1], 0.95).unwrap().interval), (None, None));
    }

    #[test]
    fn what_would_be_enough() {
        let of = |ratios: [f64; 4]| q_paired(&ratios.map(|ratio| (1.0, ratio)), 0.95).unwrap();
        let (told, not) = (of([0.98, 0.981, 0.979, 0.98]), of([0.98, 1.01, 0.97, 1.02]));
        assert!(told.differs_from_zero() && !not.differs_from_zero());
        assert!(of([0.9; 4]).differs_from_zero() && !q_paired(&[(1.0, 0.9)], 0.95).unwrap().differs_from_zero());
        // Q' 0.005 with a deviation of 0.0238: t of 88 degrees is 1.987, and 0.0238 * 1.987 / sqrt(90) is just below 0.005.
        assert_eq!(blocks_to_tell(&not, 4, 0.95), Some(90));
        assert!(blocks_to_tell(&told, 4, 0.95).unwrap() <= 4);
        assert_eq!(blocks_to_tell(&of([0.9, 1.1, 0.9, 1.1]), 4, 0.95), None, "of nothing there is nothing to tell");
        // Quantiles of chi squared with 17 degrees: 7.564 and 30.191; with 16: 6.908 and 28.845.
        assert_eq!(blocks_for_variance(0.95), 18);
    }

    /// A hog next to the tasks takes a half from one task and a fifth from four, so four together are 1.6 times as fast.
    #[test]
    fn others_look_like_an_overhead_below_zero() {
        let rates = [(0.50, 0.80), (0.51, 0.80), (0.49, 0.80)];
        let hog = [(0.50, 0.20), (0.49, 0.20), (0.51, 0.20)];
        let (q, shift) = (q_paired(&rates, 0.95).unwrap(), shift_by_others(&rates, &hog, 0.95).unwrap());
        assert!((q.value + 0.6).abs() < 0.01 && q.differs_from_zero(), "{q:?}");
        assert!((shift.value - 0.6).abs() < 0.01 && may_be_others(&q, &shift), "{shift:?}");
        // As much next to one task as next to all shifts nothing, and a little less than the interval explains nothing.
        let shifts = |taken: [(f64, f64); 3]| shift_by_others(&rates, &taken, 0.95).unwrap();
        assert!(!may_be_others(&q, &shifts([(0.3, 0.3); 3])));
        assert!(!may_be_others(&q, &shifts([(0.02, 0.0), (0.021, 0.0), (0.019, 0.0)])), "{q:?}");
        assert!(!may_be_others(&q, &shifts([(0.0, 0.0); 3])));
        assert!(
            shift_by_others(&rates[..1], &hog[..1], 0.95).is_some_and(|one| !may_be_others(&q, &one)),
            "no interval"
        );
    }

    #[test]
    fn the_variance_has_an_interval() {
        let got = variance(&[0.41, 0.45, 0.39, 0.43, 0.47], 0.95).unwrap();
        close(got.value, 0.001);
        close(got.interval.unwrap().0, 3.58961e-4);
        close(got.interval.unwrap().1, 8.25732e-3);
    }

    #[test]
    fn overhead_in_proportion_to_the_tasks() {
        let (slope, explained) = proportionality(&[(1, 0.0), (2, 0.5), (4, 1.5), (8, 3.5)]).unwrap();
        close(slope, 0.5);
        close(explained, 1.0);
        let (_, explained) = proportionality(&[(1, 0.0), (2, 1.0), (3, 4.0), (4, 9.0)]).unwrap();
        assert!(explained < 0.95, "{explained}");
        assert_eq!(proportionality(&[(1, 0.0)]), None);
    }
}
