//! Aligned columns.

mod programs;

use crate::number::with_minus;
use crate::text::{columns_of, padded, shorten, shorten_all};
use crate::{Style, Times, WIDTH};
use schedlab_model::metric;

/// What is behind numbers that something explained below the table has touched.
pub const MARK: char = '*';

/// The smallest width to which a column of words is cut.
const LEAST_WORD: usize = 8;

/// One column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// What is above it and its neighbours with the same text; may be empty.
    over: String,
    head: String,
    cells: Vec<String>,
    kind: Kind,
    about: Option<String>,
    notes: Vec<Option<String>>,
    marks: Vec<bool>,
    /// What programs call it, where that is not its heads.
    key: Option<String>,
    /// The numbers as they were measured, where the cells are rounded or in another unit.
    exact: Option<Vec<Option<f64>>>,
    /// What programs read in its place: a column for each part of a label.
    parts: Vec<Column>,
}

/// What is in a column.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// Words, at the left; they give way where the table would become too wide.
    Words,
    /// Drawings, at the left, whole or not at all.
    Drawings,
    /// Numbers, at the right.
    Numbers,
    /// Times in nanoseconds, which become numbers when their table knows the unit.
    Times(Vec<Option<f64>>),
}

impl Column {
    /// Words, aligned at the left, cut off where the table would become too wide.
    pub fn words(head: &str, cells: impl IntoIterator<Item = String>) -> Column {
        let cells = cells.into_iter().collect();
        Column {
            over: String::new(),
            head: head.into(),
            cells,
            kind: Kind::Words,
            about: None,
            notes: Vec::new(),
            marks: Vec::new(),
            key: None,
            exact: None,
            parts: Vec::new(),
        }
    }

    /// Drawings of letters, aligned at the left and never cut off.
    pub fn drawings(head: &str, cells: impl IntoIterator<Item = String>) -> Column {
        Column { kind: Kind::Drawings, ..Column::words(head, cells) }
    }

    /// Numbers, aligned at the right.
    pub fn numbers(head: &str, cells: impl IntoIterator<Item = String>) -> Column {
        Column { kind: Kind::Numbers, ..Column::words(head, cells) }
    }

    /// Times in nanoseconds. All times of a table have one unit, which is in their heads.
    pub fn times(head: &str, values: impl IntoIterator<Item = Option<f64>>) -> Column {
        Column { kind: Kind::Times(values.into_iter().collect()), ..Column::words(head, []) }
    }

    /// The column under a head that it shares with its neighbours.
    pub fn under(self, over: &str) -> Column {
        Column { over: over.into(), ..self }
    }

    /// The column with other heads: the one it shares with its neighbours, and its own.
    pub fn headed(self, over: &str, head: &str) -> Column {
        Column { over: over.into(), head: head.into(), ..self }
    }

    /// The column of a metric, by its path in results: readers may ask what it is.
    ///
    /// # Panics
    ///
    /// There is no such metric.
    pub fn about(self, path: &str) -> Column {
        Column { about: Some(metric::known(path).metric.meaning()), ..self }
    }

    /// The column without the cells of some rows, which were not measured.
    pub fn unmeasured(mut self, rows: &[bool]) -> Column {
        let rows = || rows.iter().enumerate().filter(|(_, is_unmeasured)| **is_unmeasured).map(|(row, _)| row);
        if let Kind::Times(times) = &mut self.kind {
            rows().for_each(|row| times[row] = None);
        } else {
            rows().for_each(|row| self.cells[row] = "-".into());
        }
        if let Some(exact) = &mut self.exact {
            rows().for_each(|row| exact[row] = None);
        }
        self
    }

    /// The column with what is to be known about each of its cells before it is believed.
    pub fn noted(self, notes: Vec<Option<String>>) -> Column {
        Column { notes, ..self }
    }

    /// The column with a [`MARK`] at the cells of some rows.
    pub fn marked(self, marks: Vec<bool>) -> Column {
        Column { marks, ..self }
    }

    /// Whether there is a mark at a cell. What is not known needs none.
    pub(crate) fn is_marked(&self, row: usize) -> bool {
        let is_known = || self.cells.get(row).is_some_and(|cell| cell.parse::<f64>().is_ok());
        self.marks.get(row).is_some_and(|mark| *mark) && is_known()
    }

    /// What is to be known about a cell before it is believed.
    pub fn note(&self, row: usize) -> Option<&str> {
        self.notes.get(row)?.as_deref()
    }

    /// What the numbers are, where the column is one of a metric.
    pub fn definition(&self) -> Option<&str> {
        self.about.as_deref()
    }

    /// What is above it and its neighbours; may be empty.
    pub fn shared_head(&self) -> &str {
        &self.over
    }

    /// What is above it.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// What is in it.
    pub fn cells(&self) -> &[String] {
        &self.cells
    }

    /// Whether it holds words, and no numbers.
    pub fn is_words(&self) -> bool {
        matches!(self.kind, Kind::Words | Kind::Drawings)
    }

    /// The cells as they are shown in a limited number of columns: words cut off, so that different ones stay different, and numbers
    /// with their points below one another.
    fn shown(&self, width: usize) -> Vec<String> {
        match self.kind {
            Kind::Words => shorten_all(&self.cells, width),
            Kind::Drawings => self.cells.clone(),
            Kind::Numbers | Kind::Times(_) => {
                let longest = self.cells.iter().map(|cell| decimals_of(cell)).max().unwrap_or(0);
                let number = |cell: &String| match cell.parse::<f64>() {
                    Ok(_) => with_minus(cell).into_owned() + &" ".repeat(longest - decimals_of(cell)),
                    Err(_) => with_minus(cell).into_owned(),
                };
                self.cells.iter().map(number).collect()
            }
        }
    }

    fn padded(&self, cell: &str, width: usize) -> String {
        padded(cell, width, self.is_words())
    }

    fn width(&self) -> usize {
        let cells = self.shown(usize::MAX).iter().map(|cell| columns_of(cell)).max().unwrap_or(0);
        cells.max(columns_of(&self.head))
    }

    /// The smallest width: words may be cut as long as different ones stay different.
    fn least_width(&self) -> usize {
        let width = self.width();
        let is_told_apart = |&columns: &usize| {
            let short = shorten_all(&self.cells, columns);
            (0..short.len()).all(|a| (0..a).all(|b| short[a] != short[b] || self.cells[a] == self.cells[b]))
        };
        match self.kind {
            Kind::Words => (LEAST_WORD.min(width)..width).find(is_told_apart).unwrap_or(width),
            _ => width,
        }
    }
}

/// The columns that the decimals of a number take, with their point.
fn decimals_of(number: &str) -> usize {
    number.find('.').map_or(0, |point| number.len() - point)
}

/// All times of columns in one unit.
fn in_one_unit(mut columns: Vec<Column>) -> Vec<Column> {
    let times = |column: &Column| if let Kind::Times(values) = &column.kind { values.clone() } else { Vec::new() };
    let all: Vec<Option<f64>> = columns.iter().flat_map(times).collect();
    for column in &mut columns {
        let Kind::Times(values) = &column.kind else { continue };
        let shown = Times::among(&all, values);
        let key = format!("{} ns", column.heads()).trim_start().to_string();
        column.key.get_or_insert(key);
        column.exact.get_or_insert_with(|| values.clone());
        column.cells = values.iter().map(|value| shown.show(*value)).collect();
        column.head = format!("{} {}", column.head, shown.unit).trim_start().into();
        column.kind = Kind::Numbers;
    }
    columns
}

/// A table: columns of equal length, two spaces apart.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<Column>,
}

impl Table {
    /// A table of these columns.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Table {
        Table { columns: in_one_unit(columns.into_iter().collect()) }
    }

    /// Its columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The same with the heads of numbers on two lines where it would be too wide: the last word, which is the unit or
    /// the part that differs, below the others.
    pub fn narrowed(mut self) -> Table {
        let widths: Vec<usize> = self.columns.iter().map(Column::width).collect();
        if span_width(&widths, GAP) > self.limit() {
            for column in self.columns.iter_mut().filter(|column| !column.is_words() && column.over.is_empty()) {
                if let Some((over, head)) = column.head.rsplit_once(' ').map(|(a, b)| (a.to_string(), b.to_string())) {
                    (column.over, column.head) = (over, head);
                }
            }
        }
        self
    }

    /// How many columns of a terminal are left next to it for another column.
    pub fn room(&self) -> usize {
        let (widths, gap) = self.layout();
        self.limit().saturating_sub(span_width(&widths, gap) + gap)
    }

    /// The table with another column at its end, which has no times.
    pub fn with(mut self, column: Column) -> Table {
        self.columns.push(column);
        self
    }

    /// The table as lines of text.
    pub fn show(&self, style: Style) -> String {
        let (widths, gap) = self.layout();
        let mut text = String::new();
        if self.columns.iter().any(|column| !column.over.is_empty()) {
            text += &emphasised(&self.shared_heads(&widths, gap), style);
        }
        let heads = self.columns.iter().map(|column| column.head.as_str());
        text += &emphasised(&self.line(heads, &widths, gap), style);
        let rows = self.columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
        let cells: Vec<Vec<String>> =
            self.columns.iter().zip(&widths).map(|(column, &width)| column.shown(width)).collect();
        for row in 0..rows {
            text += &(self.row(row, &cells, (&widths, gap), style) + "\n");
        }
        text
    }

    /// The same in several tables where it is too wide, each with the first column.
    pub fn show_in_parts(&self, style: Style) -> String {
        let part = |columns: &[Column]| Table { columns: columns.to_vec() };
        let mut cuts = self.spans().into_iter().map(|(from, _)| from).filter(|&from| from > 1);
        let cut = cuts.rfind(|&cut| part(&self.columns[..cut]).fits());
        let Some(cut) = cut.filter(|_| !self.fits()) else { return self.show(style) };
        let rest = [&self.columns[..1], &self.columns[cut..]].concat();
        format!("{}\n{}", part(&self.columns[..cut]).show(style), Table { columns: rest }.show_in_parts(style))
    }

    fn fits(&self) -> bool {
        let (widths, gap) = self.layout();
        span_width(&widths, gap) <= self.limit()
    }

    /// The width that is there for it: a mark may be behind its last column.
    fn limit(&self) -> usize {
        WIDTH - usize::from(self.columns.iter().any(|column| column.marks.contains(&true)))
    }

    /// The width of each column and of the gaps between them. Where words cannot give way any more, gaps do; a mark needs
    /// its gap.
    fn layout(&self) -> (Vec<usize>, usize) {
        let wide = self.widths(GAP);
        let is_marked = self.columns.iter().any(|column| column.marks.contains(&true));
        if span_width(&wide, GAP) <= self.limit() || is_marked {
            return (wide, GAP);
        }
        (self.widths(NARROW_GAP), NARROW_GAP)
    }

    /// The width of each column. A shared head widens the last of its columns; words give way, the widest first, until
    /// the table fits.
    fn widths(&self, gap: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(Column::width).collect();
        for (from, until) in self.spans() {
            let missing = columns_of(&self.columns[from].over).saturating_sub(span_width(&widths[from..until], gap));
            widths[until - 1] += missing;
        }
        let least: Vec<usize> = match span_width(&widths, gap) > self.limit() {
            true => self.columns.iter().map(Column::least_width).collect(),
            false => widths.clone(),
        };
        while span_width(&widths, gap) > self.limit() {
            let words =
                (0..widths.len()).filter(|&index| self.columns[index].is_words() && widths[index] > least[index]);
            let Some(widest) = words.max_by_key(|&index| widths[index]) else { break };
            widths[widest] -= 1;
        }
        widths
    }

    /// The ranges of columns with the same shared head; a column without one stands alone.
    fn spans(&self) -> Vec<(usize, usize)> {
        let (mut spans, mut from) = (Vec::new(), 0);
        while from < self.columns.len() {
            let over = &self.columns[from].over;
            let same = |column: &&Column| !over.is_empty() && column.over == *over;
            let until = from + self.columns[from..].iter().take_while(same).count().max(1);
            spans.push((from, until));
            from = until;
        }
        spans
    }

    fn line<'a>(&'a self, cells: impl Iterator<Item = &'a str>, widths: &[usize], gap: usize) -> String {
        let padded = cells.zip(&self.columns).zip(widths).map(|((cell, column), &width)| {
            let cell = if column.kind == Kind::Words { shorten(cell, width) } else { cell.into() };
            column.padded(&cell, width)
        });
        padded.collect::<Vec<_>>().join(&" ".repeat(gap)).trim_end().to_string()
    }

    /// A line of cells; those with a note stand out where there are colours. A mark takes the place of a space.
    fn row(&self, row: usize, cells: &[Vec<String>], (widths, gap): (&[usize], usize), style: Style) -> String {
        let mut line = String::new();
        for ((column, cells), &width) in self.columns.iter().zip(cells).zip(widths) {
            let cell = column.padded(cells.get(row).map_or("", String::as_str), width) + &" ".repeat(gap);
            let (number, space) = cell.split_at(cell.trim_end().len());
            let (number, space) = match column.is_marked(row) {
                true => (format!("{number}{MARK}"), &space[1..]),
                false => (number.to_string(), space),
            };
            line += &if column.note(row).is_some() { style.warning(&number) } else { number };
            line += space;
        }
        line.trim_end().to_string()
    }

    /// The line of heads that several columns share, each at the right end of its columns.
    fn shared_heads(&self, widths: &[usize], gap: usize) -> String {
        let head = |(from, until): (usize, usize)| {
            let width = span_width(&widths[from..until], gap);
            padded(&ruled(&self.columns[from].over, width), width, false)
        };
        self.spans().into_iter().map(head).collect::<Vec<_>>().join(&" ".repeat(gap)).trim_end().to_string()
    }
}

/// Spaces between two columns, and where there is no room for them.
const GAP: usize = 2;
const NARROW_GAP: usize = 1;

/// The width of neighbouring columns with the gaps between them.
fn span_width(widths: &[usize], gap: usize) -> usize {
    widths.iter().sum::<usize>() + gap * widths.len().saturating_sub(1)
}

/// A shared head with a rule on both sides that shows how far it reaches.
fn ruled(head: &str, width: usize) -> String {
    let free = width.saturating_sub(columns_of(head) + 2);
    if head.is_empty() || free < 2 {
        return head.to_string();
    }
    format!("{} {head} {}", "─".repeat(free / 2), "─".repeat(free - free / 2))
}

fn emphasised(line: &str, style: Style) -> String {
    style.bold(line) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(list: &[&str]) -> Vec<String> {
        list.iter().map(|word| word.to_string()).collect()
    }

    #[test]
    fn numbers_stand_at_the_right_and_shared_heads_above() {
        let table = Table::new([
            Column::words("role", words(&["worker", "db"])),
            Column::numbers("per s", words(&["8.00", "120.00"])),
            Column::times("mean", [Some(865e6), None]).under("response"),
            Column::times("max", [Some(1000e6), Some(5e6)]).under("response").noted(vec![Some("Few.".into()), None]),
        ]);
        let expected = "                ── response ───\n\
                        role     per s  mean ms  max ms\n\
                        worker    8.00      865    1000\n\
                        db      120.00        -       5\n";
        assert_eq!(table.show(Style::PLAIN), expected);
        let coloured = table.show(Style { colours: true });
        assert!(coloured.contains("\x1b[1mrole") && coloured.contains("\x1b[33m  1000\x1b[0m"), "{coloured}");
    }

    #[test]
    fn a_table_that_is_too_wide_is_shown_in_parts() {
        let numbers = |head: &str, digits: usize| Column::numbers(head, ["9".repeat(digits), "1".into()]);
        let first = || Column::words("program", words(&["hackbench", "sh"]));
        let fitting = Table::new([first(), numbers("a", 20), numbers("b", 20)]);
        assert_eq!(fitting.show_in_parts(Style::PLAIN), fitting.show(Style::PLAIN));
        let shared = |head: &str| numbers(head, 25).under("waits");
        let wide = Table::new([first(), numbers("a", 25), shared("b"), shared("c"), numbers("d", 9)]);
        let shown = wide.show_in_parts(Style::PLAIN);
        assert!(shown.lines().all(|line| line.chars().count() <= WIDTH), "{shown}");
        // A shared head stays above its columns.
        assert_eq!((shown.matches("program").count(), shown.matches("waits").count()), (2, 1), "{shown}");
        assert_eq!(shown.matches("hackbench").count(), 2, "{shown}");
    }

    #[test]
    fn people_see_a_minus_and_programs_a_hyphen() {
        let column = Column::numbers("off", words(&["-1.5", "-27.25", "-"]));
        assert_eq!(Table::new([column.clone()]).show(Style::PLAIN), "   off\n −1.5\n−27.25\n     -\n");
        assert_eq!(column.cells(), words(&["-1.5", "-27.25", "-"]));
    }

    #[test]
    fn a_mark_stands_behind_a_number_and_moves_nothing() {
        let table = |marks: Vec<bool>| {
            Table::new([
                Column::words("role", words(&["worker", "db"])).marked(vec![true; 2]),
                Column::times("mean", [Some(865.5e6), None]).under("response").marked(marks.clone()),
                Column::times("max", [Some(1000e6), Some(5e6)]).under("response").marked(marks),
            ])
            .show(Style::PLAIN)
        };
        let plain = table(vec![false; 2]);
        let shown = table(vec![true; 2]);
        assert_eq!(
            shown.replace('*', " ").lines().map(str::trim_end).collect::<Vec<_>>(),
            plain.lines().collect::<Vec<_>>()
        );
        assert_eq!(shown.matches('*').count(), 3, "{shown}");
        assert!(shown.contains("865.5*") && shown.contains("1000*") && !shown.contains("-*") && !shown.contains("db*"));
    }

    #[test]
    fn all_times_of_a_table_have_one_unit_and_points_below_one_another() {
        let table = Table::new([
            Column::words("role", words(&["slow", "quick"])),
            Column::times("p99", [Some(4_972e6), Some(1_234_567.0)]).under("response"),
            Column::times("max", [Some(12_940e6), Some(2_345_678.0)]).under("response"),
            Column::times("mean", [Some(250e3), None]).under("run delay"),
        ]);
        let expected = "       ──── response ────  run delay\n\
                        role    p99 ms     max ms    mean ms\n\
                        slow   4972.00  12940          0.250\n\
                        quick     1.23      2.346          -\n";
        assert_eq!(table.show(Style::PLAIN), expected);
        let heads: Vec<&str> = table.columns().iter().map(Column::head).collect();
        assert_eq!(heads, ["role", "p99 ms", "max ms", "mean ms"]);
    }

    #[test]
    fn names_that_differ_stay_different_and_drawings_whole() {
        let long = "policy:with=many,settings=that,are=the-same,level=";
        let table = Table::new([
            Column::words("policy", [format!("{long}1"), format!("{long}2"), format!("{long}1")]),
            Column::words("role", words(&["a-role-with-a-rather-long-name", "b", "c"])),
            Column::drawings("responses", ["█".repeat(40), "▁".repeat(40), "-".into()]),
        ]);
        let text = table.show(Style::PLAIN);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        let name = |line: &str| line.split_whitespace().next().unwrap().to_string();
        assert!(name(lines[0]) != name(lines[1]) && name(lines[0]) == name(lines[2]), "{text}");
        assert!(lines[0].ends_with(&"█".repeat(40)) && lines[1].ends_with(&"▁".repeat(40)), "{text}");
        assert!(text.lines().all(|line| columns_of(line) <= WIDTH), "{text}");
    }

    #[test]
    fn heads_of_a_wide_table_stand_on_two_lines() {
        let numbers = |head: &str| Column::numbers(head, words(&["1"]));
        let heads =
            ["one long head of it ms", "one long head of it us", "and another of these s", "last of them all %"];
        let text = Table::new(heads.map(numbers)).narrowed().show(Style::PLAIN);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.iter().all(|line| columns_of(line) <= WIDTH), "{text}");
        assert!(
            lines[0].contains("one long head of it") && lines[1].contains("ms") && lines[1].ends_with('%'),
            "{text}"
        );
        assert_eq!(lines[0].matches("one long").count(), 1);
        let short = || Table::new([numbers("p50 us")]);
        assert_eq!(short().narrowed().show(Style::PLAIN), short().show(Style::PLAIN));
    }

    #[test]
    fn gaps_give_way_where_words_cannot() {
        let numbers = |digits: usize| Column::numbers("n", ["7".repeat(digits)]);
        let table = |digits| {
            Table::new([Column::words("w", ["word".into()])].into_iter().chain((0..8).map(|_| numbers(digits))))
        };
        let width = |digits| columns_of(table(digits).show(Style::PLAIN).lines().last().unwrap());
        assert_eq!((width(7), width(8), width(9)), (4 + 8 * 9, 4 + 8 * 9, 4 + 8 * 10));
    }

    #[test]
    fn words_give_way_when_the_table_is_too_wide() {
        let table = Table::new([
            Column::words("name", words(&[&"n".repeat(100)])),
            Column::numbers("number", words(&["1234567890"])),
        ]);
        let text = table.show(Style::PLAIN);
        assert!(text.lines().all(|line| columns_of(line) <= WIDTH) && text.contains("n…  1234567890"), "{text}");
    }
}
