//! The runs of a sweep, in an order that depends on nothing but the sweep.

use crate::axis::{Axis, Kind, as_word, kind_of};
use crate::language::{Method, NameOrTable, Sample, Sweep};
use schedlab_model::hash::sha256;
use schedlab_model::rng::Rng;
use schedlab_model::scenario::{Scenario, ScenarioError};
use schedlab_model::time::Time;
use schedlab_model::workload::Workload;
use schedlab_policy::PolicySpec;
use schedlab_venue::{Algorithm, EngineSpec, Monitor, Policy, Venue, VenueError, seeds, spread};
use std::collections::{BTreeMap, BTreeSet};
use toml::Value;

/// The kernel of virtual machines where a sweep names none.
const KERNEL: &str = "debian:13-backports";

/// The axis of seeds, and the one of policies with the first word of the axes of their parameters.
const SEED: &str = "seed";
const POLICY: &str = "policy";

/// Digits of a run's name: so many that a million runs have names of their own.
const NAME_DIGITS: usize = 24;

/// All runs of a sweep.
pub struct Plan {
    /// The columns of the axes.
    pub(crate) columns: Vec<Column>,
    /// The paths of what is measured.
    pub(crate) measures: Vec<String>,
    /// For each point a value on each axis.
    points: Vec<Vec<Value>>,
    scenario: Scenario,
    policies: Vec<(PolicySpec, Policy)>,
    /// The runs, in their order.
    pub runs: Vec<Run>,
    venue: Box<dyn Venue>,
}

/// A column that tells a value of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub name: String,
    pub kind: Kind,
    /// Which axis.
    index: usize,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// What tells it from all others: made of all that goes into it.
    pub name: String,
    /// Which point.
    point: usize,
    /// Which policy.
    policy: usize,
    /// Which seed.
    pub seed: u64,
    /// Its simulated time, where it has an end.
    pub duration_ns: Option<u64>,
}

/// What a run needs.
pub(crate) struct Prepared {
    pub workload: Workload,
    pub scenario_hash: String,
    pub policy: Policy,
}

impl Plan {
    /// All runs of a sweep. `scenario` finds scenarios that are not in it.
    ///
    /// # Errors
    ///
    /// A scenario or a policy that there is not, a value that does not fit.
    pub fn new(
        sweep: &Sweep,
        scenario: &dyn Fn(&str) -> Result<Scenario, String>,
        monitor: &Monitor,
        threads: usize,
    ) -> Result<Plan, VenueError> {
        let spec = &sweep.spec;
        let base = match &spec.scenario {
            NameOrTable::Name(name) => scenario(name).map_err(|message| sweep.wrong("scenario", message))?,
            NameOrTable::Table(table) => {
                let mut table = table.clone();
                table.entry("name").or_insert_with(|| Value::String(spec.name.clone()));
                Scenario::from_table(table, "scenario").map_err(|error| sweep.wrong("scenario", error.message))?
            }
        };
        let base = spec.set.iter().try_fold(base, |base, (path, value)| base.with(path, value));
        let base = base.map_err(|error| sweep.wrong("set", error.message))?;
        let engine = spec.engine.as_ref().map(|engine| engine.parse::<EngineSpec>()).transpose();
        let engine = engine.map_err(|error| sweep.wrong("engine", error.to_string()))?;
        let venue = spec.venue.venue(spec.kernel.as_deref().unwrap_or(KERNEL), engine, Algorithm::Spin);
        let points = points(sweep)?;
        let columns = sweep.keys().enumerate().map(|(index, key)| Column::new(index, key, &points)).collect();
        let mut plan = Plan {
            columns,
            measures: spec.measures.clone(),
            points,
            scenario: base,
            policies: Vec::new(),
            runs: Vec::new(),
            venue,
        };
        plan.policies = plan.find_policies(sweep)?;
        plan.runs = plan.all_runs(sweep, monitor, threads)?;
        Ok(plan)
    }

    /// Where the runs happen.
    pub(crate) fn venue(&self) -> &dyn Venue {
        &*self.venue
    }

    /// Simulated time of all runs together, in nanoseconds; none where one has no end.
    pub fn duration_ns(&self) -> Option<u64> {
        self.runs.iter().try_fold(0_u64, |sum, run| Some(sum.saturating_add(run.duration_ns?)))
    }

    /// The value of a run on the axis of a column.
    pub(crate) fn value(&self, run: &Run, column: &Column) -> &Value {
        &self.points[run.point][column.index]
    }

    /// The policy of a run, as the sweep writes it.
    pub(crate) fn policy_name(&self, run: &Run) -> String {
        match self.at(run.point, POLICY) {
            Some(policy) => as_word(policy),
            None => self.policies[run.policy].0.to_string(),
        }
    }

    /// All that a run needs.
    pub(crate) fn prepare(&self, run: &Run) -> Result<Prepared, VenueError> {
        let scenario = self.scenario_at(run.point)?;
        let policy = self.policy_at(run.point, run.policy)?;
        Ok(Prepared { workload: scenario.compile()?, scenario_hash: scenario.hash(), policy })
    }

    fn keys(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(Column::key)
    }

    fn at(&self, point: usize, key: &str) -> Option<&Value> {
        self.columns.iter().find(|column| column.key() == key).map(|column| &self.points[point][column.index])
    }

    fn scenario_at(&self, point: usize) -> Result<Scenario, ScenarioError> {
        let is_of_scenario = |(key, _): &(&str, &Value)| *key != SEED && *key != POLICY && !key.starts_with("policy.");
        let mut values = self.keys().zip(&self.points[point]).filter(is_of_scenario);
        values.try_fold(self.scenario.clone(), |scenario, (key, value)| scenario.with(key, value))
    }

    /// A policy with the parameters of a point.
    fn policy_at(&self, point: usize, policy: usize) -> Result<Policy, VenueError> {
        let (mut spec, found) = match self.at(point, POLICY).map(as_word) {
            None => self.policies[policy].clone(),
            Some(name) => {
                self.policies.iter().find(|(spec, _)| spec.to_string() == name).cloned().expect("all are found")
            }
        };
        for (key, value) in self.keys().zip(&self.points[point]) {
            let Some(key) = key.strip_prefix("policy.") else { continue };
            spec.settings.retain(|(own, _)| own != key);
            spec.settings.push((key.into(), as_word(value)));
        }
        found.settled(&spec)
    }

    /// Each policy once, as it is without the axes.
    fn find_policies(&self, sweep: &Sweep) -> Result<Vec<(PolicySpec, Policy)>, VenueError> {
        let varied = self.columns.iter().find(|column| column.key() == POLICY);
        let mut names: Vec<String> = match varied {
            Some(column) => self.points.iter().map(|point| as_word(&point[column.index])).collect(),
            None => sweep.spec.policy.all().to_vec(),
        };
        let mut seen = Vec::new();
        names.retain(|name| {
            !seen.contains(name) && {
                seen.push(name.clone());
                true
            }
        });
        let find = |name: &String| {
            let spec = PolicySpec::parse(name).map_err(|error| sweep.wrong(POLICY, error.to_string()))?;
            let policy = Policy::find(&spec).map_err(|error| sweep.wrong(POLICY, error.to_string()))?;
            self.venue.accepts(&policy)?;
            Ok((spec, policy))
        };
        let found: Result<Vec<_>, VenueError> = names.iter().map(find).collect();
        let found = found?;
        if found.is_empty() {
            return Err(sweep.wrong(POLICY, "a sweep needs at least one policy").into());
        }
        Ok(found)
    }

    fn all_runs(&self, sweep: &Sweep, monitor: &Monitor, threads: usize) -> Result<Vec<Run>, VenueError> {
        let policies = if self.columns.iter().any(|column| column.key() == POLICY) { 1 } else { self.policies.len() };
        let of_point = |point: usize| (!monitor.is_stopped()).then(|| self.runs_of(point, policies, sweep));
        let mut runs = Vec::new();
        for made in spread(threads, self.points.len(), of_point).into_iter().flatten() {
            runs.extend(made?);
        }
        Ok(runs)
    }

    /// The runs of a point.
    fn runs_of(&self, point: usize, policies: usize, sweep: &Sweep) -> Result<Vec<Run>, VenueError> {
        let misfit = |error: String| sweep.wrong("axis", error);
        let scenario = self.scenario_at(point).map_err(|error| misfit(error.message))?;
        let workload = scenario.compile().map_err(|error| misfit(error.to_string()))?;
        let hash = scenario.hash();
        let duration = workload.run.duration;
        let duration_ns = (duration < Time::NEVER).then(|| duration.ns());
        let seeds = match self.at(point, SEED) {
            Some(value) => vec![
                seed(value).ok_or_else(|| misfit(format!("`seed`: {value} is no seed: write a number from 0 on")))?,
            ],
            None => seeds(sweep.spec.seed.unwrap_or(workload.run.seed), sweep.spec.runs),
        };
        let mut runs = Vec::new();
        for policy in 0..policies {
            let settled = self.policy_at(point, policy).map_err(|error| misfit(error.to_string()))?;
            let object = settled.hash.as_deref().unwrap_or_default();
            let what = format!("{} {:?} {object}", settled.info.name, settled.info.parameters);
            let spec = &sweep.spec;
            let place = format!("{} {:?} {:?}", spec.venue.name(), spec.kernel, spec.engine);
            // Two points may be the same scenario; each has runs of its own.
            let mut here: Vec<String> =
                self.keys().zip(&self.points[point]).map(|(key, value)| format!("{key} {value}")).collect();
            here.sort();
            let version = env!("CARGO_PKG_VERSION");
            for seed in &seeds {
                let all =
                    [version, &hash, &what, &place, &here.join("\n"), &seed.to_string(), &self.measures.join(" ")]
                        .join("\n");
                let name = sha256(all.as_bytes())[..NAME_DIGITS].to_string();
                runs.push(Run { name, point, policy, seed: *seed, duration_ns });
            }
        }
        Ok(runs)
    }
}

impl Column {
    /// Times are told in nanoseconds, and their name says so.
    fn new(index: usize, key: &str, points: &[Vec<Value>]) -> Column {
        let kind = kind_of(points.iter().map(|point| &point[index]));
        let unit = if kind == Kind::Time { "_ns" } else { "" };
        Column { name: format!("{key}{unit}"), kind, index }
    }

    /// The axis.
    fn key(&self) -> &str {
        if self.kind == Kind::Time { self.name.trim_end_matches("_ns") } else { &self.name }
    }
}

fn seed(value: &Value) -> Option<u64> {
    value.as_integer().and_then(|seed| u64::try_from(seed).ok())
}

/// All combinations of the grid, the last axis fastest, each with each point of the sample.
fn points(sweep: &Sweep) -> Result<Vec<Vec<Value>>, ScenarioError> {
    let mut points = vec![Vec::new()];
    for (key, axis) in &sweep.grid {
        let values = axis.values().map_err(|message| sweep.wrong("axis", format!("`{key}`: {message}")))?;
        let longer = |point: &Vec<Value>| {
            values.iter().map(|value| [point.as_slice(), std::slice::from_ref(value)].concat()).collect::<Vec<_>>()
        };
        points = points.iter().flat_map(longer).collect();
    }
    let Some(sample) = &sweep.spec.sample else { return Ok(points) };
    let drawn = drawn(sample, &sweep.sampled);
    Ok(points.iter().flat_map(|point| drawn.iter().map(|more| [point.as_slice(), more].concat())).collect())
}

/// Points at random places.
fn drawn(sample: &Sample, axes: &[(String, Axis)]) -> Vec<Vec<Value>> {
    let count = u64::from(sample.points);
    let of_axis = |(key, axis): &(String, Axis)| -> Vec<Value> {
        let mut rng = Rng::split(sample.seed, &format!("sample/{key}"));
        let mut parts: Vec<u64> = (0..count).collect();
        for last in (1..parts.len()).rev() {
            parts.swap(last, rng.below(last as u64 + 1) as usize);
        }
        let place = |part: u64, rng: &mut Rng| match sample.method {
            Method::LatinHypercube => (part as f64 + rng.unit()) / count as f64,
            Method::Random => rng.unit(),
        };
        parts.into_iter().map(|part| axis.at(place(part, &mut rng))).collect()
    };
    let by_axis: Vec<Vec<Value>> = axes.iter().map(of_axis).collect();
    let drawn = (0..count as usize).map(|point| by_axis.iter().map(|values| values[point].clone()).collect::<Vec<_>>());
    // Few whole numbers may be drawn more than once.
    let mut seen = BTreeSet::new();
    drawn.filter(|point| seen.insert(point.iter().map(Value::to_string).collect::<Vec<_>>())).collect()
}

/// Where each run stands.
pub(crate) fn by_name(plan: &Plan) -> BTreeMap<&str, usize> {
    plan.runs.iter().enumerate().map(|(index, run)| (run.name.as_str(), index)).collect()
}
