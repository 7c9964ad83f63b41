//! Rows as measurements have them, of every kind.

use schedlab_charts::{Arrow, Axes, Chart, Kind, Node, Row, ring};
use serde_json::{Value, json};

/// An example of a kind, in which the first scheduler has the given label.
pub fn example(kind: Kind, first: &str) -> Chart {
    let labels = [first, "rr:quantum=20ms", "mlfq", "cfs@vm"];
    let rows = match kind {
        Kind::Load => load(&labels),
        Kind::Percentiles => percentiles(&labels),
        Kind::Distribution => distribution(&labels),
        Kind::CpuLoad => cpu_load(&labels),
        Kind::RoleShare => role_share(&labels),
        Kind::Status => status(&labels),
        Kind::Throughput => throughput(&labels),
        Kind::Overhead => overhead(&labels),
        Kind::Boundary => boundary(),
        Kind::Lines => lines(&labels),
        Kind::Bars => bars(&labels),
        Kind::Histogram => histogram(&labels),
        Kind::Course => course(&labels),
        Kind::Grouped => grouped(&labels),
        Kind::Published => published(),
        Kind::History => history(&labels),
        Kind::Deviation => deviation(),
        Kind::Graph => graph(first),
    };
    let axes = match kind {
        Kind::Distribution => Axes { log_x: true, ..Axes::default() },
        Kind::Percentiles => Axes { log_y: true, ..Axes::default() },
        Kind::Boundary => Axes {
            x: Some("quantum (ms)".into()),
            y: Some("load (parts of 1)".into()),
            value: Some("mean response, over that of fcfs (ratio)".into()),
            middle: Some(1.0),
            ..Axes::default()
        },
        Kind::Lines => Axes { x: Some("tasks (number)".into()), ..Axes::default() },
        _ => Axes::default(),
    };
    let title = format!("What {} shows", kind.name());
    Chart { id: kind.name().into(), title, caption: "An example.".into(), kind, rows, axes }
}

/// A row for each label, with the venue that the label ends in.
fn each(labels: &[&str], mut fields: impl FnMut(usize) -> Vec<Value>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, label) in labels.iter().enumerate() {
        let venue = label.rsplit_once('@').map_or("sim", |(_, venue)| venue);
        for fields in fields(at) {
            let mut row = Row::from_iter([("scheduler".into(), json!(label)), ("venue".into(), json!(venue))]);
            row.extend(object(fields));
            rows.push(row);
        }
    }
    rows
}

fn object(value: Value) -> Row {
    value.as_object().cloned().unwrap_or_default()
}

fn load(labels: &[&str]) -> Vec<Row> {
    each(labels, |at| {
        let of = |load: i32| (-(f64::from(load) - 2.0 - at as f64).powi(2) / 4.0).exp() / 3.5;
        let seen =
            |load, seen, factor: f64| json!({"load": load, "least": load, "fraction": of(load) * factor, "seen": seen});
        (0..9).flat_map(|load| [seen(load, "true", 1.0), seen(load, "estimated", 0.9)]).collect()
    })
}

fn percentiles(labels: &[&str]) -> Vec<Row> {
    let names = ["p50", "p90", "p99", "p999", "max"];
    let mut rows = Vec::new();
    for (panel, slow) in [("editor", 1.0), ("compiler", 30.0)] {
        rows.extend(each(labels, |at| {
            let time = |step: usize| slow * (1.0 + at as f64) * 3f64.powi(step as i32);
            let row = |(step, name): (usize, &&str)| {
                let ms = time(step);
                let mut row = json!({"panel": panel, "percentile": name, "time_ms": ms});
                if at != 1 {
                    row["low_ms"] = json!(0.7 * ms);
                    row["high_ms"] = json!(1.4 * ms);
                }
                row
            };
            names.iter().enumerate().map(row).collect()
        }));
    }
    rows
}

fn distribution(labels: &[&str]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (panel, slow) in [("editor", 1.0), ("compiler", 30.0), ("daemon", 4.0)] {
        rows.extend(each(labels, |at| {
            let time = |fraction: f64| -slow * (1.0 + at as f64) * (1.0 - fraction).ln();
            let fractions = (0..60).map(|step| f64::from(step) / 60.0);
            fractions.map(|it| json!({"panel": panel, "time_ms": time(it), "fraction": it})).collect()
        }));
    }
    rows
}

fn cpu_load(labels: &[&str]) -> Vec<Row> {
    each(&labels[..2], |at| {
        let cell = |cpu: i32, step: i32| {
            let tasks = (8 - cpu - step / 8 * (1 + at as i32)).max(1 + (cpu + step) % 2);
            json!({"from_s": 0.25 * f64::from(step), "to_s": 0.25 * f64::from(step + 1), "cpu": cpu, "tasks": tasks})
        };
        (0..8).flat_map(|cpu| (0..40).map(move |step| cell(cpu, step))).collect()
    })
}

fn role_share(labels: &[&str]) -> Vec<Row> {
    each(labels, |at| {
        let share = |step: i32, role: usize| 0.28 + 0.05 * (f64::from(step) / (2.0 + at as f64) + role as f64).sin();
        let roles = ["editor", "compiler", "daemon"].into_iter().enumerate();
        let course = |(number, role)| {
            (0..30).map(move |step| json!({"from_s": step, "role": role, "share": share(step, number)}))
        };
        roles.flat_map(course).collect()
    })
}

fn status(labels: &[&str]) -> Vec<Row> {
    let words = ["interactive", "in between", "batch"];
    each(&labels[..2], |at| {
        let course = |task: usize| {
            let word = move |step: usize| words[(step * (task + 1) / 3 + at) % 3];
            let name = ["editor/0", "compiler/0", "compiler/1"][task];
            (0..10).map(move |step| json!({"time_s": step as f64 / 2.0, "task": name, "word": word(step)}))
        };
        (0..3).flat_map(course).collect()
    })
}

fn throughput(labels: &[&str]) -> Vec<Row> {
    each(labels, |at| {
        let row = |(step, role): (usize, &str)| {
            let per_s = 12.0 + 30.0 * step as f64 - 3.0 * at as f64;
            json!({"role": role, "nice": 5 - 5 * step as i64, "per_s": per_s, "low": per_s - 2.0, "high": per_s + 2.0})
        };
        ["background", "usual", "urgent"].into_iter().enumerate().map(row).collect()
    })
}

fn overhead(labels: &[&str]) -> Vec<Row> {
    each(labels, |at| {
        let row = |tasks: i32| {
            let percent = 0.4 + f64::from(tasks) * 0.02 * (1.0 + at as f64);
            json!({"tasks": tasks, "percent": percent, "low": 0.9 * percent, "high": 1.1 * percent})
        };
        [1, 10, 25, 50, 75, 100].into_iter().map(row).collect()
    })
}

fn boundary() -> Vec<Row> {
    let mut rows = Vec::new();
    for panel in ["rr", "mlfq"] {
        for (down, load) in ["0.5", "0.7", "0.9", "0.95"].iter().enumerate() {
            for (across, quantum) in [1, 2, 5, 10, 20, 50].iter().enumerate() {
                let value = 0.4 + 0.25 * across as f64 + 0.12 * down as f64;
                rows.push(object(json!({"panel": panel, "x": quantum, "y": load, "value": value})));
            }
        }
    }
    rows
}

fn lines(labels: &[&str]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (panel, scale) in [("p99 of response (ms)", 1.0), ("switches (1/s)", 900.0), ("Jain's index", 0.01)] {
        rows.extend(each(labels, |at| {
            let value = |x: i32| scale * (1.0 + at as f64 + f64::from(x).sqrt());
            let point =
                |x| json!({"panel": panel, "x": x, "value": value(x), "low": 0.9 * value(x), "high": 1.2 * value(x)});
            [2, 4, 8, 16, 32].into_iter().map(point).collect()
        }));
    }
    rows.push(object(json!({"panel": "p99 of response (ms)", "target": 4.0})));
    rows
}

fn bars(labels: &[&str]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (panel, scale) in [("mean response (ms)", 10.0), ("migrations (1/s)", 2000.0)] {
        rows.extend(each(labels, |at| {
            let value = scale * (1.5 + at as f64);
            vec![json!({"panel": panel, "value": value, "low": 0.9 * value, "high": 1.1 * value})]
        }));
    }
    rows
}

fn histogram(labels: &[&str]) -> Vec<Row> {
    each(labels, |at| {
        let bar = |(from, percent): (u32, u32)| json!({"panel": labels[at], "from": from, "to": from + 25, "percent": percent});
        [(650, 25), (850, 50), (1150, 25)].into_iter().map(bar).collect()
    })
}

fn course(labels: &[&str]) -> Vec<Row> {
    let point = |series: &str, at: u32| {
        object(json!({"panel": "all", "series": series, "x": at / 2, "value": 120 + at.div_ceil(2), "order": at}))
    };
    labels.iter().flat_map(|series| (0..8).map(|at| point(series, at))).collect()
}

fn grouped(labels: &[&str]) -> Vec<Row> {
    let bar =
        |series: &str, x: u32| object(json!({"panel": "all", "x": x.to_string(), "series": series, "value": 10 * x}));
    labels.iter().flat_map(|series| (1..=6).map(|x| bar(series, x))).collect()
}

fn published() -> Vec<Row> {
    let row = |what: &str, ratio: Option<f64>, verdict: &str| {
        object(json!({"what": what, "ratio": ratio, "low_ratio": 0.9, "high_ratio": 1.1, "verdict": verdict,
            "published": "12.5", "seen": ratio.map_or("-".into(), |ratio| format!("{:.2}", 12.5 * ratio)), "unit": "ms"}))
    };
    vec![
        row("mean response of the editor under Linux 2.4", Some(1.04), "holds"),
        row("mean response of the editor under Windows 2000", Some(1.31), "differs"),
        row("context switches of a shell", Some(0.99), "fitted"),
        row("requests per second with 100 tasks", None, "not run"),
        row("overhead with 50 tasks", Some(0.97), "cannot tell"),
    ]
}

fn history(labels: &[&str]) -> Vec<Row> {
    let changes = ["first", "same", "higher", "same", "lower"];
    each(labels, |at| {
        let row = |(number, change): (usize, &&str)| {
            json!({
                "panel": "heavy-load in sim, worker.response_ns.p99 (ms)", "revision": format!("{number}ab"),
                "subject": "a change", "value": 1000 + 10 * at + number, "change": change, "verdict": "same",
            })
        };
        changes.iter().enumerate().map(row).collect()
    })
}

fn deviation() -> Vec<Row> {
    let row = |what: &str, percent: Option<f64>, verdict: &str| {
        let [low, high] = [-1.0, 1.0].map(|side| percent.map(|percent| percent + side));
        object(json!({"what": what, "percent": percent, "low": low, "high": high, "least": -5.0, "most": 5.0,
            "first": -15.0, "last": 15.0, "verdict": verdict, "shown": "10.1 ms → 10.4 ms"}))
    };
    vec![
        row("locks under rr, p99 of worker", Some(1.3), "agrees"),
        row("pipes under cfs, p50 of stage", Some(-40.0), "biased"),
        row("sockets under rr, mean of client", Some(4.8), "undecided"),
        row("io under ule", None, "failed"),
    ]
}

fn graph(first: &str) -> Vec<Row> {
    let node = |role: &str| Node { role: role.into(), about: "4 tasks".into() };
    let nodes = [first, "worker", "logger", "timer"].map(node);
    let arrows = [(0, 1, 12_000), (1, 0, 11_500), (1, 2, 800), (3, 0, 90)];
    ring(&nodes, &arrows.map(|(from, to, times)| Arrow { from, to, times }))
}
