//! `schedlab report`.

use crate::args::{PageFormat, ReportArgs};
use crate::failure::Failure;
use crate::{files, output, page};
use schedlab_charts::{Chart, Look, png, svgs};
use schedlab_html::{Document, Evidence, Heard, Provenance, of_comparison};
use schedlab_model::outcome::Outcome;
use schedlab_report::comparison::{Candidate, Comparison};
use schedlab_venue::remeasure;
use serde_json::Value;
use std::fs;
use std::io::Read as _;
use std::path::Path;

/// Pixels for each unit of a drawing, in pictures.
const SCALE: f32 = 2.0;

/// A run that was read.
struct Read {
    label: String,
    result: Outcome,
    heard: Option<Heard>,
}

impl Read {
    fn candidate(&self) -> Candidate<'_> {
        Candidate { label: self.label.clone(), result: &self.result, batches: &[], curves: &[] }
    }
}

/// Reads the runs and writes the page or the charts.
pub fn run(args: &ReportArgs) -> Result<(), Failure> {
    let is_page = args.format == PageFormat::Html;
    let target = args.output.as_deref().unwrap_or(Path::new(if is_page { "report.html" } else { "charts" }));
    if is_page {
        files::check([target])?
    } else {
        files::check_folder(target)?
    }
    let mut runs = Vec::new();
    for path in &args.runs {
        runs.extend(read(path)?);
    }
    of_one_scenario(&runs)?;
    name(&mut runs);
    let document = document(&runs);
    if is_page {
        page::write(target, &document)?;
        return output::print(&format!("{} is written\n", target.display()));
    }
    draw(args, target, &document)
}

/// The runs of a file: one of a trace, one of a result, several of a comparison.
fn read(path: &Path) -> Result<Vec<Read>, Failure> {
    let input = |what: String| Failure::Input(format!("{}: {what}", path.display()));
    let unreadable = |error| input(format!("the file cannot be read: {error}"));
    // A trace may be large, and is read event by event.
    let mut first = [0];
    let begun = fs::File::open(path).and_then(|mut file| file.read(&mut first)).map_err(unreadable)?;
    if first[..begun] != *b"{" {
        return Ok(vec![of_trace(path)?]);
    }
    let bytes = fs::read(path).map_err(unreadable)?;
    let whole: Value = serde_json::from_slice(&bytes).map_err(|error| input(format!("it is not JSON: {error}")))?;
    let wrong = |error: serde_json::Error| input(format!("it is no result: {error}"));
    let (labels, results): (Vec<String>, Vec<Outcome>) = match whole.get("results") {
        Some(results) => (
            serde_json::from_value(whole["policies"].clone()).map_err(wrong)?,
            serde_json::from_value(results.clone()).map_err(wrong)?,
        ),
        None => {
            let result: Outcome = serde_json::from_value(whole).map_err(wrong)?;
            (vec![result.policy().name.clone()], vec![result])
        }
    };
    if labels.len() != results.len() {
        return Err(input(format!("it names {} policies and has {} results", labels.len(), results.len())));
    }
    Ok(labels.into_iter().zip(results).map(|(label, result)| Read { label, result, heard: None }).collect())
}

fn of_trace(path: &Path) -> Result<Read, Failure> {
    let (measured, evidence) = remeasure(path, Evidence::new).map_err(schedlab_venue::VenueError::from)?;
    let result = measured.result;
    let label = result.policy.name.clone();
    let heard = Some(evidence.end(&label, &result.venue, measured.curves));
    Ok(Read { label, result: result.into(), heard })
}

/// What can be compared has the same groups.
fn of_one_scenario(runs: &[Read]) -> Result<(), Failure> {
    let groups = |run: &Read| run.result.groups().iter().map(|group| group.name.to_string()).collect::<Vec<_>>();
    let Some(first) = runs.first() else { return Err(Failure::Input("there is no run in these files".into())) };
    match runs.iter().find(|run| groups(run) != groups(first)) {
        Some(other) => Err(Failure::Input(format!(
            "{} ({}) and {} ({}) are runs of different scenarios: make a page of each",
            first.result.scenario().name,
            first.label,
            other.result.scenario().name,
            other.label
        ))),
        None => Ok(()),
    }
}

/// Names that differ: with the venue where there are several, with a number where that is not enough.
fn name(runs: &mut [Read]) {
    let several = runs.iter().any(|run| run.result.venue() != runs[0].result.venue());
    let mut known: Vec<String> = Vec::new();
    for run in runs {
        if several && !run.label.contains('@') {
            run.label = format!("{}@{}", run.label, run.result.venue());
        }
        let plain = run.label.clone();
        let mut number = 1;
        while known.contains(&run.label) {
            number += 1;
            run.label = format!("{plain} ({number})");
        }
        known.push(run.label.clone());
        if let Some(heard) = &mut run.heard {
            heard.name(&run.label);
        }
    }
}

fn document(runs: &[Read]) -> Document {
    let candidates: Vec<Candidate> = runs.iter().map(Read::candidate).collect();
    let heard: Vec<Heard> = runs.iter().filter_map(|run| run.heard.clone()).collect();
    let provenance = Provenance { commands: vec![page::command()], ..Provenance::default() };
    of_comparison(&Comparison::of_results(&candidates), &heard, provenance)
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
            PageFormat::Png => (png(&drawing, SCALE).map_err(|error| failed(error.to_string()))?, "png"),
            PageFormat::Svg | PageFormat::Html => (drawing.into_bytes(), "svg"),
        };
        let name = format!("{}.{extension}", chart.id);
        files::write_in(folder, &name, &bytes)?;
        output::print(&format!("{} is written: {}\n", folder.join(name).display(), chart.title))?;
    }
    Ok(())
}
