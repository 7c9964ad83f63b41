//! Counts over lengths of time from nothing to for ever.

use schedlab_model::time::Time;

/// Counts in buckets that grow as 1, 2, 5, 10, 20, 50 … ns, so that each power of ten has three; and one for no time at
/// all, which is common in simulations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buckets {
    counts: Vec<u64>,
}

/// One bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Its least value.
    pub from: Time,
    /// Its count.
    pub count: u64,
}

/// The lower ends of the buckets of a power of ten.
const STEPS: [u64; 3] = [1, 2, 5];

fn place(value: u64) -> usize {
    let Some(power) = value.checked_ilog10() else { return 0 };
    let lead = value / 10u64.pow(power);
    1 + 3 * power as usize + STEPS.iter().filter(|&&step| step <= lead).count() - 1
}

fn lower_end(place: usize) -> Time {
    match place.checked_sub(1) {
        None => Time::ZERO,
        Some(place) => Time(STEPS[place % 3].saturating_mul(10u64.saturating_pow(place as u32 / 3))),
    }
}

impl Buckets {
    /// Counts one more.
    pub fn record(&mut self, value: Time) {
        let place = place(value.ns());
        if place >= self.counts.len() {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += 1;
    }

    /// The buckets from the first to the last that has anything.
    pub fn used(&self) -> impl Iterator<Item = Bucket> + '_ {
        let buckets = self.counts.iter().enumerate();
        buckets.map(|(place, &count)| Bucket { from: lower_end(place), count }).skip_while(|bucket| bucket.count == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_power_of_ten_has_three() {
        let mut buckets = Buckets::default();
        for ns in [0, 1, 2, 4, 5, 9, 10, 19, 20, 49, 50, 99, 100, u64::MAX] {
            buckets.record(Time(ns));
        }
        let used: Vec<_> = buckets.used().map(|bucket| (bucket.from.ns(), bucket.count)).collect();
        assert_eq!(&used[..8], [(0, 1), (1, 1), (2, 2), (5, 2), (10, 2), (20, 2), (50, 2), (100, 1)]);
        assert_eq!(used.last(), Some(&(10_000_000_000_000_000_000, 1)));
        let mut late = Buckets::default();
        late.record(Time(1_500_000));
        late.record(Time(6_000_000));
        let used: Vec<_> = late.used().map(|bucket| (bucket.from.to_string(), bucket.count)).collect();
        assert_eq!(used, [("1ms".into(), 1), ("2ms".into(), 0), ("5ms".into(), 1)]);
    }
}
