//! What the source prints, item by item.

mod lab;

use lab::{carry_out, plan};
use schedlab_study::{Page, Study, Variant};

const STUDY: &str = r#"
name = "s"
title = "Shares"
goal = "Show what weight does."
paper = [
    { item = "table I", prints = "a quarter" },
    { item = "figure 1" },
    { item = "table II", left_out = "it is about disks" },
]

[scenario.hogs]
machine = { cpus = 1 }
run = { duration = "2s" }
[[scenario.hogs.task]]
name = "a"
loop = [{ compute = "10ms" }]
[[scenario.hogs.task]]
name = "b"
nice = 5
loop = [{ compute = "10ms" }]

[[question]]
id = "weight"
asks = "Who gets what?"

[[question.run]]
name = "nice"
scenario = "hogs"
policy = ["cfs", "rr"]

[[question.chart]]
title = "Shares of b"
item = "figure 1"
kind = "bars"
run = "nice"
column = [{ head = "b", metric = "roles.b.cpu_share", unit = "%" }]

[[question.value]]
what = "share of b"
item = "table I"
run = "nice"
policy = "cfs"
metric = "roles.b.cpu_share"
unit = "%"
published = 25
within = 0.05

[[question.value]]
what = "share of b, without weights"
item = ["table I", "figure 1"]
run = "nice"
policy = "rr"
metric = "roles.b.cpu_share"
unit = "%"
published = 25
within = 0.05
differs.why = "no weights there"
differs.policy = "cfs"
"#;

fn page(question: Option<usize>) -> Page {
    let (study, experiment) = plan(STUDY, Variant { seeds: 1, question, ..Variant::default() }).unwrap();
    let outcomes = carry_out(&experiment, None);
    Page::new(&study, &experiment, &outcomes)
}

#[test]
fn every_item_has_its_rows_with_verdicts_or_a_reason() {
    let all = page(None);
    let numbers: Vec<usize> = all.paper.iter().map(|item| item.number).collect();
    assert_eq!(numbers, [1, 2, 3]);
    let verdicts = |at: usize| all.paper[at].here.iter().map(|shown| shown.verdict.unwrap_or("-")).collect::<Vec<_>>();
    assert_eq!((verdicts(0), verdicts(1)), (vec!["holds", "differs"], vec!["differs", "-"]));
    assert!(all.paper[0].here[1].reason.starts_with("no weights there; shown: `nice` under `cfs` has 24."));
    let markdown = all.markdown("c");
    for line in [
        "| 1 | table I: a quarter | value in `weight`: share of b | holds |  |",
        "|  |  | picture in `weight`: Shares of b | - |  |",
        "| 3 | table II | - | left out | it is about disks |",
    ] {
        assert!(markdown.contains(line), "{line}: {markdown}");
    }
    assert!(page(Some(0)).paper.is_empty(), "one question says nothing of all items");
}

#[test]
fn no_item_can_be_forgotten() {
    let wrong = |from: &str, to: &str| {
        let text = STUDY.replace(from, to);
        assert_ne!(text, STUDY);
        Study::parse(&text, "s.toml").expect_err("it is wrong").to_string()
    };
    let forgotten = wrong("{ item = \"figure 1\" },", "{ item = \"figure 1\" }, { item = \"figure 2\" },");
    assert!(forgotten.contains("nothing shows this item: say `left_out`, and why"), "{forgotten}");
    let both = wrong("{ item = \"figure 1\" }", "{ item = \"figure 1\", left_out = \"why\" }");
    assert!(both.contains("this item is left out, and something shows it"), "{both}");
    let unknown = wrong("item = \"figure 1\"\nkind", "item = \"figure 3\"\nkind");
    assert!(unknown.contains("`paper` has no item `figure 3`"), "{unknown}");
    let nameless = wrong("item = \"table I\"\nrun = \"nice\"", "run = \"nice\"");
    assert!(nameless.contains("which `item` of `paper` is this?"), "{nameless}");
    let twice = wrong("{ item = \"figure 1\" },", "{ item = \"figure 1\" }, { item = \"table I\" },");
    assert!(twice.contains("there is another item `table I`"), "{twice}");
}
