//! Scenarios that families make: each measures something, whatever its seed.

use crate::lab;
use schedlab_bpf::Executor;
use schedlab_catalogue::families;
use schedlab_metrics::collector::Collector;
use schedlab_model::ids::ObjectId;
use schedlab_model::result::RoleResult;
use schedlab_model::workload::{Objects, Role, Step, Workload};

/// Numbers that replace parameters of a policy.
type Settings<'a> = &'a [(&'a str, u64)];

/// How many requests of a role make its median worth comparing.
const ENOUGH: u64 = 150;

/// Whether a role's requests end elsewhere: it hands on what it takes.
fn hands_on(role: &Role, objects: &Objects) -> bool {
    let works = |channel: &ObjectId| objects.channels[channel.index()].work.is_some_and(|work| work.hands_on);
    let takes = role.program.steps.iter().any(|step| matches!(step, Step::Recv(channel, _) if works(channel)));
    takes && role.program.steps.iter().any(|step| matches!(step, Step::Send(channel, _) if works(channel)))
}

fn roles(workload: &Workload, policy: &str, settings: Settings) -> Vec<RoleResult> {
    let mut collector = Collector::new(workload);
    lab::run_into(&mut collector, workload, policy, Executor::Machine, settings).unwrap();
    collector.into_measures().roles
}

/// What is wrong with a run: roles with few requests, and backlogs.
fn lacks(workload: &Workload, policy: &str, settings: Settings) -> Vec<String> {
    let results = roles(workload, policy, settings);
    let mut lacks = Vec::new();
    for (role, result) in workload.roles.iter().zip(results) {
        let measures = &result.measures;
        if hands_on(role, &workload.objects) {
            assert_eq!(measures.requests, 0, "{}: {}", workload.name, role.name);
            continue;
        }
        if measures.requests < ENOUGH {
            lacks.push(format!("{} {}: {} has {} requests", workload.name, policy, role.name, measures.requests));
        }
        if measures.requests_open > 20 + measures.requests / 10 {
            lacks.push(format!("{} {}: {} has {} open", workload.name, policy, role.name, measures.requests_open));
        }
    }
    lacks
}

fn check(policy: &str, settings: Settings, seeds: impl Iterator<Item = u64> + Clone, cpus: &[u32]) {
    let mut all = Vec::new();
    for family in families::all() {
        for (seed, &cpus) in seeds.clone().flat_map(|seed| cpus.iter().map(move |cpus| (seed, cpus))) {
            all.extend(lacks(&family.scenario(seed, cpus).compile().unwrap(), policy, settings));
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn each_role_of_a_family_ends_enough_requests_under_round_robin() {
    check("rr", &[], 1..=12, &[1, 2, 4]);
}

/// Each task for itself (`groups=none`): by the weights of groups one that computes beside thirty that wake has few requests.
#[test]
fn and_under_a_fair_scheduler() {
    check("cfs", &[("groups", 2)], 1..=3, &[1, 2]);
}
