//! Charts of what runs measured.

use crate::chart::is_wide;
use crate::{Axes, Chart, Kind, Row};
use schedlab_model::outcome::{Outcome, Value as Number, View};
use schedlab_model::result::Interval;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What every chart of results has of each candidate.
type Candidates<'a> = [(String, &'a Outcome)];

/// The charts of several schedulers on one scenario, each under its label; those without anything to show are left out.
/// `nice` holds the nice values of roles, which results do not tell.
pub fn of_results(candidates: &[(String, &Outcome)], nice: &BTreeMap<String, i64>) -> Vec<Chart> {
    let response = ("response", "Response times", "From the start of a request to its end.");
    let wakeup = ("wakeup-latency", "Wake-up latency", "From being runnable to running.");
    let response = times(candidates, response, "response_ns");
    // Where nothing is a request, as in recordings, waits take the place of responses.
    let waits = ("run-delay", "Waits for a CPU", "From being runnable to running, for each wait.");
    let first = if response.rows.is_empty() { times(candidates, waits, "run_delay_ns") } else { response };
    let charts = [
        first,
        times(candidates, wakeup, "wakeup_latency_ns"),
        throughput(candidates, nice),
        shares(candidates),
        load(candidates),
        overhead(candidates),
    ];
    charts.into_iter().filter(|chart| !chart.rows.is_empty()).collect()
}

/// A row of what `fields` has, without what is not known.
fn row(label: &str, result: &Outcome, fields: Value) -> Row {
    let mut row = Row::new();
    row.insert("scheduler".into(), label.into());
    row.insert("venue".into(), result.venue().into());
    if let Value::Object(fields) = fields {
        row.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
    }
    row
}

/// The percentiles of a time, a panel for each role.
fn times(candidates: &Candidates, (id, title, about): (&str, &str, &str), summary: &str) -> Chart {
    let mut rows = Vec::new();
    for (name, label, result, metrics) in by_role(candidates) {
        for percentile in ["p50", "p90", "p99", "p999", "max"] {
            let Some(time) = metrics.value(&format!("{summary}.{percentile}")) else { continue };
            rows.push(row(label, result, time_fields(&name, percentile, time)));
        }
    }
    let (low, high) = range(&rows);
    let log_y = is_wide(low, high);
    let axes = Axes { log_y, ..Axes::default() };
    let has_bars = rows.iter().any(|row| row.contains_key("low_ms"));
    let caption = if has_bars { format!("{about} Bars are 95 % confidence intervals.") } else { about.into() };
    Chart { axes, ..Chart::new((id, title, &caption), Kind::Percentiles, rows) }
}

fn time_fields(panel: &str, percentile: &str, time: Number) -> Value {
    let ms = |ns: f64| ns / 1e6;
    json!({
        "panel": panel,
        "percentile": percentile,
        "time_ms": ms(time.number),
        "low_ms": time.interval.map(|interval| ms(interval.low)),
        "high_ms": time.interval.map(|interval| ms(interval.high)),
    })
}

/// The smallest time that is not zero, and the largest.
fn range(rows: &[Row]) -> (f64, f64) {
    let times = || rows.iter().filter_map(|row| row["time_ms"].as_f64()).filter(|time| *time > 0.0);
    (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max))
}

fn throughput(candidates: &Candidates, nice: &BTreeMap<String, i64>) -> Chart {
    let mut rows = Vec::new();
    for (label, result) in candidates {
        for role in result.roles().into_iter().filter(|role| role.metrics.get("requests") > Some(0.0)) {
            let Some(throughput) = role.metrics.value("throughput_per_s") else { continue };
            let fields = json!({
                "role": role.name,
                "nice": nice.get(role.name),
                "per_s": throughput.number,
                "low": throughput.interval.map(|interval| interval.low),
                "high": throughput.interval.map(|interval| interval.high),
            });
            rows.push(row(label, result, fields));
        }
    }
    let caption = "Requests that ended, per second of measured time.";
    Chart::new(("throughput", "Throughput", caption), Kind::Throughput, rows)
}

/// A panel for each role.
fn shares(candidates: &Candidates) -> Chart {
    let shares = by_role(candidates).into_iter().filter_map(|(name, label, result, metrics)| {
        let share = metrics.value("cpu_share")?;
        Some(row(label, result, percent(&name, share.number, share.interval)))
    });
    let caption = "CPU time of each role, as a share of the machine's CPU time.";
    let axes = Axes { x: Some("CPU time (%)".into()), ..Axes::default() };
    Chart { axes, ..Chart::new(("shares", "CPU time by role", caption), Kind::Bars, shares.collect()) }
}

fn percent(panel: &str, fraction: f64, interval: Option<Interval>) -> Value {
    json!({
        "panel": panel,
        "value": 100.0 * fraction,
        "low": interval.map(|interval| 100.0 * interval.low),
        "high": interval.map(|interval| 100.0 * interval.high),
    })
}

/// The most numbers of tasks that have a place each; more share places, each twice as wide as the one before.
const MOST_LOADS: usize = 12;

fn load(candidates: &Candidates) -> Chart {
    let seen = [("true", "load_distribution.true"), ("estimated", "load_distribution.estimated")];
    let loads_of = |result: &Outcome, path: &str| result.whole().distribution(path).unwrap_or_default();
    let loads: BTreeSet<u32> = candidates
        .iter()
        .flat_map(|(_, result)| seen.iter().flat_map(|(_, path)| loads_of(result, path).into_keys()))
        .collect();
    let place = |load: u32| if loads.len() > MOST_LOADS { doubling(load) } else { (load, load) };
    let mut rows = Vec::new();
    for (label, result) in candidates {
        for (seen, path) in seen {
            let mut places: BTreeMap<(u32, u32), f64> = BTreeMap::new();
            for (load, fraction) in loads_of(result, path) {
                *places.entry(place(load)).or_default() += fraction;
            }
            for ((least, most), fraction) in places {
                let load = if least == most { json!(least) } else { json!(format!("{least} to {most}")) };
                let fields = json!({"load": load, "least": least, "fraction": fraction, "seen": seen});
                rows.push(row(label, result, fields));
            }
        }
    }
    let caption = "How many tasks shared a CPU: the fraction of CPU time in the run queues, and the fraction of \
                   requests whose response time suggests it.";
    Chart::new(("load", "Tasks on a CPU", caption), Kind::Load, rows)
}

/// The least and the most number of tasks that share a place with this one: 0, 1, 2, 3 to 4, 5 to 8, and so on.
fn doubling(load: u32) -> (u32, u32) {
    let most = load.checked_next_power_of_two().unwrap_or(u32::MAX);
    if load <= 2 { (load, load) } else { (most / 2 + 1, most) }
}

/// A panel for each kind of overhead that any candidate has.
fn overhead(candidates: &Candidates) -> Chart {
    const KINDS: [(&str, &str); 5] = [
        ("context switches", "overhead_ns.switch"),
        ("wake-ups", "overhead_ns.wakeup"),
        ("migrations", "overhead_ns.migration"),
        ("ticks", "overhead_ns.tick"),
        ("the policy itself", "overhead_ns.policy"),
    ];
    let mut rows = Vec::new();
    for (panel, path) in KINDS {
        let measured =
            || candidates.iter().filter_map(|(label, result)| Some((label, *result, result.whole().value(path)?)));
        if measured().all(|(_, _, time)| time.number == 0.0) {
            continue;
        }
        for (label, result, time) in measured() {
            let Some(whole) = machine_time(result) else { continue };
            let interval = time.interval.map(|interval| Interval {
                estimate: interval.estimate / whole,
                low: interval.low / whole,
                high: interval.high / whole,
                level: interval.level,
            });
            rows.push(row(label, result, percent(panel, time.number / whole, interval)));
        }
    }
    let caption = "CPU time that the system took for itself, as a share of the machine's CPU time.";
    let axes = Axes { x: Some("CPU time (%)".into()), ..Axes::default() };
    Chart { axes, ..Chart::new(("overhead", "Overhead", caption), Kind::Bars, rows) }
}

/// The CPU time of all CPUs while it was measured, in nanoseconds; none where nothing was.
fn machine_time(result: &Outcome) -> Option<f64> {
    let measured = result.duration_ns().saturating_sub(result.warmup_ns());
    let whole = f64::from(result.scenario().cpus) * measured as f64;
    (whole > 0.0).then_some(whole)
}

/// Each role of each candidate, with its metrics: role by role, in the order in which they first appear.
fn by_role<'a>(candidates: &'a Candidates) -> Vec<(String, &'a str, &'a Outcome, View<'a>)> {
    let mut names: Vec<&str> = Vec::new();
    for role in candidates.iter().flat_map(|(_, result)| result.roles()) {
        if !names.contains(&role.name) {
            names.push(role.name);
        }
    }
    let of = |name: &'a str| {
        candidates.iter().filter_map(move |(label, result)| {
            Some((name.to_string(), label.as_str(), *result, result.role(name)?.metrics))
        })
    };
    names.into_iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_metrics::combine::combine;
    use schedlab_model::result::{
        LoadDistribution, Measures, OverheadTimes, RoleResult, RunResult, ScenarioInfo, Summary,
    };

    fn role(name: &str, ns: u64) -> RoleResult {
        let response =
            Summary { count: 9, mean: ns, sd: None, cv: None, min: ns, p50: ns, p90: ns, p99: ns, p999: ns, max: ns };
        let measures = Measures {
            requests: 9,
            throughput_per_s: 4.5,
            cpu_share: 0.25,
            response_ns: Some(response),
            ..Measures::default()
        };
        RoleResult { name: name.into(), count: 1, measures, cv_of_task_means: None, jain_of_tasks: None, starved: None }
    }

    fn result(roles: Vec<RoleResult>) -> RunResult {
        let scenario = ScenarioInfo { cpus: 2, ..ScenarioInfo::default() };
        RunResult { scenario, venue: "vm".into(), duration_ns: 1100, warmup_ns: 100, roles, ..RunResult::default() }
    }

    fn charts(result: impl Into<Outcome>, nice: &[(&str, i64)]) -> BTreeMap<String, Chart> {
        let nice = nice.iter().map(|(role, nice)| (role.to_string(), *nice)).collect();
        let result = result.into();
        let charts = of_results(&[("rr@vm".into(), &result), ("rr".into(), &result)], &nice);
        charts.into_iter().map(|chart| (chart.id.clone(), chart)).collect()
    }

    #[test]
    fn percentiles_are_in_milliseconds() {
        let charts = charts(result(vec![role("a", 1_000_000), role("b", 90_000_000)]), &[]);
        let response = &charts["response"];
        assert_eq!(response.rows.len(), 2 * 2 * 5);
        let first = json!({"scheduler": "rr@vm", "venue": "vm", "panel": "a", "percentile": "p50", "time_ms": 1.0});
        assert_eq!(Value::Object(response.rows[0].clone()), first);
        assert!(response.axes.log_y, "90 ms beside 1 ms");
        assert_eq!(response.caption, "From the start of a request to its end.", "there are no bars");
    }

    #[test]
    fn of_several_runs_there_are_means_and_intervals() {
        let runs = [1_000_000, 5_000_000].map(|ns| result(vec![role("a", ns)]));
        let charts = charts(combine(&[&runs[0], &runs[1]], 2), &[]);
        let p99 = &charts["response"].rows[2];
        assert_eq!((&p99["time_ms"], &p99["low_ms"]), (&json!(3.0), &json!(0.0)));
        // 3 ms and 12.7062 times the standard error, which is 2 ms.
        assert!((p99["high_ms"].as_f64().unwrap() - 28.4124).abs() < 1e-4, "{p99:?}");
        assert!(charts["response"].caption.ends_with("Bars are 95 % confidence intervals."));
        // What is the same in all runs has no interval.
        let share = &charts["shares"].rows[0];
        assert_eq!((&share["value"], share.get("low")), (&json!(25.0), None));
    }

    #[test]
    fn nice_values_are_of_the_roles_that_have_one() {
        let charts = charts(result(vec![role("a", 1), role("b", 1)]), &[("b", -5)]);
        let rows = &charts["throughput"].rows;
        assert_eq!((rows[0].get("nice"), &rows[1]["nice"], &rows[1]["per_s"]), (None, &json!(-5), &json!(4.5)));
        assert_eq!(charts["shares"].rows[0]["value"], 25.0);
    }

    #[test]
    fn load_is_told_by_how_it_was_seen() {
        let (estimated, actual) = (BTreeMap::from([(1, 1.0)]), Some(BTreeMap::from([(0, 0.5), (2, 0.5)])));
        let distribution = Some(LoadDistribution { estimated, actual });
        let charts = charts(RunResult { load_distribution: distribution, ..result(vec![]) }, &[]);
        let row =
            |row: &Row| (row["load"].as_u64(), row["fraction"].as_f64(), row["seen"].as_str().map(str::to_string));
        let rows: Vec<_> = charts["load"].rows[..3].iter().map(row).collect();
        let of = |load, fraction, seen: &str| (Some(load), Some(fraction), Some(seen.to_string()));
        assert_eq!(rows, [of(0, 0.5, "true"), of(2, 0.5, "true"), of(1, 1.0, "estimated")]);
    }

    #[test]
    fn many_loads_share_places() {
        let actual = Some((0..=40).map(|load| (load, 1.0 / 41.0)).collect());
        let distribution = Some(LoadDistribution { estimated: BTreeMap::new(), actual });
        let charts = charts(RunResult { load_distribution: distribution, ..result(vec![]) }, &[]);
        let rows = &charts["load"].rows;
        let places: Vec<&Value> = rows[..rows.len() / 2].iter().map(|row| &row["load"]).collect();
        let names = ["3 to 4", "5 to 8", "9 to 16", "17 to 32", "33 to 64"].map(|name| json!(name));
        assert_eq!(places, [&[json!(0), json!(1), json!(2)][..], &names].concat().iter().collect::<Vec<_>>());
        assert!((rows[5]["fraction"].as_f64().unwrap() - 8.0 / 41.0).abs() < 1e-12 && rows[5]["least"] == 9);
    }

    #[test]
    fn overhead_is_of_the_measured_time_of_all_cpus() {
        let overhead = Some(OverheadTimes { tick: 20, ..OverheadTimes::default() });
        let charts = charts(RunResult { overhead_ns: overhead, ..result(vec![]) }, &[]);
        let rows = &charts["overhead"].rows;
        assert_eq!(rows.len(), 2);
        assert_eq!((&rows[0]["panel"], &rows[0]["value"]), (&json!("ticks"), &json!(1.0)));
    }

    #[test]
    fn what_was_not_measured_has_no_chart() {
        let overhead_ns = Some(OverheadTimes::default());
        assert!(charts(RunResult { overhead_ns, ..result(vec![]) }, &[]).is_empty());
        assert!(!charts(result(vec![role("a", 1)]), &[]).contains_key("wakeup-latency"));
    }
}
