//! Fairness: the kernel's weights, and Jain's index.

use schedlab_model::workload::{Class, Role};

/// The share of CPU time that each nice value from −20 to 19 stands for: 1024 · 1.25^(−nice), rounded as the kernel has
/// it (`sched_prio_to_weight` in `kernel/sched/core.c`). One step of nice is about 10 % of CPU time between two tasks.
const NICE_WEIGHTS: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121, 2501,
    1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
];

/// That of a nice value.
pub(crate) fn nice_weight(nice: i8) -> u32 {
    NICE_WEIGHTS[(i32::from(nice) + 20).clamp(0, 39) as usize]
}

/// The weight of `SCHED_IDLE` (`WEIGHT_IDLEPRIO` in `kernel/sched/sched.h`).
const IDLE_WEIGHT: u32 = 3;

/// The kernel's weight of a task of this role; none for the real-time classes, which do not share by weight, and where a
/// task changes its nice value or its class, as there is no single weight then.
pub fn weight(role: &Role) -> Option<u32> {
    if changes_weight(role) {
        return None;
    }
    match role.class {
        Class::Other | Class::Batch => Some(nice_weight(role.nice)),
        Class::Idle => Some(IDLE_WEIGHT),
        Class::Fifo(_) | Class::RoundRobin(_) | Class::Deadline(_) => None,
    }
}

/// Whether tasks of this role have another weight after some step.
pub fn changes_weight(role: &Role) -> bool {
    role.changes().any(|change| change.nice.is_some() || change.class.is_some())
}

/// Jain's index (Σx)² / (n·Σx²) of a growing set of allocations (Jain, Chiu, Hawe, "A quantitative measure of fairness
/// and discrimination", 1984): 1 when all are equal, k/n when k of n share evenly and the others get nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Jain {
    count: u64,
    sum: f64,
    sum_of_squares: f64,
}

impl Jain {
    /// Takes the allocation of one more task: what it got, divided by what it should get.
    pub fn record(&mut self, allocation: f64) {
        self.count += 1;
        self.sum += allocation;
        self.sum_of_squares += allocation * allocation;
    }

    /// How many allocations it knows.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The index; none when all got nothing.
    pub fn index(&self) -> Option<f64> {
        (self.sum_of_squares > 0.0).then(|| self.sum * self.sum / (self.count as f64 * self.sum_of_squares))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_fall_by_a_quarter() {
        for (i, pair) in NICE_WEIGHTS.windows(2).enumerate() {
            let ratio = f64::from(pair[0]) / f64::from(pair[1]);
            assert!((1.15..1.30).contains(&ratio), "nice {}: {ratio}", i as i32 - 20);
        }
        assert_eq!((NICE_WEIGHTS[20], NICE_WEIGHTS[0], NICE_WEIGHTS[39]), (1024, 88761, 15));
    }

    #[test]
    fn jain_of_known_allocations() {
        let of = |values: &[f64]| {
            let mut jain = Jain::default();
            values.iter().for_each(|&x| jain.record(x));
            jain.index()
        };
        assert_eq!(of(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(of(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(of(&[1.0, 1.0, 0.0, 0.0]), Some(0.5));
        // Jain, Chiu, Hawe, section 2: two of 10 and 50.
        assert!((of(&[10.0, 50.0]).unwrap() - 3600.0 / 5200.0).abs() < 1e-15);
        assert_eq!((of(&[]), of(&[0.0])), (None, None));
    }
}
