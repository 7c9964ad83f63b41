//! From an rt-app file to a scenario: the file as a whole, and its `global` object.

use super::{
    json::{self, Member, Node, Value},
    thread,
};
use crate::{
    cpuset::CpuSet,
    ids::CpuId,
    machine::MAX_CPUS,
    scenario::{Barrier, Lock, Machine, Run, Scenario, ScenarioError, Step, Task, Text, did_you_mean},
    time::Time,
    workload::{Class, Protocol},
};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

/// The length of a run without an end in its file.
const ENDLESS: Time = Time::from_s(10);

/// Whether a text is one of rt-app: an object of JSON, perhaps behind comments.
pub fn is_likely(text: &str) -> bool {
    let mut rest = text.trim_start();
    loop {
        rest = match rest.strip_prefix("/*").map(|comment| comment.split_once("*/")) {
            Some(Some((_, after))) => after.trim_start(),
            Some(None) => return true,
            None => return rest.starts_with('{') || rest.starts_with("//"),
        };
    }
}

/// Reads an rt-app file; `origin` names it in errors. The result is checked as a scenario when it is compiled; what is
/// carried over with changes, its remarks say.
pub fn import(text: &str, origin: &str) -> Result<Scenario, ScenarioError> {
    let root = json::read(text, origin)?;
    let importer = Importer { text, origin, said: RefCell::default(), cpus: cpus_named(&root), timers: timers(&root) };
    let members = importer.object(&root, "the file")?;
    importer.known(members, &["tasks", "global", "resources"])?;
    // "resources" only declares what its users create anyway.
    let global = importer.global(find(members, "global"))?;
    let Some(tasks) = find(members, "tasks") else {
        let message = match members.first() {
            Some(_) => {
                "the object \"tasks\" is missing, which holds the threads: a fragment has to be merged with others"
            }
            None => "the object \"tasks\" is missing: it holds the threads",
        };
        return Err(importer.wrong(root.byte, message));
    };
    let mut roles = Vec::new();
    for member in importer.object(&tasks.node, "\"tasks\"")? {
        roles.push(importer.task(member, &global)?);
    }
    importer.no_late_forks(importer.object(&tasks.node, "\"tasks\"")?, &roles)?;
    importer.timers_of_forks(&mut roles);
    let never = thread::never_created(&roles);
    never.iter().for_each(|name| {
        importer.remark(format!(
            "`{name}` has no instance and no task forks it: it is left out, as rt-app does not create it"
        ));
    });
    roles.retain(|role| !never.contains(&role.name));
    let duration = global.duration.or_else(|| importer.end_of(&roles));
    importer.remark(match importer.cpus {
        1 => "the file does not describe a machine; assuming 1 CPU (change it with --cpus)".into(),
        cpus => {
            format!("the file does not describe a machine; assuming {cpus} CPUs, as many as its sets name")
        }
    });
    let machine = Machine { cpus: Some(importer.cpus), ..Machine::default() };
    let run = Run { duration: duration.map(Text), ..Run::default() };
    let name = origin.rsplit('/').next().unwrap_or(origin).trim_end_matches(".json");
    let (barrier, control_groups) = (parties(&roles), thread::control_groups(&roles));
    let mut scenario = Scenario::new(if name.is_empty() { "rt-app" } else { name }, machine, run, roles, origin);
    (scenario.barrier, scenario.control_groups) = (barrier, control_groups);
    if global.inherits {
        let inheriting = |name: String| (name, Lock { protocol: Protocol::Inherit, ..Lock::default() });
        scenario.lock = scenario.mutexes().into_iter().map(inheriting).collect();
    }
    Ok(scenario.with_remarks(importer.said.into_inner()))
}

/// What the `global` object says about the workload.
pub(super) struct Global {
    pub duration: Option<Time>,
    pub policy: Class,
    /// Bytes that one call writes.
    pub buffer: u64,
    /// Whether mutexes have priority inheritance.
    pub inherits: bool,
    /// Whether bytes are written to nowhere.
    pub to_nowhere: bool,
}

/// Keys of `global` that set up rt-app's own measuring and change no workload.
const SET_UP: [&str; 9] = [
    "calibration",
    "lock_pages",
    "logdir",
    "log_basename",
    "log_size",
    "ftrace",
    "gnuplot",
    "cumulative_slack",
    "frag",
];

/// The default priority of the real-time classes, as documented.
pub(super) const DEFAULT_PRIORITY: u8 = 10;

pub(super) fn find<'m>(members: &'m [Member], key: &str) -> Option<&'m Member> {
    // Of repeated properties the last one counts, as with any JSON reader.
    members.iter().rev().find(|m| m.key == key)
}

/// Reads one file.
pub(super) struct Importer<'t> {
    text: &'t str,
    origin: &'t str,
    said: RefCell<Vec<String>>,
    /// The CPUs of the machine.
    pub cpus: u32,
    pub timers: Timers,
}

/// What all uses of a timer say together.
#[derive(Default)]
pub(super) struct Timers {
    /// Those that some use makes absolute: a timer is so everywhere then. Those of one thread are named with it.
    pub absolute: BTreeSet<(String, String)>,
    /// The threads that use each.
    pub users: BTreeMap<String, BTreeSet<String>>,
}

/// A timer with this prefix belongs to its thread alone.
pub(super) fn is_unique(timer: &str) -> bool {
    timer.starts_with("unique")
}

fn members(node: &Node) -> &[Member] {
    match &node.value {
        Value::Object(members) => members,
        _ => &[],
    }
}

/// Every thread, and every object in it that has events.
fn bodies(root: &Node) -> impl Iterator<Item = (&Member, &[Member])> {
    let threads = find(members(root), "tasks").map_or(&[][..], |tasks| members(&tasks.node));
    threads.iter().flat_map(|thread| {
        let phases = find(members(&thread.node), "phases").map_or(&[][..], |phases| members(&phases.node));
        let inside = phases.iter().map(|phase| members(&phase.node));
        std::iter::once(members(&thread.node)).chain(inside).map(move |body| (thread, body))
    })
}

fn text_of<'m>(members: &'m [Member], key: &str, default: &'m str) -> &'m str {
    match find(members, key).map(|member| &member.node.value) {
        Some(Value::Text(text)) => text,
        _ => default,
    }
}

/// The name of a timer; what is absent is what rt-app takes for it.
pub(super) fn timer_name(timer: &[Member]) -> &str {
    text_of(timer, "ref", "unknown")
}

fn timers(root: &Node) -> Timers {
    let mut timers = Timers::default();
    for (thread, body) in bodies(root) {
        for timer in body.iter().filter(|member| member.key.starts_with("timer")).map(|member| members(&member.node)) {
            let name = timer_name(timer).to_string();
            if text_of(timer, "mode", "relative").starts_with("absolute") {
                let owner = if is_unique(&name) { thread.key.clone() } else { String::new() };
                timers.absolute.insert((owner, name.clone()));
            }
            timers.users.entry(name).or_default().insert(thread.key.clone());
        }
    }
    timers
}

/// As many CPUs as the sets of the file name.
fn cpus_named(root: &Node) -> u32 {
    let lists = bodies(root).filter_map(|(_, body)| match &find(body, "cpus")?.node.value {
        Value::List(list) => Some(list),
        _ => None,
    });
    let named = lists.flatten().filter_map(|node| match node.value {
        Value::Number(cpu) if (0.0..f64::from(MAX_CPUS)).contains(&cpu) => Some(cpu as u32 + 1),
        _ => None,
    });
    named.max().unwrap_or(1)
}

impl Importer<'_> {
    pub fn wrong(&self, byte: usize, message: impl Into<String>) -> ScenarioError {
        ScenarioError::at_byte(self.origin, self.text, byte, message)
    }

    /// Says, once, that something is not carried over as it is.
    pub fn remark(&self, text: impl Into<String>) {
        let (text, mut said) = (text.into(), self.said.borrow_mut());
        if !said.contains(&text) {
            said.push(text);
        }
    }

    pub fn object<'n>(&self, node: &'n Node, what: &str) -> Result<&'n [Member], ScenarioError> {
        match &node.value {
            Value::Object(members) => Ok(members),
            other => Err(self.wrong(node.byte, format!("{what} is {}, not an object: write {{ … }}", other.kind()))),
        }
    }

    pub fn text(&self, member: &Member) -> Result<String, ScenarioError> {
        match &member.node.value {
            Value::Text(text) => Ok(text.clone()),
            other => Err(self.wrong(member.node.byte, format!("\"{}\" is a string, not {}", member.key, other.kind()))),
        }
    }

    pub fn integer(&self, member: &Member) -> Result<i64, ScenarioError> {
        match member.node.value {
            Value::Number(n) if n.fract() == 0.0 && n.abs() < (1u64 << 53) as f64 => Ok(n as i64),
            _ => Err(self.wrong(member.node.byte, format!("\"{}\" is a whole number", member.key))),
        }
    }

    /// A number of bytes.
    pub fn bytes(&self, member: &Member) -> Result<u64, ScenarioError> {
        let bytes = self.integer(member)?;
        u64::try_from(bytes)
            .map_err(|_| self.wrong(member.node.byte, format!("\"{}\" is a number of bytes", member.key)))
    }

    /// A number of microseconds.
    pub fn microseconds(&self, member: &Member) -> Result<Time, ScenarioError> {
        let us = self.integer(member)?;
        let ns = u64::try_from(us).ok().and_then(|us| us.checked_mul(1_000)).filter(|&ns| ns <= i64::MAX as u64);
        ns.map(Time).ok_or_else(|| {
            let message = format!("\"{}\" is a time in µs, from 0 to 292 years, not {us}", member.key);
            self.wrong(member.node.byte, message)
        })
    }

    pub fn known(&self, members: &[Member], keys: &[&str]) -> Result<(), ScenarioError> {
        match members.iter().find(|m| !keys.contains(&m.key.as_str())) {
            None => Ok(()),
            Some(m) => {
                let hint = did_you_mean(&m.key, keys.iter().copied());
                Err(self.wrong(m.byte, format!("unknown key \"{}\"{hint}", m.key)))
            }
        }
    }

    /// Keys that rt-app does not know it takes no notice of, and so does this, with a remark.
    fn global(&self, member: Option<&Member>) -> Result<Global, ScenarioError> {
        let mut global =
            Global { duration: None, policy: Class::Other, inherits: false, buffer: 4 << 20, to_nowhere: true };
        let Some(member) = member else { return Ok(global) };
        for m in self.object(&member.node, "\"global\"")? {
            match m.key.as_str() {
                "duration" => global.duration = self.duration(m)?,
                "default_policy" => global.policy = self.class(m)?,
                "mem_buffer_size" => global.buffer = self.bytes(m)?.max(1),
                "io_device" => global.to_nowhere = self.text(m)? == "/dev/null",
                "pi_enabled" => global.inherits = matches!(m.node.value, Value::Bool(true)),
                key if SET_UP.contains(&key) => {}
                key => self.remark(format!("the key \"{key}\" of \"global\" is unknown to rt-app and says nothing")),
            }
        }
        Ok(global)
    }

    fn duration(&self, member: &Member) -> Result<Option<Time>, ScenarioError> {
        match self.integer(member)? {
            -1 => Ok(None),
            s @ 1..=9_000_000_000 => Ok(Some(Time::from_s(s as u64))),
            s => {
                let message = format!("a duration of {s} s: write 1 or more, or -1 for no end");
                Err(self.wrong(member.node.byte, message))
            }
        }
    }

    /// A run that never ends, ends here.
    fn end_of(&self, roles: &[Task]) -> Option<Time> {
        let endless = roles.iter().find(|role| role.repeated.is_some())?;
        self.remark(format!(
            "`{}` never ends, and the file says no duration: the run ends after {ENDLESS}",
            endless.name
        ));
        Some(ENDLESS)
    }

    /// A policy with its default priority.
    pub fn class(&self, member: &Member) -> Result<Class, ScenarioError> {
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

    pub fn cpus(&self, member: &Member) -> Result<CpuSet, ScenarioError> {
        let wrong = |byte| self.wrong(byte, "\"cpus\" is a list of CPU numbers from 0, as [0, 2]");
        let Value::List(list) = &member.node.value else { return Err(wrong(member.node.byte)) };
        let cpu = |node: &Node| match node.value {
            Value::Number(n) if n.fract() == 0.0 && (0.0..f64::from(MAX_CPUS)).contains(&n) => Ok(CpuId(n as u32)),
            _ => Err(wrong(node.byte)),
        };
        match list.is_empty() {
            true => Err(wrong(member.node.byte)),
            false => list.iter().map(cpu).collect(),
        }
    }
}

/// rt-app counts each place that names a barrier, times the instances of the thread.
fn parties(roles: &[Task]) -> BTreeMap<String, Barrier> {
    fn count(steps: &[Step], instances: u32, parties: &mut BTreeMap<String, Barrier>) {
        for step in steps {
            match step {
                Step::Barrier { barrier } => {
                    let count = &mut parties.entry(barrier.clone()).or_default().parties;
                    *count = Some(count.unwrap_or(0).saturating_add(instances));
                }
                Step::Repeat { steps, .. } => count(steps, instances, parties),
                _ => {}
            }
        }
    }
    let mut parties = BTreeMap::new();
    for role in roles {
        let instances = if role.spawned { 0 } else { role.count.unwrap_or(1) };
        let steps = role.repeated.iter().chain(&role.once).flatten();
        steps.for_each(|step| count(std::slice::from_ref(step), instances, &mut parties));
    }
    parties
}
