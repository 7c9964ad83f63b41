//! How unevenly tasks lie on the CPUs, by number and by weight.

use schedlab_model::ids::RoleId;
use schedlab_model::result;

/// Watches the load of each CPU. At each instant the CPUs' loads have a mean and a variance; both are integrated over time. The
/// sum of the loads and the sum of their squares give both without a look at all CPUs.
#[derive(Clone, Debug)]
pub(super) struct Imbalance {
    cpus: f64,
    /// What a task of each role weighs.
    weights: Vec<f64>,
    tasks: Loads,
    weight: Loads,
    /// Time since the loads last changed, in ns.
    unchanged_ns: u64,
}

/// Loads of one kind.
#[derive(Clone, Debug, Default)]
struct Loads {
    of_cpus: Vec<f64>,
    sum: f64,
    squares: f64,
    /// Mean × CPUs × ns.
    mean_time: f64,
    /// Variance × CPUs² × ns.
    variance_time: f64,
}

impl Loads {
    #[inline(always)]
    fn add(&mut self, cpu: usize, load: f64) {
        let before = self.of_cpus[cpu];
        self.of_cpus[cpu] += load;
        self.sum += load;
        self.squares += load * (2.0 * before + load);
    }

    #[inline(always)]
    fn pass(&mut self, cpus: f64, ns: f64) {
        self.mean_time += self.sum * ns;
        self.variance_time += (cpus * self.squares - self.sum * self.sum).max(0.0) * ns;
    }

    /// The standard deviation divided by the mean; none where there was no load.
    fn relative(&self, ns: f64) -> Option<f64> {
        (self.mean_time > 0.0).then(|| (self.variance_time / ns).sqrt() / (self.mean_time / ns))
    }
}

impl Imbalance {
    /// For tasks of roles that weigh that much; real-time tasks have no weight.
    pub fn new(cpus: u32, weights: impl Iterator<Item = Option<u32>>) -> Imbalance {
        let weights = weights.map(|weight| f64::from(weight.unwrap_or(0))).collect();
        let loads = Loads { of_cpus: vec![0.0; cpus as usize], ..Loads::default() };
        Imbalance { cpus: f64::from(cpus), weights, tasks: loads.clone(), weight: loads, unchanged_ns: 0 }
    }

    /// A task of this role joins a CPU's run queue.
    #[inline(always)]
    pub fn joins(&mut self, cpu: usize, role: RoleId) {
        self.settle();
        self.tasks.add(cpu, 1.0);
        self.weight.add(cpu, self.weights[role.index()]);
    }

    /// A task of this role leaves a CPU's run queue.
    #[inline(always)]
    pub fn leaves(&mut self, cpu: usize, role: RoleId) {
        self.settle();
        self.tasks.add(cpu, -1.0);
        self.weight.add(cpu, -self.weights[role.index()]);
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
        self.tasks.pass(self.cpus, ns);
        self.weight.pass(self.cpus, ns);
    }

    /// Forgets what was so far; the loads stay.
    pub fn clear(&mut self) {
        self.unchanged_ns = 0;
        for loads in [&mut self.tasks, &mut self.weight] {
            (loads.mean_time, loads.variance_time) = (0.0, 0.0);
        }
    }

    /// The imbalance over the last `ns`; none where there were no tasks.
    pub fn over(&mut self, ns: u64) -> Option<result::Imbalance> {
        self.settle();
        let tasks = self.tasks.relative(ns as f64)?;
        Some(result::Imbalance { tasks, weight: self.weight.relative(ns as f64) })
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
