//! A list that is printed while the trace is read, so that a long one takes no memory.

use crate::failure::Failure;
use crate::output::{self, Lines};
use schedlab_report::Style;

/// The lines, and the head that comes before the first of them.
pub struct List {
    lines: Lines,
    head: Option<String>,
}

impl List {
    /// Nothing is printed yet, and without a row nothing will be.
    pub fn new(head: impl Fn(Style) -> String) -> List {
        List { lines: Lines::new(), head: Some(head(output::style())) }
    }

    /// Prints a row.
    pub fn row(&mut self, row: &str) -> Result<(), Failure> {
        if let Some(head) = self.head.take() {
            self.lines.print(&head)?;
        }
        self.lines.print(row)
    }

    /// Prints what is not yet printed.
    pub fn end(self) -> Result<(), Failure> {
        self.lines.end()
    }
}
