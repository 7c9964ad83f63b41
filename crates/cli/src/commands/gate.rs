//! `schedlab gate`: whether a policy passes the checks of a gate file.

use crate::args::GateArgs;
use crate::failure::{self, Failure};
use crate::{export, files, interrupt, kept, output, page, progress, touched};
use schedlab_boundary::shell::quoted;
use schedlab_campaign::{Runner, threads};
use schedlab_html::{Provenance, of_gate};
use schedlab_model::count::counted;
use schedlab_regression::history::{self, HistoryError, Revision};
use schedlab_regression::{Counts, Gate, GateError, Outcomes, Plan, Report, Sources};
use schedlab_venue::Monitor;
use std::path::Path;
use std::sync::Arc;

/// Runs and judges, or writes the baseline.
pub fn run(args: GateArgs) -> Result<(), Failure> {
    files::check([&args.junit, &args.markdown, &args.report].into_iter().flatten().map(|path| path.as_path()))?;
    export::check(&args.export)?;
    let gate = read(&args.file)?;
    touched::check_gate(&args, &gate)?;
    let folder = args.history.clone().or_else(|| Some(beside(&args.file).join(gate.history.as_ref()?)));
    folder.as_deref().map_or(Ok(()), files::check_folder)?;
    let mut sources = Sources::beside(&args.file, args.build.as_deref());
    let plan = Plan::new(gate, &mut sources)?;
    if !args.quiet {
        plan.remarks.iter().for_each(|remark| output::remark(remark));
    }
    plan.check(args.update).map_err(|error| without_baseline(error, &args.file))?;
    if args.update {
        files::check([plan.baseline_file.as_path()])?;
    }
    let monitor = Arc::new(Monitor::default());
    interrupt::watch(&monitor)?;
    let cache = kept::cache(args.runs.fresh, args.quiet);
    let runner = Runner::new(cache.as_ref(), threads(args.runs.threads), &monitor);
    let outcomes = progress::show(&monitor, plan.duration_ns(), args.quiet, || plan.run(&runner))?;
    if args.update {
        return update(&args, &plan, &outcomes);
    }
    let mut report = plan.judge(&outcomes);
    plan.explain(&mut report, &outcomes, &mut sources, &runner);
    if !args.quiet {
        kept::remark(&runner);
    }
    let kept = folder.map_or(Ok(()), |folder| keep(&args, &folder, &report, &sources));
    failure::all([print(&args, &report), write(&args, &report), kept, end(&report)])
}

/// Reads a gate.
pub fn read(path: &Path) -> Result<Gate, Failure> {
    let text = super::text_of(path)?;
    super::parsed(Gate::parse(&text, path), (&text, path), "gate")
}

/// The folder of a file.
pub fn beside(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new(""))
}

/// What to do where there is nothing to hold values against.
pub fn without_baseline(error: GateError, gate: &Path) -> Failure {
    match error {
        GateError::NoBaseline(what) => {
            let command = format!("schedlab gate {} --update", quoted(&gate.display().to_string()));
            Failure::Input(format!(
                "{what}: `{command}` measures and writes it, and a commit of it is what later runs are held against"
            ))
        }
        other => other.into(),
    }
}

fn update(args: &GateArgs, plan: &Plan, outcomes: &Outcomes) -> Result<(), Failure> {
    if outcomes.stopped {
        return Err(Failure::Interrupted);
    }
    let baseline = plan.measured(outcomes)?;
    let report = plan.judge(outcomes).accepted();
    let text = baseline.to_toml(&args.file.file_name().unwrap_or_default().to_string_lossy());
    files::write(&plan.baseline_file, text.as_bytes())?;
    if args.json {
        return output::print_json(&report);
    }
    output::print(&report.updated(&plan.baseline_file.display().to_string(), output::style()))
}

fn print(args: &GateArgs, report: &Report) -> Result<(), Failure> {
    if args.json { output::print_json(report) } else { output::print(&report.show(args.all, output::style())) }
}

fn write(args: &GateArgs, report: &Report) -> Result<(), Failure> {
    let junit = args.junit.as_deref().map_or(Ok(()), |file| files::write(file, report.junit().as_bytes()));
    let markdown = args.markdown.as_deref().map_or(Ok(()), |file| files::write(file, report.markdown().as_bytes()));
    let provenance = Provenance { commands: vec![page::command()], ..Provenance::default() };
    let html = args.report.as_deref().map_or(Ok(()), |file| page::write(file, &of_gate(report, provenance)));
    failure::all([junit, markdown, html, export::write(&args.export, &report.findings())])
}

/// Adds what was measured to a history, if it is known of what.
fn keep(args: &GateArgs, folder: &Path, report: &Report, sources: &Sources) -> Result<(), Failure> {
    let left_out = |why: &str| {
        if !args.quiet {
            output::remark(&format!("not added to {}: {why}; --revision NAME names it", folder.display()));
        }
    };
    let revision = match (&args.revision, &sources.repository) {
        _ if report.partial => return Ok(()),
        (Some(name), _) => Revision::named(name),
        (None, None) => {
            left_out("the gate is in no git repository");
            return Ok(());
        }
        (None, Some(repository)) if !repository.is_clean().map_err(GateError::from)? => {
            left_out("files were changed since the last commit");
            return Ok(());
        }
        (None, Some(repository)) => Revision::from(&repository.commit("HEAD").map_err(GateError::from)?),
    };
    history::add(folder, report, &revision)?;
    Ok(())
}

/// The exit code says whether all bounds hold, and whether that is known.
fn end(report: &Report) -> Result<(), Failure> {
    let Counts { checks, failed, absent, inconclusive, .. } = report.counts;
    let of = |count: usize, one: &str, many: &str| {
        let what = if count == 1 { one } else { many };
        format!("{}: {count} of {} {what}", report.gate, counted(checks as u64, "check"))
    };
    match (failed, absent, inconclusive) {
        _ if report.partial => Err(Failure::Interrupted),
        (1.., ..) => Err(Failure::Regressed(of(failed, "failed", "failed"))),
        (0, 1.., _) => Err(Failure::Failed(of(absent, "has no value", "have no value"))),
        (0, 0, 1..) => {
            let [one, many] = ["is", "are"].map(|verb| format!("{verb} inconclusive: take more runs"));
            Err(Failure::Inconclusive(of(inconclusive, &one, &many)))
        }
        (0, 0, 0) => Ok(()),
    }
}

impl From<GateError> for Failure {
    fn from(error: GateError) -> Failure {
        match error {
            GateError::Venue(error) => error.into(),
            GateError::Git(error) => Failure::Input(error.to_string()),
            GateError::Input(what) | GateError::NoBaseline(what) => Failure::Input(what),
            GateError::Failed(what) => Failure::Failed(what),
        }
    }
}

impl From<HistoryError> for Failure {
    fn from(error: HistoryError) -> Failure {
        match error {
            HistoryError::Other { .. } => Failure::Input(error.to_string()),
            HistoryError::File { .. } => Failure::Failed(error.to_string()),
        }
    }
}
