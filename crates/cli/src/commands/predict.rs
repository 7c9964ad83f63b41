//! `schedlab predict`: what other schedulers would do to what was recorded.

use crate::args::PredictArgs;
use crate::failure::{self, Failure};
use crate::{export, files, interrupt, output, page, progress};
use schedlab_boundary::own::Folder;
use schedlab_campaign::{Runner, threads};
use schedlab_html::Provenance;
use schedlab_job::predict::{PredictError, Prediction, Question, find_policies, predict};
use schedlab_policy::PolicySpec;
use schedlab_venue::{Monitor, TraceOf};
use std::sync::Arc;

/// Models, checks, predicts and prints.
pub fn run(args: &PredictArgs) -> Result<(), Failure> {
    export::check(&args.export)?;
    files::check(args.report.as_deref())?;
    let policies: Vec<PolicySpec> = args.policy.iter().flat_map(|list| list.iter().cloned()).collect();
    // Before the work that needs none of them.
    find_policies(&policies, &args.cpus).map_err(failed)?;
    let trace = TraceOf::recording(&args.recording).map_err(super::not_a_trace(&args.recording))?;
    let folder = Folder::new().map_err(|error| Failure::Failed(format!("no folder for the model: {error}")))?;
    let question = Question {
        trace: trace.path(),
        steps: &folder.path().join("model.steps.parquet"),
        policies,
        cpus: args.cpus.clone(),
        recorded: args.recorded.clone(),
        resamples: args.resamples,
    };
    let monitor = Arc::new(Monitor::default());
    interrupt::watch(&monitor)?;
    let runner = Runner::new(None, threads(args.threads), &monitor);
    let prediction = progress::show(&monitor, None, args.quiet, || predict(&question, &runner)).map_err(failed)?;
    let printed = match args.json {
        true => output::print_json(&prediction.to_json()),
        false => output::print(&prediction.show(output::style())),
    };
    let exported = export::write(&args.export, &prediction.findings());
    failure::all([printed, exported, report(args, &prediction), ended(&prediction)])
}

/// Writes the page.
fn report(args: &PredictArgs, prediction: &Prediction) -> Result<(), Failure> {
    let Some(file) = &args.report else { return Ok(()) };
    let facts = vec![("schedlab".to_string(), env!("CARGO_PKG_VERSION").to_string())];
    let provenance = Provenance { facts, commands: vec![page::command()], ..Provenance::default() };
    page::write(file, &prediction.page(&args.recording.to_string_lossy(), provenance))
}

/// Nothing is predicted where the recording cannot bear it.
fn ended(prediction: &Prediction) -> Result<(), Failure> {
    match prediction.refusal() {
        Some(refusal) => Err(Failure::Inconclusive(refusal)),
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
        PredictError::Baseline(_) | PredictError::Twice(_) => Failure::Input(error.to_string()),
        PredictError::Stopped => Failure::Interrupted,
    }
}
