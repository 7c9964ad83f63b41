//! When something ends on each CPU.

/// For every CPU the instant at which something ends there; the earliest, by number among equals, is always known.
///
/// A tournament tree: a change costs one comparison per level, nothing is ever stale, and the whole tree of 4096 CPUs
/// stays in the first two caches.
pub struct CpuTimers {
    at_ns: Vec<u64>,
    /// `winners[1]` is the root; the leaves are at `leaves..2 * leaves`.
    winners: Vec<u32>,
    leaves: usize,
}

impl CpuTimers {
    /// A tree in which no CPU waits for anything.
    pub fn new(cpus: usize) -> CpuTimers {
        let leaves = cpus.next_power_of_two();
        let mut winners = vec![0; 2 * leaves];
        (0..leaves).for_each(|i| winners[leaves + i] = i as u32);
        let mut tree = CpuTimers { at_ns: vec![u64::MAX; leaves], winners, leaves };
        (1..leaves).rev().for_each(|node| tree.winners[node] = tree.play(node));
        tree
    }

    fn play(&self, node: usize) -> u32 {
        let (left, right) = (self.winners[2 * node], self.winners[2 * node + 1]);
        // The left CPU has the lower number and wins a tie.
        if self.at_ns[right as usize] < self.at_ns[left as usize] { right } else { left }
    }

    /// Sets the instant of a CPU; `u64::MAX` means never.
    #[inline]
    pub fn set(&mut self, cpu: usize, at_ns: u64) {
        if self.at_ns[cpu] == at_ns {
            return;
        }
        self.at_ns[cpu] = at_ns;
        let mut node = (self.leaves + cpu) / 2;
        while node > 0 {
            let winner = self.play(node);
            // Above a node that another CPU wins as before, nothing changes.
            if winner == self.winners[node] && winner != cpu as u32 {
                return;
            }
            self.winners[node] = winner;
            node /= 2;
        }
    }

    /// The earliest CPU and its instant.
    #[inline]
    pub fn next(&self) -> (u64, usize) {
        let cpu = self.winners[1] as usize;
        (self.at_ns[cpu], cpu)
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
            let mut at = vec![u64::MAX; cpus];
            for _ in 0..1000 {
                let cpu = rng.below(cpus as u64) as usize;
                at[cpu] = rng.below(20);
                tree.set(cpu, at[cpu]);
                let (best, time) = at.iter().enumerate().min_by_key(|(_, t)| **t).expect("a CPU");
                assert_eq!(tree.next(), (*time, best));
            }
        }
    }
}
