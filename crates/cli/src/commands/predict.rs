//! `schedlab predict`: what other schedulers would do to what was recorded.

use super::model::{Trace, as_json as model_json};
use crate::args::PredictArgs;
use crate::failure::Failure;
use crate::{interrupt, output, progress};
use schedlab_campaign::{Runner, threads};
use schedlab_infer::{Report, Weight};
use schedlab_job::predict::{Cell, Checked, Estimate, Figure, PredictError, Predicted, Prediction, Question, predict};
use schedlab_model::time::Time;
use schedlab_report::{Column, Percent, Table, wrap};
use schedlab_venue::Monitor;
use serde_json::{Value, json};
use std::sync::Arc;

/// Models, checks, predicts and prints.
pub fn run(args: &PredictArgs) -> Result<(), Failure> {
    let trace = Trace::of(&args.recording)?;
    let folder = tempfile::tempdir().map_err(|error| Failure::Failed(format!("no folder for the model: {error}")))?;
    let question = Question {
        trace: trace.path(),
        steps: &folder.path().join("model.steps.parquet"),
        policies: args.policy.iter().flat_map(|list| list.iter().cloned()).collect(),
        cpus: args.cpus.clone(),
        recorded: args.recorded.clone(),
        resamples: args.resamples,
    };
    let monitor = Arc::new(Monitor::default());
    interrupt::watch(&monitor)?;
    let runner = Runner::new(None, threads(args.threads), &monitor);
    let prediction = progress::show(&monitor, None, args.quiet, || predict(&question, &runner)).map_err(failed)?;
    match args.json {
        true => output::print_json(&as_json(&prediction))?,
        false => output::print(&show(&prediction))?,
    }
    ended(&prediction)
}

/// Nothing is predicted where the recording cannot bear it.
fn ended(prediction: &Prediction) -> Result<(), Failure> {
    let refusals = prediction.report.doubts.iter().filter(|doubt| doubt.weight == Weight::Refusal);
    let refusals: Vec<String> = refusals.map(|doubt| format!("{}: {}", doubt.code, doubt.what)).collect();
    match refusals.first() {
        Some(first) => Err(Failure::Inconclusive(format!("nothing is predicted; {first}"))),
        None => match prediction.cells.iter().find_map(|cell| cell.failure.clone()) {
            Some(failure) => Err(Failure::Failed(failure)),
            None => Ok(()),
        },
    }
}

fn failed(error: PredictError) -> Failure {
    match error {
        PredictError::Model(error) => error.into(),
        PredictError::Venue(error) => error.into(),
        PredictError::Trace(error) => error.into(),
        PredictError::Baseline(_) => Failure::Input(error.to_string()),
        PredictError::Stopped => Failure::Interrupted,
    }
}

/// The page for people.
fn show(prediction: &Prediction) -> String {
    let Report { name, length_ns, cpus, policy, .. } = &prediction.report;
    let mut page = wrap("", 0, &format!("{name}: {} recorded on {cpus} CPUs under {policy}", Time(*length_ns)));
    page += "\n";
    page += &wrap("", 0, &format!("Self-check: the model under {} compared with the recording", prediction.baseline));
    page += &checked(&prediction.checked).show(output::style());
    if !prediction.cells.is_empty() {
        page += "\n";
        page += &predicted(&prediction.cells).show(output::style());
        page += "\nFrom and to: 90 % of what chance does to the items, and how far the self-check is off.\n";
    }
    for doubt in &prediction.report.doubts {
        let first = if doubt.weight == Weight::Refusal { "Refused, " } else { "Note, " };
        page += &wrap("", 0, &format!("{first}{}: {}.", doubt.code, doubt.what));
    }
    page
}

fn checked(all: &[Checked]) -> Table {
    let time = |checked: &Checked, value: f64| number(checked.figure, value);
    Table::new([
        Column::words("role", all.iter().map(|checked| checked.role.clone())),
        Column::words("figure", all.iter().map(|checked| checked.figure.words().into())),
        Column::numbers("recorded", all.iter().map(|checked| time(checked, checked.recorded))),
        Column::numbers("model", all.iter().map(|checked| time(checked, checked.modelled))),
        Column::numbers("off", all.iter().map(|checked| format!("{:+.1} %", 100.0 * checked.error()))),
    ])
}

fn predicted(cells: &[Cell]) -> Table {
    let shown = |figure: &Figure| matches!(figure, Figure::MeanResponse | Figure::P99Response | Figure::Throughput);
    let rows: Vec<(&Cell, &Predicted)> = cells
        .iter()
        .flat_map(|cell| cell.figures.iter().filter(|p| shown(&p.figure)).map(move |predicted| (cell, predicted)))
        .collect();
    let value = |of: fn(&Estimate) -> f64| {
        rows.iter().map(move |(_, predicted)| number(predicted.figure, of(&predicted.estimate))).collect::<Vec<_>>()
    };
    Table::new([
        Column::words("policy", rows.iter().map(|(cell, _)| cell.policy.clone())),
        Column::numbers("CPUs", rows.iter().map(|(cell, _)| cell.cpus.to_string())),
        Column::words("role", rows.iter().map(|(_, predicted)| predicted.role.clone())),
        Column::words("figure", rows.iter().map(|(_, predicted)| predicted.figure.words().into())),
        Column::numbers("expected", value(|estimate| estimate.value)),
        Column::numbers("from", value(|estimate| estimate.low)),
        Column::numbers("to", value(|estimate| estimate.high)),
    ])
}

/// A figure with its unit.
fn number(figure: Figure, value: f64) -> String {
    match figure {
        Figure::CpuShare => Percent::show(Some(value)),
        Figure::Switches => format!("{value:.0}"),
        Figure::Throughput => format!("{value:.1}/s"),
        _ if value >= 1e9 => format!("{:.3}s", value / 1e9),
        _ if value >= 1e6 => format!("{:.2}ms", value / 1e6),
        _ => format!("{:.1}us", value / 1e3),
    }
}

fn as_json(prediction: &Prediction) -> Value {
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
        "model": model_json(&prediction.report),
        "baseline": prediction.baseline,
        "self_check": prediction.checked.iter().map(checked).collect::<Vec<_>>(),
        "cells": prediction.cells.iter().map(cell).collect::<Vec<_>>(),
        "refused": prediction.report.is_refused(),
    })
}
