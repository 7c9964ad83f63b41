//! Several runs: what is shown as their mean is their mean.

use crate::lab::Lab;
use schedlab_model::metric::{self, Combine, Level};
use serde_json::Value;
use std::collections::BTreeSet;

/// Runs that differ in every way: arrivals, lengths, costs; and a role that in some of them has no request at all.
const LIVELY: &str = r#"
name = "lively"
[machine]
cpus = 2
tick = "1ms"
costs = { switch = "2us", wakeup = "1us", migration = "10us", tick = "1us", policy_instruction = "300ps" }
[[task]]
name = "job"
arrivals = "exp(9ms)"
once = [{ compute = "lognormal(5ms, 1)" }]
[[task]]
name = "worker"
count = 3
nice = 3
loop = [{ compute = "exp(7ms)" }, { sleep = "uniform(1ms, 9ms)" }]
[[task]]
name = "rare"
arrivals = "exp(900ms)"
once = [{ compute = "4ms" }]
[run]
duration = "700ms"
"#;

const RUNS: usize = 5;

/// The outcome of several runs, and the result of each of them.
fn many_and_each(lab: &Lab) -> (Value, Vec<Value>) {
    lab.write("lively.toml", LIVELY);
    let args = ["run", "lively.toml", "--policy", "rr:quantum=2ms", "--json", "--quiet"];
    let many = lab.json(&[&args[..], &["--runs", &RUNS.to_string()]].concat());
    let seeds: Vec<String> = many["runs"]["seeds"].as_array().unwrap().iter().map(Value::to_string).collect();
    assert_eq!((many["schema"].as_str(), seeds.len()), (Some("schedlab.runs/2"), RUNS));
    let each = seeds.iter().map(|seed| lab.json(&[&args[..], &["--seed", seed]].concat())).collect();
    (many, each)
}

fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, key| value.get(key))
}

/// What each run says at a path of a part, read from its JSON alone. In a distribution that is there, what is not listed
/// is zero.
fn values(parts: &[&Value], path: &str, is_distribution: bool) -> Vec<f64> {
    let value = |part: &&Value| match (at(part, path), is_distribution) {
        (Some(value), _) => value.as_f64(),
        (None, true) => at(part, path.rsplit_once('.')?.0).map(|_| 0.0),
        (None, false) => None,
    };
    parts.iter().filter_map(value).collect()
}

/// The paths of a metric that are in some of these parts: of a distribution one for each number.
fn paths(parts: &[&Value], path: &str) -> BTreeSet<String> {
    let Some(base) = path.strip_suffix(".K") else { return [path.to_string()].into() };
    let keys = parts.iter().filter_map(|part| at(part, base)?.as_object()).flat_map(|loads| loads.keys());
    keys.map(|key| format!("{base}.{key}")).collect()
}

/// Walks the table of metrics: each of each part is the mean of the runs that know it, and of nothing else.
#[test]
fn every_number_of_several_runs_is_their_mean() {
    let (many, each) = many_and_each(&Lab::new());
    let list = |run: &Value, list: &str| run[list].as_array().unwrap().len();
    let (mut checked, mut differing, mut partly) = (0, 0, 0);
    for metric in metric::all() {
        let (name, count) = match metric.level {
            Level::Task | Level::Role => ("roles", list(&many, "roles")),
            // The scenario has none.
            Level::ControlGroup => continue,
            Level::Cpu => ("cpus", list(&many, "cpus")),
            Level::Run => ("", 1),
        };
        for index in 0..count {
            let part =
                |run: &'_ Value| -> Value { if name.is_empty() { run.clone() } else { run[name][index].clone() } };
            let (whole, parts): (Value, Vec<Value>) = (part(&many), each.iter().map(part).collect());
            let parts: Vec<&Value> = parts.iter().collect();
            for path in paths(&parts, &metric.path) {
                let known = values(&parts, &path, metric.is_distribution());
                let combined = whole["metrics"].get(&path);
                assert_eq!(combined.is_some(), !known.is_empty(), "{name} {index} {path}: {combined:?}");
                let Some(combined) = combined else { continue };
                let sum: f64 = known.iter().sum();
                let (key, expected) = match metric.combine {
                    Combine::Mean => ("mean", sum / known.len() as f64),
                    Combine::Sum => ("sum", sum),
                };
                let number = combined[key].as_f64().unwrap();
                assert!(
                    (number - expected).abs() <= 1e-12 * expected.abs(),
                    "{name} {index} {path}: {number} for {expected}"
                );
                assert_eq!(combined["n"], known.len(), "{name} {index} {path}");
                let own: Vec<f64> = combined["values"].as_array().unwrap().iter().filter_map(Value::as_f64).collect();
                assert_eq!(own, known, "{name} {index} {path}");
                if let (Some(low), Some(high)) = (combined["low"].as_f64(), combined["high"].as_f64()) {
                    assert!(low <= number && number <= high, "{path}: {combined}");
                }
                checked += 1;
                differing += usize::from(known.iter().any(|value| *value != known[0]));
                partly += usize::from(known.len() < RUNS);
            }
        }
    }
    assert!(
        checked > 300 && differing > 200 && partly > 10,
        "{checked} numbers, {differing} differ, {partly} in some runs"
    );
}

/// The same for what a terminal shows.
#[test]
fn a_page_of_several_runs_shows_means() {
    let lab = Lab::new();
    let (_, each) = many_and_each(&lab);
    let page = lab.out(&["run", "lively.toml", "--policy", "rr:quantum=2ms", "--quiet", "--runs", "5"]);
    let mean = |path: &str| each.iter().map(|run| pointer(run, path)).sum::<f64>() / RUNS as f64;
    let shown = |line: &str, numbers: &[String]| {
        let line = page
            .lines()
            .find(|text| text.trim_start().starts_with(line))
            .unwrap_or_else(|| panic!("no {line}:\n{page}"));
        numbers
            .iter()
            .for_each(|number| assert!(line.split_whitespace().any(|word| word == number), "{number}: {line}"));
    };
    // Done and CPU share; switches; the CPUs; the variation of the tasks; loads; events.
    let (done, share) = (mean("/roles/1/requests"), 100.0 * mean("/roles/1/cpu_share"));
    shown("worker", &[format!("{done:.1}"), format!("{share:.1}")]);
    shown("0 ", &[format!("{:.1}", 100.0 * mean("/cpus/0/busy_frac"))]);
    let load = 100.0 * mean("/load_distribution/true/1");
    shown("tasks on a CPU", &[format!("{load:.1}")]);
    let seen = 100.0 * mean("/load_distribution/estimated/1");
    shown("as requests see it", &[format!("{seen:.1}")]);
    let events = page.lines().find(|line| line.starts_with("events")).unwrap();
    for (path, what) in [("/events/switches", "switches"), ("/events/wakeups", "wake-ups")] {
        let number = events.split(&format!(" {what}")).next().unwrap().rsplit(' ').next().unwrap();
        assert!((number.parse::<f64>().unwrap() - mean(path)).abs() <= 0.05, "{number} {what} for {}", mean(path));
    }
    assert!(page.contains(&format!("{:.3}", mean("/roles/1/cv_of_task_means/population"))), "{page}");
    let flat = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("of rare: means of 3 of the 5 runs; the others have none."), "{page}");
}

fn pointer(run: &Value, path: &str) -> f64 {
    run.pointer(path).and_then(Value::as_f64).unwrap_or(0.0)
}

/// Metrics of studies that once were those of the first run.
#[test]
fn studies_of_several_runs_see_means() {
    let lab = Lab::new();
    let (_, each) = many_and_each(&lab);
    let metrics = ["slowdown.p50", "preempt_wait_ns.mean", "turnaround_ns.p99", "requests"];
    let columns: Vec<String> =
        metrics.iter().map(|path| format!("{{ head = \"{path}\", metric = \"roles.job.{path}\" }}")).collect();
    let study = format!(
        "name = \"means\"\ntitle = \"Means\"\ngoal = \"None.\"\n[[question]]\nid = \"Q\"\nasks = \"What?\"\n\
         [[question.run]]\nname = \"r\"\nscenario = \"lively.toml\"\npolicy = \"rr:quantum=2ms\"\nruns = {RUNS}\n\
         [[question.table]]\ntitle = \"t\"\nrun = \"r\"\ncolumn = [{}]\n",
        columns.join(", ")
    );
    lab.write("means.toml", study);
    let page = lab.json(&["study", "means.toml", "--json", "--quiet"]);
    assert_eq!(page["schema"], "schedlab.study/1");
    lab.assert_described("study-result", &page);
    let cells = page["questions"][0]["tables"][0]["rows"][0]["cells"].as_array().unwrap();
    for (path, cell) in metrics.iter().zip(cells) {
        let parts: Vec<&Value> = each.iter().map(|run| &run["roles"][0]).collect();
        let known = values(&parts, path, false);
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        assert!((cell.as_f64().unwrap() - mean).abs() <= 1e-9 * mean, "{path}: {cell} for {mean}");
        assert!(known.iter().any(|value| (value - mean).abs() > 1e-3 * mean), "{path}: runs do not differ");
    }
}

#[test]
fn a_metric_that_is_none_is_told_where_it_stands() {
    let lab = Lab::new();
    lab.write("lively.toml", LIVELY);
    let study = |column: &str| {
        format!(
            "name = \"s\"\ntitle = \"S\"\ngoal = \"None.\"\n[[question]]\nid = \"Q\"\nasks = \"What?\"\n\
             [[question.run]]\nname = \"r\"\nscenario = \"lively.toml\"\npolicy = \"rr\"\n\
             [[question.table]]\ntitle = \"t\"\nrun = \"r\"\ncolumn = [{{ head = \"h\", {column} }}]\n"
        )
    };
    for (column, told) in [
        (
            "metric = \"roles.job.respons_ns.p99\"",
            "there is no metric `respons_ns.p99`: did you mean `response_ns.p99`?",
        ),
        ("metric = \"roles.job.slowdown\"", "did you mean `slowdown.mean`?"),
        ("metric = \"response_ns.p99\"", "it is one of a role: `roles.NAME.response_ns.p99`"),
        (
            "metric = \"roles.job.cpu_share\", unit = \"ms\"",
            "`roles.job.cpu_share` is not a number in `ms`: its unit is fraction",
        ),
    ] {
        lab.write("s.toml", study(column));
        let output = lab.run(&["study", "s.toml"]);
        assert_eq!(output.code, Some(2), "{column}: {}", output.err);
        assert!(output.err.starts_with("schedlab: s.toml:") && output.err.contains(told), "{column}: {}", output.err);
    }
    lab.write(
        "w.toml",
        "scenario = \"lively.toml\"\npolicy = \"rr\"\nmeasures = [\"respons_ns.p99\"]\n[axis]\nseed = [1]\n",
    );
    let output = lab.run(&["sweep", "w.toml", "--plan"]);
    assert!(output.err.contains("did you mean `response_ns.p99`?"), "{}", output.err);
}
