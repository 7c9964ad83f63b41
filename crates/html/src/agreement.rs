//! How close the simulator is to a kernel as a page: each cell's worst figure with its interval and its bound.

use crate::document::{Document, Listing, Provenance, Section, TableView};
use crate::pieces::{applying, row};
use schedlab_agreement::{Agreement, CellReport, CellVerdict, Counts, List};
use schedlab_charts::{Axes, Chart, Kind, Row};
use schedlab_model::count::counted;
use serde_json::json;

/// How many cells a chart of deviations has at most.
const ROWS: usize = 40;

/// What is further off than this is drawn at the edge, in percent.
const EDGE: f64 = 30.0;

/// The page of an agreement.
pub fn of_agreement(agreement: &Agreement, provenance: Provenance) -> Document {
    let Agreement { counts, copies, cells, .. } = agreement;
    let facts = vec![("copies of the simulation for each seed".to_string(), copies.to_string())];
    Document {
        title: "How close the simulator is to a kernel".into(),
        subtitle: agreement.title(),
        answer: answer(*counts),
        confidence:
            "Each verdict rests on the figure's 90 % interval, which covers chance: seeds, the offset of the tick, and \
                     small changes of work and costs."
                .into(),
        next: next(*counts),
        lead: deviations(agreement),
        sections: [
            Section {
                id: "cells".into(),
                heading: "Cells".into(),
                charts: maps(cells),
                tables: vec![
                    TableView::of("How many cells ended how", &agreement.summary_table()),
                    TableView::of("Cells, each with the figure that decides", &agreement.table()),
                ],
                ..Section::default()
            },
            Section {
                id: "open".into(),
                heading: "What does not agree, and why".into(),
                folded: lists(agreement),
                ..Section::default()
            },
        ]
        .into_iter()
        .filter(|section| !(section.tables.is_empty() && section.folded.is_empty()))
        .collect(),
        provenance: Provenance { facts, ..provenance },
        ..Document::default()
    }
}

fn answer(counts: Counts) -> String {
    let Counts { cells, agrees, biased, undecided, failed, not_run } = counts;
    let parts = [(biased, "biased"), (undecided, "undecided"), (failed, "failed"), (not_run, "not run")];
    let rest: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    let rest = if rest.is_empty() { String::new() } else { format!("; {}", rest.join(", ")) };
    format!("{agrees} of {cells} cells agree{rest}.")
}

/// What decides or explains cells that do not agree.
fn next(counts: Counts) -> Vec<String> {
    let steps = [
        (counts.undecided > 0, "Decide undecided cells: add `--max-seeds 8`, or `--max-length 4`."),
        (
            counts.biased > 0,
            "Look at a biased cell: `--keep DIR` keeps the traces of both runs, and `schedlab trace DIR/… --against` compares them.",
        ),
        (counts.biased > 0, "See what a mechanism does: `--without NAME` removes it from the simulated machine."),
    ];
    applying(&steps)
}

fn lists(agreement: &Agreement) -> Vec<Listing> {
    let listing = |list: List| Listing {
        title: format!("{}: {}", list.head, list.cells()),
        text: list.lines().map(|(cells, told)| format!("{cells}: {told}")).collect::<Vec<_>>().join("\n"),
    };
    agreement.lists().into_iter().map(listing).collect()
}

/// The cells that are furthest off in parts of their bounds; none where nothing was measured.
fn deviations(agreement: &Agreement) -> Option<Chart> {
    let mut worst: Vec<&CellReport> = agreement.cells.iter().filter(|cell| cell.deciding().is_some()).collect();
    worst.sort_by(|a, b| {
        let key = |cell: &CellReport| (cell.verdict, off(cell));
        let (a, b) = (key(a), key(b));
        b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    let about = match worst.len() {
        count if count > ROWS => {
            format!("The {ROWS} cells of {count} that are furthest off in parts of their bounds. ")
        }
        _ => String::new(),
    } + "Of each cell the figure that decides, with its interval of 90 %; the band is the bound. What is further off than \
         the axis goes is drawn at its edge.";
    let drawn = |cell: &CellReport| deviation(cell, &agreement.name_of(cell));
    let rows: Vec<Row> = worst.into_iter().take(ROWS).filter_map(drawn).collect();
    let axes = Axes { x: Some("simulator over kernel, off by (%; shares: points)".into()), ..Axes::default() };
    let heads = ("agreement", "The simulator against the kernel", about.as_str());
    (!rows.is_empty()).then(|| Chart { axes, ..Chart::new(heads, Kind::Deviation, rows) })
}

fn deviation(cell: &CellReport, name: &str) -> Option<Row> {
    let figure = cell.deciding()?;
    let percent = |value: Option<f64>| value.map(|value| (1e4 * value).round() / 100.0);
    let bound = 100.0 * figure.bound;
    let mut fields = json!({
        "what": format!("{name}: {}", figure.name()), "verdict": cell.verdict.word(),
        "least": -bound, "most": bound, "first": -EDGE, "last": EDGE, "shown": figure.deviation(),
    });
    for (key, value) in [("percent", figure.bias), ("low", figure.low), ("high", figure.high)] {
        if let Some(value) = percent(value) {
            fields[key] = json!(value);
        }
    }
    Some(row(fields))
}

/// A map of scenarios and policies for each kernel and number of CPUs, where there are several of both.
fn maps(cells: &[CellReport]) -> Vec<Chart> {
    let mut places: Vec<(&str, u32)> = Vec::new();
    for cell in cells {
        let place = (cell.kernel.as_str(), cell.cpus);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let of_place = |(kernel, cpus): (&str, u32)| {
        let own = furthest(cells.iter().filter(|cell| (cell.kernel.as_str(), cell.cpus) == (kernel, cpus)));
        let rows: Vec<Row> = own.iter().filter_map(|cell| mapped(cell)).collect();
        let several = |of: fn(&CellReport) -> &str| own.iter().any(|&cell| of(cell) != of(own[0]));
        let is_map = several(subject) && several(|cell| &cell.policy);
        let title = format!("In {kernel}, {}", counted(cpus, "CPU"));
        let about = "How far the worst figure is off, in parts of its bound: below 1 it is within. Of several scenarios of a \
             family, the one that is furthest off.";
        let axes = Axes { value: Some("off by, over the bound".into()), middle: Some(1.0), ..Axes::default() };
        let id = format!("cells-{kernel}-{cpus}");
        is_map.then(|| Chart { axes, ..Chart::new((&id, &title, about), Kind::Boundary, rows) })
    };
    places.into_iter().filter_map(of_place).collect()
}

/// What a row of a map stands for: a family, or a scenario without one.
fn subject(cell: &CellReport) -> &str {
    cell.family.as_deref().unwrap_or(&cell.scenario)
}

/// How far a cell's worst figure is off, in parts of its bound.
fn off(cell: &CellReport) -> f64 {
    cell.deciding().map_or(0.0, |figure| figure.off())
}

/// Of the cells of each row and policy of a map the one that is furthest off.
fn furthest<'a>(cells: impl Iterator<Item = &'a CellReport>) -> Vec<&'a CellReport> {
    let mut kept: Vec<&CellReport> = Vec::new();
    for cell in cells {
        let is_same = |other: &&mut &CellReport| (subject(other), &other.policy) == (subject(cell), &cell.policy);
        match kept.iter_mut().find(is_same) {
            Some(other) if off(cell) > off(other) => *other = cell,
            Some(_) => {}
            None => kept.push(cell),
        }
    }
    kept
}

fn mapped(cell: &CellReport) -> Option<Row> {
    let off = Some(cell.deciding()?.off()).filter(|off| off.is_finite())?;
    let is_measured = matches!(cell.verdict, CellVerdict::Agrees | CellVerdict::Biased | CellVerdict::Undecided);
    is_measured.then(|| row(json!({ "x": cell.policy, "y": subject(cell), "value": (100.0 * off).round() / 100.0 })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_agreement::figure::Figure;
    use schedlab_agreement::{FigureReport, SCHEMA, Verdict};

    fn cell(policy: &str, scenario: &str, bias: f64, verdict: CellVerdict) -> CellReport {
        let figure = FigureReport {
            role: "<worker>".into(),
            figure: Figure::Mean,
            verdict: if verdict == CellVerdict::Biased { Verdict::Biased } else { Verdict::Agrees },
            why: None,
            real: Some(1e6),
            simulated: Some(1e6 * (1.0 + bias)),
            requests_real: 100.0,
            requests_simulated: 100.0,
            bound: 0.05,
            bias: Some(bias),
            low: Some(bias - 0.01),
            high: Some(bias + 0.01),
            noise: Some(0.01),
            real_noise: None,
            is_between_seeds: false,
            seeds_to_decide: None,
        };
        CellReport {
            scenario: scenario.into(),
            family: None,
            policy: policy.into(),
            venue: "vm".into(),
            kernel: "k".into(),
            cpus: 1,
            same_object: true,
            seeds: vec![1, 2, 3],
            length: 1,
            verdict,
            why: None,
            figures: vec![figure],
            tasks_on_cpus_real: Vec::new(),
            tasks_on_cpus_simulated: Vec::new(),
        }
    }

    fn agreement(cells: Vec<CellReport>) -> Agreement {
        Agreement { schema: SCHEMA.into(), copies: 8, counts: Counts::of(&cells), cells }
    }

    #[test]
    fn the_cell_that_is_furthest_off_comes_first() {
        let cells = vec![
            cell("rr", "a", 0.01, CellVerdict::Agrees),
            cell("rr", "b", 0.5, CellVerdict::Biased),
            cell("cfs", "a", -0.03, CellVerdict::Agrees),
            cell("cfs", "b", 0.0, CellVerdict::Agrees),
        ];
        let page = of_agreement(&agreement(cells), Provenance::default());
        assert_eq!(page.answer, "3 of 4 cells agree; 1 biased.");
        let lead = page.lead.as_ref().unwrap();
        let of = |key: &str| lead.rows.iter().map(|row| row[key].clone()).collect::<Vec<_>>();
        assert_eq!(of("percent"), [json!(50.0), json!(-3.0), json!(1.0), json!(0.0)]);
        assert_eq!((&lead.rows[0]["verdict"], &lead.rows[0]["most"]), (&json!("biased"), &json!(5.0)));
        let map = &page.sections[0].charts[0];
        assert_eq!((map.kind, &map.rows[1]["value"]), (Kind::Boundary, &json!(10.0)));
        let html = page.html();
        assert!(html.contains("&#60;worker&#62;") && !html.contains("<worker>"), "names are text");
    }

    /// Scenarios of one family are one row, with what is furthest off.
    #[test]
    fn a_map_has_a_row_for_each_family() {
        let of = |policy, scenario: &str, bias| CellReport {
            family: Some(scenario[..1].to_string()),
            ..cell(policy, scenario, bias, CellVerdict::Agrees)
        };
        let cells = vec![of("rr", "a-1", 0.01), of("rr", "a-2", -0.03), of("cfs", "a-1", 0.0), of("rr", "b-1", 0.02)];
        let page = of_agreement(&agreement(cells), Provenance::default());
        let rows: Vec<_> =
            page.sections[0].charts[0].rows.iter().map(|row| [&row["x"], &row["y"], &row["value"]]).collect();
        let expected =
            [("rr", "a", 0.6), ("cfs", "a", 0.0), ("rr", "b", 0.4)].map(|(x, y, off)| [json!(x), json!(y), json!(off)]);
        assert_eq!(rows, expected.iter().map(|row| [&row[0], &row[1], &row[2]]).collect::<Vec<_>>());
    }

    /// One policy makes no map, and where no run came to its end there is no chart at all.
    #[test]
    fn without_figures_there_are_no_charts() {
        let failed = CellReport { figures: Vec::new(), ..cell("rr", "a", 0.0, CellVerdict::Failed) };
        let page = of_agreement(&agreement(vec![failed]), Provenance::default());
        assert_eq!((page.charts().count(), page.answer.as_str()), (0, "0 of 1 cells agree; 1 failed."));
        let one = of_agreement(&agreement(vec![cell("rr", "a", 0.0, CellVerdict::Agrees)]), Provenance::default());
        assert_eq!(one.charts().count(), 1);
    }
}
