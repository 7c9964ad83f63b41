//! `schedlab import`: a recording of another tool.

use super::record;
use crate::args::ImportArgs;
use crate::failure::Failure;

/// Reads the text, writes the trace and prints what it says.
pub fn run(args: &ImportArgs) -> Result<(), Failure> {
    let trace = args.output.clone().unwrap_or_else(|| args.text.with_extension("parquet"));
    record::print(schedlab_venue::import(&args.text, &trace)?, &trace)
}
