//! Closed systems, and batches of equal jobs.

/// Response time of `tasks` tasks that compute for `demand`, think for `think` and start again, on `cpus` CPUs none of
/// which idles: the interactive response time law R = N/X − Z with X = m/s (Lazowska et al., *Quantitative System
/// Performance*, ch. 3 and 5). With N ≤ m tasks no task waits and R = s. A lower bound when a CPU idles at times.
pub fn response(tasks: u32, demand: f64, think: f64, cpus: u32) -> f64 {
    (f64::from(tasks) * demand / f64::from(cpus) - think).max(demand)
}

/// Completions per unit of time of the same system: the smaller of m/s and N/(s + Z), the asymptotic bounds.
pub fn throughput(tasks: u32, demand: f64, think: f64, cpus: u32) -> f64 {
    (f64::from(cpus) / demand).min(f64::from(tasks) / (demand + think))
}

/// The utilisation U = X·s/m that a measured mean response implies by the same law. Above one the measurement cannot be
/// right: part of a think time was counted as response, or the other way round.
pub fn implied_utilisation(tasks: u32, demand: f64, think: f64, cpus: u32, response: f64) -> f64 {
    f64::from(tasks) / (response + think) * demand / f64::from(cpus)
}

/// When each of `jobs` equal jobs, all here at time 0, ends on one CPU under round robin with a quantum that divides
/// the demand: job i of 1…n at (s/q − 1)·n·q + i·q, since all are served once before the last round. With q = s this
/// is first come first served, with q → 0 processor sharing.
pub fn round_robin_batch(jobs: u32, demand: f64, quantum: f64) -> Vec<f64> {
    let rounds_before = demand / quantum - 1.0;
    (1..=jobs).map(|i| (rounds_before * f64::from(jobs) + f64::from(i)) * quantum).collect()
}

#[cfg(test)]
mod tests {
    use super::super::test_helpers::assert_close;
    use super::*;
    use crate::statistics::mean;

    #[test]
    fn vector_33_batch() {
        assert_eq!(round_robin_batch(4, 20.0, 5.0), [65.0, 70.0, 75.0, 80.0]);
        assert_eq!(mean(&round_robin_batch(4, 20.0, 5.0)), Some(72.5));
        assert_eq!(mean(&round_robin_batch(4, 20.0, 20.0)), Some(50.0));
        assert!((mean(&round_robin_batch(4, 20.0, 1e-6)).unwrap() - 80.0).abs() < 1e-5);
    }

    #[test]
    fn vector_34_and_the_study_vectors_7_and_8() {
        assert_eq!(response(7, 250.0, 10.0, 2), 865.0);
        assert_eq!(throughput(7, 250.0, 10.0, 2), 0.008);
        assert_eq!(response(7, 250.0, 135.0, 2), 740.0);
        assert_eq!(response(7, 250.0, 0.0, 2), 875.0);
        assert_eq!(response(2, 250.0, 10.0, 2), 250.0);
    }

    #[test]
    fn study_vector_15_utilisation() {
        assert_close(Some(implied_utilisation(7, 250.0, 10.0, 2, 822.3)), 1.05130);
        assert_close(Some(implied_utilisation(7, 250.0, 135.0, 2, 755.5)), 0.982594);
    }
}
