//! `schedlab quota`: the smallest limit, weight or burst of a control group that keeps a target.

use crate::args::QuotaArgs;
use crate::failure::{self, Failure};
use crate::job::{self, More};
use crate::{export, files, interrupt, output, page, progress};
use schedlab_campaign::{Runner, threads};
use schedlab_html::{Listing, Provenance, of_quota};
use schedlab_job::quota::{Question, QuotaError};
use schedlab_policy::PolicySpec;
use schedlab_report::quota::Answer;
use schedlab_venue::Monitor;
use std::sync::Arc;

/// Searches, prints and writes files.
pub fn run(args: QuotaArgs) -> Result<(), Failure> {
    export::check(&args.export)?;
    files::check(args.shared.report.as_deref())?;
    let specs: Vec<PolicySpec> = args.policy.iter().flat_map(|list| list.iter().cloned()).collect();
    let policies = job::policies(&args.shared, &specs)?;
    let scenario = job::scenario(&args.shared, &specs)?;
    let source = Listing::file(&format!("{}.toml", scenario.name), &scenario.to_toml());
    let question = Question::new(scenario, args.wanted()).map_err(failed)?;
    let mut options = job::options(&args.shared, &policies, More::default())?;
    // The page shows the curve, and no run of it.
    (options.listens, options.costs) = (false, false);
    let monitor = Arc::new(Monitor::default());
    interrupt::watch(&monitor)?;
    let runner = Runner::new(None, threads(args.shared.threads), &monitor);
    let answer = progress::show(&monitor, None, args.shared.quiet, || question.answer(&policies, &options, &runner));
    let answer = answer.map_err(failed)?;
    let printed =
        if args.shared.json { output::print_json(&answer) } else { output::print(&answer.show(output::style())) };
    let exported = export::write(&args.export, &answer.findings());
    failure::all([printed, exported, report(&args, &answer, source)])
}

/// Writes the page.
fn report(args: &QuotaArgs, answer: &Answer, source: Listing) -> Result<(), Failure> {
    let Some(file) = &args.shared.report else { return Ok(()) };
    let version = ("schedlab".to_string(), env!("CARGO_PKG_VERSION").to_string());
    let (facts, commands, files) = (vec![version], vec![page::command()], vec![source]);
    page::write(file, &of_quota(answer, Provenance { facts, commands, files, ..Provenance::default() }))
}

fn failed(error: QuotaError) -> Failure {
    match error {
        QuotaError::Input(message) => Failure::Input(message),
        QuotaError::Unfit(lacks) => Failure::Several(lacks.into_iter().map(Failure::Input).collect()),
        QuotaError::Failed(message) => Failure::Failed(message),
        QuotaError::Policies(failures) => Failure::Policies(failures),
        QuotaError::Venue(error) => error.into(),
        QuotaError::Stopped => Failure::Interrupted,
    }
}
