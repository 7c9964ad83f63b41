//! The runs of a sweep, in an order that depends on nothing but the sweep.

use crate::axis::{Axis, Kind, as_word, kind_of};
use crate::language::{Method, NameOrTable, Sample, Sweep};
use crate::measured::AxisView;
use schedlab_campaign::{Case, Keeps, Place, seeds, spread};
use schedlab_model::hash::sha256;
use schedlab_model::rng::Rng;
use schedlab_model::scenario::{Scenario, ScenarioError, combinations};
use schedlab_model::time::Time;
use schedlab_policy::PolicySpec;
use schedlab_venue::{Policy, VenueError, VenueName};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use toml::Value;

/// The axis of seeds, and the one of policies with the first word of the axes of their parameters.
const SEED: &str = "seed";
const POLICY: &str = "policy";

/// Digits of a run's name: enough to tell a million runs apart.
const NAME_DIGITS: usize = 24;

/// All runs of a sweep.
pub struct Plan {
    /// The columns of the axes.
    pub(crate) columns: Vec<Column>,
    /// The paths of what is measured.
    pub(crate) measures: Vec<String>,
    /// For each point a value on each axis.
    points: Vec<Vec<Value>>,
    /// How many axes are those of the grid; sampled ones come behind them.
    grid_axes: usize,
    scenario: Scenario,
    policies: Vec<Candidate>,
    /// Why policies of the sweep have no runs: the place refuses them.
    pub refused: Vec<VenueError>,
    /// The runs, in their order.
    pub runs: Vec<Run>,
    place: Place,
}

/// A policy as it is without the axes of its parameters.
struct Candidate {
    /// As the sweep writes it.
    name: String,
    spec: PolicySpec,
    policy: Policy,
}

/// A column with the value of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    /// The axis.
    key: String,
    pub kind: Kind,
    /// Which axis.
    index: usize,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// What distinguishes it from all others: made of all that goes into it.
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

impl Plan {
    /// All runs of a sweep. `scenario` finds scenarios that are not in it, and files of policies count from `folder`.
    ///
    /// # Errors
    ///
    /// A scenario or a policy that there is not, a value that does not fit, or no policy that can be run in the place.
    pub fn new(
        sweep: &Sweep,
        scenario: &dyn Fn(&str) -> Result<Scenario, String>,
        folder: &Path,
        threads: usize,
    ) -> Result<Plan, VenueError> {
        let spec = &sweep.spec;
        let base = match &spec.scenario {
            NameOrTable::Name(name) => scenario(name).map_err(|message| sweep.wrong("scenario", message))?,
            NameOrTable::Table(table) => Scenario::from_table_named(table, &spec.name, "scenario")
                .map_err(|error| sweep.wrong("scenario", error.message))?,
        };
        let base = spec.set.iter().try_fold(base, |base, (path, value)| base.with(path, value));
        let base = base.map_err(|error| sweep.wrong("set", error.message))?;
        let about_guests = Place::check_words(&[spec.venue], spec.kernel.as_deref(), spec.engine.as_deref());
        about_guests.map_err(|(key, why)| sweep.wrong(key, why))?;
        let place = Place::read(spec.venue, spec.kernel.as_deref(), spec.engine.as_deref());
        let place = place.map_err(|error| sweep.wrong("engine", error.to_string()))?;
        let points = points(sweep);
        let columns = sweep.keys().enumerate().map(|(index, key)| Column::new(index, key, &points)).collect();
        let mut plan = Plan {
            columns,
            measures: spec.measures.clone(),
            points,
            grid_axes: sweep.grid.len(),
            scenario: base,
            policies: Vec::new(),
            refused: Vec::new(),
            runs: Vec::new(),
            place,
        };
        (plan.policies, plan.refused) = plan.find_policies(sweep, folder)?;
        plan.place = plan.place.for_policies(plan.policies.iter().map(|candidate| &candidate.policy));
        let of_point = |point: usize| plan.runs_of(point, sweep);
        let runs: Result<Vec<Vec<Run>>, VenueError> =
            spread(threads, plan.points.len(), of_point).into_iter().collect();
        plan.runs = runs?.concat();
        Ok(plan)
    }

    /// Where the runs happen.
    pub(crate) fn venue(&self) -> VenueName {
        self.place.name
    }

    /// The columns of the axes that a table has besides those of policies and seeds.
    pub(crate) fn own_axes(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| column.is_own())
    }

    /// What a reader has to know of an axis.
    pub(crate) fn view(&self, column: &Column) -> AxisView {
        let is_sampled = column.index >= self.grid_axes;
        AxisView { key: column.key.clone(), is_time: column.kind == Kind::Time, is_sampled }
    }

    /// The value of a run on the axis of a column.
    pub(crate) fn value(&self, run: &Run, column: &Column) -> &Value {
        &self.points[run.point][column.index]
    }

    /// The policy of a run, as the sweep writes it.
    pub(crate) fn policy_name(&self, run: &Run) -> &str {
        &self.policies[run.policy].name
    }

    /// All that a run needs. The table holds what is simulated: keeping each run as well would fill disks.
    pub(crate) fn prepare(&self, run: &Run) -> Result<Case, VenueError> {
        let scenario = self.scenario_at(run.point)?;
        Ok(Case {
            workload: Arc::new(scenario.compile()?),
            scenario_hash: scenario.hash(),
            policy: self.policy_at(run.point, run.policy)?,
            place: self.place.clone(),
            seeds: vec![run.seed],
            executor: None,
            check: false,
            costs: true,
            ears: Vec::new(),
            traces: Vec::new(),
            keeps: if self.venue() == VenueName::Sim { Keeps::Nothing } else { Keeps::ForEver },
        })
    }

    /// The axes with their values at a point.
    fn values(&self, point: usize) -> impl Iterator<Item = (&str, &Value)> {
        self.columns.iter().map(|column| column.key.as_str()).zip(&self.points[point])
    }

    fn at(&self, point: usize, key: &str) -> Option<&Value> {
        self.values(point).find(|(own, _)| *own == key).map(|(_, value)| value)
    }

    fn scenario_at(&self, point: usize) -> Result<Scenario, ScenarioError> {
        let is_of_scenario = |(key, _): &(&str, &Value)| *key != SEED && *key != POLICY && !key.starts_with("policy.");
        let mut values = self.values(point).filter(is_of_scenario);
        values.try_fold(self.scenario.clone(), |scenario, (key, value)| scenario.with(key, value))
    }

    /// A policy with the parameters of a point.
    fn policy_at(&self, point: usize, policy: usize) -> Result<Policy, VenueError> {
        let Candidate { spec, policy, .. } = &self.policies[policy];
        let mut spec = spec.clone();
        for (key, value) in self.values(point) {
            let Some(key) = key.strip_prefix("policy.") else { continue };
            spec.settings.retain(|(own, _)| own != key);
            spec.settings.push((key.into(), as_word(value)));
        }
        policy.settled(&spec)
    }

    /// The policies of a point: those of its axis, or all.
    fn policies_at(&self, point: usize) -> impl Iterator<Item = usize> {
        let axis = self.at(point, POLICY).map(as_word);
        (0..self.policies.len())
            .filter(move |&policy| axis.as_ref().is_none_or(|name| *name == self.policies[policy].name))
    }

    /// Each policy once that the place accepts, and why it refuses the others.
    fn find_policies(&self, sweep: &Sweep, folder: &Path) -> Result<(Vec<Candidate>, Vec<VenueError>), VenueError> {
        let of_axis: Vec<String> =
            (0..self.points.len()).filter_map(|point| self.at(point, POLICY).map(as_word)).collect();
        let names = if of_axis.is_empty() { sweep.spec.policy.all() } else { &of_axis };
        let (mut seen, mut found, mut refused, mut wrong) = (BTreeSet::new(), Vec::new(), Vec::new(), Vec::new());
        let venue = self.place.venue(1);
        for name in names.iter().filter(|name| seen.insert(*name)) {
            let candidate = match Candidate::find(name, folder) {
                Ok(candidate) => candidate,
                Err(error) => {
                    wrong.push(sweep.wrong(POLICY, error.to_string()).into());
                    continue;
                }
            };
            match venue.accepts(&candidate.policy) {
                Ok(()) => found.push(candidate),
                Err(refusal) => refused.push(refusal.without_venues("choose another `venue` in the sweep")),
            }
        }
        VenueError::all(wrong)?;
        if found.is_empty() {
            VenueError::all(std::mem::take(&mut refused))?;
        }
        match found.is_empty() {
            false => Ok((found, refused)),
            true => Err(sweep.wrong(POLICY, "a sweep needs at least one policy").into()),
        }
    }

    /// The runs of a point.
    fn runs_of(&self, point: usize, sweep: &Sweep) -> Result<Vec<Run>, VenueError> {
        let misfit = |error: String| sweep.wrong("axis", error);
        let scenario = self.scenario_at(point).map_err(|error| misfit(error.message))?;
        let workload = scenario.compile().map_err(|error| misfit(error.to_string()))?;
        let duration_ns = workload.run.end().map(Time::ns);
        let seeds = match self.at(point, SEED) {
            Some(value) => vec![
                seed(value)
                    .ok_or_else(|| misfit(format!("`seed`: {value} is not a seed: write a number from 0 on")))?,
            ],
            None => seeds(sweep.spec.seed.unwrap_or(workload.run.seed), sweep.spec.runs),
        };
        let here = self.identity_at(point, &scenario.hash());
        let mut runs = Vec::new();
        for policy in self.policies_at(point) {
            let settled = self.policy_at(point, policy).map_err(|error| misfit(error.to_string()))?;
            let who = format!("{} {}", self.policies[policy].name, settled.identity());
            runs.extend(seeds.iter().map(|&seed| {
                let all = format!("{here}\n{who}\n{seed}");
                let name = sha256(all.as_bytes())[..NAME_DIGITS].to_string();
                Run { name, point, policy, seed, duration_ns }
            }));
        }
        Ok(runs)
    }

    /// What goes into the runs of a point regardless of the policy. Two points may be the same scenario; each has runs of its own.
    fn identity_at(&self, point: usize, scenario_hash: &str) -> String {
        let mut axes: Vec<String> = self.values(point).map(|(key, value)| format!("{key} {value}")).collect();
        axes.sort();
        let (place, measures) = (self.place.words(), self.measures.join(" "));
        [env!("CARGO_PKG_VERSION"), scenario_hash, &place, &measures, &axes.join("\n")].join("\n")
    }
}

impl Candidate {
    fn find(name: &str, folder: &Path) -> Result<Candidate, VenueError> {
        let spec = PolicySpec::parse(name)?.beside(folder);
        Ok(Candidate { name: name.into(), policy: Policy::find(&spec)?, spec })
    }
}

impl Column {
    fn new(index: usize, key: &str, points: &[Vec<Value>]) -> Column {
        Column { key: key.into(), kind: kind_of(points.iter().map(|point| &point[index])), index }
    }

    /// What a table calls it. Times are in nanoseconds, and their name says so.
    pub(crate) fn name(&self) -> String {
        let unit = if self.kind == Kind::Time && !self.key.ends_with("_ns") { "_ns" } else { "" };
        format!("{}{unit}", self.key)
    }

    /// Policy and seed have a column in any table.
    pub(crate) fn is_own(&self) -> bool {
        ![POLICY, SEED].contains(&self.key.as_str())
    }
}

fn seed(value: &Value) -> Option<u64> {
    value.as_integer().and_then(|seed| u64::try_from(seed).ok())
}

/// All combinations of the grid, the last axis fastest, each with each point of the sample.
fn points(sweep: &Sweep) -> Vec<Vec<Value>> {
    let grid: Vec<Vec<Value>> = sweep.grid.iter().map(|(_, values)| values.clone()).collect();
    let points = combinations(&grid);
    let Some(sample) = &sweep.spec.sample else { return points };
    let drawn = drawn(sample, &sweep.sampled);
    points.iter().flat_map(|point| drawn.iter().map(|more| [point.as_slice(), more].concat())).collect()
}

/// Points at random places.
fn drawn(sample: &Sample, axes: &[(String, Axis)]) -> Vec<Vec<Value>> {
    let count = sample.points as usize;
    let of_axis = |(key, axis): &(String, Axis)| -> Vec<Value> {
        let mut rng = Rng::split(sample.seed, &format!("sample/{key}"));
        let places = match sample.method {
            Method::LatinHypercube => rng.evenly(count),
            // As many draws as above come first: the points of a sweep file stay what they are.
            Method::Random => rng.shuffled(count).into_iter().map(|_| rng.unit()).collect(),
        };
        places.into_iter().map(|place| axis.at(place)).collect()
    };
    let by_axis: Vec<Vec<Value>> = axes.iter().map(of_axis).collect();
    let drawn = (0..count).map(|point| by_axis.iter().map(|values| values[point].clone()).collect::<Vec<_>>());
    // Few whole numbers may be drawn more than once.
    let mut seen = BTreeSet::new();
    drawn.filter(|point| seen.insert(point.iter().map(Value::to_string).collect::<Vec<_>>())).collect()
}

/// Where each run stands.
pub(crate) fn by_name(plan: &Plan) -> BTreeMap<&str, usize> {
    plan.runs.iter().enumerate().map(|(index, run)| (run.name.as_str(), index)).collect()
}
