//! The cost of multitasking as a study sees it from outside, for each system and each number of tasks, beside the truth
//! where that is known. The estimators are those of [`schedlab_metrics::overhead`].

use crate::case::{Case, Experiment};
use crate::language::{OverheadMetric, OverheadSpec};
use crate::runner::{CaseOutcome, Observed};
use crate::table::{TableKind, TablePage, TableRow};
use schedlab_metrics::combine::LEVEL;
use schedlab_metrics::curve::Curve;
use schedlab_metrics::overhead::{self as estimators, Estimate};
use schedlab_metrics::statistics::mean;
use schedlab_venue::VenueName;
use toml::{Table, Value};

/// A scheduler in a place, with what was seen of it by the number of tasks.
struct System {
    name: Vec<String>,
    venue: VenueName,
    points: Vec<Point>,
}

/// What was seen with so many tasks.
struct Point {
    tasks: u32,
    /// Time for the computations of one task, in seconds.
    elapsed: f64,
    q: Estimate,
    /// O'v in seconds.
    added: f64,
    /// That of O'v over the runs, in s².
    variance: Option<Estimate>,
    /// The true Q(n).
    truth: Option<f64>,
    /// The time that each switch added, in seconds.
    per_switch: Option<f64>,
}

impl System {
    /// What came of the cases of one run under one policy; without a run of a single task there is nothing to say.
    fn of(spec: &OverheadSpec, name: Vec<String>, cases: &[(&Case, &CaseOutcome)]) -> System {
        let seen = cases.iter().filter_map(|&(case, outcome)| match outcome {
            CaseOutcome::Ran(observed) => Some((tasks(case, spec)?, &**observed)),
            CaseOutcome::NotRun(_) => None,
        });
        let mut seen: Vec<(u32, &Observed)> = seen.collect();
        seen.sort_by_key(|(tasks, _)| *tasks);
        let alone = seen.first().filter(|(tasks, _)| *tasks == 1).map(|(_, observed)| &observed.rates);
        let points = alone.map_or(Vec::new(), |alone| {
            seen.iter().filter_map(|(tasks, observed)| Point::of(spec, *tasks, observed, alone)).collect()
        });
        System { name, venue: cases.first().map_or(VenueName::Sim, |(case, _)| case.runs.place.name), points }
    }

    /// A value at a number of tasks, or over all of them.
    fn value(&self, tasks: u32, metric: OverheadMetric) -> Option<f64> {
        let point = self.points.iter().find(|point| point.tasks == tasks);
        match metric {
            OverheadMetric::Elapsed => point.map(|point| point.elapsed * 1e9),
            OverheadMetric::Q => point.map(|point| point.q.value),
            OverheadMetric::Added => point.map(|point| point.added * 1e9),
            OverheadMetric::Variance => point?.variance.map(|variance| variance.value),
            OverheadMetric::Truth => point?.truth,
            OverheadMetric::Error => point.and_then(|point| Some(point.q.value - point.truth?)),
            OverheadMetric::PerTask => self.line().map(|(slope, _)| slope * 1e9),
            OverheadMetric::Explained => self.line().map(|(_, explained)| explained),
        }
    }

    /// The line of O'v over n.
    fn line(&self) -> Option<(f64, f64)> {
        estimators::proportionality(&self.points.iter().map(|point| (point.tasks, point.added)).collect::<Vec<_>>())
    }

    fn alone(&self) -> Option<&Point> {
        self.points.first()
    }
}

impl Point {
    fn of(spec: &OverheadSpec, tasks: u32, observed: &Observed, alone: &[f64]) -> Option<Point> {
        let pairs: Vec<(f64, f64)> = alone.iter().copied().zip(observed.rates.iter().copied()).collect();
        let elapsed = |tasks: u32, rate: f64| estimators::normalised(spec.computations * f64::from(tasks), 1.0, rate);
        let added =
            |&(alone, together): &(f64, f64)| estimators::added(tasks, elapsed(1, alone), elapsed(tasks, together));
        let overheads: Vec<f64> = pairs.iter().map(added).collect();
        let q = estimators::q_paired(&pairs, LEVEL)?;
        let whole = observed.result.whole();
        let is_known = whole.get("overhead_ns.switch").is_some();
        let overheads_of_cpus: Vec<f64> =
            observed.result.cpus().iter().filter_map(|cpu| cpu.metrics.get("overhead_frac")).collect();
        let truth = mean(&overheads_of_cpus)?;
        let switches = whole.get("events.switches")?;
        let duration_s = whole.get("duration_ns")? / 1e9;
        Some(Point {
            tasks,
            elapsed: elapsed(tasks, mean(&observed.rates)?),
            q,
            added: mean(&overheads)?,
            variance: estimators::variance(&overheads, LEVEL),
            truth: is_known.then_some(truth),
            per_switch: (tasks > 1 && switches > 0.0).then(|| q.value * duration_s / switches),
        })
    }
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
            systems.push(System::of(spec, run.into_iter().chain([policy.clone()]).collect(), &own));
        }
    }
    systems
}

/// A value of one system: of which run, under which policy, with how many tasks (one, where nothing is said).
pub fn value(
    (experiment, outcomes): (&Experiment, &[CaseOutcome]),
    (run, policy): (&str, Option<&String>),
    at: &Table,
    metric: OverheadMetric,
) -> Result<f64, String> {
    if experiment.left_out.iter().any(|name| name == run) {
        return Err("the quick version leaves it out".into());
    }
    let mut cases: Vec<_> = experiment.of_run(run, outcomes).collect();
    let policy = policy.or_else(|| cases.first().map(|(case, _)| &case.policy_name)).cloned();
    cases.retain(|(case, _)| Some(&case.policy_name) == policy.as_ref());
    let spec = cases.first().and_then(|(case, _)| case.asked.overhead.clone());
    let spec = spec.ok_or_else(|| format!("the overhead of the run `{run}` is not estimated"))?;
    if let Some(why) = cases.iter().find_map(|(_, outcome)| outcome.why_not()) {
        return Err(why.into());
    }
    let tasks = at.get(&spec.count).map_or(Some(1), Value::as_integer).and_then(|tasks| u32::try_from(tasks).ok());
    let tasks = tasks.ok_or_else(|| format!("`{}` is no number of tasks", spec.count))?;
    let system = System::of(&spec, Vec::new(), &cases);
    system.value(tasks, metric).ok_or_else(|| format!("with {tasks} tasks this is not known"))
}

/// Two tables, by the number of tasks and by system, and what the ordering theorem says of each two systems.
pub fn page(spec: &OverheadSpec, experiment: &Experiment, outcomes: &[CaseOutcome]) -> (Vec<TablePage>, Vec<String>) {
    let systems = systems(spec, experiment, outcomes);
    if systems.iter().all(|system| system.points.is_empty()) {
        return (Vec::new(), vec![format!("{}: not run here.", spec.title)]);
    }
    let mut words: Vec<String> = (spec.run.all().len() > 1).then(|| "run".to_string()).into_iter().collect();
    words.push("policy".into());
    let mut statements = vec![ordering(&systems)];
    statements.extend(bound(&systems));
    (vec![by_tasks(spec, &words, &systems), by_system(&words, &systems)], statements)
}

/// The heads of the overhead and of half its interval.
const PERCENT: &str = "Q' %";
const HALF_WIDTH: &str = "± %";

fn by_tasks(spec: &OverheadSpec, words: &[String], systems: &[System]) -> TablePage {
    type Cell = fn(&Point) -> Option<f64>;
    let columns: [(&str, Cell); 11] = [
        ("Te s", |point| Some(point.elapsed)),
        (PERCENT, |point| Some(100.0 * point.q.value)),
        (HALF_WIDTH, |point| point.q.interval.map(|(low, high)| 50.0 * (high - low))),
        ("O'v s", |point| Some(point.added)),
        ("variance s²", |point| point.variance.map(|variance| variance.value)),
        ("from", |point| Some(point.variance?.interval?.0)),
        ("to", |point| Some(point.variance?.interval?.1)),
        ("per switch us", |point| point.per_switch.map(|seconds| 1e6 * seconds)),
        ("true Q %", |point| point.truth.map(|truth| 100.0 * truth)),
        ("Q' - Q %", |point| point.truth.map(|truth| 100.0 * (point.q.value - truth))),
        ("Ov - O'v s", |point| point.truth.map(|truth| truth * point.elapsed - point.added)),
    ];
    let all = || systems.iter().flat_map(|system| system.points.iter().map(move |point| (system, point)));
    let columns: Vec<_> =
        columns.into_iter().filter(|(_, cell)| all().any(|(_, point)| cell(point).is_some())).collect();
    let place = |head: &str| columns.iter().position(|(own, _)| *own == head);
    let row = |(system, point): (&System, &Point)| {
        let names = system.name.iter().cloned().chain([point.tasks.to_string()]).collect();
        TableRow {
            names,
            venue: system.venue,
            cells: columns.iter().map(|(_, cell)| cell(point)).collect(),
            ranges: Vec::new(),
            beside: None,
            responses: Curve::default(),
        }
    };
    TablePage {
        title: spec.title.clone(),
        names: words.iter().cloned().chain(["tasks".into()]).collect(),
        heads: columns.iter().map(|(head, _)| (*head).to_string()).collect(),
        kind: TableKind::Overhead { percent: place(PERCENT).unwrap_or(0), half_width: place(HALF_WIDTH) },
        rows: all().map(row).collect(),
    }
}

fn by_system(words: &[String], systems: &[System]) -> TablePage {
    let most = systems.iter().filter_map(|system| system.points.last()).map(|point| point.tasks).max().unwrap_or(0);
    let row = |system: &System| {
        let cells = vec![
            system.line().map(|(slope, _)| 1e3 * slope),
            system.line().map(|(_, explained)| explained),
            system.points.iter().find(|point| point.tasks == most).map(|point| 100.0 * point.q.value),
        ];
        let (names, ranges, responses) = (system.name.clone(), Vec::new(), Curve::default());
        TableRow { names, venue: system.venue, cells, ranges, beside: None, responses }
    };
    let heads = ["O'v per task more ms", "explained by a line", &format!("Q'({most}) %")].map(String::from);
    TablePage {
        title: "What each task more adds".into(),
        names: words.to_vec(),
        heads: heads.to_vec(),
        kind: TableKind::Cases,
        rows: systems.iter().map(row).collect(),
    }
}

/// The ordering theorem, checked for each two systems and every number of tasks.
fn ordering(systems: &[System]) -> String {
    let (mut pairs, mut applies, mut concludes, mut broken) = (0, 0, 0, Vec::new());
    for (index, one) in systems.iter().enumerate() {
        for other in &systems[index + 1..] {
            pairs += 1;
            let both_ways = [(one, other), (other, one)].map(|(x, m)| (x, m, orders(x, m)));
            let Some((x, m, orders)) = both_ways.iter().find(|(_, _, orders)| apply(orders)) else { continue };
            applies += 1;
            match conclude(orders) {
                true => concludes += 1,
                false => broken.push(format!("{} over {}", x.name.join(" "), m.name.join(" "))),
            }
        }
    }
    let broken = if broken.is_empty() { String::new() } else { format!("; not for {}", broken.join(", ")) };
    format!(
        "Ordering theorem: of {pairs} pairs of systems, {applies} fulfil its premises at every number of tasks (one takes \
         longer, in all and in relation to a single task); what follows, that this one has the greater overhead, holds for \
         {concludes} of these{broken}."
    )
}

/// What the theorem says of two systems for a number of tasks, and whether the truth says the same where it is known.
type Order = (estimators::Ordering, Option<bool>);

/// For each number of tasks but one.
fn orders(x: &System, m: &System) -> Vec<Order> {
    let (Some(x_alone), Some(m_alone)) = (x.alone(), m.alone()) else { return Vec::new() };
    let together = |a: &Point| {
        let b = m.points.iter().find(|b| b.tasks == a.tasks)?;
        let order = estimators::ordering(a.tasks, (x_alone.elapsed, a.elapsed), (m_alone.elapsed, b.elapsed));
        Some((order, a.truth.zip(b.truth).map(|(a, b)| a > b)))
    };
    x.points.iter().filter(|point| point.tasks > 1).filter_map(together).collect()
}

fn apply(orders: &[Order]) -> bool {
    !orders.is_empty() && orders.iter().all(|(order, _)| order.applies())
}

/// By the estimates, and by the truth where it is known.
fn conclude(orders: &[Order]) -> bool {
    orders.iter().all(|(order, truth)| order.concludes() && *truth != Some(false))
}

/// How far the estimate is off the truth, at most, beside what its equation says.
fn bound(systems: &[System]) -> Option<String> {
    let off = |system: &System| {
        let alone = system.alone()?.truth?;
        let error = |point: &Point| Some((point.q.value - point.truth?, estimators::error(alone, point.q.value)));
        Some(system.points.iter().filter_map(error).collect::<Vec<_>>())
    };
    let all: Vec<(f64, f64)> = systems.iter().filter_map(off).flatten().collect();
    let most = all.iter().map(|(seen, _)| seen.abs()).reduce(f64::max)?;
    let beside = all.iter().map(|(seen, equation)| (seen - equation).abs()).reduce(f64::max)?;
    Some(format!(
        "Beside the truth: Q' is at most {:.4} % of the time off Q. The equation for that error, -Q(1)·(1 - Q'(n)), is met \
         to {:.4} %.",
        100.0 * most,
        100.0 * beside
    ))
}
