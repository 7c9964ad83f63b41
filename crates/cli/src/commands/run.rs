//! `schedlab run`: one policy.

use crate::args::RunArgs;
use crate::commands::compare::candidate;
use crate::failure::Failure;
use crate::job::Job;
use crate::{output, page};
use schedlab_report::comparison::Comparison;
use schedlab_report::result;

/// Runs and prints the result.
pub fn run(args: RunArgs) -> Result<(), Failure> {
    let (json, tasks, report) = (args.shared.json, args.tasks, args.shared.report.clone());
    if args.shared.venue.len() > 1 {
        return Err(Failure::Input("`run` takes one venue; `compare` takes several".into()));
    }
    let specs = [args.policy];
    let job = Job::new(args.shared, &specs, args.trace)?;
    let done = job.run()?;
    let Some((label, set)) = done.sets.first() else { return done.end() };
    if let Some(file) = report {
        let candidates = [candidate(label, set)];
        let comparison = Comparison::new(&candidates, &job.workload, &job.scenario.published, job.draws(&done));
        page::write_comparison(&file, &comparison, &done.heard, (&job, &specs))?;
    }
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
