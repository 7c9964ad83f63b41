//! The checks of a gate as a page: how far each value moved, and how far it may.

use crate::command::Given;
use crate::document::{Document, Provenance, Section, TableView};
use crate::pieces::{applying, row};
use schedlab_charts::{Axes, Chart, Kind, Row};
use schedlab_model::count::counted;
use schedlab_model::metric::Metric;
use schedlab_model::selector::Selector;
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
    let tables = |checks: &[&Check]| cases(checks).iter().map(|(name, checks)| view(name, checks)).collect::<Vec<_>>();
    // The cautions are at the top already.
    let remarks = report.remarks().into_iter().filter(|remark| !report.cautions.contains(remark));
    let [open_heads, all_heads] = [
        ("changes", "What changed", "Change of each value from its baseline or other reference"),
        ("changes", "How far each value may change", "Values that are those of their baseline or other reference"),
    ];
    Document {
        title: format!("Gate {}", report.gate),
        subtitle: counted(report.counts.checks as u64, "check"),
        answer: format!("{}.", report.headline()),
        confidence:
            "Values of the simulator repeat exactly. Where runs differ by chance, a bound holds or fails only if \
                     the interval of the difference lies on one side of it."
                .into(),
        cautions: report.cautions.clone(),
        next: next(report, &provenance),
        lead: deviations(&open, open_heads).or_else(|| deviations(&rest, all_heads)),
        sections: [
            Section {
                id: "checks".into(),
                heading: "Checks that failed or changed".into(),
                remarks: remarks.collect(),
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

/// The checks of a case, with their metrics in words and what these mean.
fn view(name: &str, checks: &[&Check]) -> TableView {
    let mut view = TableView::of(name, &table(checks));
    if let [metric, .., verdict] = view.columns.as_mut_slice() {
        metric.cells = checks.iter().map(|check| metric_words(&check.metric)).collect();
        verdict.head = "verdict".into();
    }
    for check in checks {
        let Ok(selector) = Selector::parse(&check.metric) else { continue };
        let Metric { name, path, .. } = selector.metric();
        let about = format!("{} Its path in results is {path}.", selector.metric().meaning());
        if !view.terms.iter().any(|(known, _)| known == name) {
            view.terms.push((name.to_string(), about));
        }
    }
    view
}

/// A value of a result in words: `p99 of response of editor`; its path where it has none.
fn metric_words(path: &str) -> String {
    let words = || {
        let metric = Selector::parse(path).ok()?.metric();
        let owner = path.strip_suffix(metric.path.as_str())?.trim_end_matches('.');
        let name = &metric.name;
        Some(match owner.split_once('.') {
            None if owner.is_empty() => name.to_string(),
            Some(("cpus", cpu)) => format!("{name} of CPU {cpu}"),
            Some(("tasks", task)) => format!("{name} of task {task}"),
            Some((_, owner)) => format!("{name} of {owner}"),
            None => return None,
        })
    };
    words().unwrap_or_else(|| path.into())
}

/// What to do about checks that need it, and with those that do not.
fn next(report: &Report, provenance: &Provenance) -> Vec<String> {
    let counts = report.counts;
    let gate = Given::of(provenance).subject(&["gate"]).unwrap_or("GATE");
    let find = format!(
        "Find the commit that did it: `schedlab bisect GOOD HEAD {gate}`, where GOOD is a commit of its git repository at which \
         it passed."
    );
    let accept = format!("Accept what changed: `schedlab gate {gate} --update`, and commit the baseline.");
    let keep = format!("Check each change of a policy: `schedlab gate {gate}` ends with exit code 1 if a check fails.");
    let history = format!("Keep what it measures at each commit: `schedlab gate {gate} --history DIR`.");
    let has_changed = counts.better + counts.within + counts.absent > 0;
    let passed = counts.failed + counts.absent + counts.inconclusive == 0;
    let steps = [
        (counts.failed > 0, find.as_str()),
        (counts.inconclusive > 0, "Decide what is inconclusive: more `runs` in the gate's file."),
        (has_changed, accept.as_str()),
        (passed, keep.as_str()),
        (passed, history.as_str()),
    ];
    applying(&steps)
}

/// Checks in their order. One without a reference, or from zero, has no change in percent.
fn deviations(checks: &[&Check], (id, title, about): (&str, &str, &str)) -> Option<Chart> {
    let measured: Vec<(&Check, f64)> = checks.iter().filter_map(|check| Some((*check, percent(check)?))).collect();
    let shown = &measured[..measured.len().min(ROWS)];
    let reach = shown.iter().map(|(check, percent)| percent.abs().max(room(check))).fold(NEAREST, f64::max);
    let edge = rounded((1.2 * reach).clamp(NEAREST, FARTHEST));
    let first = match measured.len() {
        count if count > ROWS => format!("The first {ROWS} checks of {count}. "),
        _ => String::new(),
    };
    let about = format!("{first}{about}; the band is the allowed range. Values beyond the axis are drawn at its edge.");
    let names = names(shown);
    let rows = shown.iter().zip(&names).map(|((check, percent), name)| deviation(check, name, *percent, edge));
    let axes = Axes { x: Some("change (%)".into()), ..Axes::default() };
    (!shown.is_empty()).then(|| Chart { axes, ..Chart::new((id, title, &about), Kind::Deviation, rows.collect()) })
}

/// What checks are called next to each other: their metric, and what differs of the rest.
fn names(checks: &[(&Check, f64)]) -> Vec<String> {
    let all: Vec<[String; 4]> = checks.iter().map(|(check, _)| place(check)).collect();
    let differs = [0, 1, 2, 3].map(|part: usize| all.iter().any(|place| place[part] != all[0][part]));
    let name = |((check, _), place): (&(&Check, f64), &[String; 4])| {
        let metric = std::iter::once(metric_words(&check.metric));
        let rest = place.iter().zip(differs).filter(|(_, differs)| *differs).map(|(part, _)| part.clone());
        metric.chain(rest).collect::<Vec<_>>().join(", ")
    };
    checks.iter().zip(&all).map(name).collect()
}

/// The scenario, the policy and the venue of a check, and what it is held against.
fn place(check: &Check) -> [String; 4] {
    let [scenario, policy, venue] = check.case().map(String::from);
    [scenario, policy, venue, check.against.as_ref().map_or("alone".into(), |against| format!("against {against}"))]
}

/// How far the bounds let a value go, in percent; nothing where they are open.
fn room(check: &Check) -> f64 {
    let from = check.from.as_ref().map_or(f64::NAN, |from| from.number).abs();
    let ends = check.allowed.map_or([None, None], |allowed| [allowed.least, allowed.most]);
    ends.into_iter().flatten().map(|end| (100.0 * end / from).abs()).filter(|end| end.is_finite()).fold(0.0, f64::max)
}

fn percent(check: &Check) -> Option<f64> {
    let (from, to) = (check.from.as_ref()?.number, check.to.as_ref()?.number);
    Some(rounded(100.0 * (to - from) / from.abs())).filter(|percent| percent.is_finite())
}

fn deviation(check: &Check, name: &str, percent: f64, edge: f64) -> Row {
    let from = check.from.as_ref().map_or(f64::NAN, |from| from.number).abs();
    let mut fields = json!({
        "what": name, "verdict": check.verdict.words(), "percent": percent, "first": -edge, "last": edge,
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
            is_out_of_bounds: false,
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
        let checks = &page.sections[0].tables[0];
        assert_eq!(
            (&*checks.columns[0].cells[0], &*checks.columns[4].head),
            ("p99 of response of <editor>", "verdict")
        );
        assert!(checks.definitions()[0].1.ends_with("Its path in results is response_ns.p99."), "{:?}", checks.terms);
        let html = page.html();
        assert!(html.contains("&#60;editor&#62;") && !html.contains("<editor>"), "names are text");
    }

    #[test]
    fn without_references_there_is_no_chart() {
        let bare = Check { from: None, allowed: None, ..check("rr", 1.0, 1.0, Verdict::Met) };
        assert_eq!(of_gate(&report(vec![bare]), Provenance::default()).charts().count(), 0);
    }

    /// Its chart shows how far each value may go, and the next steps keep it that way.
    #[test]
    fn a_gate_that_passes_has_a_chart_and_a_next_step() {
        let counts = Counts { checks: 2, ..Counts::default() };
        let checks = vec![check("rr", 1e6, 1e6, Verdict::Same), check("cfs", 1e6, 1e6, Verdict::Same)];
        let commands = vec!["schedlab gate desks.gate.toml --report g.html".into()];
        let report = Report { counts, cautions: vec!["Mind this.".into()], ..report(checks) };
        let page = of_gate(&report, Provenance { commands, ..Provenance::default() });
        let lead = page.lead.as_ref().unwrap();
        assert_eq!(
            (&lead.rows[0]["percent"], &lead.rows[0]["most"], &lead.rows[0]["last"]),
            (&json!(0.0), &json!(3.0), &json!(3.6))
        );
        let names = lead.rows.iter().map(|row| row["what"].as_str().unwrap()).collect::<Vec<_>>();
        assert_eq!(names, ["p99 of response of <editor>, rr", "p99 of response of <editor>, cfs"]);
        assert!(page.next[0].contains("`schedlab gate desks.gate.toml`"), "{:?}", page.next);
        assert_eq!(page.html().matches("Mind this.").count(), 1);
    }

    #[test]
    fn paths_have_words_where_there_are_some() {
        let paths = ["roles.a.b.response_ns.p99", "cpus.1.busy_frac", "jain", "roles.a.nothing"];
        let words = ["p99 of response of a.b", "busy of CPU 1", "Jain index", "roles.a.nothing"];
        assert_eq!(paths.map(metric_words), words);
    }
}
