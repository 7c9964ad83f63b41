//! The checks of a gate as a page: how far each value moved, and how far it may.

use crate::document::{Document, Provenance, Section, TableView};
use crate::pieces::{applying, row};
use schedlab_charts::{Axes, Chart, Kind, Row};
use schedlab_regression::{Report, Row as Check, cases, table};
use serde_json::json;

/// How many checks the chart has at most.
const ROWS: usize = 40;

/// The axis goes at least this far both ways, in percent, and at most `FARTHEST`.
const NEAREST: f64 = 1.0;
const FARTHEST: f64 = 100.0;

/// The page of a gate's report.
pub fn of_gate(report: &Report, provenance: Provenance) -> Document {
    let (open, rest): (Vec<&Check>, Vec<&Check>) = report.checks.iter().partition(|check| check.is_worth_a_look());
    let facts = vec![("schedlab".to_string(), report.schedlab.clone())];
    let tables = |checks: &[&Check]| {
        let view = |(name, checks): (String, Vec<&Check>)| TableView::of(&name, &table(&checks));
        cases(checks).into_iter().map(view).collect::<Vec<_>>()
    };
    Document {
        title: format!("Gate {}", report.gate),
        subtitle: format!("{} checks", report.counts.checks),
        answer: format!("{}.", report.headline()),
        confidence:
            "Values of the simulator repeat exactly. Where runs differ by chance, a bound holds or fails only if \
                     the interval of the difference lies on one side of it."
                .into(),
        cautions: report.cautions.clone(),
        next: next(report),
        lead: deviations(&open),
        sections: [
            Section {
                id: "checks".into(),
                heading: "Checks that failed or changed".into(),
                remarks: report.remarks(),
                tables: tables(&open),
                ..Section::default()
            },
            Section {
                id: "same".into(),
                heading: "Checks that passed, unchanged".into(),
                tables: tables(&rest),
                ..Section::default()
            },
        ]
        .into_iter()
        .filter(|section| !section.tables.is_empty())
        .collect(),
        provenance: Provenance { facts, ..provenance },
        ..Document::default()
    }
}

/// What to do about checks that need it.
fn next(report: &Report) -> Vec<String> {
    let counts = report.counts;
    let steps = [
        (counts.failed > 0, "Find the commit that did it: `schedlab bisect GOOD BAD GATE`."),
        (counts.inconclusive > 0, "Decide what is inconclusive: more `runs` in the gate's file."),
        (
            counts.better + counts.within + counts.absent > 0,
            "Accept what changed: `schedlab gate GATE --update`, and commit the baseline.",
        ),
    ];
    applying(&steps)
}

/// Checks that failed or changed, in their order. One without a reference, or from zero, has no change in percent.
fn deviations(checks: &[&Check]) -> Option<Chart> {
    let measured: Vec<(&Check, f64)> = checks.iter().filter_map(|check| Some((*check, percent(check)?))).collect();
    let shown = &measured[..measured.len().min(ROWS)];
    let reach = shown.iter().map(|(_, percent)| percent.abs()).fold(NEAREST, f64::max);
    let edge = (1.2 * reach).clamp(NEAREST, FARTHEST);
    let about = match measured.len() {
        count if count > ROWS => format!("The first {ROWS} checks of {count}. "),
        _ => String::new(),
    } + "Change of each value from its baseline or other reference; the band is the allowed range. Values beyond the \
         axis are drawn at its edge.";
    let rows: Vec<Row> = shown.iter().map(|(check, percent)| deviation(check, *percent, edge)).collect();
    let axes = Axes { x: Some("change (%)".into()), ..Axes::default() };
    let heads = ("changes", "What changed", about.as_str());
    (!rows.is_empty()).then(|| Chart { axes, ..Chart::new(heads, Kind::Deviation, rows) })
}

fn percent(check: &Check) -> Option<f64> {
    let (from, to) = (check.from.as_ref()?.number, check.to.as_ref()?.number);
    Some(rounded(100.0 * (to - from) / from.abs())).filter(|percent| percent.is_finite())
}

fn deviation(check: &Check, percent: f64, edge: f64) -> Row {
    let from = check.from.as_ref().map_or(f64::NAN, |from| from.number).abs();
    let mut fields = json!({
        "what": check.name(), "verdict": check.verdict.words(), "percent": percent, "first": -edge, "last": edge,
        "shown": format!("{} → {}", check.shown(&check.from), check.shown(&check.to)),
    });
    let allowed = check.allowed.unwrap_or(schedlab_regression::Allowed { least: None, most: None });
    let interval = check.change.unzip();
    for (key, value) in [("least", allowed.least), ("most", allowed.most), ("low", interval.0), ("high", interval.1)] {
        if let Some(value) = value {
            fields[key] = json!(rounded(100.0 * value / from));
        }
    }
    row(fields)
}

fn rounded(percent: f64) -> f64 {
    (100.0 * percent).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::metric::Unit;
    use schedlab_regression::{Allowed, Counts, Value, Verdict};

    fn check(policy: &str, from: f64, to: f64, verdict: Verdict) -> Check {
        Check {
            scenario: "desk".into(),
            policy: policy.into(),
            venue: "sim".into(),
            metric: "roles.<editor>.response_ns.p99".into(),
            unit: Unit::Ns,
            against: Some("baseline".into()),
            from: Some(Value::exact(from)),
            to: Some(Value::exact(to)),
            change: None,
            allowed: Some(Allowed { least: None, most: Some(0.03 * from) }),
            verdict,
            why: Vec::new(),
        }
    }

    fn report(checks: Vec<Check>) -> Report {
        Report {
            schema: "schedlab.gate/1",
            gate: "desks".into(),
            schedlab: "1".into(),
            counts: Counts { checks: checks.len(), failed: 1, ..Counts::default() },
            checks,
            first_differences: Vec::new(),
            cautions: Vec::new(),
            partial: false,
        }
    }

    #[test]
    fn each_check_has_its_change_and_what_is_allowed() {
        let checks = vec![
            check("rr", 1e6, 1.5e6, Verdict::Failed),
            check("cfs", 1e6, 1e6, Verdict::Same),
            check("ule", 0.0, 1e6, Verdict::Within),
        ];
        let page = of_gate(&report(checks), Provenance::default());
        assert_eq!(page.answer, "desks failed: 1 of 3 checks failed.");
        let lead = page.lead.as_ref().unwrap();
        assert_eq!(lead.rows.len(), 1, "those that did not change are in the tables");
        let first = &lead.rows[0];
        assert_eq!((&first["percent"], &first["most"], &first["last"]), (&json!(50.0), &json!(3.0), &json!(60.0)));
        assert!(first.get("least").is_none());
        assert_eq!(page.sections.iter().map(|section| section.tables.len()).collect::<Vec<_>>(), [2, 1]);
        let html = page.html();
        assert!(html.contains("&#60;editor&#62;") && !html.contains("<editor>"), "names are text");
    }

    #[test]
    fn without_references_there_is_no_chart() {
        let bare = Check { from: None, allowed: None, ..check("rr", 1.0, 1.0, Verdict::Met) };
        assert_eq!(of_gate(&report(vec![bare]), Provenance::default()).charts().count(), 0);
    }
}
