//! The verdicts as tables.

use crate::figure::Figure;
use crate::lists::{FAILED, List, NOT_JUDGED};
use crate::report::{Agreement, CellReport, CellVerdict, Counts, FigureReport};
use schedlab_model::count::counted;
use schedlab_report::export::{Failed, Findings};
use schedlab_report::{Column, Style, Table, wrap};

/// What stands where there is no value.
const ABSENT: &str = "-";

/// A column of a table of cells: its heads and what is in it.
pub(crate) struct CellColumn {
    pub over: &'static str,
    pub head: &'static str,
    pub cell: fn(&CellReport) -> String,
    /// What programs read in a column of numbers, and what they call it.
    pub exact: Option<(&'static str, Number)>,
}

/// A number of a cell.
type Number = fn(&CellReport) -> Option<f64>;

impl CellColumn {
    const fn words(head: &'static str, cell: fn(&CellReport) -> String) -> CellColumn {
        CellColumn { over: "", head, cell, exact: None }
    }

    const fn number(
        [over, head, key]: [&'static str; 3],
        cell: fn(&CellReport) -> String,
        number: Number,
    ) -> CellColumn {
        CellColumn { over, head, cell, exact: Some((key, number)) }
    }

    fn of(&self, cells: &[CellReport]) -> Column {
        let shown: Vec<String> = cells.iter().map(self.cell).collect();
        let column = match self.exact {
            Some((key, number)) => Column::numbers(self.head, shown).exactly(key, cells.iter().map(number)),
            None => Column::words(self.head, shown),
        };
        if self.over.is_empty() { column } else { column.under(self.over) }
    }
}

fn of_deciding(cell: &CellReport, show: impl Fn(&FigureReport) -> Option<String>) -> String {
    cell.deciding().and_then(show).unwrap_or_else(|| ABSENT.into())
}

fn percent(cell: &CellReport, value: fn(&FigureReport) -> Option<f64>) -> String {
    of_deciding(cell, |figure| value(figure).map(|value| format!("{:+.1}", 100.0 * value)))
}

/// All columns. Of the figures the one that decides is shown.
pub(crate) const COLUMNS: [CellColumn; 12] = [
    CellColumn::words("scenario", |cell| cell.scenario.clone()),
    CellColumn::words("policy", |cell| cell.policy.clone()),
    CellColumn::words("kernel", |cell| cell.kernel.clone()),
    CellColumn::number(["", "CPUs", "CPUs"], |cell| cell.cpus.to_string(), |cell| Some(cell.cpus.into())),
    CellColumn::number(
        ["", "seeds", "seeds"],
        |cell| cell.seeds.len().to_string(),
        |cell| Some(cell.seeds.len() as f64),
    ),
    CellColumn::number(["", "length", "length"], |cell| cell.length.to_string(), |cell| Some(cell.length.into())),
    CellColumn::words("figure", |cell| of_deciding(cell, |figure| Some(figure.name()))),
    CellColumn::number(
        ["off by", "%", "bias"],
        |cell| percent(cell, |figure| figure.bias),
        |cell| cell.deciding()?.bias,
    ),
    CellColumn::number(["90 %", "from", "low"], |cell| percent(cell, |figure| figure.low), |cell| cell.deciding()?.low),
    CellColumn::number(
        ["90 %", "to", "high"],
        |cell| percent(cell, |figure| figure.high),
        |cell| cell.deciding()?.high,
    ),
    CellColumn::number(
        ["noise", "%", "noise"],
        |cell| of_deciding(cell, |figure| figure.noise.map(|noise| format!("{:.1}", 100.0 * noise))),
        |cell| cell.deciding()?.noise,
    ),
    CellColumn::words("verdict", |cell| cell.verdict.word().into()),
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
        Table::new(COLUMNS.iter().filter(is_shown).map(|column| column.of(&self.cells)))
    }

    /// Everything that files have of it: the cells with all columns, and how many ended how.
    pub fn findings(&self) -> Findings {
        let lines = |is_wanted: &dyn Fn(&str) -> bool| -> Vec<String> {
            let told = |list: List| {
                let line = |(cells, told): (String, &str)| format!("{}: {cells}: {told}", list.head);
                list.lines().map(line).collect::<Vec<_>>()
            };
            self.lists().into_iter().filter(|list| is_wanted(list.head)).flat_map(told).collect()
        };
        let failed = |cell: &CellReport| {
            let labels = vec![("scenario", cell.scenario.clone()), ("policy", cell.policy.clone())];
            Failed { labels, why: format!("{}: {}", self.name_of(cell), cell.why.as_deref().unwrap_or_default()) }
        };
        let failures = self.cells.iter().filter(|cell| cell.verdict == CellVerdict::Failed).map(failed);
        let cells = Table::new(COLUMNS.iter().map(|column| column.of(&self.cells)));
        Findings {
            answer: vec![self.title(), self.legend()],
            points: lines(&|head| head != NOT_JUDGED && head != FAILED),
            cautions: lines(&|head| head == NOT_JUDGED),
            failures: failures.collect(),
            ..Findings::of([("Cells", cells), ("Verdicts", self.summary_table())])
        }
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
        let names = Column::words("", rows.iter().map(|(name, _)| name.clone())).called("cells of");
        Table::new([names].into_iter().chain(columns))
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
