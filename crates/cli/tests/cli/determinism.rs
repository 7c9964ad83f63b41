//! The same inputs give the same bytes.

use crate::lab::Lab;
use std::fs;

/// Three kinds of randomness, three CPUs, costs and a tick.
const LIVELY: &str = r#"
name = "lively"
[machine]
cpus = 3
tick = "1ms"
costs = { switch = "2us", wakeup = "1us", migration = "10us", tick = "1us", policy_instruction = "300ps" }
[[task]]
name = "job"
arrivals = "exp(9ms)"
once = [{ compute = "lognormal(5ms, 1)" }]
[[task]]
name = "worker"
count = 5
nice = 3
loop = [{ compute = "exp(7ms)" }, { sleep = "uniform(1ms, 9ms)" }]
[run]
duration = "3s"
"#;

#[test]
fn results_do_not_depend_on_process_threads_or_executor() {
    let lab = Lab::new();
    lab.write("lively.toml", LIVELY);
    let policies = "fcfs,rr:quantum=3ms,mlfq";
    let base = ["compare", "lively.toml", "--policy", policies, "--runs", "3", "--json", "--quiet", "--fresh"];
    let first = lab.out(&base);
    for more in
        [&["--threads", "1"][..], &["--threads", "7"], &["--executor", "interpreter"], &["--executor", "machine"]]
    {
        assert!(lab.out(&[&base[..], more].concat()) == first, "{more:?} changes the result");
    }
    let other = lab.out(&[&base[..], &["--seed", "2"]].concat());
    assert!(other != first, "the seed changes nothing");
}

#[test]
fn traces_are_the_same_bytes_and_lawful() {
    let lab = Lab::new();
    lab.write("lively.toml", LIVELY);
    let base = ["run", "lively.toml", "--policy", "mlfq", "--quiet", "--duration", "500ms"];
    let mut kept: Vec<Vec<Vec<u8>>> = Vec::new();
    for executor in ["interpreter", "machine"] {
        let traces = ["--trace", "a.parquet", "--trace", "a.pftrace", "--trace", "a.txt"];
        lab.out(&[&base[..], &traces, &["--executor", executor]].concat());
        kept.push(["a.parquet", "a.pftrace", "a.txt"].map(|name| fs::read(lab.path(name)).unwrap()).into());
    }
    assert!(kept[0] == kept[1]);
    for name in ["a.parquet", "a.pftrace"] {
        let said = lab.out(&["check", name]);
        assert!(said.contains("lively under mlfq in sim") && said.contains("no invariant is violated"), "{said}");
    }
}

#[test]
fn a_run_is_the_first_of_several() {
    let lab = Lab::with_small();
    let one = lab.json(&["run", "small.toml", "--policy", "rr", "--json"]);
    let many = lab.json(&["run", "small.toml", "--policy", "rr", "--json", "--runs", "4"]);
    assert_eq!((&many["runs"]["count"], &many["runs"]["seeds"][0]), (&4.into(), &one["seed"]));
    assert!(one.get("runs").is_none() && many.get("tasks").is_none());
    let response = &many["roles"][0]["metrics"]["response_ns.mean"];
    assert_eq!(response["values"][0].as_f64(), one["roles"][0]["response_ns"]["mean"].as_f64());
    let [low, mean, high] = ["low", "mean", "high"].map(|key| response[key].as_f64().unwrap());
    assert!(low < mean && mean < high, "{response}");
    // A derived seed gives the very run when it is asked for.
    let seed = many["runs"]["seeds"][1].to_string();
    let second = lab.json(&["run", "small.toml", "--policy", "rr", "--json", "--seed", &seed]);
    assert_eq!(response["values"][1].as_f64(), second["roles"][0]["response_ns"]["mean"].as_f64());
    assert!(second["roles"] != one["roles"]);
}
