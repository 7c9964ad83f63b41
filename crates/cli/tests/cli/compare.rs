//! `schedlab compare`: what is kept, and variants.

use crate::lab::Lab;
use serde_json::Value;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

/// Two tasks of which one can be made nicer.
const PAIR: &str = r#"
name = "pair"
[machine]
cpus = 1
[[task]]
name = "a"
loop = [{ compute = "exp(3ms)" }]
[[task]]
name = "b"
loop = [{ compute = "exp(3ms)" }]
[run]
duration = "2s"
"#;

/// A laboratory with a cache of its own.
struct Own(Lab);

impl Own {
    fn new() -> Own {
        let lab = Lab::new();
        lab.write("pair.toml", PAIR);
        Own(lab)
    }

    fn run(&self, args: &[&str]) -> (Option<i32>, String, String) {
        let output = self.0.command(args).env("XDG_CACHE_HOME", self.0.path("cache")).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    fn json(&self, args: &[&str]) -> Value {
        let (code, out, err) = self.run(&[args, &["--json", "--quiet"]].concat());
        assert_eq!(code, Some(0), "{args:?}: {err}");
        serde_json::from_str(&out).unwrap()
    }
}

#[test]
fn what_is_known_gives_the_same_bytes_and_fresh_makes_it_again() {
    let own = Own::new();
    let base = ["compare", "pair.toml", "--policy", "rr,mlfq", "--runs", "3"];
    let (_, first, told) = own.run(&base);
    assert!(!told.contains("from the cache"), "{told}");
    let (_, again, told) = own.run(&base);
    assert!(told.contains("6 runs reused from the cache; --fresh repeats them"), "{told}");
    assert_eq!(again, first);
    let (_, fresh, told) = own.run(&[&base[..], &["--fresh"]].concat());
    assert!(!told.contains("from the cache") && fresh == first, "{told}");
    let (_, _, told) = own.run(&["compare", "pair.toml", "--policy", "rr,cfs", "--runs", "4"]);
    assert!(told.contains("3 runs reused from the cache"), "one policy and three seeds are known: {told}");
    assert_eq!(own.json(&base), own.json(&[&base[..], &["--fresh"]].concat()));
}

/// Ctrl-C ends it; the same command continues with the runs that are missing.
#[test]
fn a_comparison_that_was_stopped_goes_on() {
    let own = Own::new();
    let base = ["compare", "pair.toml", "--policy", "rr,mlfq", "--runs", "40", "--duration", "100s", "--threads", "1"];
    let mut command = own.0.command(&base);
    command.env("XDG_CACHE_HOME", own.0.path("cache")).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let kept = || files(&own.0.path("cache/schedlab/runs"));
    // The hash of the program and two runs are there: some are done, and most are not.
    while kept() < 3 {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was stopped");
        std::thread::sleep(Duration::from_millis(5));
    }
    // SAFETY: the child has not been waited for, so its number is its own.
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGINT) }, 0);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let there = kept() - 1;
    assert!((2..80).contains(&there), "{there}");
    let (code, resumed, told) = own.run(&base);
    assert_eq!(code, Some(0));
    assert!(told.contains(&format!("{there} runs reused from the cache")), "{there}: {told}");
    let (_, fresh, _) = own.run(&[&base[..], &["--fresh"]].concat());
    assert_eq!(resumed, fresh);
}

fn files(folder: &std::path::Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries
        .map(
            |path| {
                if path.is_dir() { files(&path) } else { usize::from(path.extension().is_some_and(|e| e == "json")) }
            },
        )
        .sum()
}

#[test]
fn variants_are_compared_like_policies() {
    let own = Own::new();
    let base = ["compare", "pair.toml", "--vary", "task.b.nice=0,5", "--vary", "machine.cpus=1,2", "--runs", "5"];
    let one = own.json(&[&base[..], &["--policy", "cfs"]].concat());
    let names = ["nice=0 cpus=1", "nice=0 cpus=2", "nice=5 cpus=1", "nice=5 cpus=2"];
    assert_eq!(one["policies"], Value::from(names.to_vec()));
    assert_eq!(one["variants"][2], serde_json::json!({ "task.b.nice": 5, "machine.cpus": 1 }));
    assert_eq!(one["results"][3]["scenario"]["cpus"], 2);
    let share = |policy: &str| {
        let differences = one["differences"].as_array().unwrap();
        let is = |d: &&Value| d["policy"] == policy && d["role"] == "b" && d["metric"] == "cpu_share";
        let found = differences.iter().find(is).unwrap();
        // Under cfs the share itself repeats: that is shown as exact.
        assert!(found["evidence"] == "runs" || found["ratio_interval"].is_null(), "{found}");
        found["ratio"].as_f64().unwrap()
    };
    // Weights of nice 0 and 5 are 1024 and 335: b gets 335 of 1359 instead of a half, and with a CPU of its own as much as a.
    assert!((share("nice=5 cpus=1") - 2.0 * 335.0 / 1359.0).abs() < 0.02, "{}", share("nice=5 cpus=1"));
    assert!((share("nice=5 cpus=2") - 1.0).abs() < 0.01, "{}", share("nice=5 cpus=2"));
    let two = own.json(&["compare", "pair.toml", "--vary", "task.b.nice=0,5", "--policy", "cfs,rr"]);
    let names = ["cfs nice=0", "cfs nice=5", "rr nice=0", "rr nice=5"];
    assert_eq!(two["policies"], Value::from(names.to_vec()));
    let parameters = own.json(&["compare", "pair.toml", "--vary", "policy.quantum=1ms,5ms", "--policy", "rr"]);
    assert_eq!(parameters["policies"], Value::from(vec!["rr:quantum=1ms", "rr:quantum=5ms"]));
    let drawn =
        ["compare", "pair.toml", "--policy", "rr", "--vary", "task.a.loop.0.compute=uniform(1ms, 3ms),exp(2ms)"];
    let drawn = own.json(&drawn);
    assert_eq!(drawn["policies"], Value::from(vec!["compute=uniform(1ms, 3ms)", "compute=exp(2ms)"]));
    let (_, page, _) = own.run(&[&base[..], &["--policy", "cfs"]].concat());
    assert!(
        page.starts_with("pair: 2s on 1 or 2 CPUs in sim, means of 5 runs") && page.contains("\nvariant "),
        "{page}"
    );
}

/// An editor wakes at the end of a slice, always: a little later it would wait for one more.
const DESK: &str = r#"
name = "desk"
[machine]
cpus = 1
[[task]]
name = "editor"
loop = [{ sleep = "100ms" }, { compute = "2ms" }]
[[task]]
name = "hog"
count = 2
loop = [{ compute = "300ms" }]
[run]
duration = "10s"
"#;

/// What repeats exactly is named with what small changes do to it, and never as an interval.
#[test]
fn phase_locking_is_not_sold_as_certainty() {
    let own = Own::new();
    own.0.write("desk.toml", DESK);
    let base = ["compare", "desk.toml", "--policy", "cfs,rr:quantum=20ms"];
    let comparison = own.json(&base);
    let ms = |change: &Value, key: &str| change[key].as_f64().unwrap() / 1e6;
    let changes = comparison["changes"].as_array().unwrap();
    let is_locked = |change: &&Value| {
        change["policy"] == "rr:quantum=20ms" && change["role"] == "editor" && change["metric"] == "response_ns.mean"
    };
    let locked = changes.iter().find(is_locked).unwrap();
    // As it stands it waits for one slice; 101 ms of sleep give 41 ms, 97 ms give 25.
    assert_eq!(ms(locked, "value"), 22.0);
    assert!(ms(locked, "low") == 22.0 && (41.0..42.0).contains(&ms(locked, "high")), "{locked}");
    for difference in comparison["differences"].as_array().unwrap() {
        assert_eq!(difference["evidence"], "exact");
        assert!(difference["ratio_interval"].is_null() && difference["difference_interval"].is_null(), "{difference}");
        assert_eq!(difference["under_changes"]["copies"], 10);
    }
    let (_, page, _) = own.run(&base);
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!page.contains("95") && words.contains("copies with small changes of tick offset"), "{page}");
    assert!(words.contains(" under small changes)"), "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    assert_eq!(own.run(&[&base[..], &["--fresh"]].concat()).1, page, "the changes are drawn by name");
    let (_, plain, _) = own.run(&[&base[..], &["--perturb", "0"]].concat());
    assert!(!plain.contains("95") && plain.contains("--perturb 10 tries small changes"), "{plain}");
    let (_, many, _) = own.run(&["run", "desk.toml", "--policy", "rr:quantum=20ms", "--runs", "12"]);
    assert!(!many.contains("interval") && many.contains("All 12 runs gave the same numbers"), "{many}");
    // What chance does not touch repeats in addition to what it does: two CPUs, of which the other has a random task.
    let beside = DESK.replace("cpus = 1", "cpus = 2").replace("name = \"editor\"", "name = \"editor\"\ncpus = \"0\"");
    let beside = beside.replace("name = \"hog\"", "name = \"hog\"\ncpus = \"0\"")
        + "[[task]]\nname = \"noise\"\ncpus = \"1\"\nloop = [{ compute = \"exp(3ms)\" }]\n";
    own.0.write("beside.toml", beside);
    let beside = own.json(&["compare", "beside.toml", "--policy", "cfs,rr:quantum=20ms", "--runs", "3"]);
    let of = |role: &str| {
        let differences = beside["differences"].as_array().unwrap();
        let is = |d: &&Value| d["role"] == role && d["metric"] == "response_ns.mean";
        differences.iter().find(is).unwrap().clone()
    };
    assert_eq!((&of("editor")["evidence"], &of("noise")["evidence"]), (&"exact".into(), &"runs".into()));
    assert_eq!(of("editor")["under_changes"]["copies"], 10, "{}", of("editor"));
}

#[test]
fn what_cannot_be_varied_is_told() {
    let own = Own::new();
    let wrong = |vary: &str| {
        let (code, out, err) = own.run(&["compare", "pair.toml", "--policy", "rr", "--vary", vary]);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
        err
    };
    assert!(wrong("task.b.nize=0,5").contains("did you mean `nice`?"), "{}", wrong("task.b.nize=0,5"));
    assert!(wrong("tsk.b.nice=0,5").contains("did you mean `task`?"));
    assert!(wrong("task.b.nice=0,500").contains("500"));
    assert!(wrong("policy.quantom=1ms").contains("quantum"), "{}", wrong("policy.quantom=1ms"));
    assert!(wrong("run.seed=1,2").contains("--runs"));
    assert!(wrong("task.b.nice").contains("PATH=VALUE"));
}

/// Policies that can be run nowhere cost only themselves.
#[test]
fn what_can_be_run_is_run() {
    let lab = Lab::with_small();
    let output = lab.run(&["compare", "small.toml", "--policy", "rr,kernel,fcfs", "--quiet"]);
    assert_eq!(output.code, Some(1), "{}", output.err);
    assert!(output.out.contains("\nrr ") && output.out.contains("\nfcfs "), "{}", output.out);
    assert!(output.err.contains("policy kernel cannot be run in the venue `sim`"), "{}", output.err);
    let none = lab.run(&["compare", "small.toml", "--policy", "kernel", "--quiet"]);
    assert_eq!((none.code, none.out.as_str()), (Some(2), ""), "{}", none.err);
}

/// What failed, and how sure the numbers are, goes with them.
#[test]
fn what_is_exported_says_what_failed() {
    let lab = Lab::with_small();
    let files = ["--export", "n.md", "--export", "n.csv"];
    let args = ["compare", "small.toml", "--policy", "rr,kernel,fcfs", "--runs", "2", "--quiet"];
    assert_eq!(lab.run(&[&args[..], &files].concat()).code, Some(1));
    let read = |name: &str| fs::read_to_string(lab.path(name)).unwrap();
    let markdown = read("n.md");
    assert!(markdown.contains("\n## Failures\n\n- policy kernel cannot be run"), "{markdown}");
    let rows = rows(&read("n.csv"));
    let failed = rows.iter().find(|row| row["table"] == "failure").unwrap();
    assert_eq!(failed["policy"], "kernel");
    assert!(failed["note"].starts_with("policy kernel cannot be run in the venue `sim`"), "{failed:?}");
    // Where nothing has numbers, the reason is all there is.
    lab.policy("gives_up.bpf.c");
    let lost = ["compare", "small.toml", "--policy", "./gives_up.bpf.c", "--quiet", "--export", "lost.md"];
    assert_eq!(lab.run(&lost).code, Some(1));
    assert!(read("lost.md").contains("\n\n## Failures\n\n- "), "{}", read("lost.md"));
}

/// The lines of a CSV file by their columns. No field of these has a line end.
fn rows(csv: &str) -> Vec<std::collections::BTreeMap<String, String>> {
    let fields = |line: &str| {
        let mut fields = vec![String::new()];
        let mut is_quoted = false;
        for letter in line.chars() {
            match letter {
                '"' => is_quoted ^= true,
                ',' if !is_quoted => fields.push(String::new()),
                _ => fields.last_mut().unwrap().push(letter),
            }
        }
        fields
    };
    let mut lines = csv.lines().map(fields);
    let head = lines.next().unwrap();
    let row = |fields: Vec<String>| {
        assert_eq!(fields.len(), head.len(), "{csv}");
        head.iter().cloned().zip(fields).collect()
    };
    lines.map(row).collect()
}

#[test]
fn tables_are_exported_as_markdown_and_csv() {
    let lab = Lab::with_small();
    let args = ["compare", "small.toml", "--policy", "fcfs,rr", "--quiet"];
    lab.out(&[&args[..], &["--export", "a.md", "--export", "a.csv"]].concat());
    let read = |name: &str| fs::read_to_string(lab.path(name)).unwrap();
    let (markdown, csv) = (read("a.md"), read("a.csv"));
    let command = "    schedlab compare small.toml --policy fcfs,rr --quiet --export a.md --export a.csv\n";
    assert!(markdown.starts_with(command), "{markdown}");
    assert!(markdown.contains("\n\n## How fast\n\n| policy | role | requests per s |"), "{markdown}");
    assert!(markdown.contains("\n## Differences\n") && !markdown.contains("## Failures"), "{markdown}");
    let rows = rows(&csv);
    let comparison = lab.json(&[&args[..], &["--json"]].concat());
    let answer = comparison["conclusion"]["headline"].as_str().unwrap();
    assert!(rows.iter().any(|row| row["table"] == "answer" && row["note"] == answer), "{csv}");
    // Each label has a column, and numbers are those of the result.
    let fast = rows.iter().find(|row| row["table"] == "How fast" && row["policy"] == "rr").unwrap();
    assert_eq!((fast["venue"].as_str(), fast["role"].as_str()), ("sim", "worker"), "{csv}");
    let mean = comparison["results"][1]["roles"][0]["response_ns"]["mean"].as_f64().unwrap();
    assert_eq!(fast["response_ns.mean"].parse::<f64>().unwrap(), mean, "{csv}");
    let differences = rows.iter().filter(|row| row["table"] == "Differences").count();
    assert_eq!(differences, comparison["differences"].as_array().unwrap().len(), "{csv}");
    let wrong = lab.run(&[&args[..], &["--export", "a.txt"]].concat());
    assert!(wrong.code == Some(2) && wrong.err.contains(".md or .csv"), "{}", wrong.err);
}
