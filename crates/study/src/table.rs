//! Tables of what was measured: a row for each case, or for each line of a map.

use crate::case::{Beside, Experiment};
use crate::language::{Column as ColumnSpec, TableSpec};
use crate::measure::look_up;
use crate::page::with_unit;
use crate::runner::CaseOutcome;
use crate::verdict::plain;
use schedlab_boundary::markdown::line;
use schedlab_campaign::short_paths;
use schedlab_metrics::curve::Curve;
use schedlab_report::{Column, Quantity, Table, sketch};
use schedlab_venue::VenueName;
use serde::Serialize;
use std::fmt::Write as _;
use toml::Value;

/// A table of what was measured.
#[derive(Clone, Debug, Serialize)]
pub struct TablePage {
    /// What it shows.
    pub title: String,
    /// The heads of the columns of words: run, policy, and what is varied downwards.
    pub names: Vec<String>,
    /// The heads of the columns of numbers; in a map the values of what is varied across.
    pub heads: Vec<String>,
    /// What kind of table it is.
    pub kind: TableKind,
    /// The rows.
    pub rows: Vec<TableRow>,
}

/// What kind of table it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TableKind {
    /// A row for each case, or for each of several.
    Cases,
    /// A map: the heads of the numbers are the values of what is varied across.
    Map {
        /// The path of that.
        across: String,
    },
    /// Estimates of overhead by the number of tasks, which is the last of the words.
    Overhead {
        /// The column of the overhead in percent.
        percent: usize,
        /// The column of half its interval.
        half_width: Option<usize>,
    },
}

/// A row: words first, numbers then.
#[derive(Clone, Debug, Serialize)]
pub struct TableRow {
    /// One for each column of words.
    pub names: Vec<String>,
    /// Where it was run.
    pub venue: VenueName,
    /// One for each column of numbers; a cell that is not known is absent.
    pub cells: Vec<Option<f64>>,
    /// The smallest and the largest of each cell under other seeds or small changes, where that was tried.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<Option<[f64; 2]>>,
    /// What differed there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
    /// How the response times are distributed of which the row speaks, where it is one case; no part of the form.
    #[serde(skip)]
    pub responses: Curve,
}

impl TablePage {
    /// What a study asks for, after its cases were run.
    pub fn new(spec: &TableSpec, experiment: &Experiment, outcomes: &[CaseOutcome]) -> TablePage {
        let cell = |column: &ColumnSpec, outcome: &CaseOutcome| {
            let CaseOutcome::Ran(observed) = outcome else { return None };
            let metric = column.asks()?;
            look_up(observed, metric, &column.unit).ok()
        };
        let range = |column: &ColumnSpec, outcome: &CaseOutcome| {
            let CaseOutcome::Ran(observed) = outcome else { return None };
            let seen = |further| look_up(observed.under(further)?, column.asks()?, &column.unit).ok();
            let values: Vec<f64> = (0..).map_while(seen).collect();
            let ends = [values.iter().copied().reduce(f64::min)?, values.iter().copied().reduce(f64::max)?];
            (values.len() > 1).then_some(ends)
        };
        // Of the role that the table is about.
        let role = spec.columns.iter().find_map(role_of);
        let responses = |outcome: &CaseOutcome| match outcome {
            CaseOutcome::Ran(observed) if spec.across.is_none() => {
                observed.responses_of(role).cloned().unwrap_or_default()
            }
            _ => Curve::default(),
        };
        let runs = spec.run.all();
        let mut axes: Vec<&str> = Vec::new();
        let mut heads: Vec<String> = Vec::new();
        let mut rows: Vec<TableRow> = Vec::new();
        for (case, outcome) in runs.iter().flat_map(|run| experiment.of_run(run, outcomes)) {
            let (across, down): (Vec<_>, Vec<_>) =
                case.at.iter().partition(|(path, _)| Some(path) == spec.across.as_ref());
            axes = down.iter().map(|(path, _)| path.as_str()).collect();
            let run = (runs.len() > 1).then(|| case.run.clone());
            let names = run.into_iter().chain([case.policy_name.clone()]);
            let names: Vec<String> = names.chain(down.iter().map(|(_, value)| plain(value))).collect();
            let cells = spec.columns.iter().map(|column| cell(column, outcome)).collect();
            let ranges: Vec<_> = spec.columns.iter().map(|column| range(column, outcome)).collect();
            let beside = ranges.iter().any(Option::is_some).then_some(case.beside);
            // Side by side: what varies across is shown in the order of the values, the same for each row.
            let head = across.first().map(|(_, value): &&(String, Value)| plain(value));
            heads.extend(head.clone().filter(|head| !heads.contains(head)));
            match rows.iter_mut().find(|row| head.is_some() && row.names == names) {
                Some(row) => {
                    row.cells.extend::<Vec<_>>(cells);
                    row.ranges.extend(ranges);
                    row.beside = row.beside.or(beside);
                }
                None => {
                    let (venue, responses) = (case.runs.place.name, responses(outcome));
                    rows.push(TableRow { names, venue, cells, ranges, beside, responses });
                }
            }
        }
        if spec.across.is_none() {
            heads = spec.columns.iter().map(|column| with_unit(&column.head, &column.unit)).collect();
        }
        let run = (runs.len() > 1).then(|| "run".to_string());
        let names = run.into_iter().chain(["policy".to_string()]).chain(short_paths(&axes)).collect();
        let kind = spec.across.clone().map_or(TableKind::Cases, |across| TableKind::Map { across });
        TablePage { title: spec.title.clone(), names, heads, kind, rows }
    }

    /// How far its cells move under other seeds or small changes: the one that moves most, and how many do not at all.
    pub fn firmness(&self) -> Option<String> {
        let cells = self.rows.iter().flat_map(|row| {
            let cells = row.cells.iter().zip(&row.ranges).enumerate();
            cells.filter_map(move |(index, (cell, range))| Some((row, index, (*cell)?, (*range)?)))
        });
        let move_of = |cell: f64, [low, high]: [f64; 2]| match cell == 0.0 {
            true if low == high => 0.0,
            true => f64::INFINITY,
            false => (high - low) / cell.abs(),
        };
        let moves: Vec<_> = cells.map(|(row, index, cell, range)| (move_of(cell, range), row, index, range)).collect();
        let (most, row, index, [low, high]) = moves
            .iter()
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(most, row, index, range)| (*most, row, *index, *range))?;
        let words = |wanted: Beside| {
            let other = if wanted == Beside::Seeds { "other " } else { "" };
            self.rows.iter().any(|row| row.beside == Some(wanted)).then(|| format!("{other}{}", wanted.words()))
        };
        let beside: Vec<String> = [Beside::Seeds, Beside::SmallChanges].into_iter().filter_map(words).collect();
        let (title, beside) = (&self.title, beside.join(" and "));
        if most == 0.0 {
            return Some(format!("{title}: no cell moves under {beside}."));
        }
        let quantity = Quantity::of(&[Some(low), Some(high)]);
        let [low, high] = [low, high].map(|end| quantity.show(Some(end)));
        Some(format!(
            "{title}: under {beside} {} of {} cells move, most of all {} of {}: {low} to {high}.",
            moves.iter().filter(|(by, ..)| *by > 0.0).count(),
            moves.len(),
            self.heads[index],
            row.names.join(", "),
        ))
    }

    /// The columns: words first, numbers then.
    fn columns(&self) -> (Vec<Vec<String>>, Vec<Vec<String>>) {
        let name = |index: usize| self.rows.iter().map(|row| row.names[index].clone()).collect();
        let column = |index: usize| {
            let values: Vec<Option<f64>> = self.rows.iter().map(|row| row.cells[index]).collect();
            let quantity = Quantity::of(&values);
            values.into_iter().map(|value| quantity.show(value)).collect()
        };
        ((0..self.names.len()).map(name).collect(), (0..self.heads.len()).map(column).collect())
    }

    /// For a terminal.
    pub fn as_table(&self) -> Table {
        let (words, numbers) = self.columns();
        let mut words: Vec<Column> =
            self.names.iter().zip(words).map(|(head, cells)| Column::words(head, cells)).collect();
        // Programs also read where each row was run.
        if let Some(first) = words.first_mut() {
            let venues = Column::words("venue", self.rows.iter().map(|row| row.venue.name().to_string()));
            *first = first.clone().in_parts(vec![first.clone(), venues]);
        }
        let exact = |index: usize| self.rows.iter().map(move |row| row.cells[index]);
        let numbers = self.heads.iter().zip(numbers).enumerate();
        let numbers = numbers.map(|(index, (head, cells))| Column::numbers(head, cells).exactly(head, exact(index)));
        Table::new(words.into_iter().chain(numbers)).narrowed()
    }

    /// The same with the distributions drawn small, where there is room.
    pub fn with_sketches(&self) -> Table {
        let table = self.as_table();
        let curves: Vec<&Curve> = self.rows.iter().map(|row| &row.responses).collect();
        match sketch::column(&curves, table.room()) {
            Some(column) => table.with(column),
            None => table,
        }
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let (words, numbers) = self.columns();
        let columns: Vec<Vec<String>> = words.into_iter().chain(numbers).collect();
        let heads: Vec<String> = self.names.iter().chain(&self.heads).map(|head| line(head)).collect();
        let mut text = format!("| {} |\n|{}\n", heads.join(" | "), "---|".repeat(heads.len()));
        for row in 0..self.rows.len() {
            let cells: Vec<String> = columns.iter().map(|column| line(&column[row])).collect();
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        text
    }
}

/// The role whose response times a column shows.
fn role_of(column: &ColumnSpec) -> Option<&str> {
    if let Some(share) = &column.share {
        return Some(&share.role);
    }
    let (role, rest) = column.metric.as_deref()?.strip_prefix("roles.")?.split_once('.')?;
    rest.starts_with("response_ns").then_some(role)
}
