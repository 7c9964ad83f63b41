//! The outcome of a scenario under a policy: one run, or several. Code that shows numbers reads them from here and need
//! not know which it is.

use crate::metric::{self, Found, Part};
use crate::result::{self, ControlGroupKnobs, Interval, PolicyInfo, Provenance, RunResult, ScenarioInfo};
use crate::runs::{self, Numbers, RunsResult};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// One run, or several. In JSON its field `schema` says which.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Outcome {
    /// One run.
    One(Box<RunResult>),
    /// Several.
    Several(Box<RunsResult>),
}

/// A number of an outcome.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The number; of several runs their mean, or their sum.
    pub number: f64,
    /// The confidence interval of a mean of several runs.
    pub interval: Option<Interval>,
    /// How many runs know it.
    pub n: u32,
}

/// The part of an outcome in which metrics are looked up.
#[derive(Clone, Copy, Debug)]
pub enum View<'a> {
    /// Of one run.
    One(Part<'a>),
    /// Of several: the metrics there are.
    Several(&'a Numbers),
}

/// A role of an outcome.
#[derive(Clone, Copy, Debug)]
pub struct RoleView<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its metrics.
    pub metrics: View<'a>,
}

/// A control group of an outcome.
#[derive(Clone, Copy, Debug)]
pub struct ControlGroupView<'a> {
    /// Its path below the root.
    pub path: &'a str,
    /// What it is given.
    pub knobs: &'a ControlGroupKnobs,
    /// Its metrics.
    pub metrics: View<'a>,
}

/// A CPU of an outcome.
#[derive(Clone, Copy, Debug)]
pub struct CpuView<'a> {
    /// Its number.
    pub id: u32,
    /// Its metrics.
    pub metrics: View<'a>,
}

impl From<RunResult> for Outcome {
    fn from(result: RunResult) -> Outcome {
        Outcome::One(Box::new(result))
    }
}

impl From<RunsResult> for Outcome {
    fn from(result: RunsResult) -> Outcome {
        Outcome::Several(Box::new(result))
    }
}

/// Takes the same field of both.
macro_rules! either {
    ($self:expr, $result:ident => $value:expr) => {
        match $self {
            Outcome::One($result) => $value,
            Outcome::Several($result) => $value,
        }
    };
}

impl Outcome {
    /// What was run.
    pub fn scenario(&self) -> &ScenarioInfo {
        either!(self, result => &result.scenario)
    }

    /// Which scheduler decided.
    pub fn policy(&self) -> &PolicyInfo {
        either!(self, result => &result.policy)
    }

    /// Where it ran.
    pub fn venue(&self) -> &str {
        either!(self, result => &result.venue)
    }

    /// What the numbers come from.
    pub fn provenance(&self) -> &Provenance {
        either!(self, result => &result.provenance)
    }

    /// Nothing before this instant of a run is counted.
    pub fn warmup_ns(&self) -> u64 {
        either!(self, result => result.warmup_ns)
    }

    /// Whether a run was stopped before its end, or never begun.
    pub fn is_partial(&self) -> bool {
        either!(self, result => result.partial)
    }

    /// What could not be measured, and why.
    pub fn missing(&self) -> &[String] {
        either!(self, result => &result.missing)
    }

    /// What a reader has to know of how it was set up.
    pub fn cautions(&self) -> &[String] {
        either!(self, result => &result.cautions)
    }

    /// What the tasks compute, where they really do.
    pub fn algorithm(&self) -> Option<&str> {
        match self {
            Outcome::One(result) => result.calibration.as_ref().map(|calibration| calibration.algorithm.as_str()),
            Outcome::Several(result) => result.algorithm.as_deref(),
        }
    }

    /// The seeds of the runs, in order.
    pub fn seeds(&self) -> &[u64] {
        match self {
            Outcome::One(result) => std::slice::from_ref(&result.seed),
            Outcome::Several(result) => &result.runs.seeds,
        }
    }

    /// How many runs there are.
    pub fn runs(&self) -> u32 {
        self.seeds().len() as u32
    }

    /// The result, where there is only one run.
    pub fn as_one(&self) -> Option<&RunResult> {
        match self {
            Outcome::One(result) => Some(result),
            Outcome::Several(_) => None,
        }
    }

    /// The metrics of the run as a whole, or of several runs.
    pub fn whole(&self) -> View<'_> {
        match self {
            Outcome::One(result) => View::One(Part::Run(result)),
            Outcome::Several(result) => View::Several(&result.metrics),
        }
    }

    /// How long a run took.
    pub fn duration_ns(&self) -> u64 {
        self.whole().get("duration_ns").unwrap_or(0.0).round() as u64
    }

    /// The roles, in the order of the scenario.
    pub fn roles(&self) -> Vec<RoleView<'_>> {
        match self {
            Outcome::One(result) => {
                let view = |role| View::One(Part::Role(role));
                result.roles.iter().map(|role| RoleView { name: &role.name, metrics: view(role) }).collect()
            }
            Outcome::Several(result) => result
                .roles
                .iter()
                .map(|role| RoleView { name: &role.name, metrics: View::Several(&role.metrics) })
                .collect(),
        }
    }

    /// The control groups below the root, parents first.
    pub fn control_groups(&self) -> Vec<ControlGroupView<'_>> {
        match self {
            Outcome::One(result) => {
                let view = |group| View::One(Part::ControlGroup(group));
                let groups = result.control_groups.iter();
                groups
                    .map(|group| ControlGroupView { path: &group.path, knobs: &group.knobs, metrics: view(group) })
                    .collect()
            }
            Outcome::Several(result) => {
                let groups = result.control_groups.iter();
                let view = |numbers| View::Several(numbers);
                groups
                    .map(|group| ControlGroupView {
                        path: &group.path,
                        knobs: &group.knobs,
                        metrics: view(&group.metrics),
                    })
                    .collect()
            }
        }
    }

    /// The CPUs, in the order of their numbers.
    pub fn cpus(&self) -> Vec<CpuView<'_>> {
        match self {
            Outcome::One(result) => {
                result.cpus.iter().map(|cpu| CpuView { id: cpu.id, metrics: View::One(Part::Cpu(cpu)) }).collect()
            }
            Outcome::Several(result) => {
                result.cpus.iter().map(|cpu| CpuView { id: cpu.id, metrics: View::Several(&cpu.metrics) }).collect()
            }
        }
    }

    /// The role of this name.
    pub fn role(&self, name: &str) -> Option<RoleView<'_>> {
        self.roles().into_iter().find(|role| role.name == name)
    }
}

impl RoleView<'_> {
    /// For each run how long a task waits, in nanoseconds, if it waits more than twice as long as the slowest response took:
    /// then response times do not show what never ends. Without any response, if a task waits that never got a CPU.
    pub fn starvation(&self) -> Vec<Option<f64>> {
        let each = |path: &str| self.metrics.each(path);
        let [waits, ages, responses] = ["longest_wait_ns", "open_age_ns.max", "response_ns.max"].map(each);
        let starved = each("starved");
        // A request of a task that never ran has not begun, but its task waits.
        let wait = |run: usize| {
            let at = |values: &[Option<f64>]| values.get(run).copied().flatten();
            match at(&responses) {
                Some(response) => {
                    let wait = at(&waits).into_iter().chain(at(&ages)).reduce(f64::max)?;
                    (wait > 2.0 * response).then_some(wait)
                }
                None => at(&waits).filter(|_| at(&starved) > Some(0.0)),
            }
        };
        (0..responses.len().max(waits.len())).map(wait).collect()
    }
}

impl<'a> View<'a> {
    /// The value of a metric that is named in our own code; none where it is not known.
    ///
    /// # Panics
    ///
    /// There is no such metric.
    pub fn get(self, path: &str) -> Option<f64> {
        Some(self.value(path)?.number)
    }

    /// The same with its interval.
    ///
    /// # Panics
    ///
    /// There is no such metric.
    pub fn value(self, path: &str) -> Option<Value> {
        self.of(metric::known(path))
    }

    /// The value of a metric; none where it is not known.
    pub fn of(self, found: Found) -> Option<Value> {
        match self {
            View::One(part) => found.of(part).map(|number| Value { number, interval: None, n: 1 }),
            View::Several(numbers) => match (numbers.get(&found.path()), found.key) {
                (Some(combined), _) => {
                    Some(Value { number: combined.number(), interval: combined.interval(), n: combined.n() })
                }
                // A distribution that is known and does not list a number.
                (None, Some(_)) => {
                    let base = found.metric.base();
                    let n = numbers.iter().find_map(|(path, other)| is_in(path, base).then(|| other.n()))?;
                    Some(Value { number: 0.0, interval: None, n })
                }
                (None, None) => None,
            },
        }
    }

    /// All metrics that are known, by their path, in the order of the table of metrics.
    pub fn known(self) -> Vec<(String, Value)> {
        let found = match self {
            View::One(part) => Part::all_known(&[part]),
            View::Several(numbers) => {
                let mut found: Vec<Found> = numbers.keys().filter_map(|path| metric::find(path).ok()).collect();
                found.sort_by_key(|found| (found.metric.place(), found.key));
                found
            }
        };
        found.into_iter().filter_map(|found| Some((found.path(), self.of(found)?))).collect()
    }

    /// What each run says, in the order of the seeds; none of a run that does not know it.
    pub fn each(self, path: &str) -> Vec<Option<f64>> {
        match self {
            View::One(part) => vec![metric::known(path).of(part)],
            View::Several(numbers) => numbers.get(path).map_or(Vec::new(), |combined| combined.values().to_vec()),
        }
    }

    /// The distribution at a path such as `load_distribution.true`; none where it is not known.
    ///
    /// # Panics
    ///
    /// There is no such distribution.
    pub fn distribution(self, path: &str) -> Option<BTreeMap<u32, f64>> {
        match self {
            View::One(part) => part.distribution_at(path),
            View::Several(numbers) => {
                let entry = |(own, combined): (&String, &runs::Combined)| {
                    Some((own.strip_prefix(path)?.strip_prefix('.')?.parse().ok()?, combined.number()))
                };
                Some(numbers.iter().filter_map(entry).collect()).filter(|found: &BTreeMap<_, _>| !found.is_empty())
            }
        }
    }
}

/// Whether a path is that of a number of a distribution.
fn is_in(path: &str, base: &str) -> bool {
    path.strip_prefix(base).is_some_and(|rest| rest.starts_with('.'))
}

impl<'de> Deserialize<'de> for Outcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Outcome, D::Error> {
        let json = Json::deserialize(deserializer)?;
        let form = json.get("schema").and_then(Json::as_str).unwrap_or_default().to_string();
        match form.as_str() {
            result::SCHEMA => serde_json::from_value::<RunResult>(json).map(Outcome::from).map_err(D::Error::custom),
            runs::SCHEMA => serde_json::from_value::<RunsResult>(json).map(Outcome::from).map_err(D::Error::custom),
            "schedlab.result/1" | "schedlab.runs/1" => {
                Err(D::Error::custom(format!("its schema is `{form}`, of an earlier version: run it again")))
            }
            _ => {
                let known = format!("`{}` and `{}`", result::SCHEMA, runs::SCHEMA);
                Err(D::Error::custom(format!("its field `schema` is `{form}`; known are {known}")))
            }
        }
    }
}
