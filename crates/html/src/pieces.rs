//! Charts of what was heard of runs.

use crate::evidence::Heard;
use schedlab_charts::{Axes, Chart, Kind, Row, is_wide};
use schedlab_metrics::curve::{Curve, RoleCurves};
use schedlab_views::course::Course;
use serde_json::{Value, json};

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
    let about = "Running and queued tasks on each CPU, as means of short pieces of the first run.";
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
    let about = "CPU time of each role in parts of what the machine had, in short pieces of the first run.";
    (!rows.is_empty()).then(|| Chart::new(("role-share", "CPU time of roles over time", about), Kind::RoleShare, rows))
}

/// What policies say about tasks over time.
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
    let about = "The word that the policy publishes about a task: a level, a score, a priority; its README says which. \
                 The first tasks of the first run.";
    (!rows.is_empty()).then(|| Chart::new(("status", "What the policy says of tasks", about), Kind::Status, rows))
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

/// As fine as anybody sees.
fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// When a piece begins.
fn second(course: &Course, piece: usize) -> f64 {
    (course.step().ns() * piece as u64).min(course.end().ns()) as f64 / 1e9
}

/// An object as a row.
pub fn row(object: Value) -> Row {
    match object {
        Value::Object(row) => row,
        other => unreachable!("a row is an object: {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_pieces_are_one_stretch() {
        assert_eq!(stretches(&[1.0, 1.001, 2.0, 1.0]), [(0, 2, 1.0), (2, 3, 2.0), (3, 4, 1.0)]);
        assert!(stretches(&[]).is_empty());
    }
}
