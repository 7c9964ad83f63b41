//! `schedlab trace FILE queue`.

use super::json;
use super::source::Source;
use crate::args::QueueArgs;
use crate::failure::Failure;
use crate::output;
use schedlab_model::trace::Sink;
use schedlab_report::views::queue as page;
use schedlab_views::Wait;
use schedlab_views::queue::{Choice, Queue};

/// Finds the wake-up, and looks at what followed it.
pub fn run(source: &Source, args: &QueueArgs, as_json: bool) -> Result<(), Failure> {
    let wait = choose(source, args)?;
    let roster = source.roster(source.selection(&args.which)?);
    let mut view = Queue::new(roster, wait, source.header().cpus, usize::from(args.limit));
    source.feed(|event| {
        view.event(event);
        Ok(())
    })?;
    view.finish(source.header().end);
    if as_json {
        return output::print_json(&json::queue(source, &view));
    }
    output::print(&page::show(&view, &source.title(), output::style()))
}

fn choose(source: &Source, args: &QueueArgs) -> Result<Wait, Failure> {
    let mut choice = Choice::new(source.roster(source.selection(&args.which)?), args.at);
    source.feed(|event| {
        choice.event(event);
        Ok(())
    })?;
    choice.finish(source.header().end);
    source.check_switches(choice.roster())?;
    choice.chosen().copied().ok_or_else(|| {
        let from = args.at.map(|at| format!(" from {at} on")).unwrap_or_default();
        source.wrong(&format!("none of the tasks that were asked for was woken{from}"))
    })
}
