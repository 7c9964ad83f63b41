//! Values on their way into a histogram.

use crate::histogram::{Histogram, LOT};

/// A histogram that takes its values in lots.
///
/// Each task has its own histograms, too many for the near caches, and a value met three or four lines of memory that
/// were far away, one after the other. Put down here it meets one, and a lot meets its lines all at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    lot: [u64; LOT],
    waiting: usize,
    /// Zeros so far that are not in the histogram yet: many values are, and a count is cheap.
    zeros: u64,
    histogram: Histogram,
}

impl Samples {
    /// Takes one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        if value == 0 {
            self.zeros += 1;
            return;
        }
        self.lot[self.waiting % LOT] = value;
        self.waiting += 1;
        if self.waiting == LOT {
            self.settle();
        }
    }

    #[inline(never)]
    fn settle(&mut self) {
        self.histogram.record_all(&self.lot[..self.waiting]);
        self.histogram.record_zeros(std::mem::take(&mut self.zeros));
        self.waiting = 0;
    }

    /// The histogram of all values.
    pub fn histogram(&mut self) -> &Histogram {
        self.settle();
        &self.histogram
    }

    /// Takes all values of another.
    pub fn merge(&mut self, other: &mut Samples) {
        self.histogram.merge(other.histogram());
    }

    /// Forgets all values; keeps the memory.
    pub fn clear(&mut self) {
        (self.waiting, self.zeros) = (0, 0);
        self.histogram.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever is left of a lot is in the histogram that is asked for, and nothing twice.
    #[test]
    fn values_come_in_lots_and_are_all_there() {
        let mut samples = Samples::default();
        for n in 1..=100u64 {
            samples.record(n);
            if n % 7 == 0 || n > 90 {
                assert_eq!((samples.histogram().count(), samples.histogram().max()), (n, Some(n)));
            }
        }
        let mut twice = samples.clone();
        twice.record(1000);
        twice.merge(&mut samples);
        assert_eq!((twice.histogram().count(), twice.histogram().sum()), (201, 2 * 5050 + 1000));
        samples.record(5);
        samples.clear();
        assert_eq!(samples.histogram().count(), 0);
    }
}
