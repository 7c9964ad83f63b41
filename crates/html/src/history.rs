//! What gates measured over revisions as a page.

use crate::document::{Document, Provenance, Section, TableView};
use crate::pieces::{for_people, row};
use schedlab_charts::{Axes, Chart, Kind, Row};
use schedlab_model::count::counted;
use schedlab_model::metric::Metric;
use schedlab_model::selector::Selector;
use schedlab_regression::history::{History, Point, Series};
use schedlab_report::{Column, amount};
use serde_json::json;
use std::collections::BTreeMap;

/// How many panels a chart has.
const PANELS: usize = 8;

/// A value that is another than the one before it.
struct Change<'a> {
    from: f64,
    to: f64,
    point: &'a Point,
}

/// The page of a history.
pub fn of_history(history: &History, provenance: Provenance) -> Document {
    let all = series(history);
    let mut changes: Vec<Change> = all.values().flat_map(|points| changes_of(points)).collect();
    let place = |change: &Change| history.revisions.iter().position(|known| *known == change.point.revision);
    changes.sort_by_key(|change| (std::cmp::Reverse(place(change)), !change.point.has_failed()));
    let moved: Vec<&Series> =
        all.iter().filter(|(_, points)| !changes_of(points).is_empty()).map(|(series, _)| *series).collect();
    let still: Vec<&Series> = all.keys().copied().filter(|series| !moved.contains(series)).collect();
    let facts = vec![("revisions".to_string(), history.revisions.len().to_string())];
    let tables = if changes.is_empty() { Vec::new() } else { vec![table(&changes)] };
    Document {
        title: "History of gates".into(),
        subtitle: format!(
            "{} at {}",
            counted(all.len() as u64, "value"),
            counted(history.revisions.len() as u64, "revision")
        ),
        answer: answer(&changes),
        confidence: "A value is marked where it differs from the one at the revision before.".into(),
        sections: vec![
            Section {
                id: "changes".into(),
                heading: "What changed, the latest first".into(),
                tables,
                ..Section::default()
            },
            Section {
                id: "values".into(),
                heading: "Values that changed".into(),
                charts: charts("changed", &moved, &all),
                ..Section::default()
            },
            Section {
                id: "same".into(),
                heading: "Values that never changed".into(),
                charts: charts("same", &still, &all),
                ..Section::default()
            },
        ],
        provenance: Provenance { facts, ..provenance },
        ..Document::default()
    }
}

fn series(history: &History) -> BTreeMap<&Series, Vec<&Point>> {
    let mut all: BTreeMap<&Series, Vec<&Point>> = BTreeMap::new();
    for point in history.points.iter().filter(|point| point.value.is_some()) {
        all.entry(&point.series).or_default().push(point);
    }
    all
}

fn changes_of<'a>(points: &[&'a Point]) -> Vec<Change<'a>> {
    let pairs = points.windows(2).filter_map(|pair| Some((pair[0].value?, pair[1].value?, pair[1])));
    pairs.filter(|(from, to, _)| from != to).map(|(from, to, point)| Change { from, to, point }).collect()
}

fn answer(changes: &[Change]) -> String {
    let Some(latest) = changes.first() else { return "Nothing changed at any revision.".into() };
    let Series { scenario, policy, venue, metric, .. } = &latest.point.series;
    let [from, to] = [latest.from, latest.to].map(|value| shown(metric, value));
    let (revision, subject) = (latest.point.revision.short(), &latest.point.revision.subject);
    let count = match changes.len() {
        1 => "1 change. It is".to_string(),
        count => format!("{count} changes. The latest are"),
    };
    let of_latest = changes.iter().filter(|change| change.point.revision == latest.point.revision);
    let fail = match of_latest.filter(|change| change.point.has_failed()).count() {
        0 => String::new(),
        1 => "1 fails; ".into(),
        count => format!("{count} fail; "),
    };
    format!(
        "{count} at {revision} ({subject}): {fail}{metric} of {scenario} under {policy} in {venue} went from \
         {from} to {to}."
    )
}

fn table(changes: &[Change]) -> TableView {
    let words = |head: &str, of: &dyn Fn(&Change) -> String| Column::words(head, changes.iter().map(of));
    let numbers = |head: &str, of: &dyn Fn(&Change) -> String| Column::numbers(head, changes.iter().map(of));
    let percent = |change: &Change| match 100.0 * (change.to - change.from) / change.from.abs() {
        percent if percent.is_finite() => format!("{percent:+.2} %"),
        _ => "-".into(),
    };
    let table = schedlab_report::Table::new([
        words("revision", &|change| change.point.revision.short()),
        words("subject", &|change| change.point.revision.subject.clone()),
        words("scenario", &|change| change.point.series.scenario.clone()),
        words("policy", &|change| change.point.series.policy.clone()),
        words("venue", &|change| change.point.series.venue.clone()),
        words("metric", &|change| change.point.series.metric.clone()),
        numbers("from", &|change| shown(&change.point.series.metric, change.from)),
        numbers("to", &|change| shown(&change.point.series.metric, change.to)),
        numbers("change", &percent),
        words("the gate says", &|change| change.point.verdict.clone()),
    ]);
    TableView::of("Changes", &table)
}

/// Charts of the series, a few panels in each.
fn charts(id: &str, wanted: &[&Series], all: &BTreeMap<&Series, Vec<&Point>>) -> Vec<Chart> {
    let mut panels: Vec<(String, Vec<Row>)> = Vec::new();
    for series in wanted {
        let panel = panel(series);
        let rows = rows(&panel, series, &all[series]);
        match panels.iter_mut().find(|(known, _)| *known == panel) {
            Some((_, known)) => known.extend(rows),
            None => panels.push((panel, rows)),
        }
    }
    let chart = |(number, panels): (usize, &[(String, Vec<Row>)])| {
        let rows = panels.iter().flat_map(|(_, rows)| rows.clone()).collect();
        let about = "Triangles mark values that differ from the one before.";
        let axes = Axes::default();
        Chart { axes, ..Chart::new((&format!("{id}-{number}"), "Over revisions", about), Kind::History, rows) }
    };
    panels.chunks(PANELS).enumerate().map(chart).collect()
}

fn panel(series: &Series) -> String {
    let Series { gate, scenario, venue, metric, .. } = series;
    let unit = about(metric).map_or("", |metric| for_people(metric.unit).1);
    format!("{gate}: {scenario} in {venue}, {}{unit}", metric.strip_prefix("roles.").unwrap_or(metric))
}

fn rows(panel: &str, series: &Series, points: &[&Point]) -> Vec<Row> {
    let scale = about(&series.metric).map_or(1.0, |metric| for_people(metric.unit).0);
    let mut before: Option<f64> = None;
    let mut rows = Vec::new();
    for point in points {
        let Some(value) = point.value else { continue };
        let change = match before.replace(value) {
            None => "first",
            Some(before) if value > before => "higher",
            Some(before) if value < before => "lower",
            Some(_) => "same",
        };
        rows.push(row(json!({
            "panel": panel, "scheduler": series.policy, "revision": point.revision.short(),
            "subject": point.revision.subject, "value": value * scale, "change": change, "verdict": point.verdict,
        })));
    }
    rows
}

fn about(metric: &str) -> Option<&'static Metric> {
    Selector::parse(metric).ok().map(|selector| selector.metric())
}

fn shown(metric: &str, value: f64) -> String {
    about(metric).map_or_else(|| value.to_string(), |metric| amount(metric, value))
}
