//! `schedlab trace FILE status`.

use super::json;
use super::list::List;
use super::source::Source;
use crate::args::StatusArgs;
use crate::failure::Failure;
use crate::output;
use schedlab_model::trace::Sink;
use schedlab_report::views::status as page;
use schedlab_views::status::Status;

/// Prints the tables, or each change.
pub fn run(source: &Source, args: &StatusArgs, as_json: bool) -> Result<(), Failure> {
    let selection = source.selection(&args.which)?;
    let span = source.span(&selection);
    let mut view = Status::new(source.roster(selection));
    if args.list && !as_json {
        return list(source, &mut view);
    }
    source.feed(|event| {
        view.event(event);
        Ok(())
    })?;
    view.finish(source.header().end);
    source.check_task(view.roster())?;
    if as_json {
        return output::print_json(&json::status(source, &view));
    }
    output::print(&page::show(&view, &source.title(), &span, args.tasks, output::style()))
}

fn list(source: &Source, view: &mut Status) -> Result<(), Failure> {
    let mut list = List::new(page::list_head);
    source.feed(|event| match view.take(event) {
        Some(change) => list.row(&page::list_row(&change, view.roster().names())),
        None => Ok(()),
    })?;
    list.end()?;
    source.check_task(view.roster())
}
