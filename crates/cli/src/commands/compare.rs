//! `schedlab compare`: several policies.

use crate::args::CompareArgs;
use crate::export;
use crate::failure::{self, Failure};
use crate::job::{self, More};
use crate::{kept, output, page};
use schedlab_report::export::{Failed, Findings};
use schedlab_venue::{VenueError, VenueName};

/// Runs all and prints them side by side.
pub fn run(args: CompareArgs) -> Result<(), Failure> {
    let specs: Vec<_> = args.policy.iter().flat_map(|list| list.iter().cloned()).collect();
    let more = More { vary: args.vary, perturb: args.perturb, ..More::default() };
    export::check(&args.export)?;
    let job = job::find(&args.shared, &specs, more)?;
    let cache = kept::cache(args.fresh, args.shared.quiet);
    let done = job::run(&job, &args.shared, cache.as_ref())?;
    let failures: Vec<Failed> = done.failed().map(failed).collect();
    if done.sets.is_empty() {
        // The reasons are worth a file, and a table of nothing is not.
        let exports = if failures.is_empty() { &[][..] } else { &args.export };
        let findings = Findings { failures, ..Findings::default() };
        return failure::all([export::write(exports, &findings), job::end(done)]);
    }
    let comparison = job.comparison(&done);
    let findings = Findings { failures, ..comparison.findings() };
    let printed = if args.shared.json {
        output::print_json(&comparison)
    } else {
        output::print(&comparison.show(output::style()))
    };
    let report = args.shared.report.as_deref();
    let written = report.map_or(Ok(()), |file| page::write_comparison(file, &comparison, &job, &done));
    let exported = export::write(&args.export, &findings);
    let borne = job::borne(comparison.why_inconclusive());
    failure::all([printed, written, exported, job::end(done), borne])
}

/// A policy that failed, by its label, which may have a venue behind it.
fn failed((label, error): (&str, &VenueError)) -> Failed {
    let venue = |venue: VenueName| Some((label.strip_suffix(&format!("@{}", venue.name()))?, venue.name()));
    let labels = match VenueName::ALL.into_iter().find_map(venue) {
        Some((policy, venue)) => vec![("policy", policy.to_string()), ("venue", venue.to_string())],
        None => vec![("policy", label.to_string())],
    };
    Failed { labels, why: error.to_string() }
}
