//! The search for the smallest limit, weight or burst as a page: response times by setting, with the target.

use crate::command::Given;
use crate::document::{Document, Provenance, Section, TableView};
use crate::pieces::{more_runs, row};
use schedlab_boundary::shell::quoted;
use schedlab_charts::{Axes, Chart, Kind, Row};
use schedlab_model::time::Time;
use schedlab_report::quota::{Answer, Curve, Knob, Point};
use serde_json::json;

/// Times that are further apart than this factor have a logarithmic axis: the target is where the curve is flat.
const WIDE: f64 = 10.0;

/// The page of an answer.
pub fn of_quota(answer: &Answer, provenance: Provenance) -> Document {
    let Answer { statistic, role, search, control_group, runs, .. } = answer;
    let knob = search.name();
    let of = |curve: &Curve| format!("Under {}: {}", curve.policy, answer.conclusion(curve));
    let runs = match runs {
        1 => "one run at each setting; --runs gives intervals".to_string(),
        runs => format!(
            "{runs} runs at each setting, with the same seeds; a setting meets the target if the upper end of the interval does"
        ),
    };
    let mut charts = charts(answer).into_iter();
    Document {
        title: answer.scenario.clone(),
        subtitle: format!(
            "{statistic} of the responses of {role} by the {knob} of {control_group}; the target is {}.",
            Time(answer.target_ns)
        ),
        answer: answer.policies.iter().map(of).collect::<Vec<_>>().join(" "),
        confidence: format!("How sure: {runs}."),
        cautions: answer.cautions(),
        next: next(answer, &provenance),
        lead: charts.next(),
        sections: vec![Section {
            id: "curve".into(),
            heading: format!("Response times by {knob}"),
            charts: charts.collect(),
            tables: answer
                .policies
                .iter()
                .map(|curve| TableView::of(&curve.policy, &curve.table(*search, statistic)))
                .collect(),
            ..Section::default()
        }],
        provenance,
        ..Document::default()
    }
}

/// What makes the answer surer, and what shows more of it: a run at the setting that was found, where one was.
fn next(answer: &Answer, provenance: &Provenance) -> Vec<String> {
    let scenario = Given::of(provenance).subject(&["quota"]).unwrap_or("SCENARIO");
    let group = &answer.control_group;
    let seen = answer.policies.iter().find_map(|curve| {
        let setting = setting(curve.least(answer.search)?, answer.search)?;
        let (policy, path) = (quoted(&curve.policy), quoted(&format!("control_group.{group}.{setting}")));
        let venue = if answer.venue == "sim" { String::new() } else { format!(" --venue {}", answer.venue) };
        Some(format!(
            "See what `{group}` gets at that setting: `schedlab compare {scenario} --policy {policy} --vary {path}{venue} --report \
             setting.html`."
        ))
    });
    std::iter::once(more_runs(answer.runs)).chain(seen).collect()
}

/// A setting as a scenario has it.
fn setting(point: &Point, knob: Knob) -> Option<String> {
    Some(match knob {
        Knob::Limit => format!("max={}/{}", Time(point.quota_ns?), Time(point.period_ns)),
        Knob::Weight => format!("weight={}", point.weight?),
        Knob::Burst => format!("burst={}", Time(point.burst_ns)),
    })
}

/// Response times, throttled periods and used CPUs by setting.
fn charts(answer: &Answer) -> Vec<Chart> {
    let statistic = format!("{} of response (ms)", answer.statistic);
    let mut response: Vec<Row> = points(answer, |point| {
        let mut row = json!({ "panel": statistic, "value": ms(point.value_ns) });
        if let Some((low, high)) = point.low_ns.zip(point.high_ns) {
            (row["low"], row["high"]) = (json!(ms(low)), json!(ms(high)));
        }
        Some(row)
    });
    let values = || answer.policies.iter().flat_map(|curve| &curve.points).map(|point| point.value_ns);
    let all = values().chain([answer.target_ns as f64]).filter(|value| *value > 0.0);
    let (low, high) =
        all.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), value| (low.min(value), high.max(value)));
    // One of tens of times would leave what decides at the foot of the axis.
    let log_y = high / low > WIDE;
    if log_y {
        response.iter_mut().for_each(|row| above(row, ms(low) / WIDE));
    }
    response.push(row(json!({ "panel": statistic, "target": ms(answer.target_ns as f64) })));
    let mut rest = points(answer, |point| {
        let percent = (1e4 * point.throttled_frac?).round() / 100.0;
        Some(json!({ "panel": "throttled periods (%)", "value": percent }))
    });
    rest.extend(points(answer, |point| {
        Some(json!({ "panel": "CPUs used", "value": (1e3 * point.used_cpus).round() / 1e3 }))
    }));
    let across = match answer.search {
        Knob::Limit => "limit (CPUs)",
        Knob::Weight => "weight",
        Knob::Burst => "burst (ms)",
    };
    let axes =
        |log_y: bool| Axes { x: Some(across.into()), log_x: answer.search != Knob::Burst, log_y, ..Axes::default() };
    let title = format!("Response times by {}", answer.search.name());
    let about =
        "What was tried, with the interval over the runs where there are several. The dashed line is the target.";
    let lead = Chart::new(("quota-response", &title, about), Kind::Lines, response);
    let about = "How many periods were throttled, and what the control group used.";
    let rest = Chart::new(("quota-throttled", "What the control group got", about), Kind::Lines, rest);
    // Without points there is nothing but the target.
    let is_empty = values().next().is_none();
    let both = [Chart { axes: axes(log_y), ..lead }, Chart { axes: axes(false), ..rest }];
    both.into_iter().filter(|_| !is_empty).collect()
}

/// Keeps the ends of an interval above zero, for which a logarithmic axis has no place.
fn above(row: &mut Row, least: f64) {
    if let Some(low) = row.get("low").and_then(serde_json::Value::as_f64) {
        row.insert("low".into(), json!(low.max(least)));
    }
}

/// A row for each point of each curve.
fn points(answer: &Answer, of: impl Fn(&Point) -> Option<serde_json::Value>) -> Vec<Row> {
    let of_curve = |curve: &Curve| {
        let each = |point: &Point| {
            let mut fields = of(point)?;
            (fields["scheduler"], fields["venue"]) = (json!(curve.policy), json!(answer.venue));
            fields["x"] = json!(match answer.search {
                Knob::Limit => point.limit_cpus()?,
                Knob::Weight => f64::from(point.weight?),
                Knob::Burst => ms(point.burst_ns as f64),
            });
            Some(row(fields))
        };
        curve.points.iter().filter_map(each).collect::<Vec<_>>()
    };
    answer.policies.iter().flat_map(of_curve).collect()
}

fn ms(ns: f64) -> f64 {
    (ns / 1e2).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_report::quota::SCHEMA;

    fn answer(search: Knob, points: Vec<Point>) -> Answer {
        let loosest = points.last().cloned().unwrap_or_else(|| point(400, 9.0));
        let least_quota_ns = points.iter().find(|point| point.meets).and_then(|point| point.quota_ns);
        let policy = "eevdf:version=7.3".to_string();
        Answer {
            schema: SCHEMA.into(),
            scenario: "limited".into(),
            venue: "sim".into(),
            control_group: "<web>".into(),
            role: "server".into(),
            search,
            statistic: "p99".into(),
            target_ns: 20_000_000,
            runs: 3,
            policies: vec![Curve { policy, loosest, points, least_quota_ns, least_weight: None, least_burst_ns: None }],
        }
    }

    fn point(quota_ms: u64, value_ms: f64) -> Point {
        Point {
            weight: Some(100),
            quota_ns: Some(quota_ms * 1_000_000),
            period_ns: 100_000_000,
            burst_ns: 1_000_000,
            value_ns: value_ms * 1e6,
            low_ns: Some(value_ms * 0.9e6),
            high_ns: Some(value_ms * 1.1e6),
            throttled_frac: Some(0.25),
            used_cpus: 0.5,
            overloaded: false,
            meets: value_ms < 18.0,
        }
    }

    #[test]
    fn the_page_has_the_curve_the_target_and_the_answer() {
        let answer = answer(Knob::Limit, vec![point(50, 400.0), point(70, 12.0), point(100, 5.0)]);
        let commands = vec!["schedlab quota limited.toml --target p99=20ms".into()];
        let page = of_quota(&answer, Provenance { commands, ..Provenance::default() });
        assert!(
            page.answer.starts_with("Under eevdf:version=7.3: p99 ≤ 20ms needs a limit of 70ms/100ms"),
            "{}",
            page.answer
        );
        let lead = page.lead.as_ref().unwrap();
        assert_eq!((lead.kind, lead.rows.len(), lead.axes.log_y), (Kind::Lines, 4, true));
        assert_eq!((&lead.rows[0]["x"], &lead.rows[0]["high"]), (&json!(0.5), &json!(440.0)));
        assert_eq!(lead.rows[3]["target"], json!(20.0));
        assert_eq!(page.charts().count(), 2);
        assert_eq!(page.cautions.len(), 1, "three runs are few: {:?}", page.cautions);
        let next =
            "`schedlab compare limited.toml --policy eevdf:version=7.3 --vary 'control_group.<web>.max=70ms/100ms'";
        assert!(page.next[1].contains(next), "{:?}", page.next);
        let html = page.html();
        assert!(html.contains("&#60;web&#62;") && !html.contains("<web>"), "names are text");
    }

    /// From 12 to 90 ms is less than a factor of ten; from 9 to 100 ms is more, and then no interval reaches down to zero.
    #[test]
    fn times_that_are_far_apart_have_a_logarithmic_axis() {
        let lead = |first: f64, last: f64| {
            let last = Point { low_ns: Some(-1e6), ..point(100, last) };
            of_quota(&answer(Knob::Limit, vec![point(50, first), last]), Provenance::default()).lead.unwrap()
        };
        let (near, far) = (lead(90.0, 12.0), lead(100.0, 9.0));
        assert_eq!((near.axes.log_y, far.axes.log_y), (false, true));
        assert_eq!((&near.rows[1]["low"], &far.rows[1]["low"]), (&json!(-1.0), &json!(0.9)));
    }

    #[test]
    fn without_points_there_is_no_curve() {
        let page = of_quota(&answer(Knob::Burst, Vec::new()), Provenance::default());
        assert_eq!((page.lead.is_none(), page.charts().count()), (true, 0));
        assert_eq!(page.sections[0].tables.len(), 1);
    }
}
