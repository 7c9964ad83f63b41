//! Wake-ups and how long after them tasks ran.

use super::{heading, waker};
use crate::{Column, Percent, Style, Table};
use schedlab_model::count::numbered;
use schedlab_model::names::Names;
use schedlab_views::buckets::Bucket;
use schedlab_views::latency::{Latencies, Latency};
use schedlab_views::{Wait, WaitEnd};

/// The columns of the longest bar.
const BAR: usize = 40;

/// A bar shows a count in eighths of a column.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// The page: a row for each role, or each task if `tasks` is set, and a histogram for each role.
pub fn show(view: &Latency, trace: &str, span: &str, tasks: bool, style: Style) -> String {
    let names = view.roster().names();
    let mut page = heading(trace, &format!("from wake-up to run, {span}"), style);
    let roles: Vec<(String, &Latencies)> = view
        .roles()
        .map(|(role, latencies)| (role.map_or("(unknown)".into(), |role| names.role(role)), latencies))
        .collect();
    if roles.is_empty() {
        return page + "\nNobody was woken.\n";
    }
    match (tasks, view.tasks()) {
        (false, _) => page += &format!("\n{}", table("role", &roles, None).show(style)),
        (true, Some(tasks)) => {
            let rows: Vec<_> = tasks.map(|(label, latencies)| (names.show(*label), latencies)).collect();
            let numbers = view.tasks().into_iter().flatten().map(|(label, _)| label.task.to_string());
            page += &format!("\n{}", table("name", &rows, Some(numbers.collect())).show(style));
        }
        (true, None) => page += "\nThere were too many tasks to tell them apart: only roles are known.\n",
    }
    for (name, latencies) in &roles {
        page += &histogram(name, latencies, style);
    }
    page + &cautions(&roles)
}

fn table(who: &str, rows: &[(String, &Latencies)], numbers: Option<Vec<String>>) -> Table {
    let all = |value: &dyn Fn(&Latencies) -> Option<f64>| rows.iter().map(|(_, row)| value(row)).collect::<Vec<_>>();
    let quantile = |q: f64| all(&|row: &Latencies| row.ran.quantile(q).map(|ns| ns as f64));
    let mut columns: Vec<Column> = numbers.map(|numbers| Column::numbers("task", numbers)).into_iter().collect();
    columns.extend([
        Column::words(who, rows.iter().map(|(name, _)| name.clone())),
        Column::numbers("wake-ups", rows.iter().map(|(_, row)| row.ran.count().to_string())),
        Column::times("mean", all(&|row: &Latencies| row.ran.mean())).under("latency"),
        Column::times("p50", quantile(0.5)).under("latency"),
        Column::times("p99", quantile(0.99)).under("latency"),
        Column::times("max", all(&|row: &Latencies| row.ran.max().map(|ns| ns as f64))).under("latency"),
    ]);
    Table::new(columns)
}

fn histogram(name: &str, latencies: &Latencies, style: Style) -> String {
    let buckets: Vec<Bucket> = latencies.buckets.used().collect();
    let most = buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0);
    if most == 0 {
        return String::new();
    }
    let share = |bucket: &Bucket, of: u64| bucket.count as f64 / of as f64;
    let row = |bucket: &Bucket| {
        let percent = Percent::show(Some(share(bucket, latencies.ran.count())));
        [bucket.from.to_string(), bucket.count.to_string(), percent, bar(share(bucket, most))]
    };
    let gap = || ["⋮".to_string(), String::new(), String::new(), String::new()];
    let rows: Vec<[String; 4]> = buckets
        .chunk_by(|a, b| a.count == 0 && b.count == 0)
        .flat_map(|chunk| match chunk {
            // A wide gap needs no rows.
            [empty, _, _, ..] if empty.count == 0 => vec![gap()],
            _ => chunk.iter().map(row).collect(),
        })
        .collect();
    let column = |place: usize| rows.iter().map(move |row| row[place].clone());
    let table = Table::new([
        Column::numbers("from", column(0)),
        Column::numbers("wake-ups", column(1)),
        Column::numbers("%", column(2)),
        Column::words("", column(3)),
    ]);
    format!("\n{}\n{}", style.bold(name), table.show(style))
}

/// A bar of this share of the longest. What is there at all is seen.
fn bar(share: f64) -> String {
    let eighths = (share * (8 * BAR) as f64).round() as usize;
    let eighths = if share > 0.0 { eighths.max(1) } else { 0 };
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// What the table does not count.
fn cautions(roles: &[(String, &Latencies)]) -> String {
    let mut text = String::new();
    for (name, latencies) in roles {
        if latencies.open > 0 {
            let wakeups = numbered(latencies.open, "wake-up was", "wake-ups were");
            let longest = latencies.longest_open;
            text += &format!("- {name}: {wakeups} not followed by a run to the end, the longest wait {longest}\n");
        }
        if latencies.exited > 0 {
            let tasks = numbered(latencies.exited, "task", "tasks");
            text += &format!("- {name}: {tasks} ended without having run\n");
        }
    }
    for (name, latencies) in roles.iter().filter(|(_, latencies)| latencies.untold > 0) {
        let wakeups = numbered(latencies.untold, "wake-up", "wake-ups");
        text += &format!("- {name}: {wakeups}, behind which events are missing: when the task ran is not known\n");
    }
    if text.is_empty() { text } else { format!("\nNot counted above:\n{text}") }
}

/// The columns of a list of wake-ups.
const LIST: [(&str, usize); 5] = [("woken", 14), ("task", 18), ("woken by", 18), ("ran on", 7), ("latency", 14)];

/// The head of a list of wake-ups.
pub fn list_head(style: Style) -> String {
    style.bold(&list_line(LIST.map(|(head, _)| head.to_string()))) + "\n"
}

/// One line of it.
pub fn list_row(wait: &Wait, names: &Names) -> String {
    let (place, latency) = match wait.end {
        WaitEnd::Ran { cpu, .. } => (format!("cpu{cpu}"), wait.length().to_string()),
        WaitEnd::Exited { .. } => ("ended".into(), wait.length().to_string()),
        WaitEnd::Open { .. } => ("never".into(), format!("over {}", wait.length())),
        WaitEnd::Untold { .. } => ("?".into(), "not known".into()),
    };
    list_line([wait.woken.to_string(), names.show(wait.task), waker(wait, names), place, latency]) + "\n"
}

/// Numbers are at the right, names at the left; a long name shifts its own line only.
fn list_line([woken, task, waker, place, latency]: [String; 5]) -> String {
    let [a, b, c, d, e] = LIST.map(|(_, width)| width);
    format!("{woken:>a$}  {task:<b$}  {waker:<c$}  {place:<d$}  {latency:>e$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::test_helpers::{roster, story};
    use crate::{WIDTH, columns_of};
    use schedlab_model::time::Time;
    use schedlab_model::trace::Sink;
    use schedlab_views::Selection;

    fn view() -> Latency {
        let mut view = Latency::new(roster(Selection::ALL));
        view.events(&story());
        view.finish(Time::from_ms(100));
        view
    }

    #[test]
    fn the_page_has_roles_and_histograms() {
        let bar = "█".repeat(BAR);
        let expected = format!(
            "\
story: from wake-up to run, 0s to 100ms

                  ─────────── latency ───────────
role    wake-ups  mean ms  p50 ms  p99 ms  max ms
worker         2    10.00   0.000      20      20
timer          2    15.12   0.250      30      30

worker
from  wake-ups     %
  0s         1  50.0  {bar}
   ⋮
20ms         1  50.0  {bar}

timer
 from  wake-ups     %
200us         1  50.0  {bar}
    ⋮
 20ms         1  50.0  {bar}

Not counted above:
- worker: 1 wake-up was not followed by a run to the end, the longest wait 10ms
"
        );
        let page = show(&view(), "story", "0s to 100ms", false, Style::PLAIN);
        assert_eq!(page, expected);
    }

    #[test]
    fn tasks_have_their_numbers() {
        let page = show(&view(), "story", "0s to 100ms", true, Style::PLAIN);
        assert!(page.contains("   2  timer/0          2"), "{page}");
    }

    #[test]
    fn wake_ups_are_listed() {
        let mut view = Latency::new(roster(Selection::ALL));
        let mut text = list_head(Style::PLAIN);
        for event in story() {
            if let Some(wait) = view.take(&event) {
                text += &list_row(&wait, view.roster().names());
            }
        }
        view.finish(Time::from_ms(100));
        view.open().iter().for_each(|wait| text += &list_row(wait, view.roster().names()));
        assert!(text.lines().all(|line| columns_of(line) <= WIDTH), "{text}");
        let expected = "
         woken  task                woken by            ran on          latency
            0s  worker/0            its birth           cpu0                 0s
            0s  worker/1            worker/0            cpu0               20ms
          10ms  timer/0             a timer             cpu0               30ms
          60ms  timer/0             a timer             cpu0              250us
          90ms  worker/1            a semaphore         never         over 10ms
";
        assert_eq!(format!("\n{text}"), expected);
    }

    #[test]
    fn bars_have_eighths() {
        assert_eq!((bar(1.0), bar(0.0)), ("█".repeat(BAR), String::new()));
        assert_eq!((bar(0.0001), bar(0.5 + 1.0 / 320.0)), ("▏".into(), "█".repeat(BAR / 2) + "▏"));
    }
}
