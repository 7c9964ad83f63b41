//! Whole schedulers as policies. The one at hand that loads an object and stays is our own `load`.

use crate::lab::{Lab, Output, may_virtualize};
use crate::load::{guest, line};
use crate::vm::{NEW, ONE};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Our program with these words, as a policy.
fn own(words: &str) -> String {
    format!("exec:{} {words}", env!("CARGO_BIN_EXE_schedlab"))
}

fn lab() -> Lab {
    let lab = Lab::new();
    lab.write("one.toml", ONE.replace("500ms", "1500ms"));
    lab
}

fn run_in(lab: &Lab, policy: &str) -> Output {
    lab.run(&["run", "one.toml", "--venue", "vm", "--quiet", "--json", "--policy", policy])
}

fn run(policy: &str) -> Output {
    run_in(&lab(), policy)
}

#[test]
fn a_program_is_in_charge_of_a_guest() {
    if !may_virtualize(&[NEW]) {
        return;
    }
    let lab = lab();
    let output = run_in(&lab, &own("load rr:quantum=5ms"));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let result: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    let program = &result["scheduler_program"];
    assert_eq!(program["operations"], "rr");
    assert_eq!(result["policy"]["name"], "schedlab");
    assert_eq!(result["policy"]["parameters"]["arguments"], "load rr:quantum=5ms");
    let number = |name: &str| program[name].as_u64().unwrap();
    // It looks ten times a second whether it is in charge, which takes time of the tasks' CPU.
    assert!(number("ready_ns") > 1_000_000 && number("threads") >= 1 && number("voluntary") >= 10, "{program}");
    assert!((1_000_000..500_000_000).contains(&number("cpu_ns")), "{program}");
    let printed: Vec<&str> = program["printed"].as_array().unwrap().iter().filter_map(|line| line.as_str()).collect();
    assert!(printed[0].contains("is in charge of this machine"), "{printed:?}");
    // In virtual time what a creation takes is always found.
    for cost in ["fork_ns", "process_fork_ns"] {
        assert!(result["costs"][cost].as_f64().is_some_and(|ns| ns > 1000.0), "{cost}: {}", result["costs"]);
    }
    // The others' part is its, and the guest's own threads'.
    let others = result["cpus"][0]["others_frac"].as_f64().unwrap();
    assert!(others > 0.0 && others < 0.5, "{others}");
    // A guest has the name of the folder in it: another folder is another guest.
    assert_eq!(run_in(&lab, &own("load rr:quantum=5ms")), output, "the same guest");
}

#[test]
fn a_program_that_is_not_in_charge_to_the_end_fails() {
    if !may_virtualize(&[NEW]) {
        return;
    }
    let output = run("exec:true");
    assert_eq!((output.code, output.out.as_str()), (Some(1), ""));
    assert_eq!(
        output.err,
        "schedlab: policy exec:true: the program ended before its policy was in charge (exit status: 0)\n"
    );
    let output = run(&own("load ./none.bpf.o"));
    assert_eq!(output.code, Some(1));
    let lines: Vec<&str> = output.err.lines().collect();
    assert!(lines[0].ends_with("the program ended before its policy was in charge (exit status: 2)"), "{lines:?}");
    assert!(lines[1].contains("program: schedlab: cannot read ./none.bpf.o"), "{lines:?}");
    // It leaves before the run is over.
    let output = run(&own("load fcfs --seconds 1"));
    assert_eq!(output.code, Some(1));
    assert!(
        output.err.contains("the program ended its policy before the run was over: BPF scheduler \"fcfs\" disabled"),
        "{}",
        output.err
    );
    assert!(output.err.contains("program: fcfs was in charge for "), "{}", output.err);
}

#[test]
fn what_is_no_program_is_refused_before_anything_starts() {
    let lab = Lab::with_small();
    lab.write("script", "#!/bin/sh\n");
    fs::set_permissions(lab.path("script"), fs::Permissions::from_mode(0o755)).unwrap();
    for (venue, policy, why) in [
        ("vm", "exec:./no-such-scheduler", "policy exec:./no-such-scheduler: "),
        ("vm", "exec:./script", "script is not a program for this machine; scripts are not taken"),
        ("vm", "exec:", "the name is missing"),
        ("vm", "exec:true 'a", "a quotation mark is not closed"),
        ("sim", "exec:./script", "script is not a program for this machine; scripts are not taken"),
        ("vm", "exec-once:true", "cannot be run in the venue `vm`"),
    ] {
        let output = lab.run(&["run", "small.toml", "--venue", venue, "--policy", policy]);
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{policy}");
        assert!(output.err.contains(why) && output.err.lines().count() == 1, "{policy}: {}", output.err);
    }
    // What a program does is known when it has run.
    let output = lab.run(&["run", "small.toml", "--policy", "exec:true"]);
    assert_eq!((output.code, output.out.as_str()), (Some(1), ""));
    assert!(
        output.err.contains("it ended with status 0 and loaded no scheduler: name a program that loads one"),
        "{}",
        output.err
    );
}

#[test]
fn a_live_machine_is_given_back() {
    if !may_virtualize(&[NEW]) {
        return;
    }
    let lines = guest(
        NEW,
        r#"
kill $hog
schedlab load "exec:schedlab load fcfs" --seconds 2; code=$?; state time
schedlab load "exec:schedlab load fcfs" & began; kill -INT $!; wait $!; code=$?; state int
schedlab load "exec:schedlab load fcfs" & began; kill -KILL $!; wait $!; code=$?; sleep 1; state kill
schedlab run /one.toml --venue host --policy "exec:schedlab load rr" --quiet --json > /result; code=$?; state ran
while read row; do case $row in *operations*) echo "found $row";; esac; done < /result
"#,
    );
    let line = |begin| line(&lines, begin);
    assert_eq!((line("time: "), line("int: ")), ("time: code 0, disabled", "int: code 130, disabled"));
    assert_eq!((line("kill: "), line("ran: ")), ("kill: code 137, disabled", "ran: code 0, disabled"));
    assert_eq!(line("found "), "found \"operations\": \"rr\",");
}
