//! Control groups in a result: what each was given and what it got.

use super::TimeSummary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The metrics of one control group, over all tasks in it and in those below it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ControlGroupResult {
    /// Its path below the root.
    pub path: String,
    /// Its settings from the scenario.
    pub knobs: ControlGroupKnobs,
    /// How many task instances were in it.
    pub tasks: u64,
    /// CPU time of its tasks while they were in it.
    pub usage_ns: u64,
    /// The same as a fraction of CPUs × measured time.
    pub usage_share: f64,
    /// The same as a fraction of what its parent's tasks got, including its siblings' and the parent's own. Absent if that
    /// is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sibling_share: Option<f64>,
    /// What that fraction should have been: at each instant, CPUs are divided by weight among the groups with runnable tasks, with
    /// at most one CPU per runnable task, and at most its quota and CPUs. Absent if no task of the parent was runnable, and
    /// where a step changes the weight or the limit of a control group, or a task's nice value or class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entitled_share: Option<f64>,
    /// Periods of its own limit that began while it was used (`nr_periods` of `cpu.stat`). Absent if no venue or policy counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nr_periods: Option<u64>,
    /// Periods at whose end some CPU's queue was throttled (`nr_throttled`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nr_throttled: Option<u64>,
    /// Time in which queues were throttled and a task waited, summed over CPUs (`throttled_usec`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_ns: Option<u64>,
    /// Periods in which more than the quota was used (`nr_bursts`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nr_bursts: Option<u64>,
    /// CPU time beyond the quota in them (`burst_usec`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_ns: Option<u64>,
    /// How long each of its tasks' waits for a limit was, in wall time, for its own limit or one above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_wait_ns: Option<TimeSummary>,
    /// The part of each response of its tasks in which a limit held them back. Absent if that never happened, or is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_throttled_ns: Option<TimeSummary>,
    /// Time in which some task of it waited for a CPU (`some` of `cpu.pressure`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure_some_ns: Option<u64>,
    /// Time in which tasks of it waited for a CPU and none had one (`full`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure_full_ns: Option<u64>,
    /// CPU time of its tasks by the kernel's count (`usage_usec` of `cpu.stat`), including the system's costs there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_usage_ns: Option<u64>,
    /// What the kernel itself counts as `some` of its pressure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_pressure_some_ns: Option<u64>,
    /// What the kernel itself counts as `full`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_pressure_full_ns: Option<u64>,
}

/// The settings of a control group, in the kernel's terms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ControlGroupKnobs {
    /// `cpu.weight`; for a group with `cpu.weight.nice` the weight that the kernel shows.
    pub weight: u32,
    /// `cpu.idle`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idle: bool,
    /// The quota of `cpu.max`; absent for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_ns: Option<u64>,
    /// The period of `cpu.max`.
    pub period_ns: u64,
    /// `cpu.max.burst`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub burst_ns: u64,
    /// `cpuset.cpus.effective`.
    pub cpus: String,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
