//! What a command comes to, as files for people and for other programs: Markdown and CSV.

mod csv;

use crate::Table;
use crate::table::MARK;
use schedlab_boundary::markdown;
use std::path::Path;

/// A form of such a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The answer, the tables, what to know about them, and what failed.
    Markdown,
    /// One line for each row of a table, with a column for each label and each number.
    Csv,
}

/// What a command comes to.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The answer, a paragraph each.
    pub answer: Vec<String>,
    /// What the answer rests on, point by point.
    pub points: Vec<String>,
    /// The tables, each with its title.
    pub tables: Vec<(String, Table)>,
    /// What a reader has to know before believing the numbers.
    pub cautions: Vec<String>,
    /// What has no numbers, and why.
    pub failures: Vec<Failed>,
}

/// Something that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// What it is, by the name of the column that holds it: `policy`, `scenario`.
    pub labels: Vec<(&'static str, String)>,
    /// Why, in words that also say what.
    pub why: String,
}

impl Failed {
    /// A policy that failed.
    pub fn policy(policy: &str, why: &str) -> Failed {
        Failed { labels: vec![("policy", policy.into())], why: why.into() }
    }
}

impl Findings {
    /// Findings that have tables with titles, and nothing else yet.
    pub fn of<T: Into<String>>(tables: impl IntoIterator<Item = (T, Table)>) -> Findings {
        let tables = tables.into_iter().map(|(title, table)| (title.into(), table)).collect();
        Findings { tables, ..Findings::default() }
    }

    fn markdown(&self) -> String {
        let paragraphs = self.answer.iter().map(|text| format!("{}\n", markdown::text(text)));
        let points = (!self.points.is_empty()).then(|| list(self.points.iter().map(String::as_str)));
        let tables = self.tables.iter().map(|(title, table)| headed(title, &table.markdown()));
        let told = |title: &str, texts: Vec<&str>| (!texts.is_empty()).then(|| headed(title, &list(texts)));
        let cautions = told("Cautions", self.cautions.iter().map(String::as_str).collect());
        let failures = told("Failures", self.failures.iter().map(|failed| failed.why.as_str()).collect());
        let parts = paragraphs.chain(points).chain(tables).chain(cautions).chain(failures);
        parts.collect::<Vec<_>>().join("\n")
    }
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

    /// What a file of this form holds.
    pub fn show(self, findings: &Findings) -> String {
        match self {
            Form::Markdown => findings.markdown(),
            Form::Csv => csv::of(findings),
        }
    }
}

impl Table {
    /// The table in Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let plain = |text: &str| markdown::text(text.trim());
        let mut text = line(self.columns().iter().map(|column| plain(&column.heads())).collect());
        let rules = self.columns().iter().map(|column| if column.is_words() { "---" } else { "---:" });
        text += &line(rules.map(String::from).collect());
        for row in 0..self.rows() {
            let cells = self.columns().iter().map(|column| {
                let cell = column.cells().get(row).map_or("", String::as_str);
                let mark = if column.is_marked(row) { format!("\\{MARK}") } else { String::new() };
                plain(cell) + &mark
            });
            text += &line(cells.collect());
        }
        text
    }
}

fn headed(title: &str, text: &str) -> String {
    format!("## {}\n\n{text}", markdown::text(title))
}

fn list<'a>(points: impl IntoIterator<Item = &'a str>) -> String {
    points.into_iter().map(|point| format!("- {}\n", markdown::text(point.trim()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Column;

    fn table() -> Table {
        let words = |head: &str, cells: [&str; 2]| Column::words(head, cells.map(String::from));
        let numbers = Column::numbers("per s", ["1.5".to_string(), "2".to_string()]).under("requests");
        Table::new([
            words("policy", ["rr:quantum=5ms,x", ""]),
            words("role", ["a", "b|c"]),
            numbers.marked(vec![false, true]),
        ])
    }

    #[test]
    fn markdown_begins_with_the_answer_and_ends_with_what_is_doubtful() {
        let findings = Findings {
            answer: vec!["rr is best.".into()],
            points: vec!["rr: 2× faster".into()],
            cautions: vec!["Other programs took 46 %.".into()],
            failures: vec![Failed::policy("never", "policy never: it does not load")],
            ..Findings::of([("How fast", table())])
        };
        let markdown = "rr is best.\n\n- rr: 2× faster\n\n## How fast\n\n| policy | role | requests per s |\n\
                        | --- | --- | ---: |\n| rr:quantum=5ms,x | a | 1.5 |\n|  | b\\|c | 2\\* |\n\n\
                        ## Cautions\n\n- Other programs took 46 %.\n\n## Failures\n\n- policy never: it does not load\n";
        assert_eq!(Form::Markdown.show(&findings), markdown);
        let tables = Form::Markdown.show(&Findings::of([("How fast", table())]));
        assert!(tables.starts_with("## How fast\n") && tables.ends_with("2\\* |\n"), "{tables}");
    }

    #[test]
    fn the_extension_names_the_form() {
        assert_eq!(Form::of(Path::new("a/b.md")), Some(Form::Markdown));
        assert_eq!(Form::of(Path::new("b.csv")), Some(Form::Csv));
        assert_eq!((Form::of(Path::new("b.txt")), Form::of(Path::new("csv"))), (None, None));
    }
}
