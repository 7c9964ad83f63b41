//! CSV for programs: one header for all tables of a file. Its columns are the table, the labels, the numbers, and a note.

use super::{Failed, Findings};
use crate::{Column, Table};
use std::fmt::Write as _;

/// The first column: the table of a row, or that it is no row of a table.
const TABLE: &str = "table";

/// The last column: what is to be known about a row.
const NOTE: &str = "note";

/// A line of the file.
struct Line<'a> {
    table: &'a str,
    /// What is in columns, by their names.
    cells: Vec<(String, String)>,
    note: String,
}

/// A column as programs read it.
struct Read {
    key: String,
    is_label: bool,
    cells: Vec<String>,
}

/// The file.
pub(super) fn of(findings: &Findings) -> String {
    let (mut labels, mut numbers) = (Vec::new(), Vec::new());
    let mut lines = Vec::new();
    for (title, table) in &findings.tables {
        let columns = columns(table);
        for column in &columns {
            add(if column.is_label { &mut labels } else { &mut numbers }, &column.key);
        }
        lines.extend((0..table.rows()).map(|row| line(title, table, &columns, row)));
    }
    for failed in &findings.failures {
        failed.labels.iter().for_each(|(key, _)| add(&mut labels, key));
        lines.push(failure(failed));
    }
    let told = |table, texts: &[String]| texts.iter().map(|text| remark(table, text)).collect::<Vec<_>>();
    lines.extend(told("caution", &findings.cautions));
    lines.extend(told("answer", &findings.answer));
    lines.extend(told("answer", &findings.points));
    numbers.retain(|key| !labels.contains(key));
    let keys = [labels, numbers].concat();
    let head = [TABLE].into_iter().chain(keys.iter().map(String::as_str)).chain([NOTE]).map(words_of);
    let mut text = written(head);
    lines.iter().for_each(|line| text += &line.written(&keys));
    text
}

impl Line<'_> {
    fn written(&self, keys: &[String]) -> String {
        let cell =
            |key: &String| self.cells.iter().find(|(known, _)| known == key).map_or("", |(_, cell)| cell.as_str());
        let cells = [self.table].into_iter().chain(keys.iter().map(cell)).chain([self.note.as_str()]);
        written(cells.map(words_of))
    }
}

fn line<'a>(title: &'a str, table: &Table, columns: &[Read], row: usize) -> Line<'a> {
    let cells = columns.iter().map(|column| (column.key.clone(), column.cells[row].clone())).collect();
    let mut notes: Vec<&str> = Vec::new();
    for note in table.columns().iter().filter_map(|column| column.note(row)) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    Line { table: title, cells, note: notes.join(" ") }
}

fn failure(failed: &Failed) -> Line<'_> {
    let cells = failed.labels.iter().map(|(key, label)| (key.to_string(), label.clone())).collect();
    Line { table: "failure", cells, note: failed.why.clone() }
}

fn remark<'a>(table: &'a str, text: &str) -> Line<'a> {
    Line { table, cells: Vec::new(), note: text.into() }
}

fn add(keys: &mut Vec<String>, key: &str) {
    if !keys.iter().any(|known| known == key) {
        keys.push(key.into());
    }
}

/// What programs read of a table. Words are labels, but for those behind all numbers. Where all columns are words, the first one
/// is the label.
fn columns(table: &Table) -> Vec<Read> {
    let all = table.columns();
    let last_number = all.iter().rposition(|column| !column.is_words()).unwrap_or(1);
    let mut read: Vec<Read> = Vec::new();
    for (index, column) in all.iter().enumerate() {
        let is_label = column.is_words() && index < last_number;
        for part in column.read() {
            let key = unlike(part.key(), &read);
            read.push(Read { key, is_label, cells: cells(part, is_label, table.rows()) });
        }
    }
    read
}

/// A name that no other column has.
fn unlike(key: String, others: &[Read]) -> String {
    let is_free = |key: &String| key != TABLE && key != NOTE && !others.iter().any(|other| other.key == *key);
    let numbered = (2..).map(|number| format!("{key} {number}"));
    std::iter::once(key.clone()).chain(numbered).find(is_free).unwrap_or(key)
}

/// What is in a column. A label that is empty is the same as the one above.
fn cells(column: &Column, is_label: bool, rows: usize) -> Vec<String> {
    let mut last = String::new();
    let cell = |row: usize| {
        let is_empty = column.cells().get(row).is_none_or(|cell| cell.trim().is_empty());
        if !(is_label && is_empty) {
            last = column.value(row);
        }
        last.clone()
    };
    (0..rows).map(cell).collect()
}

/// A line of fields.
fn written(fields: impl Iterator<Item = String>) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}", fields.map(|field| quoted(&field)).collect::<Vec<_>>().join(","));
    text
}

/// Words, which a table calculator is not to take for a formula: names come from scenarios of strangers.
fn words_of(field: &str) -> String {
    let calculates = field.starts_with(['=', '+', '-', '@', '\t', '\r']) && field.parse::<f64>().is_err();
    if calculates { format!("'{field}") } else { field.into() }
}

/// A field, in quotation marks where it needs them.
fn quoted(field: &str) -> String {
    let needs = field.contains(['"', ',', '\n', '\r']);
    if needs { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words<const N: usize>(head: &str, cells: [&str; N]) -> Column {
        Column::words(head, cells.map(String::from))
    }

    fn per_second<const N: usize>(cells: [&str; N]) -> Column {
        Column::numbers("per s", cells.map(String::from)).under("requests")
    }

    #[test]
    fn each_label_and_each_number_has_a_column() {
        let fast = Table::new([
            words("policy", ["rr:quantum=5ms,x", ""]),
            words("role", ["a", "b"]),
            per_second(["1.5", "-"]).noted(vec![None, Some("Others took 46 %.".into())]),
        ]);
        let slow = Table::new([words("policy", ["rr"]), Column::times("wait", [Some(1_500.5)])]);
        let findings = Findings {
            cautions: vec!["PARTIAL: it was stopped.".into()],
            answer: vec!["rr is best.".into()],
            failures: vec![Failed::policy("never", "it does not load")],
            ..Findings::of([("Fast", fast), ("Slow", slow)])
        };
        let lines = [
            "table,policy,role,requests per s,wait ns,note",
            "Fast,\"rr:quantum=5ms,x\",a,1.5,,",
            "Fast,\"rr:quantum=5ms,x\",b,,,Others took 46 %.",
            "Slow,rr,,,1500.5,",
            "failure,never,,,,it does not load",
            "caution,,,,,PARTIAL: it was stopped.",
            "answer,,,,,rr is best.",
        ];
        assert_eq!(of(&findings).lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn a_label_in_parts_has_a_column_for_each() {
        let parts = |_: &[String]| vec![words("policy", ["rr", ""]), words("venue", ["sim", ""])];
        let table = Table::new([words("policy", ["rr@sim", ""]), words("role", ["a", "b"]), per_second(["1", "2"])]);
        let csv = of(&Findings::of([("Fast", table.labelled("policy", parts))]));
        assert_eq!(csv, "table,policy,venue,role,requests per s,note\nFast,rr,sim,a,1,\nFast,rr,sim,b,2,\n");
    }

    #[test]
    fn words_behind_a_number_are_values_and_no_labels() {
        let mixed =
            Table::new([words("policy", ["rr", "rr"]), per_second(["1", "2"]), words("verdict", ["+1, no", ""])]);
        let csv = of(&Findings::of([("Gate", mixed)]));
        assert_eq!(csv, "table,policy,requests per s,verdict,note\nGate,rr,1,\"'+1, no\",\nGate,rr,2,,\n");
        let all = Table::new([words("policy", ["rr"]), words("verdict", ["ok"])]);
        assert_eq!(of(&Findings::of([("Gate", all)])), "table,policy,verdict,note\nGate,rr,ok,\n");
    }

    #[test]
    fn two_columns_have_two_names() {
        let table = Table::new([words("note", ["a"]), per_second(["1"]), per_second(["2"])]);
        let csv = of(&Findings::of([("Fast", table)]));
        assert_eq!(csv, "table,note 2,requests per s,requests per s 2,note\nFast,a,1,2,\n");
    }

    #[test]
    fn no_name_is_a_formula() {
        let table = Table::new([words("role", ["=HYPERLINK(\"x\")"]), per_second(["-1"])]);
        let csv = of(&Findings::of([("Fast", table)]));
        assert!(csv.contains("Fast,\"'=HYPERLINK(\"\"x\"\")\",-1,\n"), "{csv}");
    }
}
