//! `schedlab compare`: several policies.

use crate::args::CompareArgs;
use crate::export;
use crate::failure::{self, Failure};
use crate::job::{self, More};
use crate::{kept, output, page};

/// Runs all and prints them side by side.
pub fn run(args: CompareArgs) -> Result<(), Failure> {
    let specs: Vec<_> = args.policy.iter().flat_map(|list| list.iter().cloned()).collect();
    let more = More { vary: args.vary, perturb: args.perturb, ..More::default() };
    export::check(&args.export)?;
    let job = job::find(&args.shared, &specs, more)?;
    let cache = kept::cache(args.fresh, args.shared.quiet);
    let done = job::run(&job, &args.shared, cache.as_ref())?;
    if done.sets.is_empty() {
        return job::end(done);
    }
    let comparison = job.comparison(&done);
    let printed = if args.shared.json {
        output::print_json(&comparison)
    } else {
        output::print(&comparison.show(output::style()))
    };
    let report = args.shared.report.as_deref();
    let written = report.map_or(Ok(()), |file| page::write_comparison(file, &comparison, &job, &done));
    let exported = export::write(&args.export, |_| comparison.tables());
    let borne = job::borne(comparison.why_inconclusive());
    failure::all([printed, written, exported, job::end(done), borne])
}
