//! `schedlab trace FILE latency`.

use super::source::Source;
use crate::args::LatencyArgs;
use crate::failure::Failure;
use crate::output::{self, Lines};
use schedlab_model::trace::Sink;
use schedlab_report::views::latency as page;
use schedlab_views::Wait;
use schedlab_views::latency::Latency;

/// Prints the tables, or each wake-up.
pub fn run(source: &Source, args: &LatencyArgs) -> Result<(), Failure> {
    let selection = source.selection(&args.which)?;
    let span = source.span(&selection);
    let mut view = Latency::new(source.roster(selection));
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

/// Prints while it reads, so that a long trace takes no memory.
fn list(source: &Source, view: &mut Latency) -> Result<(), Failure> {
    let mut lines = Lines::new();
    let mut begun = false;
    let mut print = |wait: &Wait, view: &Latency| {
        if !std::mem::replace(&mut begun, true) {
            lines.print(&page::list_head(output::style()))?;
        }
        lines.print(&page::list_row(wait, view.roster().names()))
    };
    source.feed(|event| view.take(event).map_or(Ok(()), |wait| print(&wait, view)))?;
    view.finish(source.header().end);
    view.open().iter().try_for_each(|wait| print(wait, view))?;
    lines.end()?;
    source.check_switches(view.roster())
}
