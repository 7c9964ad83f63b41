//! What the module answers is what the venue of the command line gives.

use schedlab_catalogue::find_scenario;
use schedlab_model::scenario::Scenario;
use schedlab_playground::{Question, policies, simulate};
use schedlab_policy::PolicySpec;
use schedlab_venue::{Policy, Request, SimVenue, Venue};

fn question(scenario: &str, policy: &str) -> Question {
    Question { scenario: scenario.into(), origin: "test.toml".into(), policy: policy.into(), seed: Some(3) }
}

/// A shipped scenario that lasts half a second.
fn short(name: &str) -> String {
    let text = find_scenario(name).unwrap().text;
    let changed = |line: &str| line.trim_start().starts_with("duration").then_some("duration = \"500ms\"".to_string());
    text.lines().map(|line| changed(line).unwrap_or(line.into()) + "\n").collect()
}

/// By the command line's way, in machine code.
fn by_venue(Question { scenario, origin, policy, seed }: &Question) -> String {
    let scenario = Scenario::parse(scenario, origin).unwrap();
    let workload = scenario.compile().unwrap();
    let policy = Policy::find(&PolicySpec::parse(policy).unwrap()).unwrap();
    let (scenario_hash, seed) = (&*scenario.hash(), seed.unwrap());
    let request = Request {
        workload: &workload,
        scenario_hash,
        policy: &policy,
        seed,
        executor: None,
        check: true,
        costs: false,
    };
    serde_json::to_string_pretty(&SimVenue.run(&request, None, &mut ()).unwrap().result).unwrap() + "\n"
}

#[test]
fn every_policy_gives_the_bytes_of_the_venue() {
    let settings = ["rr:quantum=20ms", "mlfq:levels=4,starve=age(50ms)", "eevdf:version=7.3"].map(String::from);
    for policy in policies().into_iter().map(|policy| policy.name).chain(settings) {
        for scenario in ["heavy-load", "mixed-8x100"] {
            let question = question(&short(scenario), &policy);
            let answer =
                simulate(&question, &mut ()).unwrap_or_else(|error| panic!("{scenario} under {policy}: {error}"));
            assert!(answer.result == by_venue(&question), "{scenario} under {policy}: other bytes");
        }
    }
}

#[test]
fn errors_are_those_of_the_command_line() {
    let scenario = short("heavy-load");
    let venue = |policy: &str| Policy::find(&PolicySpec::parse(policy).unwrap()).unwrap_err().to_string();
    for policy in ["rr:quantum=5", "rr:quantom=5ms", "ps:quantum=5ms", "mlqf"] {
        let error = simulate(&question(&scenario, policy), &mut ()).unwrap_err().to_string();
        // The command line knows one policy more, that of the kernel.
        assert_eq!(error, venue(policy));
    }
    let error = simulate(&question(&scenario, "./mine.bpf.c"), &mut ()).unwrap_err().to_string();
    assert!(error.contains("a page has the shipped policies alone"), "{error}");
    let broken = scenario.replace("cpus = 2", "cpus = two");
    let error = simulate(&question(&broken, "rr"), &mut ()).unwrap_err().to_string();
    assert_eq!(error, Scenario::parse(&broken, "test.toml").unwrap_err().to_string());
}

#[test]
fn policies_are_described() {
    let all = policies();
    let mlfq = all.iter().find(|policy| policy.name == "mlfq").unwrap();
    let levels = mlfq.parameters.iter().find(|parameter| parameter.name == "levels").unwrap();
    assert!(levels.values == "0 to 64" && levels.about.starts_with("Number of queues"), "{levels:?}");
    let words = mlfq.parameters.iter().find(|parameter| parameter.name == "slices").unwrap();
    assert!(words.choices.contains(&words.default), "{words:?}");
    // What the machine decides is not to be chosen.
    let cfs = all.iter().find(|policy| policy.name == "cfs").unwrap();
    assert!(cfs.parameters.iter().all(|parameter| parameter.name != "threads_per_core"));
}
