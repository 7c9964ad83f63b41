//! What is measured.

use schedlab_model::control_group::ControlGroups;
use schedlab_model::workload::{Birth, Class, Kind, Objects, Program, Role, Run, Step, Workload};
use schedlab_model::{cpuset::CpuSet, distribution::Distribution, machine::Machine, time::Time};

/// One case: a machine full of tasks.
pub struct Case {
    /// What the table calls it.
    pub name: String,
    /// The policy.
    pub policy: &'static str,
    /// CPUs.
    pub cpus: u32,
    /// Tasks on all CPUs together.
    pub tasks: u32,
    /// Whether a third of the tasks computes and the rest sleeps most of the time; else all compute.
    pub mixed: bool,
    /// Simulated time.
    pub duration: Time,
    /// Whether the interpreter is measured too.
    pub interpreted: bool,
}

/// The case in which policies are compared with one another.
pub const COMPARED: &str = "8 CPUs, 100 mixed";

/// All cases. The first three are those for which other simulators have been measured.
pub fn cases() -> Vec<Case> {
    let mut cases = sizes();
    cases.extend(schedlab_policy::catalog().iter().filter(|policy| policy.name != "rr").map(|policy| Case {
        name: format!("{COMPARED}, {}", policy.name),
        policy: policy.name,
        cpus: 8,
        tasks: 100,
        mixed: true,
        duration: Time::from_s(seconds_of(policy.name)),
        interpreted: false,
    }));
    cases
}

/// So long that there are a million switches, next to which the loading of a policy is little. Windows switches rarely.
fn seconds_of(policy: &str) -> u64 {
    if policy == "windows" { 8000 } else { 400 }
}

/// Machines of several sizes under `rr`.
fn sizes() -> Vec<Case> {
    vec![
        Case {
            name: "2 CPUs, 7 compute".into(),
            policy: "rr",
            cpus: 2,
            tasks: 7,
            mixed: false,
            duration: Time::from_s(100_000),
            interpreted: true,
        },
        Case {
            name: COMPARED.into(),
            policy: "rr",
            cpus: 8,
            tasks: 100,
            mixed: true,
            duration: Time::from_s(4000),
            interpreted: true,
        },
        Case {
            name: "64 CPUs, 1000 mixed".into(),
            policy: "rr",
            cpus: 64,
            tasks: 1000,
            mixed: true,
            duration: Time::from_s(1200),
            interpreted: false,
        },
        Case {
            name: "8 CPUs, 8 x 8 mixed".into(),
            policy: "rr",
            cpus: 8,
            tasks: 64,
            mixed: true,
            duration: Time::from_s(4000),
            interpreted: false,
        },
        Case {
            name: "8 CPUs, 8 x 1000 mixed".into(),
            policy: "rr",
            cpus: 8,
            tasks: 8000,
            mixed: true,
            duration: Time::from_s(4000),
            interpreted: false,
        },
        Case {
            name: "1024 CPUs, 1000000 mixed".into(),
            policy: "rr",
            cpus: 1024,
            tasks: 1_000_000,
            mixed: true,
            // In less the tasks are created and do little else.
            duration: Time::from_s(300),
            interpreted: false,
        },
    ]
}

impl Case {
    /// The workload.
    pub fn workload(&self) -> Workload {
        let tasks = self.tasks;
        let ms = |n: u64| Step::Compute(Distribution::Constant(Time::from_us(n * 100)));
        let sleep = |n: u64| Step::Sleep(Distribution::Constant(Time::from_ms(n)));
        let hog = vec![Step::RequestBegin, Step::Compute(Distribution::Constant(Time::from_ms(250))), Step::RequestEnd];
        let busy = vec![Step::RequestBegin, ms(20), Step::RequestEnd, sleep(10)];
        let light = vec![Step::RequestBegin, ms(2), Step::RequestEnd, sleep(5)];
        let roles = match self.mixed {
            false => vec![self.role("compute", tasks, hog)],
            true => {
                let third = tasks / 3;
                vec![
                    self.role("compute", tasks - 2 * third, hog),
                    self.role("busy", third, busy),
                    self.role("light", third, light),
                ]
            }
        };
        Workload {
            name: self.name.clone(),
            about: String::new(),
            // Hundreds of computing tasks on a CPU wait longer for their turn than a kernel would allow.
            machine: Machine { watchdog: Time::NEVER, ..Machine::flat(self.cpus) },
            roles,
            control_groups: ControlGroups::root_alone(self.cpus),
            objects: Objects::default(),
            sources: Vec::new(),
            hotplug: Vec::new(),
            run: Run {
                duration: self.duration,
                warmup: Time::ZERO,
                period_phase: Default::default(),
                calls: false,
                seed: 1,
            },
        }
    }

    fn role(&self, name: &str, count: u32, steps: Vec<Step>) -> Role {
        Role {
            name: name.into(),
            count: Some(count),
            birth: Birth::At(Time::ZERO),
            start_on: None,
            nice: 0,
            slice: None,
            class: Class::Other,
            cpus: CpuSet::first(self.cpus),
            kind: Kind::Thread,
            control: Default::default(),
            program: Program { steps, repeats: true, repeat_depth: 0, items: None },
        }
    }
}
