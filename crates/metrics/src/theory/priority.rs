//! One server, fixed priority classes, first come first served inside a class.

use super::size::Size;

/// One class: its arrival rate and its service times. The best class stands first.
pub struct PriorityClass<'a> {
    /// Arrivals per unit of time.
    pub arrival_rate: f64,
    /// Service times.
    pub size: &'a dyn Size,
}

impl PriorityClass<'_> {
    fn load(&self) -> f64 {
        self.arrival_rate * self.size.mean()
    }
    /// ½λE[S²]: the work left, on the average, of a job of this class that an arrival finds in service.
    fn residual(&self) -> f64 {
        0.5 * self.arrival_rate * self.size.second_moment()
    }
}

/// Non-preemptive (Cobham 1954; Harchol-Balter ch. 31): with σ_k = Σ_{i≤k} ρ_i,
/// T_k = s_k + ½Σ_all λ_iE[S_i²] / ((1 − σ_{k−1})(1 − σ_k)). The mean response time of each class.
pub fn non_preemptive(classes: &[PriorityClass]) -> Option<Vec<f64>> {
    let residual: f64 = classes.iter().map(PriorityClass::residual).sum();
    by_class(classes, |class, _, before, upto| class.size.mean() + residual / (before * upto))
}

/// Preemptive-resume (Harchol-Balter ch. 32):
/// T_k = s_k / (1 − σ_{k−1}) + ½Σ_{i≤k} λ_iE[S_i²] / ((1 − σ_{k−1})(1 − σ_k)). The mean response time of each class.
pub fn preemptive(classes: &[PriorityClass]) -> Option<Vec<f64>> {
    by_class(classes, |class, residual, before, upto| class.size.mean() / before + residual / (before * upto))
}

/// Calls `formula(class, ½Σ_{i≤k} λ_iE[S_i²], 1 − σ_{k−1}, 1 − σ_k)` for each class of a stable queue.
fn by_class(classes: &[PriorityClass], formula: impl Fn(&PriorityClass, f64, f64, f64) -> f64) -> Option<Vec<f64>> {
    let (mut load, mut residual) = (0.0, 0.0);
    let means = classes
        .iter()
        .map(|class| {
            let before = 1.0 - load;
            load += class.load();
            residual += class.residual();
            formula(class, residual, before, 1.0 - load)
        })
        .collect();
    (load < 1.0).then_some(means)
}

/// The mean over all jobs of the means of the classes, each weighted with its arrival rate.
pub fn overall(classes: &[PriorityClass], means: &[f64]) -> f64 {
    let rate: f64 = classes.iter().map(|class| class.arrival_rate).sum();
    classes.iter().zip(means).map(|(class, mean)| class.arrival_rate * mean).sum::<f64>() / rate
}

#[cfg(test)]
mod tests {
    use super::super::size::{Atoms, Exponential};
    use super::super::test_helpers::assert_close;
    use super::*;

    fn assert_means(got: Option<Vec<f64>>, expected: [f64; 2]) {
        let got = got.unwrap();
        got.iter().zip(expected).for_each(|(&got, expected)| assert_close(Some(got), expected));
    }

    #[test]
    fn vectors_18_and_19_two_classes_by_size() {
        let (small, large) = (Atoms::deterministic(10.0), Atoms::deterministic(110.0));
        let classes =
            [PriorityClass { arrival_rate: 0.036, size: &small }, PriorityClass { arrival_rate: 0.004, size: &large }];
        assert_means(non_preemptive(&classes), [50.625, 313.125]);
        assert_close(Some(overall(&classes, &non_preemptive(&classes).unwrap())), 76.875);
        assert_means(preemptive(&classes), [12.8125, 375.0]);
        assert_close(Some(overall(&classes, &preemptive(&classes).unwrap())), 49.0312);
    }

    #[test]
    fn vectors_20_and_21_two_equal_classes() {
        let pair = |size| [(); 2].map(|()| PriorityClass { arrival_rate: 1.0 / 50.0, size });
        let deterministic = Atoms::deterministic(20.0);
        assert_means(non_preemptive(&pair(&deterministic)), [33.3333, 86.6667]);
        assert_means(preemptive(&pair(&deterministic)), [26.6667, 100.0]);
        let exponential = Exponential(20.0);
        assert_means(non_preemptive(&pair(&exponential)), [46.6667, 153.333]);
        assert_means(preemptive(&pair(&exponential)), [33.3333, 166.667]);
    }

    /// Kleinrock's conservation law: Σρ_iW_i of non-preemptive classes is that of first come first served.
    #[test]
    fn waiting_is_conserved() {
        let size = Exponential(20.0);
        let classes = [(); 3].map(|()| PriorityClass { arrival_rate: 1.0 / 70.0, size: &size });
        let by_class: f64 = non_preemptive(&classes).unwrap().iter().map(|t| 20.0 / 70.0 * (t - 20.0)).sum();
        let fcfs = super::super::single_server::fcfs(3.0 / 70.0, &size).unwrap();
        assert_close(Some(by_class), 60.0 / 70.0 * (fcfs - 20.0));
    }

    #[test]
    fn saturation_has_no_mean() {
        let size = Exponential(50.0);
        assert!(preemptive(&[PriorityClass { arrival_rate: 0.02, size: &size }]).is_none());
    }
}
