//! `schedlab model`: from a recording to a scenario.

use crate::args::ModelArgs;
use crate::failure::Failure;
use crate::{files, output};
use schedlab_infer::{Price, steps_file};
use schedlab_venue::TraceOf;

/// Makes the model, writes it and prints what it knows of the recording.
pub fn run(args: &ModelArgs) -> Result<(), Failure> {
    let steps = steps_file(&args.output);
    files::check([args.output.as_path(), &steps])?;
    let trace = TraceOf::recording(&args.recording).map_err(super::not_a_trace(&args.recording))?;
    let model = schedlab_infer::model(trace.path(), &steps, Price::default())?;
    files::write(&args.output, model.to_toml().as_bytes())?;
    if args.json {
        return output::print_json(&model.report.to_json());
    }
    let page = model.report.show(output::style());
    let has_steps = !model.scenario.step_files().is_empty();
    let and_steps = if has_steps { format!(" and {}", steps.display()) } else { String::new() };
    output::print(&format!("{page}\nThe scenario is in {}{and_steps}.\n", args.output.display()))
}
