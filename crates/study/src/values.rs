//! The published values of a question, each next to what was seen.

use crate::Verdict;
use crate::page::{flat, number, with_unit};
use crate::verdict::{Firmness, Judged};
use schedlab_boundary::markdown::line;
use schedlab_report::{Column, Style, Table, WIDTH, columns_of, wrap};
use serde::Serialize;
use std::fmt::Write as _;

/// A published value.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The unit.
    pub unit: String,
    /// Where it is in the source.
    pub place: String,
    /// Which items of the source it is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<String>,
    /// The value with what was seen.
    #[serde(flatten)]
    pub judged: Judged,
}

/// The values as a table of Markdown: what a whole column says nothing about has none.
pub fn markdown_values(rows: &[Row]) -> String {
    type Cell = fn(&Row) -> Option<String>;
    let columns: [(&str, Cell); 7] = [
        ("value", |row| {
            let place = if row.place.is_empty() { String::new() } else { format!(" ({})", row.place) };
            Some(format!("{}{place}", row.judged.what))
        }),
        ("published", |row| Some(row.published()).filter(|text| !text.is_empty())),
        ("own", Row::own),
        ("seen", |row| row.judged.seen.map(|seen| row.in_unit(Some(seen)))),
        ("predicted", |row| row.judged.predicted.map(|value| row.in_unit(Some(value)))),
        ("verdict", |row| Some(row.judged.verdict.words().into())),
        ("under", |row| row.judged.firmness.as_ref().map(Firmness::words)),
    ];
    let columns: Vec<_> = columns.iter().filter(|(_, cell)| rows.iter().any(|row| cell(row).is_some())).collect();
    let heads: Vec<&str> = columns.iter().map(|(head, _)| *head).collect();
    let mut text = format!("| {} |\n|{}\n", heads.join(" | "), "---|".repeat(heads.len()));
    for row in rows {
        let cells = columns.iter().map(|(_, cell)| cell(row).map_or("-".into(), |cell| line(&cell)));
        let _ = writeln!(text, "| {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    text
}

impl Row {
    /// A number with the unit of the value; `-` where there is none.
    pub fn in_unit(&self, value: Option<f64>) -> String {
        value.map_or("-".into(), |value| with_unit(&number(value), &self.unit))
    }

    /// The study's own threshold or calculation, with its unit.
    pub fn own(&self) -> Option<String> {
        self.judged.own.as_ref().map(|own| with_unit(own, &self.unit))
    }

    /// What the source prints, with its unit where it is a number, and marked where that could not be checked.
    pub fn published(&self) -> String {
        let published = &self.judged.published;
        let is_number = published.chars().any(|c| c.is_ascii_digit()) && published.len() <= LONGEST_NUMBER;
        // Some print their unit themselves.
        let is_bare = is_number && !published.ends_with(&self.unit);
        let text = if is_bare { with_unit(published, &self.unit) } else { published.clone() };
        if self.judged.unverified.is_some() { format!("{text} (not verified)") } else { text }
    }
}

/// Words that were published, for which a column of numbers has no place.
pub fn words_published(row: &Row) -> Option<String> {
    let text = row.published();
    (text.len() > LONGEST_CELL).then(|| format!("{}: published: {}", row.judged.what, flat(&text)))
}

/// The published values: numbers and verdict in columns, and behind them what it is, on as many lines as that takes.
pub fn values(rows: &[Row], style: Style) -> String {
    let shown = |pick: fn(&Judged) -> Option<f64>| rows.iter().map(move |row| row.in_unit(pick(&row.judged)));
    let published = |row: &Row| match row.published() {
        text if text.is_empty() || text.len() > LONGEST_CELL => "-".into(),
        text => text,
    };
    let mut columns = vec![
        Column::words("verdict", rows.iter().map(|row| row.judged.verdict.words().to_string())),
        Column::numbers("published", rows.iter().map(published)),
        Column::numbers("seen", shown(|judged| judged.seen)),
    ];
    if rows.iter().any(|row| row.judged.own.is_some()) {
        let own = rows.iter().map(|row| row.own().unwrap_or("-".into()));
        columns.insert(2, Column::numbers("own", own));
    }
    if rows.iter().any(|row| row.judged.predicted.is_some()) {
        columns.push(Column::numbers("predicted", shown(|judged| judged.predicted)));
    }
    if rows.iter().any(|row| row.judged.firmness.is_some()) {
        let firmness = |row: &Row| row.judged.firmness.as_ref().map_or("-".into(), Firmness::words);
        columns.insert(1, Column::words("under", rows.iter().map(firmness)));
    }
    let table = Table::new(columns).show(Style { colours: false });
    let width = table.lines().map(columns_of).max().unwrap_or(0) + 2;
    let whats = std::iter::once("").chain(rows.iter().map(|row| row.judged.what.as_str()));
    let line = |(index, (line, what)): (usize, (&str, &str))| match index {
        0 => style.bold(line) + "\n",
        _ if width + LEAST_WHAT > WIDTH => line.to_string() + "\n" + &wrap("    ", 4, what),
        _ => wrap(&format!("{line:<width$}"), width, what),
    };
    table.lines().zip(whats).enumerate().map(line).collect()
}

/// The same for other programs: numbers are bare, and their unit has a column.
pub fn exported(rows: &[Row]) -> Table {
    let words = |head: &str, of: &dyn Fn(&Row) -> String| Column::words(head, rows.iter().map(of));
    let shown = |head: &str, value: &dyn Fn(&Row) -> Option<f64>| {
        let cells = rows.iter().map(|row| value(row).map_or(String::new(), number));
        Column::numbers(head, cells).exactly(head, rows.iter().map(value))
    };
    let numbers = |head: &str, of: &dyn Fn(&Row) -> String| Column::numbers(head, rows.iter().map(of));
    Table::new([
        words("value", &|row| row.judged.what.clone()),
        numbers("published", &|row| row.judged.published.clone()),
        numbers("own", &|row| row.judged.own.clone().unwrap_or_default()),
        shown("seen", &|row| row.judged.seen),
        shown("predicted", &|row| row.judged.predicted),
        words("unit", &|row| row.unit.clone()),
        words("verdict", &|row| row.judged.verdict.words().into()),
        words("under", &|row| row.judged.firmness.as_ref().map_or(String::new(), Firmness::words)),
        words("where", &|row| row.place.clone()),
    ])
}

/// With less room than this behind the numbers, what a value is is below them.
const LEAST_WHAT: usize = 28;

/// What is longer was published in words.
const LONGEST_NUMBER: usize = 16;

/// What is longer has no place in a column of a terminal.
const LONGEST_CELL: usize = 16;

/// What is behind verdicts, thresholds and numbers: each once, behind the values that it is about.
pub fn notes(rows: &[Row]) -> Vec<String> {
    let mut notes: Vec<(String, Vec<&str>)> = Vec::new();
    for row in rows {
        for note in row.judged.notes() {
            match notes.iter_mut().find(|(known, _)| *known == note) {
                Some((_, whats)) => whats.push(&row.judged.what),
                None => notes.push((note, vec![&row.judged.what])),
            }
        }
    }
    notes.into_iter().map(|(note, whats)| format!("{}: {note}", whats.join("; "))).collect()
}

impl Judged {
    /// Why the verdict is as it is, and what the run that has to show this says.
    pub(crate) fn because(&self) -> Option<String> {
        let proof = match &self.verdict {
            Verdict::Differs { proof, .. } => proof.as_ref(),
            _ => None,
        };
        match (self.verdict.reason(), proof) {
            (Some(reason), Some(proof)) => Some(format!("{}; shown: {}", flat(reason), proof.seen)),
            (None, Some(proof)) => Some(format!("the reason that the study gives does not show: {}", proof.seen)),
            (Some(reason), None) if matches!(self.verdict, Verdict::Differs { .. }) => {
                Some(format!("{}; no run shows it", flat(reason)))
            }
            (reason, None) => reason.map(flat),
        }
    }

    /// What is behind the verdict, the threshold and the number.
    fn notes(&self) -> impl Iterator<Item = String> {
        let reason = self.because().map(|reason| format!("{}: {reason}", self.verdict.words()));
        let own = self.derivation.as_ref().map(|text| format!("the study's own number: {}", flat(text)));
        let unverified = self.unverified.as_ref().map(|why| format!("not verified: {}", flat(why)));
        [reason, own, unverified].into_iter().flatten()
    }
}
