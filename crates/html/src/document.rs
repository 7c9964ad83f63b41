//! What is on a page.

use schedlab_charts::Chart;
use schedlab_report::{Table, with_minus};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Names up to this number of letters are shown whole.
const SHORT_NAME: usize = 16;

/// The heads of columns that hold names. Scenarios and recordings give these, so that they may be of any length.
const NAMES: [&str; 8] = ["control group", "policy", "program", "role", "scenario", "scheduler", "task", "variant"];

/// A page.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// Its title.
    pub title: String,
    /// What was done, in a line.
    pub subtitle: String,
    /// What came of it, in a sentence.
    pub answer: String,
    /// How sure that is.
    pub confidence: String,
    /// What a reader has to know before believing the numbers.
    pub cautions: Vec<String>,
    /// The answer as a short table: what is first, second and third.
    pub ranking: Option<TableView>,
    /// What a reader may do next, each in a sentence.
    pub next: Vec<String>,
    /// The chart that shows the answer.
    pub lead: Option<Chart>,
    /// Why, and everything else.
    pub sections: Vec<Section>,
    /// Where it all comes from.
    pub provenance: Provenance,
}

/// A part of a page.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Its name in the page's address.
    pub id: String,
    /// Its heading.
    pub heading: String,
    /// What there is to say.
    pub paragraphs: Vec<String>,
    /// Charts.
    pub charts: Vec<Chart>,
    /// What there is to say about the numbers, behind the tables.
    pub remarks: Vec<String>,
    /// Tables.
    pub tables: Vec<TableView>,
    /// Timelines.
    pub timelines: Vec<TimelineView>,
    /// What stands folded away: a title and lines.
    pub folded: Vec<Listing>,
}

/// Lines or a text that is shown as it is.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// What it is.
    pub title: String,
    /// The text.
    pub text: String,
}

/// A table.
#[derive(Clone, Debug, Default)]
pub struct TableView {
    /// What it shows.
    pub title: String,
    /// The columns.
    pub columns: Vec<ColumnView>,
    /// Words in its cells, each with what it means.
    pub terms: Vec<(String, String)>,
}

/// A column: its head, what its numbers are, and its cells.
#[derive(Clone, Debug, Default)]
pub struct ColumnView {
    /// What is above it.
    pub head: String,
    /// What the numbers are.
    pub about: Option<String>,
    /// Whether it holds numbers.
    pub is_numeric: bool,
    /// The cells.
    pub cells: Vec<String>,
    /// What is to be known about a cell before it is believed, for those about which there is something.
    pub notes: Vec<Option<String>>,
}

/// What is in a row of a table.
pub struct Cell<'a> {
    /// Its column.
    pub column: &'a ColumnView,
    /// Its text, as people read it.
    pub text: Cow<'a, str>,
    /// The number of its note below the table.
    pub note: Option<usize>,
}

/// The timeline under one scheduler.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TimelineView {
    /// The scheduler.
    pub label: String,
    /// What the packed bytes are about, as JSON.
    pub header: String,
    /// See [`schedlab_views::slices`].
    #[serde(with = "as_text")]
    pub bytes: Vec<u8>,
    /// What is to be said about it.
    pub remark: Option<String>,
}

/// Where a page's numbers come from.
#[derive(Clone, Debug, Default)]
pub struct Provenance {
    /// Facts, each with its name.
    pub facts: Vec<(String, String)>,
    /// Commands that give the same again.
    pub commands: Vec<String>,
    /// The files that went into it: scenario, policies.
    pub files: Vec<Listing>,
    /// The nice values of roles, where the scenario is known.
    pub nice: BTreeMap<String, i64>,
    /// The parameters of each policy as users write them, in the order of the results; where they are missing, results have numbers.
    pub parameters: Vec<Vec<(String, String)>>,
}

impl Document {
    /// All charts, the one that shows the answer first.
    pub fn charts(&self) -> impl Iterator<Item = &Chart> {
        self.lead.iter().chain(self.sections.iter().flat_map(|section| &section.charts))
    }
}

impl Listing {
    /// A file's text under its name.
    pub fn file(name: &str, text: &str) -> Listing {
        Listing { title: name.into(), text: text.into() }
    }
}

impl ColumnView {
    /// The cell of a row; its note by its place among `notes`, from 1.
    fn cell(&self, row: usize, notes: &[&str]) -> Cell<'_> {
        let note = self.notes.get(row).and_then(Option::as_deref);
        let note = note.and_then(|note| notes.iter().position(|known| *known == note));
        let text = self.cells.get(row).map_or("", String::as_str);
        let text = if self.is_numeric { with_minus(text) } else { Cow::Borrowed(text) };
        Cell { column: self, text, note: note.map(|index| index + 1) }
    }

    /// Whether its cells are names, which the page cuts where they are long.
    pub fn has_names(&self) -> bool {
        NAMES.contains(&self.head.as_str())
    }
}

impl Cell<'_> {
    /// Whether it is a name that the page may have to cut.
    pub fn is_long_name(&self) -> bool {
        self.column.has_names() && self.text.chars().count() > SHORT_NAME
    }

    /// Whether it has words where others of its column have a number: they take lines instead of the width of other columns.
    pub fn has_words(&self) -> bool {
        self.column.is_numeric && self.text.split_whitespace().count() > 3
    }
}

impl TableView {
    /// A table for people, with what its columns know about themselves.
    pub fn of(title: &str, table: &Table) -> TableView {
        let column = |column: &schedlab_report::Column| ColumnView {
            head: format!("{} {}", column.shared_head(), column.head()).trim().to_string(),
            about: column.definition().map(String::from),
            is_numeric: !column.is_words(),
            cells: column.cells().to_vec(),
            notes: (0..column.cells().len()).map(|row| column.note(row).map(String::from)).collect(),
        };
        TableView { title: title.into(), columns: table.columns().iter().map(column).collect(), ..TableView::default() }
    }

    /// The cells row by row.
    pub fn rows(&self) -> impl Iterator<Item = Vec<Cell<'_>>> {
        let rows = self.columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
        let notes = self.notes();
        (0..rows).map(move |row| self.columns.iter().map(|column| column.cell(row, &notes)).collect())
    }

    /// What is to be known about cells, each once.
    pub fn notes(&self) -> Vec<&str> {
        let mut notes: Vec<&str> = Vec::new();
        for note in self.columns.iter().flat_map(|column| column.notes.iter().flatten()) {
            if !notes.contains(&note.as_str()) {
                notes.push(note);
            }
        }
        notes
    }

    /// What its numbers and words are: the heads of columns and words in cells, each with its definition.
    pub fn definitions(&self) -> Vec<(&str, &str)> {
        let of_columns =
            self.columns.iter().filter_map(|column| Some((column.head.as_str(), column.about.as_deref()?)));
        of_columns.chain(self.terms.iter().map(|(term, about)| (term.as_str(), about.as_str()))).collect()
    }
}

/// Bytes in a text.
mod as_text {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        STANDARD.decode(String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
