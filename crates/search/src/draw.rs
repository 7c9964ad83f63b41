//! Scenarios drawn at random, in the manner of a swarm: each has some features and lacks others, since a fault that a
//! feature shows is often hidden by another one (Groce et al., "Swarm testing", 2012).

use schedlab_model::cpuset::CpuSet;
use schedlab_model::distribution::Distribution;
use schedlab_model::ids::CpuId;
use schedlab_model::machine::Topology;
use schedlab_model::rng::Rng;
use schedlab_model::scenario::{
    Change, ControlGroup, Hotplug, Io, KindName, Machine, Notation, Run, Scenario, Semaphore, Step, Task, Text, True,
};
use schedlab_model::time::Time;
use schedlab_model::workload::Class;

/// How long most scenarios are, and how long a task of theirs may wait.
const SHORT: (Time, Time) = (Time::from_s(4), Time::from_s(3));
/// The same of those in which weights are far apart: a kernel's own patience.
const LONG: (Time, Time) = (Time::from_s(34), Time::from_s(30));

/// What a scenario may have or lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feature {
    Nice,
    Classes,
    Affinity,
    StartOn,
    Late,
    Arrivals,
    Spawns,
    Processes,
    Yields,
    Devices,
    Locks,
    Semaphores,
    Pipes,
    Changes,
    ControlGroups,
    Limits,
    Tick,
    Costs,
    Topology,
    Random,
}

const FEATURES: [Feature; 20] = [
    Feature::Nice,
    Feature::Classes,
    Feature::Affinity,
    Feature::StartOn,
    Feature::Late,
    Feature::Arrivals,
    Feature::Spawns,
    Feature::Processes,
    Feature::Yields,
    Feature::Devices,
    Feature::Locks,
    Feature::Semaphores,
    Feature::Pipes,
    Feature::Changes,
    Feature::ControlGroups,
    Feature::Limits,
    Feature::Tick,
    Feature::Costs,
    Feature::Topology,
    Feature::Random,
];

/// Whether a step takes units of the semaphore or gives them. A semaphore that no task uses cannot be declared.
fn uses_semaphore(step: &Step) -> bool {
    match step {
        Step::Wait { .. } | Step::Post { .. } => true,
        Step::Repeat { steps, .. } => steps.iter().any(uses_semaphore),
        _ => false,
    }
}

/// The scenario of a seed.
pub fn draw(seed: u64) -> Scenario {
    let mut rng = Rng::split(seed, "search");
    let has: Vec<Feature> = FEATURES.into_iter().filter(|_| rng.below(2) == 0).collect();
    let is_long = rng.below(8) == 0;
    let mut draft = Draft { rng, has, is_long, cpus: 1, kinds: 0 };
    let mut scenario = draft.scenario(seed);
    // From a stream of its own.
    let mut rng = Rng::split(seed, "search/machine");
    if draft.cpus > 1 && rng.below(4) == 0 {
        scenario.hotplug = hotplug(&mut rng, draft.cpus, &scenario.tasks);
    }
    // More than that wait for their turn longer than most scenarios' watchdogs allow.
    if draft.is_long && rng.below(4) == 0 {
        crowd(&mut rng, &mut scenario.tasks);
    }
    scenario
}

/// CPUs that go, one after the other, and mostly come back.
fn hotplug(rng: &mut Rng, cpus: u32, tasks: &[Task]) -> Vec<Hotplug> {
    let begins_there = |cpu: &u32| tasks.iter().any(|task| task.start_on == Some(*cpu));
    let mut can_go: Vec<u32> = (1..cpus).filter(|cpu| !begins_there(cpu)).collect();
    let mut events = Vec::new();
    for _ in 0..1 + rng.below(3) {
        if can_go.is_empty() {
            break;
        }
        let cpu: CpuSet = [CpuId(can_go.swap_remove(rng.below(can_go.len() as u64) as usize))].into_iter().collect();
        let goes = Time::from_us(1 + rng.below(1_000_000));
        let comes = (rng.below(4) > 0).then(|| goes + Time::from_us(1 + rng.below(500_000)));
        events.push(Hotplug { at: Text(goes), offline: Some(Text(cpu.clone())), online: None });
        events.extend(comes.map(|at| Hotplug { at: Text(at), offline: None, online: Some(Text(cpu)) }));
    }
    events.sort_by_key(|event| event.at.0);
    events
}

/// One role gets many tasks.
fn crowd(rng: &mut Rng, tasks: &mut [Task]) {
    let at = rng.below(tasks.len() as u64) as usize;
    let task = &mut tasks[at];
    if task.arrivals.is_none() && !task.spawned {
        task.count = Some(5 + rng.below(40) as u32);
    }
}

struct Draft {
    rng: Rng,
    has: Vec<Feature>,
    is_long: bool,
    cpus: u32,
    /// How many kinds of tasks there are.
    kinds: u32,
}

impl Draft {
    fn scenario(&mut self, seed: u64) -> Scenario {
        let (duration, watchdog) = if self.is_long { LONG } else { SHORT };
        let machine = Machine { watchdog: Some(Text(watchdog)).filter(|_| !self.is_long), ..self.machine() };
        let run = Run { duration: Some(Text(duration)), seed: Some(seed), ..Run::default() };
        let roles = self.between(1, 4);
        let mut tasks = Vec::new();
        for _ in 0..roles {
            self.task(&mut tasks);
        }
        let mut scenario = Scenario::new(&format!("found-{seed}"), machine, run, tasks, "search");
        let programs = scenario.tasks.iter().flat_map(|task| task.repeated.iter().chain(&task.once));
        if programs.flatten().any(uses_semaphore) {
            scenario.semaphore.insert("s".into(), Semaphore { initial: 1 });
        }
        if self.has(Feature::ControlGroups) {
            self.control_groups(&mut scenario);
        }
        scenario
    }

    fn has(&self, feature: Feature) -> bool {
        self.has.contains(&feature)
    }

    /// True in one of `n` cases.
    fn one_in(&mut self, cases: u64) -> bool {
        self.rng.below(cases) == 0
    }

    fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.rng.below(u64::from(high - low) + 1) as u32
    }

    fn machine(&mut self) -> Machine {
        let mut machine = Machine::default();
        if self.has(Feature::Topology) {
            let texts = ["1n1l2c2t", "1n2l2c1t", "2n1l2c1t", "2n2l1c2t"];
            let text = texts[self.rng.below(texts.len() as u64) as usize];
            let topology = Topology::read(text).expect("it is one");
            self.cpus = topology.cpus();
            machine.topology = Some(Text(topology));
        } else {
            self.cpus = [1, 1, 2, 2, 2, 3, 4, 4, 8][self.rng.below(9) as usize];
            machine.cpus = Some(self.cpus);
        }
        if self.has(Feature::Tick) {
            let tick = Time::from_ms([1, 4, 4, 10][self.rng.below(4) as usize]);
            machine.tick = Some(Text(tick));
            machine.tick_offset = self.one_in(2).then(|| Text(Time(self.rng.below(tick.ns()))));
        }
        if self.has(Feature::Costs) {
            let mut cost = |most: u64| Some(Text(Time(self.rng.below(most) + 1)));
            machine.costs.switch = cost(5_000);
            machine.costs.wakeup = cost(5_000);
            machine.costs.migration = cost(50_000);
        }
        machine
    }

    fn length(&mut self) -> Time {
        let decade = [10, 100, 1_000, 1_000, 10_000, 10_000][self.rng.below(6) as usize];
        Time::from_us(decade * (1 + self.rng.below(9)))
    }

    fn time(&mut self) -> Text<Distribution> {
        let mean = self.length();
        Text(match self.rng.below(4) {
            0 if self.has(Feature::Random) => Distribution::Exponential(mean),
            1 if self.has(Feature::Random) => Distribution::Uniform(Time(mean.ns() / 2), Time(mean.ns() * 2)),
            _ => Distribution::Constant(mean),
        })
    }

    fn some_cpus(&mut self) -> CpuSet {
        let mask = self.rng.below((1 << self.cpus.min(16)) - 1) + 1;
        (0..self.cpus).filter(|cpu| mask >> cpu & 1 == 1).map(CpuId).collect()
    }

    fn nice(&mut self) -> i64 {
        // A task waits in the ratio of the weights: in a short run they are not far apart.
        if self.is_long { i64::from(self.between(0, 29)) - 15 } else { i64::from(self.between(0, 10)) - 5 }
    }

    fn name(&mut self) -> String {
        self.kinds += 1;
        let letter = char::from(b'a' + (self.kinds as u8 - 1) % 26);
        format!("{letter}")
    }

    fn task(&mut self, tasks: &mut Vec<Task>) {
        let mut task = Task { name: self.name(), ..Task::default() };
        task.count = Some(self.between(1, 4)).filter(|count| *count > 1);
        if self.has(Feature::Nice) && self.one_in(2) {
            task.nice = Some(self.nice());
        }
        if self.has(Feature::Classes) && self.one_in(4) {
            task.class = Some(Text(if self.is_long && self.one_in(2) { Class::Idle } else { Class::Batch }));
        }
        if self.has(Feature::Affinity) && self.one_in(2) {
            task.cpus = Some(Text(self.some_cpus()));
        }
        if self.has(Feature::Late) && self.one_in(2) {
            task.start = Some(Text(Time::from_ms(self.rng.below(1_000))));
        }
        if self.has(Feature::Processes) && self.one_in(2) {
            task.kind = Some(KindName::Process);
        }
        if self.has(Feature::StartOn) && task.cpus.is_none() && !self.has(Feature::Changes) && self.one_in(2) {
            task.start_on = Some(self.between(0, self.cpus - 1));
        }
        if self.has(Feature::Arrivals) && self.one_in(3) {
            let gap = Time(self.length().ns().max(2_000_000) * 4);
            task.arrivals = Some(Text(Distribution::Exponential(gap)));
            task.count = None;
            task.start_on = None;
            let work = Time((self.length().ns()).min(gap.ns() / 2));
            task.once = Some(vec![Step::Compute { compute: Text(Distribution::Constant(work)) }]);
        } else {
            let steps = self.steps(tasks);
            task.repeated = Some(steps);
        }
        tasks.push(task);
    }

    /// Steps of which one takes a CPU, and none waits for ever.
    fn steps(&mut self, tasks: &mut Vec<Task>) -> Vec<Step> {
        let mut steps = vec![Step::Compute { compute: self.time() }];
        if self.one_in(3) {
            return steps;
        }
        for _ in 0..self.between(1, 4) {
            let more = self.more_steps(tasks);
            steps.extend(more);
        }
        steps
    }

    fn more_steps(&mut self, tasks: &mut Vec<Task>) -> Vec<Step> {
        let compute = Step::Compute { compute: self.time() };
        match self.rng.below(12) {
            0 if self.has(Feature::Yields) => vec![Step::Yield { r#yield: True }],
            1 if self.has(Feature::Devices) => {
                vec![Step::Io { io: Io { device: "d".into(), service: Text(Distribution::Constant(self.length())) } }]
            }
            2 if self.has(Feature::Locks) => {
                vec![Step::Lock { lock: "m".into() }, compute, Step::Unlock { unlock: "m".into() }]
            }
            3 if self.has(Feature::Semaphores) => {
                vec![Step::Wait { wait: "s".into() }, compute, Step::Post { post: "s".into(), times: 1 }]
            }
            4 if self.has(Feature::Pipes) => {
                vec![Step::Send { send: "c".into(), messages: 1 }, Step::Recv { recv: "c".into(), messages: 1 }]
            }
            5 | 6 if self.has(Feature::Changes) => vec![self.change()],
            7 if self.has(Feature::Spawns) => {
                let name = self.name();
                let once = vec![Step::Compute { compute: self.time() }];
                tasks.push(Task { name: name.clone(), spawned: true, once: Some(once), ..Task::default() });
                // A parent that only spawns would have no end of children.
                vec![
                    Step::Spawn { spawn: name, count: self.between(1, 3) },
                    Step::Sleep { sleep: Text(Distribution::Constant(Time::from_ms(50))) },
                ]
            }
            8 | 9 => vec![compute],
            _ => vec![Step::Sleep { sleep: self.time() }],
        }
    }

    fn change(&mut self) -> Step {
        let is_of_cpus = self.one_in(2) || !self.has(Feature::Nice);
        let cpus = is_of_cpus.then(|| Text(self.some_cpus()));
        let nice = (!is_of_cpus).then(|| self.nice());
        Step::Set { set: Change { cpus, nice, class: None, slice: None } }
    }

    fn control_groups(&mut self, scenario: &mut Scenario) {
        for path in ["x", "y"] {
            let weight = Some([10, 50, 200, 400][self.rng.below(4) as usize]);
            let max = (self.has(Feature::Limits) && self.one_in(2))
                .then(|| Text(Notation::read("30ms/100ms").expect("it is a limit")));
            scenario.control_groups.push(ControlGroup {
                path: path.into(),
                weight,
                nice: None,
                idle: false,
                max,
                burst: None,
                kubernetes: None,
                systemd: None,
                cpus: None,
                partition: None,
            });
        }
        for at in 0..scenario.tasks.len() {
            if self.one_in(2) && !scenario.tasks[at].spawned {
                scenario.tasks[at].control_group = Some(if self.one_in(2) { "x" } else { "y" }.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_scenario_and_another_one_another() {
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn scenarios_can_be_run_and_written() {
        for seed in 0..400 {
            let scenario = draw(seed);
            let workload = scenario.compile().unwrap_or_else(|error| panic!("{error}\n{}", scenario.to_toml()));
            assert!(workload.run.end().is_some());
            assert_eq!(Scenario::parse(&scenario.to_toml(), "t").unwrap(), scenario, "seed {seed}");
        }
    }

    #[test]
    fn features_come_and_go() {
        let all: Vec<String> = (0..200).map(|seed| draw(seed).to_toml()).collect();
        for word in [
            "nice",
            "cpus = \"",
            "start_on",
            "arrivals",
            "spawn",
            "yield",
            "device",
            "lock",
            "wait",
            "send",
            "set",
            "weight",
            "max",
            "tick",
            "topology",
            "switch",
            "process",
            "hotplug",
            "offline",
        ] {
            let with = all.iter().filter(|text| text.contains(word)).count();
            assert!((3..198).contains(&with), "{word}: in {with} of 200");
        }
    }
}
