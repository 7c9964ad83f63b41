//! The tables and pictures of estimates of overhead.

use super::{Point, System, statements, systems};
use crate::case::Experiment;
use crate::language::{ChartKind, OverheadSpec};
use crate::picture::{self, ChartPage, Series};
use crate::runner::CaseOutcome;
use crate::table::{TableKind, TablePage, TableRow};
use schedlab_metrics::curve::Curve;

/// What an estimate puts on the page of its question.
pub struct Pages {
    /// By the number of tasks, by system, and the ranking.
    pub tables: Vec<TablePage>,
    /// Overhead and variance over the number of tasks.
    pub charts: Vec<ChartPage>,
    /// What the systems say together, and what is refused.
    pub statements: Vec<String>,
    /// How many estimates are refused, since their interval holds zero.
    pub refused: usize,
}

/// Of all systems of a part of a study.
pub fn page(spec: &OverheadSpec, experiment: &Experiment, outcomes: &[CaseOutcome]) -> Pages {
    let systems = systems(spec, experiment, outcomes);
    if systems.iter().all(|system| system.points.is_empty()) {
        let statements = vec![format!("{}: not run here.", spec.title)];
        return Pages { tables: Vec::new(), charts: Vec::new(), statements, refused: 0 };
    }
    let mut words: Vec<String> = (spec.run.all().len() > 1).then(|| "run".to_string()).into_iter().collect();
    words.push("policy".into());
    Pages {
        tables: vec![by_tasks(spec, &words, &systems), by_system(&words, &systems)],
        charts: charts(spec, &systems),
        statements: statements::all(spec, &systems),
        refused: systems.iter().flat_map(|system| &system.points).filter(|point| !point.is_told()).count(),
    }
}

/// Overhead and its variance over the number of tasks, each with its interval: a panel for each.
fn charts(spec: &OverheadSpec, systems: &[System]) -> Vec<ChartPage> {
    type At = fn(&Point) -> Option<(f64, Option<[f64; 2]>)>;
    let panels: [(&str, At); 2] = [
        ("O'v (s)", |point| point.told((point.added.value, point.added.interval.map(<[f64; 2]>::from)))),
        ("variance of O'v (ms²)", |point| {
            let variance = point.known_variance()?;
            Some((1e6 * variance.value, variance.interval.map(|(low, high)| [1e6 * low, 1e6 * high])))
        }),
    ];
    let series = |(panel, at): &(&str, At), system: &System| {
        let point = |point: &Point| {
            let (y, range) = at(point)?;
            Some(picture::Point { x: f64::from(point.tasks), name: Some(point.tasks.to_string()), y, range })
        };
        Series {
            label: system.name.join(" "),
            panel: (*panel).into(),
            venue: system.venue,
            points: system.points.iter().filter_map(point).collect(),
        }
    };
    let series = panels.iter().flat_map(|panel| systems.iter().map(move |system| series(panel, system)));
    let series: Vec<Series> = series.filter(|series| series.points.len() > 1).collect();
    let chart = ChartPage {
        title: format!("{}: overhead and its variance by the number of tasks", spec.title),
        place: spec.place.clone(),
        kind: ChartKind::Lines,
        step: None,
        x: "tasks (number)".into(),
        y: String::new(),
        series,
    };
    (!chart.series.is_empty()).then_some(chart).into_iter().collect()
}

/// The heads of the overhead and of half its interval.
const PERCENT: &str = "Q' %";
const HALF_WIDTH: &str = "± %";

fn by_tasks(spec: &OverheadSpec, words: &[String], systems: &[System]) -> TablePage {
    type Cell = fn(&Point) -> Option<f64>;
    let columns: [(&str, Cell); 11] = [
        ("Te s", |point| Some(point.elapsed)),
        (PERCENT, |point| point.told(100.0 * point.q.value)),
        (HALF_WIDTH, |point| point.told(point.q.interval.map(|(low, high)| 50.0 * (high - low))?)),
        ("O'v s", |point| point.told(point.added.value)),
        ("variance s²", |point| point.known_variance().map(|variance| variance.value)),
        ("from", |point| Some(point.known_variance()?.interval?.0)),
        ("to", |point| Some(point.known_variance()?.interval?.1)),
        ("per switch us", |point| point.told(1e6 * point.per_switch?)),
        ("true Q %", |point| point.truth.map(|truth| 100.0 * truth)),
        ("Q' - Q %", |point| point.told(100.0 * (point.q.value - point.truth?))),
        ("Ov - O'v s", |point| point.told(point.truth? * point.elapsed - point.added.value)),
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
            system.told_line().map(|(slope, _)| 1e3 * slope),
            system.told_line().map(|(_, explained)| explained),
            system.points.iter().find(|point| point.tasks == most).and_then(|point| point.told(100.0 * point.q.value)),
        ];
        let (names, ranges, responses) = (system.name.clone(), Vec::new(), Curve::default());
        TableRow { names, venue: system.venue, cells, ranges, beside: None, responses }
    };
    let heads = ["O'v per additional task ms", "explained by a line", &format!("Q'({most}) %")].map(String::from);
    TablePage {
        title: "Cost of each additional task".into(),
        names: words.to_vec(),
        heads: heads.to_vec(),
        kind: TableKind::Cases,
        rows: systems.iter().map(row).collect(),
    }
}
