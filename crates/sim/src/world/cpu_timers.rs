//! When something ends on each CPU.

/// For every CPU the instant at which something ends there; the earliest, by number among equals, is always known.
///
/// A tournament tree: a change costs one comparison per level, nothing is ever stale, and the whole tree of 4096 CPUs
/// stays in the first two caches.
pub struct CpuTimers {
    /// `winners[1]` is the root; the leaves are at `leaves..2 * leaves`.
    winners: Vec<End>,
    leaves: usize,
}

/// When something ends on a CPU.
#[derive(Clone, Copy)]
struct End {
    at_ns: u64,
    cpu: u32,
}

impl End {
    /// The earlier of two; the lower number wins a tie. Which one it is can't be foreseen.
    #[inline(always)]
    fn or(self, other: End) -> End {
        let is_earlier = (other.at_ns < self.at_ns) | ((other.at_ns == self.at_ns) & (other.cpu < self.cpu));
        End {
            at_ns: std::hint::select_unpredictable(is_earlier, other.at_ns, self.at_ns),
            cpu: std::hint::select_unpredictable(is_earlier, other.cpu, self.cpu),
        }
    }
}

impl CpuTimers {
    /// A tree in which no CPU waits for anything.
    pub fn new(cpus: usize) -> CpuTimers {
        let leaves = cpus.next_power_of_two();
        let mut winners: Vec<End> =
            (0..2 * leaves).map(|node| End { at_ns: u64::MAX, cpu: node.saturating_sub(leaves) as u32 }).collect();
        (1..leaves).rev().for_each(|node| winners[node] = winners[2 * node].or(winners[2 * node + 1]));
        CpuTimers { winners, leaves }
    }

    /// Sets the instant of a CPU; `u64::MAX` means never.
    #[inline]
    pub fn set(&mut self, cpu: usize, at_ns: u64) {
        assert!(cpu < self.leaves);
        let mut node = self.leaves + cpu;
        if self.winner(node).at_ns == at_ns {
            return;
        }
        let mut winner = End { at_ns, cpu: cpu as u32 };
        *self.winner(node) = winner;
        while node > 1 {
            winner = winner.or(*self.winner(node ^ 1));
            node /= 2;
            *self.winner(node) = winner;
        }
    }

    #[inline(always)]
    fn winner(&mut self, node: usize) -> &mut End {
        debug_assert!(node < self.winners.len());
        // SAFETY: there are twice as many nodes as leaves; a leaf is below that, and neighbours and parents of nodes
        // are nodes. The reason: three checks at each level, at each change.
        unsafe { self.winners.get_unchecked_mut(node) }
    }

    /// The earliest CPU and its instant.
    #[inline]
    pub fn next(&self) -> (u64, usize) {
        let End { at_ns, cpu } = self.winners[1];
        (at_ns, cpu as usize)
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
