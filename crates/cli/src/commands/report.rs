//! `schedlab report`.

use crate::args::paths::{self, shown};
use crate::args::{PageFormat, ReportArgs};
use crate::failure::Failure;
use crate::{files, output, page};
use schedlab_boundary::shell::quoted;
use schedlab_boundary::{FileName, Shown, file, is_hidden};
use schedlab_charts::{Chart, Look, png, svgs};
use schedlab_html::{Document, Evidence, Heard, Provenance, of_comparison, of_history};
use schedlab_job::label::{Unnamed, of_results, parameters};
use schedlab_model::count::{counted, numbered};
use schedlab_model::outcome::Outcome;
use schedlab_regression::history;
use schedlab_report::comparison::{Candidate, Comparison};
use schedlab_trace::of_other_tools;
use schedlab_venue::remeasure;
use serde_json::Value;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Pixels for each unit of a drawing, in pictures.
const SCALE: f32 = 2.0;

/// A run that was read, or several that belong together.
struct Read {
    /// The label that its file gives it.
    known: Option<String>,
    /// The file, by its place among all.
    file: usize,
    label: String,
    result: Outcome,
    heard: Option<Heard>,
}

/// What was read of a file.
struct File {
    runs: Vec<Read>,
    /// The comparison that it is.
    comparison: Option<Comparison>,
}

impl Read {
    fn new(file: usize, known: Option<String>, result: Outcome) -> Read {
        Read { known, file, label: String::new(), result, heard: None }
    }

    fn candidate(&self) -> Candidate<'_> {
        Candidate::bare(&self.label, &self.result)
    }
}

/// Reads the runs and writes the page or the charts.
pub fn run(args: &ReportArgs) -> Result<(), Failure> {
    let target = args.target();
    if args.format == PageFormat::Html {
        paths::check_page(target).map_err(|why| Failure::Input(format!("{}: {why}", target.display())))?;
        files::check([target])?
    } else {
        check_charts(target)?
    }
    if let Some(folder) = args.runs.iter().find(|path| path.is_dir()) {
        return of_folder(args, folder, target);
    }
    let (mut runs, mut comparisons) = (Vec::new(), Vec::new());
    for (file, path) in args.runs.iter().enumerate() {
        let read = read(path, file)?;
        runs.extend(read.runs);
        comparisons.extend(read.comparison);
    }
    of_one_scenario(&runs)?;
    name(&mut runs, &args.runs);
    finish(args, target, &document(&runs, comparisons, args.runs.len()))
}

/// Whether charts can be written into this folder. The name of a file is none of a folder.
fn check_charts(folder: &Path) -> Result<(), Failure> {
    let extension = folder.extension().and_then(|extension| extension.to_str());
    if matches!(extension, Some("html" | "htm" | "svg" | "png" | "pdf")) && !folder.is_dir() {
        let why = "charts are files in a folder: name the folder, or leave --format out for one page";
        return Err(Failure::Input(format!("{}: {why}", folder.display())));
    }
    files::check_folder(folder)
}

/// Writes what was asked for.
fn finish(args: &ReportArgs, target: &Path, document: &Document) -> Result<(), Failure> {
    if args.format == PageFormat::Html {
        page::write(target, document)?;
        return output::print(&format!("{} is written\n", target.display()));
    }
    draw(args, target, document)
}

/// The history that gates keep in a folder.
fn of_folder(args: &ReportArgs, folder: &Path, target: &Path) -> Result<(), Failure> {
    if args.runs.len() > 1 {
        let what = "is a folder: a history has a page of its own";
        return Err(Failure::Input(format!("{} {what}", folder.display())));
    }
    let history = history::read(folder)?;
    if history.points.is_empty() {
        let (name, argument) = (folder.display(), quoted(&folder.display().to_string()));
        let what = format!("nothing is in this history: `schedlab gate FILE --history {argument}` adds to it");
        return Err(Failure::Input(format!("{name}: {what}")));
    }
    let provenance = Provenance { commands: vec![page::command()], ..Provenance::default() };
    finish(args, target, &of_history(&history, provenance))
}

/// The runs of a file: one of a trace, one or several of a result, those of a comparison.
fn read(path: &Path, number: usize) -> Result<File, Failure> {
    let input = |what: String| Failure::Input(format!("{}: {what}", path.display()));
    let unreadable = |error| input(format!("the file cannot be read: {error}"));
    // A trace may be large, and is read event by event.
    let mut first = [0];
    let begun = file::open(path, file::ANY_BYTES).and_then(|mut file| file.read(&mut first)).map_err(unreadable)?;
    if first[..begun] != *b"{" {
        return Ok(File { runs: vec![of_trace(path, number)?], comparison: None });
    }
    let bytes = file::bytes(path, file::RESULT_BYTES).map_err(unreadable)?;
    let mut whole: Value = serde_json::from_slice(&bytes).map_err(|error| input(format!("it is not JSON: {error}")))?;
    make_visible(&mut whole);
    let wrong = |error: serde_json::Error| input(format!("it is not a result: {error}"));
    if whole.get("results").is_none() {
        let result = serde_json::from_value(whole).map_err(wrong)?;
        return Ok(File { runs: vec![Read::new(number, None, result)], comparison: None });
    }
    let comparison: Comparison = serde_json::from_value(whole).map_err(wrong)?;
    let (labels, results) = (&comparison.policies, &comparison.results);
    if labels.len() != results.len() {
        return Err(input(format!(
            "it names {} and has {}",
            numbered(labels.len() as u64, "policy", "policies"),
            counted(results.len() as u64, "result")
        )));
    }
    let runs = labels.iter().zip(results).map(|(label, result)| Read::new(number, Some(label.clone()), result.clone()));
    Ok(File { runs: runs.collect(), comparison: Some(comparison) })
}

/// Lets no word of a file through that a terminal or a page would obey.
fn make_visible(value: &mut Value) {
    match value {
        Value::String(text) if text.contains(is_hidden) => *text = Shown::document(text).into_string(),
        Value::Array(values) => values.iter_mut().for_each(make_visible),
        Value::Object(members) => {
            let all = std::mem::take(members).into_iter().map(|(key, mut value)| {
                make_visible(&mut value);
                (Shown::document(&key).into_string(), value)
            });
            *members = all.collect();
        }
        _ => {}
    }
}

/// What is wrong with a file that begins as no result does.
fn unread(error: schedlab_trace::Error) -> Failure {
    match error {
        schedlab_trace::Error::Foreign { path, what } => {
            let remedy = of_other_tools(&path);
            Failure::Input(format!("{}: neither a result nor a trace of schedlab: {what}; {remedy}", path.display()))
        }
        other => other.into(),
    }
}

fn of_trace(path: &Path, file: usize) -> Result<Read, Failure> {
    let (measured, evidence) =
        remeasure(path, Evidence::new).map_err(|error| super::not_a_trace(path)(unread(error)))?;
    let result = measured.result;
    let heard = Some(evidence.end(&result.policy.name, &result.venue, measured.curves));
    Ok(Read { heard, ..Read::new(file, None, result.into()) })
}

/// What can be compared has the same roles, and is of the same scenario as far as that is known: a trace does not say about
/// which. The variants of a comparison belong together whatever their scenarios.
fn of_one_scenario(runs: &[Read]) -> Result<(), Failure> {
    let roles = |run: &Read| run.result.roles().iter().map(|role| role.name.to_string()).collect::<Vec<_>>();
    let hash = |run: &Read| run.result.provenance().scenario_hash.clone();
    let Some(first) = runs.first() else { return Err(Failure::Input("there is no run in these files".into())) };
    let belongs = |run: &Read| {
        let known = |other: &&Read| other.file != run.file && !hash(other).is_empty();
        let others: Vec<String> = runs.iter().filter(known).map(hash).collect();
        roles(run) == roles(first) && (hash(run).is_empty() || others.is_empty() || others.contains(&hash(run)))
    };
    let Some(other) = runs.iter().find(|run| !belongs(run)) else { return Ok(()) };
    let beside = runs.iter().find(|run| run.file != other.file).unwrap_or(first);
    let told = |run: &Read| {
        let (scenario, policy) = (Shown::name(&run.result.scenario().name), Shown::name(&run.result.policy().name));
        match hash(run).get(..12) {
            Some(hash) => format!("{scenario} under {policy} (scenario {hash})"),
            None => format!("{scenario} under {policy}"),
        }
    };
    Err(Failure::Input(format!(
        "{} and {} are runs of different scenarios: make a page of each",
        told(beside),
        told(other)
    )))
}

/// Gives all runs labels that differ.
fn name(runs: &mut [Read], files: &[PathBuf]) {
    let stem =
        |run: &Read| Path::new(&shown(&files[run.file])).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let stems: Vec<String> = runs.iter().map(stem).collect();
    let both = runs.iter().zip(&stems);
    let unnamed = both.map(|(run, file)| Unnamed { known: run.known.as_deref(), file, result: &run.result });
    let labels = of_results(&unnamed.collect::<Vec<_>>());
    for (run, label) in runs.iter_mut().zip(labels) {
        if let Some(heard) = &mut run.heard {
            heard.name(&label);
        }
        run.label = label;
    }
}

/// The page. A comparison that stands alone is shown as its file says.
fn document(runs: &[Read], mut comparisons: Vec<Comparison>, files: usize) -> Document {
    let heard: Vec<Heard> = runs.iter().filter_map(|run| run.heard.clone()).collect();
    let candidates: Vec<Candidate> = runs.iter().map(Read::candidate).collect();
    let comparison = match comparisons.pop() {
        Some(only) if files == 1 => only.concluded(&candidates),
        last => {
            let comparison = Comparison::of_results(&candidates);
            comparisons.iter().chain(&last).fold(comparison, Comparison::take_over)
        }
    };
    let parameters = comparison.results.iter().map(parameters).collect();
    let provenance = Provenance { commands: vec![page::command()], parameters, ..Provenance::default() };
    of_comparison(&comparison, &heard, provenance)
}

/// Each chart as a file of its own in a folder.
fn draw(args: &ReportArgs, folder: &Path, document: &Document) -> Result<(), Failure> {
    let charts: Vec<&Chart> = document.charts().collect();
    if let Some(unknown) = args.chart.iter().find(|name| !charts.iter().any(|chart| chart.id == **name)) {
        let known = charts.iter().map(|chart| chart.id.as_str()).collect::<Vec<_>>().join(", ");
        return Err(Failure::Input(format!("there is no chart `{unknown}`; there are {known}")));
    }
    let failed = |error: String| Failure::Failed(error);
    let wanted = |chart: &&Chart| args.chart.is_empty() || args.chart.contains(&chart.id);
    let charts: Vec<&Chart> = charts.into_iter().filter(wanted).collect();
    let specifications: Vec<Value> = charts.iter().map(|chart| chart.specification(Look::Paper)).collect();
    let drawings = svgs(&specifications).map_err(|error| failed(error.to_string()))?;
    for (chart, drawing) in charts.into_iter().zip(drawings) {
        let drawing = drawing.map_err(|error| failed(format!("{}: {error}", chart.id)))?;
        let (bytes, extension) = match args.format {
            PageFormat::Png => (png(&drawing, SCALE).map_err(|error| failed(error.to_string()))?, ".png"),
            PageFormat::Svg | PageFormat::Html => (drawing.into_bytes(), ".svg"),
        };
        let file = files::write_in(folder, &FileName::made_of(&chart.id), extension, &bytes)?;
        output::print(&format!("{} is written: {}\n", file.display(), chart.title))?;
    }
    Ok(())
}
