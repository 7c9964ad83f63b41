//! `schedlab run`: one policy.

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::job::Job;
use crate::output;
use schedlab_report::result;

/// Runs and prints the result.
pub fn run(args: RunArgs) -> Result<(), Failure> {
    let (json, tasks) = (args.shared.json, args.tasks);
    if args.shared.venue.len() > 1 {
        return Err(Failure::Input("`run` takes one venue; `compare` takes several".into()));
    }
    let job = Job::new(args.shared, &[args.policy], args.trace)?;
    let done = job.run()?;
    let Some((label, set)) = done.sets.first() else { return done.end() };
    if json {
        output::print_json(&set.result)?;
    } else {
        let style = output::style();
        let mut page = result::show(&set.result, label, style);
        if tasks {
            page += "\n";
            page += &result::tasks(&set.result, style);
        }
        output::print(&page)?;
    }
    done.end()
}
