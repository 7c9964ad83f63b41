//! Order: first come, first served; and that names do not matter.

use crate::{generate, lab};
use proptest::prelude::*;
use schedlab_model::distribution::Distribution;
use schedlab_model::workload::*;
use schedlab_model::{ids::*, time::Time, trace::*};
use std::collections::BTreeMap;

/// Tasks get a CPU for the first time in the order in which they became runnable.
fn first_come_first_served(events: &[Event]) -> Result<(), String> {
    let mut waiting: Vec<TaskId> = Vec::new();
    for event in events {
        match event.kind {
            EventKind::Wakeup { task, .. } => waiting.push(task),
            EventKind::Switch { next: Some(task), .. } => {
                let Some(place) = waiting.iter().position(|&t| t == task) else { continue };
                if place != 0 {
                    return Err(format!("at {} {task:?} runs before {:?}", event.time, waiting[0]));
                }
                waiting.remove(0);
            }
            _ => {}
        }
    }
    Ok(())
}

fn arrivals(cpus: u32, gap_us: u64, work_us: u64, seed: u64) -> Workload {
    let mut workload = generate::hogs(cpus, 1);
    let steps =
        vec![Step::RequestBegin, Step::Compute(Distribution::Exponential(Time::from_us(work_us))), Step::RequestEnd];
    let role = &mut workload.roles[0];
    role.count = None;
    role.birth = Birth::Arrivals { first: Time::ZERO, gap: Distribution::Exponential(Time::from_us(gap_us)) };
    role.program = Program { steps, repeats: false, repeat_depth: 0, items: None };
    workload.run.duration = Time::from_s(5);
    workload.run.seed = seed;
    workload
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fcfs_serves_in_order_of_arrival(cpus in 1u32..5, gap_us in 500u64..5_000, load in 50u64..120, seed in any::<u64>()) {
        let workload = arrivals(cpus, gap_us, gap_us * cpus as u64 * load / 100, seed);
        let run = lab::run(&workload, "fcfs").expect("it runs");
        prop_assert_eq!(first_come_first_served(&run.events), Ok(()));
    }

    /// Roles that never do anything at the same instant: their order in the file changes nothing.
    #[test]
    fn renaming_tasks_moves_only_ties(order in Just((0usize..5).collect::<Vec<_>>()).prop_shuffle(), policy in prop_oneof![Just("rr"), Just("mlfq")]) {
        let role = |index: usize| {
            let mut role = generate::hogs(2, 1).roles.remove(0);
            // Odd primes of microseconds keep them apart.
            let us = [10_007u64, 23_003, 41_017, 3_001, 77_017][index];
            role.name = format!("role {index}");
            role.birth = Birth::At(Time::from_us(us / 7));
            role.program.steps = vec![Step::RequestBegin, Step::Compute(Distribution::Constant(Time::from_us(us))), Step::RequestEnd, Step::Sleep(Distribution::Constant(Time::from_us(us / 3 + 11)))];
            role
        };
        let responses = |order: &[usize]| {
            let mut workload = generate::hogs(2, 1);
            workload.roles = order.iter().map(|&i| role(i)).collect();
            workload.run.duration = Time::from_s(2);
            let run = lab::run(&workload, policy).expect("it runs");
            request_ends(&workload, &run.events)
        };
        prop_assert_eq!(responses(&order), responses(&[0, 1, 2, 3, 4]));
    }
}

/// When requests end, by the name of the role.
fn request_ends(workload: &Workload, events: &[Event]) -> BTreeMap<String, Vec<Time>> {
    let mut role_of = BTreeMap::new();
    let mut ends: BTreeMap<String, Vec<Time>> = BTreeMap::new();
    for event in events {
        match event.kind {
            EventKind::Fork { task, role, .. } => _ = role_of.insert(task, workload.roles[role.index()].name.clone()),
            EventKind::RequestEnd { task, .. } => ends.entry(role_of[&task].clone()).or_default().push(event.time),
            _ => {}
        }
    }
    ends
}

#[test]
fn a_policy_that_serves_the_newest_first_is_caught() {
    let run = lab::run(&arrivals(1, 1_000, 1_100, 1), "starving").expect("too short for the watchdog");
    assert!(first_come_first_served(&run.events).is_err());
}
