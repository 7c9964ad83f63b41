//! The pictures of a study as charts.

use crate::pieces::row;
use schedlab_charts::{Axes, Chart, Kind, Row};
use schedlab_study::{Answered, ChartKind, ChartPage, Point, Series};
use serde_json::json;

/// A picture of a question.
pub fn picture(question: &Answered, index: usize, chart: &ChartPage) -> Option<Chart> {
    let id = format!("{}-figure-{}", question.id, index + 1);
    let place = if chart.place.is_empty() { String::new() } else { format!("As in {}.", chart.place) };
    let rows = rows(chart);
    let axes = Axes { x: titled(&chart.x), y: titled(&chart.y), ..Axes::default() };
    (!rows.is_empty()).then(|| Chart { axes, ..Chart::new((&id, &chart.title, &place), kind(chart.kind), rows) })
}

fn titled(title: &str) -> Option<String> {
    (!title.is_empty()).then(|| title.into())
}

fn kind(kind: ChartKind) -> Kind {
    match kind {
        ChartKind::Histogram => Kind::Histogram,
        ChartKind::Distribution => Kind::Distribution,
        ChartKind::Loads | ChartKind::Bars => Kind::Grouped,
        ChartKind::Lines => Kind::Lines,
        ChartKind::RunTime | ChartKind::Status => Kind::Course,
        ChartKind::Tasks => Kind::CpuLoad,
    }
}

fn rows(chart: &ChartPage) -> Vec<Row> {
    let step = |series: &Series| series.points.get(1).map_or(1.0, |second| second.x - series.points[0].x);
    let width = chart.step.unwrap_or(1.0);
    let each = |series: &Series, of: &dyn Fn(&Point, usize) -> serde_json::Value| {
        series.points.iter().enumerate().map(|(index, point)| row(of(point, index))).collect::<Vec<Row>>()
    };
    let of = |series: &Series| match chart.kind {
        ChartKind::Histogram => each(series, &|point, _| {
            json!({
                "scheduler": series.label, "venue": series.venue.name(), "panel": series.panel,
                "from": point.x, "to": point.x + width, "percent": rounded(point.y),
            })
        }),
        ChartKind::Distribution => each(series, &|point, _| {
            json!({
                "scheduler": series.label, "venue": series.venue.name(), "panel": series.panel,
                "time_ms": rounded(point.x), "fraction": rounded(point.y / 100.0),
            })
        }),
        ChartKind::Loads | ChartKind::Bars => each(series, &|point, _| {
            let x = point.name.clone().unwrap_or_else(|| point.x.to_string());
            json!({ "panel": series.panel, "x": x, "series": series.label, "value": rounded(point.y) })
        }),
        ChartKind::Tasks => each(series, &|point, _| {
            json!({
                "scheduler": series.panel, "cpu": series.label.parse::<u32>().ok(), "tasks": rounded(point.y),
                "from_s": rounded(point.x), "to_s": rounded(point.x + step(series)),
            })
        }),
        ChartKind::RunTime | ChartKind::Status => each(series, &|point, index| {
            json!({
                "panel": series.panel, "series": series.label, "order": index,
                "x": rounded(point.x), "value": rounded(point.y),
            })
        }),
        ChartKind::Lines => each(series, &|point, _| {
            let mut line = json!({
                "scheduler": series.label, "venue": series.venue.name(), "panel": series.panel,
                "x": rounded(point.x), "value": rounded(point.y),
            });
            if let Some([low, high]) = point.range {
                (line["low"], line["high"]) = (json!(rounded(low)), json!(rounded(high)));
            }
            line
        }),
    };
    chart.series.iter().flat_map(of).collect()
}

/// No picture shows more.
fn rounded(number: f64) -> f64 {
    (number * 1e5).round() / 1e5
}
