//! Which task ran where, as a picture of letters.

use super::{heading, role_of};
use crate::{Style, columns_of, wrap};
use schedlab_model::ids::TaskId;
use schedlab_model::names::Label;
use schedlab_model::time::Time;
use schedlab_model::trace::Untraced;
use schedlab_views::timeline::{Cell, Timeline};
use std::collections::{BTreeMap, BTreeSet};

/// Where no task of the trace ran.
const fn untraced(what: Untraced) -> (char, &'static str) {
    match what {
        Untraced::Idle => ('.', "idle"),
        Untraced::Others => ('+', "not recorded"),
        Untraced::Unknown => ('?', "not known"),
    }
}
/// Where a task ran that was not asked for.
const OTHER: char = '-';
/// Where a task ran for which there was no letter left.
const NAMELESS: char = '#';

/// The letters, in the order in which they are given out.
fn letters() -> impl Iterator<Item = char> {
    ('a'..='z').chain('A'..='Z').chain('0'..='9')
}

/// How many columns of time a picture has that is `width` columns wide.
pub fn columns(cpus: u32, width: usize) -> u32 {
    width.saturating_sub(margin(cpus)).max(1) as u32
}

/// The columns before the picture: `cpu0  `.
fn margin(cpus: u32) -> usize {
    format!("cpu{}  ", cpus.saturating_sub(1)).len()
}

/// The page: a row for each CPU, and the meaning of the letters.
pub fn show(view: &Timeline, trace: &str, style: Style) -> String {
    let (from, until, step) = (view.from(), view.until(), view.step());
    let mut page = heading(trace, &format!("which task ran where, {from} to {until}, {step} to a column"), style);
    let legend = Legend::of(view);
    let rows: Vec<_> = view.rows().collect();
    let margin = margin(rows.len() as u32);
    let columns = rows.iter().map(|(_, cells)| cells.len()).max().unwrap_or(0);
    page += &format!("\n{}", style.faint(&axis(margin, columns, from, step)));
    for (cpu, cells) in &rows {
        let row: String = cells.iter().map(|cell| legend.letter(cell)).collect();
        page += &format!("{:<margin$}{row}\n", format!("cpu{cpu}"));
    }
    page + "\n" + &legend.show()
}

/// Two lines: times, and marks below them.
fn axis(margin: usize, columns: usize, from: Time, step: Time) -> String {
    let label = |column: usize| (from + Time(step.ns().saturating_mul(column as u64))).to_string();
    let fits = |every: &usize| (0..columns).step_by(*every).all(|column| columns_of(&label(column)) < *every);
    let every = [10, 20, 40].into_iter().find(fits).unwrap_or(80);
    let (mut times, mut marks) = (" ".repeat(margin), " ".repeat(margin));
    for column in (0..columns).step_by(every) {
        // The last time may reach beyond the picture, but must not make the page wider.
        let text = label(column);
        if column == 0 || column + columns_of(&text) <= columns {
            times += &format!("{text:<every$}");
        }
        marks += &format!("{:<every$}", '|');
    }
    format!("{}\n{}\n", times.trim_end(), marks.trim_end())
}

/// The meaning of the letters. Tasks have them as long as there are enough, then roles.
struct Legend {
    tasks: BTreeMap<TaskId, char>,
    /// Letters with names, in their order.
    entries: Vec<(char, String)>,
    others: bool,
    untraced: BTreeSet<Untraced>,
}

impl Legend {
    fn of(view: &Timeline) -> Legend {
        let names = view.roster().names();
        let mut seen: BTreeMap<TaskId, Label> = BTreeMap::new();
        let mut others = false;
        let mut untraced = BTreeSet::from([Untraced::Idle]);
        for cell in view.rows().flat_map(|(_, cells)| cells) {
            match cell {
                Cell::Task(label) => drop(seen.insert(label.task, *label)),
                Cell::Other => others = true,
                Cell::Untraced(what) => drop(untraced.insert(*what)),
            }
        }
        let by_task = seen.len() <= letters().count();
        let name = |label: &Label| if by_task { names.show(*label) } else { role_of(*label, names) };
        Legend { others, untraced, ..Legend::give_out(seen.values().map(|label| (label.task, name(label)))) }
    }

    /// Each name gets the next letter.
    fn give_out(named: impl Iterator<Item = (TaskId, String)>) -> Legend {
        let mut letters = letters();
        let (mut tasks, mut entries, mut known) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
        for (task, name) in named {
            let letter = *known.entry(name.clone()).or_insert_with(|| {
                let letter = letters.next();
                entries.extend(letter.map(|letter| (letter, name)));
                letter.unwrap_or(NAMELESS)
            });
            tasks.insert(task, letter);
        }
        if known.len() > entries.len() {
            entries.push((NAMELESS, "others".into()));
        }
        Legend { tasks, entries, others: false, untraced: BTreeSet::from([Untraced::Idle]) }
    }

    fn letter(&self, cell: &Cell) -> char {
        match cell {
            Cell::Untraced(what) => untraced(*what).0,
            Cell::Other => OTHER,
            Cell::Task(label) => self.tasks[&label.task],
        }
    }

    fn show(&self) -> String {
        let mut entries: Vec<_> = self.entries.iter().map(|(letter, name)| format!("{letter} {name}")).collect();
        if self.others {
            entries.push(format!("{OTHER} not asked for"));
        }
        entries
            .extend(self.untraced.iter().map(|&what| untraced(what)).map(|(letter, name)| format!("{letter} {name}")));
        // A letter stays on the line of its name.
        let text = entries.iter().map(|entry| entry.replace(' ', "\u{a0}")).collect::<Vec<_>>().join("  ");
        wrap("", 0, &text).replace('\u{a0}', " ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WIDTH;
    use crate::views::test_helpers::{roster, story};
    use schedlab_model::trace::Sink;
    use schedlab_views::Selection;

    #[test]
    fn the_picture_has_a_row_for_each_cpu_and_a_legend() {
        let mut view = Timeline::new(roster(Selection::ALL), 2, Time::from_ms(100), columns(2, 46));
        view.events(&story());
        view.finish(Time::from_ms(100));
        let page = show(&view, "story", Style::PLAIN);
        let expected = "\
story: which task ran where, 0s to 100ms, 2.5ms to a column

      0s        25ms      50ms      75ms
      |         |         |         |
cpu0  aaaaaaaabbbbbbbbccaaaaaacbbbbbbb........
cpu1  ........................................

a worker/0  b worker/1  c timer/0  . idle
";
        assert_eq!(page, expected);
        assert!(page.lines().all(|line| columns_of(line) <= WIDTH));
    }

    #[test]
    fn many_tasks_are_shown_by_role_and_many_roles_as_others() {
        let some = |count: u32| Legend::give_out((0..count).map(|n| (TaskId(n), format!("g{n}"))));
        let legend = some(64);
        assert_eq!((legend.tasks[&TaskId(61)], legend.tasks[&TaskId(63)]), ('9', NAMELESS));
        assert!(legend.show().contains("9 g61  # others  . idle"), "{}", legend.show());
        assert!(!some(62).show().contains("others"));
        let roles = Legend::give_out([(TaskId(0), "a".into()), (TaskId(9), "a".into())].into_iter());
        assert_eq!(roles.entries.len(), 1);
    }

    #[test]
    fn times_stand_above_their_columns() {
        let step = Time::from_ms(25);
        let margin = " ".repeat(6);
        let text = format!("{margin}0s        250ms     500ms\n{margin}|         |         |\n");
        assert_eq!(axis(6, 28, Time::ZERO, step), text);
        let long = axis(6, 45, Time(1_234_567_891), step);
        assert_eq!(long.lines().next().unwrap(), "      1.234567891s        1.734567891s");
    }
}
