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

/// Estimates that are refused, each with the number of blocks that would do.
fn refused(spec: &OverheadSpec, systems: &[System]) -> Vec<String> {
    let all = || systems.iter().flat_map(|system| system.points.iter().map(move |point| (system, point)));
    let limit = spec.blocks.map_or(String::new(), |limit| format!("; at most {limit} are made"));
    let of_q = |system: &System, point: &Point, why: String| {
        let half = point.q.interval.map_or(String::new(), |(low, high)| format!(" ± {}", number(50.0 * (high - low))));
        let q = number(100.0 * point.q.value);
        format!("{} with {} ({q}{half} %; {why})", system.name.join(" "), counted(point.tasks, "task"))
    };
    let by_others = |(system, point): (&System, &Point)| Some(of_q(system, point, took(point.tasks, point.others?)));
    let by_others: Vec<String> = all().filter_map(by_others).collect();
    let with_zero = |(_, point): &(&System, &Point)| point.others.is_none();
    let with_zero =
        all().filter(with_zero).filter_map(|(system, point)| Some(of_q(system, point, point.lacks?.words())));
    let with_zero: Vec<String> = with_zero.collect();
    let of_variance: Vec<Lacks> = all().filter_map(|(_, point)| point.variance_lacks).collect();
    let least = of_variance.iter().min_by_key(|lacks| lacks.made);
    let others = (!by_others.is_empty()).then(|| {
        format!(
            "Not reported, because other programs explain Q' as well (nor is anything derived from it): {}. Run it again when \
             the machine is quiet.",
            by_others.join("; ")
        )
    });
    let q = (!with_zero.is_empty()).then(|| {
        format!(
            "Not reported, because the interval of Q' includes zero (nor is anything derived from it): {}{limit}.",
            with_zero.join("; ")
        )
    });
    let variance = least.map(|lacks| {
        let (refused, points) = (of_variance.len(), all().filter(|(_, point)| point.tasks > 1).count());
        format!(
            "Not reported, because the interval is too wide (its upper end is more than {} times the lower one): \
             {refused} of {points} variances ({}{limit}).",
            estimators::VARIANCE_WITHIN,
            lacks.words()
        )
    });
    others.into_iter().chain(q).chain(variance).collect()
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
