//! Estimates of overhead, from a study's file to its page.

mod lab;

use lab::{carry_out, plan};
use schedlab_study::{CaseOutcome, Page, Variant, Verdict};

const FULL: Variant = Variant { quick: false, seed: None, seeds: 1, question: None };

/// Equal tasks on a CPU whose switches cost something.
const COSTS: &str = r#"
name = "o"
title = "Overhead"
goal = "Estimate what switches cost."

[scenario.equal]
machine = { cpus = 1, hz = 1000, costs = { switch = "50us", tick = "10us" } }
run = { duration = "20s", warmup = "1s" }
[[scenario.equal.task]]
name = "compute"
loop = [{ compute = "uniform(95us, 105us)" }]

[[question]]
id = "cost"
asks = "What does it cost?"

[[question.run]]
name = "runs"
scenario = "equal"
policy = ["rr:quantum=5ms", "rr:quantum=20ms"]
over = { "task.compute.count" = [1, 2, 8] }
runs = 2

[[question.overhead]]
title = "Overhead"
run = "runs"
role = "compute"
count = "task.compute.count"
computations = 10000
"#;

/// The overhead of switches and ticks is known there: the estimate is too small by what a single task pays, as its equation
/// says, and finds what sharing adds.
#[test]
fn overhead_is_estimated_beside_the_truth() {
    let value = |policy: &str, tasks: u32, metric: &str, rest: &str| {
        format!(
            "[[question.value]]\nwhat = \"v\"\nrun = \"runs\"\npolicy = \"{policy}\"\noverhead = \"{metric}\"\n\
             at = {{ \"task.compute.count\" = {tasks} }}\nunit = \"%\"\n{rest}\n"
        )
    };
    // A slice ends with the first tick after it: 50 us in each 6 ms, or 21 ms; and a tick of 10 us in each ms.
    let text = COSTS.to_string()
        + &value("rr:quantum=5ms", 8, "q", "published = 0.833\nwithin = 0.03")
        + &value("rr:quantum=20ms", 2, "q", "published = 0.238\nwithin = 0.03")
        + &value("rr:quantum=5ms", 8, "error", "published = -1.0\nwithin = 0.05")
        + &value("rr:quantum=5ms", 1, "q", "published = 0\nwithin_units = 0");
    let (study, experiment) = plan(&text, FULL).unwrap();
    let page = Page::new(&study, &experiment, &carry_out(&experiment, None));
    let answered = &page.questions[0];
    let verdicts: Vec<_> = answered.values.iter().map(|row| (&row.judged.verdict, row.judged.seen)).collect();
    assert!(verdicts.iter().all(|(verdict, _)| **verdict == Verdict::Holds), "{verdicts:?}");
    assert_eq!(answered.tables[0].rows.len(), 6);
    assert_eq!(answered.tables[1].rows[0].names, ["rr:quantum=5ms"]);
    let said = |begin: &str| answered.statements.iter().find(|text| text.starts_with(begin)).expect(begin);
    assert!(
        said("Ordering theorem: of 1 pairs of systems, 1 fulfil").ends_with("holds for 1 of these."),
        "{answered:?}"
    );
    assert!(
        said("Ranking by Q'(8)").contains("rr:quantum=20ms (0.2") && said("Ranking").contains("< rr:quantum=5ms (0.8")
    );
    let [drawn] = &answered.charts[..] else { panic!("{answered:?}") };
    assert!(
        drawn.series.iter().all(|series| series.panel == "O'v (s)" && series.points.iter().all(|p| p.range.is_some()))
    );
    // Two blocks say nothing of a variance.
    assert!(
        said("Not reported, because the interval is too wide")
            .contains("4 of 4 variances (2 blocks, about 18 would do)")
    );
    assert_eq!(answered.refused, 0);
}

/// Blocks are added until there is an estimate and its variance is known, or there are as many as are allowed.
#[test]
fn blocks_are_added_up_to_a_limit() {
    let page = |blocks: u32, value: &str| {
        let text = COSTS.replace("computations = 10000", &format!("computations = 10000\nblocks = {blocks}")) + value;
        let text = text.replace("duration = \"20s\"", "duration = \"3s\"").replace("[1, 2, 8]", "[1, 2]");
        let (study, experiment) = plan(&text, FULL).unwrap();
        let outcomes = carry_out(&experiment, None);
        let CaseOutcome::Ran(observed) = &outcomes[0] else { panic!() };
        (Page::new(&study, &experiment, &outcomes), observed.rates.len())
    };
    let value = "[[question.value]]\nwhat = \"v\"\nrun = \"runs\"\npolicy = \"rr:quantum=5ms\"\noverhead = \"variance\"\n\
                 at = { \"task.compute.count\" = 2 }\nown = { at_least = 0 }\nderivation = \"any\"\n";
    let (enough, made) = page(30, value);
    assert_eq!(made, 18, "and no more than that");
    let answered = &enough.questions[0];
    assert!(answered.statements.iter().all(|text| !text.starts_with("Not reported")), "{answered:?}");
    assert!(
        answered.statements.iter().any(|text| text.starts_with("Ranking by the variance of O'v(2)")),
        "{answered:?}"
    );
    assert!(answered.charts[0].series.iter().any(|series| series.panel.starts_with("variance")), "{answered:?}");
    let (few, made) = page(5, value);
    assert_eq!(made, 5);
    let row = &few.questions[0].values[0].judged;
    assert!(
        matches!(&row.verdict, Verdict::CannotTell { reason } if reason.contains("5 blocks, about 18 would do")),
        "{row:?}"
    );
    let (own, made) = page(2, value);
    assert_eq!((made, own.questions[0].values[0].judged.seen), (2, None));
}

#[test]
fn mistakes_about_overhead_are_told_with_their_place() {
    let wrong = |from: &str, to: &str| plan(&COSTS.replace(from, to), FULL).err().expect("it is wrong");
    let alone = "the run `runs` has to vary `task.compute.count` alone, from 1 on";
    assert_eq!(wrong("[1, 2, 8]", "[2, 8]"), format!("s.toml:28:9: {alone}"));
    assert_eq!(wrong("= 10000", "= 0"), "s.toml:29:16: has to be above zero");
    assert!(wrong("run = \"runs\"", "run = \"run\"").contains("there is no run `run`"));
}
