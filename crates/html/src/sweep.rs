//! What a sweep measured as a page: each measure along each axis.

mod curves;
mod ranking;

use crate::document::{Document, Provenance, Section, TableView};
use curves::of_axis;
use ranking::Ranking;
use schedlab_model::metric::{Found, Level, find};
use schedlab_model::time::Time;
use schedlab_report::{Column, FEWEST_RUNS, Table};
use schedlab_sweep::{AxisView, Measured, Place, Point};

/// A measure of a sweep: its place among all, and what it is.
struct Measure {
    index: usize,
    found: Found,
}

/// The page of a sweep.
pub fn of_sweep(title: &str, measured: &Measured, provenance: Provenance) -> Document {
    let (name, about) = title.split_once(": ").unwrap_or((title, ""));
    let measures = measures(measured);
    let of_measure = |measure| rankings(measure, measured);
    let rankings: Vec<Ranking> = measures.iter().flat_map(of_measure).collect();
    let mut sections = vec![Section {
        id: "extremes".into(),
        heading: "Where each measure is lowest and highest".into(),
        tables: vec![TableView::of("", &table(&rankings, measured))],
        ..Section::default()
    }];
    sections.extend((0..measured.axes.len()).filter_map(|axis| section(axis, &measures, measured)));
    let lead = sections.get_mut(1).filter(|section| !section.charts.is_empty()).map(|section| section.charts.remove(0));
    // One whose only chart became the first has nothing left to show.
    sections.retain(|section| !(section.charts.is_empty() && section.tables.is_empty()));
    let facts = vec![("runs".to_string(), measured.runs.to_string())];
    Document {
        title: name.into(),
        subtitle: about.into(),
        answer: rankings.first().map_or("Nothing was measured.".into(), |first| first.answer(measured)),
        confidence: confidence(measured),
        cautions: cautions(measured),
        ranking: rankings.first().map(|first| first.table(measured)),
        next: vec![
            "Compare the schedulers at the places that matter: `schedlab compare` says how sure a difference is."
                .into(),
            "Work on the table: pandas, polars, DuckDB and R read its folder of Parquet files.".into(),
        ],
        lead,
        sections,
        provenance: Provenance { facts, ..provenance },
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

    /// The roles with a value of their own; of a measure of the whole run the first role, which stands for all.
    fn roles<'a>(&self, measured: &'a Measured) -> Vec<&'a str> {
        let mut roles: Vec<&str> = Vec::new();
        let is_measured = |point: &&Point| point.values.get(self.index).is_some_and(|values| !values.is_empty());
        for point in measured.points.iter().filter(is_measured) {
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

/// The most runs of a point.
fn most_runs(measured: &Measured) -> usize {
    measured.points.iter().flat_map(|point| &point.values).map(Vec::len).max().unwrap_or(0)
}

fn confidence(measured: &Measured) -> String {
    match most_runs(measured) {
        0 | 1 => "How sure: one run per point; `runs` in the sweep gives intervals.".into(),
        runs => format!(
            "How sure: up to {runs} runs per point. Points are means; bars are 95 % confidence intervals, shown where \
             only repeated runs are averaged. Places whose intervals overlap cannot be told apart."
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
    let few = (2..FEWEST_RUNS as usize).contains(&most_runs(measured)).then(|| {
        format!("Intervals of fewer than {FEWEST_RUNS} runs are unreliable; write `runs = 30` into the sweep.")
    });
    let times = measured.measures.iter().any(|path| path.starts_with("response_ns"));
    let starved = times.then(|| {
        "Response times count requests that ended. A policy that starves tasks can look fast: compare the policies at the \
         places that matter with `schedlab compare`."
            .to_string()
    });
    failed.into_iter().chain(few).chain(starved).collect()
}

/// The measures of all roles, in their order.
fn rankings<'a>(measure: &'a Measure, measured: &'a Measured) -> Vec<Ranking<'a>> {
    measure.roles(measured).into_iter().filter_map(|role| Ranking::new(measure, role, measured)).collect()
}

fn table(all: &[Ranking], measured: &Measured) -> Table {
    let words = |head: &str, of: &dyn Fn(&Ranking) -> String| Column::words(head, all.iter().map(of));
    let numbers = |head: &str, end: usize| {
        Column::numbers(head, all.iter().map(|one| one.amount(one.ends()[end].mean)).collect::<Vec<_>>())
    };
    let place = |one: &Ranking, end: usize| place(one.ends()[end].point, measured);
    Table::new([
        words("measure", &|one| one.name()),
        numbers("lowest", 0),
        words("where", &|one| place(one, 0)),
        numbers("highest", 1),
        words("where", &|one| place(one, 1)),
        words("difference", &|one| one.difference()),
    ])
}

/// How many values an axis has.
fn distinct(measured: &Measured, axis: usize) -> usize {
    let mut values: Vec<String> = measured.points.iter().map(|point| format!("{:?}", point.places[axis])).collect();
    values.sort_unstable();
    values.dedup();
    values.len()
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
