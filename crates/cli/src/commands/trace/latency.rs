//! `schedlab trace FILE latency`.

use super::json;
use super::list::List;
use super::source::Source;
use crate::args::LatencyArgs;
use crate::failure::Failure;
use crate::output;
use schedlab_model::trace::Sink;
use schedlab_report::views::latency as page;
use schedlab_views::latency::Latency;

/// Prints the tables, or each wake-up.
pub fn run(source: &Source, args: &LatencyArgs, as_json: bool) -> Result<(), Failure> {
    let selection = source.selection(&args.which)?;
    let span = source.span(&selection);
    let mut view = Latency::new(source.roster(selection));
    if as_json {
        return print_json(source, view, args.list);
    }
    if args.list {
        return list(source, &mut view);
    }
    source.feed(|event| {
        view.event(event);
        Ok(())
    })?;
    view.finish(source.header().end);
    source.check_switches(view.roster())?;
    output::print(&page::show(&view, &source.title(), &span, args.tasks, output::style()))
}

fn print_json(source: &Source, mut view: Latency, with_waits: bool) -> Result<(), Failure> {
    let mut waits = Vec::new();
    source.feed(|event| {
        waits.extend(view.take(event).filter(|_| with_waits));
        Ok(())
    })?;
    view.finish(source.header().end);
    source.check_switches(view.roster())?;
    waits.extend(view.open().iter().filter(|_| with_waits));
    output::print_json(&json::latency(source, &view, with_waits.then_some(&waits[..])))
}

fn list(source: &Source, view: &mut Latency) -> Result<(), Failure> {
    let mut list = List::new(page::list_head);
    source.feed(|event| match view.take(event) {
        Some(wait) => list.row(&page::list_row(&wait, view.roster().names())),
        None => Ok(()),
    })?;
    view.finish(source.header().end);
    view.open().iter().try_for_each(|wait| list.row(&page::list_row(wait, view.roster().names())))?;
    list.end()?;
    source.check_switches(view.roster())
}
