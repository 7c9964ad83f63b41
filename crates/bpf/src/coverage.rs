//! Which source lines of a program were executed. Only the interpreter marks them.

use crate::fault::SourceLine;
use crate::program::{BlockId, FunctionId, Program};
use crate::vm::VmState;
use std::cell::Cell;
use std::collections::BTreeMap;

/// Source lines that have instructions, each with whether one of them was executed.
pub type Coverage = BTreeMap<SourceLine, bool>;

/// For each function its blocks that were executed.
#[derive(Debug)]
pub(crate) struct Marks(Vec<Vec<Cell<bool>>>);

impl Marks {
    fn of(program: &Program) -> Marks {
        Marks(program.functions.iter().map(|code| vec![Cell::new(false); code.blocks.len()]).collect())
    }

    /// The blocks of a function.
    pub fn of_function(&self, function: FunctionId) -> &[Cell<bool>] {
        &self.0[function.index()]
    }
}

impl VmState {
    /// From now on the interpreter marks what it executes.
    pub(crate) fn observe_lines(&mut self) {
        self.marks = Some(Marks::of(&self.program));
    }

    /// The lines of the whole program; none counts as executed if they are not observed.
    pub(crate) fn coverage(&self) -> Coverage {
        let mut lines = Coverage::new();
        for (number, code) in self.program.functions.iter().enumerate() {
            let marks = self.marks.as_ref().map(|marks| &marks.0[number]);
            for (index, line) in &code.lines {
                let block = code.blocks.partition_point(|block| block.end <= *index);
                let is_executed = marks.and_then(|marks| marks.get(block)).is_some_and(Cell::get);
                *lines.entry(line.clone()).or_default() |= is_executed;
            }
        }
        lines
    }
}

/// The mark of a block, if there are marks.
#[inline]
pub(crate) fn mark(marks: Option<&[Cell<bool>]>, block: BlockId) {
    if let Some(marks) = marks {
        marks[block.index()].set(true);
    }
}
