//! The results of several runs that differ in the seed only.
//!
//! Only [`Estimate::values`] has numbers of single runs, with the run of each: all else is of all runs.
//! `schedlab_metrics::combine` makes it of the runs.

use crate::result::{ControlGroupKnobs, Interval, PolicyInfo, Provenance, ScenarioInfo};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The name and version of this form, its first field.
pub const SCHEMA: &str = "schedlab.runs/2";

/// Several runs of one scenario under one policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunsResult {
    /// Always `schedlab.runs/2`.
    pub schema: String,
    /// What was run.
    pub scenario: ScenarioInfo,
    /// Which scheduler decided.
    pub policy: PolicyInfo,
    /// Where it ran, as in the result of one run.
    pub venue: String,
    /// Nothing before this instant of a run is counted.
    pub warmup_ns: u64,
    /// What the numbers come from, the same for all runs.
    pub provenance: Provenance,
    /// The runs.
    pub runs: Runs,
    /// One object for each `[[task]]` of the scenario, in file order.
    pub roles: Vec<RoleRuns>,
    /// One object for each control group below the root.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub control_groups: Vec<ControlGroupRuns>,
    /// One object for each CPU.
    pub cpus: Vec<CpuRuns>,
    /// The metrics of the runs as a whole, by their path in the result of one: `jain`, `load_distribution.true.3`.
    pub metrics: Numbers,
    /// Whether a run was stopped before its end, or never begun.
    pub partial: bool,
    /// What the tasks compute, where they really do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<String>,
    /// What could not be measured here, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// What a reader has to know of how the runs were set up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<String>,
}

/// Which runs there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Runs {
    /// How many.
    pub count: u32,
    /// The seed of each. Values of runs are in the same order.
    pub seeds: Vec<u64>,
}

/// Metrics of several runs, by their path.
pub type Numbers = BTreeMap<String, Combined>;

/// A role.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoleRuns {
    /// Its name.
    pub name: String,
    /// Its metrics, by their path in the role of one run: `response_ns.p99`, `count`.
    pub metrics: Numbers,
}

/// A control group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ControlGroupRuns {
    /// Its path below the root.
    pub path: String,
    /// What it is given, as the scenario says it.
    pub knobs: ControlGroupKnobs,
    /// Its metrics, by their path in the control group of one run: `cpu_share`, `nr_throttled`.
    pub metrics: Numbers,
}

/// A CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuRuns {
    /// Its number.
    pub id: u32,
    /// Its metrics, by their path in the CPU of one run: `busy_frac`, `runnable.3`.
    pub metrics: Numbers,
}

/// A metric of several runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Combined {
    /// Their mean.
    Mean(Estimate),
    /// Their sum.
    Sum(Total),
}

/// The mean of the runs that know a metric, with its confidence interval where they are two at least: that of Student's t
/// (1908), which assumes that means of runs vary about as a normal distribution does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The mean of the runs that know it.
    pub mean: f64,
    /// The lower end of the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Its upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// The probability with which such an interval holds the true value, as 0.95.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<f64>,
    /// How many runs know it.
    pub n: u32,
    /// What each run says, in the order of the seeds; `null` for a run that does not know it.
    #[schemars(schema_with = "values")]
    pub values: Vec<Option<f64>>,
}

/// The sum over the runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Total {
    /// The sum.
    pub sum: f64,
    /// How many runs know it.
    pub n: u32,
    /// What each run says, as in a mean.
    #[schemars(schema_with = "values")]
    pub values: Vec<Option<f64>>,
}

/// Numbers that may be missing.
fn values(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "oneOf": [{ "type": "number" }, { "type": "null" }] } })
}

impl Estimate {
    /// Its interval.
    pub fn interval(&self) -> Option<Interval> {
        Some(Interval { estimate: self.mean, low: self.low?, high: self.high?, level: self.level? })
    }
}

impl Combined {
    /// The one number: mean or sum.
    pub fn number(&self) -> f64 {
        match self {
            Combined::Mean(estimate) => estimate.mean,
            Combined::Sum(total) => total.sum,
        }
    }

    /// The interval of a mean.
    pub fn interval(&self) -> Option<Interval> {
        match self {
            Combined::Mean(estimate) => estimate.interval(),
            Combined::Sum(_) => None,
        }
    }

    /// How many runs know it.
    pub fn n(&self) -> u32 {
        match self {
            Combined::Mean(estimate) => estimate.n,
            Combined::Sum(total) => total.n,
        }
    }

    /// What each run says, in the order of the seeds.
    pub fn values(&self) -> &[Option<f64>] {
        match self {
            Combined::Mean(estimate) => &estimate.values,
            Combined::Sum(total) => &total.values,
        }
    }
}
