//! `schedlab trace FILE timeline`.

use super::json;
use super::source::Source;
use crate::args::TimelineArgs;
use crate::failure::Failure;
use crate::output;
use schedlab_model::count::counted;
use schedlab_model::trace::Sink;
use schedlab_report::views::timeline as page;
use schedlab_trace::Writer;
use schedlab_views::timeline::Timeline;
use std::path::Path;

/// Prints the picture, or writes the trace in another form.
pub fn run(source: &Source, args: &TimelineArgs, as_json: bool) -> Result<(), Failure> {
    if let Some(path) = &args.output {
        if as_json {
            let why = "--json prints the timeline and --output writes the trace: give one of them";
            return Err(Failure::Input(why.into()));
        }
        return convert(source, path);
    }
    let selection = source.selection(&args.which)?;
    let (cpus, end) = (source.header().cpus, source.header().end);
    let columns = page::columns(cpus, usize::from(args.width));
    let mut view = Timeline::new(source.roster(selection), cpus, end, columns);
    source.feed(|event| {
        view.event(event);
        Ok(())
    })?;
    view.finish(end);
    source.check_switches(view.roster())?;
    if as_json {
        return output::print_json(&json::timeline(source, &view));
    }
    output::print(&page::show(&view, &source.title(), output::style()))
}

/// The file appears when it is whole.
fn convert(source: &Source, path: &Path) -> Result<(), Failure> {
    let mut writer = Writer::create(path, source.header())?;
    let mut events = 0;
    source.feed(|event| {
        writer.event(event);
        events += 1;
        Ok(())
    })?;
    writer.finish(source.header().end);
    writer.close()?;
    output::print(&format!("{} is written: {}\n", path.display(), counted(events, "event")))
}
