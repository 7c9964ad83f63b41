//! Histograms that merge, with exact moments next to them.
//!
//! A value below 256 has a bucket of its own; above, every power of two is divided into 256 buckets of equal width, as
//! in Tene's HdrHistogram (<http://hdrhistogram.org>). A bucket keeps how many values it got *and* how far above its
//! lower edge they lay in all, so that a quantile is the mean of its bucket: exact where all values of the bucket are
//! equal (which is common: slices, demands), and never further from the true one than the bucket is wide.

/// Buckets to a power of two, as an exponent.
const SUB_BITS: u32 = 8;
const SUB: usize = 1 << SUB_BITS;
/// Values below `SUB` are one row, then one row for each further power of two.
const ROWS: usize = 64 - SUB_BITS as usize + 1;
/// The number of a row that is not there: with it a bucket is behind all buckets. Equal bytes fill an array fastest.
const NO_ROW: u32 = 0x8080_8080;
/// Places for rows: a power of two, so that no place need be checked.
const ROW_PLACES: usize = ROWS.next_power_of_two();

/// That many values are best recorded together: four cache lines.
pub(crate) const LOT: usize = 32;

/// No quantile is off by more than this share of the true value.
pub const RELATIVE_ERROR: f64 = 1.0 / SUB as f64;

#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
struct Bucket {
    count: u64,
    /// Sum of the distances of the values from the lower edge.
    above: u64,
}

impl Bucket {
    #[inline]
    fn record(&mut self, place: Place) {
        self.count += 1;
        // Saturated, the mean of a bucket is too low, but still in the bucket.
        self.above = self.above.saturating_add(place.above);
    }
}

/// Counts of unsigned integers (nanoseconds), with exact count, sum, minimum, maximum and sum of squares.
///
/// Takes memory (4 KiB) only for the powers of two that occur.
#[derive(Clone, Debug)]
pub struct Histogram {
    count: u64,
    min: u64,
    max: u64,
    sum: u128,
    /// Modulo 2^128, see [`Histogram::sum_of_squared_deviations`].
    sum_of_squares: u128,
    /// For each row what makes the index of a bucket of a value's quotient, see [`position`]; wraps.
    rows: [u32; ROW_PLACES],
    buckets: Vec<Bucket>,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram {
            count: 0,
            min: u64::MAX,
            max: 0,
            sum: 0,
            sum_of_squares: 0,
            rows: [NO_ROW; ROW_PLACES],
            buckets: Vec::new(),
        }
    }
}

/// The width of the bucket of a value, as an exponent. Rows 0 and 1 both have buckets of width one; row r > 1 has
/// width 2^(r - 1).
#[inline]
fn width_bits(value: u64) -> u32 {
    63 - (value | SUB as u64).leading_zeros() - SUB_BITS
}

/// Where a value goes: a bucket, and how far above its lower edge.
#[derive(Clone, Copy, Default)]
struct Place {
    bucket: u32,
    above: u64,
}

/// The row of a value with a bucket of this width, and its quotient by that width: its place in the row, in all rows
/// but the first behind [`SUB`].
#[inline]
fn position(value: u64, bits: u32) -> (usize, u32) {
    let quotient = (value >> bits) as u32;
    // From 256 on the highest bit of the quotient is the 1 by which the row is above the exponent.
    ((bits + (quotient >> SUB_BITS)) as usize, quotient)
}

/// The first quotient of a row.
fn first_quotient(row: usize) -> u32 {
    if row == 0 { 0 } else { SUB as u32 }
}

/// Asks for a bucket, which may be far away, before it is needed.
#[inline(always)]
fn prefetch(bucket: *const Bucket) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint; nothing happens where no memory is.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(bucket.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bucket;
}

/// The smallest value of a bucket.
fn lower_edge(row: usize, place: usize) -> u64 {
    match row {
        0 => place as u64,
        _ => ((SUB + place) as u64) << (row - 1),
    }
}

impl FromIterator<u64> for Histogram {
    fn from_iter<T: IntoIterator<Item = u64>>(values: T) -> Histogram {
        let mut histogram = Histogram::default();
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }
}

impl Histogram {
    /// Takes one value.
    pub fn record(&mut self, value: u64) {
        self.note_moments(&[value]);
        self.record_at(self.place(value), value);
    }

    /// Takes several values.
    pub fn record_all(&mut self, values: &[u64]) {
        let (lots, rest) = values.as_chunks();
        lots.iter().for_each(|lot| self.record_lot(lot));
        rest.iter().for_each(|&value| self.record(value));
    }

    /// Records `count` zeros.
    pub fn record_zeros(&mut self, count: u64) {
        if count == 0 {
            return;
        }
        if self.rows[0] == NO_ROW {
            self.add_row(0);
        }
        let bucket = self.place(0).bucket as usize;
        self.buckets[bucket].count += count;
        self.count += count;
        self.min = 0;
    }

    /// Buckets are looked for first, so that they come from memory together and while the moments are computed.
    fn record_lot(&mut self, values: &[u64; LOT]) {
        let (mut buckets, mut aboves) = ([0; LOT], [0; LOT]);
        for ((bucket, above), &value) in buckets.iter_mut().zip(&mut aboves).zip(values) {
            let place = self.place(value);
            (*bucket, *above) = (place.bucket, place.above);
            prefetch(self.buckets.as_ptr().wrapping_add(place.bucket as usize));
        }
        self.note_moments(values);
        for ((&bucket, &above), &value) in buckets.iter().zip(&aboves).zip(values) {
            self.record_at(Place { bucket, above }, value);
        }
    }

    #[inline(always)]
    fn note_moments(&mut self, values: &[u64]) {
        self.count += values.len() as u64;
        for &value in values {
            self.min = self.min.min(value);
            self.max = self.max.max(value);
            self.sum += value as u128;
            self.sum_of_squares = self.sum_of_squares.wrapping_add(value as u128 * value as u128);
        }
    }

    #[inline(always)]
    fn record_at(&mut self, place: Place, value: u64) {
        match self.buckets.get_mut(place.bucket as usize) {
            Some(bucket) => bucket.record(place),
            None => self.record_in_new_row(value),
        }
    }

    /// Where a value goes. The bucket of a row that is not there is behind all buckets.
    #[inline]
    fn place(&self, value: u64) -> Place {
        let bits = width_bits(value);
        let (row, quotient) = position(value, bits);
        let bucket = self.rows[row % ROW_PLACES].wrapping_add(quotient);
        Place { bucket, above: value - (value >> bits << bits) }
    }

    /// The index of a row's first bucket, if the row is there.
    fn start_of(&self, row: usize) -> Option<usize> {
        let to_bucket = Some(self.rows[row]).filter(|&to_bucket| to_bucket != NO_ROW);
        to_bucket.map(|to_bucket| to_bucket.wrapping_add(first_quotient(row)) as usize)
    }

    /// The row may have been made since the value's bucket was looked for.
    #[cold]
    fn record_in_new_row(&mut self, value: u64) {
        let (row, _) = position(value, width_bits(value));
        if self.rows[row] == NO_ROW {
            self.add_row(row);
        }
        let place = self.place(value);
        self.buckets[place.bucket as usize].record(place);
    }

    /// Makes a row and gives the index of its first bucket.
    #[cold]
    fn add_row(&mut self, row: usize) -> usize {
        let start = self.buckets.len();
        self.rows[row] = (start as u32).wrapping_sub(first_quotient(row));
        self.buckets.resize(start + SUB, Bucket::default());
        start
    }

    /// Takes all values of another.
    pub fn merge(&mut self, other: &Histogram) {
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.sum_of_squares = self.sum_of_squares.wrapping_add(other.sum_of_squares);
        for (row, from) in (0..ROWS).filter_map(|row| Some((row, other.start_of(row)?))) {
            let to = self.start_of(row).unwrap_or_else(|| self.add_row(row));
            for (mine, theirs) in self.buckets[to..to + SUB].iter_mut().zip(&other.buckets[from..from + SUB]) {
                mine.count += theirs.count;
                mine.above = mine.above.saturating_add(theirs.above);
            }
        }
    }

    /// Forgets all values; keeps the memory.
    pub fn clear(&mut self) {
        let mut buckets = std::mem::take(&mut self.buckets);
        buckets.clear();
        *self = Histogram { buckets, ..Histogram::default() };
    }

    /// How many values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of all values.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The smallest value.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest value.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The arithmetic mean, of exact sums.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The standard deviation of the values as a sample (divided by n − 1), of exact sums; none of fewer than two.
    pub fn sd(&self) -> Option<f64> {
        (self.count > 1).then(|| (self.sum_of_squared_deviations() / (self.count - 1) as f64).sqrt())
    }

    /// Σ(x − x̄)². With m = ⌊Σx/n⌋ it is Σ(x − m)² − (Σx − n·m)²/n, whose first term is an integer. All integers are
    /// taken modulo 2^128, so the result is right as long as Σ(x − m)² itself is smaller than that: 10^14 values that
    /// lie half an hour from their mean.
    fn sum_of_squared_deviations(&self) -> f64 {
        let n = self.count as u128;
        let m = self.sum / n;
        let about_m = self
            .sum_of_squares
            .wrapping_sub(2u128.wrapping_mul(m).wrapping_mul(self.sum))
            .wrapping_add(n.wrapping_mul(m).wrapping_mul(m));
        let rest = (self.sum - n * m) as f64;
        (about_m as f64 - rest * rest / n as f64).max(0.0)
    }

    /// The quantile `q` in (0, 1] by the nearest rank: the smallest value that has at least ⌈q·n⌉ values at or below
    /// it (Hyndman and Fan 1996, definition 1). At most [`RELATIVE_ERROR`] off.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        // A product such as 0.999 × 1000 must not be pushed over the next integer by its rounding error.
        let rank = ((q * self.count as f64 * (1.0 - 4.0 * f64::EPSILON)).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for (row, start) in (0..ROWS).filter_map(|row| Some((row, self.start_of(row)?))) {
            for (place, bucket) in self.buckets[start..start + SUB].iter().enumerate() {
                seen += bucket.count;
                if bucket.count > 0 && seen >= rank {
                    let value = lower_edge(row, place) + bucket.above / bucket.count;
                    return Some(value.clamp(self.min, self.max));
                }
            }
        }
        None
    }

    /// Values that grow, each the mean of its bucket, with the fraction of all that lies in its bucket or below.
    pub fn cumulative(&self) -> Vec<(u64, f64)> {
        let mut points = Vec::new();
        let mut seen = 0;
        for (row, start) in (0..ROWS).filter_map(|row| Some((row, self.start_of(row)?))) {
            for (place, bucket) in self.buckets[start..start + SUB].iter().enumerate().filter(|(_, b)| b.count > 0) {
                seen += bucket.count;
                let value = lower_edge(row, place) + bucket.above / bucket.count;
                points.push((value.clamp(self.min, self.max), seen as f64 / self.count as f64));
            }
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Histogram {
        let mut h = Histogram::default();
        values.iter().for_each(|&v| h.record(v));
        h
    }

    #[test]
    fn known_answers() {
        let h = of(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!((h.mean(), h.sd()), (Some(5.0), Some((32.0f64 / 7.0).sqrt())));
        assert_eq!((h.min(), h.max(), h.count()), (Some(2), Some(9), 8));
        assert_eq!([0.001, 0.5, 0.625, 0.75, 0.99].map(|q| h.quantile(q).unwrap()), [2, 4, 5, 5, 9]);
        assert_eq!(Histogram::default().quantile(0.5), None);
        assert_eq!((Histogram::default().mean(), of(&[3]).sd()), (None, None));
    }

    /// Lots and what is left of one, rows that a lot itself brings in, and rows that were there before it.
    #[test]
    fn values_recorded_together_are_those_recorded_one_by_one() {
        let values: Vec<u64> = (0..5 * LOT as u64 + 7).map(|n| n * n * n * 977 % (1 << (n % 50))).collect();
        let mut together = of(&values[..3]);
        together.record_all(&values[3..]);
        let one_by_one = of(&values);
        assert_eq!(
            (together.count(), together.sum(), together.sd()),
            (one_by_one.count(), one_by_one.sum(), one_by_one.sd())
        );
        assert_eq!(together.cumulative(), one_by_one.cumulative());
    }

    /// The three response times of the heavy load: atoms come back to the nanosecond.
    #[test]
    fn atoms_are_exact() {
        let h = of(&[650_000_001, 850_000_002, 850_000_002, 1_150_000_003]);
        assert_eq!(
            [0.25, 0.5, 0.75, 1.0].map(|q| h.quantile(q).unwrap()),
            [650_000_001, 850_000_002, 850_000_002, 1_150_000_003]
        );
    }

    #[test]
    fn percentile_of_a_thousand_is_the_rank() {
        let h = of(&(1..=1000).collect::<Vec<_>>());
        let rank = h.quantile(0.999).unwrap();
        assert!(rank.abs_diff(999) <= 4, "{rank}");
        let h = of(&(0..200).collect::<Vec<_>>());
        assert_eq!([0.5, 0.9, 0.99, 0.995].map(|q| h.quantile(q).unwrap()), [99, 179, 197, 198]);
    }

    #[test]
    fn the_deviation_of_large_values_is_exact() {
        let base = 1 << 60;
        let h = of(&[base + 1, base + 2, base + 3]);
        assert_eq!(h.sd(), Some(1.0));
    }

    #[test]
    fn every_row_joins_the_next() {
        for row in 0..ROWS {
            for place in [0, 1, SUB - 1] {
                let edge = lower_edge(row, place);
                assert_eq!(position(edge, width_bits(edge)), (row, first_quotient(row) + place as u32));
            }
        }
        assert_eq!(position(u64::MAX, width_bits(u64::MAX)), (ROWS - 1, 2 * SUB as u32 - 1));
    }

    #[test]
    fn cleared_is_empty() {
        let mut h = of(&[1, 1000, 1 << 40]);
        h.clear();
        h.record(7);
        assert_eq!((h.quantile(0.5), h.count(), h.sum()), (Some(7), 1, 7));
    }

    proptest! {
        /// Against the sorted values: quantiles within the stated error.
        #[test]
        fn quantiles_keep_the_stated_error(values in prop::collection::vec(0u64..1 << 50, 1..300), q in 0.001f64..1.0) {
            let h = of(&values);
            let mut sorted = values;
            sorted.sort_unstable();
            let rank = ((q * sorted.len() as f64).ceil() as usize).max(1);
            let exact = sorted[rank - 1] as f64;
            let got = h.quantile(q).unwrap() as f64;
            prop_assert!((got - exact).abs() <= exact * RELATIVE_ERROR, "{} for {}", got, exact);
        }

        /// Merging two is the same as recording all in one.
        #[test]
        fn merge_is_union(a in prop::collection::vec(any::<u32>(), 0..50), b in prop::collection::vec(any::<u32>(), 0..50)) {
            let wide = |v: &[u32]| v.iter().map(|&x| x as u64 * 1000).collect::<Vec<_>>();
            let mut merged = of(&wide(&a));
            merged.merge(&of(&wide(&b)));
            let whole = of(&wide(&[a, b].concat()));
            prop_assert_eq!(merged.sd(), whole.sd());
            prop_assert_eq!((merged.min(), merged.max(), merged.sum()), (whole.min(), whole.max(), whole.sum()));
            for q in [0.1, 0.5, 0.9, 0.99] {
                prop_assert_eq!(merged.quantile(q), whole.quantile(q));
            }
        }
    }
}
