//! A study as a page.

use crate::command::Given;
use crate::document::{ColumnView, Document, Listing, Provenance, Section, TableView};
use crate::picture::picture;
use crate::pieces::row;
use schedlab_charts::{Axes, Chart, Kind, Row};
use schedlab_model::count::counted;
use schedlab_model::scenario::Notation;
use schedlab_model::time::Time;
use schedlab_study::{
    Answered, COVERAGE_HEADS, Covered, Firmness, Page, Row as ValueRow, TableKind, TablePage, Verdict, coverage_rows,
    notes,
};
use serde_json::json;

/// With fewer points than this there is no line.
const LEAST_POINTS: usize = 3;

/// What is further off than this factor is at the edge.
const EDGE: f64 = 2.5;

/// The page of a study. `text` is its file, `command` what gives the same again.
pub fn of_study(page: &Page, text: &str, command: &str) -> Document {
    let values = page.questions.iter().flat_map(|question| &question.values);
    let rows: Vec<Row> = values.filter_map(published).collect();
    let about = "Each published value as 1, with what the study lets pass around it, and what was seen in relation to it; \
                 what is further off is drawn at the edge.";
    let all = Chart::new(("published", "Measured and published values", about), Kind::Published, rows);
    let mut sections: Vec<Section> =
        page.questions.iter().map(section).chain(items(&page.paper)).chain(overview(all)).collect();
    // The first picture of the first question answers it in the first screen.
    let drawn = sections.iter_mut().find(|section| !section.charts.is_empty());
    let lead = drawn.map(|section| section.charts.remove(0));
    let goal = ("goal".to_string(), page.goal.clone());
    let facts = [goal, ("source".into(), page.source.clone()), ("schedlab".into(), page.version.clone())];
    Document {
        title: page.title.clone(),
        subtitle: if page.quick { "The quick version.".into() } else { String::new() },
        answer: format!("{}.", page.summary()),
        confidence: how_sure(page),
        lead,
        next: next(page, command),
        sections,
        provenance: Provenance {
            facts: facts.into_iter().filter(|(_, fact)| !fact.is_empty()).collect(),
            commands: vec![command.into()],
            files: vec![Listing::file(&format!("{}.toml", page.name), text)],
            ..Provenance::default()
        },
        ..Document::default()
    }
}

/// What a reader may do next: a question that has no answer yet comes first.
fn next(page: &Page, command: &str) -> Vec<String> {
    let provenance = Provenance { commands: vec![command.into()], ..Provenance::default() };
    let given = Given::of(&provenance).subject(&["study"]).filter(|study| !study.contains('\''));
    let study = given.and_then(|study| study.split(':').next()).unwrap_or(&page.name);
    let question = page.unanswered().map(|(question, _)| question).next();
    let question = question.or_else(|| Some(page.questions.first()?.id.as_str())).unwrap_or("QUESTION");
    vec![format!(
        "Answer one question alone: `schedlab study {study}:{question}`; `schedlab study {study} --questions` lists all."
    )]
}

/// How many verdicts stay the same under other seeds and small changes; and what the study is for.
fn how_sure(page: &Page) -> String {
    let values = page.questions.iter().flat_map(|question| &question.values);
    let firm: Vec<bool> =
        values.filter_map(|row| row.judged.firmness.as_ref()).map(|firm| firm.same == firm.of).collect();
    let same = firm.iter().filter(|is_same| **is_same).count();
    let sure = match firm.len() {
        0 => "How sure: one run of each, or too few to tell.".to_string(),
        all => format!("How sure: {same} of {all} verdicts stay the same under other seeds or small changes."),
    };
    [page.goal.as_str(), &sure].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
}

/// What the source prints, item by item.
fn items(paper: &[Covered]) -> Option<Section> {
    let rows = coverage_rows(paper);
    let column = |(index, head): (usize, &&str)| ColumnView {
        head: (*head).into(),
        cells: rows.iter().map(|row| row[index].clone()).collect(),
        ..ColumnView::default()
    };
    let columns = COVERAGE_HEADS.iter().enumerate().map(column).collect();
    (!rows.is_empty()).then(|| Section {
        id: "source".into(),
        heading: "The source, item by item".into(),
        tables: vec![TableView {
            title: "Where each of its tables, figures, equations and numbers stands".into(),
            columns,
            ..TableView::default()
        }],
        ..Section::default()
    })
}

/// All values in one picture, behind the questions: it is long.
fn overview(chart: Chart) -> Option<Section> {
    (!chart.rows.is_empty()).then(|| Section {
        id: "values".into(),
        heading: "All values".into(),
        charts: vec![chart],
        ..Section::default()
    })
}

fn section(question: &Answered) -> Section {
    let pictures = question.charts.iter().enumerate().filter_map(|(index, chart)| picture(question, index, chart));
    let charts = question.tables.iter().enumerate().filter_map(|(index, table)| drawn(question, index, table));
    let values = (!question.values.is_empty()).then(|| values(&question.values));
    let reasons = notes(&question.values);
    let reasons = (!reasons.is_empty()).then(|| Listing {
        title: "Why values differ or cannot be compared, and where own numbers come from".into(),
        text: lines(reasons),
    });
    let runs = (!question.cases.is_empty())
        .then(|| Listing { title: counted(question.cases.len() as u64, "run"), text: lines(question.cases.clone()) });
    let texts = question.answers().chain(question.missing.clone());
    let paragraphs = texts.flat_map(|text| text.split("\n\n").map(String::from).collect::<Vec<_>>());
    Section {
        id: question.id.clone(),
        heading: question.asks.clone(),
        paragraphs: paragraphs.collect(),
        charts: pictures.chain(charts).collect(),
        remarks: question.statements.clone(),
        tables: values.into_iter().chain(question.tables.iter().map(view)).collect(),
        folded: reasons.into_iter().chain(runs).collect(),
        ..Section::default()
    }
}

/// One under the other, each once.
fn lines(mut lines: Vec<String>) -> String {
    lines.dedup();
    lines.join("\n")
}

/// Published values next to measured ones.
fn values(rows: &[ValueRow]) -> TableView {
    let words = |head: &str, of: &dyn Fn(&ValueRow) -> String| ColumnView {
        head: head.into(),
        cells: rows.iter().map(of).collect(),
        ..ColumnView::default()
    };
    let numbers = |head: &str, about: &str, of: &dyn Fn(&ValueRow) -> String| ColumnView {
        is_numeric: true,
        about: Some(about.into()),
        ..words(head, of)
    };
    let mut columns = vec![
        words("value", &|row| row.judged.what.clone()),
        words("place", &|row| row.place.clone()),
        numbers("published", "What the source prints.", &ValueRow::published),
        numbers("seen", "What was measured here.", &|row| row.in_unit(row.judged.seen)),
    ];
    if rows.iter().any(|row| row.judged.own.is_some()) {
        let about = "A threshold or a calculation of the study's own, by which the value is judged.";
        columns.insert(3, numbers("own", about, &|row| row.own().unwrap_or_default()));
    }
    if rows.iter().any(|row| row.judged.predicted.is_some()) {
        let about = "What an equation of the source says.";
        columns.push(numbers("predicted", about, &|row| row.in_unit(row.judged.predicted)));
    }
    columns.push(words("verdict", &|row| row.judged.verdict.words().to_string()));
    if rows.iter().any(|row| row.judged.firmness.is_some()) {
        let firmness = |row: &ValueRow| row.judged.firmness.as_ref().map_or("-".into(), Firmness::words);
        columns.push(ColumnView {
            about: Some(
                "How often the verdict is the same under other seeds, or with small changes where nothing is random."
                    .into(),
            ),
            ..words("under", &firmness)
        });
    }
    TableView { title: "Published and measured values".into(), columns, ..TableView::default() }
}

fn view(table: &TablePage) -> TableView {
    TableView::of(&table.title, &table.as_table())
}

/// A value next to the published one, as a row of the chart that shows all of them.
fn published(row_of: &ValueRow) -> Option<Row> {
    let judged = &row_of.judged;
    let (seen, [low, high]) = (judged.seen?, judged.allowed);
    let one = judged
        .own
        .as_ref()
        .unwrap_or(&judged.published)
        .parse::<f64>()
        .ok()
        .or(high)
        .or(low)
        .filter(|one| *one != 0.0)?;
    let held = |value: f64| (value / one).clamp(0.0, EDGE);
    let verdict = match judged.verdict {
        Verdict::Holds => "holds",
        Verdict::Differs { .. } => "differs",
        Verdict::CannotTell { .. } | Verdict::Fitted { .. } => judged.verdict.words(),
        Verdict::RunSmaller { .. } | Verdict::NotComparable { .. } | Verdict::NotRun { .. } => return None,
    };
    Some(row(json!({
        "what": judged.what, "published": row_of.published(), "seen": seen, "unit": row_of.unit, "verdict": verdict,
        "ratio": held(seen), "low_ratio": held(low.unwrap_or(0.0)), "high_ratio": high.map_or(EDGE, held),
    })))
}

/// A table as a chart; none where it has too little to show.
fn drawn(question: &Answered, index: usize, table: &TablePage) -> Option<Chart> {
    let id = format!("{}-{}", question.id, index + 1);
    let title = (id.as_str(), table.title.as_str(), "");
    let drawn = match &table.kind {
        TableKind::Map { across } => map(title, table, across),
        TableKind::Overhead { percent, half_width } => overhead(title, table, (*percent, *half_width)),
        // The pictures of the question say what its tables would.
        TableKind::Cases if !question.charts.is_empty() => return None,
        TableKind::Cases => lines_over(title, table).unwrap_or_else(|| bars(title, table)),
    };
    (drawn.rows.len() > 1).then_some(drawn)
}

/// What is varied downwards over what is varied across.
fn map(title: (&str, &str, &str), table: &TablePage, across: &str) -> Chart {
    let mut rows = Vec::new();
    for line in &table.rows {
        let (y, panel) = line.names.split_last().map_or(("", &[][..]), |(last, rest)| (last.as_str(), rest));
        for (x, value) in table.heads.iter().zip(&line.cells) {
            let Some(value) = value else { continue };
            rows.push(row(json!({ "panel": panel.join(", "), "x": x, "y": y, "value": value })));
        }
    }
    let axes = Axes { x: Some(across.into()), y: table.names.last().cloned(), ..Axes::default() };
    Chart { axes, ..Chart::new(title, Kind::Boundary, rows) }
}

/// Q' with its interval over the number of tasks.
fn overhead(title: (&str, &str, &str), table: &TablePage, (q, half): (usize, Option<usize>)) -> Chart {
    let point = |line: &schedlab_study::TableRow| {
        let (tasks, names) = line.names.split_last()?;
        let cell = |index: usize| line.cells.get(index).copied().flatten();
        let percent = cell(q)?;
        let mut point = json!({
            "scheduler": names.join(" "), "venue": line.venue.name(), "tasks": tasks.parse::<u32>().ok()?, "percent": percent,
        });
        if let Some(half) = half.and_then(cell) {
            (point["low"], point["high"]) = (json!(percent - half), json!(percent + half));
        }
        Some(row(point))
    };
    Chart::new(title, Kind::Overhead, table.rows.iter().filter_map(point).collect())
}

/// Lines over the last of what is varied, where that is a number or a time with enough values.
fn lines_over(title: (&str, &str, &str), table: &TablePage) -> Option<Chart> {
    let axis = table.names.last().filter(|name| !["policy", "run"].contains(&name.as_str()))?;
    let places: Option<Vec<f64>> = table.rows.iter().map(|line| place(line.names.last()?)).collect();
    let places = places?;
    let mut different = places.clone();
    different.sort_by(f64::total_cmp);
    different.dedup();
    if different.len() < LEAST_POINTS {
        return None;
    }
    let mut rows = Vec::new();
    for (line, x) in table.rows.iter().zip(&places) {
        let scheduler = line.names[..line.names.len() - 1].join(", ");
        for (head, value) in table.heads.iter().zip(&line.cells) {
            let Some(value) = value else { continue };
            rows.push(row(
                json!({ "scheduler": scheduler, "venue": line.venue.name(), "panel": head, "x": x, "value": value }),
            ));
        }
    }
    let unit = if table.rows.iter().any(|line| line.names.last().is_some_and(|name| name.parse::<f64>().is_err())) {
        format!("{axis} ms")
    } else {
        axis.clone()
    };
    let axes = Axes { x: Some(unit), ..Axes::default() };
    Some(Chart { axes, ..Chart::new(title, Kind::Lines, rows) })
}

/// A number as it is, a time in milliseconds.
fn place(text: &str) -> Option<f64> {
    text.parse().ok().or_else(|| Time::read(text).ok().map(|time| time.ns() as f64 / 1e6))
}

fn bars(title: (&str, &str, &str), table: &TablePage) -> Chart {
    let mut rows = Vec::new();
    for line in &table.rows {
        let scheduler = line.names.join(", ");
        for (head, value) in table.heads.iter().zip(&line.cells) {
            let Some(value) = value else { continue };
            rows.push(row(
                json!({ "scheduler": scheduler, "venue": line.venue.name(), "panel": head, "value": value }),
            ));
        }
    }
    Chart::new(title, Kind::Bars, rows)
}
