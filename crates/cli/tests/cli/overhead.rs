//! `schedlab overhead`.

use crate::lab::Lab;

const SIM: [&str; 12] = [
    "overhead",
    "--venue",
    "sim",
    "--policy",
    "rr:quantum=2ms,rr:quantum=20ms",
    "--kind",
    "thread",
    "--tasks",
    "4",
    "--duration",
    "2s",
    "--quiet",
];

fn values(lab: &Lab, more: &[&str], code: i32) -> serde_json::Value {
    let run = lab.run(&[&SIM[..], more, &["--json"]].concat());
    assert_eq!(run.code, Some(code), "{}", run.err);
    serde_json::from_str(&run.out).unwrap()
}

/// Where switching costs nothing sharing adds nothing, and that is refused, with how many blocks would do.
#[test]
fn what_is_not_told_is_refused_after_as_many_blocks_as_are_allowed() {
    let lab = Lab::new();
    let page = values(&lab, &["--blocks", "2", "--most-blocks", "4"], 3);
    assert_eq!(page["schema"], "schedlab.study/1");
    lab.assert_described("overhead", &page);
    let question = &page["questions"][0];
    assert_eq!(question["refused"], 2);
    let refused = question["statements"][0].as_str().unwrap();
    assert!(refused.starts_with("Not reported, because the interval of Q' includes zero"), "{refused}");
    assert!(refused.contains("4 blocks, ") && refused.ends_with("; at most 4 are made."), "{refused}");
    assert_eq!(question["tables"][0]["rows"][1]["cells"][1], serde_json::Value::Null);
    let shown = lab.run(&[&SIM[..], &["--blocks", "2", "--most-blocks", "2", "--export", "tables.md"]].concat());
    let tables = std::fs::read_to_string(lab.path("tables.md")).unwrap();
    assert!(
        tables.starts_with("    schedlab overhead --venue sim ")
            && tables.contains("## overhead: By the number of tasks")
    );
    assert!(shown.err.contains("inconclusive: 2 estimates are not reported"), "{}", shown.err);
    assert!(shown.out.lines().all(|line| line.chars().count() <= 80), "{}", shown.out);
}

/// On this machine, as the user who runs the tests: with few and short runs an estimate is printed or refused.
#[test]
fn this_machine_is_measured_without_any_rights() {
    let lab = Lab::new();
    let args =
        ["overhead", "--tasks", "2", "--kind", "thread", "--duration", "100ms", "--blocks", "2", "--most-blocks", "2"];
    let run = lab.run(&[&args[..], &["--json", "--quiet"]].concat());
    assert!(matches!(run.code, Some(0 | 3)), "{}", run.err);
    let page: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let rows = page["questions"][0]["tables"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "one task and two: {page}");
    assert!(rows.iter().all(|row| row["cells"][0].as_f64().is_some_and(|seconds| seconds > 1.0)), "{page}");
}
