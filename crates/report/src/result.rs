//! The result of one policy as a page of tables.

use crate::caution::{Caution, Number, cautions, note, noted, texts, warnings};
use crate::metric::Metrics;
use crate::{Column, Percent, Quantity, Style, Table, Times, columns_of, wrap};
use schedlab_model::result::{CpuResult, GroupResult, LoadDistribution, RunResult};
use schedlab_model::time::Time;
use std::collections::BTreeMap;

/// With more CPUs than this they are told together.
const CPUS_IN_DETAIL: usize = 16;

/// The page: what ran, the groups, the CPUs, the machine as a whole, and what to beware of.
pub fn show(result: &RunResult, policy: &str, style: Style) -> String {
    let cautions = cautions(result, policy);
    let mut page = heading(result, &format!("{} under {policy}", result.scenario.name), style);
    page += "\n";
    page += &groups(result, &cautions).show(style);
    page += "\n";
    page += &more_of_groups(result).show(style);
    page += "\n";
    page += &cpus(&result.cpus, style);
    page += "\n";
    page += &whole(result);
    if result.runs.is_some() {
        page += "\n";
        page += &intervals(result, &cautions).show(style);
    }
    page + &warnings(texts(&cautions), style)
}

/// One table row for each task instance.
pub fn tasks(result: &RunResult, style: Style) -> String {
    if result.tasks.is_empty() {
        return "There were too many tasks to tell them apart: only groups are known.\n".into();
    }
    let metrics: Vec<Metrics> = result.tasks.iter().map(|task| Metrics::of_measures(&task.measures)).collect();
    let all = |path: &str| metrics.iter().map(|task| task.get(path)).collect::<Vec<_>>();
    Table::new([
        Column::numbers("task", result.tasks.iter().map(|task| task.id.to_string())),
        Column::words("group", result.tasks.iter().map(|task| task.group.clone())),
        Column::numbers("requests", all("requests").into_iter().map(whole_number)),
        Column::times("mean", all("response_ns.mean")).under("response"),
        Column::times("max", all("response_ns.max")).under("response"),
        Column::times("mean", all("run_delay_ns.mean")).under("run delay"),
        Column::numbers("CPU %", all("cpu_share").into_iter().map(Percent::show)),
        Column::numbers("moves", all("migrations").into_iter().map(whole_number)),
    ])
    .show(style)
}

/// What ran where for how long, and what it shows.
pub(crate) fn heading(result: &RunResult, what: &str, style: Style) -> String {
    let scenario = &result.scenario;
    let cpus = if scenario.cpus == 1 { "1 CPU".into() } else { format!("{} CPUs", scenario.cpus) };
    let mut facts = format!("{} on {cpus} in {}", duration(result.duration_ns), result.venue);
    if result.warmup_ns > 0 {
        facts += &format!(", the first {} not measured", duration(result.warmup_ns));
    }
    facts += &match &result.runs {
        Some(runs) => format!(", means of {} runs from seed {}", runs.count, result.seed),
        None => format!(", seed {}", result.seed),
    };
    let title = wrap(&format!("{what}: "), 4, &facts).replacen(what, &style.bold(what), 1);
    title + &if scenario.about.is_empty() { String::new() } else { style.faint(&wrap("", 0, &scenario.about)) }
}

/// A length of time, without digits that nobody reads.
pub(crate) fn duration(ns: u64) -> String {
    let step = match ns {
        1_000_000_000.. => 1_000_000,
        1_000_000.. => 1_000,
        _ => 1,
    };
    Time((ns + step / 2) / step * step).to_string()
}

/// The column of the groups' names.
pub(crate) fn names(groups: &[GroupResult]) -> impl Iterator<Item = String> + '_ {
    groups.iter().map(|group| group.name.clone())
}

pub(crate) fn whole_number(value: Option<f64>) -> String {
    Quantity::of(&[Some(1.0)]).show(value)
}

fn quantities(head: &str, values: Vec<Option<f64>>) -> Column {
    let quantity = Quantity::of(&values);
    Column::numbers(head, values.into_iter().map(|value| quantity.show(value)))
}

/// The columns that answer "how fast?", for rows of metrics.
pub(crate) fn speed_columns(rows: &[Metrics]) -> Vec<Column> {
    let throughput = rows.iter().map(|row| row.get("throughput_per_s")).collect();
    vec![
        quantities("per s", throughput).under("requests").about("throughput_per_s"),
        time_of(rows, "mean", "response_ns.mean").under("response"),
        time_of(rows, "p50", "response_ns.p50").under("response"),
        time_of(rows, "p99", "response_ns.p99").under("response"),
        time_of(rows, "max", "response_ns.max").under("response"),
    ]
}

/// The column of a metric that is a time.
pub(crate) fn time_of(rows: &[Metrics], head: &str, path: &str) -> Column {
    Column::times(head, rows.iter().map(|row| row.get(path))).about(path)
}

/// The column of a metric that counts.
pub(crate) fn count_of(rows: &[Metrics], head: &str, path: &str) -> Column {
    Column::numbers(head, rows.iter().map(|row| whole_number(row.get(path)))).about(path)
}

fn groups(result: &RunResult, cautions: &[Caution]) -> Table {
    let rows: Vec<Metrics> = result.groups.iter().map(|group| Metrics::of_measures(&group.measures)).collect();
    let mut columns = vec![
        Column::words("group", names(&result.groups)),
        Column::numbers("tasks", result.groups.iter().map(|group| group.count.to_string())),
        count_of(&rows, "done", "requests").under("requests"),
    ];
    columns.extend(speed_columns(&rows));
    columns.push(Column::numbers("CPU %", rows.iter().map(|row| Percent::show(row.get("cpu_share")))));
    Table::new(noted(columns, &|number| (0..rows.len()).map(|group| note(cautions, number, group)).collect()))
}

fn more_of_groups(result: &RunResult) -> Table {
    let rows: Vec<Metrics> = result.groups.iter().map(|group| Metrics::of_measures(&group.measures)).collect();
    let mut columns = vec![
        Column::words("group", names(&result.groups)),
        time_of(&rows, "mean", "run_delay_ns.mean").under("wait for a CPU"),
        time_of(&rows, "p99", "run_delay_ns.p99").under("wait for a CPU"),
        time_of(&rows, "longest", "longest_wait_ns").under("wait for a CPU"),
        time_of(&rows, "p99", "wakeup_latency_ns.p99").under("wakeup"),
        count_of(&rows, "own", "switches.voluntary").under("switches"),
        count_of(&rows, "forced", "switches.involuntary").under("switches"),
        count_of(&rows, "moves", "migrations"),
    ];
    let spread: Vec<_> = result.groups.iter().map(|g| g.cv_of_task_means.as_ref().map(|cv| cv.population)).collect();
    if spread.iter().any(Option::is_some) {
        columns.push(quantities("task cv", spread));
    }
    Table::new(columns)
}

pub(crate) fn cpus(cpus: &[CpuResult], style: Style) -> String {
    if cpus.len() > CPUS_IN_DETAIL {
        let range = |part: fn(&CpuResult) -> f64| {
            let mean = cpus.iter().map(part).sum::<f64>() / cpus.len() as f64;
            let (least, most) = cpus.iter().map(part).fold((1.0, 0.0), |(a, b): (f64, f64), x| (a.min(x), b.max(x)));
            format!("{:.1} % ({:.1} to {:.1})", 100.0 * mean, 100.0 * least, 100.0 * most)
        };
        let overhead = range(|cpu| cpu.overhead_frac);
        return format!("{} CPUs: busy {}, overhead {overhead}\n", cpus.len(), range(|cpu| cpu.busy_frac));
    }
    let part = |part: fn(&CpuResult) -> f64| cpus.iter().map(move |cpu| Percent::show(Some(part(cpu))));
    let mut columns = vec![
        Column::numbers("CPU", cpus.iter().map(|cpu| cpu.id.to_string())),
        Column::numbers("busy %", part(|cpu| cpu.busy_frac)),
        Column::numbers("idle %", part(|cpu| cpu.idle_frac)),
        Column::numbers("system %", part(|cpu| cpu.overhead_frac)),
    ];
    if cpus.iter().any(|cpu| !cpu.runnable.is_empty()) {
        columns.push(Column::words("tasks there, share of time", cpus.iter().map(|cpu| load(&cpu.runnable, 45))));
    }
    Table::new(columns).show(style)
}

/// Fractions below this are shown as 0.0 %.
const LEAST_SHOWN: f64 = 0.0005;

/// A distribution over small numbers in at most so many columns: its heaviest parts in percent, as in
/// `3: 50.0 %  4: 50.0 %`, or its range and mean where those would be less than half of it.
pub(crate) fn load(fractions: &BTreeMap<u32, f64>, columns: usize) -> String {
    let seen = fractions.iter().filter(|(_, fraction)| **fraction >= LEAST_SHOWN);
    let mut heaviest: Vec<(u32, f64)> = seen.map(|(&number, &fraction)| (number, fraction)).collect();
    heaviest.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let longest = (1..=heaviest.len())
        .rev()
        .map(|many| parts(&heaviest[..many]))
        .find(|(text, shown)| columns_of(text) <= columns && *shown >= 0.5);
    longest.map(|(text, _)| text).unwrap_or_else(|| {
        let mean: f64 = fractions.iter().map(|(&number, fraction)| f64::from(number) * fraction).sum();
        let range = fractions.keys().next().zip(fractions.keys().next_back());
        range.map_or("-".into(), |(least, most)| format!("{least} to {most}, mean {mean:.1}"))
    })
}

/// Parts of a distribution in the order of their numbers, what is missing, and how much they are together.
fn parts(parts: &[(u32, f64)]) -> (String, f64) {
    let mut parts = parts.to_vec();
    parts.sort_by_key(|(number, _)| *number);
    let shown: f64 = parts.iter().map(|(_, fraction)| fraction).sum();
    let text = parts.iter().map(|(number, fraction)| format!("{number}: {:.1} %", 100.0 * fraction));
    let rest = (1.0 - shown >= LEAST_SHOWN).then(|| format!("other: {:.1} %", 100.0 * (1.0 - shown)));
    (text.chain(rest).collect::<Vec<_>>().join("  "), shown)
}

/// What concerns the machine as a whole, one fact a line.
fn whole(result: &RunResult) -> String {
    let metrics = Metrics::of_run(result);
    let mut facts: Vec<(&str, String)> = Vec::new();
    if let Some(jain) = metrics.get("jain") {
        facts.push(("Jain index", format!("{jain:.4}")));
    }
    if let Some(ns) = result.time_to_balance_ns {
        facts.push(("balanced after", duration(ns)));
    }
    if let Some(fraction) = metrics.get("work_conservation_violation.frac") {
        facts.push(("idle beside work", format!("{:.2} % of CPU time", 100.0 * fraction)));
    }
    if let Some(LoadDistribution { estimated, actual }) = &result.load_distribution {
        facts.extend(actual.as_ref().map(|actual| ("tasks on a CPU", load(actual, 50))));
        if !estimated.is_empty() {
            facts.push(("as requests see it", load(estimated, 50)));
        }
    }
    facts.extend(overhead(&metrics).map(|text| ("system time", text)));
    facts.extend(result.costs.as_ref().map(|costs| ("one costs, exactly", crate::costs::line(costs))));
    facts.push(("events", events(result)));
    self::facts(&facts)
}

/// Facts, one a line.
pub(crate) fn facts(facts: &[(&str, String)]) -> String {
    facts.iter().map(|(name, text)| wrap(&format!("{name:<20}"), 20, text)).collect()
}

/// How often what happened.
pub(crate) fn events(result: &RunResult) -> String {
    let events = &result.events;
    let counts = [
        (events.switches, "switches"),
        (events.wakeups, "wakeups"),
        (events.migrations, "migrations"),
        (events.ticks, "ticks"),
        (events.forks, "forks"),
        (events.exits, "exits"),
    ];
    let some = counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    some.collect::<Vec<_>>().join(", ")
}

fn overhead(metrics: &Metrics) -> Option<String> {
    let kinds = ["switch", "wakeup", "migration", "tick", "policy"];
    let times = kinds.map(|kind| metrics.get(&format!("overhead_ns.{kind}")).filter(|ns| *ns > 0.0));
    let unit = Times::of(&times);
    let parts = kinds.iter().zip(times).filter(|(_, time)| time.is_some());
    let text = parts.map(|(kind, time)| format!("{kind} {} {}", unit.show(time), unit.unit)).collect::<Vec<_>>();
    (!text.is_empty()).then(|| text.join(", "))
}

/// What the runs together say about the metrics that matter most.
fn intervals(result: &RunResult, cautions: &[Caution]) -> Table {
    const METRICS: [(&str, &str); 5] = [
        ("throughput_per_s", "requests per s"),
        ("response_ns.mean", "response, mean"),
        ("response_ns.p99", "response, p99"),
        ("run_delay_ns.mean", "wait for a CPU, mean"),
        ("longest_wait_ns", "wait for a CPU, longest"),
    ];
    let mut rows: Vec<[String; 5]> = Vec::new();
    let mut notes = Vec::new();
    for (index, group) in result.groups.iter().enumerate() {
        for (path, name) in METRICS {
            let Some(interval) = group.measures.intervals.get(path) else { continue };
            let values = [Some(interval.estimate), Some(interval.low), Some(interval.high)];
            let (name, [estimate, low, high]) = if path.contains("_ns") {
                let times = Times::of(&values);
                (format!("{name}, {}", times.unit), values.map(|value| times.show(value)))
            } else {
                let quantity = Quantity::of(&values);
                (name.to_string(), values.map(|value| quantity.show(value)))
            };
            rows.push([group.name.clone(), name, estimate, low, high]);
            notes.push(note(cautions, Number::Interval, index));
        }
    }
    let cells = |column: usize| rows.iter().map(move |row| row[column].clone());
    let level = result.groups.iter().flat_map(|group| group.measures.intervals.values()).next().map(|i| i.level);
    let over = level.map_or(String::new(), |level| format!("{} % interval", 100.0 * level));
    Table::new([
        Column::words("group", cells(0)),
        Column::words("metric", cells(1)),
        Column::numbers("mean of runs", cells(2)),
        Column::numbers("from", cells(3)).under(&over).noted(notes.clone()),
        Column::numbers("to", cells(4)).under(&over).noted(notes),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_rounded() {
        assert_eq!(
            [11_193_868_663_961, 60_000_000_000, 1_234_567, 7].map(duration),
            ["11193.869s", "60s", "1.235ms", "7ns"]
        );
    }

    #[test]
    fn loads_are_shown_by_their_heaviest_parts_or_their_range() {
        let of = |list: &[(u32, f64)]| list.iter().copied().collect::<BTreeMap<_, _>>();
        assert_eq!(load(&of(&[(3, 0.5), (4, 0.5)]), 30), "3: 50.0 %  4: 50.0 %");
        assert_eq!(load(&of(&[(0, 0.1), (1, 0.6), (2, 0.3), (9, 1e-5)]), 25), "1: 60.0 %  other: 40.0 %");
        let even = (0..100).map(|number| (number, 0.01)).collect::<Vec<_>>();
        assert_eq!(load(&of(&even), 30), "0 to 99, mean 49.5");
        assert_eq!(load(&of(&[]), 30), "-");
    }
}
