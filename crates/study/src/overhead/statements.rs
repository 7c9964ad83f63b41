//! What the systems of an estimate say together: what is refused, the ranking, the ordering theorem, the error.

use super::{Lacks, Point, System, estimators, took};
use crate::language::OverheadSpec;
use crate::page::number;
use schedlab_model::count::counted;

/// All that there is to say.
pub(super) fn all(spec: &OverheadSpec, systems: &[System]) -> Vec<String> {
    let mut statements = refused(spec, systems);
    statements.extend(below_zero(systems));
    statements.extend(ranking(systems));
    statements.extend(by_variance(systems));
    statements.extend((systems.len() > 1).then(|| ordering(systems)));
    statements.extend(bound(systems));
    statements
}

/// Estimates that are refused, with what would help.
fn refused(spec: &OverheadSpec, systems: &[System]) -> Vec<String> {
    let limit = spec.blocks.map_or(String::new(), |limit| format!("; at most {limit} are made"));
    let by_others = named(systems, |point| Some(took(point.tasks, point.others?))).map(|names| {
        format!(
            "Not reported, because other programs explain Q' as well (nor is anything derived from it): {names}. Run it again \
             when the machine is quiet."
        )
    });
    let with_zero = |point: &Point| point.lacks.filter(|_| point.others.is_none()).map(Lacks::words);
    let with_zero = named(systems, with_zero).map(|names| {
        format!(
            "Not reported, because the interval of Q' includes zero (nor is anything derived from it): {names}{limit}."
        )
    });
    by_others.into_iter().chain(with_zero).chain(refused_variances(systems, &limit)).collect()
}

/// The estimates for which there is a reason, each with it.
fn named(systems: &[System], why: impl Fn(&Point) -> Option<String>) -> Option<String> {
    let name = |system: &System, point: &Point| {
        let half = point.q.interval.map_or(String::new(), |(low, high)| format!(" ± {}", number(50.0 * (high - low))));
        let q = number(100.0 * point.q.value);
        let why = why(point)?;
        Some(format!("{} with {} ({q}{half} %; {why})", system.name.join(" "), counted(point.tasks, "task")))
    };
    let of_system = |system: &System| system.points.iter().filter_map(|point| name(system, point)).collect::<Vec<_>>();
    let names: Vec<String> = systems.iter().flat_map(of_system).collect();
    (!names.is_empty()).then(|| names.join("; "))
}

/// How many variances are refused, and the number of blocks that would do.
fn refused_variances(systems: &[System], limit: &str) -> Option<String> {
    let all = || systems.iter().flat_map(|system| &system.points);
    let lacking: Vec<Lacks> = all().filter_map(|point| point.variance_lacks).collect();
    let least = lacking.iter().min_by_key(|lacks| lacks.made)?;
    let (refused, points) = (lacking.len(), all().filter(|point| point.tasks > 1).count());
    Some(format!(
        "Not reported, because the interval is too wide (its upper end is more than {} times the lower one): {refused} of \
         {points} variances ({}{limit}).",
        estimators::VARIANCE_WITHIN,
        least.words()
    ))
}

/// Estimates below zero: n tasks together compute more there than one alone.
fn below_zero(systems: &[System]) -> Option<String> {
    let below = |system: &&System| system.points.iter().any(|point| point.told(point.q.value).is_some_and(|q| q < 0.0));
    let names: Vec<String> = systems.iter().filter(below).map(|system| system.name.join(" ")).collect();
    (!names.is_empty()).then(|| format!("Below zero: {}.", names.join(", ")))
}

/// The systems by what sharing adds at the largest number of tasks that all have; those whose intervals overlap stand together.
fn ranking(systems: &[System]) -> Option<String> {
    let tasks = common(systems)?;
    let told = |system: &System| {
        let point = system.points.iter().find(|point| point.tasks == tasks)?;
        Some((system.name.join(" "), point.told(point.q.value)?, point.q.interval?))
    };
    let ranked = ranked(systems.iter().filter_map(told).collect(), |q| format!("{} %", number(100.0 * q)))?;
    Some(format!("Ranking by Q'({tasks}), the smallest first, `=` where intervals overlap: {ranked}."))
}

/// The systems by the variance of what sharing adds, where that is known.
fn by_variance(systems: &[System]) -> Option<String> {
    let tasks = common(systems)?;
    let known = |system: &System| {
        let point = system.points.iter().find(|point| point.tasks == tasks)?;
        let variance = point.known_variance()?;
        Some((system.name.join(" "), variance.value, variance.interval?))
    };
    let ranked =
        ranked(systems.iter().filter_map(known).collect(), |variance| format!("{} ms", number(1e3 * variance.sqrt())))?;
    Some(format!(
        "Ranking by the variance of O'v({tasks}), the steadiest first, with the standard deviation, `=` where intervals \
         overlap: {ranked}."
    ))
}

/// The largest number of tasks that all systems have.
fn common(systems: &[System]) -> Option<u32> {
    let has = |system: &System, tasks| system.points.iter().any(|point| point.tasks == tasks);
    let of_first = systems.first()?.points.iter().map(|point| point.tasks).filter(|tasks| *tasks > 1);
    of_first.filter(|tasks| systems.iter().all(|system| has(system, *tasks))).max()
}

/// A system with an estimate and its interval.
type Told = (String, f64, (f64, f64));

/// The smallest first, `<` between those whose intervals do not overlap and `=` between others; nothing of fewer than two.
fn ranked(mut all: Vec<Told>, show: impl Fn(f64) -> String) -> Option<String> {
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    let sign = |pair: &[Told]| if pair[0].2.1 < pair[1].2.0 { " < " } else { " = " };
    let signs = std::iter::once("").chain(all.windows(2).map(sign));
    let text: String =
        signs.zip(&all).map(|(sign, (name, value, _))| format!("{sign}{name} ({})", show(*value))).collect();
    (all.len() > 1).then_some(text)
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
        "Ordering theorem: of {pairs} pairs of systems, {applies} fulfil its premises at every number of tasks that has an estimate (one takes \
         longer, in all and in relation to a single task); what follows, that this one has the greater overhead, holds for \
         {concludes} of these{broken}."
    )
}

/// The theorem applied to two systems with a number of tasks, and whether the true values agree with it where they are known.
type Order = (estimators::Ordering, Option<bool>);

/// For each number of tasks but one.
fn orders(x: &System, m: &System) -> Vec<Order> {
    let (Some(x_alone), Some(m_alone)) = (x.alone(), m.alone()) else { return Vec::new() };
    let together = |a: &Point| {
        let b = m.points.iter().find(|b| b.tasks == a.tasks && b.is_told())?;
        let order = estimators::ordering(a.tasks, (x_alone.elapsed, a.elapsed), (m_alone.elapsed, b.elapsed));
        Some((order, a.truth.zip(b.truth).map(|(a, b)| a > b)))
    };
    x.points.iter().filter(|point| point.tasks > 1 && point.is_told()).filter_map(together).collect()
}

fn apply(orders: &[Order]) -> bool {
    !orders.is_empty() && orders.iter().all(|(order, _)| order.applies())
}

/// By the estimates, and by the truth where it is known.
fn conclude(orders: &[Order]) -> bool {
    orders.iter().all(|(order, truth)| order.concludes() && *truth != Some(false))
}

/// How far the estimate is off the truth, at most, in addition to what its equation says.
fn bound(systems: &[System]) -> Option<String> {
    let off = |system: &System| {
        let alone = system.alone()?.truth?;
        let error =
            |point: &Point| Some((point.told(point.q.value)? - point.truth?, estimators::error(alone, point.q.value)));
        Some(system.points.iter().filter_map(error).collect::<Vec<_>>())
    };
    let all: Vec<(f64, f64)> = systems.iter().filter_map(off).flatten().collect();
    let most = all.iter().map(|(seen, _)| seen.abs()).reduce(f64::max)?;
    let beside = all.iter().map(|(seen, equation)| (seen - equation).abs()).reduce(f64::max)?;
    Some(format!(
        "Compared with the truth: Q' is at most {:.4} % of the time off Q. The equation for that error, -Q(1)·(1 - Q'(n)), is met \
         to {:.4} %.",
        100.0 * most,
        100.0 * beside
    ))
}
