//! `schedlab sweep`.

use crate::lab::Lab;
use std::fs;

const SWEEP: &str = r#"
about = "what quanta do"
policy = "rr"
scenario = "small.toml"
runs = 2

[set]
"run.duration" = "200ms"

[axis]
"policy.quantum" = ["1ms", "5ms"]
"task.worker.count" = { from = 1, to = 3, step = 1 }
"#;

fn lab() -> Lab {
    let lab = Lab::with_small();
    lab.write("sweep.toml", SWEEP);
    lab
}

#[test]
fn a_sweep_becomes_a_page() {
    let lab = lab();
    lab.out(&["sweep", "sweep.toml", "-o", "table", "--quiet", "--report", "page.html"]);
    let page = fs::read_to_string(lab.path("page.html")).unwrap();
    assert!(page.contains("<title>sweep</title>") && page.contains("By policy.quantum"));
    // Not a word of it where nothing runs, and where the page cannot be written nothing does.
    let output = lab.run(&["sweep", "sweep.toml", "--plan", "--report", "page.html"]);
    assert_eq!(output.code, Some(2), "{}", output.err);
    let output = lab.run(&["sweep", "sweep.toml", "-o", "other", "--report", "none/page.html"]);
    assert!(output.code != Some(0) && !lab.path("other").exists(), "{}", output.err);
}

#[test]
fn a_sweep_becomes_a_table_and_goes_on_where_it_was() {
    let lab = lab();
    assert_eq!(lab.out(&["sweep", "sweep.toml", "--plan"]), "sweep: what quanta do\n12 runs\n");
    let table = || {
        let output = lab.run(&["sweep", "sweep.toml", "-o", "table"]);
        assert_eq!(output.code, Some(0), "{}", output.err);
        assert!(output.out.starts_with("policy  runs  failed\nrr "), "{}", output.out);
        output.err
    };
    assert_eq!(table(), "12 runs in table: 12 new, 0 from before\n");
    let part = || fs::read(lab.path("table/part-00000.parquet")).unwrap();
    let first = part();
    assert_eq!(table(), "12 runs in table: 0 new, 12 from before\n");
    assert_eq!(part(), first);
    lab.write("sweep.toml", SWEEP.replace("to = 3", "to = 4"));
    assert_eq!(table(), "16 runs in table: 4 new, 12 from before\n");
}

#[test]
fn what_can_be_run_of_a_sweep_is_run() {
    let lab = lab();
    lab.write("sweep.toml", SWEEP.replace("\"rr\"", "[\"rr\", \"kernel\"]").replace("\"policy.quantum\"", "# "));
    let output = lab.run(&["sweep", "sweep.toml", "-o", "table"]);
    assert_eq!(output.code, Some(1), "{}", output.err);
    assert!(output.err.contains("not run: ") && output.err.contains("6 runs in table: 6 new"), "{}", output.err);
    lab.write("sweep.toml", SWEEP.replace("\"rr\"", "\"kernel\"").replace("\"policy.quantum\"", "# "));
    assert_eq!(lab.run(&["sweep", "sweep.toml", "-o", "none"]).code, Some(2));
    assert!(!lab.path("none").exists());
}

/// A policy that never works costs its own runs, and the end says so.
#[test]
fn a_policy_that_fails_in_all_runs_is_no_success() {
    let lab = lab();
    lab.policy("gives_up.bpf.c");
    let text = SWEEP.replace("\"rr\"", "[\"rr\", \"gives_up.bpf.c\"]").replace("\"policy.quantum\"", "# ");
    lab.write("sweep.toml", text);
    let args = ["sweep", "sweep.toml", "-o", "table", "--quiet"];
    let output = lab.run(&[&args[..], &["--export", "s.md", "--export", "s.csv"]].concat());
    assert_eq!(output.code, Some(1), "{}{}", output.out, output.err);
    let reason = "- gives_up.bpf.c: 6 of 6 runs failed: ";
    assert!(
        output.out.contains(reason) && output.err.contains("all 6 runs under gives_up.bpf.c failed: "),
        "{output:?}"
    );
    let read = |name: &str| fs::read_to_string(lab.path(name)).unwrap();
    assert!(read("s.md").contains("\n## Failures\n\n- gives\\_up.bpf.c: 6 of 6 runs failed: "), "{}", read("s.md"));
    let csv = read("s.csv");
    assert!(csv.starts_with("table,policy,role,task.worker.count,runs,failed,"), "{csv}");
    assert!(csv.contains("\nRuns,gives_up.bpf.c,,,6,6,") && csv.contains("\nMeans,rr,worker,3,,,"), "{csv}");
    let told: serde_json::Value = serde_json::from_str(&lab.run(&[&args[..], &["--json"]].concat()).out).unwrap();
    assert_eq!((&told["schema"], &told["policies"][1]["failed"]), (&"schedlab.sweep/1".into(), &6.into()));
    assert_eq!(told["policies"][1]["failures"][0]["runs"], 6);
    lab.assert_described("sweep-result", &told);
}

#[test]
fn the_shipped_sweeps_can_be_run() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut tried = 0;
    for entry in fs::read_dir(root.join("sweeps")).unwrap() {
        let path = entry.unwrap().path();
        let plan = Lab::new().out(&["sweep", path.to_str().unwrap(), "--plan"]);
        assert!(plan.ends_with(" runs\n") && !plan.ends_with("\n0 runs\n"), "{}: {plan}", path.display());
        tried += 1;
    }
    assert!(tried > 0);
}

#[test]
fn wrong_sweeps_are_one_line_and_leave_nothing() {
    let lab = lab();
    let wrong = |text: &str, part: &str| {
        lab.write("wrong.toml", text);
        let output = lab.run(&["sweep", "wrong.toml", "-o", "table"]);
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{}", output.err);
        assert!(output.err.contains(part) && output.err.lines().count() == 1, "{}", output.err);
        assert!(!lab.path("table").exists());
    };
    wrong("", "the key `scenario` is missing");
    wrong(&SWEEP.replace("small.toml", "large.toml"), "wrong.toml:4:12: ");
    wrong(&SWEEP.replace(".quantum", ".quanta"), "did you mean `quantum`?");
    wrong(&SWEEP.replace("to = 3", "to = 0"), "`from` must be less than `to`");
    wrong(&SWEEP.replace("axis", "axes"), "unknown key `axes`: did you mean `axis`?");
    wrong(&format!("engine = \"bochs\"\n{SWEEP}"), "`engine` is for `venue = \"vm\"` and has no effect in sim");
    wrong(&SWEEP.replace("\"5ms\"", "\"5\""), "the time 5 has no unit");
    let output = lab.run(&["sweep", "nothing.toml", "-o", "table"]);
    assert_eq!(output.code, Some(2));
    lab.write("table", "a file");
    let output = lab.run(&["sweep", "sweep.toml", "-o", "table"]);
    assert_eq!((output.code, output.err.lines().count()), (Some(2), 1), "{}", output.err);
}
