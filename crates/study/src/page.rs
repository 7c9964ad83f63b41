//! The page of a study: its questions, tables and values, for people on a terminal, as Markdown, and as data.

use crate::Verdict;
use crate::case::{Case, Experiment};
use crate::language::Study;
use crate::overhead;
use crate::runner::CaseOutcome;
use crate::table::TablePage;
use crate::verdict::{Judged, judge, plain};
use schedlab_model::time::Time;
use schedlab_report::{Column, Quantity, Style, Table, columns_of, wrap};
use serde::Serialize;
use std::fmt::Write as _;

/// What a study says.
#[derive(Clone, Debug, Serialize)]
pub struct Page {
    /// Its name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Whose results are reproduced.
    pub source: String,
    /// Its goal.
    pub goal: String,
    /// Whether it is the quick version.
    pub quick: bool,
    /// The version of schedlab.
    pub version: String,
    /// Each question with what was seen.
    pub questions: Vec<Answered>,
}

/// A question with what was seen.
#[derive(Clone, Debug, Serialize)]
pub struct Answered {
    /// Its name.
    pub id: String,
    /// The question.
    pub asks: String,
    /// Tables of what was measured.
    pub tables: Vec<TablePage>,
    /// What was found about all of a table's rows together.
    pub statements: Vec<String>,
    /// Published values.
    pub values: Vec<Row>,
    /// What follows.
    pub answer: String,
    /// How each case was run, and those that were not.
    pub cases: Vec<String>,
}

/// A published value.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The unit.
    pub unit: String,
    /// Where it stands in the source.
    pub place: String,
    /// The value with what was seen.
    #[serde(flatten)]
    pub judged: Judged,
}

impl Page {
    /// What a study says after its cases were run.
    pub fn new(study: &Study, experiment: &Experiment, outcomes: &[CaseOutcome]) -> Page {
        let questions = study.questions.iter().map(|question| {
            let row = |value: &crate::ValueSpec| {
                let rows = judge(value, experiment, outcomes).into_iter();
                rows.map(|judged| Row { unit: value.unit.clone(), place: value.place.clone(), judged })
                    .collect::<Vec<_>>()
            };
            let tables = question.tables.iter().map(|table| TablePage::new(table, experiment, outcomes));
            let overheads = question.overheads.iter().map(|spec| overhead::page(spec, experiment, outcomes));
            let (more, statements): (Vec<_>, Vec<_>) = overheads.unzip();
            Answered {
                id: question.id.clone(),
                asks: question.asks.clone(),
                tables: tables.chain(more.into_iter().flatten()).collect(),
                statements: statements.concat(),
                values: question.values.iter().flat_map(row).collect(),
                answer: question.answer.trim().into(),
                cases: question
                    .runs
                    .iter()
                    .flat_map(|run| experiment.of_run(&run.name, outcomes).map(provenance))
                    .collect(),
            }
        });
        Page {
            name: study.name.clone(),
            title: study.title.clone(),
            source: study.source.clone(),
            goal: study.goal.trim().into(),
            quick: experiment.variant.quick,
            version: env!("CARGO_PKG_VERSION").into(),
            questions: questions.collect(),
        }
    }

    /// How many values got each verdict: those that hold, differ for a known reason, differ, cannot be compared, were not
    /// run.
    pub fn counts(&self) -> [usize; 5] {
        let mut counts = [0; 5];
        for row in self.questions.iter().flat_map(|question| &question.values) {
            counts[match &row.judged.verdict {
                Verdict::Holds => 0,
                Verdict::Differs { reason: Some(_) } => 1,
                Verdict::Differs { reason: None } => 2,
                Verdict::NotComparable { .. } => 3,
                Verdict::NotRun { .. } => 4,
            }] += 1;
        }
        counts
    }

    /// The counts in words.
    pub fn summary(&self) -> String {
        let [holds, explained, differs, not_comparable, not_run] = self.counts();
        format!(
            "{holds} values hold, {explained} differ for the reason given, {differs} differ, {not_comparable} cannot be \
             compared, {not_run} were not run here"
        )
    }

    /// For a terminal.
    pub fn show(&self, style: Style) -> String {
        let mut text = wrap("", 0, &self.title) + &wrap("Goal: ", 6, &self.goal);
        for question in &self.questions {
            text += &("\n".to_string() + &wrap(&format!("{}: ", question.id), 2, &question.asks));
            for table in &question.tables {
                text += &format!("\n{}\n{}", table.title, table.with_sketches().show(style));
            }
            for statement in &question.statements {
                text += &("\n".to_string() + &wrap("", 0, statement));
            }
            if !question.values.is_empty() {
                text += &("\n".to_string() + &values(&question.values, style));
                text += &reasons(&question.values).iter().map(|line| wrap("- ", 2, line)).collect::<String>();
            }
            if !question.answer.is_empty() {
                text += &("\n".to_string() + &wrap("", 0, &question.answer));
            }
        }
        text + "\n" + &wrap("", 0, &(self.summary() + "."))
    }

    /// As Markdown.
    pub fn markdown(&self, command: &str) -> String {
        let mut text = format!("# {}\n\n**Goal:** {}\n", self.title, flat(&self.goal));
        if !self.source.is_empty() {
            let _ = write!(text, "\n**Source:** {}\n", flat(&self.source));
        }
        let quick = if self.quick { ", the quick version" } else { "" };
        let _ = write!(text, "\nMade by `{command}` (schedlab {}{quick}). {}.\n", self.version, self.summary());
        for question in &self.questions {
            let _ = write!(text, "\n## {}: {}\n", question.id, flat(&question.asks));
            for table in &question.tables {
                let _ = write!(text, "\n{}:\n\n{}", table.title, table.markdown());
            }
            question.statements.iter().for_each(|statement| text += &format!("\n{statement}\n"));
            if !question.values.is_empty() {
                text += "\n| value | published | seen | predicted | verdict |\n|---|---|---|---|---|\n";
                for row in &question.values {
                    let judged = &row.judged;
                    let place = if row.place.is_empty() { String::new() } else { format!(" ({})", row.place) };
                    let _ = writeln!(
                        text,
                        "| {}{place} | {} | {} | {} | {} |",
                        judged.what,
                        with_unit(&judged.published, &row.unit),
                        judged.seen.map_or("-".into(), |seen| with_unit(&number(seen), &row.unit)),
                        judged.predicted.map_or("-".into(), |value| with_unit(&number(value), &row.unit)),
                        judged.verdict.words(),
                    );
                }
                for reason in reasons(&question.values) {
                    let _ = write!(text, "\n- {reason}");
                }
                text += "\n";
            }
            if !question.answer.is_empty() {
                let _ = write!(text, "\n{}\n", question.answer);
            }
            if !question.cases.is_empty() {
                text += "\n<details><summary>Runs</summary>\n\n";
                question.cases.iter().for_each(|case| text += &format!("- {case}\n"));
                text += "\n</details>\n";
            }
        }
        text
    }
}

/// The published values: numbers and verdict in columns, and behind them what it is, on as many lines as that takes.
fn values(rows: &[Row], style: Style) -> String {
    let shown = |pick: fn(&Judged) -> Option<f64>| {
        rows.iter().map(move |row| pick(&row.judged).map_or("-".into(), |value| with_unit(&number(value), &row.unit)))
    };
    // Words that were published have no place in a column of numbers.
    let published = |row: &Row| match row.judged.published.len() <= LONGEST_NUMBER {
        true => with_unit(&row.judged.published, &row.unit),
        false => "-".into(),
    };
    let mut columns = vec![
        Column::words("verdict", rows.iter().map(|row| row.judged.verdict.words().to_string())),
        Column::numbers("published", rows.iter().map(published)),
        Column::numbers("seen", shown(|judged| judged.seen)),
    ];
    if rows.iter().any(|row| row.judged.predicted.is_some()) {
        columns.push(Column::numbers("predicted", shown(|judged| judged.predicted)));
    }
    let table = Table::new(columns).show(Style { colours: false });
    let width = table.lines().map(columns_of).max().unwrap_or(0) + 2;
    let whats = std::iter::once("").chain(rows.iter().map(|row| row.judged.what.as_str()));
    let line = |(index, (line, what)): (usize, (&str, &str))| match index {
        0 => style.bold(line) + "\n",
        _ => wrap(&format!("{line:<width$}"), width, what),
    };
    table.lines().zip(whats).enumerate().map(line).collect()
}

/// What is longer was published in words.
const LONGEST_NUMBER: usize = 16;

/// The reasons that stand behind verdicts, each once.
fn reasons(rows: &[Row]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for row in rows {
        let Some(reason) = row.judged.verdict.reason() else { continue };
        let what = row.judged.what.split(", ").next().unwrap_or(&row.judged.what);
        let line = format!("{what}: {}: {}", row.judged.verdict.words(), flat(reason));
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// How a case was run.
fn provenance((case, outcome): (&Case, &CaseOutcome)) -> String {
    let at: String = case.at.iter().map(|(path, value)| format!(", {path} = {}", plain(value))).collect();
    let head = format!("`{}`: {} under `{}`{at}", case.run, case.workload.name, case.policy_name);
    match outcome {
        CaseOutcome::NotRun(why) => format!("{head}: not run here: {}", flat(why)),
        CaseOutcome::Ran(observed) => {
            let result = &observed.result;
            let kernel = result.provenance().kernel.as_deref().filter(|_| result.venue() != "sim");
            let kernel = kernel.map_or(String::new(), |kernel| format!(" ({kernel})"));
            let more = if case.seeds.len() > 1 {
                format!(" and {} derived from it", case.seeds.len() - 1)
            } else {
                String::new()
            };
            let seconds = case.workload.run.end().unwrap_or(Time(result.duration_ns())).as_s();
            let hash = &case.scenario_hash[..12];
            format!("{head} in {}{kernel}, {seconds} s, seed {}{more}, scenario {hash}", result.venue(), case.seeds[0])
        }
    }
}

/// A number with at most four digits that mean something.
fn number(value: f64) -> String {
    Quantity::of(&[Some(value)]).show(Some(value))
}

pub(crate) fn with_unit(text: &str, unit: &str) -> String {
    if unit.is_empty() { text.into() } else { format!("{text} {unit}") }
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
