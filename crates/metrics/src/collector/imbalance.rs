//! How unevenly tasks lie on the CPUs, by number and by weight.

use schedlab_model::ids::RoleId;
use schedlab_model::result;

/// A load by number of tasks and by their weight. Both are computed side by side, which processors do at once.
type Load = [f64; 2];

/// Watches the load of each CPU. At each instant the CPUs' loads have a mean and a variance; both are integrated over time. The
/// sum of the loads and the sum of their squares give both without a look at all CPUs.
#[derive(Clone, Debug)]
pub(super) struct Imbalance {
    cpus: f64,
    /// What a task of each role adds.
    of_roles: Vec<Load>,
    of_cpus: Vec<Load>,
    sum: Load,
    squares: Load,
    /// Mean × CPUs × ns.
    mean_time: Load,
    /// Variance × CPUs² × ns.
    variance_time: Load,
    /// Time since the loads last changed, in ns.
    unchanged_ns: u64,
}

/// For each lane of a load.
#[inline(always)]
fn lanes(of: impl Fn(usize) -> f64) -> Load {
    [of(0), of(1)]
}

impl Imbalance {
    /// For tasks of roles that weigh that much; real-time tasks have no weight.
    pub fn new(cpus: u32, weights: impl Iterator<Item = Option<u32>>) -> Imbalance {
        let zero = Load::default();
        Imbalance {
            cpus: f64::from(cpus),
            of_roles: weights.map(|weight| [1.0, f64::from(weight.unwrap_or(0))]).collect(),
            of_cpus: vec![zero; cpus as usize],
            sum: zero,
            squares: zero,
            mean_time: zero,
            variance_time: zero,
            unchanged_ns: 0,
        }
    }

    /// A task of this role joins a CPU's run queue.
    #[inline(always)]
    pub fn joins(&mut self, cpu: usize, role: RoleId) {
        self.add(cpu, self.of_roles[role.index()]);
    }

    /// A task of this role leaves a CPU's run queue.
    #[inline(always)]
    pub fn leaves(&mut self, cpu: usize, role: RoleId) {
        let load = self.of_roles[role.index()];
        self.add(cpu, lanes(|lane| -load[lane]));
    }

    #[inline(always)]
    fn add(&mut self, cpu: usize, load: Load) {
        self.settle();
        let of_cpu = &mut self.of_cpus[cpu];
        let before = *of_cpu;
        *of_cpu = lanes(|lane| before[lane] + load[lane]);
        self.sum = lanes(|lane| self.sum[lane] + load[lane]);
        self.squares = lanes(|lane| self.squares[lane] + load[lane] * (2.0 * before[lane] + load[lane]));
    }

    /// Time passes with the loads as they are.
    #[inline(always)]
    pub fn pass(&mut self, ns: u64) {
        self.unchanged_ns += ns;
    }

    /// Integrates up to the present.
    #[inline(always)]
    fn settle(&mut self) {
        let ns = match std::mem::take(&mut self.unchanged_ns) {
            0 => return,
            ns => ns as f64,
        };
        let variance = lanes(|lane| self.cpus * self.squares[lane] - self.sum[lane] * self.sum[lane]);
        // Rounding may have taken it below zero.
        let variance = lanes(|lane| if variance[lane] > 0.0 { variance[lane] } else { 0.0 });
        self.mean_time = lanes(|lane| self.mean_time[lane] + self.sum[lane] * ns);
        self.variance_time = lanes(|lane| self.variance_time[lane] + variance[lane] * ns);
    }

    /// Forgets what was so far; the loads stay.
    pub fn clear(&mut self) {
        self.unchanged_ns = 0;
        (self.mean_time, self.variance_time) = Default::default();
    }

    /// The imbalance over the last `ns`; none where there were no tasks.
    pub fn over(&mut self, ns: u64) -> Option<result::Imbalance> {
        self.settle();
        let ns = ns as f64;
        // The standard deviation divided by the mean; none where there was no load.
        let relative = |lane: usize| {
            let (mean, variance) = (self.mean_time[lane], self.variance_time[lane]);
            (mean > 0.0).then(|| (variance / ns).sqrt() / (mean / ns))
        };
        Some(result::Imbalance { tasks: relative(0)?, weight: relative(1) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const G: [RoleId; 2] = [RoleId(0), RoleId(1)];

    fn two(weights: [Option<u32>; 2]) -> Imbalance {
        Imbalance::new(2, weights.into_iter())
    }

    #[test]
    fn seven_tasks_on_two_cpus() {
        let mut imbalance = two([Some(1024); 2]);
        (0..7).for_each(|_| imbalance.joins(0, G[0]));
        imbalance.pass(50);
        // Seven and none: 3.5 off a mean of 3.5.
        assert_eq!(imbalance.over(50).unwrap(), result::Imbalance { tasks: 1.0, weight: Some(1.0) });
        for _ in 0..3 {
            imbalance.leaves(0, G[0]);
            imbalance.joins(1, G[0]);
        }
        imbalance.clear();
        imbalance.pass(100);
        // Four and three.
        assert_eq!(imbalance.over(100).unwrap().tasks, 0.5 / 3.5);
    }

    #[test]
    fn weights_and_numbers_differ() {
        let mut imbalance = two([Some(3000), Some(1000)]);
        imbalance.joins(0, G[0]);
        (0..3).for_each(|_| imbalance.joins(1, G[1]));
        imbalance.pass(10);
        assert_eq!(imbalance.over(10).unwrap(), result::Imbalance { tasks: 0.5, weight: Some(0.0) });
        assert_eq!(two([Some(1), None]).over(0), None);
        let mut without = two([Some(1024), None]);
        without.joins(1, G[1]);
        without.pass(1);
        assert_eq!(without.over(1).unwrap().weight, None, "real-time tasks have no weight");
    }
}
