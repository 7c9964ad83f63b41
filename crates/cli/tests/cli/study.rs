//! `schedlab study`.

use crate::lab::Lab;
use std::fs;
use std::path::Path;

/// The example of the reference.
fn example() -> String {
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/study.md");
    let text = fs::read_to_string(reference).unwrap();
    text.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example").into()
}

#[test]
fn the_example_of_the_reference_runs_and_writes_what_it_says() {
    let lab = Lab::new();
    lab.write("shares.toml", example());
    let page = lab.out(&["study", "shares.toml", "-o", "results", "--export", "shares.csv"]);
    assert!(page.contains("The value holds."), "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    assert_eq!(lab.out(&["study", "shares.toml"]), page, "what is known is the same");
    let read = |name: &str| fs::read_to_string(lab.path(&format!("results/{name}"))).unwrap();
    assert!(read("shares.md").contains("| share at nice 5 | 24.7 % | 24."), "{}", read("shares.md"));
    let rows = fs::read_to_string(lab.path("shares.csv")).unwrap();
    let head = rows.lines().next().unwrap();
    assert!(head.starts_with("table,") && head.contains(",venue,") && head.ends_with(",note"), "{head}");
    let row =
        rows.lines().find(|line| line.contains("published values,") && line.contains("share at nice 5,")).unwrap();
    let at = |key: &str| {
        let place = head.split(',').position(|known| known == key);
        row.split(',').nth(place.unwrap_or_else(|| panic!("no {key}: {head}"))).unwrap()
    };
    assert_eq!((at("published"), at("unit"), at("verdict")), ("24.7", "%", "holds"), "{rows}");
    assert!(rows.contains("\nanswer,") && rows.contains("The value holds."), "{rows}");
    let values: serde_json::Value = serde_json::from_str(&read("shares.json")).unwrap();
    assert_eq!(values["questions"][0]["values"][0]["verdict"], "holds");
    let results: serde_json::Value = serde_json::from_str(&read("shares.results.json")).unwrap();
    assert_eq!(results.as_array().map(Vec::len), Some(6));
}

#[test]
fn files_of_policies_count_from_the_folder_of_the_study() {
    let lab = Lab::new();
    lab.write("papers/mine.bpf.c", include_str!("../../../../policies/fcfs/fcfs.bpf.c"));
    lab.write("papers/shares.toml", example().replace("\"linux-o1\"", "\"mine.bpf.c\""));
    let study = lab.run(&["study", "papers/shares.toml", "--quiet"]);
    assert!(study.out.contains("The value holds."), "{}{}", study.out, study.err);
    assert!(lab.run(&["study", "papers/shares.toml", "--questions"]).out.contains("holds"));
    lab.run(&["study", "papers/shares.toml", "--quiet", "--seeds", "2", "-o", "made"]);
    let mut files = fs::read_dir(lab.path("made")).unwrap().map(|entry| entry.unwrap().path());
    let page = files.find(|path| path.extension().is_some_and(|end| end == "md")).unwrap();
    assert!(fs::read_to_string(page).unwrap().contains("Made by `schedlab study papers/shares.toml --seeds 2` ("));
}

#[test]
fn the_exit_code_tells_what_differs_and_what_was_not_run() {
    let lab = Lab::new();
    lab.write("differs.toml", example().replace("published = 24.7", "published = 50"));
    let differs = lab.run(&["study", "differs.toml"]);
    assert_eq!(differs.code, Some(1));
    let told = "schedlab: 1 value differs and the study does not say why: share at nice 5\n";
    assert!(differs.err.ends_with(told), "{}", differs.err);
    lab.write("typo.toml", example().replace("at = {", "per = { metric = \"roles.b.cpu_sher\" }\nat = {"));
    let typo = lab.run(&["study", "typo.toml"]);
    assert_eq!(typo.code, Some(2));
    assert!(typo.err.contains("there is no metric `cpu_sher`: did you mean `cpu_share`?"), "{}", typo.err);
    lab.write(
        "away.toml",
        example().replace("name = \"nice\"", "name = \"nice\"\nvenue = \"vm\"\nkernel = \"/nowhere\""),
    );
    let away = lab.run(&["study", "away.toml"]);
    assert_eq!(away.code, Some(4));
    assert!(away.err.starts_with("schedlab: 6 of 6 cases were not run here: ") && away.err.contains("/nowhere"));
    assert!(away.out.contains("No conclusion: 6 of 6 runs were not made here"), "{}", away.out);
    let data = lab.run(&["study", "away.toml", "--json"]);
    let data: serde_json::Value = serde_json::from_str(&data.out).unwrap();
    assert!(data["questions"][0]["unanswered"].as_str().unwrap().contains("/nowhere"), "{data}");
    assert_eq!(data["questions"][0]["answer"], "");
    lab.write("wrong.toml", example().replace("over =", "ovr ="));
    let wrong = lab.run(&["study", "wrong.toml"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.starts_with("schedlab: wrong.toml:23:1: unknown key `ovr`"), "{}", wrong.err);
    let missing = lab.run(&["study", "gpoz"]);
    assert_eq!(missing.code, Some(2));
    assert!(missing.err.contains("did you mean `gpos`?"), "{}", missing.err);
}

#[test]
fn shipped_studies_are_listed_and_can_be_copied() {
    let lab = Lab::new();
    assert!(lab.out(&["study", "list"]).contains("gpos"));
    lab.write("copy.toml", lab.out(&["study", "show", "gpos"]));
    let page = lab.run(&["study", "copy.toml", "--quick", "--json"]);
    let page: serde_json::Value = serde_json::from_str(&page.out).unwrap();
    assert_eq!(page["name"], "gpos");
}

/// What is simulated is the same bytes wherever it is made: `make studies` writes these pages.
#[test]
fn the_page_in_the_documents_is_what_a_run_gives() {
    let lab = Lab::new();
    // Studies of which nothing but simulated time is asked: a whole one, and of one that takes minutes a question.
    for (study, name) in [("limits", "limits"), ("ule-vs-cfs:starvation", "ule-vs-cfs")] {
        lab.out(&["study", study, "--quiet", "-o", "pages"]);
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/studies/{name}.md"));
        let made = fs::read_to_string(lab.path(&format!("pages/{}.md", study.replace(':', "-")))).unwrap();
        let kept = fs::read_to_string(kept).unwrap();
        let old = format!("docs/studies/{name}.md is old: make studies");
        match made.split_once("\n## ") {
            Some((_, question)) if study != name => assert!(kept.contains(question.trim_end()), "{old}"),
            _ => assert!(made == kept, "{old}"),
        }
    }
}

/// `NAME:QUESTION` runs one question, `--questions` lists them with what is kept.
#[test]
fn one_question_can_be_run_and_all_are_listed() {
    let lab = Lab::new();
    // What is kept is counted, so it is not that of other tests.
    let out = |args: &[&str]| {
        let output = lab.command(args).env("XDG_CACHE_HOME", lab.path("kept")).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let other = "\n[[question]]\nid = \"other\"\nasks = \"And alone?\"\n[[question.run]]\nname = \"alone\"\n\
                 scenario = \"hogs\"\npolicy = \"rr\"\n";
    lab.write("shares.toml", example() + other);
    let before = out(&["study", "shares.toml", "--questions"]);
    assert!(before.contains("weight") && before.contains("0 of 30 runs are kept"), "{before}");
    let page = out(&["study", "./shares.toml:weight", "-o", "results"]);
    assert!(page.contains("weight: ") && !page.contains("And alone?"), "{page}");
    let file = fs::read_to_string(lab.path("results/shares-weight.md")).unwrap();
    assert!(file.contains("Made by `schedlab study ./shares.toml:weight`"), "{file}");
    let after = out(&["study", "shares.toml", "--questions"]);
    assert!(after.contains("The value holds.") && after.contains("0 of 5 runs are kept"), "{after}");
    let missing = lab.run(&["study", "shares.toml:wait"]);
    assert_eq!(missing.code, Some(2));
    assert!(missing.err.contains("`shares` has no question `wait`; it has weight, other"), "{}", missing.err);
}

/// The quick versions need neither a virtual machine nor a program that may not be there.
#[test]
fn quick_versions_need_nothing_beyond_this_program() {
    for schedlab_catalogue::Shipped { name, text } in schedlab_catalogue::studies() {
        let study = schedlab_study::Study::parse(text, name).unwrap();
        for run in study.runs().filter(|run| !run.quick.skip) {
            assert_ne!(run.venue, schedlab_venue::VenueName::Vm, "{name}: {}", run.name);
            let own = study.scenario.get(&run.scenario).map(ToString::to_string).unwrap_or_default();
            assert!(!own.contains("command = "), "{name}: {} runs a program", run.name);
        }
    }
}

/// Each shipped study lists what its source prints; reading the file has held that list against what the study shows.
#[test]
fn shipped_studies_show_all_of_their_sources() {
    for schedlab_catalogue::Shipped { name, text } in schedlab_catalogue::studies() {
        let study = schedlab_study::Study::parse(text, name).unwrap();
        // What limits do is no paper's subject: that study lists single reports.
        let least = if *name == "limits" { 8 } else { 20 };
        assert!(study.paper.len() >= least, "{name}: {}", study.paper.len());
        let left_out = study.paper.iter().filter(|item| item.left_out.is_some()).count();
        assert!(left_out * 2 < study.paper.len(), "{name} leaves out {left_out}");
    }
}
