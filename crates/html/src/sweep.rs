//! What a sweep measured as a page: each measure along each axis.

mod curves;

use crate::document::{Document, Provenance, Section, TableView};
use curves::of_axis;
use schedlab_metrics::statistics::mean;
use schedlab_model::metric::{Better, Found, Level, find};
use schedlab_model::time::Time;
use schedlab_report::{Column, Table, amount};
use schedlab_sweep::{AxisView, Measured, Place, Point};

/// A measure of a sweep: its place among all, and what it is.
struct Measure {
    index: usize,
    found: Found,
}

/// The lowest and the highest mean of a measure of a role.
struct Extremes<'a> {
    measure: &'a Measure,
    role: &'a str,
    lowest: (f64, &'a Point),
    highest: (f64, &'a Point),
}

/// The page of a sweep.
pub fn of_sweep(title: &str, measured: &Measured, provenance: Provenance) -> Document {
    let (name, about) = title.split_once(": ").unwrap_or((title, ""));
    let measures = measures(measured);
    let extremes: Vec<Extremes> = measures.iter().flat_map(|measure| extremes(measure, measured)).collect();
    let mut sections = vec![Section {
        id: "extremes".into(),
        heading: "Where each measure is lowest and highest".into(),
        tables: vec![TableView::of("", &table(&extremes, measured))],
        ..Section::default()
    }];
    sections.extend((0..measured.axes.len()).filter_map(|axis| section(axis, &measures, measured)));
    let lead = sections.get_mut(1).filter(|section| !section.charts.is_empty()).map(|section| section.charts.remove(0));
    let facts = vec![("runs".to_string(), measured.runs.to_string())];
    Document {
        title: name.into(),
        subtitle: about.into(),
        answer: extremes.first().map_or("Nothing was measured.".into(), |first| answer(first, measured)),
        confidence: confidence(measured),
        cautions: cautions(measured),
        next: vec![
            "Compare the schedulers at the places that matter: `schedlab compare` says how sure a difference is."
                .into(),
            "Work on the table: pandas, polars, DuckDB and R read its folder of Parquet files.".into(),
        ],
        lead,
        sections,
        provenance: Provenance { facts, ..provenance },
        ..Document::default()
    }
}

/// The measures that schedlab knows: all, since a sweep with another is refused.
fn measures(measured: &Measured) -> Vec<Measure> {
    let known = |(index, path): (usize, &String)| Some(Measure { index, found: find(path).ok()? });
    measured.measures.iter().enumerate().filter_map(known).collect()
}

impl Measure {
    /// Whether each role has a value of its own.
    fn is_of_roles(&self) -> bool {
        matches!(self.found.metric.level, Level::Task | Level::Role)
    }

    /// Its mean over the runs of a point.
    fn mean(&self, point: &Point) -> Option<f64> {
        mean(point.values.get(self.index)?)
    }

    /// The roles with a value of their own; of a measure of the whole run the first role, which stands for all.
    fn roles<'a>(&self, measured: &'a Measured) -> Vec<&'a str> {
        let mut roles: Vec<&str> = Vec::new();
        for point in measured.points.iter().filter(|point| self.mean(point).is_some()) {
            if !roles.contains(&point.role.as_str()) {
                roles.push(&point.role);
            }
        }
        roles.truncate(if self.is_of_roles() { usize::MAX } else { 1 });
        roles
    }

    /// In a sentence.
    fn name(&self, role: &str) -> String {
        let name = &self.found.metric.name;
        if self.is_of_roles() { format!("{name} of {role}") } else { name.to_string() }
    }
}

fn extremes<'a>(measure: &'a Measure, measured: &'a Measured) -> Vec<Extremes<'a>> {
    let of_role = |role: &'a str| {
        let own = measured.points.iter().filter(|point| point.role == role);
        let means: Vec<(f64, &Point)> = own.filter_map(|point| Some((measure.mean(point)?, point))).collect();
        let lowest = *means.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
        let highest = *means.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(Extremes { measure, role, lowest, highest })
    };
    measure.roles(measured).into_iter().filter_map(of_role).collect()
}

fn answer(extremes: &Extremes, measured: &Measured) -> String {
    let Extremes { measure, role, lowest, highest } = extremes;
    let told =
        |(value, point): &(f64, &Point)| format!("{} {}", amount(measure.found.metric, *value), place(point, measured));
    let mut name = measure.name(role);
    if let Some(first) = name.get(..1).map(str::to_uppercase) {
        name.replace_range(..1, &first);
    }
    if lowest.0 == highest.0 {
        return format!("{name} is {} everywhere.", amount(measure.found.metric, lowest.0));
    }
    let (first, last) = match measure.found.metric.better {
        Better::Higher => (("highest", highest), ("lowest", lowest)),
        _ => (("lowest", lowest), ("highest", highest)),
    };
    format!("{name} is {}: {}; and {}: {}.", first.0, told(first.1), last.0, told(last.1))
}

/// Where a point is: under which policy, and at which values.
fn place(point: &Point, measured: &Measured) -> String {
    let values = measured.axes.iter().zip(&point.places);
    let values: Vec<String> = values.map(|(axis, place)| format!("{} = {}", axis.key, shown(axis, place))).collect();
    let at = if values.is_empty() { String::new() } else { format!(" at {}", values.join(", ")) };
    format!("under {}{at}", point.policy)
}

/// A value of an axis as people write it.
fn shown(axis: &AxisView, place: &Place) -> String {
    match place {
        Place::Word(word) => word.clone(),
        Place::Number(ns) if axis.is_time => Time(*ns as u64).to_string(),
        // To the digits that a reader can tell apart.
        Place::Number(number) => format!("{}", (number * 1e6).round() / 1e6),
    }
}

fn confidence(measured: &Measured) -> String {
    let most = measured.points.iter().flat_map(|point| &point.values).map(Vec::len).max().unwrap_or(0);
    match most {
        0 | 1 => "How sure: one run per point; `runs` in the sweep gives intervals.".into(),
        runs => format!(
            "How sure: up to {runs} runs per point. Points are means; bars are 95 % confidence intervals, shown where \
             only repeated runs are averaged."
        ),
    }
}

fn cautions(measured: &Measured) -> Vec<String> {
    let failed = (measured.failed > 0).then(|| {
        format!(
            "{} of {} runs failed and are in no chart: see the column `error` of the table.",
            measured.failed, measured.runs
        )
    });
    let times = measured.measures.iter().any(|path| path.starts_with("response_ns"));
    let starved = times.then(|| {
        "Response times count requests that ended. A policy that starves tasks can look fast: compare the policies at the \
         places that matter with `schedlab compare`."
            .to_string()
    });
    failed.into_iter().chain(starved).collect()
}

fn table(all: &[Extremes], measured: &Measured) -> Table {
    let words = |head: &str, of: &dyn Fn(&Extremes) -> String| Column::words(head, all.iter().map(of));
    let numbers = |head: &str, of: &dyn Fn(&Extremes) -> f64| {
        Column::numbers(head, all.iter().map(|one| amount(one.measure.found.metric, of(one))))
    };
    Table::new([
        words("measure", &|one| one.measure.name(one.role)),
        numbers("lowest", &|one| one.lowest.0),
        words("where", &|one| place(one.lowest.1, measured)),
        numbers("highest", &|one| one.highest.0),
        words("where", &|one| place(one.highest.1, measured)),
    ])
}

/// The charts along an axis; none where it has one value.
fn section(axis: usize, measures: &[Measure], measured: &Measured) -> Option<Section> {
    let charts = of_axis(axis, measures, measured);
    let key = &measured.axes[axis].key;
    (!charts.is_empty()).then(|| Section {
        id: format!("axis-{axis}"),
        heading: format!("By {key}"),
        charts,
        ..Section::default()
    })
}

#[cfg(test)]
mod tests;
