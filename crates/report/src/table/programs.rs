//! What programs read of a column: a name with the unit, and numbers as they were measured.

use super::{Column, Table};

/// What stands in a cell without a value.
const ABSENT: &str = "-";

impl Column {
    /// The column under another name for programs.
    pub fn called(self, key: &str) -> Column {
        Column { key: Some(key.into()), ..self }
    }

    /// The column with what programs read in it: its numbers as they were measured, under a name that says their unit.
    pub fn exactly(self, key: &str, values: impl IntoIterator<Item = Option<f64>>) -> Column {
        Column { exact: Some(values.into_iter().collect()), ..self.called(key) }
    }

    /// The column with others that programs read in its place, one for each part of what it holds.
    pub fn in_parts(self, parts: Vec<Column>) -> Column {
        Column { parts, ..self }
    }

    /// Its heads, the shared one first.
    pub(crate) fn heads(&self) -> String {
        format!("{} {}", self.over, self.head).trim().into()
    }

    /// What programs call it.
    pub(crate) fn key(&self) -> String {
        self.key.clone().unwrap_or_else(|| self.heads())
    }

    /// What programs read in a row: nothing where there is no value.
    pub(crate) fn value(&self, row: usize) -> String {
        match &self.exact {
            Some(values) => {
                let known = values.get(row).copied().flatten().filter(|value| value.is_finite());
                known.map_or_else(String::new, |value| value.to_string())
            }
            None => {
                let cell = self.cells.get(row).map_or("", |cell| cell.trim());
                if cell == ABSENT { String::new() } else { cell.into() }
            }
        }
    }

    /// The columns that programs read: itself, or those in its place.
    pub(crate) fn read(&self) -> &[Column] {
        if self.parts.is_empty() { std::slice::from_ref(self) } else { &self.parts }
    }
}

impl Table {
    /// The table with its labels in parts for programs, where its first column has this head. The parts get the cells.
    pub fn labelled(mut self, head: &str, parts: impl Fn(&[String]) -> Vec<Column>) -> Table {
        if let Some(first) = self.columns.first_mut().filter(|first| first.head == head) {
            first.parts = parts(&first.cells);
        }
        self
    }

    /// How many rows it has.
    pub(crate) fn rows(&self) -> usize {
        self.columns.iter().map(|column| column.cells.len()).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_read_what_was_measured() {
        let table = Table::new([
            Column::times("mean", [Some(1_234_567.8), None]).under("response"),
            Column::numbers("share %", ["33.3".to_string(), "-".into()]).exactly("share", [Some(1.0 / 3.0), None]),
            Column::numbers("runs", ["5".to_string(), "-".into()]),
        ]);
        let keys: Vec<String> = table.columns().iter().map(Column::key).collect();
        assert_eq!(keys, ["response mean ns", "share", "runs"]);
        let row = |row| table.columns().iter().map(|column| column.value(row)).collect::<Vec<_>>();
        assert_eq!(row(0), ["1234567.8", "0.3333333333333333", "5"]);
        assert_eq!(row(1), ["", "", ""]);
    }

    #[test]
    fn what_was_not_measured_has_no_exact_value_either() {
        let column = Column::numbers("share %", ["33.3".to_string(), "1.0".into()]);
        let column = column.exactly("share", [Some(0.333), Some(0.01)]).unmeasured(&[false, true]);
        assert_eq!((column.value(0), column.value(1)), ("0.333".into(), String::new()));
    }
}
