//! The charts along one axis.

use super::ranking::LEVEL;
use super::{Measure, distinct, shown};
use crate::pieces::{for_people, row};
use schedlab_charts::{Axes, Chart, Kind, Row, is_wide};
use schedlab_metrics::statistics::{mean, mean_interval};
use schedlab_sweep::{Measured, Place, Point};
use serde_json::{Value, json};

/// How many lines a panel has at most. Where the other axes make more, they are averaged.
const LINES: usize = 8;

/// How many panels a chart has at most.
const PANELS: usize = 12;

/// Into how many groups of equally many values an axis of random places is divided.
const GROUPS: usize = 10;

/// How the points of an axis become lines.
struct Lines<'a> {
    measured: &'a Measured,
    axis: usize,
    /// The other axes that tell lines apart; none where all are averaged.
    others: Vec<usize>,
    /// Whether a point of a line is a mean over places.
    is_averaged: bool,
    /// Where there is one policy only, lines need not name it.
    has_one_policy: bool,
}

/// The charts along an axis: one with a panel for each measure where there is one role, one for each measure otherwise.
pub(super) fn of_axis(axis: usize, measures: &[Measure], measured: &Measured) -> Vec<Chart> {
    if distinct(measured, axis) < 2 {
        return Vec::new();
    }
    let lines = Lines::new(measured, axis);
    let has_one_role = measures.iter().all(|measure| measure.roles(measured).len() < 2);
    let panels = |measures: &[Measure]| -> Vec<Row> {
        let each =
            measures.iter().flat_map(|measure| measure.roles(measured).into_iter().map(move |role| (measure, role)));
        each.take(PANELS).flat_map(|(measure, role)| lines.panel(measure, role)).collect()
    };
    let key = &measured.axes[axis].key;
    if has_one_role {
        return lines.chart(&format!("axis-{axis}"), &format!("By {key}"), panels(measures)).into_iter().collect();
    }
    let of_measure = |measure: &Measure| {
        let id = format!("axis-{axis}-{}", measure.found.path());
        let title = format!("{} by {key}", measure.found.metric.name);
        lines.chart(&id, &title, panels(std::slice::from_ref(measure)))
    };
    measures.iter().filter_map(of_measure).collect()
}

impl<'a> Lines<'a> {
    fn new(measured: &'a Measured, axis: usize) -> Lines<'a> {
        let varied: Vec<usize> =
            (0..measured.axes.len()).filter(|&other| other != axis && distinct(measured, other) > 1).collect();
        let mut policies: Vec<&str> = measured.points.iter().map(|point| point.policy.as_str()).collect();
        policies.sort_unstable();
        policies.dedup();
        let count: usize = varied.iter().map(|&other| distinct(measured, other)).product::<usize>() * policies.len();
        let is_random = measured.axes[axis].is_sampled || varied.iter().any(|&other| measured.axes[other].is_sampled);
        let is_averaged = is_random || count > LINES;
        let others = if is_averaged { Vec::new() } else { varied };
        Lines { measured, axis, others, is_averaged, has_one_policy: policies.len() < 2 }
    }

    fn is_of_words(&self) -> bool {
        self.measured.points.iter().any(|point| matches!(point.places[self.axis], Place::Word(_)))
    }

    fn chart(&self, id: &str, title: &str, rows: Vec<Row>) -> Option<Chart> {
        let axis = &self.measured.axes[self.axis];
        let (about, kind) = (self.about(), if self.is_of_words() { Kind::Grouped } else { Kind::Lines });
        let numbers = || rows.iter().filter_map(|row| row.get("x")?.as_f64());
        let (low, high) = (numbers().fold(f64::INFINITY, f64::min), numbers().fold(0.0, f64::max));
        let unit = if axis.is_time { " (ms)" } else { "" };
        let x = Some(format!("{}{unit}", axis.key));
        let axes = Axes { x, value: self.name_of_lines(), log_x: is_wide(low, high), ..Axes::default() };
        (!rows.is_empty()).then(|| Chart { axes, ..Chart::new((id, title, &about), kind, rows) })
    }

    /// What lines are called together, where they are not those of schedulers: the keys of the values in their labels.
    fn name_of_lines(&self) -> Option<String> {
        let keys = self.others.iter().map(|&other| self.measured.axes[other].key.clone()).collect::<Vec<_>>();
        let policy = if self.has_one_policy { "" } else { "policy: " };
        (!keys.is_empty()).then(|| format!("{policy}{}", keys.join(", ")))
    }

    fn about(&self) -> String {
        match self.is_averaged {
            true if self.measured.axes[self.axis].is_sampled => {
                format!("Means over the other axes, in {GROUPS} groups with equally many points.")
            }
            true => "Means over the other axes.".into(),
            false => "Means over the runs of each point, with 95 % confidence intervals where runs differ.".into(),
        }
    }

    /// A measure of a role: a line for each policy and value of the other axes.
    fn panel(&self, measure: &Measure, role: &str) -> Vec<Row> {
        let (scale, unit) = for_people(measure.found.metric.unit);
        let panel = format!("{}{unit}", measure.name(role));
        let mut lines: Vec<(String, Vec<&Point>)> = Vec::new();
        for point in self.measured.points.iter().filter(|point| point.role == role) {
            let label = self.label(point);
            match lines.iter_mut().find(|(known, _)| *known == label) {
                Some((_, points)) => points.push(point),
                None => lines.push((label, vec![point])),
            }
        }
        let mut rows = Vec::new();
        for (label, points) in &lines {
            for (x, values) in self.stops(points, measure.index) {
                let Some(value) = mean(&values) else { continue };
                let name = if self.is_of_words() { "series" } else { "scheduler" };
                let mut fields = json!({ "panel": panel, name: label, "x": x, "value": scale * value });
                let interval = mean_interval(&values, LEVEL).filter(|_| !self.is_averaged);
                if let (Some(interval), false) = (interval, self.is_of_words()) {
                    (fields["low"], fields["high"]) = (json!(scale * interval.low), json!(scale * interval.high));
                }
                rows.push(row(fields));
            }
        }
        rows
    }

    /// What a line is called: its policy, and its values in the order of the axes, whose keys are above all labels.
    fn label(&self, point: &Point) -> String {
        let value = |&other: &usize| shown(&self.measured.axes[other], &point.places[other]);
        let values = self.others.iter().map(value).collect::<Vec<_>>().join(", ");
        match (values.is_empty(), self.has_one_policy) {
            (true, _) => point.policy.clone(),
            (false, true) => values,
            (false, false) => format!("{}: {values}", point.policy),
        }
    }

    /// The places of a line along the axis, each with all values there: words in the order of the sweep, numbers by size.
    fn stops(&self, points: &[&Point], measure: usize) -> Vec<(Value, Vec<f64>)> {
        let axis = &self.measured.axes[self.axis];
        let mut words: Vec<(Value, Vec<f64>)> = Vec::new();
        let mut numbers: Vec<(f64, Vec<f64>)> = Vec::new();
        for point in points {
            let values = &point.values[measure];
            match &point.places[self.axis] {
                Place::Word(word) => add(&mut words, json!(word), values),
                Place::Number(number) => add(&mut numbers, if axis.is_time { number / 1e6 } else { *number }, values),
            }
        }
        numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
        if axis.is_sampled && numbers.len() > GROUPS {
            numbers = in_groups(&numbers);
        }
        words.into_iter().chain(numbers.into_iter().map(|(number, values)| (json!(number), values))).collect()
    }
}

fn add<T: PartialEq>(stops: &mut Vec<(T, Vec<f64>)>, place: T, values: &[f64]) {
    match stops.iter_mut().find(|(known, _)| *known == place) {
        Some((_, known)) => known.extend(values),
        None => stops.push((place, values.to_vec())),
    }
}

/// Groups of equally many places, each at the mean of its places.
fn in_groups(stops: &[(f64, Vec<f64>)]) -> Vec<(f64, Vec<f64>)> {
    let group = |stops: &[(f64, Vec<f64>)]| {
        let places: Vec<f64> = stops.iter().map(|(place, _)| *place).collect();
        (mean(&places).unwrap_or_default(), stops.iter().flat_map(|(_, values)| values.clone()).collect())
    };
    let bounds = |index: usize| index * stops.len() / GROUPS;
    (0..GROUPS).map(|index| group(&stops[bounds(index)..bounds(index + 1)])).collect()
}
