//! From an rt-app file to a scenario.

use super::{
    events::{EVENTS, Event, event},
    json::{self, Member, Node, Value},
};
use crate::{
    cpuset::CpuSet,
    distribution::Distribution,
    ids::CpuId,
    machine::MAX_CPUS,
    scenario::{Barrier, Machine, Run, Scenario, ScenarioError, Step, Task, Text, True, did_you_mean},
    time::Time,
    workload::{Class, Overrun},
};
use std::collections::{BTreeMap, BTreeSet};

/// Reads an rt-app file; `origin` names it in errors. The result is checked as a scenario when it is compiled.
pub fn import(text: &str, origin: &str) -> Result<Scenario, ScenarioError> {
    let importer = Importer { text, origin };
    let root = json::read(text, origin)?;
    let members = importer.object(&root, "the file")?;
    importer.known(members, &["tasks", "global", "resources"])?;
    // "resources" only declares what its users create anyway.
    let global = importer.global(find(members, "global"))?;
    let Some(tasks) = find(members, "tasks") else {
        return Err(importer.wrong(root.byte, "the object \"tasks\" is missing: it holds the threads"));
    };
    let mut parties = BTreeMap::new();
    let threads = importer.object(&tasks.node, "\"tasks\"")?;
    let roles: Vec<Task> = threads.iter().map(|m| importer.task(m, &global, &mut parties)).collect::<Result<_, _>>()?;
    importer.no_late_forks(threads, &roles)?;
    let named = roles.iter().filter_map(|t| t.cpus.as_ref()).flat_map(|set| set.iter()).map(|cpu| cpu.0).max();
    let machine = Machine { cpus: Some(named.map_or(1, |cpu| cpu + 1)), ..Machine::default() };
    let run = Run { duration: global.duration.map(Text), ..Run::default() };
    let name = origin.rsplit('/').next().unwrap_or(origin).trim_end_matches(".json");
    let mut scenario = Scenario::new(if name.is_empty() { "rt-app" } else { name }, machine, run, roles, origin);
    scenario.barrier = parties;
    Ok(scenario)
}

/// What the `global` object says about the workload.
struct Global {
    duration: Option<Time>,
    policy: Class,
}

/// Keys of `global` that set up rt-app's own measuring and change no workload that can be carried over.
const SET_UP: [&str; 10] = [
    "calibration",
    "lock_pages",
    "logdir",
    "log_basename",
    "log_size",
    "ftrace",
    "gnuplot",
    "io_device",
    "mem_buffer_size",
    "cumulative_slack",
];

/// The default priority of the real-time classes, as documented.
const DEFAULT_PRIORITY: u8 = 10;

/// Properties of a thread or a phase.
const PROPERTIES: [&str; 8] = ["instance", "delay", "loop", "policy", "priority", "cpus", "phases", "taskgroup"];
/// Properties that have no counterpart.
const FOREIGN: [&str; 8] =
    ["dl-runtime", "dl-period", "dl-deadline", "period", "deadline", "util_min", "util_max", "nodes_membind"];

fn find<'m>(members: &'m [Member], key: &str) -> Option<&'m Member> {
    // Of repeated properties the last one counts, as with any JSON reader.
    members.iter().rev().find(|m| m.key == key)
}

struct Importer<'t> {
    text: &'t str,
    origin: &'t str,
}

impl Importer<'_> {
    fn wrong(&self, byte: usize, message: impl Into<String>) -> ScenarioError {
        ScenarioError::at_byte(self.origin, self.text, byte, message)
    }

    fn object<'n>(&self, node: &'n Node, what: &str) -> Result<&'n [Member], ScenarioError> {
        match &node.value {
            Value::Object(members) => Ok(members),
            other => Err(self.wrong(node.byte, format!("{what} is {}, not an object: write {{ … }}", other.kind()))),
        }
    }

    fn text(&self, member: &Member) -> Result<String, ScenarioError> {
        match &member.node.value {
            Value::Text(text) => Ok(text.clone()),
            other => Err(self.wrong(member.node.byte, format!("\"{}\" is a string, not {}", member.key, other.kind()))),
        }
    }

    fn integer(&self, member: &Member) -> Result<i64, ScenarioError> {
        match member.node.value {
            Value::Number(n) if n.fract() == 0.0 && n.abs() < (1u64 << 53) as f64 => Ok(n as i64),
            _ => Err(self.wrong(member.node.byte, format!("\"{}\" is a whole number", member.key))),
        }
    }

    /// A number of microseconds.
    fn microseconds(&self, member: &Member) -> Result<Time, ScenarioError> {
        let us = self.integer(member)?;
        u64::try_from(us)
            .ok()
            .and_then(|us| us.checked_mul(1_000))
            .filter(|&ns| ns <= i64::MAX as u64)
            .map(Time)
            .ok_or_else(|| {
                self.wrong(
                    member.node.byte,
                    format!("\"{}\" is a time in µs, from 0 to 292 years, not {us}", member.key),
                )
            })
    }

    fn known(&self, members: &[Member], keys: &[&str]) -> Result<(), ScenarioError> {
        match members.iter().find(|m| !keys.contains(&m.key.as_str())) {
            None => Ok(()),
            Some(m) => {
                let hint = did_you_mean(&m.key, keys.iter().copied());
                Err(self.wrong(m.byte, format!("unknown key \"{}\"{hint}", m.key)))
            }
        }
    }

    fn global(&self, member: Option<&Member>) -> Result<Global, ScenarioError> {
        let mut global = Global { duration: None, policy: Class::Other };
        let Some(member) = member else { return Ok(global) };
        let members = self.object(&member.node, "\"global\"")?;
        let ours = ["duration", "default_policy", "pi_enabled"];
        self.known(members, &[&ours[..], &SET_UP[..]].concat())?;
        if let Some(m) = find(members, "duration") {
            global.duration = match self.integer(m)? {
                -1 => None,
                s @ 1..=9_000_000_000 => Some(Time::from_s(s as u64)),
                s => {
                    return Err(
                        self.wrong(m.node.byte, format!("a duration of {s} s: write 1 or more, or -1 for no end"))
                    );
                }
            };
        }
        if let Some(m) = find(members, "default_policy") {
            global.policy = self.class(m)?;
        }
        if let Some(m) = find(members, "pi_enabled")
            && !matches!(m.node.value, Value::Bool(false))
        {
            return Err(
                self.wrong(m.byte, "\"pi_enabled\" cannot be carried over: locks here have no priority inheritance")
            );
        }
        Ok(global)
    }

    /// A policy with its default priority.
    fn class(&self, member: &Member) -> Result<Class, ScenarioError> {
        let name = self.text(member)?;
        Ok(match name.as_str() {
            "SCHED_OTHER" => Class::Other,
            "SCHED_BATCH" => Class::Batch,
            "SCHED_IDLE" => Class::Idle,
            "SCHED_FIFO" => Class::Fifo(DEFAULT_PRIORITY),
            "SCHED_RR" => Class::RoundRobin(DEFAULT_PRIORITY),
            _ => {
                let message = format!(
                    "the policy \"{name}\" cannot be carried over: there are SCHED_OTHER, BATCH, IDLE, FIFO and RR"
                );
                return Err(self.wrong(member.node.byte, message));
            }
        })
    }

    /// One thread object.
    fn task(
        &self,
        member: &Member,
        global: &Global,
        parties: &mut BTreeMap<String, Barrier>,
    ) -> Result<Task, ScenarioError> {
        let members = self.object(&member.node, &format!("the thread \"{}\"", member.key))?;
        let instances = match find(members, "instance") {
            None => 1,
            Some(m) => u32::try_from(self.integer(m)?)
                .map_err(|_| self.wrong(m.node.byte, "\"instance\" is a number of threads, 0 or more"))?,
        };
        let start = find(members, "delay").map(|m| self.microseconds(m)).transpose()?;
        let (class, nice) = self.scheduling(members, global.policy)?;
        let mut task = Task {
            name: member.key.clone(),
            count: (instances > 1).then_some(instances),
            spawned: instances == 0,
            start: start.filter(|&t| t > Time::ZERO && instances > 0).map(Text),
            class: (class != Class::Other).then_some(Text(class)),
            nice: (nice != 0).then_some(nice),
            cpus: find(members, "cpus").map(|m| self.cpus(m)).transpose()?,
            ..Task::default()
        };
        self.program(member, members, &mut task)?;
        count_parties(task.repeated.iter().chain(&task.once).flatten(), instances, parties);
        Ok(task)
    }

    /// A forked thread waits until its delay has passed since the start of the run, and not at all when it is forked
    /// later than that: a `start` belongs to tasks that nobody spawns.
    fn no_late_forks(&self, threads: &[Member], roles: &[Task]) -> Result<(), ScenarioError> {
        let mut names = BTreeSet::new();
        forked(roles.iter().flat_map(|g| g.repeated.iter().chain(&g.once).flatten()), &mut names);
        for thread in threads.iter().filter(|t| names.contains(t.key.as_str())) {
            let delay = find(self.object(&thread.node, "the thread")?, "delay");
            if let Some(m) = delay.filter(|m| !matches!(m.node.value, Value::Number(0.0))) {
                let message = "\"delay\" of a thread that is forked cannot be carried over: begin it with `sleep`";
                return Err(self.wrong(m.byte, message));
            }
        }
        Ok(())
    }

    /// Policy and priority: the nice value of the fair classes, the priority of the real-time classes.
    fn scheduling(&self, members: &[Member], default: Class) -> Result<(Class, i64), ScenarioError> {
        let class = find(members, "policy").map_or(Ok(default), |m| self.class(m))?;
        let Some(m) = find(members, "priority") else { return Ok((class, 0)) };
        let priority = self.integer(m)?;
        match (class, priority) {
            (Class::Fifo(_), 1..=99) => Ok((Class::Fifo(priority as u8), 0)),
            (Class::RoundRobin(_), 1..=99) => Ok((Class::RoundRobin(priority as u8), 0)),
            (Class::Other | Class::Batch | Class::Idle, -20..=19) => Ok((class, priority)),
            _ => Err(self.wrong(m.node.byte, format!("the priority {priority} does not fit the policy"))),
        }
    }

    fn cpus(&self, member: &Member) -> Result<Text<CpuSet>, ScenarioError> {
        let wrong = |byte| self.wrong(byte, "\"cpus\" is a list of CPU numbers from 0, as [0, 2]");
        let Value::List(list) = &member.node.value else { return Err(wrong(member.node.byte)) };
        let cpu = |node: &Node| match node.value {
            Value::Number(n) if n.fract() == 0.0 && (0.0..MAX_CPUS as f64).contains(&n) => Ok(CpuId(n as u32)),
            _ => Err(wrong(node.byte)),
        };
        match list.is_empty() {
            true => Err(wrong(member.node.byte)),
            false => list.iter().map(cpu).collect::<Result<CpuSet, _>>().map(Text),
        }
    }

    /// The events of a thread, in phases or without.
    fn program(&self, thread: &Member, members: &[Member], task: &mut Task) -> Result<(), ScenarioError> {
        let loops = find(members, "loop").map(|m| Ok((m, self.integer(m)?))).transpose()?;
        let Some(phases) = find(members, "phases") else {
            let steps = self.phase(thread, members, true)?;
            return self.looped(loops, steps, task);
        };
        if let Some(m) = members.iter().find(|m| event(&m.key).is_some()) {
            return Err(self.wrong(m.byte, format!("\"{}\" stands beside \"phases\": put it into a phase", m.key)));
        }
        self.properties(members)?;
        let phases = self.object(&phases.node, "\"phases\"")?;
        let mut steps = Vec::new();
        for phase in phases {
            let inside = self.object(&phase.node, &format!("the phase \"{}\"", phase.key))?;
            self.same_scheduling(members, inside)?;
            let body = self.phase(phase, inside, false)?;
            match find(inside, "loop").map(|m| Ok((m, self.integer(m)?))).transpose()? {
                None | Some((_, 1)) => steps.extend(body),
                Some((_, -1)) if phases.len() == 1 => return self.looped(None, body, task),
                Some((m, -1)) => {
                    return Err(
                        self.wrong(m.byte, "a phase without end among others cannot be carried over: write a number")
                    );
                }
                Some((m, times)) => steps.push(Step::Repeat { repeat: self.times(m, times)?, steps: body }),
            }
        }
        self.looped(loops, steps, task)
    }

    /// How often a thread does its steps: without end when nothing is said.
    fn looped(&self, loops: Option<(&Member, i64)>, steps: Vec<Step>, task: &mut Task) -> Result<(), ScenarioError> {
        match loops {
            None | Some((_, -1)) => task.repeated = Some(steps),
            Some((_, 1)) => task.once = Some(steps),
            Some((m, times)) => task.once = Some(vec![Step::Repeat { repeat: self.times(m, times)?, steps }]),
        }
        Ok(())
    }

    fn times(&self, member: &Member, times: i64) -> Result<u32, ScenarioError> {
        u32::try_from(times)
            .ok()
            .filter(|&n| n > 0)
            .ok_or_else(|| self.wrong(member.node.byte, format!("\"loop\" {times}: write 1 or more, or -1 for no end")))
    }

    /// A thread keeps its policy, priority and CPUs here, so no phase may say anything else than its thread.
    fn same_scheduling(&self, thread: &[Member], phase: &[Member]) -> Result<(), ScenarioError> {
        for key in ["policy", "priority", "cpus"] {
            let Some(m) = find(phase, key) else { continue };
            let same = match key {
                "policy" => self.text(m).ok() == find(thread, key).and_then(|t| self.text(t).ok()),
                "priority" => self.integer(m).ok() == find(thread, key).and_then(|t| self.integer(t).ok()),
                _ => Some(self.cpus(m)?) == find(thread, key).and_then(|t| self.cpus(t).ok()),
            };
            if !same {
                let message =
                    format!("\"{key}\" that changes in a phase cannot be carried over: say it for the thread");
                return Err(self.wrong(m.byte, message));
            }
        }
        Ok(())
    }

    /// All members that are no events must be known and have a counterpart.
    fn properties(&self, members: &[Member]) -> Result<(), ScenarioError> {
        for m in members.iter().filter(|m| event(&m.key).is_none()) {
            let empty = matches!(&m.node.value, Value::Text(t) if t.is_empty());
            if FOREIGN.contains(&m.key.as_str()) || (m.key == "taskgroup" && !empty) {
                return Err(self.wrong(m.byte, format!("\"{}\" cannot be carried over: remove it", m.key)));
            }
            if !PROPERTIES.contains(&m.key.as_str()) {
                let hint = did_you_mean(&m.key, PROPERTIES.iter().copied().chain(EVENTS.map(|(name, _)| name)));
                return Err(self.wrong(m.byte, format!("unknown event or property \"{}\"{hint}", m.key)));
            }
        }
        Ok(())
    }

    /// The events of one phase.
    fn phase(&self, owner: &Member, members: &[Member], is_thread: bool) -> Result<Vec<Step>, ScenarioError> {
        self.properties(members)?;
        if let Some(m) =
            members.iter().find(|m| !is_thread && ["instance", "delay", "phases"].contains(&m.key.as_str()))
        {
            return Err(self.wrong(m.byte, format!("\"{}\" belongs to a thread, not to a phase", m.key)));
        }
        let events = members.iter().filter_map(|m| Some((m, event(&m.key)?)));
        let steps = events.map(|(m, event)| self.event(m, event)).collect::<Result<Vec<Step>, _>>()?;
        match steps.is_empty() {
            true => Err(self.wrong(owner.byte, format!("\"{}\" has no events: write at least one", owner.key))),
            false => Ok(steps),
        }
    }

    fn event(&self, member: &Member, event: Event) -> Result<Step, ScenarioError> {
        let time = || self.microseconds(member).map(|t| Text(Distribution::Constant(t)));
        Ok(match event {
            Event::Compute => Step::Compute { compute: time()? },
            Event::Sleep => Step::Sleep { sleep: time()? },
            Event::Yield => Step::Yield { r#yield: True },
            Event::Lock => Step::Lock { lock: self.text(member)? },
            Event::Unlock => Step::Unlock { unlock: self.text(member)? },
            Event::Wait => Step::Wait { wait: self.text(member)? },
            Event::Post => Step::Post { post: self.text(member)?, times: 1 },
            Event::Barrier => Step::Barrier { barrier: self.text(member)? },
            Event::Spawn => Step::Spawn { spawn: self.text(member)?, count: 1 },
            Event::Timer => self.timer(member)?,
            Event::Nothing(reason) => {
                let message = format!("the event \"{}\" cannot be carried over: {reason}", member.key);
                return Err(self.wrong(member.byte, message));
            }
        })
    }
}

impl Importer<'_> {
    /// A timer, which counts from the start of its thread. What an absent key means is what rt-app takes for it.
    fn timer(&self, member: &Member) -> Result<Step, ScenarioError> {
        let members = self.object(&member.node, &format!("\"{}\"", member.key))?;
        self.known(members, &["ref", "period", "mode"])?;
        let name = find(members, "ref").map_or(Ok("unknown".into()), |m| self.text(m))?;
        let Some(period) = find(members, "period") else {
            return Err(self.wrong(member.byte, format!("\"{}\" has no \"period\", a time in µs", member.key)));
        };
        let mode = find(members, "mode").map_or(Ok("relative".into()), |m| self.text(m))?;
        Ok(Step::Period {
            period: Text(self.microseconds(period)?),
            offset: None,
            deadline: None,
            overrun: Some(if mode.starts_with("absolute") { Overrun::CatchUp } else { Overrun::Restart }),
            timer: (name != "unique").then_some(name),
        })
    }
}

/// Adds the names of all threads that are forked.
fn forked<'s>(steps: impl Iterator<Item = &'s Step>, into: &mut BTreeSet<&'s str>) {
    for step in steps {
        match step {
            Step::Spawn { spawn, .. } => drop(into.insert(spawn)),
            Step::Repeat { steps, .. } => forked(steps.iter(), into),
            _ => {}
        }
    }
}

/// rt-app counts each place that names a barrier, times the instances of the thread.
fn count_parties<'s>(steps: impl Iterator<Item = &'s Step>, instances: u32, parties: &mut BTreeMap<String, Barrier>) {
    for step in steps {
        match step {
            Step::Barrier { barrier } => {
                let count = &mut parties.entry(barrier.clone()).or_default().parties;
                *count = Some(count.unwrap_or(0).saturating_add(instances));
            }
            Step::Repeat { steps, .. } => count_parties(steps.iter(), instances, parties),
            _ => {}
        }
    }
}
