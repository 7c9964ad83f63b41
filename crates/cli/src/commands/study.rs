//! `schedlab study`.

use super::missing;
use crate::args::{StudyArgs, StudyCommand};
use crate::failure::{self, Failure};
use crate::{export, files, interrupt, kept, output, page, progress};
use schedlab_boundary::shell::quoted;
use schedlab_boundary::{FileName, Shown};
use schedlab_campaign::{Runner, threads};
use schedlab_catalogue::{self as catalogue, Shipped, StudyFile};
use schedlab_html::of_study;
use schedlab_model::count::numbered;
use schedlab_report::wrap;
use schedlab_study::{CaseOutcome, Counts, Experiment, Page, Study, Variant, carry_out};
use schedlab_venue::Monitor;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// The width of the column of names.
const NAMES: usize = 16;

/// Lists, prints or runs.
pub fn run(args: StudyArgs) -> Result<(), Failure> {
    match (&args.command, &args.study) {
        (Some(StudyCommand::Show { name }), _) => super::print_shipped(catalogue::find_study(name), name, "study"),
        (None, Some(study)) => {
            let (name, question) = catalogue::of_question(study);
            let file = StudyFile::find(name)?;
            let study = super::parsed(Study::parse(&file.text, &file.origin), (&file.text, Path::new(name)), "study")?;
            let question = question.map(|id| study.question_numbered(id)).transpose().map_err(Failure::Input)?;
            let variant = Variant { quick: args.quick, seed: args.seed, seeds: args.seeds, question };
            if args.questions {
                list_questions(&study, &file, variant, args.json)
            } else {
                carry_out_study(&args, &study, &file, variant)
            }
        }
        (Some(StudyCommand::List { json: true }), _) => output::print_json(&studies()?),
        (None, None) if args.json => output::print_json(&studies()?),
        (Some(StudyCommand::List { json: false }) | None, _) => list(),
    }
}

fn studies() -> Result<Value, Failure> {
    let study = |Shipped { name, text }: &Shipped| -> Result<Value, Failure> {
        Ok(json!({ "name": name, "title": Study::parse(text, name)?.title }))
    };
    let studies: Vec<Value> = catalogue::studies().iter().map(study).collect::<Result<_, Failure>>()?;
    Ok(json!({ "schema": "schedlab.studies/1", "studies": studies }))
}

fn list() -> Result<(), Failure> {
    let mut text = String::new();
    for Shipped { name, text: file } in catalogue::studies() {
        text += &wrap(&format!("{name:<NAMES$}"), NAMES, &Study::parse(file, name)?.title);
    }
    let more = "`schedlab study NAME` runs one, --quick a smaller version of it, NAME:QUESTION one question of it; \
                --questions lists these. `schedlab study show NAME` prints its file.";
    output::print(&(text + "\n" + &wrap("", 0, more)))
}

/// The questions of a study, each with what its kept runs say, or how many of its runs are kept.
fn list_questions(study: &Study, file: &StudyFile, variant: Variant, as_json: bool) -> Result<(), Failure> {
    let cache = kept::cache(false, true);
    let monitor = Monitor::default();
    let runner = Runner::new(cache.as_ref(), threads(None), &monitor);
    let (mut text, mut questions) = (String::new(), Vec::new());
    for (number, question) in study.questions.iter().enumerate() {
        if variant.question.is_some_and(|only| only != number) {
            continue;
        }
        let variant = Variant { question: Some(number), ..variant };
        let experiment =
            Experiment::plan(study, (&file.text, &file.origin), variant, &file.folder, &|name| file.scenario(name))?;
        let (runs, kept) = kept_runs(&experiment, &runner);
        let state = state(study, &experiment, &runner, (runs, kept));
        text += &wrap(&format!("{:<NAMES$}", question.id), NAMES, &question.asks);
        text += &wrap(&" ".repeat(NAMES), NAMES, &state);
        let (id, asks) = (&question.id, &question.asks);
        questions.push(json!({ "id": id, "asks": asks, "runs": runs, "kept": kept, "state": state }));
    }
    let object = json!({ "schema": "schedlab.questions/1", "study": study.name, "questions": questions });
    if as_json { output::print_json(&object) } else { output::print(&text) }
}

/// How many runs the only question of an experiment takes, and how many of them are kept.
fn kept_runs(experiment: &Experiment, runner: &Runner) -> (usize, usize) {
    let cases = experiment.cases.iter().flat_map(|case| std::iter::once(&case.runs).chain(&case.further));
    cases.fold((0, 0), |(all, kept), case| (all + case.seeds.len(), kept + runner.kept(case)))
}

/// What is known of the only question of an experiment.
fn state(study: &Study, experiment: &Experiment, runner: &Runner, (all, kept): (usize, usize)) -> String {
    if kept < all {
        return format!("{kept} of {all} runs are kept");
    }
    let page = Page::new(study, experiment, &carry_out(experiment, runner));
    let found: String = page.questions.iter().map(|question| question.found.as_str()).collect();
    if found.is_empty() { format!("all {all} runs are kept; it has no values") } else { found }
}

fn carry_out_study(args: &StudyArgs, study: &Study, file: &StudyFile, variant: Variant) -> Result<(), Failure> {
    let experiment =
        Experiment::plan(study, (&file.text, &file.origin), variant, &file.folder, &|name| file.scenario(name))?;
    args.output.as_deref().map_or(Ok(()), files::check_folder)?;
    files::check(args.report.as_deref())?;
    export::check(&args.export)?;
    let cache = kept::cache(args.fresh, args.quiet);
    let monitor = Arc::new(Monitor::default());
    interrupt::watch(&monitor)?;
    let runner = Runner::new(cache.as_ref(), threads(args.threads), &monitor);
    let total_ns = experiment.duration_ns();
    let outcomes = progress::show(&monitor, total_ns, args.quiet, || carry_out(&experiment, &runner));
    if !args.quiet {
        kept::remark(&runner);
    }
    let page = Page::new(study, &experiment, &outcomes);
    let printed = if args.json { output::print_json(&page) } else { output::print(&page.show(output::style())) };
    let folder = args.output.as_deref();
    let written = folder.map_or(Ok(()), |folder| {
        let command = command(args.study.as_deref().unwrap_or(&study.name), variant);
        write(folder, (name(study, variant), &command), &page, &experiment, &outcomes)
    });
    let document = || of_study(&page, &file.text, &page::command());
    let reported = args.report.as_deref().map_or(Ok(()), |file| page::write(file, &document()));
    let exported = export::write(&args.export, &page.findings());
    failure::all([printed, written, reported, exported, end(&page, (&experiment, &outcomes), &monitor)])
}

/// After what the files are named: the study, and its question where only one was asked.
fn name(study: &Study, variant: Variant) -> FileName {
    match variant.question {
        Some(number) => FileName::made_of(&format!("{}-{}", study.name, study.questions[number].id)),
        None => study.file_name(),
    }
}

/// What makes the page again: `asked` is what the user names.
fn command(asked: &str, variant: Variant) -> String {
    let quick = if variant.quick { " --quick" } else { "" };
    let seed = variant.seed.map_or(String::new(), |seed| format!(" --seed {seed}"));
    let is_usual = variant.seeds == Variant::default().seeds;
    let seeds = if is_usual { String::new() } else { format!(" --seeds {}", variant.seeds) };
    format!("schedlab study {}{quick}{seed}{seeds}", quoted(asked))
}

/// The page, its values, and all results.
fn write(
    folder: &Path,
    (name, command): (FileName, &str),
    page: &Page,
    experiment: &Experiment,
    outcomes: &[CaseOutcome],
) -> Result<(), Failure> {
    files::write_in(folder, &name, ".md", Shown::document(&page.markdown(command)).as_str().as_bytes())?;
    let lines = |value: serde_json::Value| format!("{value:#}\n").into_bytes();
    files::write_in(folder, &name, ".json", &lines(json!(page)))?;
    let result = |(case, outcome): (&schedlab_study::Case, &CaseOutcome)| {
        let at: serde_json::Map<_, _> = case.at.iter().map(|(path, value)| (path.clone(), json!(value))).collect();
        let (result, why) = match outcome {
            CaseOutcome::Ran(observed) => (json!(observed.result), json!(null)),
            CaseOutcome::NotRun(why) => (json!(null), json!(why)),
        };
        json!({ "run": case.run, "policy": case.policy_name, "at": at, "result": result, "not_run": why })
    };
    let results: Vec<_> = experiment.cases.iter().zip(outcomes).map(result).collect();
    files::write_in(folder, &name, ".results.json", &lines(json!(results))).map(drop)
}

/// The exit code says whether all was run that the questions need, and whether what was published appeared as far as the study
/// expects it. A value that no case gives, for a metric that is not there, is no success either; the quick version leaves some
/// out by intent.
fn end(page: &Page, (experiment, outcomes): (&Experiment, &[CaseOutcome]), monitor: &Monitor) -> Result<(), Failure> {
    if monitor.is_stopped() {
        return Err(Failure::Interrupted);
    }
    missing::none(experiment, outcomes, "make the runs longer")?;
    match page.counts() {
        Counts { differ: 0, not_run, .. } if not_run > 0 && !page.quick => Err(Failure::Failed(format!(
            "{} not found in what was run",
            numbered(not_run as u64, "value was", "values were")
        ))),
        Counts { differ: 0, .. } => Ok(()),
        Counts { differ, .. } => {
            let values = numbered(differ as u64, "value differs", "values differ");
            let names: Vec<&str> = page.unexplained().collect();
            Err(Failure::Failed(format!("{values} and the study does not say why: {}", names.join("; "))))
        }
    }
}
