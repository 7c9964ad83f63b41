//! Makes a scenario smaller as long as the same is wrong.
//!
//! A scenario is made smaller in its own language: a role, a step, a key, a CPU less, a rounder number. What is tried is a list
//! in the order of how much it takes away, until nothing on it can go.

use crate::finding::Finding;
use crate::text::{lines, to_toml};
use schedlab_model::cpuset::CpuSet;
use schedlab_model::distribution::Distribution;
use schedlab_model::ids::CpuId;
use schedlab_model::scenario::{Machine, Notation, Scenario, Step, Task, Text};
use schedlab_model::time::Time;

/// What a scenario was made into.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The scenario.
    pub scenario: Scenario,
    /// What is wrong in it.
    pub finding: Finding,
    /// How many smaller ones were tried.
    pub tried: usize,
}

/// Makes a scenario smaller in which `finding` was found. `judge` says what is wrong in one; `most` limits the attempts.
pub fn shrink(
    scenario: &Scenario,
    finding: Finding,
    most: usize,
    judge: &dyn Fn(&Scenario) -> Option<Finding>,
) -> Shrunk {
    let mut shrunk = Shrunk { scenario: scenario.clone(), finding, tried: 0 };
    let (mut list, mut at, mut unchanged) = (smaller(scenario), 0, 0);
    // Until everything was tried and nothing could go.
    while unchanged < list.len() && shrunk.tried < most {
        let smaller_one = list[at % list.len()].clone();
        shrunk.tried += 1;
        match judge(&smaller_one).filter(|found| found.kind == shrunk.finding.kind) {
            Some(finding) => {
                (shrunk.scenario, shrunk.finding, unchanged) = (smaller_one, finding, 0);
                // What could not go before is tried again last.
                list = smaller(&shrunk.scenario);
            }
            None => (at, unchanged) = (at + 1, unchanged + 1),
        }
    }
    shrunk
}

/// Scenarios that are smaller than this one, those that are smaller by most first. Not all of them can be run.
fn smaller(scenario: &Scenario) -> Vec<Scenario> {
    let mut all = Vec::new();
    let mut take = |change: &dyn Fn(&mut Scenario)| {
        let mut smaller = scenario.clone();
        change(&mut smaller);
        without_idle_names(&mut smaller);
        if smaller != *scenario && !all.contains(&smaller) {
            all.push(smaller);
        }
    };
    take(&shorter);
    for at in 0..scenario.tasks.len() {
        take(&|scenario| without_role(scenario, at));
    }
    take(&|scenario| without_groups(scenario));
    take(&|scenario| scenario.hotplug.clear());
    for at in 0..scenario.hotplug.len() {
        take(&|scenario| _ = scenario.hotplug.remove(at));
    }
    for cpus in fewer(scenario.compile().map_or(1, |workload| workload.machine.cpus())) {
        take(&|scenario| with_cpus(scenario, cpus));
    }
    for at in 0..scenario.tasks.len() {
        let count = scenario.tasks[at].count.unwrap_or(1);
        for count in fewer(count) {
            take(&|scenario| scenario.tasks[at].count = Some(count).filter(|count| *count > 1));
        }
        for step in 0..steps(&scenario.tasks[at]).len() {
            take(&|scenario| _ = steps_of(&mut scenario.tasks[at]).map(|steps| steps.remove(step)));
        }
        // A pair that takes and gives goes together.
        for step in 0..steps(&scenario.tasks[at]).len().saturating_sub(1) {
            for other in step + 1..steps(&scenario.tasks[at]).len() {
                take(&|scenario| {
                    if let Some(steps) = steps_of(&mut scenario.tasks[at]) {
                        steps.remove(other);
                        steps.remove(step);
                    }
                });
            }
        }
        for drop in ATTRIBUTES {
            take(&|scenario| drop(&mut scenario.tasks[at]));
        }
    }
    for drop in MACHINE {
        take(&|scenario| drop(&mut scenario.machine));
    }
    take(&|scenario| scenario.run.seed = None);
    numbers(scenario, &mut take);
    all
}

/// What a role may do without.
const ATTRIBUTES: [fn(&mut Task); 10] = [
    |task| task.nice = None,
    |task| task.class = None,
    |task| task.cpus = None,
    |task| task.start = None,
    |task| task.start_on = None,
    |task| task.kind = None,
    |task| task.control_group = None,
    |task| task.limit = None,
    |task| {
        // Arrivals of tasks that end become one that begins again.
        if task.arrivals.take().is_some() {
            task.repeated = task.once.take();
        }
    },
    |task| task.slice = None,
];

/// What a machine may do without.
const MACHINE: [fn(&mut Machine); 6] = [
    |machine| machine.costs = Default::default(),
    |machine| machine.costs.switch = None,
    |machine| machine.costs.wakeup = None,
    |machine| machine.costs.migration = None,
    |machine| machine.tick_offset = None,
    |machine| (machine.tick, machine.tick_offset) = (None, None),
];

/// Fewer than these, the fewest first.
fn fewer(count: u32) -> impl Iterator<Item = u32> {
    let mut fewer: Vec<u32> = [1, count / 4, count / 2, count.saturating_sub(1)]
        .into_iter()
        .filter(|less| *less > 0 && *less < count)
        .collect();
    fewer.dedup();
    fewer.into_iter()
}

/// The steps of a role, whether it repeats them or not.
pub(crate) fn steps(task: &Task) -> &[Step] {
    task.repeated.as_deref().or(task.once.as_deref()).unwrap_or(&[])
}

fn steps_of(task: &mut Task) -> Option<&mut Vec<Step>> {
    task.repeated.as_mut().or(task.once.as_mut())
}

/// A role less, and all that spawns it.
fn without_role(scenario: &mut Scenario, at: usize) {
    let gone = scenario.tasks.remove(at).name;
    for task in &mut scenario.tasks {
        if let Some(steps) = steps_of(task) {
            steps.retain(|step| !matches!(step, Step::Spawn { spawn, .. } if *spawn == gone));
        }
    }
}

/// The same under a watchdog that is as impatient as that of most scenarios.
fn shorter(scenario: &mut Scenario) {
    if scenario.machine.watchdog.is_none() {
        scenario.machine.watchdog = Some(Text(Time::from_s(3)));
        scenario.run.duration = Some(Text(Time::from_s(4)));
    }
}

fn without_groups(scenario: &mut Scenario) {
    scenario.control_groups.clear();
    scenario.tasks.iter_mut().for_each(|task| task.control_group = None);
}

/// What is declared and not used goes without being asked for.
fn without_idle_names(scenario: &mut Scenario) {
    let is_used = |name: &str| {
        let uses = |step: &Step| match step {
            Step::Wait { wait } => wait == name,
            Step::Post { post, .. } => post == name,
            _ => false,
        };
        scenario.tasks.iter().any(|task| steps(task).iter().any(uses))
    };
    let used: Vec<String> = scenario.semaphore.keys().filter(|name| is_used(name)).cloned().collect();
    scenario.semaphore.retain(|name, _| used.contains(name));
    let groups: Vec<String> = scenario.tasks.iter().filter_map(|task| task.control_group.clone()).collect();
    scenario.control_groups.retain(|group| groups.contains(&group.path));
}

/// The same on fewer CPUs: what names others names the first ones.
fn with_cpus(scenario: &mut Scenario, cpus: u32) {
    (scenario.machine.cpus, scenario.machine.topology) = (Some(cpus), None);
    let exists = |set: &Option<Text<CpuSet>>| set.as_ref().is_none_or(|set| set.0.iter().all(|cpu| cpu.0 < cpus));
    scenario.hotplug.retain(|event| exists(&event.offline) && exists(&event.online));
    let fit = |set: &CpuSet| -> CpuSet {
        let some: CpuSet = set.iter().filter(|cpu| cpu.0 < cpus).collect();
        if some.is_empty() { [CpuId(0)].into_iter().collect() } else { some }
    };
    for task in &mut scenario.tasks {
        task.start_on = task.start_on.map(|cpu| cpu.min(cpus - 1));
        task.cpus = task.cpus.as_ref().map(|set| Text(fit(set)));
        for step in steps_of(task).into_iter().flatten() {
            if let Step::Set { set } = step {
                set.cpus = set.cpus.as_ref().map(|set| Text(fit(set)));
            }
        }
    }
}

/// Numbers that are rounder: times that are always the same, with one digit.
fn numbers(scenario: &Scenario, mut take: impl FnMut(&dyn Fn(&mut Scenario))) {
    for at in 0..scenario.tasks.len() {
        for step in 0..steps(&scenario.tasks[at]).len() {
            take(&|scenario| each_time(&mut scenario.tasks[at], step, &|time| *time = constant(time)));
            for round in ROUND {
                take(&|scenario| each_time(&mut scenario.tasks[at], step, &|time| *time = rounded(time, round)));
            }
        }
        for round in ROUND {
            take(&|scenario| {
                let task = &mut scenario.tasks[at];
                task.start = task.start.as_ref().map(|start| Text(round(start.0)));
                task.arrivals = task.arrivals.as_ref().map(|gap| Text(rounded(&gap.0, round)));
            });
        }
        take(&|scenario| {
            let task = &mut scenario.tasks[at];
            task.arrivals = task.arrivals.as_ref().map(|gap| Text(constant(&gap.0)));
            task.nice =
                task.nice.map(|nice| nice.signum() * [1, 5, 10, 15, 19][(nice.unsigned_abs() as usize / 5).min(4)]);
        });
    }
    for round in ROUND {
        take(&|scenario| {
            let duration = scenario.run.duration.as_ref().map(|duration| round(duration.0));
            let patience = scenario.machine.watchdog.as_ref().map_or(Time::from_s(30), |watchdog| watchdog.0);
            // A stall needs the watchdog's time.
            scenario.run.duration = duration.map(|duration| Text(duration.max(patience + Time::from_s(1))));
        });
    }
    for at in 0..scenario.hotplug.len() {
        for round in ROUND {
            take(&|scenario| scenario.hotplug[at].at = Text(round(scenario.hotplug[at].at.0)));
        }
    }
    take(&|scenario| {
        for key in [
            &mut scenario.machine.costs.switch,
            &mut scenario.machine.costs.wakeup,
            &mut scenario.machine.costs.migration,
        ] {
            *key = key.as_ref().map(|cost| Text(one_digit(cost.0)));
        }
        scenario.machine.tick_offset = scenario.machine.tick_offset.as_ref().map(|offset| Text(one_digit(offset.0)));
    });
    take(&|scenario| {
        scenario.machine.tick = Notation::read("4ms").ok().map(Text).filter(|_| scenario.machine.tick.is_some())
    });
}

/// How a time becomes a rounder one: the roundest first.
const ROUND: [fn(Time) -> Time; 2] = [power, one_digit];

/// The power of ten below a time.
fn power(time: Time) -> Time {
    Time(10u64.pow(time.ns().max(1).ilog10()))
}

/// A time with one digit.
fn one_digit(time: Time) -> Time {
    let power = 10u64.pow(time.ns().max(1).ilog10());
    Time((time.ns() + power / 2) / power * power)
}

fn constant(time: &Distribution) -> Distribution {
    match time {
        Distribution::Constant(time) => Distribution::Constant(*time),
        Distribution::Uniform(low, high) => Distribution::Constant(one_digit(Time(low.ns().midpoint(high.ns())))),
        Distribution::Exponential(mean) => Distribution::Constant(one_digit(*mean)),
        Distribution::Lognormal(median, _) => Distribution::Constant(one_digit(*median)),
        Distribution::Choice(values) => Distribution::Constant(values.first().map_or(Time::ZERO, |(time, _)| *time)),
    }
}

fn rounded(time: &Distribution, round: fn(Time) -> Time) -> Distribution {
    match time {
        Distribution::Constant(time) => Distribution::Constant(round(*time)),
        Distribution::Uniform(low, high) => Distribution::Uniform(round(*low), round(*high)),
        Distribution::Exponential(mean) => Distribution::Exponential(round(*mean)),
        other => other.clone(),
    }
}

/// Changes the time of a step.
fn each_time(task: &mut Task, step: usize, change: &dyn Fn(&mut Distribution)) {
    let Some(step) = steps_of(task).and_then(|steps| steps.get_mut(step)) else { return };
    match step {
        Step::Compute { compute: time } | Step::Sleep { sleep: time } | Step::Busy { busy: time } => {
            change(&mut time.0)
        }
        Step::Io { io } => change(&mut io.service.0),
        _ => {}
    }
}

impl Shrunk {
    /// How many lines it has.
    pub fn lines(&self) -> usize {
        lines(&to_toml(&self.scenario))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw;
    use crate::finding::Kind;

    /// As if it were wrong to yield while there is a nice value.
    fn yields(scenario: &Scenario) -> Option<Finding> {
        scenario.compile().ok()?;
        let has_yield =
            scenario.tasks.iter().any(|task| steps(task).iter().any(|step| matches!(step, Step::Yield { .. })));
        let has_nice = scenario.tasks.iter().any(|task| task.nice.is_some());
        (has_yield && has_nice).then(|| Finding::new(Kind::Stall, "it yields".into()))
    }

    #[test]
    fn what_is_not_needed_goes() {
        let mut shrunk_ones = 0;
        for seed in 0..400 {
            let scenario = draw(seed);
            let Some(finding) = yields(&scenario) else { continue };
            let shrunk = shrink(&scenario, finding, 10_000, &yields);
            let text = to_toml(&shrunk.scenario);
            assert!(yields(&shrunk.scenario).is_some() && lines(&text) <= 14, "seed {seed}:\n{text}");
            assert!(shrunk.scenario.tasks.len() <= 2 && shrunk.scenario.machine.cpus == Some(1), "{text}");
            shrunk_ones += 1;
        }
        assert!(shrunk_ones > 10, "{shrunk_ones}");
    }

    #[test]
    fn times_become_round() {
        let to = |ns: u64| ROUND.map(|round| round(Time(ns)).ns());
        assert_eq!(to(347_000), [100_000, 300_000]);
        assert_eq!(constant(&Distribution::Uniform(Time(100), Time(300))), Distribution::Constant(Time(200)));
    }

    #[test]
    fn it_ends_when_nobody_wants_more() {
        let scenario = draw(3);
        let always = |_: &Scenario| Some(Finding::new(Kind::Stall, String::new()));
        let shrunk = shrink(&scenario, always(&scenario).unwrap(), 1, &always);
        assert_eq!(shrunk.tried, 1);
    }
}
