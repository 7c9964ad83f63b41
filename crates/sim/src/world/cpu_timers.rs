//! When something ends on each CPU.

use crate::per_cpu::PerCpu;

/// For every CPU the instant at which something ends there; the earliest, by number among equals, is always known.
///
/// A tournament tree: a change costs one comparison per level, nothing is ever stale, and the whole tree of 4096 CPUs
/// stays in the first two caches.
pub struct CpuTimers {
    /// The pairings: the winner of `pairs[n]` is `pairs[n / 2][n % 2]`, so the winner of all is in `pairs[0][1]`. CPU c
    /// is number `cpus + c` among all contestants.
    pairs: PerCpu<[End; 2]>,
    cpus: u32,
}

/// When something ends on a CPU.
#[derive(Clone, Copy)]
struct End {
    at_ns: u64,
    cpu: u32,
}

impl End {
    /// The earlier of two, of which `side` says which place of their pair this one has: the first, of lower numbers, wins
    /// a tie. Of two that never come it does not matter. Which one it is can't be foreseen.
    #[inline(always)]
    fn or(self, side: u32, other: End) -> End {
        let is_earlier = other.at_ns < self.at_ns.saturating_add(u64::from(side));
        End {
            at_ns: std::hint::select_unpredictable(is_earlier, other.at_ns, self.at_ns),
            cpu: std::hint::select_unpredictable(is_earlier, other.cpu, self.cpu),
        }
    }
}

impl CpuTimers {
    /// A tree in which no CPU waits for anything.
    pub fn new(cpus: u32) -> CpuTimers {
        let cpus = cpus.next_power_of_two();
        let never = |number: u32| End { at_ns: u64::MAX, cpu: number.saturating_sub(cpus) };
        let mut pairs = PerCpu::new(cpus, |pair| [never(2 * pair), never(2 * pair + 1)]);
        for pair in (1..cpus).rev() {
            let [one, other] = pairs[pair];
            pairs[pair / 2][pair as usize % 2] = one.or(0, other);
        }
        CpuTimers { pairs, cpus }
    }

    /// Sets the instant of a CPU; `u64::MAX` means never.
    #[inline]
    pub fn set(&mut self, cpu: u32, at_ns: u64) {
        let mut number = self.cpus + cpu;
        let mut winner = End { at_ns, cpu };
        let mut pair = &mut self.pairs[number / 2];
        if pair[number as usize % 2].at_ns == at_ns {
            return;
        }
        while number > 1 {
            let side = number % 2;
            pair[side as usize] = winner;
            winner = winner.or(side, pair[(side ^ 1) as usize]);
            number /= 2;
            pair = &mut self.pairs[number / 2];
        }
        pair[1] = winner;
    }

    /// The earliest CPU and its instant.
    #[inline]
    pub fn next(&self) -> (u64, u32) {
        let [_, End { at_ns, cpu }] = self.pairs[0];
        (at_ns, cpu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_cpu_wins_and_the_lower_number_wins_a_tie() {
        for cpus in [1, 2, 3, 5, 64, 100] {
            let mut tree = CpuTimers::new(cpus);
            assert_eq!(tree.next().0, u64::MAX);
            let mut rng = schedlab_model::rng::Rng::split(1, "tree");
            let mut at = vec![u64::MAX; cpus as usize];
            for _ in 0..1000 {
                let cpu = rng.below(cpus.into()) as usize;
                at[cpu] = rng.below(20);
                tree.set(cpu as u32, at[cpu]);
                let (best, time) = at.iter().enumerate().min_by_key(|(_, t)| **t).expect("a CPU");
                assert_eq!(tree.next(), (*time, best as u32));
            }
        }
    }
}
