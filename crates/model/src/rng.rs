//! Random numbers that are the same on every machine.
//!
//! One seed enters a run; every user of randomness takes a stream of its own, split off by name, so that adding one
//! user changes no other.

/// A xoshiro256++ generator (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021).
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

/// One step of SplitMix64 (Steele, Lea, Flood 2014), which spreads a seed over the state.
fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    /// The stream `name` of `seed`.
    pub fn split(seed: u64, name: &str) -> Rng {
        // FNV-1a over the name keeps streams apart; SplitMix64 then fills the state from both.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, |h: u64, b| (h ^ b as u64).wrapping_mul(0x100_0000_01b3));
        Rng::from_seed(seed ^ splitmix64(&mut { hash }))
    }

    /// The stream number `index` below this one, without moving this one.
    pub fn child(&self, index: u64) -> Rng {
        Rng::from_seed(self.state[0] ^ self.state[2].rotate_left(17) ^ splitmix64(&mut { index }))
    }

    fn from_seed(mut seed: u64) -> Rng {
        Rng { state: std::array::from_fn(|_| splitmix64(&mut seed)) }
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number in the open interval (0, 1), a multiple of 2^-53 moved off both ends.
    pub fn unit(&mut self) -> f64 {
        ((self.next_u64() >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
    }

    /// A number in `0..bound`, without bias (Lemire 2019); `bound` must not be zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "an empty range has no member");
        let threshold = bound.wrapping_neg() % bound;
        loop {
            let wide = self.next_u64() as u128 * bound as u128;
            if wide as u64 >= threshold {
                return (wide >> 64) as u64;
            }
        }
    }

    /// The numbers from 0 to before `count`, in a random order (Fisher and Yates).
    pub fn shuffled(&mut self, count: usize) -> Vec<usize> {
        let mut numbers: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            numbers.swap(last, self.below(last as u64 + 1) as usize);
        }
        numbers
    }

    /// Places from 0 to before 1 that cover it evenly: one in each of `count` equal parts (McKay, Beckman and Conover 1979).
    pub fn evenly(&mut self, count: usize) -> Vec<f64> {
        let parts = self.shuffled(count);
        parts.into_iter().map(|part| (part as f64 + self.unit()) / count as f64).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First output of the reference implementation for the state {1, 2, 3, 4}.
    #[test]
    fn known_answer() {
        let mut rng = Rng { state: [1, 2, 3, 4] };
        assert_eq!([rng.next_u64(), rng.next_u64(), rng.next_u64()], [41943041, 58720359, 3588806011781223]);
    }

    #[test]
    fn streams_differ_by_name_seed_and_child() {
        let first = |mut r: Rng| r.next_u64();
        let a = Rng::split(1, "a");
        let all = [
            first(a.clone()),
            first(Rng::split(1, "b")),
            first(Rng::split(2, "a")),
            first(a.child(0)),
            first(a.child(1)),
        ];
        for (i, x) in all.iter().enumerate() {
            assert!(!all[..i].contains(x), "{all:?}");
        }
    }

    #[test]
    fn below_stays_below() {
        let mut rng = Rng::split(7, "below");
        let mut seen = [0u32; 3];
        (0..3000).for_each(|_| seen[rng.below(3) as usize] += 1);
        assert!(seen.iter().all(|&n| (900..1100).contains(&n)), "{seen:?}");
    }
}
