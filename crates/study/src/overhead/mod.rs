//! The cost of multitasking as a study sees it from outside, for each system and each number of tasks, next to the truth
//! where that is known. The estimators are those of [`schedlab_metrics::overhead`].

mod page;
mod statements;

pub use page::{Pages, page};

use crate::case::{Case, Experiment};
use crate::language::{OverheadMetric, OverheadSpec};
use crate::page::number;
use crate::runner::{CaseOutcome, Observed};
use crate::seen::Look;
use crate::verdict::LEFT_OUT;
use schedlab_metrics::combine::LEVEL;
use schedlab_metrics::overhead::{self as estimators, Estimate};
use schedlab_metrics::statistics::mean;
use schedlab_model::count::counted;
use schedlab_venue::VenueName;
use toml::{Table, Value};

/// A scheduler in a place, with what was seen of it by the number of tasks.
struct System {
    name: Vec<String>,
    venue: VenueName,
    points: Vec<Point>,
}

/// What was seen with one number of tasks.
struct Point {
    tasks: u32,
    /// Time for the computations of one task, in seconds.
    elapsed: f64,
    q: Estimate,
    /// O'v in seconds.
    added: Estimate,
    /// That of O'v over the runs, in s².
    variance: Option<Estimate>,
    /// The true Q(n).
    truth: Option<f64>,
    /// The time that each switch added, in seconds.
    per_switch: Option<f64>,
    /// What Q' lacks to differ from zero, and so all that follows from it.
    lacks: Option<Lacks>,
    /// What others took next to one task and next to all, where that explains Q' as well as sharing does.
    others: Option<(f64, f64)>,
    /// What the variance lacks to be known.
    variance_lacks: Option<Lacks>,
}

/// What is refused lacks blocks: how many there are, and how many would make it enough, where that can be said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lacks {
    made: u32,
    enough: Option<u32>,
}

impl Lacks {
    /// How many blocks to make next: those that would be enough, at most `limit`; none when that many are made.
    pub fn next(self, limit: u32) -> Option<u32> {
        (self.made < limit).then(|| self.enough.unwrap_or(limit).clamp(self.made + 1, limit))
    }

    fn words(self) -> String {
        let enough = self.enough.map_or_else(
            || format!("more than {} would be needed", estimators::MOST_BLOCKS),
            |enough| format!("about {enough} would do"),
        );
        format!("{}, {enough}", counted(self.made, "block"))
    }
}

impl System {
    /// What came of the cases of one run under one policy, or of one block of them; without a run of a single task there is nothing
    /// to say.
    fn of(spec: &OverheadSpec, name: Vec<String>, cases: &[(&Case, &CaseOutcome)], block: Option<usize>) -> System {
        let seen = cases.iter().filter_map(|&(case, outcome)| match outcome {
            CaseOutcome::Ran(observed) => Some((tasks(case, spec)?, &**observed)),
            CaseOutcome::NotRun(_) => None,
        });
        let mut seen: Vec<(u32, &Observed)> = seen.collect();
        seen.sort_by_key(|(tasks, _)| *tasks);
        let alone = seen.first().filter(|(tasks, _)| *tasks == 1).map(|(_, observed)| *observed);
        let points = alone.map_or(Vec::new(), |alone| {
            let piece = alone.pieces.first().copied().flatten();
            let blocks = |observed: &Observed| {
                let blocks: Vec<Block> =
                    alike(observed, piece).into_iter().zip(observed.taken.iter().copied()).collect();
                block.map_or(blocks.clone(), |block| blocks.get(block).copied().into_iter().collect())
            };
            let alone = blocks(alone);
            let of =
                |(tasks, observed): &(u32, &Observed)| Point::of(spec, *tasks, observed, (&alone, &blocks(observed)));
            seen.iter().filter_map(of).collect()
        });
        System { name, venue: cases.first().map_or(VenueName::Sim, |(case, _)| case.runs.place.name), points }
    }

    /// Why a value is refused, if so.
    fn refused(&self, tasks: u32, metric: OverheadMetric) -> Option<String> {
        let here = || self.points.iter().filter(move |point| point.tasks == tasks);
        let told = |lacks: Option<Lacks>, what: &str| lacks.map(|lacks| format!("{what}: {}", lacks.words()));
        let disturbed = |point: &Point| Some(took(point.tasks, point.others?));
        match metric {
            OverheadMetric::Elapsed | OverheadMetric::Truth => None,
            OverheadMetric::Variance => here()
                .find_map(|point| disturbed(point).or_else(|| told(point.variance_lacks, "the variance is not known"))),
            OverheadMetric::Q | OverheadMetric::Added | OverheadMetric::Error => {
                here().find_map(|point| disturbed(point).or_else(|| told(point.lacks, "its interval includes zero")))
            }
            OverheadMetric::PerTask | OverheadMetric::Explained => self.points.iter().find_map(|point| {
                disturbed(point).or_else(|| told(point.lacks, "a point of the line has an interval that includes zero"))
            }),
        }
    }

    /// A value at a number of tasks, or over all of them.
    fn value(&self, tasks: u32, metric: OverheadMetric) -> Option<f64> {
        let point = self.points.iter().find(|point| point.tasks == tasks);
        match metric {
            OverheadMetric::Elapsed => point.map(|point| point.elapsed * 1e9),
            OverheadMetric::Q => point.map(|point| point.q.value),
            OverheadMetric::Added => point.map(|point| point.added.value * 1e9),
            OverheadMetric::Variance => point?.variance.map(|variance| variance.value),
            OverheadMetric::Truth => point?.truth,
            OverheadMetric::Error => point.and_then(|point| Some(point.q.value - point.truth?)),
            OverheadMetric::PerTask => self.line().map(|(slope, _)| slope * 1e9),
            OverheadMetric::Explained => self.line().map(|(_, explained)| explained),
        }
    }

    /// The line of O'v over n.
    fn line(&self) -> Option<(f64, f64)> {
        estimators::proportionality(
            &self.points.iter().map(|point| (point.tasks, point.added.value)).collect::<Vec<_>>(),
        )
    }

    /// The same, where none of its points is refused.
    fn told_line(&self) -> Option<(f64, f64)> {
        self.line().filter(|_| self.points.iter().all(Point::is_told))
    }

    fn alone(&self) -> Option<&Point> {
        self.points.first()
    }
}

impl Point {
    /// Whether Q' differs from zero, and not because of others.
    fn is_told(&self) -> bool {
        self.lacks.is_none() && self.others.is_none()
    }

    /// What follows from Q', where that is told.
    fn told<T>(&self, what: T) -> Option<T> {
        self.is_told().then_some(what)
    }

    /// The variance, where there are blocks enough and others do not explain it.
    fn known_variance(&self) -> Option<Estimate> {
        self.variance.filter(|_| self.variance_lacks.is_none() && self.others.is_none())
    }

    /// Of a single task and of all together, block by block.
    fn of(spec: &OverheadSpec, tasks: u32, observed: &Observed, (alone, all): (&[Block], &[Block])) -> Option<Point> {
        let (pairs, taken): (Vec<_>, Vec<_>) =
            alone.iter().zip(all).map(|(one, all)| ((one.0, all.0), (one.1, all.1))).unzip();
        let rates: Vec<f64> = all.iter().map(|(rate, _)| *rate).collect();
        let elapsed = |tasks: u32, rate: f64| estimators::normalised(spec.computations * f64::from(tasks), 1.0, rate);
        let added =
            |&(alone, together): &(f64, f64)| estimators::added(tasks, elapsed(1, alone), elapsed(tasks, together));
        let overheads: Vec<f64> = pairs.iter().map(added).collect();
        let q = estimators::q_paired(&pairs, LEVEL)?;
        let shift = estimators::shift_by_others(&pairs, &taken, LEVEL)?;
        let (of_one, of_all): (Vec<f64>, Vec<f64>) = taken.into_iter().unzip();
        let others = (tasks > 1 && estimators::may_be_others(&q, &shift)).then(|| mean(&of_one).zip(mean(&of_all)));
        let whole = observed.result.whole();
        let is_known = whole.get("overhead_ns.switch").is_some();
        let overheads_of_cpus: Vec<f64> =
            observed.result.cpus().iter().filter_map(|cpu| cpu.metrics.get("overhead_frac")).collect();
        let truth = mean(&overheads_of_cpus)?;
        let switches = whole.get("events.switches")?;
        let duration_s = whole.get("duration_ns")? / 1e9;
        let made = pairs.len() as u32;
        let is_told = tasks == 1 || q.differs_from_zero();
        let lacks = Lacks { made, enough: estimators::blocks_to_tell(&q, made, LEVEL) };
        let enough = estimators::blocks_for_variance(LEVEL);
        let variance_lacks = Lacks { made, enough: Some(enough) };
        Some(Point {
            lacks: (!is_told).then_some(lacks),
            others: others.flatten(),
            variance_lacks: (tasks > 1 && made < enough).then_some(variance_lacks),
            tasks,
            elapsed: elapsed(tasks, mean(&rates)?),
            q,
            added: estimators::over_blocks(&overheads, LEVEL)?,
            variance: estimators::variance(&overheads, LEVEL),
            truth: is_known.then_some(truth),
            per_switch: (tasks > 1 && switches > 0.0).then(|| q.value * duration_s / switches),
        })
    }
}

/// What a run says: the rate of its tasks, and the part of the CPU time that others took.
type Block = (f64, f64);

/// What others took next to one task, and next to all.
fn took(tasks: u32, (of_one, of_all): (f64, f64)) -> String {
    let [one, all] = [of_one, of_all].map(|part| number(100.0 * part));
    format!("other programs took {one} % of the CPU next to one task and {all} % next to {tasks}")
}

/// The method asks for the same work in every run (the paper's first assumption). Where work is calibrated a computation has as
/// many pieces as the calibration of that run found to take its time, and a guest is calibrated each time it boots; so rates are
/// brought to computations of one size, that of a run in which a piece takes so long.
fn alike(observed: &Observed, piece: Option<f64>) -> Vec<f64> {
    let scale = |own: &Option<f64>| own.zip(piece).map_or(1.0, |(own, piece)| piece / own);
    observed.rates.iter().zip(&observed.pieces).map(|(rate, own)| rate * scale(own)).collect()
}

/// The number of tasks of a case.
fn tasks(case: &Case, spec: &OverheadSpec) -> Option<u32> {
    let (_, value) = case.at.iter().find(|(path, _)| *path == spec.count)?;
    value.as_integer().and_then(|tasks| u32::try_from(tasks).ok())
}

/// The systems of a part of a study: each policy of each of its runs.
fn systems(spec: &OverheadSpec, experiment: &Experiment, outcomes: &[CaseOutcome]) -> Vec<System> {
    let runs = &spec.run;
    let mut systems = Vec::new();
    for run in runs.all() {
        let cases: Vec<(&Case, &CaseOutcome)> = experiment.of_run(run, outcomes).collect();
        let mut policies: Vec<&String> = cases.iter().map(|(case, _)| &case.policy_name).collect();
        policies.dedup();
        for policy in policies {
            let own: Vec<_> = cases.iter().filter(|(case, _)| case.policy_name == *policy).copied().collect();
            let run = (runs.all().len() > 1).then(|| run.clone());
            systems.push(System::of(spec, run.into_iter().chain([policy.clone()]).collect(), &own, None));
        }
    }
    systems
}

/// What was asked for is not there.
pub enum Missing {
    /// It was not run.
    NotRun(String),
    /// It was, and too little to say it.
    Refused(String),
}

/// A value of one system: of which run, under which policy, with how many tasks (one, where nothing is said).
pub fn value(
    (experiment, outcomes): (&Experiment, &[CaseOutcome]),
    (run, policy): (&str, Option<&String>),
    at: &Table,
    metric: OverheadMetric,
    look: Look,
) -> Result<f64, Missing> {
    let not_run = |why: String| Err(Missing::NotRun(why));
    if experiment.left_out.iter().any(|name| name == run) {
        return not_run(LEFT_OUT.into());
    }
    let mut cases: Vec<_> = experiment.of_run(run, outcomes).collect();
    let policy = policy.or_else(|| cases.first().map(|(case, _)| &case.policy_name)).cloned();
    cases.retain(|(case, _)| Some(&case.policy_name) == policy.as_ref());
    let Some(spec) = cases.first().and_then(|(case, _)| case.asked.overhead.clone()) else {
        return not_run(format!("the overhead of the run `{run}` is not estimated"));
    };
    if let Some(why) = cases.iter().find_map(|(_, outcome)| outcome.why_not()) {
        return not_run(why.into());
    }
    let tasks = at.get(&spec.count).map_or(Some(1), Value::as_integer).and_then(|tasks| u32::try_from(tasks).ok());
    let Some(tasks) = tasks else { return not_run(format!("`{}` is not a number of tasks", spec.count)) };
    let block = match look {
        Look::Together => None,
        Look::Run(block) => Some(block),
        Look::Further(_) => return not_run("it is made of several cases".into()),
    };
    let system = System::of(&spec, Vec::new(), &cases, block);
    // A single block has no interval; nothing is claimed of it.
    if let Some(why) = system.refused(tasks, metric).filter(|_| block.is_none()) {
        return Err(Missing::Refused(why));
    }
    system
        .value(tasks, metric)
        .ok_or_else(|| Missing::NotRun(format!("with {} this is not known", counted(tasks, "task"))))
}

/// How many blocks the cases of one system shall have next, of which `made` are made: as many as its estimates lack, at most
/// as many as the study allows; none when nothing is lacking or no more are allowed.
pub fn blocks_wanted(spec: &OverheadSpec, cases: &[(&Case, &CaseOutcome)]) -> Option<u32> {
    let limit = spec.blocks?;
    let system = System::of(spec, Vec::new(), cases, None);
    let lacks = system.points.iter().flat_map(|point| [point.lacks, point.variance_lacks]);
    lacks.flatten().filter_map(|lacks| lacks.next(limit)).max()
}
