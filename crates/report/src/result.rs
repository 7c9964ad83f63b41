//! The result of one policy as a page of tables.

use crate::caution::{Caution, Number, are_marking, cautions, legends, note, noted, texts, warnings};
use crate::control_groups::control_groups;
use crate::metric::quantity;
use crate::{Column, Quantity, Style, Table, Times, column, columns_of, others, wrap};
use schedlab_metrics::combine;
use schedlab_metrics::load::MAX_ESTIMATED_LOAD;
use schedlab_model::metric::{self, Unit};
use schedlab_model::outcome::{CpuView, Outcome, Value, View};
use schedlab_model::result::RunResult;
use schedlab_model::time::Time;
use std::collections::BTreeMap;

/// The share of a CPU's time in which it is unknown what it did.
pub(crate) const UNKNOWN: &str = "unknown_frac";

/// With more CPUs than this they share a row.
const CPUS_IN_DETAIL: usize = 16;

/// What the loads of a CPU take of a line at most.
const MOST_OF_LOADS: usize = 45;

/// What is shown of each role: first how fast it is.
const SPEED: [&str; 5] =
    ["throughput_per_s", "response_ns.mean", "response_ns.p50", "response_ns.p99", "response_ns.max"];
/// And then how that comes about.
const WAITS: [&str; 3] = ["run_delay_ns.mean", "run_delay_ns.p99", "longest_wait_ns"];
const DOINGS: [&str; 4] = ["wakeup_latency_ns.p99", "switches.voluntary", "switches.involuntary", "migrations"];
const SPREAD: &str = "cv_of_task_means.population";

/// The page: what ran, the roles, the CPUs, the machine as a whole, and what to beware of.
pub fn show(result: &Outcome, policy: &str, style: Style) -> String {
    let cautions = cautions(result, policy, &shown_of_roles());
    let what = format!("{} under {policy}", result.scenario().name);
    let mut page = heading(std::slice::from_ref(result), &what, result.venue(), style);
    page += "\n";
    page += &roles(result, &cautions).show(style);
    page += "\n";
    page += &more_of_roles(result, &cautions).show(style);
    page += &legends(&cautions, style);
    page += "\n";
    if let Some(parts) = parts_of_responses(result) {
        page += &parts.show(style);
        page += "\n";
    }
    page += &control_groups(result, style);
    page += &cpus(&result.cpus(), style);
    page += "\n";
    page += &whole(result);
    if result.runs() > 1 {
        page += "\n";
        page += &match has_intervals(result) {
            true => intervals(result, &cautions).show(style),
            false => wrap("", 0, &format!("All {} runs gave the same numbers: nothing here is random.", result.runs())),
        };
    }
    page + &warnings(texts(&cautions), style)
}

/// What is shown of the roles: how fast they are, and how that comes about.
pub fn role_tables(result: &Outcome, policy: &str) -> [Table; 2] {
    let cautions = cautions(result, policy, &shown_of_roles());
    [roles(result, &cautions), more_of_roles(result, &cautions)]
}

fn shown_of_roles() -> Vec<&'static str> {
    [&SPEED[..], &WAITS, &DOINGS, &[SPREAD]].concat()
}

/// One table row for each task instance; of several runs the means of the tasks that they have in common.
pub fn tasks(runs: &[&RunResult], style: Style) -> String {
    let Some(tasks) = combine::tasks(runs) else {
        return "The runs have different tasks: only roles can be compared.\n".into();
    };
    if tasks.is_empty() {
        return "There were too many tasks to tell them apart: only roles are known.\n".into();
    }
    let rows: Vec<View> = tasks.iter().map(|task| View::Several(&task.metrics)).collect();
    let own = |path: &str| column(&rows, path);
    Table::new([
        Column::numbers("task", tasks.iter().map(|task| task.id.to_string())),
        Column::words("role", tasks.iter().map(|task| task.role.clone())),
        own("requests").headed("", "requests"),
        own("response_ns.mean"),
        own("response_ns.max"),
        own("run_delay_ns.mean"),
        own("cpu_share"),
        own("migrations"),
    ])
    .show(style)
}

/// What ran where for how long, and what it shows. `venue` is where, in words.
pub(crate) fn heading(results: &[Outcome], what: &str, venue: &str, style: Style) -> String {
    let Some(result) = results.first() else { return String::new() };
    let scenario = result.scenario();
    let seed = match result {
        Outcome::Several(runs) => format!(", means of {} runs from seed {}", result.runs(), runs.runs.seeds[0]),
        Outcome::One(run) => format!(", seed {}", run.seed),
    };
    let facts = ran(results, venue) + &seed;
    let title = wrap(&format!("{what}: "), 4, &facts).replacen(what, &style.bold(what), 1);
    title + &if scenario.about.is_empty() { String::new() } else { style.faint(&wrap("", 0, &scenario.about)) }
}

/// How long on what it ran: `2s on 2 CPUs in sim, the first 1s not measured`. `venue` is where, in words.
pub fn ran(results: &[Outcome], venue: &str) -> String {
    let is_single = results.iter().all(|result| result.scenario().cpus == 1);
    let cpus = each(results, |result| result.scenario().cpus.to_string());
    let length = each(results, |result| duration(result.duration_ns()));
    let text = format!("{length} on {cpus} {} in {venue}", if is_single { "CPU" } else { "CPUs" });
    match results.iter().any(|result| result.warmup_ns() > 0) {
        true => format!("{text}, the first {} not measured", each(results, |result| duration(result.warmup_ns()))),
        false => text,
    }
}

/// What is said of all results, or of each of them where they differ: `2 or 4`.
pub fn each(results: &[Outcome], of: impl Fn(&Outcome) -> String) -> String {
    distinct(results, of).join(" or ")
}

/// Where results are from: `sim and host`.
pub fn venues(results: &[Outcome]) -> String {
    distinct(results, |result| result.venue().to_string()).join(" and ")
}

fn distinct(results: &[Outcome], of: impl Fn(&Outcome) -> String) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for text in results.iter().map(of) {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}

/// A length of time, without digits that do not matter.
pub(crate) fn duration(ns: u64) -> String {
    let step = match ns {
        1_000_000_000.. => 1_000_000,
        1_000_000.. => 1_000,
        _ => 1,
    };
    Time((ns + step / 2) / step * step).to_string()
}

/// The roles' names.
pub(crate) fn names(result: &Outcome) -> impl Iterator<Item = String> {
    result.roles().into_iter().map(|role| role.name.to_string()).collect::<Vec<_>>().into_iter()
}

/// The rows of the roles.
pub(crate) fn rows(result: &Outcome) -> Vec<View<'_>> {
    result.roles().into_iter().map(|role| role.metrics).collect()
}

/// The columns that answer "how fast?", for rows of metrics.
pub(crate) fn speed_columns<'a>(rows: &'a [View<'a>]) -> impl Iterator<Item = Column> + 'a {
    SPEED.iter().map(move |path| column(rows, path))
}

fn roles(result: &Outcome, cautions: &[Caution]) -> Table {
    let rows = rows(result);
    let mut measured = vec![column(&rows, "requests")];
    measured.extend(speed_columns(&rows));
    measured.push(column(&rows, "cpu_share"));
    let mut columns = vec![Column::words("role", names(result)), column(&rows, "count")];
    columns.extend(noted_rows(measured, cautions, rows.len()));
    Table::new(columns)
}

/// Columns with a row for each role, with what is to be known about their numbers.
fn noted_rows(columns: Vec<Column>, cautions: &[Caution], rows: usize) -> Vec<Column> {
    let marks = vec![are_marking(cautions); rows];
    noted(columns, &marks, &|number| (0..rows).map(|role| note(cautions, number, role)).collect())
}

fn more_of_roles(result: &Outcome, cautions: &[Caution]) -> Table {
    let rows = rows(result);
    let mut columns = vec![Column::words("role", names(result))];
    columns.extend(WAITS.iter().map(|path| column(&rows, path).under("wait for a CPU")));
    columns.extend(DOINGS.iter().map(|path| column(&rows, path)));
    if rows.iter().any(|row| row.get(SPREAD).is_some()) {
        columns.push(column(&rows, SPREAD));
    }
    Table::new(noted_rows(columns, cautions, rows.len()))
}

/// The parts of response times, on average.
const PARTS: [&str; 4] = [
    "response_worker_wait_ns.mean",
    "response_cpu_wait_ns.mean",
    "response_running_ns.mean",
    "response_blocked_ns.mean",
];

/// Where response times went. Shown where requests wait for workers.
fn parts_of_responses(result: &Outcome) -> Option<Table> {
    let rows = rows(result);
    rows.iter().any(|row| row.get(PARTS[0]).is_some()).then(|| {
        let mut columns = vec![Column::words("role", names(result))];
        columns.extend(PARTS.iter().map(|path| column(&rows, path)));
        columns.push(column(&rows, "requests_open"));
        Table::new(columns)
    })
}

pub(crate) fn cpus(cpus: &[CpuView], style: Style) -> String {
    if cpus.len() > CPUS_IN_DETAIL {
        let is_unknown = |cpu: &&CpuView| cpu.metrics.get(UNKNOWN).is_some_and(|share| share >= 1.0);
        let unknown = match cpus.iter().filter(is_unknown).count() {
            0 => String::new(),
            count if count == cpus.len() => return format!("{count} CPUs: not known what any of them did\n"),
            count => format!(", {count} of them not known"),
        };
        let known: Vec<&CpuView> = cpus.iter().filter(|cpu| !is_unknown(cpu)).collect();
        let range = |path: &str| {
            let parts = || known.iter().filter_map(|cpu| cpu.metrics.get(path));
            let mean = parts().sum::<f64>() / known.len() as f64;
            let (least, most) = parts().fold((1.0, 0.0), |(a, b): (f64, f64), x| (a.min(x), b.max(x)));
            format!("{:.1} % ({:.1} to {:.1})", 100.0 * mean, 100.0 * least, 100.0 * most)
        };
        return format!(
            "{} CPUs{unknown}: busy {}, overhead {}\n",
            cpus.len(),
            range("busy_frac"),
            range("overhead_frac")
        );
    }
    let rows: Vec<View> = cpus.iter().map(|cpu| cpu.metrics).collect();
    let mut columns = vec![Column::numbers("CPU", cpus.iter().map(|cpu| cpu.id.to_string()))];
    let is_known = |path: &&str| rows.iter().any(|row| row.get(path).is_some());
    // Where there are others it is a kernel's run: what that takes for itself is in the tasks' time.
    let parts: &[&str] = match is_known(&"others_frac") {
        true => &["busy_frac", "idle_frac", "others_frac", UNKNOWN, "steal_frac"],
        false => &["busy_frac", "idle_frac", "overhead_frac", "steal_frac"],
    };
    // Of a CPU of which nothing is known the rest was not measured.
    let unknown: Vec<bool> = rows.iter().map(|row| row.get(UNKNOWN).is_some_and(|share| share >= 1.0)).collect();
    columns.extend(parts.iter().copied().filter(is_known).map(|path| match path {
        UNKNOWN => column(&rows, path),
        _ => column(&rows, path).unmeasured(&unknown),
    }));
    let loads: Vec<_> = rows.iter().map(|row| row.distribution("runnable").unwrap_or_default()).collect();
    let table = Table::new(columns);
    let room = table.room().min(MOST_OF_LOADS);
    let table = match loads.iter().any(|loads| !loads.is_empty()) {
        true => table.with(
            Column::words("tasks there, share of time", loads.iter().map(|loads| load(loads, room)))
                .unmeasured(&unknown),
        ),
        false => table,
    };
    table.show(style)
}

/// Fractions below this are shown as 0.0 %.
const LEAST_SHOWN: f64 = 0.0005;

/// A distribution over small numbers in a limited number of columns: its heaviest parts in percent, as in
/// `3: 50.0 %  4: 50.0 %`, or its range and mean where those would be less than half of it.
pub(crate) fn load(fractions: &BTreeMap<u32, f64>, columns: usize) -> String {
    let mean = || fractions.iter().map(|(&number, fraction)| f64::from(number) * fraction).sum::<f64>();
    let range = fractions.keys().next().zip(fractions.keys().next_back());
    heaviest(fractions, columns)
        .or_else(|| range.map(|(least, most)| format!("{least} to {most}, mean {:.1}", mean())))
        .unwrap_or("-".into())
}

/// The same of loads that are estimated from response times. A request that asks for less than a slice may seem to
/// share its CPU with hundreds, which no mean bears; and the greatest estimate stands for all above it. No CPU has more
/// tasks than there are, so estimates above that are no counts and belong to the rest.
fn estimated_load(fractions: &BTreeMap<u32, f64>, tasks: u32, columns: usize) -> String {
    let possible: BTreeMap<u32, f64> = fractions.range(..=tasks).map(|(&load, &fraction)| (load, fraction)).collect();
    let beyond: f64 = fractions.range(tasks + 1..).map(|(_, fraction)| fraction).sum();
    let none = (beyond >= LEAST_SHOWN)
        .then(|| format!("no count: {:.1} % of the estimates are above the {tasks} tasks", 100.0 * beyond));
    let half = || {
        let mut sum = 0.0;
        fractions.iter().find(|(_, fraction)| {
            sum += **fraction;
            sum >= 0.5
        })
    };
    let range = || {
        let (least, most) = (fractions.keys().next()?, fractions.keys().next_back()?);
        let more = if *most == MAX_ESTIMATED_LOAD { " or more" } else { "" };
        Some(format!("median {}, {least} to {most}{more}", half()?.0))
    };
    heaviest(&possible, columns).or(none).or_else(range).unwrap_or("-".into())
}

/// The heaviest parts of a distribution; none where those that fit are less than half of it.
fn heaviest(fractions: &BTreeMap<u32, f64>, columns: usize) -> Option<String> {
    let seen = fractions.iter().filter(|(_, fraction)| **fraction >= LEAST_SHOWN);
    let mut heaviest: Vec<(u32, f64)> = seen.map(|(&number, &fraction)| (number, fraction)).collect();
    heaviest.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut longest_first = (1..=heaviest.len()).rev().map(|many| parts(&heaviest[..many]));
    longest_first.find(|(text, shown)| columns_of(text) <= columns && *shown >= 0.5).map(|(text, _)| text)
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
pub fn whole(result: &Outcome) -> String {
    let whole = result.whole();
    let mut facts: Vec<(&str, String)> = Vec::new();
    let told = [
        ("jain", "Jain index", &(|jain| format!("{jain:.4}")) as &dyn Fn(f64) -> String),
        ("time_to_balance_ns", "balanced after", &|ns| duration(ns as u64)),
        ("work_conservation_violation.frac", "idle despite work", &|part| format!("{:.2} % of CPU time", 100.0 * part)),
    ];
    for (path, name, show) in told {
        facts.extend(whole.value(path).map(|value| (name, show(value.number) + &part_of(value, result.runs()))));
    }
    let loads = |path: &str| whole.distribution(path);
    facts.extend(loads("load_distribution.true").map(|loads| ("tasks on a CPU", load(&loads, 50))));
    let tasks: f64 = result.roles().iter().filter_map(|role| role.metrics.get("count")).sum();
    let seen = loads("load_distribution.estimated").map(|loads| estimated_load(&loads, tasks.ceil() as u32, 50));
    facts.extend(seen.map(|seen| ("as requests see it", seen)));
    facts.extend(others::figure(result).map(|text| ("others took", text)));
    facts.extend(scheduler_program(whole).map(|text| ("scheduler's program", text)));
    facts.extend(overhead(whole).map(|text| ("system time", text)));
    facts.extend(crate::costs::line(whole).map(|text| ("one costs, exactly", text)));
    facts.push(("events", events(whole)));
    self::facts(&facts)
}

/// Of how many runs a mean is, where some do not know it.
fn part_of(value: Value, runs: u32) -> String {
    if value.n < runs { format!(", mean of {} of {runs} runs", value.n) } else { String::new() }
}

/// Facts, one a line.
pub(crate) fn facts(facts: &[(&str, String)]) -> String {
    facts.iter().map(|(name, text)| wrap(&format!("{name:<20}"), 20, text)).collect()
}

/// How often what happened.
pub(crate) fn events(whole: View) -> String {
    // Each with what one of them is called.
    const EVENTS: [(&str, &str); 6] = [
        ("events.switches", "switch"),
        ("events.wakeups", "wake-up"),
        ("events.migrations", "migration"),
        ("events.ticks", "tick"),
        ("events.forks", "fork"),
        ("events.exits", "exit"),
    ];
    let told = |&(path, one): &(&str, &'static str)| {
        let (metric, count) = (metric::known(path).metric, whole.get(path).filter(|count| *count > 0.0)?);
        let shown = quantity(metric, &[Some(count)]).show(Some(count));
        let what = if shown == "1" { one } else { metric.head };
        Some(format!("{shown} {what}"))
    };
    EVENTS.iter().filter_map(told).collect::<Vec<_>>().join(", ")
}

/// What a scheduler's own program did.
fn scheduler_program(whole: View) -> Option<String> {
    let get = |name: &str| whole.get(&format!("scheduler_program.{name}"));
    let time = |name| get(name).map(|ns| duration(ns.round() as u64));
    Some(format!(
        "in charge after {}; in the run {} of CPU time, {:.0} threads, {:.0} voluntary and {:.0} involuntary switches",
        time("ready_ns")?,
        time("cpu_ns")?,
        get("threads")?,
        get("voluntary")?,
        get("involuntary")?
    ))
}

fn overhead(whole: View) -> Option<String> {
    let kinds = ["switch", "wake-up", "migration", "tick", "policy"];
    let path = |kind: &str| format!("overhead_ns.{}", kind.replace('-', ""));
    let times = kinds.map(|kind| whole.get(&path(kind)).filter(|ns| *ns > 0.0));
    let unit = Times::of(&times);
    let parts = kinds.iter().zip(times).filter(|(_, time)| time.is_some());
    let text = parts.map(|(kind, time)| format!("{kind} {} {}", unit.show(time), unit.unit)).collect::<Vec<_>>();
    (!text.is_empty()).then(|| text.join(", "))
}

/// Whether anything varied from run to run.
pub(crate) fn has_intervals(result: &Outcome) -> bool {
    let parts = result.roles().into_iter().map(|role| role.metrics).chain([result.whole()]);
    parts.into_iter().flat_map(View::known).any(|(_, value)| value.interval.is_some())
}

/// What the runs together say about the metrics that matter most.
fn intervals(result: &Outcome, cautions: &[Caution]) -> Table {
    const METRICS: [(&str, &str); 5] = [
        ("throughput_per_s", "requests per s"),
        ("response_ns.mean", "response, mean"),
        ("response_ns.p99", "response, p99"),
        ("run_delay_ns.mean", "wait for a CPU, mean"),
        ("longest_wait_ns", "wait for a CPU, longest"),
    ];
    let mut rows: Vec<[String; 5]> = Vec::new();
    let (mut notes, mut level) = (Vec::new(), None);
    for (index, role) in result.roles().into_iter().enumerate() {
        for (path, name) in METRICS {
            let Some(interval) = role.metrics.value(path).and_then(|value| value.interval) else { continue };
            let values = [Some(interval.estimate), Some(interval.low), Some(interval.high)];
            let (name, [estimate, low, high]) = if metric::known(path).metric.unit == Unit::Ns {
                let times = Times::of(&values);
                (format!("{name}, {}", times.unit), values.map(|value| times.show(value)))
            } else {
                let quantity = Quantity::of(&values);
                (name.to_string(), values.map(|value| quantity.show(value)))
            };
            rows.push([role.name.into(), name, estimate, low, high]);
            notes.push(note(cautions, Number::Interval, index));
            level = Some(interval.level);
        }
    }
    let cells = |column: usize| rows.iter().map(move |row| row[column].clone());
    let over = level.map_or(String::new(), |level| format!("{} % interval", 100.0 * level));
    Table::new([
        Column::words("role", cells(0)),
        Column::words("metric", cells(1)),
        Column::numbers("mean of runs", cells(2)),
        Column::numbers("from", cells(3)).under(&over).noted(notes.clone()),
        Column::numbers("to", cells(4)).under(&over).noted(notes),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::result::RunResult;

    #[test]
    fn the_header_names_every_venue() {
        let of = |venue: &str| Outcome::from(RunResult { venue: venue.into(), ..RunResult::default() });
        let results = [of("sim"), of("host"), of("sim")];
        assert_eq!(venues(&results), "sim and host");
        let page = heading(&results, "desk", &venues(&results), Style::PLAIN);
        assert!(page.starts_with("desk: ") && page.contains(" in sim and host, seed "), "{page}");
    }

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
        assert_eq!([load(&of(&[]), 30), estimated_load(&of(&[]), 7, 30)], ["-", "-"]);
        assert_eq!(estimated_load(&of(&even), 100, 30), "median 49, 0 to 99");
        let short = even.iter().take(99).copied().chain([(MAX_ESTIMATED_LOAD, 0.01)]).collect::<Vec<_>>();
        assert_eq!(estimated_load(&of(&short), 2000, 40), "median 49, 0 to 1023 or more");
        let two = |list: &[(u32, f64)]| estimated_load(&of(list), 2, 50);
        assert_eq!(two(&[(1, 0.5), (162, 0.5)]), "1: 50.0 %  other: 50.0 %");
        assert_eq!(two(&[(1, 0.25), (162, 0.75)]), "no count: 75.0 % of the estimates are above the 2 tasks");
    }
}
