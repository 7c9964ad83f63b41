//! What may be said about ALB: by weight there are fewer migrations than by number, and sums that are closer to each other;
//! a single task that is released from a CPU gains nothing.

use super::observe::{PLAIN, hogs, moves, places, run_under};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind};

/// Policies that balance by number: CFS where there is room, and Linux 2.6.3.
const BY_NUMBER: [(&str, &[(&str, u64)]); 2] = [("cfs", &[]), ("linux-o1", &[("version", 1)])];

/// On three CPUs no task of these outweighs the average.
const NICES: [i32; 14] = [-5, -5, -5, -5, 0, 0, 0, 0, 5, 5, 5, 5, 10, 10];

fn of_many_weights() -> String {
    NICES.iter().enumerate().map(|(number, nice)| hogs(&format!("t{number}"), 1, *nice, 0)).collect()
}

#[test]
fn by_weight_there_are_fewer_migrations_than_by_number() {
    let heavy = hogs("heavy", 1, -5, 0) + &hogs("light", 4, 0, 0);
    let heavier = hogs("heavier", 1, -10, 0) + &hogs("heavy", 2, -5, 0) + &hogs("light", 3, 0, 0);
    let heavier = heavier + &hogs("lighter", 4, 5, 0) + &hogs("lightest", 2, 10, 0);
    for (machine, tasks) in [("cpus = 2", heavy), ("cpus = 4", heavier)] {
        let moved = |policy: &str, settings: &[_]| moves(&run_under(policy, machine, 10_000, &tasks, settings)).len();
        for settings in [&[PLAIN][..], &[]] {
            let alb = moved("alb", settings);
            for (policy, settings) in BY_NUMBER {
                let other = moved(policy, settings);
                assert!(alb < other, "{machine}: {alb} and {other} of {policy}");
            }
        }
    }
}

/// The largest sum of weights on a CPU less the smallest, as a part of the average, over the second half of a run.
fn difference(events: &[Event], cpus: usize) -> f64 {
    let weight = |task: &u32| 1024.0 / 1.25_f64.powi(NICES[*task as usize]);
    let instants = (50..100).map(|step| Time::from_ms(100 * step + 50));
    let all: f64 = (0..NICES.len() as u32).map(|task| weight(&task)).sum();
    let differences = instants.map(|at| {
        let sums = places(events, cpus, at).into_iter().map(|tasks| tasks.iter().map(weight).sum::<f64>());
        let sums: Vec<f64> = sums.collect();
        let extreme = |most: fn(f64, f64) -> f64| sums.iter().copied().reduce(most).expect("CPUs");
        (extreme(f64::max) - extreme(f64::min)) / (all / cpus as f64)
    });
    differences.sum::<f64>() / 50.0
}

#[test]
fn by_weight_the_sums_are_closer_than_by_number() {
    let difference = |policy: &str, settings: &[_]| {
        difference(&run_under(policy, "cpus = 3", 10_000, &of_many_weights(), settings), 3)
    };
    let alb = difference("alb", &[PLAIN]);
    for (policy, settings) in BY_NUMBER {
        let other = difference(policy, settings);
        assert!(alb < other, "{alb} and {other} of {policy}");
    }
}

/// A task that was pinned to one CPU and is let go has that CPU to itself: there is nothing to gain.
#[test]
fn a_single_task_that_is_released_gains_nothing() {
    let task = "[[task]]\nname = \"job\"\nstart_on = 0\nonce = [{ compute = \"500ms\" }]\n";
    let ends = |policy: &str, settings: &[_]| {
        let events = run_under(policy, "cpus = 4", 1000, task, settings);
        let ended = |event: &&Event| matches!(event.kind, EventKind::Exit { .. });
        (events.iter().find(ended).expect("it ends").time, moves(&events).len())
    };
    let alb = ends("alb", &[]);
    assert_eq!(alb, (Time::from_ms(500), 0));
    for (policy, settings) in BY_NUMBER {
        assert_eq!(ends(policy, settings), alb, "{policy}");
    }
}
