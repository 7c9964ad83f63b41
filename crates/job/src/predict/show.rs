//! A prediction, as a page and as JSON.

use super::{Cell, Checked, Estimate, Figure, Predicted, Prediction, percent};
use schedlab_infer::{Report, Weight};
use schedlab_model::count::counted;
use schedlab_model::time::Time;
use schedlab_report::{Column, Percent, Style, Table, Times, wrap};
use serde_json::{Value, json};

impl Prediction {
    /// As a page for a terminal.
    pub fn show(&self, style: Style) -> String {
        let prediction = self;
        let Report { name, length_ns, cpus, policy, .. } = &prediction.report;
        let mut page =
            wrap("", 0, &format!("{name}: {} recorded on {} under {policy}", Time(*length_ns), counted(*cpus, "CPU")));
        page += "\n";
        page +=
            &wrap("", 0, &format!("Self-check: the model under {} compared with the recording", prediction.baseline));
        page += &checked(&prediction.checked).show(style);
        if !prediction.cells.is_empty() {
            page += "\n";
            page += &predicted(&prediction.cells).show(style);
            page += "\nFrom and to: a 90 % bootstrap interval, widened by the error of the self-check.\n";
            page += &failures(&prediction.cells);
        }
        for doubt in &prediction.report.doubts {
            let first = if doubt.weight == Weight::Refusal { "Refused, " } else { "Note, " };
            page += &wrap("", 0, &format!("{first}{}: {}.", doubt.code, doubt.what));
        }
        page
    }

    /// The tables of the page, each with its title.
    pub fn tables(&self) -> Vec<(&'static str, Table)> {
        let predicted = (!self.cells.is_empty()).then(|| ("Prediction", predicted(&self.cells)));
        [("Self-check", checked(&self.checked))].into_iter().chain(predicted).collect()
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

fn checked(all: &[Checked]) -> Table {
    let time = |checked: &Checked, value: f64| number(checked.figure, value);
    Table::new([
        Column::words("role", all.iter().map(|checked| checked.role.clone())),
        Column::words("figure", all.iter().map(|checked| checked.figure.words().into())),
        Column::numbers("recorded", all.iter().map(|checked| time(checked, checked.recorded))),
        Column::numbers("model", all.iter().map(|checked| time(checked, checked.modelled))),
        Column::numbers("off", all.iter().map(|checked| percent(checked.error()))),
    ])
}

fn predicted(cells: &[Cell]) -> Table {
    // Of a policy that failed there is a row too, without figures.
    let rows_of = |cell: &'_ Cell| match cell.figures.len() {
        0 => vec![None],
        _ => cell.figures.iter().map(|predicted| Some(predicted.clone())).collect(),
    };
    let rows: Vec<(&Cell, Option<Predicted>)> =
        cells.iter().flat_map(|cell| rows_of(cell).into_iter().map(move |predicted| (cell, predicted))).collect();
    let value = |of: fn(&Estimate) -> f64| {
        let shown = |predicted: &Predicted| number(predicted.figure, of(&predicted.estimate));
        rows.iter().map(|(_, predicted)| predicted.as_ref().map_or("-".into(), shown)).collect::<Vec<_>>()
    };
    let words = |of: fn(&Predicted) -> String, absent: fn(&Cell) -> &'static str| {
        let word = move |(cell, predicted): &(&Cell, Option<Predicted>)| {
            predicted.as_ref().map_or_else(|| absent(cell).to_string(), of)
        };
        rows.iter().map(word).collect::<Vec<_>>()
    };
    let why = |cell: &Cell| if cell.failure.is_some() { "failed" } else { "nothing to compare" };
    Table::new([
        Column::words("policy", rows.iter().map(|(cell, _)| cell.policy.clone())),
        Column::numbers("CPUs", rows.iter().map(|(cell, _)| cell.cpus.to_string())),
        Column::words("role", words(|predicted| predicted.role.clone(), |_| "-")),
        Column::words("figure", words(|predicted| predicted.figure.words().into(), why)),
        Column::numbers("expected", value(|estimate| estimate.value)),
        Column::numbers("from", value(|estimate| estimate.low)),
        Column::numbers("to", value(|estimate| estimate.high)),
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
        let failed = Cell { policy: "fcfs".into(), cpus: 1, figures: vec![], shape: Shape::default(), failure: Some("policy fcfs: no".into()) };
        let row = predicted(std::slice::from_ref(&failed)).show(Style::PLAIN);
        let last = row.lines().last().unwrap();
        assert!(last.starts_with("fcfs ") && last.contains("failed"), "{row}");
        assert_eq!(failures(&[failed]), "On 1 CPU: policy fcfs: no.\n");
        let off = Checked { role: "a".into(), figure: Figure::CpuShare, recorded: 1.0, modelled: 0.727 };
        assert!(checked(&[off]).show(Style::PLAIN).contains("−27.3 %"));
    }
}
