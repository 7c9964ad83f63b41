//! Charts of what was heard of runs.

use crate::evidence::Heard;
use schedlab_charts::{Axes, Chart, Kind, Row, is_wide};

pub use schedlab_charts::row;
use schedlab_metrics::curve::{Curve, RoleCurves};
use schedlab_model::metric::Unit;
use schedlab_report::FEWEST_RUNS;
use schedlab_views::course::Course;
use schedlab_views::usage::{GroupUsage, Usage};
use serde_json::json;

/// Intervals of this number of runs are reliable.
const ENOUGH_RUNS: u32 = 30;

/// How the times of roles are distributed; none where none are known. `of` picks the curve.
pub fn distribution(
    (id, title, caption): (&str, &str, &str),
    heard: &[Heard],
    roles: &[String],
    of: fn(&RoleCurves) -> &Curve,
) -> Option<Chart> {
    let mut rows = Vec::new();
    let mut range: Option<(u64, u64)> = None;
    for one in heard {
        for (role, curves) in roles.iter().zip(&one.curves) {
            let points = of(curves).points();
            for (value, fraction) in from_the_ground(points) {
                rows.push(row(json!({
                    "scheduler": one.label, "venue": one.venue, "panel": role,
                    "time_ms": value as f64 / 1e6, "fraction": fraction,
                })));
            }
            if let (Some((first, _)), Some((last, _))) = (points.first(), points.last()) {
                range = Some(range.map_or((*first, *last), |(low, high)| (low.min(*first), high.max(*last))));
            }
        }
    }
    let (low, high) = range?;
    let axes = Axes { log_x: is_wide(low as f64, high as f64), ..Axes::default() };
    Some(Chart { axes, ..Chart::new((id, title, caption), Kind::Distribution, rows) })
}

/// A curve begins with nothing below its first value.
fn from_the_ground(points: &[(u64, f64)]) -> impl Iterator<Item = (u64, f64)> {
    points.first().map(|(value, _)| (*value, 0.0)).into_iter().chain(points.iter().copied())
}

/// Tasks on each CPU over time.
pub fn cpu_load(heard: &[Heard]) -> Option<Chart> {
    let rows = each_course(heard, |label, course, rows| {
        for (cpu, means) in course.runnable().iter().enumerate() {
            for (from, until, tasks) in stretches(means) {
                let (from, until) = (second(course, from), second(course, until));
                rows.push(row(json!({
                    "scheduler": label, "from_s": from, "to_s": until, "cpu": cpu, "tasks": rounded(tasks),
                })));
            }
        }
    });
    let about = "Running and queued tasks on each CPU, averaged over short intervals of the first run.";
    (!rows.is_empty()).then(|| Chart::new(("cpu-load", "Tasks on each CPU over time", about), Kind::CpuLoad, rows))
}

/// Shares of roles over time; none where there is one role only.
pub fn role_share(heard: &[Heard], roles: &[String]) -> Option<Chart> {
    if roles.len() < 2 {
        return None;
    }
    let rows = each_course(heard, |label, course, rows| {
        let cpus = course.runnable().len() as f64;
        for (role, means) in roles.iter().zip(course.shares()) {
            for (piece, had) in means.iter().enumerate() {
                let share = (had / cpus * 1000.0).round() / 1000.0;
                rows.push(row(json!({
                    "scheduler": label, "from_s": second(course, piece), "role": role, "share": share,
                })));
            }
        }
    });
    let about = "CPU time of each role as a share of the machine's CPU time, over short intervals of the first run.";
    (!rows.is_empty()).then(|| Chart::new(("role-share", "CPU time of roles over time", about), Kind::RoleShare, rows))
}

/// The most panels of what control groups used.
const USAGE_PANELS: usize = 12;

/// What control groups used against their limits, over time; none where there are no control groups.
pub fn usage(heard: &[Heard]) -> Option<Chart> {
    let known = || heard.iter().filter_map(|one| Some((&one.label, one.usage.as_ref()?)));
    let each = (USAGE_PANELS / known().count().max(1)).max(1);
    let mut rows = Vec::new();
    for (label, usage) in known() {
        let mut groups: Vec<_> = usage.groups().collect();
        // Those with a limit come first where there is no room for all.
        groups.sort_by_key(|group| group.limit_cpus.is_none());
        for group in groups.iter().take(each) {
            let panel = if heard.len() == 1 { group.path.to_string() } else { format!("{label}: {}", group.path) };
            rows.extend(usage_rows(&panel, usage, group));
        }
    }
    let step = known().map(|(_, usage)| usage.step()).max()?;
    let about = format!(
        "CPUs that each control group used, and how many of its tasks were throttled: means of pieces of {step} of the first run. \
         The limit is that of the scenario."
    );
    let axes = Axes { y: Some("CPUs; tasks".into()), zero_y: true, ..Axes::default() };
    let heads = ("control-group-usage", "CPUs that control groups used over time", &about[..]);
    Some(Chart { axes, ..Chart::new(heads, Kind::Course, rows) })
}

/// One panel: each piece as a step, from its start to its end.
fn usage_rows(panel: &str, usage: &Usage, group: &GroupUsage) -> Vec<Row> {
    let point = |series: &str, x: f64, value: f64, order: usize| {
        row(json!({ "panel": panel, "series": series, "x": x, "value": rounded(value), "order": order }))
    };
    let (step, end) = (usage.step().ns(), usage.end().ns());
    let steps = |series: &str, values: &[f64]| -> Vec<Row> {
        let instants = |piece: usize| [piece as u64 * step, ((piece as u64 + 1) * step).min(end)];
        let both = |(piece, value): (usize, &f64)| {
            let [from, until] = instants(piece).map(|ns| ns as f64 / 1e9);
            [point(series, from, *value, 2 * piece), point(series, until, *value, 2 * piece + 1)]
        };
        values.iter().enumerate().flat_map(both).collect()
    };
    let mut rows = steps("CPUs used", &group.used_cpus);
    if let Some(limit) = group.limit_cpus {
        rows.extend([(0, 0), (end, 1)].map(|(ns, order)| point("limit in CPUs", ns as f64 / 1e9, limit, order)));
    }
    if group.throttled_tasks.iter().any(|tasks| *tasks > 0.0) {
        rows.extend(steps("throttled tasks", &group.throttled_tasks));
    }
    rows
}

/// What policies publish about tasks over time.
pub fn status(heard: &[Heard]) -> Option<Chart> {
    let rows = each_course(heard, |label, course, rows| {
        for words in course.statuses() {
            let task = course.names().show(words.task);
            for (time, word) in &words.said {
                rows.push(row(json!({ "scheduler": label, "time_s": time.as_s(), "task": task, "word": word })));
            }
            if let (Some((_, word)), false) = (words.said.last(), words.is_cut) {
                let end = course.end().as_s();
                rows.push(row(json!({ "scheduler": label, "time_s": end, "task": task, "word": word })));
            }
        }
    });
    let about = "The number that the policy publishes about a task: a level, a score, a priority; its README says which. \
                 The first tasks of the first run.";
    (!rows.is_empty()).then(|| Chart::new(("status", "Status of tasks", about), Kind::Status, rows))
}

fn each_course(heard: &[Heard], mut add: impl FnMut(&str, &Course, &mut Vec<Row>)) -> Vec<Row> {
    let mut rows = Vec::new();
    for one in heard {
        if let Some(course) = &one.course {
            add(&one.label, course, &mut rows);
        }
    }
    rows
}

/// Neighbouring pieces of the same value together: from the first to before the last.
fn stretches(means: &[f64]) -> Vec<(usize, usize, f64)> {
    let mut stretches: Vec<(usize, usize, f64)> = Vec::new();
    for (piece, mean) in means.iter().enumerate() {
        match stretches.last_mut() {
            Some((_, until, value)) if rounded(*value) == rounded(*mean) => *until = piece + 1,
            _ => stretches.push((piece, piece + 1, *mean)),
        }
    }
    stretches
}

/// To the precision that is visible.
fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// When a piece begins.
fn second(course: &Course, piece: usize) -> f64 {
    (course.step().ns() * piece as u64).min(course.end().ns()) as f64 / 1e9
}

/// What a value is multiplied by for people, and the unit that it then has.
pub fn for_people(unit: Unit) -> (f64, &'static str) {
    match unit {
        Unit::Ns => (1e-6, " (ms)"),
        Unit::Fraction => (100.0, " (%)"),
        Unit::PerSecond => (1.0, " (per s)"),
        Unit::Count | Unit::Ratio => (1.0, ""),
    }
}

/// How to get surer results than a number of runs gives.
pub fn more_runs(runs: u32) -> String {
    match runs {
        1 => format!("Get intervals: repeat with `--runs {ENOUGH_RUNS}`."),
        ..FEWEST_RUNS => format!("Get reliable intervals: repeat with `--runs {ENOUGH_RUNS}`."),
        runs => format!("Narrow the intervals: repeat with `--runs {}`.", 4 * runs),
    }
}

/// Of steps that may help those that apply.
pub fn applying(steps: &[(bool, &str)]) -> Vec<String> {
    steps.iter().filter(|(applies, _)| *applies).map(|(_, step)| step.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The caution about few runs asks for the same number.
    #[test]
    fn few_runs_become_enough_and_enough_become_more() {
        let said = [1, 2, 9, 10].map(more_runs);
        assert!(said[..3].iter().all(|step| step.contains("`--runs 30`")), "{said:?}");
        assert!(said[3].contains("`--runs 40`"), "{said:?}");
        assert!(schedlab_report::few_runs(9).is_some_and(|caution| caution.contains("--runs 30")));
    }

    #[test]
    fn equal_pieces_are_one_stretch() {
        assert_eq!(stretches(&[1.0, 1.001, 2.0, 1.0]), [(0, 2, 1.0), (2, 3, 2.0), (3, 4, 1.0)]);
        assert!(stretches(&[]).is_empty());
    }
}
