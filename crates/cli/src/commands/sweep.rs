//! `schedlab sweep`.

use crate::args::SweepArgs;
use crate::failure::Failure;
use crate::{files, interrupt, kept, output, page, progress};
use schedlab_campaign::{Runner, threads};
use schedlab_catalogue::load_beside;
use schedlab_html::{Listing, Provenance, of_sweep};
use schedlab_model::count::{counted, numbered};
use schedlab_sweep::{Dataset, Plan, Summary, Sweep, carry_out};
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
    if !args.quiet {
        plan.refused.iter().for_each(|refusal| output::remark(&format!("not run: {refusal}")));
    }
    let Some(folder) = args.output.filter(|_| !args.plan) else {
        let runs = counted(plan.runs.len() as u64, "run");
        return output::print(&format!("{}\n{runs}\n", sweep.title()));
    };
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
    // What was measured is worth a page also where some of it is missing.
    if let Some(file) = &args.report {
        let provenance = Provenance {
            commands: vec![page::command()],
            files: vec![Listing::file(&origin, &text)],
            ..Provenance::default()
        };
        page::write(file, &of_sweep(&sweep.title(), &dataset.measured(&plan)?, provenance))?;
    }
    let refused = std::mem::take(&mut plan.refused);
    match (summary.missing > 0, refused.is_empty()) {
        (true, _) => Err(Failure::Interrupted),
        (false, false) => Err(Failure::Policies(refused)),
        (false, true) => Ok(()),
    }
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
        text += &format!("; {failed} failed, see the column `error`");
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
