//! What people report of schedulers, as shipped scenarios: each shows what it is named after.

use crate::lab;
use schedlab_catalogue::find_scenario;
use schedlab_model::result::Measures;
use schedlab_model::scenario::Scenario;
use std::collections::BTreeMap;

/// What the roles of a shipped scenario measure under a policy; the run obeys the laws of every trace.
fn measured(name: &str, policy: &str) -> BTreeMap<String, Measures> {
    let scenario = Scenario::parse(find_scenario(name).unwrap().text, name).unwrap();
    let workload = scenario.compile().unwrap();
    lab::measured(&workload, policy).roles.into_iter().map(|role| (role.name, role.measures)).collect()
}

fn response_ms(measures: &Measures) -> u64 {
    measures.response_ns.expect("requests ended").max / 1_000_000
}

/// 500 ms of the task in between and 4 ms of the mutex, or the 4 ms alone; its own millisecond is in the response time.
#[test]
fn inheritance_takes_the_inversion_away() {
    for policy in ["fcfs", "rr", "cfs", "eevdf", "ule", "mlfq", "linux-o1", "windows", "alb"] {
        let roles = measured("priority-inversion", policy);
        assert_eq!(response_ms(&roles["plain-urgent"]), 504 + 1, "{policy}");
        assert_eq!(response_ms(&roles["inheriting-urgent"]), 4 + 1, "{policy}");
    }
}

/// Sixteen wake-ups for each piece of work, or one. A worker of the herd wakes up at most once for each broadcast, and some
/// have not come back when the next one comes.
#[test]
fn a_herd_wakes_up_for_nothing() {
    for policy in ["fcfs", "rr", "cfs", "eevdf", "ule"] {
        let roles = measured("thundering-herd", policy);
        let (herd, turn) = (&roles["herd"], &roles["turn"]);
        let (broadcasts, signals) = (roles["herd-owner"].requests, roles["turn-owner"].requests);
        assert!(herd.requests > 15 * broadcasts && herd.requests <= 16 * (broadcasts + 1), "{policy}: {herd:?}");
        assert!(turn.requests <= signals + 1 && turn.requests + 1 >= signals, "{policy}: {turn:?}");
        assert!(herd.switches.voluntary > 15 * turn.switches.voluntary, "{policy}: {herd:?} {turn:?}");
    }
}

/// While four defenders are runnable, none of the four attackers runs, whatever the policy of the other tasks, and whether
/// the release throttles real-time tasks (`cfs`) or serves the others (`eevdf`).
#[test]
fn the_ball_does_not_move() {
    for policy in ["fcfs", "cfs", "eevdf", "ule", "mlfq", "linux-o1", "windows", "alb"] {
        let roles = measured("football", policy);
        assert_eq!(roles["offense"].cpu_ns, 0, "{policy}");
        assert!(roles["defense"].cpu_ns > 17_000_000_000, "{policy}: of 4 CPUs × 4.8 s");
    }
}

/// A policy that does not know which tasks slept lets frames wait behind a build.
#[test]
fn a_compositor_wants_to_be_preferred() {
    let misses =
        |policy: &str| measured("compositor", policy)["compositor"].deadline_miss_frac.expect("it is periodic");
    assert!(misses("cfs") < 0.01 && misses("mlfq") < 0.01);
    assert!(misses("fcfs") > 0.9 && misses("rr") > 0.9);
}

/// Round robin makes the service wait behind a spinner's 20 us, fair schedulers until a spinner is behind by enough.
#[test]
fn a_yield_is_what_the_policy_makes_of_it() {
    let tail = |policy: &str| measured("yield-tails", policy)["service"].response_ns.expect("requests ended").p99;
    let (rr, mlfq, eevdf) = (tail("rr"), tail("mlfq"), tail("eevdf"));
    assert!(mlfq < rr && rr < eevdf, "{mlfq} {rr} {eevdf}");
}
