//! `schedlab bisect`: the commit that made a gate fail.

use super::gate::{read, without_baseline};
use super::trace::Source;
use super::trace::against::{self, Form};
use crate::args::BisectArgs;
use crate::failure::{self, Failure};
use crate::{export, files, interrupt, kept, output};
use schedlab_boundary::own::Folder;
use schedlab_campaign::{Case, Errors, Keeps, Made, Runner, threads};
use schedlab_regression::bisect::{Answer, BisectError, Bisected, Bisection, Mark, Sight, Step};
use schedlab_regression::git::Repository;
use schedlab_regression::{GateError, Report, Sources};
use schedlab_report::export::Findings;
use schedlab_report::{Column, Table};
use schedlab_venue::Monitor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Finds the commit and shows what it did.
pub fn run(args: BisectArgs) -> Result<(), Failure> {
    args.report.as_deref().map_or(Ok(()), |file| files::check([file]))?;
    export::check(&args.export)?;
    let gate = read(&args.gate)?;
    let sources = Sources::beside(&args.gate, args.build.as_deref());
    let monitor = Arc::new(Monitor::default());
    interrupt::watch(&monitor)?;
    let cache = kept::cache(args.runs.fresh, args.quiet);
    let runner = Runner::new(cache.as_ref(), threads(args.runs.threads), &monitor);
    let failed = |error| of_bisection(error, &args.gate);
    let mut bisection = Bisection::new(&gate, &sources, &runner).map_err(failed)?;
    let tell = |step: &Step| {
        if !args.quiet {
            output::remark(&told(step));
        }
    };
    let found = bisection.find(&args.good, &args.bad, &tell).map_err(failed)?;
    let repository = sources.repository.as_ref().expect("there is one to bisect");
    let [only] = found.first_bad.as_slice() else { return several(&args, &found, repository) };
    let pair = bisection.pair(only).map_err(failed)?;
    let report = pair.as_ref().ok().map(|[_, after]| &after.report);
    let headline = headline(only, repository)?;
    let why = pair.as_ref().err().map(unknown);
    let told = [headline.trim_end().to_string()].into_iter().chain(why.clone());
    export::write(&args.export, &findings(told, &found, report))?;
    if args.json {
        output::print_json(&Answer { found: &found, report })?;
    } else {
        output::print(&headline)?;
    }
    match (&pair, why) {
        (Ok(pair), _) => show(&args, pair, &runner),
        // The parent was skipped, and yet git knows which commit it is.
        (Err(_), Some(why)) if !args.json => output::print(&format!("{why}\n")),
        (Err(_), _) => Ok(()),
    }
}

fn unknown(why: &impl std::fmt::Display) -> String {
    format!("What it changed is unknown: {why}")
}

/// What files have of a bisection: the commit, what the gate says of it, and all commits that were looked at.
fn findings(told: impl IntoIterator<Item = String>, found: &Bisected, report: Option<&Report>) -> Findings {
    let mut findings = report.map_or_else(Findings::default, Report::findings);
    findings.answer.splice(0..0, told);
    let column = |head: &str, of: &dyn Fn(&Step) -> String| Column::words(head, found.steps.iter().map(of));
    let steps = Table::new([
        column("commit", &|step| step.commit.clone()),
        column("subject", &|step| step.subject.clone()),
        column("result", &|step| mark(step.mark).into()),
        column("why", &|step| step.why.clone()),
    ]);
    findings.tables.push(("Commits".into(), steps));
    findings
}

/// What the gate says of a commit, in a word.
fn mark(mark: Mark) -> &'static str {
    match mark {
        Mark::Good => "good",
        Mark::Bad => "bad",
        Mark::Skip => "skip",
    }
}

/// A commit that was looked at, in a line.
fn told(step: &Step) -> String {
    let mark = mark(step.mark);
    let why = if step.why.is_empty() { String::new() } else { format!(" ({})", in_a_line(&step.why)) };
    format!("{mark:<4} {} {}{why}", &step.commit[..12.min(step.commit.len())], step.subject)
}

/// The first line of a reason. Where that ends with a colon, as before the output of a command, the last line too.
fn in_a_line(why: &str) -> String {
    let mut lines = why.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    match lines.next_back().filter(|_| first.ends_with(':')) {
        Some(last) => format!("{first} {last}"),
        None => first.into(),
    }
}

fn headline(hash: &str, repository: &Repository) -> Result<String, Failure> {
    let commit = repository.commit(hash).map_err(GateError::from)?;
    Ok(format!("{} is the first bad commit: {}\n", commit.short(), commit.subject))
}

/// Some commits could not be looked at, and the bad one is among them.
fn several(args: &BisectArgs, found: &Bisected, repository: &Repository) -> Result<(), Failure> {
    let head = format!("The first bad commit is one of these {}:", found.first_bad.len());
    let commit = |hash: &String| -> Result<String, Failure> {
        let commit = repository.commit(hash).map_err(GateError::from)?;
        Ok(format!("{} {}", commit.short(), commit.subject))
    };
    let commits = found.first_bad.iter().map(commit).collect::<Result<Vec<_>, Failure>>()?;
    let lines = commits.iter().map(|commit| format!("  {commit}\n")).collect::<String>();
    let findings = Findings { points: commits, ..findings([head.clone()], found, None) };
    let exported = export::write(&args.export, &findings);
    let printed = match args.json {
        true => output::print_json(&Answer { found, report: None }),
        false => output::print(&format!("{head}\n{lines}")),
    };
    let why = "the others of them cannot be built, loaded or judged";
    failure::all([printed, exported, Err(Failure::Inconclusive(why.into()))])
}

/// What the commit changed: the checks, the first switch that differs, and the waits.
fn show(args: &BisectArgs, pair: &[Sight; 2], runner: &Runner) -> Result<(), Failure> {
    let [before, after] = pair;
    if !args.json {
        output::print(&format!("\n{}", after.report.show(false, output::style())))?;
    }
    let worst = after.report.checks.iter().find(|row| row.is_changed());
    let cases = worst.and_then(|row| Some([before.plan.case(row)?, after.plan.case(row)?]));
    let Some(cases) = cases.filter(|_| !args.json || args.report.is_some()) else { return Ok(()) };
    let folder = Folder::new().map_err(|error| Failure::Failed(format!("there is no place for traces: {error}")))?;
    let Some([parent, bad]) = traces(cases, folder.path(), runner)? else { return Ok(()) };
    let (parent, bad) = (Source::open(&parent)?, Source::open(&bad)?);
    let form = if args.json { Form::Nothing } else { Form::Page };
    if form == Form::Page {
        output::print("\n")?;
    }
    against::show([&parent, &bad], ["parent", "first bad commit"], form, (args.report.as_deref(), &[]))
}

/// The traces of two cases; none where a run was stopped.
fn traces(cases: [Case; 2], folder: &Path, runner: &Runner) -> Result<Option<[PathBuf; 2]>, Failure> {
    let paths = ["parent.parquet", "bad.parquet"].map(|name| folder.join(name));
    let traced = |(case, path): (Case, &PathBuf)| {
        let (seeds, traces) = (case.seeds[..1].to_vec(), vec![path.clone()]);
        Case { seeds, traces, keeps: Keeps::Nothing, ..case }
    };
    let cases: Vec<Case> = cases.into_iter().zip(&paths).map(traced).collect();
    for made in runner.carry_out(&cases, Errors::EndCases)? {
        match made {
            Made::Ran(seen) if seen[0].run.unwritten.is_empty() => {}
            Made::Ran(seen) => return Err(Failure::Failed(seen[0].run.unwritten.join(", "))),
            Made::Failed(error) => return Err(error.into()),
            Made::NotBegun => return Ok(None),
        }
    }
    Ok(Some(paths))
}

fn of_bisection(error: BisectError, gate: &Path) -> Failure {
    match error {
        BisectError::Gate(error) => without_baseline(error, gate),
        BisectError::End(what) => Failure::Input(what),
        BisectError::Stopped => Failure::Interrupted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_in_a_line_does_not_end_with_a_colon() {
        assert_eq!(
            in_a_line("`make` failed (exit status: 2):\ncc x\nx.c:1: no\n"),
            "`make` failed (exit status: 2): x.c:1: no"
        );
        assert_eq!(in_a_line("web: worse\nmore"), "web: worse");
        assert_eq!(in_a_line(""), "");
    }
}
