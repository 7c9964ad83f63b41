//! Two traces next to each other as a page.

use crate::command::Given;
use crate::document::{Document, Provenance, Section, TableView};
use crate::pieces::row;
use schedlab_charts::{Axes, Chart, Kind, Row};
use schedlab_report::views::contrast::Pair;
use schedlab_views::contrast::Change;
use serde_json::json;

/// How many programs have a chart of where and why.
const CHARTS: usize = 4;
/// How many bars it has at most.
const BARS: usize = 8;

/// The page of two traces. `cautions` is what a reader has to know of either.
pub fn of_contrast(pair: &Pair, cautions: Vec<String>, provenance: Provenance) -> Document {
    let changed = pair.contrast.changes.iter().filter(|change| change.is_firm == Some(true));
    let changed: Vec<&Change> = changed.take(CHARTS).collect();
    let titles = pair.titles;
    Document {
        title: format!("{} against {}", titles[1], titles[0]),
        subtitle: "Whose waits for a CPU changed, where, and why".into(),
        answer: pair.answer(),
        confidence: pair.basis(),
        cautions,
        next: vec![next(pair, &provenance)],
        lead: means(pair),
        sections: vec![
            Section {
                id: "waits".into(),
                heading: "Whose waits changed".into(),
                tables: pair.tables().iter().map(|(title, table)| TableView::of(title, table)).collect(),
                ..Section::default()
            },
            Section {
                id: "why".into(),
                heading: "Where and why".into(),
                paragraphs: pair.reasons(),
                charts: changed.iter().enumerate().flat_map(|(place, change)| shifts(place, change)).collect(),
                ..Section::default()
            },
            Section {
                id: "worst".into(),
                heading: "The longest waits".into(),
                paragraphs: [("Before", 0), ("After", 1)]
                    .into_iter()
                    .flat_map(|(when, side)| pair.worst_of(side).into_iter().map(move |line| format!("{when}: {line}")))
                    .collect(),
                ..Section::default()
            },
        ],
        provenance,
        ..Document::default()
    }
}

/// How the longest wait of the trace after is looked at.
fn next(pair: &Pair, provenance: &Provenance) -> String {
    let trace = Given::of(provenance).subject(&["trace"]).unwrap_or("FILE");
    match pair.worst[1].0.first().map(|case| case.wait) {
        Some(wait) => format!(
            "See the longest wait itself: `schedlab trace {trace} timeline --from {} --to {}` shows which task ran where.",
            wait.from, wait.until
        ),
        None => format!("See which task ran where: `schedlab trace {trace} timeline`."),
    }
}

/// The mean waits of the programs that wait most.
fn means(pair: &Pair) -> Option<Chart> {
    let rows: Vec<Row> = pair
        .contrast
        .changes
        .iter()
        .take(BARS)
        .flat_map(|change| {
            [("before", 0), ("after", 1)].map(|(series, side)| {
                // One without a value keeps the order of the two.
                let value = change.mean_ns[side].map(|mean| mean / 1e6);
                row(json!({ "panel": "mean wait (ms)", "x": change.name, "series": series, "value": value }))
            })
        })
        .collect();
    let about = "Mean of the blocks' mean waits, for the programs whose total wait changed most.";
    let axes = Axes { y: Some("ms".into()), ..Axes::default() };
    (!rows.is_empty()).then(|| Chart { axes, ..Chart::new(("means", "Mean waits", about), Kind::Grouped, rows) })
}

/// Where a program waited, and what ran there meanwhile.
fn shifts(place: usize, change: &Change) -> [Chart; 2] {
    let of = |id: &str, title: &str, about: &str, all: &[schedlab_views::contrast::Shift]| {
        let bar = |shift: &schedlab_views::contrast::Shift| {
            [("before", shift.before), ("after", shift.after)].map(|(series, ns)| {
                row(json!({ "panel": change.name, "x": shift.what, "series": series, "value": ns / 1e6 }))
            })
        };
        let rows = all.iter().take(BARS).flat_map(bar).collect();
        let axes = Axes { y: Some("ms in each second".into()), ..Axes::default() };
        Chart {
            axes,
            ..Chart::new((&format!("{id}-{place}"), &format!("{}: {title}", change.name), about), Kind::Grouped, rows)
        }
    };
    [
        of("where", "where it waited", "Time waited on each CPU, in each second.", &change.by_cpu),
        of("had", "what ran meanwhile", "What ran on the CPU for which it waited, in each second.", &change.by_had),
    ]
}
