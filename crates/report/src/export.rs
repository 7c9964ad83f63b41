//! Tables as files for other programs: Markdown and CSV.

use crate::Table;
use schedlab_boundary::markdown;
use std::fmt::Write as _;
use std::path::Path;

/// A form of such a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A heading and a table each.
    Markdown,
    /// One line for each cell: table, row (its words, but for those behind all numbers), column, value.
    Csv,
}

impl Form {
    /// The form that a file's extension names.
    pub fn of(file: &Path) -> Option<Form> {
        match file.extension()?.to_str()? {
            "md" => Some(Form::Markdown),
            "csv" => Some(Form::Csv),
            _ => None,
        }
    }

    /// The tables, each with its title.
    pub fn show<T: AsRef<str>>(self, tables: &[(T, Table)]) -> String {
        match self {
            Form::Markdown => {
                tables.iter().map(|(title, table)| headed(title.as_ref(), table)).collect::<Vec<_>>().join("\n")
            }
            Form::Csv => {
                let rows = tables.iter().map(|(title, table)| csv(title.as_ref(), table)).collect::<String>();
                format!("table,row,column,value\n{rows}")
            }
        }
    }
}

/// What is above a column, with what it shares with its neighbours.
fn heads(table: &Table) -> Vec<String> {
    table
        .columns()
        .iter()
        .map(|column| format!("{} {}", column.shared_head(), column.head()).trim().to_string())
        .collect()
}

fn rows(table: &Table) -> usize {
    table.columns().iter().map(|column| column.cells().len()).max().unwrap_or(0)
}

impl Table {
    /// The table in Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let plain = |text: &str| markdown::text(text.trim());
        let mut text = line(heads(self).iter().map(|head| plain(head)).collect());
        let rules = self.columns().iter().map(|column| if column.is_words() { "---" } else { "---:" });
        text += &line(rules.map(String::from).collect());
        for row in 0..rows(self) {
            let cells = self.columns().iter().map(|column| plain(column.cells().get(row).map_or("", String::as_str)));
            text += &line(cells.collect());
        }
        text
    }
}

fn headed(title: &str, table: &Table) -> String {
    format!("## {}\n\n{}", markdown::text(title), table.markdown())
}

fn csv(title: &str, table: &Table) -> String {
    let heads = heads(table);
    let cell = |column: usize, row: usize| table.columns()[column].cells().get(row).map_or("", |cell| cell.trim());
    // Words name a row, but for those behind all numbers. Where all columns are words, the first one names the row.
    let is_words = |column: usize| table.columns()[column].is_words();
    let last_number = (0..heads.len()).rfind(|&column| !is_words(column)).unwrap_or(1);
    let (names, values): (Vec<usize>, Vec<usize>) =
        (0..heads.len()).partition(|&column| is_words(column) && column < last_number);
    // A cell that is empty is the same as the one above.
    let mut name: Vec<&str> = vec![""; names.len()];
    let mut text = String::new();
    for row in 0..rows(table) {
        for (part, &column) in name.iter_mut().zip(&names) {
            if !cell(column, row).is_empty() {
                *part = cell(column, row);
            }
        }
        for &column in &values {
            let [title, name, head] = [title, &name.join(" "), &heads[column]].map(words_of);
            let value = if is_words(column) { words_of(cell(column, row)) } else { cell(column, row).to_string() };
            let fields = [&title, &name, &head, &value].map(|field| quoted(field));
            let _ = writeln!(text, "{}", fields.join(","));
        }
    }
    text
}

/// Words, which a table calculator is not to take for a formula: names come from scenarios of strangers.
fn words_of(field: &str) -> String {
    let calculates = field.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if calculates { format!("'{field}") } else { field.into() }
}

/// A field, in quotation marks where it needs them.
fn quoted(field: &str) -> String {
    let needs = field.contains(['"', ',', '\n']);
    if needs { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Column;

    fn table() -> Table {
        let words = |head: &str, cells: [&str; 2]| Column::words(head, cells.map(String::from));
        let numbers = Column::numbers("per s", ["1.5".to_string(), "2".to_string()]).under("requests");
        Table::new([words("policy", ["rr:quantum=5ms,x", ""]), words("role", ["a", "b|c"]), numbers])
    }

    #[test]
    fn a_table_becomes_markdown_and_csv() {
        let tables = [("How fast", table())];
        let markdown = "## How fast\n\n| policy | role | requests per s |\n| --- | --- | ---: |\n\
                        | rr:quantum=5ms,x | a | 1.5 |\n|  | b\\|c | 2 |\n";
        assert_eq!(Form::Markdown.show(&tables), markdown);
        let csv = "table,row,column,value\nHow fast,\"rr:quantum=5ms,x a\",requests per s,1.5\n\
                   How fast,\"rr:quantum=5ms,x b|c\",requests per s,2\n";
        assert_eq!(Form::Csv.show(&tables), csv);
    }

    #[test]
    fn words_behind_a_number_are_values_and_no_names() {
        let words = |head: &str, cell: &str| Column::words(head, [cell.to_string()]);
        let numbers = Column::numbers("per s", ["1.5".to_string()]);
        let mixed = Table::new([words("policy", "rr"), numbers, words("verdict", "+1, FAILED")]);
        let csv = Form::Csv.show(&[("Gate", mixed)]);
        assert_eq!(csv, "table,row,column,value\nGate,rr,per s,1.5\nGate,rr,verdict,\"'+1, FAILED\"\n");
        let all = Table::new([words("policy", "rr"), words("verdict", "ok")]);
        assert_eq!(Form::Csv.show(&[("Gate", all)]), "table,row,column,value\nGate,rr,verdict,ok\n");
    }

    #[test]
    fn no_name_is_a_formula() {
        let numbers = Column::numbers("ms", ["-1".to_string()]);
        let table = Table::new([Column::words("role", ["=HYPERLINK(\"x\")".to_string()]), numbers]);
        let csv = Form::Csv.show(&[("How fast", table)]);
        assert!(csv.contains("How fast,\"'=HYPERLINK(\"\"x\"\")\",ms,-1\n"), "{csv}");
    }

    #[test]
    fn the_extension_names_the_form() {
        assert_eq!(Form::of(Path::new("a/b.md")), Some(Form::Markdown));
        assert_eq!(Form::of(Path::new("b.csv")), Some(Form::Csv));
        assert_eq!((Form::of(Path::new("b.txt")), Form::of(Path::new("csv"))), (None, None));
    }
}
