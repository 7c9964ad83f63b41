//! `schedlab sweep`.

mod findings;

use crate::args::SweepArgs;
use crate::failure::{self, Failure};
use crate::{export, files, interrupt, kept, output, page, progress};
use schedlab_campaign::{Runner, threads};
use schedlab_catalogue::load_beside;
use schedlab_html::{Listing, Provenance, of_sweep};
use schedlab_model::count::{counted, numbered};
use schedlab_sweep::{Answer, Dataset, Measured, Plan, Summary, Sweep, Tally, carry_out};
use schedlab_venue::{Monitor, VenueError};
use std::path::Path;
use std::sync::Arc;

/// Runs what is missing in the table.
pub fn run(args: SweepArgs) -> Result<(), Failure> {
    let origin = if args.file == Path::new("-") { "standard input".into() } else { args.file.display().to_string() };
    let text = super::text_of(&args.file)?;
    let sweep = super::parsed(Sweep::parse(&text, &origin), (&text, &args.file), "sweep")?;
    let threads = threads(args.threads);
    let mut plan = plan(&sweep, &args.file, threads)?;
    files::check(args.report.as_deref())?;
    export::check(&args.export)?;
    if !args.quiet {
        plan.refused.iter().for_each(|refusal| output::remark(&format!("not run: {refusal}")));
    }
    let Some(folder) = args.output.clone().filter(|_| !args.plan) else { return planned(&args, &sweep, &plan) };
    files::check_folder(&folder)?;
    // Before this an interrupt ends the program: half a plan would be another sweep.
    let monitor = Arc::new(Monitor::default());
    interrupt::watch(&monitor)?;
    let mut dataset = Dataset::open(&folder, &plan)?;
    let missing = dataset.missing().map(|run| plan.runs[run].duration_ns).sum();
    let cache = kept::cache(false, args.quiet);
    let runner = Runner::new(cache.as_ref(), threads, &monitor);
    let summary = progress::show(&monitor, missing, args.quiet, || carry_out(&plan, &mut dataset, &runner))?;
    if !args.quiet {
        output::remark(&told(&summary, &folder));
    }
    let tallies = dataset.tallies(&plan)?;
    let printed = match args.json {
        true => output::print_json(&Answer::of(&sweep.title(), summary.missing, &tallies)),
        false => output::print(&findings::page(&tallies, output::style())),
    };
    let listing = Listing::file(&origin, &text);
    let written = write(&args, &sweep.title(), (&tallies, &dataset.measured(&plan)?), listing);
    let refused = std::mem::take(&mut plan.refused);
    let ended = match (summary.missing > 0, refused.is_empty()) {
        (true, _) => Err(Failure::Interrupted),
        (false, false) => Err(Failure::Policies(refused)),
        (false, true) => Ok(()),
    };
    failure::all([printed, written, ended].into_iter().chain(tallies.iter().filter(|tally| tally.is_lost()).map(lost)))
}

/// What would be run.
fn planned(args: &SweepArgs, sweep: &Sweep, plan: &Plan) -> Result<(), Failure> {
    if args.json {
        return output::print_json(&Answer::of(&sweep.title(), plan.runs.len(), &[]));
    }
    let runs = counted(plan.runs.len() as u64, "run");
    output::print(&format!("{}\n{runs}\n", sweep.title()))
}

/// Writes what was measured; it is worth files also where some of it is missing.
fn write(
    args: &SweepArgs,
    title: &str,
    (tallies, measured): (&[Tally], &Measured),
    listing: Listing,
) -> Result<(), Failure> {
    let provenance = Provenance { commands: vec![page::command()], files: vec![listing], ..Provenance::default() };
    let reported = args.report.as_deref().map(|file| page::write(file, &of_sweep(title, measured, provenance)));
    let exported = export::write(&args.export, &findings::findings(title, tallies, measured));
    failure::all([reported.unwrap_or(Ok(())), exported])
}

/// A policy of which no run gave numbers, as an end of the program.
fn lost(tally: &Tally) -> Result<(), Failure> {
    let (runs, policy) = (tally.runs, &tally.policy);
    let all = if runs == 1 { "the only run".to_string() } else { format!("all {runs} runs") };
    let why = tally.failures.first().map_or("", |reason| reason.why.as_str());
    Err(Failure::Failed(format!("{all} under {policy} failed: {why}")))
}

fn plan(sweep: &Sweep, file: &Path, threads: usize) -> Result<Plan, VenueError> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let scenario = |name: &str| load_beside(folder, name).map_err(|error| error.to_string());
    Plan::new(sweep, &scenario, folder, threads)
}

/// What came of it, in a line.
fn told(summary: &Summary, folder: &Path) -> String {
    let Summary { known, made, failed, missing } = *summary;
    let mut text =
        format!("{} in {}: {made} new, {known} from before", counted((known + made) as u64, "run"), folder.display());
    if failed > 0 {
        text += &format!("; {failed} failed; the column `error` says why");
    }
    if missing > 0 {
        text += &format!(
            "; {} missing, the same command goes on with {}",
            numbered(missing as u64, "is", "are"),
            if missing == 1 { "it" } else { "them" }
        );
    }
    text
}
