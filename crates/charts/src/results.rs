//! Charts of what runs measured.

use crate::chart::is_wide;
use crate::{Axes, Chart, Kind, Row};
use schedlab_model::result::{GroupResult, Interval, OverheadTimes, RunResult, TimeSummary};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What every chart of results has of each candidate.
type Candidates<'a> = [(String, &'a RunResult)];

/// The charts of several schedulers on one scenario, each under its label; those without anything to show are left out.
/// `nice` holds the nice values of groups, which results do not tell.
pub fn of_results(candidates: &[(String, &RunResult)], nice: &BTreeMap<String, i64>) -> Vec<Chart> {
    let charts = [
        times(candidates, "response", |group| ("response_ns", group.measures.response_ns)),
        times(candidates, "wakeup-latency", |group| ("wakeup_latency_ns", group.measures.wakeup_latency_ns)),
        throughput(candidates, nice),
        shares(candidates),
        load(candidates),
        overhead(candidates),
    ];
    charts.into_iter().filter(|chart| !chart.rows.is_empty()).collect()
}

/// A row of what `fields` has, without what is not known.
fn row(label: &str, result: &RunResult, fields: Value) -> Row {
    let mut row = Row::new();
    row.insert("scheduler".into(), label.into());
    row.insert("venue".into(), result.venue.as_str().into());
    if let Value::Object(fields) = fields {
        row.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
    }
    row
}

/// The percentiles of a time, a panel for each group.
fn times(candidates: &Candidates, id: &str, of: impl Fn(&GroupResult) -> (&'static str, Option<TimeSummary>)) -> Chart {
    let mut rows = Vec::new();
    for name in groups(candidates) {
        for (label, result) in candidates {
            let Some(group) = result.groups.iter().find(|group| group.name == name) else { continue };
            let (metric, Some(summary)) = of(group) else { continue };
            for (percentile, ns) in percentiles(&summary) {
                let interval = group.measures.intervals.get(&format!("{metric}.{percentile}"));
                rows.push(row(label, result, time_fields(&name, percentile, ns, interval)));
            }
        }
    }
    let (title, caption) = match id {
        "response" => ("Response times", "From the begin of a request to its end. Bars are confidence intervals."),
        _ => ("Wakeup latency", "From being runnable to running. Bars are confidence intervals."),
    };
    let (low, high) = range(&rows);
    let log_y = is_wide(low, high);
    let axes = Axes { log_y, ..Axes::default() };
    Chart { axes, ..Chart::new((id, title, caption), Kind::Percentiles, rows) }
}

fn percentiles(summary: &TimeSummary) -> [(&'static str, u64); 5] {
    let TimeSummary { p50, p90, p99, p999, max, .. } = *summary;
    [("p50", p50), ("p90", p90), ("p99", p99), ("p999", p999), ("max", max)]
}

/// With an interval there were several runs: its estimate is of all of them, the summary of the first.
fn time_fields(panel: &str, percentile: &str, ns: u64, interval: Option<&Interval>) -> Value {
    let ms = |ns: f64| ns / 1e6;
    json!({
        "panel": panel,
        "percentile": percentile,
        "time_ms": ms(interval.map_or(ns as f64, |interval| interval.estimate)),
        "low_ms": interval.map(|interval| ms(interval.low)),
        "high_ms": interval.map(|interval| ms(interval.high)),
    })
}

/// The least time that is not zero, and the greatest.
fn range(rows: &[Row]) -> (f64, f64) {
    let times = || rows.iter().filter_map(|row| row["time_ms"].as_f64()).filter(|time| *time > 0.0);
    (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max))
}

fn throughput(candidates: &Candidates, nice: &BTreeMap<String, i64>) -> Chart {
    let mut rows = Vec::new();
    for (label, result) in candidates {
        for group in result.groups.iter().filter(|group| group.measures.requests > 0) {
            let interval = group.measures.intervals.get("throughput_per_s");
            let fields = json!({
                "group": group.name,
                "nice": nice.get(&group.name),
                "per_s": interval.map_or(group.measures.throughput_per_s, |interval| interval.estimate),
                "low": interval.map(|interval| interval.low),
                "high": interval.map(|interval| interval.high),
            });
            rows.push(row(label, result, fields));
        }
    }
    let caption = "Requests that ended, per second of measured time.";
    Chart::new(("throughput", "Throughput", caption), Kind::Throughput, rows)
}

/// A panel for each group.
fn shares(candidates: &Candidates) -> Chart {
    let mut rows = Vec::new();
    for name in groups(candidates) {
        for (label, result) in candidates {
            let Some(group) = result.groups.iter().find(|group| group.name == name) else { continue };
            let interval = group.measures.intervals.get("cpu_share");
            let share = interval.map_or(group.measures.cpu_share, |interval| interval.estimate);
            rows.push(row(label, result, percent(&name, share, interval)));
        }
    }
    let caption = "CPU time of each group, in parts of what the whole machine had.";
    let axes = Axes { x: Some("CPU time (%)".into()), ..Axes::default() };
    Chart { axes, ..Chart::new(("shares", "CPU time by group", caption), Kind::Bars, rows) }
}

fn percent(panel: &str, fraction: f64, interval: Option<&Interval>) -> Value {
    json!({
        "panel": panel,
        "value": 100.0 * fraction,
        "low": interval.map(|interval| 100.0 * interval.low),
        "high": interval.map(|interval| 100.0 * interval.high),
    })
}

fn load(candidates: &Candidates) -> Chart {
    let mut rows = Vec::new();
    for (label, result) in candidates {
        let Some(distribution) = &result.load_distribution else { continue };
        let seen = [("true", distribution.actual.as_ref()), ("estimated", Some(&distribution.estimated))];
        for (seen, fractions) in seen.into_iter().filter_map(|(seen, fractions)| Some((seen, fractions?))) {
            for (load, fraction) in fractions {
                rows.push(row(label, result, json!({"load": load, "fraction": fraction, "seen": seen})));
            }
        }
    }
    let caption = "How many tasks shared a CPU: the fraction of CPU time in the run queues, and the fraction of \
                   requests whose response time suggests it.";
    Chart::new(("load", "Tasks on a CPU", caption), Kind::Load, rows)
}

/// A panel for each kind of overhead that any candidate has.
fn overhead(candidates: &Candidates) -> Chart {
    type Kinds = [(&'static str, fn(&OverheadTimes) -> u64, &'static str); 5];
    const KINDS: Kinds = [
        ("context switches", |times| times.switch, "overhead_ns.switch"),
        ("wakeups", |times| times.wakeup, "overhead_ns.wakeup"),
        ("migrations", |times| times.migration, "overhead_ns.migration"),
        ("ticks", |times| times.tick, "overhead_ns.tick"),
        ("the policy itself", |times| times.policy, "overhead_ns.policy"),
    ];
    let mut rows = Vec::new();
    for (panel, of, path) in KINDS {
        let measured = || candidates.iter().filter_map(|(label, result)| Some((label, *result, result.overhead_ns?)));
        if measured().all(|(_, _, times)| of(&times) == 0) {
            continue;
        }
        for (label, result, times) in measured() {
            let Some(whole) = machine_time(result) else { continue };
            let interval = result.intervals.get(path).map(|interval| Interval {
                estimate: interval.estimate / whole,
                low: interval.low / whole,
                high: interval.high / whole,
                level: interval.level,
            });
            let fraction = interval.map_or(of(&times) as f64 / whole, |interval| interval.estimate);
            rows.push(row(label, result, percent(panel, fraction, interval.as_ref())));
        }
    }
    let caption = "CPU time that the system took for itself, in parts of what the whole machine had.";
    let axes = Axes { x: Some("CPU time (%)".into()), ..Axes::default() };
    Chart { axes, ..Chart::new(("overhead", "Overhead", caption), Kind::Bars, rows) }
}

/// The CPU time of all CPUs while it was measured, in nanoseconds; none where nothing was.
fn machine_time(result: &RunResult) -> Option<f64> {
    let measured = result.duration_ns.saturating_sub(result.warmup_ns);
    let whole = f64::from(result.scenario.cpus) * measured as f64;
    (whole > 0.0).then_some(whole)
}

/// The names of all groups, in the order in which they first appear.
fn groups(candidates: &Candidates) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for group in candidates.iter().flat_map(|(_, result)| &result.groups) {
        if !names.contains(&group.name) {
            names.push(group.name.clone());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::result::{
        EventCounts, LoadDistribution, Measures, PolicyInfo, Provenance, SCHEMA, ScenarioInfo, Summary,
    };

    fn group(name: &str, ns: u64) -> GroupResult {
        let response =
            Summary { count: 9, mean: ns, sd: None, cv: None, min: ns, p50: ns, p90: ns, p99: ns, p999: ns, max: ns };
        let interval = Interval { estimate: 3e6, low: 2e6, high: 5e6, level: 0.95 };
        let measures = Measures {
            requests: 9,
            throughput_per_s: 4.5,
            cpu_share: 0.25,
            response_ns: Some(response),
            intervals: BTreeMap::from([("response_ns.p99".to_string(), interval)]),
            ..Measures::default()
        };
        GroupResult { name: name.into(), count: 1, measures, cv_of_task_means: None }
    }

    fn result(groups: Vec<GroupResult>) -> RunResult {
        let scenario =
            ScenarioInfo { name: "s".into(), about: String::new(), cpus: 2, topology: "1n1l2c1t".into(), tick_ns: 0 };
        let provenance = Provenance {
            version: "0".into(),
            scenario_hash: String::new(),
            policy_hash: None,
            kernel: None,
            engine: None,
        };
        RunResult {
            schema: SCHEMA.into(),
            scenario,
            policy: PolicyInfo { name: "rr".into(), parameters: BTreeMap::new() },
            venue: "vm".into(),
            seed: 1,
            duration_ns: 1100,
            warmup_ns: 100,
            provenance,
            runs: None,
            groups,
            tasks: vec![],
            cpus: vec![],
            load_distribution: None,
            jain: None,
            time_to_balance_ns: None,
            work_conservation_violation: None,
            overhead_ns: None,
            events: EventCounts::default(),
            intervals: BTreeMap::new(),
            lost: 0,
            partial: false,
            calibration: None,
            costs: None,
            kernel_run_delay_ns: None,
            missing: vec![],
        }
    }

    fn charts(result: &RunResult, nice: &[(&str, i64)]) -> BTreeMap<String, Chart> {
        let nice = nice.iter().map(|(group, nice)| (group.to_string(), *nice)).collect();
        let charts = of_results(&[("rr@vm".into(), result), ("rr".into(), result)], &nice);
        charts.into_iter().map(|chart| (chart.id.clone(), chart)).collect()
    }

    #[test]
    fn percentiles_are_in_milliseconds_and_have_the_intervals_there_are() {
        let charts = charts(&result(vec![group("a", 1_000_000), group("b", 90_000_000)]), &[]);
        let response = &charts["response"];
        assert_eq!(response.rows.len(), 2 * 2 * 5);
        let first = json!({"scheduler": "rr@vm", "venue": "vm", "panel": "a", "percentile": "p50", "time_ms": 1.0});
        assert_eq!(Value::Object(response.rows[0].clone()), first);
        let p99 = &response.rows[2];
        assert_eq!((&p99["time_ms"], &p99["low_ms"], &p99["high_ms"]), (&json!(3.0), &json!(2.0), &json!(5.0)));
        assert!(response.axes.log_y, "90 ms beside 1 ms");
    }

    #[test]
    fn nice_values_are_of_the_groups_that_have_one() {
        let charts = charts(&result(vec![group("a", 1), group("b", 1)]), &[("b", -5)]);
        let rows = &charts["throughput"].rows;
        assert_eq!((rows[0].get("nice"), &rows[1]["nice"], &rows[1]["per_s"]), (None, &json!(-5), &json!(4.5)));
        assert_eq!(charts["shares"].rows[0]["value"], 25.0);
    }

    #[test]
    fn load_is_told_by_how_it_was_seen() {
        let (estimated, actual) = (BTreeMap::from([(1, 1.0)]), Some(BTreeMap::from([(0, 0.5), (2, 0.5)])));
        let distribution = Some(LoadDistribution { estimated, actual });
        let charts = charts(&RunResult { load_distribution: distribution, ..result(vec![]) }, &[]);
        let row =
            |row: &Row| (row["load"].as_u64(), row["fraction"].as_f64(), row["seen"].as_str().map(str::to_string));
        let rows: Vec<_> = charts["load"].rows[..3].iter().map(row).collect();
        let of = |load, fraction, seen: &str| (Some(load), Some(fraction), Some(seen.to_string()));
        assert_eq!(rows, [of(0, 0.5, "true"), of(2, 0.5, "true"), of(1, 1.0, "estimated")]);
    }

    #[test]
    fn overhead_is_of_the_measured_time_of_all_cpus() {
        let overhead = Some(OverheadTimes { tick: 20, ..OverheadTimes::default() });
        let charts = charts(&RunResult { overhead_ns: overhead, ..result(vec![]) }, &[]);
        let rows = &charts["overhead"].rows;
        assert_eq!(rows.len(), 2);
        assert_eq!((&rows[0]["panel"], &rows[0]["value"]), (&json!("ticks"), &json!(1.0)));
    }

    #[test]
    fn what_was_not_measured_has_no_chart() {
        let overhead_ns = Some(OverheadTimes::default());
        assert!(charts(&RunResult { overhead_ns, ..result(vec![]) }, &[]).is_empty());
        assert!(!charts(&result(vec![group("a", 1)]), &[]).contains_key("wakeup-latency"));
    }
}
