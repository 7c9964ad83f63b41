//! Which CPUs have no task, and which of them a task that came at this instant already claims.

use schedlab_model::cpuset::CpuSet;

/// Free CPUs as bits, like a [`CpuSet`].
pub struct Vacancy {
    free: Vec<u64>,
    /// Free ones without a claim.
    open: Vec<u64>,
    claimed: Vec<u32>,
    count: u32,
}

impl Vacancy {
    /// All CPUs are free.
    pub fn new(cpus: u32) -> Vacancy {
        let all = CpuSet::first(cpus).words().to_vec();
        Vacancy { open: all.clone(), free: all, claimed: Vec::new(), count: cpus }
    }

    /// The CPU is free from now on.
    pub fn vacate(&mut self, cpu: u32) {
        self.free[cpu as usize / 64] |= 1 << (cpu % 64);
        self.open[cpu as usize / 64] |= 1 << (cpu % 64);
        self.count += 1;
    }

    /// The CPU is taken.
    pub fn occupy(&mut self, cpu: u32) {
        self.free[cpu as usize / 64] &= !(1 << (cpu % 64));
        self.open[cpu as usize / 64] &= !(1 << (cpu % 64));
        self.count -= 1;
    }

    /// Whether a CPU is free.
    pub fn any(&self) -> bool {
        self.count > 0
    }

    /// The free CPU that a task gets: the one where it was, else the first of those it may use.
    pub fn find(&self, allowed: &CpuSet, preferred: u32) -> Option<u32> {
        if self.count == 0 {
            return None;
        }
        first(&self.free, allowed, preferred)
    }

    /// As [`find`](Self::find), without those on which others count since the last
    /// [`forget_claims`](Self::forget_claims).
    pub fn claim(&mut self, allowed: &CpuSet, preferred: u32) -> Option<u32> {
        if self.count == 0 {
            return None;
        }
        let cpu = first(&self.open, allowed, preferred)?;
        self.open[cpu as usize / 64] &= !(1 << (cpu % 64));
        self.claimed.push(cpu);
        Some(cpu)
    }

    /// Forgets all claims.
    pub fn forget_claims(&mut self) {
        for cpu in self.claimed.drain(..) {
            let (word, bit) = (cpu as usize / 64, 1 << (cpu % 64));
            self.open[word] |= self.free[word] & bit;
        }
    }
}

fn first(words: &[u64], allowed: &CpuSet, preferred: u32) -> Option<u32> {
    let common = |i: usize| words[i] & allowed.words().get(i).copied().unwrap_or(0);
    if common(preferred as usize / 64) >> (preferred % 64) & 1 == 1 {
        return Some(preferred);
    }
    (0..words.len()).find(|&i| common(i) != 0).map(|i| i as u32 * 64 + common(i).trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::ids::CpuId;

    #[test]
    fn a_task_gets_its_own_cpu_or_the_lowest_allowed_one_and_claims_are_kept_apart() {
        let mut v = Vacancy::new(130);
        let odd: CpuSet = [1, 65, 129].map(CpuId).into_iter().collect();
        assert_eq!((v.find(&odd, 65), v.find(&odd, 64)), (Some(65), Some(1)));
        let claims = [129, 129, 0, 0].map(|preferred| v.claim(&odd, preferred));
        assert_eq!(claims, [Some(129), Some(1), Some(65), None]);
        v.occupy(1);
        v.forget_claims();
        assert_eq!((v.claim(&odd, 1), v.find(&odd, 1)), (Some(65), Some(65)));
    }
}
