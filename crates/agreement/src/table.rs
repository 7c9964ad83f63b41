//! The verdicts as tables.

use crate::figure::Figure;
use crate::report::{Agreement, CellReport, Counts, FigureReport};
use schedlab_model::count::counted;
use schedlab_report::{Column, Style, Table, wrap};

/// What stands where there is no value.
const ABSENT: &str = "-";

/// A column of a table of cells: its heads and what is in it.
pub(crate) struct CellColumn {
    pub over: &'static str,
    pub head: &'static str,
    pub is_number: bool,
    pub cell: fn(&CellReport) -> String,
}

fn of_deciding(cell: &CellReport, show: impl Fn(&FigureReport) -> Option<String>) -> String {
    cell.deciding().and_then(show).unwrap_or_else(|| ABSENT.into())
}

fn percent(cell: &CellReport, value: fn(&FigureReport) -> Option<f64>) -> String {
    of_deciding(cell, |figure| value(figure).map(|value| format!("{:+.1}", 100.0 * value)))
}

/// All columns. Of the figures the one that decides is shown.
pub(crate) const COLUMNS: [CellColumn; 12] = [
    CellColumn { over: "", head: "scenario", is_number: false, cell: |cell| cell.scenario.clone() },
    CellColumn { over: "", head: "policy", is_number: false, cell: |cell| cell.policy.clone() },
    CellColumn { over: "", head: "kernel", is_number: false, cell: |cell| cell.kernel.clone() },
    CellColumn { over: "", head: "CPUs", is_number: true, cell: |cell| cell.cpus.to_string() },
    CellColumn { over: "", head: "seeds", is_number: true, cell: |cell| cell.seeds.len().to_string() },
    CellColumn { over: "", head: "length", is_number: true, cell: |cell| cell.length.to_string() },
    CellColumn {
        over: "",
        head: "figure",
        is_number: false,
        cell: |cell| of_deciding(cell, |figure| Some(figure.name())),
    },
    CellColumn { over: "off by", head: "%", is_number: true, cell: |cell| percent(cell, |figure| figure.bias) },
    CellColumn { over: "90 %", head: "from", is_number: true, cell: |cell| percent(cell, |figure| figure.low) },
    CellColumn { over: "90 %", head: "to", is_number: true, cell: |cell| percent(cell, |figure| figure.high) },
    CellColumn {
        over: "noise",
        head: "%",
        is_number: true,
        cell: |cell| of_deciding(cell, |figure| figure.noise.map(|noise| format!("{:.1}", 100.0 * noise))),
    },
    CellColumn { over: "", head: "verdict", is_number: false, cell: |cell| cell.verdict.word().into() },
];

/// Columns that are left out where all of their cells are the same.
const COMMON: [&str; 4] = ["kernel", "CPUs", "seeds", "length"];

/// The columns of where a cell's real runs are.
const PLACE: [&str; 2] = ["kernel", "CPUs"];

fn column(head: &str) -> &'static CellColumn {
    COLUMNS.iter().find(|column| column.head == head).expect("it is one of them")
}

/// How a count is found.
type Count = fn(&Counts) -> usize;

/// What a count stands for, and how it is found.
pub(crate) const COUNTS: [(&str, Count); 6] = [
    ("cells", |counts| counts.cells),
    ("agree", |counts| counts.agrees),
    ("biased", |counts| counts.biased),
    ("undecided", |counts| counts.undecided),
    ("failed", |counts| counts.failed),
    ("not run", |counts| counts.not_run),
];

impl Agreement {
    /// Everything for a terminal.
    pub fn show(&self, style: Style) -> String {
        let mut text = self.title() + "\n\n";
        text += &self.table().show(style);
        text += &format!("\n{}", self.summary_table().show(style));
        text += &format!("\n{}", wrap("", 0, &self.legend()));
        for list in self.lists() {
            text += &format!("\n{}\n", style.bold(list.head));
            for (cells, told) in list.lines() {
                text += &wrap("- ", 2, &format!("{cells}: {told}"));
            }
        }
        text
    }

    /// How many cells there are, and what they have in common.
    pub fn title(&self) -> String {
        let Counts { cells, .. } = self.counts;
        let common = COMMON.iter().filter(|head| !self.differs(column(head)));
        let common = common.filter_map(|head| Some(format!("{head} {}", (column(head).cell)(self.cells.first()?))));
        let copies = format!("copies for each seed {}", self.copies);
        format!("{}: {}", counted(cells as u64, "cell"), common.chain([copies]).collect::<Vec<_>>().join(", "))
    }

    /// The cells, without the columns that are the same in all.
    pub fn table(&self) -> Table {
        let is_shown = |column: &&CellColumn| !COMMON.contains(&column.head) || self.differs(column);
        let columns = COLUMNS.iter().filter(is_shown).map(|column| {
            let cells: Vec<String> = self.cells.iter().map(column.cell).collect();
            let shown =
                if column.is_number { Column::numbers(column.head, cells) } else { Column::words(column.head, cells) };
            if column.over.is_empty() { shown } else { shown.under(column.over) }
        });
        Table::new(columns)
    }

    /// Which cell it is, with its kernel and its number of CPUs where there are several.
    pub fn name_of(&self, cell: &CellReport) -> String {
        match PLACE.iter().any(|head| self.differs(column(head))) {
            true => cell.name(),
            false => format!("{} under {}", cell.scenario, cell.policy),
        }
    }

    fn differs(&self, column: &CellColumn) -> bool {
        self.cells.windows(2).any(|two| (column.cell)(&two[0]) != (column.cell)(&two[1]))
    }

    /// How many cells ended how: all of them, and those of each family and policy.
    pub fn summary_table(&self) -> Table {
        let rows = self.summary();
        let columns = COUNTS.iter().map(|(head, count)| {
            Column::numbers(head, rows.iter().map(|(_, counts)| count(counts).to_string()).collect::<Vec<_>>())
        });
        Table::new([Column::words("", rows.iter().map(|(name, _)| name.clone()))].into_iter().chain(columns))
    }

    /// What the table shows.
    pub(crate) fn legend(&self) -> String {
        let tasks = self.cells.iter().filter(|cell| cell.tasks_on_cpus_real != cell.tasks_on_cpus_simulated).count();
        let share = self.cells.iter().filter_map(CellReport::deciding).any(|figure| figure.figure == Figure::Share);
        let points = if share { " (of a CPU share in points)" } else { "" };
        format!(
            "Of each cell the figure that decides is shown: how far the simulator is off{points}, the interval of 90 % of that, and \
             the noise of a single run. The number of tasks that were on each CPU for the longest time, which does not decide, \
             is another in {tasks} of {} cells.",
            self.counts.cells
        )
    }
}
