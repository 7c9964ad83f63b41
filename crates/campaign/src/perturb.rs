//! Small changes of a workload, to see what a result owes to chance that a scenario does not have.
//!
//! Where nothing is random, tasks can be locked to each other's phase and to the tick: one that wakes every 100 ms always
//! meets the same end of a slice of 20 ms. Such a run repeats exactly and still says little about a machine, on which no
//! tick and no piece of work comes to the nanosecond. Copies in which these are a little different show what is left of it.

use schedlab_model::distribution::Distribution;
use schedlab_model::rng::Rng;
use schedlab_model::time::Time;
use schedlab_model::workload::{Birth, Schedule, Step, Workload};

/// Which times copies change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// Constant ones. What is drawn at random says by itself how far a number holds.
    Constants,
    /// Also work and sleeps that are drawn, where the very same numbers are drawn elsewhere and work there takes a little more or
    /// less: in a run of a minute a thousandth is a slice. Arrivals that are drawn stay where they are, as timers keep them.
    Steps,
}

/// How far times and costs are moved, at most, to either side, in parts of themselves.
pub const MOST: f64 = 0.005;

/// The copies of a workload, each with another offset of the tick, and with a factor near one for each cost of the machine and
/// for each constant amount of work, each sleep, each device's time and each gap between arrivals. What is drawn at random is
/// left as it is, unless `changes` says otherwise.
///
/// Over the copies the values of each of these lie evenly on both sides, one in each of as many equal parts as there are
/// copies (McKay, Beckman and Conover, Technometrics 21, 1979). `seed` decides all; workloads with the same names share the
/// changes.
pub fn copies(workload: &Workload, count: u32, seed: u64, changes: Changes) -> Vec<Workload> {
    let places = |name: &str| places(count, seed, name);
    let mut copies = vec![workload.clone(); count as usize];
    for (copy, place) in copies.iter_mut().zip(places("tick")) {
        copy.machine.tick_offset = Time((place * workload.machine.tick.ns() as f64) as u64);
    }
    let mut costs = workload.machine.costs;
    for (index, (name, _)) in costs.times_mut().into_iter().enumerate() {
        for (copy, place) in copies.iter_mut().zip(places(&format!("cost {name}"))) {
            let (_, cost) = &mut copy.machine.costs.times_mut()[index];
            **cost = Time((cost.ns() as f64 * factor(place)).round() as u64);
        }
    }
    for (index, source) in workload.sources.iter().enumerate() {
        for (copy, place) in copies.iter_mut().zip(places(&format!("source {}", source.name))) {
            if let Schedule::Drawn { gap, .. } = &mut copy.sources[index].schedule {
                change(gap, place);
            }
        }
    }
    for (index, role) in workload.roles.iter().enumerate() {
        for (copy, place) in copies.iter_mut().zip(places(&format!("{}/arrivals", role.name))) {
            if let Birth::Arrivals { gap, .. } = &mut copy.roles[index].birth {
                change(gap, place);
            }
        }
        for step in 0..role.program.steps.len() {
            for (copy, place) in copies.iter_mut().zip(places(&format!("{}/{step}", role.name))) {
                match &mut copy.roles[index].program.steps[step] {
                    Step::Compute(time) | Step::Sleep(time) | Step::Io(_, time) if changes == Changes::Steps => {
                        *time = time.scaled(factor(place));
                    }
                    Step::Compute(time) | Step::Sleep(time) | Step::Io(_, time) => change(time, place),
                    _ => {}
                }
            }
        }
    }
    copies
}

/// Places from 0 to before 1, one for each copy, one in each of as many equal parts.
fn places(count: u32, seed: u64, name: &str) -> Vec<f64> {
    Rng::split(seed, &format!("perturbation/{name}")).evenly(count as usize)
}

fn change(time: &mut Distribution, place: f64) {
    if matches!(time, Distribution::Constant(_)) {
        *time = time.scaled(factor(place));
    }
}

/// The factor at a place, from 0 to 1, among those that are near one.
fn factor(place: f64) -> f64 {
    1.0 + MOST * (2.0 * place - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::scenario::Scenario;

    #[test]
    fn copies_lie_on_both_sides_and_leave_what_is_random() {
        let text = "name = \"t\"\n[machine]\ncpus = 1\ntick = \"4ms\"\n\
                    costs = { switch = \"200us\" }\n[run]\nduration = \"1s\"\n[[task]]\nname = \"a\"\n\
                    loop = [{ compute = \"10ms\" }, { sleep = \"exp(5ms)\" }, { sleep = \"100ms\" }]\n";
        let workload = Scenario::parse(text, "t").unwrap().compile().unwrap();
        let of = |seed, changes| copies(&workload, 10, seed, changes);
        let [copies, again] = [1, 1].map(|seed| of(seed, Changes::Constants));
        let steps = |copy: &Workload| copy.roles[0].program.steps.clone();
        let sleep = |copy: &Workload| {
            steps(copy).iter().rev().find_map(|step| match step {
                Step::Sleep(Distribution::Constant(time)) => Some(time.ns()),
                _ => None,
            })
        };
        let sleeps: Vec<u64> = copies.iter().filter_map(sleep).collect();
        assert_eq!(sleeps.iter().filter(|sleep| **sleep > 100_000_000).count(), 5, "{sleeps:?}");
        assert!(sleeps.iter().all(|sleep| (99_500_000..=100_500_000).contains(sleep)), "{sleeps:?}");
        assert!(copies.iter().all(|copy| copy.machine.tick_offset < Time::from_ms(4)));
        let switches: Vec<u64> = copies.iter().map(|copy| copy.machine.costs.switch.ns()).collect();
        assert!(switches.iter().all(|cost| (199_000..=201_000).contains(cost)), "{switches:?}");
        assert_eq!(switches.iter().filter(|cost| **cost > 200_000).count(), 5, "{switches:?}");
        assert!(copies.iter().all(|copy| copy.machine.costs.wakeup == Time::ZERO));
        let exponential = Step::Sleep(Distribution::Exponential(Time::from_ms(5)));
        assert!(copies.iter().all(|copy| steps(copy).contains(&exponential)));
        let shown = |copies: &[Workload]| format!("{copies:?}");
        assert_eq!(shown(&copies), shown(&again));
        assert_ne!(shown(&copies), shown(&of(2, Changes::Constants)));
        let all = of(1, Changes::Steps);
        assert!(all.iter().all(|copy| !steps(copy).contains(&exponential)), "drawn ones are near it");
        assert_eq!(all.iter().filter_map(sleep).collect::<Vec<_>>(), sleeps);
    }
}
