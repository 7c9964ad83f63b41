//! `schedlab schema`.

mod printed;
mod study;
mod views;
mod words;

use crate::args::{SchemaArgs, SchemaName};
use crate::failure::Failure;
use crate::output;
use schedlab_model::schema;
use schedlab_regression::bisect;
use schedlab_report::{comparison, quota};
use serde_json::Value;

/// Prints a schema.
pub fn run(args: &SchemaArgs) -> Result<(), Failure> {
    output::print_json(&of(args.of))
}

fn of(name: SchemaName) -> Value {
    match name {
        SchemaName::Scenario => schema::scenario(),
        SchemaName::Study => schedlab_study::schema(),
        SchemaName::Sweep => schedlab_sweep::schema(),
        SchemaName::Result => schema::result(),
        SchemaName::Runs => schema::runs(),
        SchemaName::Metrics => schema::metrics(),
        SchemaName::Agreement => schedlab_agreement::schema(),
        SchemaName::Quota => quota::schema(),
        SchemaName::Comparison => comparison::schema(),
        SchemaName::SweepResult => schema::printed::<schedlab_sweep::Answer>(),
        SchemaName::Gate => schema::printed::<schedlab_regression::Report>(),
        SchemaName::Bisect => schema::printed::<bisect::Answer<'static>>(),
        SchemaName::Score => schema::printed::<schedlab_score::Score>(),
        SchemaName::Tune => schema::printed::<schedlab_score::Tuned>(),
        SchemaName::Search => schema::printed::<schedlab_search::State>(),
        SchemaName::Check => printed::check(),
        SchemaName::Venues => printed::venues(),
        SchemaName::Policies => printed::policies(),
        SchemaName::Policy => printed::policy(),
        SchemaName::Model => printed::model(),
        SchemaName::Predict => printed::prediction(),
        SchemaName::Trace => printed::trace(),
        SchemaName::StudyResult => study::result(),
        SchemaName::Studies => study::studies(),
        SchemaName::Questions => study::questions(),
        SchemaName::Calibrate => printed::calibration(),
        SchemaName::Load => printed::load(),
        SchemaName::Scenarios => printed::scenarios(),
        SchemaName::Kernels => printed::kernels(),
    }
}
