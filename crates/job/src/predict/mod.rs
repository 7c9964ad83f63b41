//! From a recording to what other schedulers would do: first the model compared with the recording, then the model under others.
//!
//! An estimate is that of the recording times the ratio of two simulations, so that what the model gets wrong under both cancels
//! out. Its interval has two parts, on the scale of logarithms: how the ratio spreads when items are drawn again in blocks, and
//! how far the model was off under the scheduler of the recording.

mod estimate;
mod figures;
mod page;
mod resample;
mod shape;
mod show;

pub use estimate::{Estimate, estimate};
pub use figures::{Figure, Figures, by_recorded_role, figures};
pub use shape::Shape;

use schedlab_campaign::{Case, Errors, Keeps, Made, Place, Runner};
use schedlab_infer::{Doubt, InferError, Model, Price, Report, Weight};
use schedlab_model::scenario::Scenario;
use schedlab_policy::{PolicySpec, SpecError};
use schedlab_report::with_minus;
use schedlab_venue::{Policy, Run, VenueError, VenueName, remeasure};
use std::path::Path;
use std::sync::Arc;

/// What is asked for.
pub struct Question<'q> {
    /// The trace.
    pub trace: &'q Path,
    /// The file of steps, which is written where the model needs one.
    pub steps: &'q Path,
    /// The policies.
    pub policies: Vec<PolicySpec>,
    /// The numbers of CPUs; that of the recording where there is none.
    pub cpus: Vec<u32>,
    /// The policy that represents the scheduler of the recording.
    pub recorded: Option<PolicySpec>,
    /// How often items are drawn again.
    pub resamples: u32,
}

/// A figure of the recording next to that of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The role.
    pub role: String,
    /// What.
    pub figure: Figure,
    /// In the recording.
    pub recorded: f64,
    /// In the model.
    pub modelled: f64,
}

impl Checked {
    /// How far the model is off, as a part.
    pub fn error(&self) -> f64 {
        self.modelled / self.recorded - 1.0
    }
}

/// A figure under a policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// The role.
    pub role: String,
    /// What.
    pub figure: Figure,
    /// How much.
    pub estimate: Estimate,
}

/// What a policy would do on a number of CPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The policy, as it was named.
    pub policy: String,
    /// The CPUs.
    pub cpus: u32,
    /// The figures.
    pub figures: Vec<Predicted>,
    /// How the times of the model's roles are distributed under it.
    pub shape: Shape,
    /// Why there are none.
    pub failure: Option<String>,
}

/// All of it.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// What the model says about itself, with what the self-check adds.
    pub report: Report,
    /// The policy that represents the scheduler of the recording.
    pub baseline: String,
    /// The self-check.
    pub checked: Vec<Checked>,
    /// How the times of roles are distributed: in the recording, and in the model under the recording's scheduler.
    pub shapes: [Shape; 2],
    /// What is predicted; nothing where it is refused.
    pub cells: Vec<Cell>,
}

/// Why nothing is predicted.
#[derive(Debug, thiserror::Error)]
pub enum PredictError {
    /// The recording.
    #[error(transparent)]
    Model(#[from] InferError),
    /// A run.
    #[error(transparent)]
    Venue(#[from] VenueError),
    /// The trace cannot be measured.
    #[error(transparent)]
    Trace(#[from] schedlab_trace::Error),
    /// No policy is known for the recorded scheduler.
    #[error(
        "the recording was made under `{0}`, which the simulator does not have: name a policy for it, as --recorded eevdf"
    )]
    Baseline(String),
    /// A policy or a number of CPUs is in a list twice.
    #[error("`{0}` is there twice: name it once")]
    Twice(String),
    /// It was stopped.
    #[error("stopped")]
    Stopped,
}

impl From<SpecError> for PredictError {
    fn from(error: SpecError) -> PredictError {
        VenueError::from(error).into()
    }
}

/// How far means may be off before a note, and before nothing is predicted.
const MEAN: [f64; 2] = [0.10, 0.25];
/// The same of 99th percentiles, which refuse nothing.
const P99: f64 = 0.15;

/// Finds the policies of a prediction for these numbers of CPUs. No two cells of its table have the same name.
///
/// # Errors
///
/// There is no such policy, the simulator cannot run it, or something is there twice.
pub fn find_policies(specs: &[PolicySpec], cpus: &[u32]) -> Result<Vec<Policy>, PredictError> {
    let policies = Policy::find_each(specs)?;
    let sim = Place::new(VenueName::Sim, None, None).venue(1);
    VenueError::all(policies.iter().filter_map(|policy| sim.accepts(policy).err()).collect())?;
    let names = policies.iter().map(|policy| policy.label.clone()).collect::<Vec<_>>();
    let cpus = cpus.iter().map(ToString::to_string).collect::<Vec<_>>();
    let repeated =
        |list: &[String]| list.iter().enumerate().find(|(at, word)| list[..*at].contains(word)).map(|(_, w)| w.clone());
    match repeated(&names).or_else(|| repeated(&cpus)) {
        Some(twice) => Err(PredictError::Twice(twice)),
        None => Ok(policies),
    }
}

/// Models, checks and predicts.
///
/// # Errors
///
/// The recording cannot be modelled, something is asked for that cannot be, or a run failed that all others need.
pub fn predict(question: &Question, runner: &Runner) -> Result<Prediction, PredictError> {
    let policies = find_policies(&question.policies, &question.cpus)?;
    let mut model = schedlab_infer::model(question.trace, question.steps, Price::default())?;
    let baseline = match &question.recorded {
        Some(spec) => spec.clone(),
        None => {
            PolicySpec::parse(&model.report.policy).map_err(|_| PredictError::Baseline(model.report.policy.clone()))?
        }
    };
    let policy = Policy::find(&baseline)?;
    if VenueName::Sim != policy_place(&policy) {
        return Err(PredictError::Baseline(policy.label));
    }
    let measured = remeasure(question.trace, |_| ())?.0;
    let recorded = figures(&measured.result);
    let modelled = run(&[(&model.scenario, &policy)], &model.report, runner)?.pop().flatten().transpose()?;
    let Outcome { figures: modelled, shape } = modelled.ok_or(PredictError::Stopped)?;
    let shapes = [Shape::of(&measured.result, &measured.curves), shape];
    let checked = check(&recorded, &modelled);
    model.report.doubts.extend(doubts(&checked));
    let cells = match model.report.is_refused() {
        true => Vec::new(),
        false => cells((question, &policies), &model, &policy, (&recorded, &modelled), runner)?,
    };
    Ok(Prediction { report: model.report, baseline: policy.label, checked, shapes, cells })
}

/// Where the policy of a recording can run.
fn policy_place(policy: &Policy) -> VenueName {
    match policy.scheduler {
        schedlab_venue::Scheduler::Kernel => VenueName::Host,
        _ => VenueName::Sim,
    }
}

/// The figures that both know, side by side.
fn check(recorded: &Figures, modelled: &Figures) -> Vec<Checked> {
    let both = recorded.iter().filter_map(|((role, figure), &recorded)| {
        let modelled = *modelled.get(&(role.clone(), *figure))?;
        (recorded > 0.0).then(|| Checked { role: role.clone(), figure: *figure, recorded, modelled })
    });
    both.collect()
}

/// What the self-check says about the trust in the model.
fn doubts(checked: &[Checked]) -> Vec<Doubt> {
    let judged = |checked: &Checked| {
        let off = checked.error().abs();
        let weight = match checked.figure {
            Figure::MeanResponse | Figure::Throughput | Figure::CpuShare if off > MEAN[1] => Weight::Refusal,
            Figure::MeanResponse | Figure::Throughput | Figure::CpuShare if off > MEAN[0] => Weight::Note,
            Figure::P99Response if off > P99 => Weight::Note,
            _ => return None,
        };
        let what = format!(
            "under the recorded scheduler the model is {} off in {} of {}: what matters there is not in the model, or the recording is too short",
            with_minus(&percent(checked.error())),
            checked.figure.words(),
            checked.role
        );
        Some(Doubt { code: "SELF-CHECK", weight, what })
    };
    checked.iter().filter_map(judged).collect()
}

/// How far something is off, with its sign.
fn percent(part: f64) -> String {
    format!("{:+.1} %", 100.0 * part)
}

/// What each policy would do on each number of CPUs.
fn cells(
    (question, policies): (&Question, &[Policy]),
    model: &Model,
    baseline: &Policy,
    (recorded, modelled): (&Figures, &Figures),
    runner: &Runner,
) -> Result<Vec<Cell>, PredictError> {
    let cpus = if question.cpus.is_empty() { vec![model.report.cpus] } else { question.cpus.clone() };
    let mut scenarios = Vec::new();
    let drawn = if resample::is_drawn(model) { question.resamples } else { 0 };
    for number in 0..=drawn {
        // The first is the model itself.
        scenarios.push(if number == 0 { model.scenario.clone() } else { resample::resampled(model, number) });
    }
    let sized: Vec<Vec<Scenario>> = cpus
        .iter()
        .map(|cpus| scenarios.iter().map(|scenario| on(scenario, *cpus, model.report.cpus)).collect())
        .collect();
    let mut pairs: Vec<(&Scenario, &Policy)> = scenarios.iter().map(|scenario| (scenario, baseline)).collect();
    for of_size in &sized {
        pairs.extend(policies.iter().flat_map(|policy| of_size.iter().map(move |scenario| (scenario, policy))));
    }
    let mut outcomes = run(&pairs, &model.report, runner)?.into_iter();
    let mut next = || -> Vec<Option<Result<Outcome, VenueError>>> { outcomes.by_ref().take(scenarios.len()).collect() };
    let base: Vec<Figures> = next().into_iter().flatten().filter_map(Result::ok).map(|ran| ran.figures).collect();
    if base.len() < scenarios.len() {
        return Err(PredictError::Stopped);
    }
    let mut cells = Vec::new();
    for cpus in cpus {
        for policy in policies {
            let made = next();
            cells.push(cell(policy, cpus, made, &base, (recorded, modelled)));
        }
    }
    Ok(cells)
}

fn cell(
    policy: &Policy,
    cpus: u32,
    made: Vec<Option<Result<Outcome, VenueError>>>,
    base: &[Figures],
    (recorded, modelled): (&Figures, &Figures),
) -> Cell {
    let failure = made.iter().flatten().find_map(|outcome| outcome.as_ref().err().map(ToString::to_string));
    let (runs, shapes): (Vec<Figures>, Vec<Shape>) =
        made.into_iter().flatten().filter_map(Result::ok).map(|ran| (ran.figures, ran.shape)).unzip();
    let mut figures = Vec::new();
    if failure.is_none() && runs.len() == base.len() {
        // What the recording does not show cannot be compared with it, and is not predicted.
        for (key, &simulated) in runs[0].iter().filter(|(key, _)| recorded.contains_key(*key)) {
            let recorded = recorded.get(key).copied();
            let Some(&under_baseline) = modelled.get(key) else { continue };
            let pairs: Vec<(f64, f64)> =
                (1..runs.len()).filter_map(|n| Some((*base[n].get(key)?, *runs[n].get(key)?))).collect();
            let Some(estimate) = estimate(recorded, under_baseline, simulated, &pairs) else { continue };
            let estimate = key.1.most().map_or(estimate, |most| estimate.at_most(most));
            figures.push(Predicted { role: key.0.clone(), figure: key.1, estimate });
        }
    }
    // The first run is that of the model itself.
    let shape = shapes.into_iter().next().unwrap_or_default();
    Cell { policy: policy.label.clone(), cpus, figures, shape, failure }
}

/// The scenario on another number of CPUs, where every task may use those that are new.
fn on(scenario: &Scenario, cpus: u32, recorded: u32) -> Scenario {
    let mut scenario = scenario.clone();
    if cpus != recorded {
        (scenario.machine.cpus, scenario.machine.topology) = (Some(cpus), None);
    }
    scenario
}

/// What a run came to, by the roles of the recording.
struct Outcome {
    figures: Figures,
    shape: Shape,
}

impl Outcome {
    fn of(run: &Run, report: &Report) -> Outcome {
        Outcome {
            figures: by_recorded_role(&figures(&run.result), report),
            shape: Shape::of(&run.result, &run.curves).by_recorded_role(report),
        }
    }
}

/// Simulates models with that report side by side; nothing for those that had not begun when it was stopped.
fn run(
    pairs: &[(&Scenario, &Policy)],
    report: &Report,
    runner: &Runner,
) -> Result<Vec<Option<Result<Outcome, VenueError>>>, PredictError> {
    let case = |&(scenario, policy): &(&Scenario, &Policy)| -> Result<Case, VenueError> {
        let workload = scenario.compile().map_err(VenueError::from)?;
        Ok(Case {
            seeds: vec![workload.run.seed],
            workload: Arc::new(workload),
            scenario_hash: scenario.hash(),
            policy: policy.clone(),
            place: Place::new(VenueName::Sim, None, None),
            executor: None,
            check: cfg!(debug_assertions),
            costs: false,
            ears: Vec::new(),
            traces: Vec::new(),
            keeps: Keeps::Nothing,
        })
    };
    let cases = pairs.iter().map(case).collect::<Result<Vec<_>, _>>()?;
    let made = runner.carry_out(&cases, Errors::EndCases)?;
    let outcome = |made: Made| match made {
        Made::Ran(seen) => seen.first().map(|seen| Ok(Outcome::of(&seen.run, report))),
        Made::Failed(error) => Some(Err(error)),
        Made::NotBegun => None,
    };
    Ok(made.into_iter().map(outcome).collect())
}
