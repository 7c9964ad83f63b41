//! What a family draws: whole numbers, choices, times and how they are distributed. All in integers, so that a seed gives
//! the same scenario on every machine.

use super::size::{neat, scaled};
use schedlab_model::distribution::Distribution;
use schedlab_model::rng::Rng;
use schedlab_model::time::Time;

/// The twelve steps of a decade, each about 1.2 times the last.
const STEPS: [u64; 12] = [10, 12, 15, 18, 22, 27, 33, 39, 47, 56, 68, 82];

/// The shapes of a lognormal time: the standard deviation of the logarithm, and the mean in thousandths of the median.
const LOGNORMALS: [(f64, u64); 3] = [(0.3, 1046), (0.5, 1133), (0.8, 1377)];

/// The random numbers of one scenario.
pub(super) struct Dice(Rng);

impl Dice {
    /// Those of a family's seed.
    pub fn new(seed: u64, family: &str) -> Dice {
        Dice(Rng::split(seed, family))
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.0.below(u64::from(high - low) + 1) as u32
    }

    /// True in this percentage of cases.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.0.below(100) < u64::from(percent)
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.0.below(from.len() as u64) as usize]
    }

    /// A time from `low` to `high`, short ones as often as long ones: one of the steps, and a bit more. Where no step lies
    /// between the two it is `high`.
    pub fn length(&mut self, low: Time, high: Time) -> Time {
        let decades = (0..6).map(|exponent| 10_u64.pow(exponent));
        let all = decades.flat_map(|decade| STEPS.map(|step| Time::from_us(step * decade)));
        let fitting: Vec<Time> = all.filter(|time| (low..=high).contains(time)).collect();
        if fitting.is_empty() {
            return neat(high);
        }
        let step = self.pick(&fitting);
        neat(scaled(step, u64::from(self.between(100, 119)), 100).min(high))
    }

    /// Random times with this mean.
    pub fn around(&mut self, mean: Time) -> Distribution {
        let mean = neat(mean);
        match self.between(0, 9) {
            0..=2 => Distribution::Uniform(neat(scaled(mean, 1, 2)), neat(scaled(mean, 3, 2))),
            3 => Distribution::Uniform(neat(scaled(mean, 1, 4)), neat(scaled(mean, 7, 4))),
            4..=6 => Distribution::Exponential(mean),
            _ => {
                let (sigma, mean_of_median) = self.pick(&LOGNORMALS);
                Distribution::Lognormal(neat(scaled(mean, 1000, mean_of_median)), sigma)
            }
        }
    }

    /// Times with this mean, now and then always the same. For what is next to something random: with nothing but
    /// constants a median jumps from one value to the next.
    pub fn near(&mut self, mean: Time) -> Distribution {
        if self.chance(20) { Distribution::Constant(neat(mean)) } else { self.around(mean) }
    }
}
