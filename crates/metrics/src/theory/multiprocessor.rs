//! Predictions for tasks that compute the same again and again on several CPUs, as Happe, Groenda and Reussner derived
//! them from measurements of Linux 2.6.22 and Windows Server 2003. Times are in one unit of the caller's.
//!
//! Source: their experimental evaluation of general-purpose operating-system schedulers, equations Linux 1 and 2,
//! Windows 1.

/// Linux 1.a: tasks per CPU where their number is balanced, the fuller CPUs first.
pub fn balanced_loads(tasks: u32, cpus: u32) -> Vec<u32> {
    (0..cpus).map(|cpu| tasks / cpus + u32::from(cpu < tasks % cpus)).collect()
}

/// Windows 1.a: tasks per CPU where only idle CPUs take tasks: all that the others do not need stay together.
pub fn unbalanced_loads(tasks: u32, cpus: u32) -> Vec<u32> {
    (0..cpus)
        .map(|cpu| if cpu > 0 { u32::from(cpu < tasks) } else { (tasks + 1).saturating_sub(cpus).max(tasks.min(1)) })
        .collect()
}

/// Linux 1.b: the shortest and the longest response of a request that computes `demand` next to `load` − 1 others, in
/// slices. Exact where responses follow one another without a wait.
pub fn response_range(demand: f64, slice: f64, load: u32) -> (f64, f64) {
    let load = f64::from(load);
    let shortest = (demand / slice).floor() * load * slice + demand % slice;
    (shortest, shortest + (load - 1.0) * slice)
}

/// Linux 2.a: the mean response of tasks that compute `demand` and wait `think` in turn: the response time law with all
/// CPUs busy. A lower bound where some idle.
pub fn mean_response(tasks: u32, cpus: u32, demand: f64, think: f64) -> f64 {
    if tasks <= cpus { demand } else { demand * f64::from(tasks) / f64::from(cpus) - think }
}

/// Windows 1.b: the mean response on a CPU with `load` tasks.
pub fn shared_response(load: u32, demand: f64) -> f64 {
    f64::from(load) * demand
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads() {
        assert_eq!(balanced_loads(7, 2), [4, 3]);
        assert_eq!(balanced_loads(7, 4), [2, 2, 2, 1]);
        assert_eq!(balanced_loads(3, 2), [2, 1]);
        assert_eq!(balanced_loads(8, 4), [2, 2, 2, 2]);
        assert_eq!(unbalanced_loads(7, 2), [6, 1]);
        assert_eq!(unbalanced_loads(7, 4), [4, 1, 1, 1]);
        assert_eq!([unbalanced_loads(1, 2), unbalanced_loads(0, 2)], [[1, 0], [0, 0]]);
    }

    #[test]
    fn responses() {
        assert_eq!(response_range(250.0, 100.0, 3), (650.0, 850.0));
        assert_eq!(response_range(250.0, 100.0, 4), (850.0, 1150.0));
        assert_eq!(response_range(250.0, 100.0, 1), (250.0, 250.0));
        assert_eq!(response_range(250.0, 100.0, 6), (1250.0, 1750.0));
        assert_eq!([10.0, 135.0, 0.0].map(|think| mean_response(7, 2, 250.0, think)), [865.0, 740.0, 875.0]);
        assert_eq!(mean_response(2, 2, 250.0, 10.0), 250.0);
        assert_eq!([6, 1].map(|load| shared_response(load, 250.0)), [1500.0, 250.0]);
    }
}
