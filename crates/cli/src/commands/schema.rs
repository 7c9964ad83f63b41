//! `schedlab schema`.

use crate::args::{SchemaArgs, SchemaName};
use crate::failure::Failure;
use crate::output;
use schedlab_model::schema;
use schedlab_report::{comparison, quota};

/// Prints a schema.
pub fn run(args: &SchemaArgs) -> Result<(), Failure> {
    output::print_json(&match args.of {
        SchemaName::Scenario => schema::scenario(),
        SchemaName::Study => schedlab_study::schema(),
        SchemaName::Sweep => schedlab_sweep::schema(),
        SchemaName::Result => schema::result(),
        SchemaName::Runs => schema::runs(),
        SchemaName::Metrics => schema::metrics(),
        SchemaName::Agreement => schedlab_agreement::schema(),
        SchemaName::Quota => quota::schema(),
        SchemaName::Comparison => comparison::schema(),
    })
}
