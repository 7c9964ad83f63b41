//! Which task ran where, in columns of equal length.

use crate::Roster;
use schedlab_model::{
    ids::CpuId,
    names::Label,
    time::Time,
    trace::{Event, EventKind, Sink, Untraced},
};

/// What had the most of a CPU's time in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// No task of the trace.
    Untraced(Untraced),
    /// This task.
    Task(Label),
    /// A task that is not asked for.
    Other,
}

const IDLE: Cell = Cell::Untraced(Untraced::Idle);

/// One CPU.
#[derive(Clone, Debug)]
struct Row {
    occupant: Cell,
    /// The time up to which everything is in the cells.
    settled: Time,
    cells: Vec<Cell>,
    /// How much of the column that is not over each has had, in order of arrival.
    column: Vec<(Cell, u64)>,
}

/// Gathers which task ran where.
#[derive(Clone, Debug)]
pub struct Timeline {
    roster: Roster,
    from: Time,
    until: Time,
    step: Time,
    rows: Vec<Row>,
}

/// Lengths of columns that people can count with: these, and their multiples by powers of ten.
const STEPS: [u64; 10] = [10, 12, 15, 20, 25, 30, 40, 50, 60, 80];

/// The shortest round length of which `columns` cover `length`.
pub fn round_step(length: Time, columns: u32) -> Time {
    let least = length.ns().div_ceil(u64::from(columns.max(1))).max(1);
    let power = 10u64.pow(least.ilog10().saturating_sub(1));
    // Below ten every whole number is round; above the last step comes the first of the next power.
    let round = STEPS
        .iter()
        .map(|step| step.saturating_mul(power))
        .find(|&step| step >= least)
        .unwrap_or(power.saturating_mul(100));
    Time(if least < 10 { least } else { round })
}

impl Timeline {
    /// For `cpus` CPUs and the tasks and time that the roster's selection says, up to the end of the trace at `end`, in
    /// at most `columns` columns.
    pub fn new(roster: Roster, cpus: u32, end: Time, columns: u32) -> Timeline {
        let (from, until) = (roster.selection().from, roster.selection().until.min(end));
        let row = Row { occupant: IDLE, settled: from, cells: Vec::new(), column: Vec::new() };
        let step = round_step(until.since(from), columns);
        Timeline { roster, from, until, step, rows: vec![row; cpus as usize] }
    }

    /// The tasks of the trace.
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// The start of the first column.
    pub fn from(&self) -> Time {
        self.from
    }

    /// The end of the last column, unless the trace ends within it.
    pub fn until(&self) -> Time {
        self.until
    }

    /// The length of a column.
    pub fn step(&self) -> Time {
        self.step
    }

    /// After the end: the CPUs in the order of their numbers, each with its columns.
    pub fn rows(&self) -> impl Iterator<Item = (CpuId, &[Cell])> {
        self.rows.iter().enumerate().map(|(cpu, row)| (CpuId(cpu as u32), &row.cells[..]))
    }
}

impl Row {
    /// The task on the CPU has been there until `now`.
    fn settle(&mut self, now: Time, from: Time, step: Time) {
        while self.settled < now {
            let next = from + Time(step.ns().saturating_mul(self.cells.len() as u64 + 1));
            let until = now.min(next);
            let length = until.since(self.settled).ns();
            match self.column.iter_mut().find(|(cell, _)| *cell == self.occupant) {
                Some((_, time)) => *time += length,
                None => self.column.push((self.occupant, length)),
            }
            self.settled = until;
            if until == next {
                self.close();
            }
        }
    }

    /// Ends a column: it goes to what had most of it, of equals to the one that came first.
    fn close(&mut self) {
        let mut most = (IDLE, 0);
        for (cell, time) in self.column.drain(..) {
            if time > most.1 {
                most = (cell, time);
            }
        }
        self.cells.push(most.0);
    }
}

impl Sink for Timeline {
    fn event(&mut self, event: &Event) {
        self.roster.observe(event);
        let occupant = match event.kind {
            EventKind::Untraced { what } => Cell::Untraced(what),
            EventKind::Switch { next: None, .. } => IDLE,
            EventKind::Switch { next: Some(task), .. } if self.roster.wants(task) => {
                Cell::Task(self.roster.label(task))
            }
            EventKind::Switch { .. } => Cell::Other,
            _ => return,
        };
        let Some(row) = self.rows.get_mut(event.cpu.index()) else { return };
        row.settle(event.time.min(self.until), self.from, self.step);
        row.occupant = occupant;
    }

    fn finish(&mut self, end: Time) {
        for row in &mut self.rows {
            row.settle(end.min(self.until), self.from, self.step);
            if !row.column.is_empty() {
                row.close();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Selection, Who,
        test_helpers::{fork, roles, switch},
    };
    use schedlab_model::trace::Reason::*;

    fn picture(selection: Selection, columns: u32) -> Vec<String> {
        let mut view = Timeline::new(Roster::new(roles(), selection), 2, Time(95), columns);
        view.events(&[
            fork(0, 0, 0),
            fork(0, 1, 1),
            switch(0, 0, None, Idle, Some(0)),
            switch(24, 0, Some(0), SliceEnd, Some(1)),
            switch(25, 1, None, Idle, Some(0)),
            switch(50, 0, Some(1), Blocked, None),
            switch(51, 1, Some(0), Blocked, None),
            switch(54, 1, None, Idle, Some(1)),
            switch(57, 1, Some(1), Blocked, None),
            switch(80, 0, None, Idle, Some(0)),
        ]);
        view.finish(Time(95));
        let letter = |cell: &Cell| match cell {
            Cell::Untraced(_) => '.',
            Cell::Task(label) => char::from(b'a' + label.task.0 as u8),
            Cell::Other => '-',
        };
        view.rows().map(|(_, cells)| cells.iter().map(letter).collect()).collect()
    }

    #[test]
    fn a_column_goes_to_who_had_most_of_it() {
        // From 20 to 30 idle time and task 0 had half of CPU 1 each, and idle time came first.
        assert_eq!(picture(Selection::ALL, 10), ["aabbb...aa", "...aa....."]);
        // The run of 3 ns from 54 on shows when it is looked at closely.
        let close = Selection { from: Time(50), until: Time(60), ..Selection::ALL };
        assert_eq!(picture(close, 10), ["..........", "a...bbb..."]);
    }

    #[test]
    fn others_are_seen_as_such() {
        let one = Selection { who: Who::Task("1".parse().unwrap()), ..Selection::ALL };
        assert_eq!(picture(one, 10), ["--bbb...--", "...--....."]);
    }

    #[test]
    fn steps_are_round_and_cover_the_time() {
        let step = |ns, columns| round_step(Time(ns), columns).ns();
        assert_eq!((step(95, 10), step(7, 10), step(2_000_000_000, 72)), (10, 1, 30_000_000));
        assert_eq!((step(100, 10), step(810, 10), step(1000, 10), step(1001, 10)), (10, 100, 100, 120));
        for ns in (1..5000).chain([u64::MAX / 2]) {
            let step = round_step(Time(ns), 7).ns();
            assert!(u128::from(step) * 7 >= u128::from(ns), "{ns}");
        }
    }
}
