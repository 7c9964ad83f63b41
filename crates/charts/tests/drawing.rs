//! Every kind is drawn in every look, and what cannot be drawn is refused.

#[path = "../examples/rows/mod.rs"]
mod rows;

use schedlab_charts::{Axes, Chart, DrawError, Kind, Look, Row, png, svg, svgs};
use serde_json::{Value, json};

/// A mark of a kind, as the drawing names it, and how many things of it the example has at least.
fn marks(kind: Kind) -> &'static [(&'static str, usize)] {
    match kind {
        Kind::Load => &[("mark-rect", 36), ("mark-symbol", 36)],
        Kind::Percentiles => &[("mark-symbol", 40), ("mark-rule", 30)],
        Kind::Distribution => &[("mark-line", 12)],
        Kind::CpuLoad => &[("mark-rect", 640)],
        Kind::RoleShare => &[("mark-area", 12)],
        Kind::Status => &[("mark-line", 6)],
        Kind::Throughput => &[("mark-rect", 12), ("mark-rule", 12)],
        Kind::Overhead => &[("mark-area", 4), ("mark-line", 4), ("mark-symbol", 24)],
        Kind::Boundary => &[("mark-rect", 48), ("mark-text", 48)],
        // The intervals, and the target.
        Kind::Lines => &[("mark-line", 12), ("mark-symbol", 60), ("mark-rule", 61)],
        Kind::Bars => &[("mark-rect", 8), ("mark-rule", 8)],
        Kind::Histogram => &[("mark-rect", 12)],
        Kind::Course => &[("mark-line", 4)],
        Kind::Grouped => &[("mark-rect", 24)],
        Kind::Published => &[("mark-rect", 10), ("mark-symbol", 4), ("mark-text", 1)],
        Kind::History => &[("mark-line", 4), ("mark-symbol", 8)],
        Kind::Deviation => &[("mark-rect", 8), ("mark-rule", 3), ("mark-symbol", 3)],
        Kind::Graph => &[("mark-rule", 4), ("mark-symbol", 8), ("mark-text", 12)],
    }
}

/// How many shapes are in the groups of a mark; axes, legends and titles are not of them.
fn count(svg: &str, mark: &str) -> usize {
    let groups = svg.split("<g ").skip(1);
    let of_marks = groups.filter(|group| {
        let class = group.split("class=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or("");
        class.contains(mark) && class.contains("marks")
    });
    let shapes =
        |group: &str| ["<path", "<line", "<text"].iter().map(|shape| group.matches(shape).count()).sum::<usize>();
    of_marks.map(shapes).sum()
}

#[test]
fn every_kind_has_its_marks_in_every_look() {
    for look in Look::ALL {
        let specifications = Kind::ALL.map(|kind| rows::example(kind, "rr:quantum=5ms").specification(look));
        for (kind, drawing) in Kind::ALL.into_iter().zip(svgs(&specifications).unwrap()) {
            let drawing = drawing.unwrap_or_else(|why| panic!("{kind:?} {look:?}: {why}"));
            for (mark, least) in marks(kind) {
                assert!(count(&drawing, mark) >= *least, "{kind:?} {look:?} {mark}: {}", count(&drawing, mark));
            }
            assert!(!drawing.contains("NaN") && !drawing.contains("undefined"), "{kind:?} {look:?}");
        }
    }
}

/// What is absent is said to be so, in words.
#[test]
fn rows_may_lack_what_is_not_known() {
    for kind in [Kind::Percentiles, Kind::Throughput, Kind::Overhead, Kind::Bars, Kind::Published, Kind::Deviation] {
        let mut chart = rows::example(kind, "rr");
        for row in &mut chart.rows {
            for field in ["low", "high", "low_ms", "high_ms", "low_ratio", "high_ratio", "nice"] {
                row.remove(field);
            }
        }
        let drawing = svg(&chart.specification(Look::Light)).unwrap();
        assert!(drawing.contains("not known"), "{kind:?}");
        assert!(!["NaN", "undefined", "null"].iter().any(|word| drawing.contains(word)), "{kind:?}");
    }
}

#[test]
fn without_rows_the_marks_are_missing() {
    let empty = Kind::ALL.map(|kind| Chart { rows: vec![], ..rows::example(kind, "rr") }.specification(Look::Light));
    for (kind, drawing) in Kind::ALL.into_iter().zip(svgs(&empty).unwrap()) {
        let drawing = drawing.unwrap();
        let (mark, least) = marks(kind)[0];
        assert!(count(&drawing, mark) < least, "{kind:?}: {}", count(&drawing, mark));
    }
}

#[test]
fn the_same_chart_gives_the_same_bytes() {
    let specifications = [Kind::Status, Kind::Boundary, Kind::Status, Kind::Boundary]
        .map(|kind| rows::example(kind, "rr").specification(Look::Paper));
    let drawings: Vec<String> = svgs(&specifications).unwrap().into_iter().map(Result::unwrap).collect();
    assert_eq!(drawings[..2], drawings[2..]);
    assert_eq!(svg(&specifications[1]).unwrap(), drawings[1]);
}

#[test]
fn names_cannot_break_out_of_the_drawing() {
    let hostile = "<script>alert(1)</script>\"'&\n]]>";
    let specifications = Kind::ALL.map(|kind| {
        let mut chart = rows::example(kind, hostile);
        for row in &mut chart.rows {
            for field in ["role", "task", "word", "panel", "what", "y", "series"] {
                if row.contains_key(field) {
                    row.insert(field.into(), hostile.into());
                }
            }
        }
        Chart { title: hostile.into(), ..chart }.specification(Look::Light)
    });
    for (kind, drawing) in Kind::ALL.into_iter().zip(svgs(&specifications).unwrap()) {
        let drawing = drawing.unwrap();
        assert!(!drawing.contains("<script") && drawing.contains("&lt;script&gt;"), "{kind:?}");
        let picture = png(&drawing, 1.0).unwrap_or_else(|why| panic!("{kind:?}: {why}"));
        assert!(picture.starts_with(b"\x89PNG"));
    }
}

#[test]
fn a_specification_has_what_the_chart_says() {
    let axes = Axes { x: Some("age (s)".into()), y: Some("part".into()), log_x: true, ..Axes::default() };
    let chart = Chart { axes, ..rows::example(Kind::Distribution, "rr") };
    let whole = chart.specification(Look::Paper);
    let encoding = &whole["spec"]["encoding"];
    assert_eq!((&encoding["x"]["title"], &encoding["y"]["title"]), (&json!("age (s)"), &json!("part")));
    assert_eq!((&encoding["x"]["scale"]["type"], &encoding["y"]["scale"]["type"]), (&json!("log"), &Value::Null));
    assert_eq!(encoding["color"]["scale"]["domain"], json!(["rr", "rr:quantum=20ms", "mlfq", "cfs@vm"]));
    assert_eq!(encoding["strokeDash"]["scale"]["domain"], json!(["sim", "vm"]));
    assert_eq!(whole["facet"]["sort"], json!(["editor", "compiler", "daemon"]));
    assert_eq!((&whole["config"]["background"], &whole["description"]), (&json!("#ffffff"), &json!("An example.")));
    // The first row of each of the twelve curves has a time of zero.
    assert_eq!(whole["data"]["values"].as_array().unwrap().len(), chart.rows.len() - 12);
}

#[test]
fn dark_pages_have_lighter_colours_and_light_ones_know_them() {
    let chart = rows::example(Kind::Bars, "mlfq");
    let range = |look: Look| {
        let whole = chart.specification(look);
        (whole["spec"]["layer"][0]["encoding"]["color"]["scale"]["range"].clone(), whole["usermeta"]["dark"].clone())
    };
    let ((light, others), (dark, none), (paper, _)) = (range(Look::Light), range(Look::Dark), range(Look::Paper));
    assert!(light == paper && light != dark && none.is_null());
    let colours = |range: &Value| range.as_array().unwrap().clone();
    let changed: Vec<Value> = colours(&light).iter().map(|colour| others[colour.as_str().unwrap()].clone()).collect();
    assert_eq!(changed, colours(&dark));
}

/// Numbers of CPUs have no halves, and times have.
#[test]
fn an_axis_of_whole_numbers_has_whole_ticks() {
    let axis = |first: f64| {
        let row = |x: f64| json!({"panel": "p", "scheduler": "rr", "venue": "sim", "x": x, "value": x});
        let rows = [first, 2.0, 4.0].map(|x| row(x).as_object().unwrap().clone()).into();
        Chart::new(("id", "", ""), Kind::Lines, rows).specification(Look::Light)["spec"]["layer"][1]["encoding"]["x"]
            .clone()
    };
    assert_eq!((&axis(1.0)["axis"]["tickMinStep"], &axis(1.0)["scale"]["zero"]), (&json!(1), &json!(false)));
    assert_eq!(axis(0.5).get("axis"), None);
}

/// What is allowed without a bound reaches to the end of the axis, and names that differ at their ends do so in their
/// labels.
#[test]
fn deviations_end_with_their_axis_and_keep_the_ends_of_names() {
    let chart = rows::example(Kind::Deviation, "");
    let whole = chart.specification(Look::Light);
    for layer in whole["layer"].as_array().unwrap() {
        let x = &layer["encoding"]["x"];
        assert_eq!((&x["scale"]["domain"], &x["scale"]["nice"]), (&json!([-15.0, 15.0]), &json!(false)), "{layer}");
    }
    let long = |end: &str| {
        json!({"what": format!("{}{end}", "M".repeat(120)), "percent": 1.0, "first": -2.0, "last": 2.0,
        "verdict": "better", "shown": ""})
    };
    let rows = ["p99", "throughput"].map(|end| long(end).as_object().unwrap().clone()).into();
    let drawing = svg(&Chart { rows, ..chart }.specification(Look::Paper)).unwrap();
    assert!(drawing.contains("p99</text>") && drawing.contains("throughput</text>"), "{drawing}");
}

#[test]
fn an_axis_begins_at_zero_where_that_is_asked_for() {
    let scale = |zero_y| {
        let axes = Axes { zero_y, ..Axes::default() };
        Chart { axes, ..rows::example(Kind::Course, "rr") }.specification(Look::Light)["spec"]["encoding"]["y"]["scale"]
            .clone()
    };
    assert_eq!((&scale(false)["zero"], &scale(true)["zero"]), (&json!(false), &json!(true)));
}

#[test]
fn names_below_bars_are_tilted_where_they_would_touch() {
    let angle = |names: [&str; 3]| {
        let row =
            |name: &&str| json!({"panel": "", "series": "a", "x": name, "value": 1.0}).as_object().unwrap().clone();
        let chart = Chart::new(("id", "", ""), Kind::Grouped, names.iter().map(row).collect());
        chart.specification(Look::Light)["spec"]["encoding"]["x"]["axis"]["labelAngle"].clone()
    };
    assert_eq!(angle(["rr", "fcfs", "ps"]), 0);
    assert_eq!(angle(["rr", "alb:version=4.9,at_wakeup=false,period=1s", "ps"]), -35);
}

#[test]
fn a_title_across_stays_within_its_panel() {
    let title = |panels: &[&str], x: &str| {
        let row =
            |panel: &&str| json!({"panel": panel, "series": "a", "x": 1, "value": 1.0}).as_object().unwrap().clone();
        let axes = Axes { x: Some(x.into()), ..Axes::default() };
        let chart = Chart { axes, ..Chart::new(("id", "", ""), Kind::Grouped, panels.iter().map(row).collect()) };
        chart.specification(Look::Light)["spec"]["encoding"]["x"]["title"].clone()
    };
    let long = "nice value of the lower task; that of the higher one is 0";
    assert_eq!(title(&["a", "b"], long), json!(["nice value of the lower task; that of the higher", "one is 0"]));
    assert_eq!(title(&["a"], long), long);
    assert_eq!(title(&["a", "b"], "threads"), "threads");
}

#[test]
fn one_venue_needs_no_legend_and_one_panel_no_head() {
    let mut chart = rows::example(Kind::Lines, "rr");
    chart.rows.retain(|row| row.get("venue").is_none_or(|venue| venue == "sim"));
    chart.rows.iter_mut().for_each(|row| drop(row.remove("panel")));
    let whole = chart.specification(Look::Light);
    assert!(whole.get("facet").is_none() && whole.get("spec").is_none());
    let line = &whole["layer"][1]["encoding"];
    assert_eq!(line["strokeDash"]["legend"], Value::Null);
    assert!(line["strokeDash"].as_object().unwrap().contains_key("legend"));
    assert_eq!(whole["width"], 600);
    assert!(count(&svg(&whole).unwrap(), "mark-line") >= 3);
}

#[test]
fn large_maps_are_without_numbers() {
    let cell = |at: usize| json!({"panel": "rr", "x": at % 20, "y": at / 20, "value": at});
    let rows: Vec<Row> = (0..400).filter_map(|at| cell(at).as_object().cloned()).collect();
    let drawing = svg(&Chart { rows, ..rows::example(Kind::Boundary, "") }.specification(Look::Light)).unwrap();
    assert_eq!((count(&drawing, "mark-rect"), count(&drawing, "mark-text marks")), (400, 0));
}

#[test]
fn what_is_wrong_is_told() {
    let wrong = json!({"mark": "bar", "transform": [{"calculate": "1 + (", "as": "two"}]});
    let nothing = json!({"mark": "no such mark"});
    for specification in [wrong, nothing] {
        let Err(DrawError::Runtime(why)) = svg(&specification) else { panic!("{specification} was drawn") };
        assert!(!why.is_empty());
    }
    assert!(matches!(png("no drawing", 1.0), Err(DrawError::Svg(_))));
    let small = "<svg xmlns='http://www.w3.org/2000/svg' width='10' height='10'/>";
    assert!(matches!(png(small, 1e6), Err(DrawError::Size { .. })));
    assert!(png(small, 2.0).is_ok());
}

#[test]
fn a_failure_does_not_spoil_what_follows() {
    let good = rows::example(Kind::Bars, "rr").specification(Look::Light);
    let drawings = svgs(&[json!({"mark": 1}), good]).unwrap();
    assert!(drawings[0].is_err() && drawings[1].is_ok());
}
