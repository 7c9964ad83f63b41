//! Studies from their files to their pages.

mod lab;

use lab::{carry_out, plan};
use schedlab_campaign::Cache;
use schedlab_report::Style;
use schedlab_study::{CaseOutcome, Page, Study, Variant, Verdict};
use std::path::Path;

/// Two hogs on one CPU, one of a weight that is varied.
const STUDY: &str = r#"
name = "s"
title = "Shares"
goal = "Show what weight does."

[scenario.hogs]
machine = { cpus = 1 }
run = { duration = "2s" }
[[scenario.hogs.task]]
name = "a"
loop = [{ compute = "10ms" }]
[[scenario.hogs.task]]
name = "b"
loop = [{ compute = "10ms" }]

[[question]]
id = "weight"
asks = "Who gets what?"

[[question.run]]
name = "nice"
scenario = "hogs"
policy = ["rr:quantum=5ms", "cfs"]
over = { "task.b.nice" = [0, 5] }
quick = { over = { "task.b.nice" = [5] } }

[[question.table]]
title = "Shares"
run = "nice"
column = [{ head = "b", metric = "roles.b.cpu_share", unit = "%" }]
"#;

/// As the file says, and nothing next to it.
const FULL: Variant = Variant { quick: false, seed: None, seeds: 1, question: None };

/// What a value of `STUDY` is judged to be, and what was seen.
fn judged(value: &str, quick: bool) -> Vec<(Verdict, Option<f64>)> {
    let text = format!("{STUDY}\n[[question.value]]\n{value}");
    let (study, experiment) = plan(&text, Variant { quick, ..FULL }).unwrap();
    let outcomes = carry_out(&experiment, None);
    let page = Page::new(&study, &experiment, &outcomes);
    page.questions[0].values.iter().map(|row| (row.judged.verdict.clone(), row.judged.seen)).collect()
}

const CFS: &str = "what = \"b\"\nrun = \"nice\"\npolicy = \"cfs\"\nmetric = \"roles.b.cpu_share\"\nunit = \"%\"\n";

#[test]
fn values_hold_or_differ_by_what_is_allowed() {
    let holds = judged(&format!("{CFS}at = {{ \"task.b.nice\" = 5 }}\npublished = 25\nwithin_units = 1"), false);
    assert!(matches!(holds[..], [(Verdict::Holds, Some(seen))] if (24.0..25.5).contains(&seen)), "{holds:?}");
    let differs = judged(&format!("{CFS}published = 25\nwithin = 0.5\ndiffers = \"why\""), false);
    assert!(
        matches!(&differs[..], [(Verdict::Differs { reason: Some(why), proof: None }, Some(_))] if why == "why"),
        "{differs:?}"
    );
    for (bounds, holds) in [("{ at_least = 49, at_most = 51 }", true), ("{ at_most = 49 }", false)] {
        let bound = judged(&format!("{CFS}published = {bounds}"), false);
        assert_eq!(bound[0].0 == Verdict::Holds, holds, "{bound:?}");
    }
}

/// One of the two has a reason: what ends a run in a line is about the other.
#[test]
fn what_differs_without_a_reason_is_named() {
    let value = |what: &str, more: &str| {
        let named = CFS.replace("what = \"b\"", &format!("what = \"{what}\""));
        format!("\n[[question.value]]\n{named}published = 25\nwithin = 0.1\n{more}")
    };
    let text = format!("{STUDY}{}{}", value("open", ""), value("known", "differs = \"why\"\n"));
    let (study, experiment) = plan(&text, FULL).unwrap();
    let page = Page::new(&study, &experiment, &carry_out(&experiment, None));
    assert_eq!(page.unexplained().collect::<Vec<_>>(), ["open"]);
    let why = page.questions[0].unanswered.as_deref();
    assert_eq!(why, Some("1 value differs and the study does not say why: open"));
    assert_eq!(page.summary(), "0 of 2 values hold, 1 differs for a reason that no run shows, 1 differs");
}

#[test]
fn a_difference_in_a_smaller_run_says_nothing() {
    let same =
        format!("{STUDY}\n[[question.value]]\n{CFS}at = {{ \"task.b.nice\" = 5 }}\npublished = 50\nwithin = 0.1\n");
    let smaller = same.replace("quick = { over", "quick = { set = { \"run.duration\" = \"1s\" }, over");
    assert_ne!(same, smaller);
    for (text, quick, summary, open) in [
        (&same, true, "The value differs", 1),
        (&smaller, true, "The value differs in a smaller run", 0),
        (&smaller, false, "The value differs", 1),
    ] {
        let (study, experiment) = plan(text, Variant { quick, ..FULL }).unwrap();
        let page = Page::new(&study, &experiment, &carry_out(&experiment, None));
        assert_eq!((page.summary().as_str(), page.unexplained().count()), (summary, open));
        let why = page.questions[0].unanswered.as_deref().unwrap();
        assert_eq!(why.ends_with("the whole one decides"), open == 0, "{why}");
    }
}

#[test]
fn rows_of_cases_have_their_distribution_on_a_terminal_and_nowhere_else() {
    let page = |column: &str| {
        let text = STUDY.replace("{ head = \"b\", metric = \"roles.b.cpu_share\", unit = \"%\" }", column);
        let (study, experiment) = plan(&text, FULL).unwrap();
        let outcomes = carry_out(&experiment, None);
        Page::new(&study, &experiment, &outcomes)
    };
    let narrow = page("{ head = \"b\", metric = \"roles.b.response_ns.mean\", unit = \"ms\" }");
    let shown = narrow.show(Style::PLAIN);
    assert_eq!(shown.lines().filter(|line| line.contains('█')).count(), 4, "a line for each case:\n{shown}");
    assert!(shown.contains(" ms\n") && shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert!(!narrow.markdown("schedlab study s").contains('█'));
    let many: Vec<String> = (0..8).map(|n| format!("{{ head = \"column {n} of many\", metric = \"jain\" }}")).collect();
    assert!(!page(&many.join(", ")).show(Style::PLAIN).contains('█'), "there is no room");
}

#[test]
fn lists_go_along_an_axis_and_ratios_are_between_cases() {
    let along = format!("{CFS}along = \"task.b.nice\"\npublished = [50, 25]\nwithin = 0.05");
    assert!(judged(&along, false).iter().all(|(verdict, _)| *verdict == Verdict::Holds));
    let quick = judged(&along, true);
    assert!(matches!(quick[..], [(Verdict::NotRun { .. }, None), (Verdict::Holds, Some(_))]), "{quick:?}");
    let ratio = "what = \"b\"\nrun = \"nice\"\npolicy = \"cfs\"\nat = { \"task.b.nice\" = 5 }\nmetric = \"roles.b.cpu_share\"\n\
                 per = { policy = \"rr:quantum=5ms\" }\npublished = 0.5\nwithin = 0.05";
    assert!(matches!(judged(ratio, false)[..], [(Verdict::Holds, Some(_))]));
    let share = "what = \"b\"\nrun = \"nice\"\npolicy = \"rr:quantum=5ms\"\nunit = \"%\"\npublished = 100\nwithin = 0.02\n\
                 share = { role = \"b\", from = \"15ms\", to = \"25ms\" }";
    assert!(matches!(judged(share, false)[..], [(Verdict::Holds, Some(_))]));
}

#[test]
fn what_cannot_be_compared_or_run_says_so() {
    let words = judged("what = \"w\"\npublished = \"a picture\"\nnot_comparable = \"no numbers\"", false);
    assert!(matches!(&words[..], [(Verdict::NotComparable { reason }, None)] if reason == "no numbers"), "{words:?}");
    // A policy cannot be loaded into a kernel without sched_ext: the rest continues.
    let text = STUDY.replace("name = \"nice\"", "name = \"nice\"\nvenue = \"vm\"\nkernel = \"/nowhere/vmlinuz\"");
    let (_, experiment) = plan(&text, FULL).unwrap();
    let outcomes = carry_out(&experiment, None);
    assert!(outcomes.iter().all(|o| matches!(o, CaseOutcome::NotRun(why) if why.contains("/nowhere/vmlinuz"))));
}

#[test]
fn a_known_case_is_not_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let cache = || Cache::open(folder.path()).unwrap();
    let page = |text: &str, cache: Cache| {
        let (study, experiment) = plan(text, FULL).unwrap();
        let outcomes = carry_out(&experiment, Some(&cache));
        Page::new(&study, &experiment, &outcomes).markdown("c")
    };
    let files = || {
        let below = |folder: &Path| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let of_program = below(&folder.path().join("runs")).filter(|path| path.is_dir());
        let mut names: Vec<_> = of_program.flat_map(|path| below(&path)).flat_map(|path| below(&path)).collect();
        names.sort();
        names
    };
    let first = page(STUDY, cache());
    let known = files();
    assert_eq!(known.len(), 4);
    assert_eq!(page(STUDY, cache()), first);
    assert_eq!(files(), known);
    // A broken file is run again, a changed axis adds what is new only.
    std::fs::write(&known[0], "{").unwrap();
    page(&STUDY.replace("[0, 5] }\nquick", "[0, 5, 7] }\nquick"), cache());
    assert_eq!(files().len(), 6);
    assert!(std::fs::metadata(&known[0]).unwrap().len() > 100);
    assert_eq!(page(STUDY, cache().forgetful()), first);
}

#[test]
fn mistakes_are_told_with_their_place() {
    let wrong = |from: &str, to: &str| plan(&STUDY.replace(from, to), FULL).err().expect("it is wrong");
    assert_eq!(wrong("asks =", "ask ="), "s.toml:18:1: unknown key `ask`: did you mean `asks`?");
    assert_eq!(
        wrong("run = \"nice\"\ncolumn", "run = \"nicer\"\ncolumn"),
        "s.toml:29:7: there is no run `nicer`; there are nice"
    );
    assert_eq!(wrong("[0, 5] }\nquick", "5 }\nquick"), "s.toml:24:8: `task.b.nice` needs a list of values");
    assert!(wrong("\"task.b.nice\" = [0, 5]", "\"task.c.nice\" = [0, 5]").starts_with("s.toml:22:12: "));
    assert!(wrong("\"cfs\"", "\"cfz\"").starts_with("s.toml:23:10: "));
    assert!(wrong("scenario = \"hogs\"", "scenario = \"hog\"").starts_with("s.toml:22:12: there is no scenario `hog`"));
    assert!(
        wrong("compute = \"10ms\" }]\n[[scenario.hogs.task]]", "compute = \"10\" }]\n[[scenario.hogs.task]]")
            .starts_with("s.toml:")
    );
    assert!(wrong("roles.b.cpu_share", "roles.b.nothing").contains("there is no metric `nothing`"));
    let value = |more: &str| plan(&format!("{STUDY}[[question.value]]\n{CFS}{more}"), FULL).err().expect("it is wrong");
    assert!(value("published = 1").contains("how far off may it be?"));
    assert!(value("published = [1]\nwithin = 1.0").contains("needs `along`"));
    assert!(
        value("published = [1]\nwithin = 1.0\nalong = \"task.b.nice\"")
            .contains("1 values were published and `task.b.nice` has 2")
    );
    assert!(
        value("published = 1\nwithin = 1.0\nshare = { role = \"b\", from = \"1ms\", to = \"2ms\" }")
            .contains("one of them")
    );
}

#[test]
fn mistakes_about_maps_are_told_with_their_place() {
    let value = "[[question.value]]\nwhat = \"v\"\nrun = \"nice\"\noverhead = \"q\"\npublished = 1\nwithin = 1\n";
    let error = plan(&format!("{STUDY}{value}"), FULL).err().unwrap();
    assert!(error.contains("there is no [[question.overhead]] of the run `nice`"), "{error}");
    let across = STUDY.replace("column = [{", "across = \"task.a.nice\"\ncolumn = [{");
    assert!(plan(&across, FULL).err().unwrap().contains("the run `nice` does not vary `task.a.nice`"));
}

#[test]
fn a_map_has_an_axis_on_each_side_and_statuses_are_heard() {
    let text = STUDY
        .replace("column = [{ head = \"b\", metric", "across = \"task.b.nice\"\ncolumn = [{ head = \"b\", metric")
        + "[[question.table]]\ntitle = \"S\"\nrun = \"levels\"\n\
           column = [{ head = \"s\", status = { role = \"a\", at = \"1s\" } }]\n\
           [[question.run]]\nname = \"levels\"\nscenario = \"hogs\"\npolicy = \"mlfq\"\n";
    let (study, experiment) = plan(&text, FULL).unwrap();
    let page = Page::new(&study, &experiment, &carry_out(&experiment, None));
    let [map, levels] = &page.questions[0].tables[..] else { panic!("{page:?}") };
    assert_eq!((&map.names[..], &map.heads[..]), (&["policy".to_string()][..], &["0".to_string(), "5".into()][..]));
    assert_eq!((map.rows.len(), map.rows[0].cells.len()), (2, 2));
    assert!(map.rows[1].cells[0].unwrap() > map.rows[1].cells[1].unwrap(), "{map:?}");
    assert!(levels.rows[0].cells[0].unwrap() > 1.0, "a hog sinks: {levels:?}");
}

#[test]
fn a_seed_takes_the_place_of_that_of_the_scenarios() {
    let seeds = |variant: Variant| {
        let (_, experiment) = plan(&STUDY.replace("policy =", "runs = 2\npolicy ="), variant).unwrap();
        experiment.cases.iter().map(|case| case.runs.seeds.clone()).collect::<Vec<_>>()
    };
    let (own, other) = (seeds(FULL), seeds(Variant { seed: Some(7), ..FULL }));
    assert!(own.iter().all(|seeds| seeds.len() == 2 && seeds[0] == 1 && *seeds == own[0]), "{own:?}");
    assert!(other.iter().all(|seeds| seeds.len() == 2 && seeds[0] == 7 && seeds[1] != own[0][1]), "{other:?}");
}

/// What would hold for no effect at all does not hold: a ratio of one, nothing at all, or what the study names.
#[test]
fn a_tolerance_as_wide_as_the_effect_cannot_tell() {
    let verdict = |more: &str| judged(&format!("{CFS}at = {{ \"task.b.nice\" = 0 }}\n{more}"), false).remove(0).0;
    let per = "per = { policy = \"rr:quantum=5ms\" }\nunit = \"\"\n";
    let ratio = |more: &str| {
        let value = CFS.replace("unit = \"%\"\n", per);
        judged(&format!("{value}at = {{ \"task.b.nice\" = 0 }}\n{more}"), false).remove(0).0
    };
    let told = ratio("published = 1.05\nwithin = 0.1");
    assert!(
        matches!(&told, Verdict::CannotTell { reason } if reason.contains("includes 1, which is no effect")),
        "{told:?}"
    );
    assert_eq!(told.words(), "cannot tell");
    assert_eq!(ratio("published = 1\nwithin = 0.1"), Verdict::Holds, "it was published that there is no effect");
    assert_eq!(ratio("published = { at_least = 0.9, at_most = 1.1 }"), Verdict::Holds, "and here");
    assert!(matches!(ratio("published = { at_least = 1.02 }\nwithin = 0.05"), Verdict::CannotTell { .. }));
    assert!(matches!(ratio("published = 1.3\nwithin = 0.1"), Verdict::Differs { .. }));
    assert_eq!(verdict("published = 55\nwithin = 0.2"), Verdict::Holds);
    assert!(matches!(verdict("published = 55\nwithin = 0.2\nno_effect = 50"), Verdict::CannotTell { .. }));
    assert!(
        matches!(verdict("published = 30\nwithin_units = 31"), Verdict::CannotTell { .. }),
        "so does nothing at all"
    );
}

/// "Less" that holds for the same, too, says nothing.
#[test]
fn a_bound_of_a_ratio_does_not_end_at_no_effect() {
    let study = |own: &str| {
        let value = CFS.replace("unit = \"%\"\n", "per = { policy = \"rr:quantum=5ms\" }\n");
        plan(&format!("{STUDY}\n[[question.value]]\n{value}own = {own}\nderivation = \"less\"\n"), FULL)
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    let refused = study("{ at_most = 1 }").unwrap_err();
    assert!(refused.contains("`own` ends at 1, which is no effect at all"), "{refused}");
    study("{ at_most = 0.95 }").unwrap();
    study("{ at_least = 0.9, at_most = 1 }").unwrap();
}

/// A verdict says how it falls under other seeds; where nothing is random, with small changes.
#[test]
fn verdicts_and_cells_are_looked_at_under_other_seeds() {
    let page = |text: &str, seeds: u32| {
        let (study, experiment) = plan(text, Variant { seeds, ..FULL }).unwrap();
        Page::new(&study, &experiment, &carry_out(&experiment, None))
    };
    let value =
        format!("{STUDY}\n[[question.value]]\n{CFS}at = {{ \"task.b.nice\" = 5 }}\npublished = 25\nwithin = 0.05");
    let exact = page(&value, 5);
    let row = &exact.questions[0].values[0].judged;
    let firmness = row.firmness.as_ref().unwrap();
    assert_eq!((firmness.words().as_str(), &row.verdict), ("5 of 5 small changes", &Verdict::Holds));
    assert!(firmness.low <= row.seen.unwrap() && row.seen.unwrap() <= firmness.high, "{row:?}");
    let drawn = value
        .replace("loop = [{ compute = \"10ms\" }]", "loop = [{ compute = \"exp(9ms)\" }, { sleep = \"exp(1ms)\" }]");
    let random = page(&drawn, 3);
    let question = &random.questions[0];
    assert_eq!(question.values[0].judged.firmness.as_ref().unwrap().words(), "3 of 3 seeds");
    assert!(question.statements[0].starts_with("Shares: under other seeds "), "{:?}", question.statements);
    let [low, high] = question.tables[0].rows[3].ranges[0].unwrap();
    assert!(low < high && (29.0..31.0).contains(&low), "{low} {high}");
    assert!(random.show(Style::PLAIN).contains("3 of 3 seeds") && random.markdown("c").contains("| 3 of 3 seeds |"));
    // On the edge of the accepted range some seeds fall on one side and some on the other.
    let seen = question.values[0].judged.seen.unwrap();
    let edge = drawn.replace("published = 25\nwithin = 0.05", &format!("published = {{ at_least = {seen} }}"));
    let edge = page(&edge, 9);
    let firmness = edge.questions[0].values[0].judged.firmness.clone().unwrap();
    assert!((1..9).contains(&firmness.same), "{firmness:?}");
    assert_eq!(page(&drawn, 1).questions[0].values[0].judged.firmness, None);
}

/// A case of many runs is looked at in each of them alone, and a published number that is one sample lies in their middle or not.
#[test]
fn many_runs_are_looked_at_one_by_one() {
    let drawn = STUDY
        .replace("loop = [{ compute = \"10ms\" }]", "loop = [{ compute = \"exp(9ms)\" }, { sleep = \"exp(1ms)\" }]")
        .replace("policy = [", "runs = 8\npolicy = [");
    let page = |value: &str| {
        let (study, experiment) = plan(&format!("{drawn}\n[[question.value]]\n{CFS}{value}"), FULL).unwrap();
        Page::new(&study, &experiment, &carry_out(&experiment, None))
    };
    let wide = page("published = 50\nwithin = 0.2");
    assert_eq!(wide.questions[0].values[0].judged.firmness.as_ref().unwrap().words(), "8 of 8 runs alone");
    let seen = wide.questions[0].values[0].judged.seen.unwrap();
    let edge = page(&format!("published = {{ at_least = {seen} }}"));
    let firmness = edge.questions[0].values[0].judged.firmness.clone().unwrap();
    assert!((1..8).contains(&firmness.same) && firmness.low < seen && seen < firmness.high, "{firmness:?}");
    let sample = |published: f64, more: &str| {
        let value = format!(
            "published = {published}\nwithin = 0\ndiffers.why = \"one sample\"\ndiffers.run = \"nice\"\n{more}"
        );
        let Verdict::Differs { reason, proof: Some(proof) } =
            page(&value).questions[0].values[0].judged.verdict.clone()
        else {
            panic!("it differs")
        };
        assert_eq!(reason.is_some(), proof.holds);
        (proof.holds, proof.seen)
    };
    let (holds, told) = sample(seen + 1e-6, "differs.middle = 0.75");
    assert!(holds && told.starts_with("the middle 75 % of 8 runs of `nice` under `cfs`, each alone, are "), "{told}");
    assert!(!sample(firmness.high + 1.0, "differs.middle = 0.75").0);
    let per = "per = { policy = \"rr:quantum=5ms\" }\n";
    let cfs = CFS.replace("unit = \"%\"\n", "");
    let text = format!(
        "{drawn}\n[[question.value]]\n{cfs}{per}published = 1.0000001\nwithin = 0\ndiffers.why = \"w\"\ndiffers.run = \"nice\"\ndiffers.middle = 0.9"
    );
    let (study, experiment) = plan(&text, FULL).unwrap();
    let judged = Page::new(&study, &experiment, &carry_out(&experiment, None)).questions[0].values[0].judged.clone();
    let Verdict::Differs { proof: Some(proof), .. } = &judged.verdict else { panic!("{judged:?}") };
    assert!(proof.seen.contains("of 56 pairs of runs of `nice`"), "each run beside the seven others: {proof:?}");
    let wrong = format!(
        "{drawn}\n[[question.value]]\n{CFS}published = {{ at_least = 99 }}\ndiffers.why = \"w\"\ndiffers.run = \"nice\"\ndiffers.middle = 0.9"
    );
    assert!(plan(&wrong, FULL).err().expect("it is wrong").contains("`middle` needs a published number"));
}

/// What a study says about its runs is said of runs that were made.
#[test]
fn nothing_follows_from_what_was_not_run() {
    let prose = "Weight decides.";
    let asks = "asks = \"Who gets what?\"";
    let text = STUDY.replace(asks, &format!("{asks}\nanswer = \"{prose}\""));
    let page = |text: &str, variant: Variant| {
        let (study, experiment) = plan(text, variant).unwrap();
        Page::new(&study, &experiment, &carry_out(&experiment, None))
    };
    let whole = page(&text, FULL);
    assert!(whole.questions[0].answer == prose && whole.questions[0].unanswered.is_none());
    let away = text.replace("name = \"nice\"", "name = \"nice\"\nvenue = \"vm\"\nkernel = \"/nowhere/vmlinuz\"");
    let away = page(&away, FULL);
    let why = away.questions[0].unanswered.as_ref().unwrap();
    assert!(why.starts_with("4 of 4 runs were not made here: ") && why.contains("/nowhere/vmlinuz"), "{why}");
    for shown in [away.show(Style::PLAIN), away.markdown("c")] {
        let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!words.contains(prose) && words.contains("No conclusion: 4 of 4 runs were not made here"), "{shown}");
    }
    let differs = format!("{text}\n[[question.value]]\n{CFS}published = 10\nwithin = 0.1");
    let differs = page(&differs, FULL);
    assert!(differs.questions[0].answer.is_empty() && differs.questions[0].found == "The value differs.");
    let quick = page(&text.replace("quick = {", "quick = { skip = true,"), Variant { quick: true, ..FULL });
    assert!(quick.unanswered().next().unwrap().1.contains("the quick version leaves out 1 of 1 runs"));
}

/// A page of `STUDY` with more in its question.
fn page_with(more: &str, variant: Variant) -> Page {
    let (study, experiment) = plan(&format!("{STUDY}\n{more}"), variant).unwrap();
    Page::new(&study, &experiment, &carry_out(&experiment, None))
}

/// What the source prints stands apart from what the study asks, and from what was fitted or could not be checked.
#[test]
fn own_thresholds_fits_and_unverified_numbers_are_told_apart() {
    let at = "at = { \"task.b.nice\" = 5 }\n";
    let own = format!(
        "[[question.value]]\n{CFS}{at}published = \"a quarter\"\nown = 25\nderivation = \"one of four\"\nwithin_units = 1\n"
    );
    let fit = format!("[[question.value]]\n{CFS}{at}published = 25\nwithin_units = 1\nfit = \"made of it\"\n");
    let doubted =
        format!("[[question.value]]\n{CFS}{at}published = 25\nwithin_units = 1\nunverified = \"a picture\"\n");
    let page = page_with(&format!("{own}{fit}{doubted}"), FULL);
    let values = &page.questions[0].values;
    assert_eq!((values[0].judged.published.as_str(), values[0].judged.own.as_deref()), ("a quarter", Some("25")));
    assert_eq!(values.iter().map(|row| row.judged.verdict.words()).collect::<Vec<_>>(), ["holds", "fitted", "holds"]);
    assert_eq!((page.counts().hold, page.counts().fitted), (2, 1), "a fit holds nothing");
    let markdown = page.markdown("c");
    assert!(markdown.contains("| b | a quarter | 25 % | 24."), "{markdown}");
    assert!(markdown.contains("| b | 25 % (not verified) | - | 24."), "{markdown}");
    for note in ["- b: the study's own number: one of four", "- b: fitted: made of it", "- b: not verified: a picture"]
    {
        assert!(markdown.contains(note), "{note}: {markdown}");
    }
    let shown = page.show(Style::PLAIN);
    assert!(
        shown.contains("- b: published: a quarter") == ("a quarter".len() > 16) && shown.contains("own"),
        "{shown}"
    );
    let data = serde_json::json!(page);
    assert_eq!(data["questions"][0]["values"][0]["own"], "25");
    let wrong = |more: &str| plan(&format!("{STUDY}[[question.value]]\n{CFS}{more}"), FULL).err().expect("it is wrong");
    assert!(wrong("own = 25\nwithin = 0.1").contains("`own` and `derivation` belong together"));
    assert!(wrong("within = 0.1").contains("a value needs `published`"));
}

/// A reason stands where the run that it names shows it, and nowhere else.
#[test]
fn a_reason_has_to_show() {
    let value = format!("{CFS}published = 25\nwithin = 0.05\ndiffers.why = \"nobody is nice\"\n");
    let verdict = |more: &str| judged(&format!("{value}{more}"), false).remove(0).0;
    let shows = verdict("differs.at = { \"task.b.nice\" = 5 }");
    let Verdict::Differs { reason: Some(why), proof: Some(proof) } = &shows else { panic!("{shows:?}") };
    assert!(
        why == "nobody is nice" && proof.holds && proof.seen.contains("`nice` under `cfs`, task.b.nice = 5 has 24.")
    );
    let refuted = verdict("differs.policy = \"rr:quantum=5ms\"");
    let Verdict::Differs { reason: None, proof: Some(proof) } = &refuted else { panic!("{refuted:?}") };
    assert!(!proof.holds && proof.seen.contains("50 %"), "{proof:?}");
    let elsewhere = "differs.metric = \"roles.a.cpu_share\"\ndiffers.expect = { at_least = LOW }";
    assert!(matches!(verdict(&elsewhere.replace("LOW", "49")), Verdict::Differs { reason: Some(_), .. }));
    assert!(matches!(verdict(&elsewhere.replace("LOW", "51")), Verdict::Differs { reason: None, .. }));
    let page = page_with(&format!("[[question.value]]\n{value}differs.policy = \"rr:quantum=5ms\""), FULL);
    assert_eq!((page.counts().differ, page.counts().explained), (1, 0));
    assert!(page.markdown("c").contains("the reason that the study gives does not show"));
    let supposed =
        page_with(&format!("[[question.value]]\n{CFS}published = 25\nwithin = 0.05\ndiffers = \"maybe\""), FULL);
    assert_eq!((supposed.counts().supposed, supposed.counts().explained), (1, 0));
    let wrong =
        |more: &str| plan(&format!("{STUDY}[[question.value]]\n{value}{more}"), FULL).err().expect("it is wrong");
    assert!(wrong("").contains("a reason has to show somewhere else"));
    assert!(wrong("differs.run = \"nicer\"").contains("there is no run `nicer`"));
    assert!(wrong("differs.metric = \"roles.a.cpu_share\"").contains("another metric needs `expect`"));
}

/// Words are made from the numbers of this run.
#[test]
fn answers_speak_of_what_was_seen() {
    let asks = "asks = \"Who gets what?\"";
    let number = "number.most = { run = \"nice\", metric = \"roles.b.cpu_share\", unit = \"%\" }\n\
                  number.least = { run = \"nice\", policy = \"cfs\", metric = \"roles.b.cpu_share\", unit = \"%\", of = \"min\" }";
    let text = STUDY.replace(asks, &format!("{asks}\nanswer = \"From {{least}} to {{most}}.\"\n{number}"));
    let (study, experiment) = plan(&text, FULL).unwrap();
    let page = Page::new(&study, &experiment, &carry_out(&experiment, None));
    let answer = &page.questions[0].answer;
    assert!(answer.starts_with("From 24.") && answer.ends_with(" % to 50 %."), "{answer}");
    let unknown = STUDY.replace(asks, &format!("{asks}\nanswer = \"{{some}}\""));
    assert!(plan(&unknown, FULL).err().unwrap().contains("there is no [question.number.some]"));
}

/// Only what a question looks at is run for it.
#[test]
fn one_question_is_asked_alone() {
    let other = "[[question]]\nid = \"other\"\nasks = \"And now?\"\n[[question.run]]\nname = \"more\"\n\
                 scenario = \"hogs\"\npolicy = \"rr\"\n";
    let borrows = format!(
        "{other}[[question.table]]\ntitle = \"T\"\nrun = \"nice\"\ncolumn = [{{ head = \"j\", metric = \"jain\" }}]\n"
    );
    let asked = |text: &str, id: &str| {
        let text = format!("{STUDY}\n{text}");
        let number = Study::parse(&text, "s.toml").unwrap().question_numbered(id);
        let (study, experiment) = plan(&text, Variant { question: Some(number.unwrap()), ..FULL }).unwrap();
        let page = Page::new(&study, &experiment, &carry_out(&experiment, None));
        assert_eq!(page.questions.iter().map(|question| question.id.as_str()).collect::<Vec<_>>(), [id]);
        experiment.cases.len()
    };
    assert_eq!((asked(other, "other"), asked(other, "weight"), asked(&borrows, "other")), (1, 4, 5));
    let unknown = Study::parse(STUDY, "s.toml").unwrap().question_numbered("wait");
    assert_eq!(unknown, Err("`s` has no question `wait`; it has weight".into()));
}

/// Pictures have the numbers of what the figure shows.
#[test]
fn pictures_are_drawn_of_what_was_seen() {
    let chart =
        |rest: &str| format!("[[question.chart]]\ntitle = \"T\"\nplace = \"figure 1\"\nrun = \"nice\"\n{rest}\n");
    let at = "at = { \"task.b.nice\" = 0 }\n";
    let all = [
        chart(&format!("kind = \"histogram\"\n{at}role = \"b\"\nbin = \"5ms\"")),
        chart(&format!("kind = \"loads\"\n{at}role = \"b\"\ndemand = \"10ms\"")),
        chart(&format!("kind = \"distribution\"\n{at}role = \"b\"\npolicy = \"rr:quantum=5ms\"")),
        chart("kind = \"bars\"\ncolumn = [{ head = \"b\", metric = \"roles.b.cpu_share\", unit = \"%\" }]"),
        chart("kind = \"lines\"\ncolumn = [{ head = \"b\", metric = \"roles.b.cpu_share\", unit = \"%\" }]"),
        chart(&format!("kind = \"tasks\"\n{at}policy = \"cfs\"")),
        chart(&format!("kind = \"run-time\"\n{at}policy = \"cfs\"")),
    ];
    let page = page_with(&all.concat(), FULL);
    let charts = &page.questions[0].charts;
    assert_eq!(charts.len(), all.len());
    let part =
        |chart: usize, series: usize| charts[chart].series[series].points.iter().map(|point| point.y).sum::<f64>();
    // Under round robin by 5 ms two hogs take 20 ms for 10 ms of work.
    let bars = &charts[0].series[0];
    assert_eq!((bars.label.as_str(), bars.points.last().unwrap().x), ("rr:quantum=5ms", 20.0));
    assert!((part(0, 0) - 100.0).abs() < 1e-6 && (part(1, 0) - 100.0).abs() < 1e-6);
    assert!(charts[1].series[0].points.iter().any(|point| point.x == 2.0 && point.y > 95.0), "{:?}", charts[1]);
    assert_eq!(charts[2].series.len(), 1);
    assert_eq!(charts[2].series[0].points.last().unwrap().y, 100.0);
    assert_eq!((charts[3].series.len(), charts[3].series[1].panel.as_str()), (2, "cfs"));
    assert_eq!(charts[4].series[1].points.iter().map(|point| point.x).collect::<Vec<_>>(), [0.0, 5.0]);
    assert!(charts[5].series[0].points.iter().all(|point| (point.y - 2.0).abs() < 1e-9), "two hogs on the only CPU");
    let [a, b] = &charts[6].series[..] else { panic!("{:?}", charts[6]) };
    let had = a.points.last().unwrap().y + b.points.last().unwrap().y;
    assert!((had - 2.0).abs() < 0.01, "they had all of two seconds, and not {had}: {a:?}");
    let wrong = plan(&format!("{STUDY}{}", chart("kind = \"histogram\"\nrole = \"b\"")), FULL).err().unwrap();
    assert!(wrong.contains("this picture needs `bin`, a time"), "{wrong}");
}

/// A terminal shows why a run is missing, also one that no value needs; labels keep their commas.
#[test]
fn a_terminal_tells_what_is_missing() {
    let away = STUDY.replace("name = \"nice\"", "name = \"nice\"\nvenue = \"vm\"\nkernel = \"/nowhere/vmlinuz\"");
    let value = "[[question.value]]\nwhat = \"w, with a comma\"\npublished = \"a picture without any numbers\"\nnot_comparable = \"none\"";
    let (study, experiment) = plan(&format!("{away}\n{value}"), FULL).unwrap();
    let shown = Page::new(&study, &experiment, &carry_out(&experiment, None)).show(Style::PLAIN);
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("- not run here: nice: ") && words.contains("/nowhere/vmlinuz"), "{shown}");
    assert!(words.contains("- w, with a comma: published: a picture without any numbers"), "{shown}");
    assert!(words.contains("- w, with a comma: not comparable: none"), "{shown}");
}
