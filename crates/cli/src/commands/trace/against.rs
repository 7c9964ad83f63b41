//! `schedlab trace FILE --against FILE`.

use super::source::Source;
use crate::args::TraceArgs;
use crate::failure::Failure;
use crate::{export, files, output, page};
use schedlab_html::{Provenance, of_contrast};
use schedlab_model::time::Time;
use schedlab_model::trace::Sink;
use schedlab_report::views::contrast::Pair;
use schedlab_report::views::contrast_answer::Answer;
use schedlab_trace::Header;
use schedlab_views::contrast::{Account, Contrast, Evidence, block_length};
use std::path::{Path, PathBuf};

/// Compares two traces, prints what changed, and writes the page if one is wanted.
pub fn run(source: &Source, against: &Path, args: &TraceArgs) -> Result<(), Failure> {
    let report = args.report.as_deref();
    report.map_or(Ok(()), |file| files::check([file]))?;
    export::check(&args.export)?;
    let before = Source::open(against)?;
    let sides = [&before, source];
    let titles = sides.map(Source::label);
    let form = if args.json { Form::Json } else { Form::Page };
    show(sides, [&titles[0], &titles[1]], form, (report, &args.export))
}

/// What is printed of a comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Page,
    /// For programs.
    Json,
    /// Nothing: there is a page as a file.
    Nothing,
}

/// Files with tables, and their forms.
type Exports<'a> = &'a [(export::Form, PathBuf)];

/// The same for two traces that have names.
pub fn show(
    sides: [&Source; 2],
    titles: [&str; 2],
    form: Form,
    (report, exports): (Option<&Path>, Exports),
) -> Result<(), Failure> {
    let block = block_length(sides.map(|side| side.header().end));
    let accounts = [account(sides[0], block)?, account(sides[1], block)?];
    let contrast = Contrast::of(&accounts[0], &accounts[1], block);
    let evidence = [evidence(sides[0], &accounts[0])?, evidence(sides[1], &accounts[1])?];
    let worst = [0, 1].map(|side: usize| (evidence[side].cases(), evidence[side].names()));
    let pair = Pair { titles, contrast: &contrast, worst };
    let mut cautions: Vec<String> = sides.iter().filter_map(|side| side.loss()).collect();
    // A trace may be held against itself.
    cautions.dedup();
    cautions.extend(unlike(sides.map(Source::header)));
    match form {
        Form::Json => output::print_json(&Answer::of(&pair, &cautions))?,
        Form::Page => {
            let mut text = pair.show(output::style());
            cautions.iter().for_each(|caution| text += &format!("\n{caution}\n"));
            output::print(&text)?;
        }
        Form::Nothing => {}
    }
    export::write(exports, &pair.findings(&cautions))?;
    let Some(file) = report else { return Ok(()) };
    let facts = [0, 1].map(|side: usize| (["before", "after"][side].to_string(), sides[side].title()));
    let provenance = Provenance { facts: facts.into(), commands: vec![page::command()], ..Provenance::default() };
    page::write(file, &of_contrast(&pair, cautions, provenance))?;
    if form == Form::Page { output::print(&format!("\n{} is written\n", file.display())) } else { Ok(()) }
}

/// What differs, other than the policy, where the traces are of unlike runs. Recordings have no scenario and no seed, and end at
/// any time. What ends with its last task does so a little earlier or later under another policy.
fn unlike([before, after]: [&Header; 2]) -> Option<String> {
    let are_runs = [before, after].iter().all(|header| header.setting.is_some() || header.seed != 0);
    let (shorter, longer) = (before.end.min(after.end).ns() as f64, before.end.max(after.end).ns() as f64);
    let of = |name: &str, values: [String; 2], counts: bool| {
        let [was, is] = values;
        (counts && was != is).then(|| format!("{name} ({was} and {is})"))
    };
    let differing: Vec<String> = [
        of("the scenario", [&before.scenario, &after.scenario].map(Clone::clone), are_runs),
        of("the number of CPUs", [before.cpus, after.cpus].map(|cpus| cpus.to_string()), true),
        of("the seed", [before.seed, after.seed].map(|seed| seed.to_string()), are_runs),
        of("the length", [before.end, after.end].map(|end| end.to_string()), are_runs && longer > 1.1 * shorter),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!differing.is_empty()).then(|| {
        let differing = differing.join(", ");
        format!("The traces are of unlike runs, and a change may come from what differs: {differing}.")
    })
}

fn account(source: &Source, block: Time) -> Result<Account, Failure> {
    let (cpus, end) = (source.header().cpus, source.header().end);
    let mut account = Account::new(source.roles(), cpus, end, block);
    feed(source, &mut account)?;
    Ok(account)
}

fn evidence(source: &Source, account: &Account) -> Result<Evidence, Failure> {
    let mut evidence = Evidence::new(source.roles(), source.header().cpus, account.worst());
    feed(source, &mut evidence)?;
    Ok(evidence)
}

fn feed(source: &Source, sink: &mut impl Sink) -> Result<(), Failure> {
    source.feed(|event| {
        sink.event(event);
        Ok(())
    })?;
    sink.finish(source.header().end);
    Ok(())
}
