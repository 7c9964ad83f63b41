//! What there is to run: a case for each policy and each combination of values of a run.

use crate::language::{Asked, RunSpec, Study};
use schedlab_campaign::{self as campaign, Changes, Keeps, Place, copies, further_seeds, seeds};
use schedlab_model::scenario::{Scenario, ScenarioError, combinations};
use schedlab_policy::PolicySpec;
use schedlab_report::theory::draws;
use schedlab_venue::{Policy, VenueError, VenueName};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use toml::{Table, Value};

/// One thing to run, maybe several times.
pub struct Case {
    /// The run that it belongs to.
    pub run: String,
    /// The policy, as the study writes it.
    pub policy_name: String,
    /// Its place on each axis, in the order of the file.
    pub at: Vec<(String, Value)>,
    /// What is asked of it beyond its result.
    pub asked: Asked,
    /// Its runs.
    pub runs: campaign::Case,
    /// The same under other seeds, or with small changes: how firm is what its runs say?
    pub further: Vec<campaign::Case>,
    /// What differs in those, or in its own runs where there are no further ones.
    pub beside: Beside,
}

/// What differs in the further runs of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Beside {
    /// The seed.
    Seeds,
    /// Nothing is random: tick offset, work and sleep differ a little.
    SmallChanges,
    /// Its own runs, each alone.
    Runs,
}

impl Beside {
    /// As in `5 of 5 seeds`.
    pub fn words(self) -> &'static str {
        match self {
            Beside::Seeds => "seeds",
            Beside::SmallChanges => "small changes",
            Beside::Runs => "runs alone",
        }
    }
}

impl Case {
    /// Whether it is the one that is asked for.
    pub fn is(&self, run: &str, policy: Option<&String>, at: &Table) -> bool {
        let same = |(path, value): (&String, &Value)| self.at.iter().any(|(own, here)| own == path && here == value);
        self.run == run && policy.is_none_or(|policy| *policy == self.policy_name) && at.iter().all(same)
    }
}

/// How a study is run this time.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Whether the smaller version is run.
    pub quick: bool,
    /// The first seed of every case, instead of that of its scenario.
    pub seed: Option<u64>,
    /// Under how many seeds what is simulated is looked at, its own among them.
    pub seeds: u32,
    /// The only question that is asked, by its place in the file; all of them where nothing is said.
    pub question: Option<usize>,
}

impl Default for Variant {
    fn default() -> Variant {
        Variant { quick: false, seed: None, seeds: 5, question: None }
    }
}

/// A case with this many runs does not rest on one seed, so further seeds would add little.
const MANY_RUNS: u32 = 5;

/// All cases of a study.
pub struct Experiment {
    /// How it is run.
    pub variant: Variant,
    /// The cases, in the order of the file.
    pub cases: Vec<Case>,
    /// For each run and path the values of the full version, each present if it is run here.
    axes: BTreeMap<(String, String), Vec<Option<Value>>>,
    /// Runs that the quick version leaves out.
    pub left_out: Vec<String>,
    /// Runs of which it makes fewer, or others.
    pub smaller: Vec<String>,
}

/// A policy of a study, whose files count from `folder`.
fn find(policy: &str, folder: &Path) -> Result<Policy, VenueError> {
    Policy::find(&PolicySpec::parse(policy)?.beside(folder))
}

impl Experiment {
    /// What a study asks for. `scenario` finds scenarios that are not in it, and files of policies count from `folder`;
    /// `text` is the study's file, for the places of errors.
    ///
    /// # Errors
    ///
    /// A scenario, a policy or an emulator that there is not, a value that does not fit: with line and column.
    pub fn plan(
        study: &Study,
        (text, origin): (&str, &str),
        variant: Variant,
        folder: &Path,
        scenario: &dyn Fn(&str) -> Result<Scenario, String>,
    ) -> Result<Experiment, VenueError> {
        let mut experiment =
            Experiment { variant, cases: Vec::new(), axes: BTreeMap::new(), left_out: Vec::new(), smaller: Vec::new() };
        let mut policies = BTreeMap::new();
        let only = variant.question.map(|number| &study.questions[number]);
        for (q, question) in study.questions.iter().enumerate() {
            for (r, run) in question.runs.iter().enumerate() {
                if only.is_some_and(|only| !only.looks_at(&run.name)) {
                    continue;
                }
                if variant.quick && run.quick.skip {
                    experiment.left_out.push(run.name.clone());
                    continue;
                }
                if variant.quick && run.quick.is_smaller() {
                    experiment.smaller.push(run.name.clone());
                }
                let at = |key: &str, message: String| {
                    ScenarioError::at_path(origin, text, &format!("question[{q}].run[{r}].{key}"), message)
                };
                let base = match study.scenario.get(&run.scenario) {
                    Some(table) => Scenario::from_table_named(table, &run.scenario, origin).map_err(|error| {
                        let place = format!("scenario.{}", run.scenario);
                        ScenarioError::at_path(origin, text, &place, error.message)
                    })?,
                    None => scenario(&run.scenario).map_err(|message| at("scenario", message))?,
                };
                let mut wrong: Vec<VenueError> = Vec::new();
                for policy in run.policy.all() {
                    if !policies.contains_key(policy) {
                        match find(policy, folder) {
                            Ok(found) => _ = policies.insert(policy.clone(), found),
                            Err(error) => wrong.push(at("policy", error.to_string()).into()),
                        }
                    }
                }
                VenueError::all(wrong)?;
                let about_guests = Place::check_words(&[run.venue], run.kernel.as_deref(), run.engine.as_deref());
                about_guests.map_err(|(key, why)| at(key, why))?;
                let place = Place::read(run.venue, run.kernel.as_deref(), run.engine.as_deref());
                let place = place.map_err(|error| at("engine", error.to_string()))?;
                let place = place.for_policies(run.policy.all().iter().map(|policy| &policies[policy]));
                let wrong = |error: ScenarioError| at("scenario", error.message);
                let asked = study.asked_beyond(&run.name);
                let cases = cases(run, &base, (&place, &asked), &policies, variant).map_err(wrong)?;
                for (path, list) in &run.over {
                    let is_run =
                        |value: &Value| cases.iter().any(|case| case.at.contains(&(path.clone(), value.clone())));
                    let values = list.as_array().into_iter().flatten();
                    let values = values.map(|value| is_run(value).then(|| value.clone())).collect();
                    experiment.axes.insert((run.name.clone(), path.clone()), values);
                }
                experiment.cases.extend(cases);
            }
        }
        Ok(experiment)
    }

    /// The time of all runs together, in nanoseconds, where each has an end.
    pub fn duration_ns(&self) -> Option<u64> {
        let duration = |case: &campaign::Case| Some(case.duration()?.ns().saturating_mul(case.seeds.len() as u64));
        let all = self.cases.iter().flat_map(|case| std::iter::once(&case.runs).chain(&case.further));
        all.map(duration).sum()
    }

    /// The values of what a run varies, in the order of the file; those that the quick version leaves out are absent.
    pub fn axis(&self, run: &str, path: &str) -> &[Option<Value>] {
        self.axes.get(&(run.to_string(), path.to_string())).map_or(&[], Vec::as_slice)
    }
}

fn cases(
    run: &RunSpec,
    base: &Scenario,
    (place, asked): (&Place, &Asked),
    policies: &BTreeMap<String, Policy>,
    variant: Variant,
) -> Result<Vec<Case>, ScenarioError> {
    let mut scenario = run.set.iter().try_fold(base.clone(), |scenario, (path, value)| scenario.with(path, value))?;
    let mut count = run.runs;
    let mut axes: Vec<(String, Vec<Value>)> =
        run.over.iter().map(|(path, list)| (path.clone(), list.as_array().cloned().unwrap_or_default())).collect();
    if variant.quick {
        scenario = run.quick.set.iter().try_fold(scenario, |scenario, (path, value)| scenario.with(path, value))?;
        count = run.quick.runs.unwrap_or(count);
        for (path, list) in &mut axes {
            if let Some(shorter) = run.quick.over.get(path.as_str()).and_then(Value::as_array) {
                list.clone_from(shorter);
            }
        }
    }
    let point = |point: Vec<(String, Value)>| {
        let here = point.iter().try_fold(scenario.clone(), |scenario, (path, value)| scenario.with(path, value))?;
        Ok((here.hash(), Arc::new(here.compile()?), point))
    };
    let axis = |(path, values): (String, Vec<Value>)| values.into_iter().map(|value| (path.clone(), value)).collect();
    let axes: Vec<Vec<(String, Value)>> = axes.into_iter().map(axis).collect();
    let points = combinations(&axes).into_iter().map(point).collect::<Result<Vec<_>, ScenarioError>>()?;
    let mut cases = Vec::new();
    for policy_name in run.policy.all() {
        for (scenario_hash, workload, point) in &points {
            let runs = campaign::Case {
                scenario_hash: scenario_hash.clone(),
                seeds: seeds(variant.seed.unwrap_or(workload.run.seed), count),
                workload: workload.clone(),
                policy: policies[policy_name].clone(),
                place: place.clone(),
                executor: None,
                check: false,
                costs: true,
                ears: asked.ears(),
                traces: Vec::new(),
                keeps: Keeps::ForEver,
            };
            let (beside, further) = further(&runs, variant.seeds);
            cases.push(Case {
                further,
                beside,
                run: run.name.clone(),
                policy_name: policy_name.clone(),
                at: point.clone(),
                asked: asked.clone(),
                runs,
            });
        }
    }
    Ok(cases)
}

/// The same runs under other seeds; where nothing is random, with small changes. Only what is simulated, as that is cheap.
fn further(runs: &campaign::Case, seeds_in_all: u32) -> (Beside, Vec<campaign::Case>) {
    let draws = runs.policy.draws() || draws(&runs.workload);
    let (count, base) = (runs.seeds.len() as u32, runs.seeds[0]);
    let more = seeds_in_all.saturating_sub(1);
    match (runs.place.name, draws) {
        (VenueName::Sim, true) if count < MANY_RUNS => {
            let other = |base: u64| campaign::Case { seeds: seeds(base, count), ..runs.clone() };
            (Beside::Seeds, further_seeds(base, more).into_iter().map(other).collect())
        }
        (VenueName::Sim, false) => {
            let other = |(number, workload)| {
                let scenario_hash = format!("{}, copy {number} of {more}", runs.scenario_hash);
                campaign::Case { workload: Arc::new(workload), scenario_hash, seeds: vec![base], ..runs.clone() }
            };
            (
                Beside::SmallChanges,
                copies(&runs.workload, more, base, Changes::Constants).into_iter().enumerate().map(other).collect(),
            )
        }
        _ => (Beside::Runs, Vec::new()),
    }
}
