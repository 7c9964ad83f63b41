//! A prediction, as a page and as JSON.

use super::{Cell, Checked, Estimate, Figure, Predicted, Prediction, percent};
use schedlab_infer::{Report, Weight};
use schedlab_model::count::counted;
use schedlab_model::time::Time;
use schedlab_report::export::{Failed, Findings};
use schedlab_report::{Column, Percent, Style, Table, Times, wrap};
use serde_json::{Value, json};

/// What the ends of a prediction's intervals are.
const INTERVAL: &str = "From and to: a 90 % bootstrap interval, widened by the error of the self-check.";

impl Prediction {
    /// As a page for a terminal.
    pub fn show(&self, style: Style) -> String {
        let prediction = self;
        let mut page = wrap("", 0, &self.subject());
        page += "\n";
        page += &wrap("", 0, &self.basis());
        page += &checked(&prediction.checked).show(style);
        if !prediction.cells.is_empty() {
            page += "\n";
            page += &predicted(&prediction.cells).show(style);
            page += &format!("\n{INTERVAL}\n");
            page += &failures(&prediction.cells);
        }
        page + &self.doubts().map(|doubt| wrap("", 0, &doubt)).collect::<String>()
    }

    /// What was recorded.
    fn subject(&self) -> String {
        let Report { name, length_ns, cpus, policy, .. } = &self.report;
        format!("{name}: {} recorded on {} under {policy}", Time(*length_ns), counted(*cpus, "CPU"))
    }

    /// What the self-check compares.
    fn basis(&self) -> String {
        format!("Self-check: the model under {} compared with the recording", self.baseline)
    }

    /// What makes the model doubtful, a sentence each.
    fn doubts(&self) -> impl Iterator<Item = String> {
        self.report.doubts.iter().map(|doubt| {
            let first = if doubt.weight == Weight::Refusal { "Refused, " } else { "Note, " };
            format!("{first}{}: {}.", doubt.code, doubt.what)
        })
    }

    /// Everything that files have of it.
    pub fn findings(&self) -> Findings {
        let predicted = (!self.cells.is_empty()).then(|| ("Prediction", predicted(&self.cells)));
        let interval = predicted.is_some().then(|| INTERVAL.to_string());
        let failed = |cell: &Cell| {
            let labels = vec![("policy", cell.policy.clone()), ("CPUs", cell.cpus.to_string())];
            Some(Failed { labels, why: cell.failure.clone()? })
        };
        Findings {
            answer: [self.subject(), self.basis()].into_iter().chain(interval).collect(),
            cautions: self.doubts().collect(),
            failures: self.cells.iter().filter_map(failed).collect(),
            ..Findings::of([("Self-check", checked(&self.checked))].into_iter().chain(predicted))
        }
    }

    /// Why nothing is predicted, if nothing is.
    pub fn refusal(&self) -> Option<String> {
        let refusal = self.report.doubts.iter().find(|doubt| doubt.weight == Weight::Refusal)?;
        Some(format!("nothing is predicted; {}: {}", refusal.code, refusal.what))
    }

    /// The same as JSON, `schedlab.prediction/1`.
    pub fn to_json(&self) -> Value {
        let prediction = self;
        let checked = |checked: &Checked| {
            json!({
                "role": checked.role, "figure": checked.figure.key(), "recorded": checked.recorded,
                "modelled": checked.modelled, "error": checked.error(),
            })
        };
        let figure = |predicted: &Predicted| {
            let Estimate { value, low, high, bias } = predicted.estimate;
            json!({
                "role": predicted.role, "figure": predicted.figure.key(), "value": value, "low": low, "high": high,
                "level": 0.9, "bias": bias,
            })
        };
        let cell = |cell: &Cell| {
            json!({
                "policy": cell.policy, "cpus": cell.cpus, "failure": cell.failure,
                "figures": cell.figures.iter().map(figure).collect::<Vec<_>>(),
            })
        };
        json!({
            "schema": "schedlab.prediction/1",
            "model": prediction.report.to_json(),
            "baseline": prediction.baseline,
            "self_check": prediction.checked.iter().map(checked).collect::<Vec<_>>(),
            "cells": prediction.cells.iter().map(cell).collect::<Vec<_>>(),
            "refused": prediction.report.is_refused(),
        })
    }
}

pub(super) fn checked(all: &[Checked]) -> Table {
    let values = |head: &str, key: &str, of: fn(&Checked) -> f64| {
        let shown = all.iter().map(|checked| number(checked.figure, of(checked)));
        Column::numbers(head, shown).exactly(key, all.iter().map(|checked| Some(of(checked))))
    };
    let off = Column::numbers("off", all.iter().map(|checked| percent(checked.error())));
    Table::new([
        Column::words("role", all.iter().map(|checked| checked.role.clone())),
        figures(all.iter().map(|checked| checked.figure)),
        values("recorded", "recorded", |checked| checked.recorded),
        values("model", "modelled", |checked| checked.modelled),
        off.exactly("error", all.iter().map(|checked| Some(checked.error()))),
    ])
}

pub(super) fn predicted(cells: &[Cell]) -> Table {
    // Of a policy that failed there is a row too, without figures.
    let rows_of = |cell: &'_ Cell| match cell.figures.len() {
        0 => vec![None],
        _ => cell.figures.iter().map(|predicted| Some(predicted.clone())).collect(),
    };
    let rows: Vec<(&Cell, Option<Predicted>)> =
        cells.iter().flat_map(|cell| rows_of(cell).into_iter().map(move |predicted| (cell, predicted))).collect();
    let values = |head: &str, key: &str, of: fn(&Estimate) -> f64| {
        let shown = |predicted: &Predicted| number(predicted.figure, of(&predicted.estimate));
        let shown = rows.iter().map(|(_, predicted)| predicted.as_ref().map_or("-".into(), shown));
        let exact = rows.iter().map(|(_, predicted)| Some(of(&predicted.as_ref()?.estimate)));
        Column::numbers(head, shown).exactly(key, exact)
    };
    let words = |of: fn(&Predicted) -> String, absent: fn(&Cell) -> &'static str| {
        let word = move |(cell, predicted): &(&Cell, Option<Predicted>)| {
            predicted.as_ref().map_or_else(|| absent(cell).to_string(), of)
        };
        rows.iter().map(word).collect::<Vec<_>>()
    };
    let keys = Column::words("figure", words(|predicted| predicted.figure.key().into(), |_| ""));
    let why = |cell: &Cell| if cell.failure.is_some() { "failed" } else { "nothing to compare" };
    Table::new([
        Column::words("policy", rows.iter().map(|(cell, _)| cell.policy.clone())),
        Column::numbers("CPUs", rows.iter().map(|(cell, _)| cell.cpus.to_string())),
        Column::words("role", words(|predicted| predicted.role.clone(), |_| "-")),
        Column::words("figure", words(|predicted| predicted.figure.words().into(), why)).in_parts(vec![keys]),
        values("expected", "value", |estimate| estimate.value),
        values("from", "low", |estimate| estimate.low),
        values("to", "high", |estimate| estimate.high),
    ])
}

/// Why policies failed, a paragraph for each.
fn failures(cells: &[Cell]) -> String {
    let told = |cell: &Cell| {
        let (cpus, failure) = (cell.cpus, cell.failure.as_ref()?);
        Some(wrap("", 2, &format!("On {}: {failure}.", counted(cpus, "CPU"))))
    };
    cells.iter().filter_map(told).collect()
}

/// The figures of rows; for programs their names have the unit.
fn figures(all: impl Iterator<Item = Figure> + Clone) -> Column {
    let keys = Column::words("figure", all.clone().map(|figure| figure.key().into()));
    Column::words("figure", all.map(|figure| figure.words().into())).in_parts(vec![keys])
}

/// A figure with its unit.
pub(super) fn number(figure: Figure, value: f64) -> String {
    match figure {
        Figure::CpuShare => format!("{} %", Percent::show(Some(value))),
        Figure::Switches => format!("{value:.0}"),
        Figure::Throughput => format!("{value:.1} per s"),
        _ => {
            let times = Times::of(&[Some(value)]);
            format!("{} {}", times.show(Some(value)), times.unit)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Shape;
    use super::*;

    /// Each figure has its unit, with a space before it, and a role with requests has its CPU share as well.
    #[test]
    fn all_figures_are_shown_with_their_units() {
        let of = |figure, value| {
            let estimate = Estimate { value, low: 0.9 * value, high: value, bias: None };
            Predicted { role: "a".into(), figure, estimate }
        };
        let figures = vec![of(Figure::MeanResponse, 3.45e6), of(Figure::CpuShare, 0.785), of(Figure::Throughput, 12.0)];
        let cell = Cell { policy: "rr".into(), cpus: 2, figures, shape: Shape::default(), failure: None };
        let table = predicted(&[cell]);
        let shown = table.show(Style::PLAIN);
        assert_eq!(shown.lines().count(), 4, "{shown}");
        for part in ["3.450 ms", "78.5 %", "12.0 per s"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        let failed = Cell {
            policy: "fcfs".into(),
            cpus: 1,
            figures: vec![],
            shape: Shape::default(),
            failure: Some("policy fcfs: no".into()),
        };
        let row = predicted(std::slice::from_ref(&failed)).show(Style::PLAIN);
        let last = row.lines().last().unwrap();
        assert!(last.starts_with("fcfs ") && last.contains("failed"), "{row}");
        assert_eq!(failures(&[failed]), "On 1 CPU: policy fcfs: no.\n");
        let off = Checked { role: "a".into(), figure: Figure::CpuShare, recorded: 1.0, modelled: 0.727 };
        assert!(checked(&[off]).show(Style::PLAIN).contains("−27.3 %"));
    }
}
