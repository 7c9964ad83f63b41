//! Gates, their baselines, their history, and bisection.

use crate::lab::{Lab, Output};
use std::process::Command;

/// Two CPUs, six tasks that compute, and one that wants a CPU now and then: it waits for whole slices of others.
const DESK: &str = r#"
name = "desk"

[machine]
cpus = 2

[[task]]
name = "hog"
count = 6
loop = [{ compute = "7ms" }]

[[task]]
name = "click"
loop = [{ compute = "100us" }, { sleep = "uniform(10ms, 50ms)" }]

[run]
duration = "10s"
"#;

/// A scenario that a slice does not touch.
const DOOR: &str = r#"
name = "door"

[machine]
cpus = 1

[[task]]
name = "bell"
loop = [{ compute = "1ms" }, { sleep = "9ms" }]

[run]
duration = "1s"
"#;

const GATE: &str = r#"
scenario = ["desk.toml", "door.toml"]
policy = "./mine.bpf.c"
history = "history"

[[check]]
metric = "response_ns.p99"
worse = ["1 %", "1500us"]

[[check]]
metric = "roles.bell.response_ns.max"
scenario = "door.toml"
max = "2ms"
"#;

/// A repository with a policy, scenarios and a gate.
struct Repository(Lab);

impl Repository {
    fn new() -> Repository {
        let lab = Lab::new();
        lab.out(&["policies", "new", "mine"]);
        for (name, text) in [("desk.toml", DESK), ("door.toml", DOOR), ("mine.gate.toml", GATE)] {
            lab.write(name, text);
        }
        let repository = Repository(lab);
        repository.git(&["init", "--quiet"]);
        repository.commit("a policy");
        repository
    }

    fn git(&self, words: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=A", "-c", "user.email=a@example.org"]).args(words);
        let output = command.current_dir(self.0.path("")).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().into()
    }

    fn commit(&self, subject: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", subject]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Puts one text in the place of another in the policy.
    fn edit(&self, from: &str, to: &str) {
        let path = self.0.path("mine.bpf.c");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{from}");
        std::fs::write(path, text.replace(from, to)).unwrap();
    }

    fn gate(&self, flags: &[&str]) -> Output {
        self.0.run(&[&["gate", "mine.gate.toml"][..], flags].concat())
    }

    fn update(&self) -> String {
        let output = self.gate(&["--update"]);
        assert_eq!(output.code, Some(0), "{}", output.err);
        output.out
    }
}

#[test]
fn the_first_run_says_how_to_begin() {
    let repository = Repository::new();
    let first = repository.gate(&[]);
    assert_eq!((first.code, first.out.as_str()), (Some(2), ""));
    let wanted = "schedlab: there is no baseline mine.baseline.toml yet: `schedlab gate mine.gate.toml --update`";
    assert!(first.err.contains(wanted), "{}", first.err);
    assert!(repository.update().starts_with("mine.baseline.toml is written: 3 values, 3 new, 0 changed"));
    let second = repository.gate(&[]);
    assert_eq!((second.code, second.out.as_str()), (Some(0), "mine passed: 4 checks, nothing changed\n"));
    let all = repository.gate(&["--all"]).out;
    assert!(all.contains("click.response_ns.p99") && all.contains(" met\n"), "{all}");
    // What is written again is the same.
    let before = std::fs::read_to_string(repository.0.path("mine.baseline.toml")).unwrap();
    assert!(repository.update().starts_with("mine.baseline.toml is written: 3 values, 0 new, 0 changed"));
    assert_eq!(std::fs::read_to_string(repository.0.path("mine.baseline.toml")).unwrap(), before);
}

#[test]
fn ten_revisions_with_one_that_is_three_percent_worse() {
    let repository = Repository::new();
    repository.update();
    let mut revisions = vec![repository.commit("baseline")];
    let mut bad = String::new();
    for number in 1..10 {
        match number {
            3 => repository.edit("#define QUEUE 0", "#define QUEUE nothing"),
            4 => repository.edit("#define QUEUE nothing", "#define QUEUE 0"),
            6 => repository.edit("slice, 20 * NS_PER_MS", "slice, 20600 * NS_PER_MS / 1000"),
            _ => repository.edit("Then say here", "Then say here, too,"),
        }
        let hash = repository.commit(&format!("change {number}"));
        bad = if number == 6 { hash.clone() } else { bad };
        let output = repository.gate(&[]);
        let code = match number {
            3 => 2,
            6.. => 5,
            _ => 0,
        };
        assert_eq!(output.code, Some(code), "change {number}: {}{}", output.out, output.err);
        revisions.push(hash);
    }
    let output = repository.gate(&["--junit", "junit.xml", "--markdown", "gate.md"]);
    let words = output.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.starts_with("mine failed: 1 of 4 checks failed"), "{words}");
    assert!(words.contains("click.response_ns.p99 59.83 ms 61.65 ms +3.1 % FAILED"), "{words}");
    assert!(words.contains("worse by more than 1 % or 1.500 ms"), "{words}");
    assert!(words.contains("switches are the same. Before, at") && words.contains("(its slice was over)"), "{words}");
    assert!(output.err.contains("schedlab: mine: 1 of 4 checks failed"), "{}", output.err);
    let junit = std::fs::read_to_string(repository.0.path("junit.xml")).unwrap();
    assert!(
        junit.contains("failures=\"1\"") && junit.contains("<failure message=\"worse by more than 1 % or 1.500 ms\">"),
        "{junit}"
    );
    assert!(std::fs::read_to_string(repository.0.path("gate.md")).unwrap().contains("| FAILED | desk.toml |"));

    let found = repository.0.run(&["bisect", &revisions[0], "HEAD", "mine.gate.toml", "--report", "pair.html"]);
    assert_eq!(found.code, Some(0), "{}", found.err);
    assert!(found.out.starts_with(&format!("{} is the first bad commit: change 6\n", &bad[..12])), "{}", found.out);
    assert!(found.out.contains("+3.1 %") && found.out.contains("first bad commit against parent"), "{}", found.out);
    assert!(
        std::fs::read_to_string(repository.0.path("pair.html")).unwrap().contains("first bad commit against parent")
    );
    let files = ["--export", "b.md", "--export", "b.csv"];
    let args = ["bisect", revisions[0].as_str(), "HEAD", "mine.gate.toml", "--json", "--quiet"];
    let json = repository.0.json(&[&args[..], &files].concat());
    repository.0.assert_described("bisect", &json);
    repository.0.assert_described("gate", &json["report"]);
    for file in ["b.md", "b.csv"] {
        let text = std::fs::read_to_string(repository.0.path(file)).unwrap();
        assert!(text.contains(" is the first bad commit: "), "{text}");
    }
    assert_eq!((&json["schema"], &json["first_bad"]), (&"schedlab.bisect/1".into(), &serde_json::json!([bad])));
    assert_eq!(json["report"]["counts"]["failed"], 1);
    // The work tree and the references are what they were.
    assert_eq!(repository.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(repository.git(&["for-each-ref"]).lines().count(), 1);

    let page = repository.0.run(&["report", "history", "-o", "history.html"]);
    assert_eq!(page.code, Some(0), "{}", page.err);
    let html = std::fs::read_to_string(repository.0.path("history.html")).unwrap();
    assert!(html.contains(&bad[..10]) && html.contains("change 6"), "the change is marked");
}

#[test]
fn what_cannot_be_judged_is_told_before_anything_runs() {
    let repository = Repository::new();
    repository.update();
    let with = |from: &str, to: &str| {
        repository.0.write("mine.gate.toml", GATE.replace(from, to));
        repository.gate(&[])
    };
    for (from, to, told) in [
        (
            "response_ns.p99",
            "respons_ns.p99",
            "mine.gate.toml:7:10: there is no metric `respons_ns.p99`: did you mean `response_ns.p99`?",
        ),
        ("roles.bell.", "roles.bel.", "mine.gate.toml:11:10: door.toml has no role `bel`: did you mean `bell`?"),
        ("./mine.bpf.c", "./mne.bpf.c", "cannot read ./mne.bpf.c"),
        ("\"./mine.bpf.c\"", "\"mlqf\"", "there is no policy `mlqf`; did you mean `mlfq`?"),
        ("desk.toml", "dsk.toml", "mine.gate.toml:2:13: dsk.toml: the file cannot be read"),
        ("max = \"2ms\"", "max = 2", "mine.gate.toml:13:7: 2 has no unit"),
        ("history =", "histry =", "mine.gate.toml:4:1: unknown key `histry`: did you mean `history`?"),
        ("\"1 %\", \"1500us\"", "\"1 %\", \"1500 MB\"", "mine.gate.toml:8:9:"),
        ("history =", "kernel = \"debian:13\"\nhistory =", "`kernel` is for `venue = \"vm\"` and has no effect in sim"),
        ("history =", "duration = \"0s\"\nhistory =", "mine.gate.toml:4:12: desk.toml: "),
    ] {
        let output = with(from, to);
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{to}: {}", output.err);
        assert!(output.err.contains(told), "{to}: {}", output.err);
    }
    let output = with("history =", "venue = \"host\"\nhistory =");
    assert!(
        output.code == Some(2) && output.err.contains("mine.gate.toml:1:1: runs in host differ by chance"),
        "{}",
        output.err
    );
    repository.0.write("mine.gate.toml", GATE);
    repository.0.write("desk.toml", DESK.replace("count = 6", "count = 5"));
    let output = repository.gate(&[]);
    assert_eq!(output.code, Some(2));
    let told = "desk.toml under ./mine.bpf.c in sim is not what it was when mine.baseline.toml was written";
    assert!(output.err.contains(told) && output.err.contains("--update"), "{}", output.err);
    assert!(repository.update().contains("2 new"), "what is new has nothing to be compared with");
    // What is accepted has not failed.
    repository.edit("slice, 20 * NS_PER_MS", "slice, 30 * NS_PER_MS");
    let judged = repository.0.run(&["gate", "mine.gate.toml", "--json"]);
    assert!(judged.code == Some(5) && judged.out.contains("\"failed\": 2"), "{}{}", judged.out, judged.err);
    let accepted = repository.0.json(&["gate", "mine.gate.toml", "--update", "--json"]);
    assert_eq!(accepted["counts"]["failed"], 0);
    assert!(accepted["checks"].as_array().unwrap().iter().any(|check| check["verdict"] == "accepted"), "{accepted}");
}

#[test]
fn an_improvement_passes_unless_it_is_to_be_noticed() {
    let repository = Repository::new();
    repository.update();
    repository.edit("slice, 20 * NS_PER_MS", "slice, 10 * NS_PER_MS");
    let output = repository.gate(&[]);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    assert!(output.out.contains(" improved") && output.out.contains(" better\n"), "{}", output.out);
    repository.0.write("mine.gate.toml", GATE.replace("worse = [", "differs = ["));
    let output = repository.gate(&[]);
    assert_eq!(output.code, Some(5), "{}{}", output.out, output.err);
    let words = output.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("differs by more than 1 % or 1.500 ms"), "{words}");
    let updated = repository.update();
    assert!(updated.contains(" accepted\n") && !updated.contains("FAILED"), "{updated}");
    assert!(updated.contains("0 new, 2 changed") && updated.contains("click.response_ns.p99"), "{updated}");
}

#[test]
fn revisions_and_policies_are_held_against_without_a_baseline() {
    let repository = Repository::new();
    repository.edit("slice, 20 * NS_PER_MS", "slice, 30 * NS_PER_MS");
    let against = |what: &str| {
        let gate = GATE.replace("worse = [", &format!("against = \"{what}\"\nworse = ["));
        repository
            .0
            .write("mine.gate.toml", gate.replace("policy = \"./mine.bpf.c\"", "policy = [\"./mine.bpf.c\", \"rr\"]"));
        repository.gate(&[])
    };
    let output = against("git:HEAD");
    assert!(
        output.code == Some(2) && output.err.contains("policy rr has no revisions: it comes with schedlab"),
        "{}",
        output.err
    );
    let output = against("policy:rr");
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    repository.0.write("mine.gate.toml", GATE.replace("worse = [", "against = \"git:HEAD\"\nworse = ["));
    let output = repository.gate(&[]);
    assert_eq!(output.code, Some(5), "{}{}", output.out, output.err);
    let words = output.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("against git:HEAD: the first"), "{words}");
    repository.commit("it is so");
    assert_eq!(repository.gate(&[]).code, Some(0));
    let gate = GATE.replace("worse = [", "against = \"git:nothing\"\nworse = [");
    repository.0.write("mine.gate.toml", gate);
    let output = repository.gate(&[]);
    assert!(
        output.code == Some(2) && output.err.contains("there is no revision `nothing` in the repository of "),
        "{}",
        output.err
    );
}

#[test]
fn a_policy_that_stalls_fails_its_gate() {
    let repository = Repository::new();
    repository.update();
    repository
        .edit("\tscx_bpf_dsq_move_to_local(QUEUE, 0);", "\tif (cpu == 77)\n\t\tscx_bpf_dsq_move_to_local(QUEUE, 0);");
    repository.0.write("desk.toml", DESK.replace("cpus = 2", "cpus = 2\nwatchdog = \"1s\""));
    repository.git(&["stash", "push", "--quiet", "mine.bpf.c"]);
    repository.update();
    repository.git(&["stash", "pop", "--quiet"]);
    let output = repository.gate(&[]);
    assert_eq!(output.code, Some(5), "{}{}", output.out, output.err);
    assert!(output.out.contains("wants a CPU and got none"), "{}", output.out);
    let baseline = std::fs::read(repository.0.path("mine.baseline.toml")).unwrap();
    let output = repository.gate(&["--update"]);
    assert!(output.code == Some(1) && output.err.contains("the baseline stays as it is"), "{}", output.err);
    assert_eq!(std::fs::read(repository.0.path("mine.baseline.toml")).unwrap(), baseline);
}

#[test]
fn commits_that_cannot_be_built_are_skipped_and_not_bad() {
    let repository = Repository::new();
    repository.edit("Try it", "Try  it");
    let good = repository.commit("good");
    repository.edit("#define QUEUE 0", "#define QUEUE nothing");
    repository.edit("slice, 20 * NS_PER_MS", "slice, 30 * NS_PER_MS");
    let broken = repository.commit("broken");
    repository.edit("#define QUEUE nothing", "#define QUEUE 0");
    let mended = repository.commit("mended");
    repository.edit("Then say", "Then also say");
    repository.commit("later");
    // Without a baseline the good end is what the others are held against.
    let output = repository.0.run(&["bisect", &good, "HEAD", "mine.gate.toml"]);
    assert_eq!(output.code, Some(3), "{}{}", output.out, output.err);
    assert!(output.out.contains("The first bad commit is one of these 2:"), "{}", output.out);
    for hash in [&broken, &mended] {
        assert!(output.out.contains(&hash[..12]), "{}", output.out);
    }
    assert!(output.err.contains("skip ") && output.err.contains("does not compile"), "{}", output.err);
    let same = repository.0.run(&["bisect", &good, &good, "mine.gate.toml"]);
    assert!(same.code == Some(2) && same.err.contains("the gate passes there"), "{}", same.err);
    let none = repository.0.run(&["bisect", "nope", "HEAD", "mine.gate.toml"]);
    assert!(none.code == Some(2) && none.err.contains("there is no revision `nope` in the repository"), "{}", none.err);
    let silent = repository.0.run(&["bisect", &good, "HEAD", "mine.gate.toml", "--build", "exit 3"]);
    assert!(silent.err.contains("`exit 3` failed (exit status: 3) and printed nothing"), "{}", silent.err);
    let built =
        repository.0.run(&["bisect", &good, "HEAD", "mine.gate.toml", "--build", "sed -i s/nothing/0/ mine.bpf.c"]);
    assert_eq!(built.code, Some(0), "{}{}", built.out, built.err);
    assert!(built.out.starts_with(&format!("{} is the first bad commit: broken", &broken[..12])), "{}", built.out);
}

#[test]
fn commits_whose_policy_cannot_be_loaded_are_skipped_and_not_bad() {
    let repository = Repository::new();
    repository.edit("Try it", "Try  it");
    let good = repository.commit("good");
    repository.edit("return scx_bpf_create_dsq(QUEUE, NUMA_NO_NODE);", "return -EINVAL;");
    repository.commit("refuses to start");
    repository.edit("return -EINVAL;", "return scx_bpf_create_dsq(QUEUE, NUMA_NO_NODE);");
    repository.commit("starts again");
    repository.edit("slice, 20 * NS_PER_MS", "slice, 30 * NS_PER_MS");
    let bad = repository.commit("slower");
    let output = repository.0.run(&["bisect", &good, "HEAD", "mine.gate.toml"]);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    assert!(output.out.starts_with(&format!("{} is the first bad commit: slower", &bad[..12])), "{}", output.out);
}

/// What the reference shows as a gate is one, and what the workflow runs ends well.
#[test]
fn the_documents_gate_and_workflow_work() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let lab = Lab::new();
    lab.out(&["policies", "new", "mine"]);
    let page = read("docs/reference/gate.md");
    lab.write("mine.gate.toml", page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap());
    let first = lab.run(&["gate", "mine.gate.toml", "--update"]);
    assert_eq!(first.code, Some(0), "{}", first.err);
    let workflow = read("docs/workflows/schedlab-gate.yml");
    let line = workflow.lines().find_map(|line| line.trim().strip_prefix("run: .schedlab/target/release/")).unwrap();
    lab.shell(&format!(
        "GATE=mine.gate.toml GITHUB_STEP_SUMMARY=$PWD/summary.md; export GATE GITHUB_STEP_SUMMARY; {line}"
    ));
    assert!(std::fs::read_to_string(lab.path("summary.md")).unwrap().starts_with("### mine passed"));
    assert!(std::fs::read_to_string(lab.path("junit.xml")).unwrap().contains("failures=\"0\""));
}

/// The project gates its own policies.
#[test]
fn a_gate_is_a_page_and_tables_too() {
    let lab = Lab::with_small();
    let gate =
        "scenario = \"small.toml\"\npolicy = \"rr\"\n\n[[check]]\nmetric = \"response_ns.p99\"\nworse = \"1 %\"\n";
    lab.write("small.gate.toml", gate);
    lab.out(&["gate", "small.gate.toml", "--update", "--quiet"]);
    let args = ["gate", "small.gate.toml", "--quiet", "--report", "gate.html"];
    let output = lab.run(&[&args[..], &["--export", "gate.md", "--export", "gate.csv"]].concat());
    let page = std::fs::read_to_string(lab.path("gate.html")).unwrap_or_else(|_| panic!("{}", output.err));
    assert!(page.contains("<h1>Gate small</h1>"));
    let tables = std::fs::read_to_string(lab.path("gate.md")).unwrap();
    assert!(tables.contains("## small.toml under rr in sim") && tables.contains("p99 |"), "{tables}");
    // Programs read numbers in the unit that the metric's name has.
    let rows = std::fs::read_to_string(lab.path("gate.csv")).unwrap();
    assert!(rows.starts_with("table,scenario,policy,venue,metric,from,to,change %,verdict,note\n"), "{rows}");
    let line = rows.lines().find(|line| line.contains(",small.toml,rr,sim,roles.worker.response_ns.p99,"));
    let cells: Vec<&str> = line.unwrap_or_else(|| panic!("{rows}")).split(',').collect();
    assert_eq!(cells[5..], [cells[6], cells[6], "0", "same", ""]);
    assert!(cells[6].parse::<f64>().unwrap() > 1e6, "nanoseconds: {rows}");
    assert!(tables.contains("\n\nsmall passed: "), "{tables}");
    assert!(rows.contains("\nanswer,") && rows.contains("small passed: "), "{rows}");
}

#[test]
fn the_shipped_policies_pass_the_projects_gate() {
    let gate = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../gates/shipped.gate.toml");
    let output = Lab::new().run(&["gate", gate.to_str().unwrap(), "--quiet"]);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
}
