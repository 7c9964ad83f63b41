//! Workloads and traces for tests.

use schedlab_model::control_group::ControlGroups;
use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::{CpuId, RoleId, TaskId};
use schedlab_model::machine::Machine;
use schedlab_model::rng::Rng;
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Overhead, Reason, WakeSource};
use schedlab_model::workload::{Birth, Class, Kind, Objects, Program, Role, Run, Workload};

/// A role that may run on these CPUs; what its tasks do is of no importance here.
pub fn role(name: &str, cpus: CpuSet) -> Role {
    Role {
        name: name.into(),
        count: Some(1),
        birth: Birth::At(Time::ZERO),
        start_on: None,
        nice: 0,
        slice: None,
        class: Class::Other,
        cpus,
        kind: Kind::Thread,
        control: Default::default(),
        program: Program { steps: Vec::new(), repeats: true, repeat_depth: 0, items: None },
    }
}

/// A workload with these roles on this number of CPUs.
pub fn workload(cpus: u32, roles: Vec<Role>, warmup: u64) -> Workload {
    Workload {
        name: "test".into(),
        about: String::new(),
        machine: Machine::flat(cpus),
        roles,
        control_groups: ControlGroups::root_alone(cpus),
        objects: Objects::default(),
        sources: Vec::new(),
        hotplug: Vec::new(),
        run: Run {
            duration: Time(1_000_000),
            warmup: Time(warmup),
            period_phase: Default::default(),
            seed: 1,
            calls: false,
        },
    }
}

/// A workload of one role that may run everywhere.
pub fn plain(cpus: u32) -> Workload {
    workload(cpus, vec![role("worker", CpuSet::first(cpus))], 0)
}

pub fn fork(time: u64, task: u32) -> Event {
    event(time, 0, EventKind::Fork { task: TaskId(task), role: RoleId(0), parent: None })
}

pub fn wakeup(time: u64, task: u32, target: u32) -> Event {
    let source = WakeSource::Timer;
    event(time, target, EventKind::Wakeup { task: TaskId(task), target: CpuId(target), waker: None, source })
}

pub fn switch(time: u64, cpu: u32, previous: Option<u32>, reason: Reason, next: Option<u32>) -> Event {
    let (previous, next) = (previous.map(TaskId), next.map(TaskId));
    event(time, cpu, EventKind::Switch { previous, reason, next })
}

pub fn exit(time: u64, cpu: u32, task: u32) -> Event {
    event(time, cpu, EventKind::Exit { task: TaskId(task) })
}

pub fn begin(time: u64, task: u32, intended: u64) -> Event {
    event(time, 0, EventKind::RequestBegin { task: TaskId(task), intended: Time(intended), request: None })
}

pub fn end(time: u64, task: u32, demand: u64) -> Event {
    event(time, 0, EventKind::RequestEnd { task: TaskId(task), demand: Time(demand), request: None })
}

pub fn overhead(time: u64, cpu: u32, what: Overhead, length: u64) -> Event {
    event(time, cpu, EventKind::Overhead { what, length: Time(length) })
}

pub fn event(time: u64, cpu: u32, kind: EventKind) -> Event {
    Event { time: Time(time), cpu: CpuId(cpu), kind }
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Off,
    Waiting(u32),
    Running(u32),
}

/// A machine that does lawful but senseless things, and what it did.
pub struct RandomRun {
    pub workload: Workload,
    pub events: Vec<Event>,
    pub end: u64,
    rng: Rng,
    now: u64,
    /// Living tasks: number, role, state, whether a request is open.
    tasks: Vec<(u32, usize, State, bool)>,
    forked: u32,
    current: Vec<Option<u32>>,
}

impl RandomRun {
    /// That many random steps on 1 to 4 CPUs with 1 to 3 roles of random allowed sets.
    pub fn new(seed: u64, steps: u32, warmup: u64) -> RandomRun {
        let mut rng = Rng::split(seed, "random run");
        let cpus = 1 + rng.below(4) as u32;
        let roles = (0..1 + rng.below(3))
            .map(|i| {
                let mut set: CpuSet = (0..cpus).map(CpuId).filter(|_| rng.below(2) == 0).collect();
                set.insert(CpuId(rng.below(u64::from(cpus)) as u32));
                role(&format!("g{i}"), if rng.below(2) == 0 { CpuSet::first(cpus) } else { set })
            })
            .collect();
        let mut run = RandomRun {
            workload: workload(cpus, roles, warmup),
            events: Vec::new(),
            end: 0,
            rng,
            now: 0,
            tasks: Vec::new(),
            forked: 0,
            current: vec![None; cpus as usize],
        };
        for _ in 0..steps {
            if run.below(2) == 0 {
                run.now += run.rng.below(40);
            }
            run.step();
        }
        run.end = run.now + run.rng.below(50);
        run
    }

    fn below(&mut self, bound: usize) -> usize {
        self.rng.below(bound as u64) as usize
    }

    fn push(&mut self, cpu: u32, kind: EventKind) {
        self.events.push(event(self.now, cpu, kind));
    }

    fn allowed(&self, role: usize) -> Vec<u32> {
        self.workload.roles[role].cpus.iter().map(|cpu| cpu.0).collect()
    }

    fn step(&mut self) {
        let cpu = self.below(self.current.len()) as u32;
        match self.below(12) {
            0 if self.tasks.len() < 8 => self.fork(cpu),
            1 | 2 => self.wake(cpu),
            3..=7 => self.switch(cpu),
            8 => self.overhead(cpu),
            9 => self.push(cpu, EventKind::Tick),
            10 => self.request(cpu),
            11 if self.below(3) == 0 => self.end_task(),
            _ => {}
        }
    }

    fn fork(&mut self, cpu: u32) {
        let role = self.below(self.workload.roles.len());
        let task = self.forked;
        self.forked += 1;
        self.tasks.push((task, role, State::Off, false));
        self.push(cpu, EventKind::Fork { task: TaskId(task), role: RoleId(role as u32), parent: None });
    }

    fn wake(&mut self, cpu: u32) {
        let off: Vec<usize> = (0..self.tasks.len()).filter(|&i| self.tasks[i].2 == State::Off).collect();
        if off.is_empty() {
            return;
        }
        let index = off[self.below(off.len())];
        let (task, role, ..) = self.tasks[index];
        let allowed = self.allowed(role);
        let target = allowed[self.below(allowed.len())];
        self.tasks[index].2 = State::Waiting(target);
        let source = WakeSource::Timer;
        self.push(cpu, EventKind::Wakeup { task: TaskId(task), target: CpuId(target), waker: None, source });
    }

    /// Takes the running task off for a random reason, and puts a random waiting one (or none) on.
    fn switch(&mut self, cpu: u32) {
        let previous = self.current[cpu as usize];
        let waiting: Vec<usize> = (0..self.tasks.len())
            .filter(|&i| matches!(self.tasks[i].2, State::Waiting(_)) && self.allowed(self.tasks[i].1).contains(&cpu))
            .collect();
        let next = match waiting.len() {
            0 => None,
            n => Some(waiting[self.below(n)]).filter(|_| previous.is_none() || self.below(4) > 0),
        };
        if previous.is_none() && next.is_none() {
            return;
        }
        if let Some(next) = next
            && let State::Waiting(from) = self.tasks[next].2
            && from != cpu
        {
            let (task, from, to) = (TaskId(self.tasks[next].0), CpuId(from), CpuId(cpu));
            self.push(cpu, EventKind::Migrate { task, from, to });
        }
        let reasons = [Reason::SliceEnd, Reason::Preempted, Reason::Blocked, Reason::Yielded];
        let reason = previous.map_or(Reason::Idle, |_| reasons[self.below(4)]);
        if let Some(previous) = previous {
            let state = if reason == Reason::Blocked { State::Off } else { State::Waiting(cpu) };
            self.tasks.iter_mut().find(|task| task.0 == previous).unwrap().2 = state;
        }
        let next = next.map(|index| {
            self.tasks[index].2 = State::Running(cpu);
            self.tasks[index].0
        });
        self.current[cpu as usize] = next;
        let (previous, next) = (previous.map(TaskId), next.map(TaskId));
        self.push(cpu, EventKind::Switch { previous, reason, next });
    }

    fn overhead(&mut self, cpu: u32) {
        let kinds = [Overhead::Switch, Overhead::Wakeup, Overhead::Migration, Overhead::Tick, Overhead::Policy];
        let (what, length) = (kinds[self.below(kinds.len())], Time(self.rng.below(15)));
        self.push(cpu, EventKind::Overhead { what, length });
    }

    fn request(&mut self, cpu: u32) {
        if self.tasks.is_empty() {
            return;
        }
        let index = self.below(self.tasks.len());
        let task = TaskId(self.tasks[index].0);
        self.tasks[index].3 = !self.tasks[index].3;
        if self.tasks[index].3 {
            let intended = Time(self.now.saturating_sub(self.rng.below(20)));
            self.push(cpu, EventKind::RequestBegin { task, intended, request: None });
        } else {
            let demand = Time(self.rng.below(30));
            self.push(cpu, EventKind::RequestEnd { task, demand, request: None });
        }
    }

    fn end_task(&mut self) {
        if self.tasks.is_empty() {
            return;
        }
        let index = self.below(self.tasks.len());
        let (task, _, state, _) = self.tasks.swap_remove(index);
        let task = TaskId(task);
        match state {
            State::Off | State::Waiting(_) => self.push(0, EventKind::Exit { task }),
            State::Running(cpu) => {
                let switch = EventKind::Switch { previous: Some(task), reason: Reason::Exited, next: None };
                let both = [EventKind::Exit { task }, switch];
                // The order of the two is left to the venue.
                let first = self.below(2);
                self.push(cpu, both[first]);
                self.push(cpu, both[1 - first]);
                self.current[cpu as usize] = None;
            }
        }
    }
}
