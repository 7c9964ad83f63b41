use super::*;
use schedlab_charts::Kind;
use serde_json::json;

fn axis(key: &str, is_time: bool, is_sampled: bool) -> AxisView {
    AxisView { key: key.into(), is_time, is_sampled }
}

fn point(policy: &str, role: &str, places: &[f64], values: &[f64]) -> Point {
    let places = places.iter().map(|place| Place::Number(*place)).collect();
    Point { policy: policy.into(), role: role.into(), places, values: vec![values.to_vec()] }
}

fn measured(axes: Vec<AxisView>, points: Vec<Point>) -> Measured {
    Measured { axes, measures: vec!["response_ns.p99".into()], points, runs: 8, failed: 0 }
}

fn page(measured: &Measured) -> Document {
    of_sweep("quantum: Response times by quantum.", measured, Provenance::default())
}

#[test]
fn a_line_for_each_value_of_the_other_axis() {
    let axes = vec![axis("policy.quantum", true, false), axis("task.<a>.count", false, false)];
    let mut points = Vec::new();
    for quantum in [1e6, 4e6] {
        for count in [2.0, 8.0] {
            points.push(point("rr", "short", &[quantum, count], &[quantum * count, quantum * count + 2e6]));
        }
    }
    let page = page(&measured(axes, points));
    assert_eq!((page.title.as_str(), page.subtitle.as_str()), ("quantum", "Response times by quantum."));
    let wanted = "P99 of response of short is lowest under rr at policy.quantum = 1ms, task.<a>.count = 2 (3 ms); 2 of the \
                  other 3 places cannot be told apart from it, since their intervals overlap. It is highest under rr at \
                  policy.quantum = 4ms, task.<a>.count = 8 (33 ms).";
    assert_eq!(page.answer, wanted);
    let ranking = page.ranking.as_ref().unwrap();
    assert_eq!(
        ranking.columns.iter().map(|column| &*column.head).collect::<Vec<_>>()[..3],
        ["policy.quantum", "task.<a>.count", "mean"]
    );
    assert_eq!(ranking.columns[5].cells, ["-", "indistinguishable", "indistinguishable", "behind"]);
    assert_eq!(page.cautions[0], "Intervals of fewer than 10 runs are unreliable; write `runs = 30` into the sweep.");
    let lead = page.lead.as_ref().unwrap();
    assert_eq!((lead.kind, lead.rows.len(), lead.axes.x.as_deref()), (Kind::Lines, 4, Some("policy.quantum (ms)")));
    let first = &lead.rows[0];
    assert_eq!((&first["scheduler"], &first["x"], &first["value"]), (&json!("2"), &json!(1.0), &json!(3.0)));
    assert!(first["low"].as_f64().unwrap() < 3.0);
    assert_eq!(page.charts().count(), 2, "one for each axis");
    let html = page.html();
    assert!(html.contains("task.&#60;a&#62;.count") && !html.contains("task.<a>.count = 2"), "names are text");
}

/// 4 and 6 ms, or 5 and 7: nothing tells these apart, and the only chart is on the first screen.
#[test]
fn places_that_cannot_be_told_apart_have_no_best() {
    let points = [1.0, 2.0].map(|cpus| point("rr", "a", &[cpus], &[(3.0 + cpus) * 1e6, (5.0 + cpus) * 1e6]));
    let page = page(&measured(vec![axis("machine.cpus", false, false)], points.into()));
    assert_eq!(page.answer, "P99 of response of a: the 2 places cannot be told apart (5 ms to 6 ms).");
    assert_eq!(page.sections.iter().map(|section| &*section.id).collect::<Vec<_>>(), ["extremes"]);
    assert_eq!(page.sections[0].tables[0].columns[5].cells, ["indistinguishable"]);
    let exact = [1.0, 2.0].map(|cpus| point("rr", "a", &[cpus], &[cpus * 1e6]));
    let exact = self::page(&measured(vec![axis("machine.cpus", false, false)], exact.into()));
    let wanted = "P99 of response of a is lowest under rr at machine.cpus = 1 (1 ms) and highest under rr at machine.cpus = 2 (2 ms).";
    assert_eq!(exact.answer, wanted);
}

#[test]
fn labels_have_values_and_the_legend_their_keys() {
    let axes = vec![axis("machine.cpus", false, false), axis("task.a.count", false, false)];
    let each = |policy: &'static str| {
        (1..3).flat_map(move |x| {
            (1..3).map(move |y| point(policy, "a", &[f64::from(x), f64::from(y)], &[1e6 * f64::from(x)]))
        })
    };
    let page = page(&measured(axes, each("rr").chain(each("cfs")).collect()));
    let lead = page.lead.as_ref().unwrap();
    assert_eq!(lead.axes.value.as_deref(), Some("policy: task.a.count"));
    assert_eq!((&lead.rows[0]["scheduler"], &lead.rows[7]["scheduler"]), (&json!("rr: 1"), &json!("cfs: 2")));
}

#[test]
fn many_lines_become_their_mean() {
    let axes = vec![axis("policy.quantum", true, false), axis("task.a.count", false, false)];
    let each = (0..2).flat_map(|x| (0..9).map(move |y| point("rr", "a", &[f64::from(x) * 1e6, f64::from(y)], &[1e6])));
    let page = page(&measured(axes, each.collect()));
    let lead = page.lead.as_ref().unwrap();
    assert_eq!((lead.rows.len(), &lead.rows[0]["scheduler"]), (2, &json!("rr")));
    assert!(lead.caption.starts_with("Means over the other axes") && lead.rows[0].get("low").is_none());
}

#[test]
fn random_places_are_grouped() {
    let points = (0..100).map(|x| point("rr", "a", &[f64::from(x)], &[1e6 * f64::from(x)])).collect();
    let page = page(&measured(vec![axis("machine.cpus", false, true)], points));
    let lead = page.lead.as_ref().unwrap();
    assert_eq!((lead.rows.len(), &lead.rows[0]["x"], &lead.rows[9]["value"]), (10, &json!(4.5), &json!(94.5)));
}

/// Words are side by side, failed runs are a caution, and a measure of the run has one panel for all roles.
#[test]
fn words_failures_and_measures_of_the_run() {
    let of =
        |word: &str, role: &str| Point { places: vec![Place::Word(word.into())], ..point("rr", role, &[], &[0.5]) };
    let points = vec![of("a", "x"), of("a", "y"), of("b", "x"), of("b", "y")];
    let whole = Measured {
        measures: vec!["jain".into()],
        failed: 2,
        ..measured(vec![axis("policy.kind", false, false)], points)
    };
    let page = page(&whole);
    let lead = page.lead.as_ref().unwrap();
    assert_eq!((lead.kind, lead.rows.len(), &lead.rows[0]["series"]), (Kind::Grouped, 2, &json!("rr")));
    assert!(page.cautions[0].starts_with("2 of 8 runs failed"), "{:?}", page.cautions);
    assert_eq!(page.answer, "Jain index is 0.5000 everywhere.");
}

#[test]
fn where_nothing_was_measured_the_page_says_so() {
    let page = page(&measured(vec![axis("machine.cpus", false, false)], Vec::new()));
    assert_eq!((page.answer.as_str(), page.charts().count()), ("Nothing was measured.", 0));
}
