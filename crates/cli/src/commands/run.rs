//! `schedlab run`: one policy.

use crate::args::RunArgs;
use crate::failure::{self, Failure};
use crate::job::{self, More};
use crate::{output, page};
use schedlab_report::{others, result};

/// Runs and prints the result.
pub fn run(args: RunArgs) -> Result<(), Failure> {
    if args.shared.venue.len() > 1 {
        return Err(Failure::Input("`run` takes one venue; `compare` takes several".into()));
    }
    let more = More { traces: args.trace, calls: args.for_model, ..More::default() };
    let job = job::find(&args.shared, &[args.policy], more)?;
    // One that is asked for is made.
    let done = job::run(&job, &args.shared, None)?;
    let Some((label, set)) = done.sets.first() else { return job::end(done) };
    let printed = if args.shared.json {
        output::print_json(&set.result)
    } else {
        let style = output::style();
        let mut page = result::show(&set.result, label, style);
        if args.tasks {
            page += "\n";
            page += &result::tasks(&set.runs.iter().map(|run| &run.result).collect::<Vec<_>>(), style);
        }
        output::print(&page)
    };
    let report = args.shared.report.as_deref();
    let written = report.map_or(Ok(()), |file| page::write_comparison(file, &job.comparison(&done), &job, &done));
    let borne = job::borne(others::inconclusive(&set.result));
    failure::all([printed, written, job::end(done), borne])
}
