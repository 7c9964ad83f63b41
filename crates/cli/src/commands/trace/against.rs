//! `schedlab trace FILE --against FILE`.

use super::source::Source;
use crate::failure::Failure;
use crate::{files, output, page};
use schedlab_html::{Provenance, of_contrast};
use schedlab_model::time::Time;
use schedlab_model::trace::Sink;
use schedlab_report::views::contrast::Pair;
use schedlab_views::contrast::{Account, Contrast, Evidence, block_length};
use std::path::Path;

/// Compares two traces, prints what changed, and writes the page if one is wanted.
pub fn run(source: &Source, against: &Path, report: Option<&Path>) -> Result<(), Failure> {
    report.map_or(Ok(()), |file| files::check([file]))?;
    let before = Source::open(against)?;
    let sides = [&before, source];
    let block = block_length(sides.map(|side| side.header().end));
    let accounts = [account(sides[0], block)?, account(sides[1], block)?];
    let contrast = Contrast::of(&accounts[0], &accounts[1], block);
    let evidence = [evidence(sides[0], &accounts[0])?, evidence(sides[1], &accounts[1])?];
    let titles = sides.map(Source::label);
    let worst = [0, 1].map(|side: usize| (evidence[side].cases(), evidence[side].names()));
    let pair = Pair { titles: [&titles[0], &titles[1]], contrast: &contrast, worst };
    let cautions: Vec<String> = sides.iter().filter_map(|side| side.loss()).collect();
    let mut text = pair.show(output::style());
    cautions.iter().for_each(|caution| text += &format!("\n{caution}\n"));
    output::print(&text)?;
    let Some(file) = report else { return Ok(()) };
    let facts = [0, 1].map(|side: usize| (["before", "after"][side].to_string(), sides[side].title()));
    let provenance = Provenance { facts: facts.into(), commands: vec![page::command()], ..Provenance::default() };
    page::write(file, &of_contrast(&pair, cautions, provenance))?;
    output::print(&format!("\n{} is written\n", file.display()))
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
