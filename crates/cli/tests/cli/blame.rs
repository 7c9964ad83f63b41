//! What a message blames: the option that is at fault, every policy that is, and nothing that its reader cannot change.

use crate::bad_input::POLICY;
use crate::lab::{Lab, SMALL};

/// The lines on standard error of a command that refuses its input.
fn refused(lab: &Lab, line: &str) -> Vec<String> {
    let output = lab.run(&line.split(' ').collect::<Vec<_>>());
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{line}: {}", output.err);
    output.err.lines().map(String::from).collect()
}

/// The only line of it.
fn told(lab: &Lab, line: &str) -> String {
    let lines = refused(lab, line);
    assert_eq!(lines.len(), 1, "{line}: {lines:?}");
    lines[0].clone()
}

/// Three policies, each with a fault of another kind.
fn with_faulty_policies() -> Lab {
    let lab = Lab::with_small();
    lab.write("broken.bpf.c", "#include <schedlab/common.bpf.h>\nint x = nothing;\n");
    lab.write("closed.bpf.c", POLICY.replace("LICENCE", "MIT"));
    lab
}

const FAULTS: [&str; 3] =
    ["./broken.bpf.c does not compile:", "policy ./closed.bpf.c: its licence is \"MIT\"", "there is no policy `nope`"];

/// Whether each fault begins a message, and there are no others.
fn names_all_faults(lines: &[String]) {
    let messages: Vec<&String> = lines.iter().filter(|line| line.starts_with("schedlab: ")).collect();
    assert_eq!(messages.len(), FAULTS.len(), "{lines:?}");
    for (message, fault) in messages.iter().zip(FAULTS) {
        assert!(message.contains(fault), "{message}");
    }
}

#[test]
fn an_option_that_does_not_fit_a_scenario_is_blamed_and_not_the_file() {
    let lab = Lab::with_small();
    let longest = told(&lab, "run small.toml --policy rr --duration 100000000min");
    assert!(longest.contains("'--duration <TIME>': no run is this long: the longest is 146 years"), "{longest}");
    lab.write("late.toml", SMALL.replace("count = 2", "start = \"1s\""));
    let early = told(&lab, "run late.toml --policy rr --duration 500ms");
    assert!(
        early.starts_with("schedlab: --duration 500ms does not fit late.toml:10:9: `worker` starts at 1s"),
        "{early}"
    );
    lab.write("pinned.toml", SMALL.replace("cpus = 1", "cpus = 2").replace("count = 2", "cpus = \"1\""));
    let few = told(&lab, "run pinned.toml --policy rr --duration 1s --cpus 1");
    assert!(few.starts_with("schedlab: --cpus 1 does not fit pinned.toml:10:8: "), "{few}");
    let varied = told(&lab, "compare small.toml --policy rr --vary run.duration=0s");
    assert!(varied.starts_with("schedlab: --vary: small.toml"), "{varied}");
    // Without the option it is wrong too.
    lab.write("wrong.toml", SMALL.replace("count = 2", "cpus = \"7\""));
    let wrong = told(&lab, "run wrong.toml --policy rr --duration 1s");
    assert!(wrong.starts_with("schedlab: wrong.toml:10:8: "), "{wrong}");
}

#[test]
fn all_policies_that_are_wrong_are_named_at_once() {
    let lab = with_faulty_policies();
    let policies = "--policy ./broken.bpf.c,rr,./closed.bpf.c,nope";
    names_all_faults(&refused(&lab, &format!("compare small.toml {policies}")));
    names_all_faults(&refused(&lab, &format!("overhead --venue sim {policies}")));
    lab.write(
        "all.gate.toml",
        "scenario = \"small.toml\"\npolicy = [\"./broken.bpf.c\", \"rr\", \"./closed.bpf.c\", \"nope\"]\n\
         [[check]]\nmetric = \"jain\"\nmin = 0.5\n",
    );
    names_all_faults(&refused(&lab, "gate all.gate.toml"));
    let lines = refused(
        &lab,
        "quota container-limit --control-group service --policy rr,fcfs --search limit --target p99=20ms",
    );
    let messages: Vec<bool> = lines.iter().map(|line| line.contains(" has no cgroup_set_bandwidth")).collect();
    assert_eq!(messages, [true, true], "{lines:?}");
}

#[test]
fn advice_belongs_to_the_command() {
    let lab = Lab::with_small();
    lab.write("recording.parquet", "none");
    for (line, part) in [
        ("load kernel", "policy kernel is in charge of this machine while nothing is loaded: load another one"),
        ("load ps", "exists in the simulator alone; name a policy that a kernel can load"),
        ("search --policy kernel", "; this command simulates every policy: name another one, as eevdf"),
        ("predict recording.parquet --policy kernel", "; this command simulates every policy"),
        ("agreement small.toml --policy kernel", "compare one with a kernel's own scheduler, as eevdf@kernel"),
    ] {
        let told = told(&lab, line);
        assert!(told.contains(part) && !told.contains("--venue"), "{line}: {told}");
    }
}

#[test]
fn each_reason_comes_with_its_cases_and_what_to_do() {
    let lab = Lab::new();
    lab.write("never.bpf.c", POLICY.replace("LICENCE", "GPL"));
    let line = "overhead --venue sim --kind thread --tasks 4 --duration 100ms --quiet --policy rr,./never.bpf.c";
    let output = lab.run(&line.split(' ').collect::<Vec<_>>());
    assert_eq!(output.code, Some(4), "{}", output.err);
    let reason = |part: &str| output.err.lines().find(|line| line.contains(part)).unwrap_or_default().to_string();
    let short = reason("a task did not end a single computation");
    assert!(
        short.contains("threads under rr with task.compute.count = 4") && short.ends_with("; take a longer --duration"),
        "{}",
        output.err
    );
    let never = reason("the policy never dispatches");
    assert!(never.contains("under ./never.bpf.c") && !never.contains("--duration"), "{}", output.err);
}

#[test]
fn a_program_that_loads_nothing_and_a_key_that_is_there_twice_are_named() {
    let lab = Lab::with_small();
    lab.write("twice.toml", "name = \"a\"\nname = \"b\"\n");
    let twice = told(&lab, "run twice.toml --policy rr");
    assert!(twice.starts_with("schedlab: twice.toml:2:1: `name` is there twice"), "{twice}");
    let negative = told(&lab, "run small.toml --policy rr --seed -1");
    assert!(negative.starts_with("schedlab: --seed takes no negative value, as `-1`; "), "{negative}");
    let near = told(&lab, "comapre small.toml");
    assert_eq!(near, "schedlab: there is no command `comapre`: did you mean `compare`?");
    let budget = told(&lab, "search --policy rr --budget 0s");
    assert!(budget.contains("'--budget <TIME>': write a time above zero"), "{budget}");
}

#[test]
fn a_parameter_has_the_units_of_options() {
    let lab = Lab::with_small();
    let result = lab.json(&["run", "small.toml", "--policy", "rr:quantum=0.5min", "--json", "--quiet"]);
    assert_eq!(result["policy"]["parameters"]["quantum"], 30_000_000_000_u64);
}
