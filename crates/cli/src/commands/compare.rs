//! `schedlab compare`: several policies.

use crate::args::CompareArgs;
use crate::failure::Failure;
use crate::job::Job;
use crate::{output, page};
use schedlab_report::comparison::{Candidate, Comparison};
use schedlab_venue::RunSet;

/// Runs all and prints them side by side.
pub fn run(args: CompareArgs) -> Result<(), Failure> {
    let (json, report) = (args.shared.json, args.shared.report.clone());
    let specs: Vec<_> = args.policy.iter().flat_map(|list| list.iter().cloned()).collect();
    let job = Job::new(args.shared, &specs, Vec::new())?;
    let done = job.run()?;
    if done.sets.is_empty() {
        return done.end();
    }
    let candidates: Vec<Candidate> = done.sets.iter().map(|(label, set)| candidate(label, set)).collect();
    let mut comparison = Comparison::new(&candidates, &job.workload, &job.scenario.published, job.draws(&done));
    comparison.failures = done.failures.iter().map(ToString::to_string).collect();
    if let Some(file) = report {
        page::write_comparison(&file, &comparison, &done.heard, (&job, &specs))?;
    }
    if json {
        output::print_json(&comparison)?;
    } else {
        output::print(&comparison.show(output::style()))?;
    }
    done.end()
}

/// A policy that ran, as one of a comparison.
pub fn candidate<'a>(label: &str, set: &'a RunSet) -> Candidate<'a> {
    Candidate {
        label: label.into(),
        result: &set.result,
        runs: set.runs.iter().map(|run| &run.result).collect(),
        curves: &set.curves,
        batches: set.runs.first().map_or(&[], |run| &run.response_batches),
    }
}
