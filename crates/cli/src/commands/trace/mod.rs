//! `schedlab trace`: views of a trace file.

pub mod against;
pub mod json;
mod latency;
mod list;
mod queue;
mod source;
mod status;
mod timeline;

use crate::args::{TraceArgs, View};
use crate::failure::Failure;
use crate::output;
use schedlab_model::trace::Sink;
use schedlab_report::views;
use schedlab_views::summary::Summary;
use schedlab_views::{Roster, Selection};
pub use source::Source;

/// Prints the view that was asked for, or what there is to see.
pub fn run(args: &TraceArgs) -> Result<(), Failure> {
    let source = Source::open(&args.trace)?;
    if let Some(against) = &args.against {
        if args.view.is_some() {
            return Err(Failure::Input("--against compares whole traces; leave the view out".into()));
        }
        return against::run(&source, against, args);
    }
    match &args.view {
        None => summary(&source, args.json),
        Some(View::Latency(view)) => latency::run(&source, view, args.json),
        Some(View::Queue(view)) => queue::run(&source, view, args.json),
        Some(View::Status(view)) => status::run(&source, view, args.json),
        Some(View::Timeline(view)) => timeline::run(&source, view, args.json),
    }
}

fn summary(source: &Source, as_json: bool) -> Result<(), Failure> {
    let mut summary = Summary::default();
    let mut roster = Roster::new(source.roles(), Selection::ALL);
    source.feed(|event| {
        roster.observe(event);
        summary.event(event);
        Ok(())
    })?;
    if as_json {
        return output::print_json(&json::summary(source, &summary));
    }
    let page = views::summary::show(&summary, roster.names(), &source.title(), &source.facts(), output::style());
    output::print(&page)
}
