//! What is in a trace, and what can be asked.

use super::heading;
use crate::{Column, Style, Table};
use schedlab_model::names::Names;
use schedlab_views::summary::Summary;

/// The page.
pub fn show(summary: &Summary, names: &Names, trace: &str, facts: &str, style: Style) -> String {
    let mut page = heading(trace, facts, style);
    if !summary.tasks.is_empty() {
        let roles = Table::new([
            Column::words("role", summary.tasks.keys().map(|role| names.role(*role))),
            Column::numbers("tasks", summary.tasks.values().map(u64::to_string)),
        ]);
        page += &format!("\n{}", roles.show(style));
    }
    page += &format!("\n{}", events(summary).show(style));
    page + "\n" + &views(summary)
}

fn events(summary: &Summary) -> Table {
    let counts = [
        ("wake-ups", summary.wakeups),
        ("switches", summary.switches),
        ("migrations", summary.migrations),
        ("ticks", summary.ticks),
        ("requests done", summary.requests),
        ("changes of status", summary.statuses),
        ("accounts of CPU time", summary.shares),
        ("pieces of overhead", summary.overheads),
    ];
    let counts: Vec<_> = counts.into_iter().filter(|(_, count)| *count > 0).collect();
    Table::new([
        Column::words("events", counts.iter().map(|(name, _)| name.to_string())),
        Column::numbers(&summary.events.to_string(), counts.iter().map(|(_, count)| count.to_string())),
    ])
}

/// The questions, and which of them this trace cannot answer.
fn views(summary: &Summary) -> String {
    let switches = (summary.switches == 0).then_some("no switches");
    let statuses = (summary.statuses == 0).then_some("nothing");
    let views = [
        ("latency", "how long after its wake-up did each task run?", switches),
        ("queue", "why did one of them wait?", switches),
        ("status", "what did the policy say about each task?", statuses),
        ("timeline", "which task ran where?", switches),
    ];
    let mut text = String::from("Views, as in `schedlab trace FILE latency`:\n");
    for (name, question, lack) in views {
        let lack = lack.map(|lack| format!("  (here: {lack})")).unwrap_or_default();
        text += &format!("  {name:<8}  {question}{lack}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::test_helpers::{roster, story};
    use schedlab_model::trace::Sink;
    use schedlab_views::Selection;

    #[test]
    fn the_page_counts_and_names_the_views() {
        let mut summary = Summary::default();
        summary.events(&story());
        let roster = roster(Selection::ALL);
        let page = show(&summary, roster.names(), "story", "100ms on 2 CPUs", Style::PLAIN);
        let expected = "\
story: 100ms on 2 CPUs

role    tasks
worker      2
timer       1

events             18
wake-ups            5
switches            7
changes of status   2

Views, as in `schedlab trace FILE latency`:
  latency   how long after its wake-up did each task run?
  queue     why did one of them wait?
  status    what did the policy say about each task?
  timeline  which task ran where?
";
        assert_eq!(page, expected);
    }

    #[test]
    fn a_view_that_has_nothing_to_show_is_marked() {
        let page = show(&Summary::default(), roster(Selection::ALL).names(), "empty", "", Style::PLAIN);
        assert!(page.contains("which task ran where?  (here: no switches)"), "{page}");
    }
}
