//! What the policy said about tasks.

use super::heading;
use crate::{Column, Percent, Style, Table, wrap};
use schedlab_model::count::numbered;
use schedlab_model::names::Names;
use schedlab_views::status::{Change, History, Shares, Status};

/// The page: how long each role, or each task if `tasks` is set, had which status; for tasks also how it changed.
pub fn show(view: &Status, trace: &str, span: &str, tasks: bool, style: Style) -> String {
    let names = view.roster().names();
    let mut page = heading(trace, &format!("what the policy said about tasks, {span}"), style) + "\n";
    let roles: Vec<(String, &Shares)> =
        view.roles().map(|(role, shares)| (role.map_or("(unknown)".into(), |role| names.role(role)), shares)).collect();
    if roles.is_empty() {
        return page + "It said nothing.\n";
    }
    if !tasks {
        return page + &table("role", roles.into_iter()).show(style);
    }
    let Some(histories) = view.tasks() else {
        return page + "There were too many tasks to tell them apart: only roles are known.\n";
    };
    let histories: Vec<&History> = histories.collect();
    let rows = histories.iter().map(|history| (names.show(history.task), &history.shares));
    page += &table("task", rows).show(style);
    page += &format!("\n{}\n", style.bold("How it changed"));
    histories.iter().for_each(|history| page += &wrap(&format!("{}: ", names.show(history.task)), 4, &story(history)));
    page
}

/// A row for each word; the name and its changes are in the first row of each name.
fn table<'a>(who: &str, rows: impl Iterator<Item = (String, &'a Shares)>) -> Table {
    let mut lines: Vec<[String; 4]> = Vec::new();
    for (name, shares) in rows {
        let first = lines.len();
        let words = shares.words().map(|(word, share)| (word.to_string(), share));
        for (word, share) in words.chain(shares.rest().map(|share| ("others".into(), share))) {
            lines.push([String::new(), String::new(), word, Percent::show(Some(share))]);
        }
        if lines.len() == first {
            lines.push([String::new(), String::new(), "-".into(), "-".into()]);
        }
        (lines[first][0], lines[first][1]) = (name, shares.changes.to_string());
    }
    let column = |place: usize| lines.iter().map(move |line| line[place].clone());
    Table::new([
        Column::words(who, column(0)),
        Column::numbers("changes", column(1)),
        Column::numbers("status", column(2)),
        Column::numbers("time %", column(3)),
    ])
}

fn story(history: &History) -> String {
    let first = history.at_first.map(|word| format!("{word} at first"));
    let changes = history.changes.iter().map(|change| format!("{} at {}", change.word, change.time));
    let more = history.shares.changes - history.changes.len() as u64;
    let more = (more > 0).then(|| format!("and {}", numbered(more, "more change", "more changes")));
    first.into_iter().chain(changes).chain(more).collect::<Vec<_>>().join(", ")
}

/// The columns of a list of changes.
const LIST: [(&str, usize); 4] = [("at", 14), ("task", 18), ("before", 8), ("status", 8)];

/// The head of a list of changes.
pub fn list_head(style: Style) -> String {
    style.bold(&list_line(LIST.map(|(head, _)| head.to_string()))) + "\n"
}

/// One line of it.
pub fn list_row(change: &Change, names: &Names) -> String {
    let before = change.before.map_or("-".into(), |word| word.to_string());
    list_line([change.time.to_string(), names.show(change.task), before, change.word.to_string()]) + "\n"
}

fn list_line([at, task, before, word]: [String; 4]) -> String {
    let [a, b, c, d] = LIST.map(|(_, width)| width);
    format!("{at:>a$}  {task:<b$}  {before:>c$}  {word:>d$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::test_helpers::{roster, story as events};
    use schedlab_model::time::Time;
    use schedlab_model::trace::Sink;
    use schedlab_views::Selection;

    fn page(tasks: bool) -> String {
        let mut view = Status::new(roster(Selection::ALL));
        view.events(&events());
        view.finish(Time::from_ms(100));
        show(&view, "story", "0s to 100ms", tasks, Style::PLAIN)
    }

    #[test]
    fn roles_have_shares_and_tasks_their_story() {
        let expected = "\
story: what the policy said about tasks, 0s to 100ms

role    changes  status  time %
worker        2       1    20.0
                      2    80.0
";
        assert_eq!(page(false), expected);
        let tasks = page(true);
        assert!(tasks.contains("\ntask      changes  status  time %\nworker/0        2       1    20.0\n"), "{tasks}");
        assert!(tasks.ends_with("\nHow it changed\nworker/0: 1 at 0s, 2 at 20ms\n"), "{tasks}");
    }

    #[test]
    fn changes_are_listed() {
        let mut view = Status::new(roster(Selection::ALL));
        let changes = events().iter().filter_map(|event| view.take(event)).collect::<Vec<_>>();
        let mut text = list_head(Style::PLAIN);
        changes.iter().for_each(|change| text += &list_row(change, view.roster().names()));
        let expected = "
            at  task                  before    status
            0s  worker/0                   -         1
          20ms  worker/0                   1         2
";
        assert_eq!(format!("\n{text}"), expected);
    }
}
