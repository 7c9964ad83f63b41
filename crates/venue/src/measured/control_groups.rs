//! What the kernel counted of control groups, in addition to what follows from events.

use schedlab_load::Report;
use schedlab_metrics::collector::RunMeasures;

/// Adds the kernel's counts. Its limits are those of its own fair class: they do not apply under a policy.
pub fn add(measures: &mut RunMeasures, report: &Report, has_policy: bool) {
    let ns = |us: Option<u64>| us.map(|us| us * 1_000);
    // The root has no result.
    for (group, counted) in measures.control_groups.iter_mut().zip(report.control_groups.iter().skip(1)) {
        group.kernel_usage_ns = ns(counted.usage_us);
        group.kernel_pressure_some_ns = ns(counted.some_us);
        group.kernel_pressure_full_ns = ns(counted.full_us);
        if has_policy || group.knobs.quota_ns.is_none() {
            continue;
        }
        (group.nr_periods, group.nr_throttled) = (counted.nr_periods, counted.nr_throttled);
        (group.nr_bursts, group.throttled_ns, group.burst_ns) =
            (counted.nr_bursts, ns(counted.throttled_us), ns(counted.burst_us));
    }
}
